/**
 * The drain of a pool while hosts go on, messages are late and objects die (H12, CE-20, F30, F35).
 */
import { describe, expect, test } from "vitest";
import { CLUSTER_OBJECT_NAME } from "../../../src/core/ids.ts";
import type { PoolUsageView } from "../../../src/rpc/pool.ts";
import { blockObject } from "../../support/simulation/deployment.ts";
import type { CrashPoint } from "../../support/simulation/instance.ts";
import { type Ended, Scene, type Told } from "../../support/simulation/scene.ts";
import {
  A,
  B,
  findings,
  HOST_A,
  heldBy,
  ONE_BLOCK,
  ownerOf,
  POOL,
  rowsOf,
  TWO_BLOCKS,
} from "../histories/stage.ts";

const BLOCK_A = blockObject(A);

function told(ended: Ended): readonly Told[] {
  if (ended.kind !== "ok") throw new Error(JSON.stringify(ended));
  return ended.addresses;
}

function drain(scene: Scene, name = "default") {
  return scene.deployed.ports.cluster().drainPool({ name, by: "test" });
}

function put(scene: Scene, name: string, cidr: string, blockSize: number) {
  return scene.deployed.ports.cluster().putPool({ name, spec: { cidr, blockSize }, by: "test" });
}

async function pools(scene: Scene): Promise<string[]> {
  const { policy } = await scene.world.during(scene.deployed.ports.cluster().policy({}));
  return (policy?.pools ?? []).map(({ name, incarnation, terminating }) => {
    return `${name} ${incarnation}${terminating === undefined ? "" : " draining"}`;
  });
}

/** Waits until the pool is gone; the drain's own alarms do it. */
async function untilGone(scene: Scene, name = "default"): Promise<void> {
  for (let second = 0; second < 60; second += 1) {
    await scene.world.advance(1_000);
    if (!(await pools(scene)).some((pool) => pool.startsWith(`${name} `))) return;
  }
  throw new Error(`${name} does not go: ${await pools(scene)}`);
}

describe("a drain", () => {
  test("of a pool that was never used is over at once, and its range may be used again", async () => {
    const scene = await Scene.open({ pools: ONE_BLOCK, hosts: [] });
    expect(await scene.world.during(drain(scene))).toMatchObject({ ok: true, value: { gone: true } });
    expect(await pools(scene)).toEqual([]);
    expect(await scene.world.during(put(scene, "next", "10.0.0.0/29", 31))).toMatchObject({ ok: true });
    expect(await pools(scene)).toEqual(["next 1"]);
  });

  test("takes no new address after it is acknowledged, and keeps those that are held", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    const [kept] = told(await world.during(scene.allocate("a", { handle: "kept" })));
    expect(await world.during(drain(scene))).toMatchObject({ ok: true, value: { gone: false } });
    await world.advance(3_000);
    for (const host of ["a", "b"]) {
      expect(await world.during(scene.allocate(host, { handle: `late-${host}` }))).toMatchObject({
        code: "no_qualified_pool",
      });
      expect(await world.during(scene.assign(host, `exact-${host}`, "10.0.0.5"))).toMatchObject({
        code: "address_not_in_pool",
      });
    }
    expect(heldBy(scene, "kept")).toEqual([kept?.address]);
    expect(ownerOf(scene, A)).toBeUndefined();
    expect(rowsOf(scene)).toEqual([]);
    await world.advance(1_200_000);
    expect(await pools(scene)).toEqual(["default 0 draining"]);
    await world.during(scene.release("kept"));
    await untilGone(scene);
    expect(findings(scene)).toEqual([]);
  });

  test("F30 I12: waits for cooling addresses, whatever the counts say", async () => {
    const scene = await Scene.open({ pools: ONE_BLOCK, config: { ipCooldownSeconds: 300 } });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "h" }));
    await world.during(drain(scene));
    await world.during(scene.release("h"));
    const empty = { capacity: 4, allocated: 0, cooling: 0, hostReserved: 0, free: 4, reserved: 0 };
    const counts = { ...empty, available: 4, borrowed: 0, asOf: world.now };
    const target = { pool: "default", incarnation: 0, cidr: "10.0.0.0/30", blockSize: 30 };
    const report = { ...target, blocks: [{ block: A, counts }] };
    await world.during(scene.deployed.ports.pool("default", 0).report(report));
    await world.advance(290_000);
    expect(await pools(scene)).toEqual(["default 0 draining"]);
    await world.advance(20_000);
    expect(await pools(scene)).toEqual([]);
  });

  test("overlap with a draining pool is refused with both names, until it has gone", async () => {
    const scene = await Scene.open({ pools: ONE_BLOCK });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "h" }));
    await world.during(drain(scene));
    expect(await world.during(put(scene, "next", "10.0.0.0/24", 26))).toMatchObject({
      ok: false,
      error: { code: "pool_overlap", evidence: { pool: "next", otherPool: "default" } },
    });
    await world.during(scene.release("h"));
    await untilGone(scene);
    expect(await world.during(put(scene, "next", "10.0.0.0/24", 26))).toMatchObject({ ok: true });
  });

  test("can be cancelled while something is left: hosts claim again", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "kept" }));
    await world.during(drain(scene));
    await world.advance(2_000);
    const patch = { name: "default", patch: { draining: false }, by: "test" };
    expect(await world.during(scene.deployed.ports.cluster().patchPool(patch))).toMatchObject({ ok: true });
    expect(await pools(scene)).toEqual(["default 0"]);
    const [next] = told(await world.during(scene.allocate("a", { handle: "next" })));
    expect(next?.block).toBe(B);
    await world.during(scene.release("kept"));
    await world.during(scene.release("next"));
    await world.advance(1_300_000);
    expect(await pools(scene)).toEqual(["default 0"]);
    expect(findings(scene)).toEqual([]);
  });

  test("an order from before the cancellation changes nothing when it arrives late", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "kept" }));
    const orders = world.hold({ method: "order", kind: "request" });
    const drained = drain(scene);
    await world.advance(3_000);
    expect(orders.messages.length).toBeGreaterThan(0);
    const patch = { name: "default", patch: { draining: false }, by: "test" };
    const cancelled = scene.deployed.ports.cluster().patchPool(patch);
    await world.advance(3_000);
    (orders.messages as unknown[]).reverse();
    orders.release();
    await world.during(Promise.all([drained, cancelled]));
    await world.advance(30_000);
    expect(await pools(scene)).toEqual(["default 0"]);
    expect(ownerOf(scene, A)).toBe("a");
    expect(await world.during(scene.allocate("b", { handle: "next" }))).toMatchObject({ kind: "ok" });
    expect(findings(scene)).toEqual([]);
  });

  test("what is left is counted: allocated, cooling, blocks", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS, config: { ipCooldownSeconds: 600 } });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "one", v4: 2 }));
    await world.during(scene.allocate("a", { handle: "two" }));
    await world.during(drain(scene));
    await world.during(scene.release("two"));
    await world.advance(12_000);
    const target = { pool: "default", incarnation: 0, cidr: "10.0.0.0/29", blockSize: 30, reservedCidrs: [] };
    const usage: PoolUsageView = await world.during(scene.deployed.ports.pool("default", 0).usage(target));
    expect(usage).toMatchObject({ allocated: "2", cooling: "1", blocks: 1, blocksUnowned: 1 });
    expect(usage.lastFreeAt).toBeUndefined();
    const before = world.now;
    await world.during(scene.release("one"));
    await world.advance(12_000);
    const cooling = await world.during(scene.deployed.ports.pool("default", 0).usage(target));
    expect(cooling).toMatchObject({ allocated: "0", cooling: "3" });
    expect(cooling.lastFreeAt).toBeGreaterThanOrEqual(before + 600_000);
    expect(cooling.lastFreeAt).toBeLessThan(before + 601_000);
  });
});

/** Where a drain is cut off: object, crash point, the turn that it ends in. */
const DRAIN_CUTS: [string, string, CrashPoint, string | undefined][] = [
  ["before Cluster's commit", CLUSTER_OBJECT_NAME, "before-commit", "drainPool"],
  ["after Cluster's commit", CLUSTER_OBJECT_NAME, "after-commit", "drainPool"],
  ["before the order is stored", POOL, "before-commit", `-> ${POOL} order`],
  ["after the order is stored", POOL, "after-commit", `-> ${POOL} order`],
  ["after the Pool's epoch", POOL, "after-commit", "alarm"],
  ["before the Host's row", HOST_A, "before-commit", `=> ${HOST_A} lease`],
  ["after the Host's row", HOST_A, "after-commit", `=> ${HOST_A} lease`],
  ["before the block's commit", BLOCK_A, "before-commit", `-> ${BLOCK_A} releaseAffinity`],
  ["after the block's commit", BLOCK_A, "after-commit", `-> ${BLOCK_A} releaseAffinity`],
  ["before the directory's row", POOL, "before-commit", `-> ${POOL} release`],
  ["after the directory's row", POOL, "after-commit", `-> ${POOL} release`],
  ["before the block's retirement is heard", POOL, "before-commit", `-> ${POOL} retired`],
  ["after the block's retirement is heard", POOL, "after-commit", `-> ${POOL} retired`],
  ["before the definition goes", CLUSTER_OBJECT_NAME, "before-commit", "poolDrained"],
  ["after the definition goes", CLUSTER_OBJECT_NAME, "after-commit", "poolDrained"],
];

describe("H12 F35: a drain that is cut off goes on and ends", () => {
  test.each(DRAIN_CUTS)("%s", async (_where, object, point, during) => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    const olds = [
      ...told(await world.during(scene.allocate("a", { handle: "h1", v4: 3 }))),
      ...told(await world.during(scene.allocate("b", { handle: "h2", v4: 2 }))),
    ];
    world.crash(object, point, during);
    await world.during(drain(scene).catch(() => undefined));
    if ((await pools(scene))[0] === "default 0") await world.during(drain(scene));
    await world.advance(10_000);
    expect(await world.during(scene.allocate("b", { handle: "late" }))).toMatchObject({ kind: "refused" });
    await world.during(scene.release("h1"));
    await world.advance(10_000);
    expect(await pools(scene)).toEqual(["default 0 draining"]);
    await world.during(scene.release("h2"));
    await untilGone(scene);
    expect(world.counters.read().events[`crash ${point}`]).toBe(1);
    expect(rowsOf(scene)).toEqual([]);
    expect(findings(scene)).toEqual([]);
    await replayOld(scene, olds);
  });
});

/** I3, H12: a new pool with another block size; every old guarded release is rejected and frees nothing. */
async function replayOld(scene: Scene, olds: readonly Told[]): Promise<void> {
  const { world } = scene;
  expect(await world.during(put(scene, "blue", "10.0.0.0/29", 31))).toMatchObject({ ok: true });
  for (const n of [0, 1, 2, 3, 4, 5, 6, 7]) {
    const got = await world.during(scene.assign(n < 4 ? "a" : "b", `new-${n}`, `10.0.0.${n}`));
    const [fresh] = told(got);
    expect(fresh?.sequenceNumber).toBeGreaterThan(2 ** 36);
  }
  for (const { address, sequenceNumber } of olds) {
    const last = Number(address.split(".")[3]);
    const block = `10.0.0.${last - (last % 2)}/31`;
    const outcome = await world.during(scene.releaseAddress(block, { address, sequenceNumber }));
    expect(outcome).toMatchObject({ kind: "rejected", code: "sequence_mismatch" });
    expect(heldBy(scene, `new-${last}`)).toEqual([address]);
  }
}

describe("CE-20: what was on its way when the pool ended lands nowhere", () => {
  test("a claim that the Pool had answered, and that was not sent yet", async () => {
    const scene = await Scene.open({ pools: ONE_BLOCK });
    const { world } = scene;
    const claims = world.hold({ method: "claim", to: BLOCK_A, kind: "request" });
    const cut = scene.allocate("a", { handle: "h" });
    await world.advance(20);
    expect(claims.messages).toHaveLength(1);
    world.evict(HOST_A);
    await world.during(Promise.all([cut, drain(scene)]));
    await untilGone(scene);
    await world.during(put(scene, "blue", "10.0.0.0/30", 30));
    claims.release();
    await world.advance(1_000);
    expect(ownerOf(scene, A)).toBeUndefined();
    const got = await world.during(scene.allocate("b", { handle: "new" }));
    expect(got).toMatchObject({ kind: "ok" });
    expect(ownerOf(scene, A)).toBe("b");
    expect(findings(scene)).toEqual([]);
  });

  test("an answer of the Pool to a claim, of which its Host has no row yet", async () => {
    const scene = await Scene.open({ pools: ONE_BLOCK });
    const { world } = scene;
    const answers = world.hold({ method: "claim", from: POOL, kind: "answer" });
    const cut = scene.allocate("a", { handle: "h" });
    await world.advance(20);
    expect(answers.messages).toHaveLength(1);
    const drained = drain(scene);
    await world.advance(1_500);
    answers.release();
    await world.during(Promise.all([cut, drained]));
    await untilGone(scene);
    expect(ownerOf(scene, A)).toBeUndefined();
    expect(rowsOf(scene)).toEqual([]);
    expect(heldBy(scene, "h")).toEqual([]);
    expect(findings(scene)).toEqual([]);
  });

  test("a borrow, when the block has just ended", async () => {
    const scene = await Scene.open({ pools: ONE_BLOCK });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "first" }));
    const late = world.hold({ method: "allocate", from: "host:v1:default:b", kind: "request" });
    const borrow = scene.allocate("b", { handle: "h" });
    await world.advance(50);
    expect(late.messages).toHaveLength(1);
    await world.during(scene.release("first"));
    await world.during(drain(scene));
    await untilGone(scene);
    late.release();
    await world.during(borrow);
    await world.advance(10_000);
    expect(heldBy(scene, "h")).toEqual([]);
    expect(findings(scene)).toEqual([]);
  });

  test("an exact assignment, between its look-up and its claim", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    const late = world.hold({ method: "fresh", to: POOL, kind: "request" });
    const exact = scene.assign("a", "exact", "10.0.0.1");
    await world.advance(50);
    expect(late.messages).toHaveLength(1);
    const drained = drain(scene);
    await world.advance(1_200);
    late.release();
    await world.during(Promise.all([exact, drained]));
    await untilGone(scene);
    expect(heldBy(scene, "exact")).toEqual([]);
    expect(rowsOf(scene)).toEqual([]);
    expect(findings(scene)).toEqual([]);
  });

  test("a key that is listed in a block of a pool that has gone goes on to another pool", async () => {
    const scene = await Scene.open({ pools: ONE_BLOCK });
    const { world } = scene;
    const late = world.hold({ method: "allocate", to: BLOCK_A, kind: "request" });
    const cut = scene.allocate("a", { handle: "h", key: "same-key" });
    await world.advance(50);
    expect(late.messages).toHaveLength(1);
    world.evict(HOST_A);
    await world.during(Promise.all([cut, drain(scene)]));
    await untilGone(scene);
    late.release();
    await world.during(put(scene, "blue", "10.1.0.0/30", 30));
    const again = await world.during(scene.allocate("a", { handle: "h", key: "same-key" }));
    expect(told(again)[0]?.block).toBe("10.1.0.0/30");
    expect(findings(scene)).toEqual([]);
  });

  test("I3: a key whose address was released there stays spent", async () => {
    const scene = await Scene.open({ pools: ONE_BLOCK });
    const { world } = scene;
    const [got] = told(await world.during(scene.allocate("a", { handle: "h", key: "same-key" })));
    await world.during(scene.releaseAddress(A, { address: got?.address ?? "", handle: "h" }));
    await world.during(drain(scene));
    await untilGone(scene);
    await world.during(put(scene, "blue", "10.1.0.0/30", 30));
    expect(await world.during(scene.allocate("a", { handle: "h", key: "same-key" }))).toMatchObject({
      code: "idempotency_key_released",
    });
  });
});

test("F35: a Pool that cannot write for a while ends its drain all the same", async () => {
  const scene = await Scene.open({ pools: ONE_BLOCK });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "h" }));
  await world.during(drain(scene));
  world.setFull(POOL, true);
  await world.during(scene.release("h"));
  await world.advance(200_000);
  expect(await pools(scene)).toEqual(["default 0 draining"]);
  world.setFull(POOL, false);
  await world.advance(700_000);
  expect(await pools(scene)).toEqual([]);
});

test("an owner that a host's Host knows nothing of is asked by the block's own word", async () => {
  const scene = await Scene.open({ pools: ONE_BLOCK });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "h" }));
  await world.during(scene.release("h"));
  // The directory calls the block free, though its owner never gave it back.
  const target = { pool: "default", incarnation: 0, cidr: "10.0.0.0/30", blockSize: 30 };
  const pool = scene.deployed.ports.pool("default", 0);
  const fresh = await world.during(pool.fresh({ ...target, owner: "a", block: A }));
  const epoch = fresh.kind === "claim" ? fresh.epoch : 0;
  await world.during(pool.release({ ...target, owner: "a", block: A, epoch, draining: false }));
  await world.during(drain(scene));
  await untilGone(scene);
  expect(ownerOf(scene, A)).toBeUndefined();
  expect(rowsOf(scene)).toEqual([]);
});
