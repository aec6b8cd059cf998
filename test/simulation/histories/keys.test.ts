/**
 * One key, one answer: crashes, repeats and releases around one request (H1 to H4, CE-3, CE-16, CE-19,
 * CE-25), and a batch with a poisoned element (H18).
 */
import { describe, expect, test } from "vitest";
import { blockObject } from "../../support/simulation/deployment.ts";
import type { CrashPoint } from "../../support/simulation/instance.ts";
import { claimBlock } from "../../support/simulation/operators.ts";
import { Scene } from "../../support/simulation/scene.ts";
import {
  A,
  B,
  findings,
  HOST_A,
  heldBy,
  leave,
  ONE_BLOCK,
  ownerOf,
  rowsOf,
  SHARD,
  TWO_BLOCKS,
} from "./stage.ts";

const BLOCK_A = blockObject(A);

/** A request whose host dies when the index has its row and no block was asked. */
async function diesAfterIndex(scene: Scene, handle: string, key: string): Promise<void> {
  const { world } = scene;
  const reserved = world.hold({ method: "reserve", kind: "answer" });
  const cut = scene.allocate("a", { handle, key });
  await world.advance(20);
  expect(reserved.messages).toHaveLength(1);
  world.evict(HOST_A);
  reserved.drop();
  expect(await world.during(cut)).toEqual({ kind: "unknown" });
  expect(heldBy(scene, handle)).toEqual([]);
}

const REQUEST_CUTS: [string, string, CrashPoint, string][] = [
  ["before the index's commit", SHARD, "before-commit", ""],
  ["after the index's commit", SHARD, "after-commit", ""],
  ["before the block's commit", BLOCK_A, "before-commit", "allocate"],
  ["after the block's commit", BLOCK_A, "after-commit", "allocate"],
  ["with the index's answer in hand", HOST_A, "after-send", `${SHARD} => ${HOST_A} reserve`],
  ["with the block's answer in hand", HOST_A, "after-send", `${BLOCK_A} => ${HOST_A} allocate`],
];

function ownedBy(scene: Scene, host: string): string {
  return (
    rowsOf(scene)
      .find((row) => row.startsWith(`${host} `))
      ?.split(" ")[1] ?? ""
  );
}

function blockOf(address: string): string {
  return Number(address.split(".").at(-1)) < 4 ? A : B;
}

describe("H1 I13: a request that is cut off is answered with the same addresses under its key", () => {
  test.each(REQUEST_CUTS)("%s", async (_where, object, point, during) => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "first" }));
    world.crash(object, point, during);
    const key = scene.newKey();
    const cut = await world.during(scene.allocate("a", { handle: "h", key }));
    expect(world.counters.read().events[`crash ${point}`]).toBe(1);
    const again = await world.during(scene.allocate("a", { handle: "h", key }));
    expect(again.kind).toBe("ok");
    if (cut.kind === "ok") expect(again).toEqual(cut);
    expect(heldBy(scene, "h")).toHaveLength(1);
    expect(findings(scene)).toEqual([]);
  });
});

describe("H2 H3 I4: a release of a handle leaves nothing to a request whose client is gone", () => {
  test.each([100, 1_500])("a message to the block that is late by %i ms", async (late) => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "first" }));
    const held = world.hold({ method: "allocate", to: BLOCK_A, kind: "request" });
    const left = scene.allocate("a", { handle: "h" });
    await world.advance(20);
    const released = scene.release("h");
    await world.advance(late);
    held.release();
    expect(await world.during(released)).toEqual({ kind: "ok" });
    expect(heldBy(scene, "h")).toEqual([]);
    await world.during(left);
    await world.advance(5_000);
    expect(heldBy(scene, "h")).toEqual([]);
    expect(findings(scene)).toEqual([]);
  });

  test("the host died between index and block", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "first" }));
    await diesAfterIndex(scene, "h", scene.newKey());
    expect(await world.during(scene.release("h"))).toEqual({ kind: "ok" });
    await world.advance(5_000);
    expect(heldBy(scene, "h")).toEqual([]);
    expect(world.rows(SHARD, "SELECT key FROM keys WHERE handle = 'h' AND state = 'reserved'")).toEqual([]);
  });
});

test("H4 CE-16 I13: a key that went to a block which is full by now is looked up there first", async () => {
  const scene = await Scene.open({ pools: TWO_BLOCKS });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first", v4: 3 }));
  world.drop({ method: "allocate", from: BLOCK_A, kind: "answer" });
  const key = scene.newKey();
  const cut = scene.allocate("a", { handle: "h", key });
  await world.advance(50);
  world.evict(HOST_A);
  await world.during(cut);
  const again = await world.during(scene.allocate("a", { handle: "h", key }));
  expect(again).toMatchObject({ kind: "ok", addresses: [{ address: "10.0.0.3" }] });
  expect(findings(scene)).toEqual([]);
});

test("H4 I13: a full block that may still get the first message keeps the key from moving on", async () => {
  const scene = await Scene.open({ pools: TWO_BLOCKS });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first", v4: 3 }));
  const late = world.hold({ method: "allocate", from: HOST_A, to: BLOCK_A, kind: "request" });
  const key = scene.newKey();
  const cut = scene.allocate("a", { handle: "h", key });
  await world.advance(20);
  world.evict(HOST_A);
  const last = scene.assign("b", "last", "10.0.0.3");
  await world.advance(50);
  expect(await last).toMatchObject({ kind: "ok" });
  const again = scene.allocate("a", { handle: "h", key });
  await world.advance(20);
  // The second message goes first and finds the block full; then it has room, and the first arrives.
  late.releaseLast();
  await world.advance(100);
  const free = scene.release("last");
  await world.advance(100);
  expect(await free).toEqual({ kind: "ok" });
  late.release();
  await world.during(Promise.all([cut, again]));
  await world.during(scene.allocate("a", { handle: "h", key }));
  expect(heldBy(scene, "h")).toHaveLength(1);
  expect(findings(scene)).toEqual([]);
});

test("CE-25 I13: an unknown outcome is asked for at the same block, never at the next", async () => {
  const scene = await Scene.open({ pools: TWO_BLOCKS });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first" }));
  await world.during(scene.allocate("b", { handle: "second" }));
  world.drop({ method: "allocate", from: BLOCK_A, kind: "answer" }, { times: 8 });
  const ended = await world.during(scene.allocate("a", { handle: "h" }));
  expect(ended).toMatchObject({ kind: "refused", code: "outcome_unknown" });
  expect(heldBy(scene, "h")).toEqual(["10.0.0.1"]);
  expect(findings(scene)).toEqual([]);
});

test("CE-3 CE-19 I5: the shard's own pass removes no row that a message may still fill", async () => {
  const scene = await Scene.open({ pools: TWO_BLOCKS, settings: { leaseMs: 5_000, indexPassMs: 1_000 } });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first" }));
  const late = world.hold({ method: "allocate", to: BLOCK_A, kind: "request" });
  const slow = scene.allocate("a", { handle: "h" });
  await world.advance(1_500);
  late.release();
  await world.during(slow);
  expect(findings(scene)).toEqual([]);
  await world.during(scene.release("h"));
  await world.advance(30_000);
  expect(world.rows(SHARD, "SELECT key FROM keys WHERE handle = 'h' AND state = 'reserved'")).toEqual([]);
});

test("CE-3 I5: a row that another attempt took over since the pass read it stays (until has risen)", async () => {
  const scene = await Scene.open({ pools: TWO_BLOCKS, settings: { indexPassMs: 5_000 } });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first" }));
  const key = scene.newKey();
  await diesAfterIndex(scene, "h", key);
  const asked = world.hold({ method: "holds", kind: "answer" });
  await world.advance(7_000);
  expect(asked.messages.length).toBeGreaterThan(0);
  const again = scene.allocate("a", { handle: "h", key });
  await world.advance(50);
  asked.release();
  expect(await world.during(again)).toMatchObject({ kind: "ok" });
  expect(findings(scene)).toEqual([]);
});

test("I13: a released key stays spent though its block was asked back and has retired", async () => {
  const scene = await Scene.open({ pools: ONE_BLOCK, config: { strictAffinity: true } });
  const { world } = scene;
  const key = scene.newKey();
  const got = await world.during(scene.allocate("a", { handle: "h", key }));
  const told = got.kind === "ok" ? got.addresses[0] : undefined;
  await world.during(
    scene.releaseAddress(A, { address: "10.0.0.0", sequenceNumber: told?.sequenceNumber ?? 0 }),
  );
  await world.advance(62_000);
  const left = await leave(scene, "a", A, "10.0.0.0/30");
  expect(await world.during(left.answer)).toEqual({ kind: "released" });
  await world.advance(10_000);
  expect(ownerOf(scene, A)).toBeUndefined();
  const again = await world.during(scene.allocate("a", { handle: "h", key }));
  expect(again).toMatchObject({ kind: "refused", code: "idempotency_key_released" });
  expect(heldBy(scene, "h")).toEqual([]);
});

test("H18: one poisoned element of a batch fails alone; the others are answered once", async () => {
  const pools = { default: { cidr: "10.0.0.0/24", blockSize: 24 } };
  const scene = await Scene.open({ pools });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first" }));
  const asked = Array.from({ length: 64 }, (_, n) =>
    scene.allocate("a", { handle: `h${n}`, v4: n === 31 ? 1.5 : 1 }),
  );
  const ended = await world.during(Promise.all(asked));
  expect(ended.filter(({ kind }) => kind === "ok")).toHaveLength(63);
  expect(ended[31]?.kind).not.toBe("ok");
  expect(heldBy(scene, "h31")).toEqual([]);
  expect(findings(scene)).toEqual([]);
});

test("I13: a partial request of both families is answered alike, though its addresses lie in several blocks", async () => {
  const pools = { ...TWO_BLOCKS, v6: { cidr: "fd00::/126", blockSize: 126 } };
  const scene = await Scene.open({ pools });
  const { world } = scene;
  const wish = { handle: "h", key: scene.newKey(), v4: 5, v6: 1, partial: true };
  const first = await world.during(scene.allocate("a", wish));
  const blocks = first.kind === "ok" ? first.addresses.map(({ block }) => block) : [];
  expect(new Set(blocks)).toEqual(new Set([A, B, "fd00::/126"]));
  expect(await world.during(scene.allocate("a", wish))).toEqual(first);
  expect(findings(scene)).toEqual([]);
});

test("I5: a row that an attempt finds listed is its own, and leaves a block that gave something no more", async () => {
  const scene = await Scene.open({ pools: TWO_BLOCKS, settings: { leaseMs: 300, skewMs: 100 } });
  const { world, deployed } = scene;
  await world.during(scene.allocate("a", { handle: "old", v4: 3 }));
  await world.during(scene.allocate("b", { handle: "other" }));
  const own = ownedBy(scene, "a");
  const reserved = world.hold({ from: SHARD, kind: "answer", method: "reserve" });
  const asked = scene.allocate("a", { handle: "h", v4: 2 });
  await world.advance(50);
  // The seat was chosen under a policy that ends now; and the block's owner hears that there is no room.
  void deployed.ports.cluster().changeConfig({ patch: { ipCooldownSeconds: 1 }, by: "test" });
  await world.advance(600);
  const full = { capacity: 4, allocated: 4, cooling: 0, hostReserved: 0, free: 0, reserved: 0, available: 0 };
  const counts = { ...full, borrowed: 1, asOf: world.now };
  void deployed.ports.host("a").blockChanged({ host: "a", block: own, counts });
  await world.advance(50);
  reserved.release();
  expect(await world.during(asked)).toMatchObject({ kind: "ok" });
  expect(new Set(heldBy(scene, "h").map(blockOf))).toEqual(new Set([A, B]));
  expect(findings(scene)).toEqual([]);
});

test.each([false, true])(
  "I13: a repeat is answered where its first block has filled up (partial: %s)",
  async (partial) => {
    const pools = { ...TWO_BLOCKS, six: { cidr: "fd00::/120", blockSize: 122 } };
    const scene = await Scene.open({ pools, hosts: ["a"] });
    await scene.world.during(scene.allocate("a", { handle: "other", v6: 1 }));
    const messages = scene.world.hold({ method: "allocate", kind: "request", toClass: "BlockObject" });
    void scene.allocate("a", { handle: "cut", v4: 1, v6: 1, partial });
    await scene.world.advance(10);
    expect(messages.messages).toHaveLength(2);
    const asked = scene.asked[scene.asked.length - 1];
    scene.world.evict(HOST_A);
    messages.drop();
    await scene.world.advance(10_000);
    for (const handle of ["p", "q", "r"]) await scene.world.during(scene.allocate("a", { handle }));
    let ended = asked && (await scene.world.during(scene.again(asked)));
    for (let n = 0; n < 3 && asked !== undefined && ended?.kind !== "ok"; n += 1) {
      await scene.world.advance(4_000);
      ended = await scene.world.during(scene.again(asked));
    }
    expect(ended).toMatchObject({ kind: "ok" });
    expect(heldBy(scene, "cut")).toHaveLength(2);
    expect(findings(scene)).toEqual([]);
  },
);

test("I13: what a key holds in one of its blocks is found before another gives it more", async () => {
  const scene = await Scene.open({ pools: TWO_BLOCKS, hosts: ["a"] });
  const { world } = scene;
  await world.during(claimBlock(scene, "a", "default", B));
  world.drop({ to: blockObject(A), method: "allocate", kind: "request" });
  const wish = { handle: "h", key: scene.newKey(), v4: 5 };
  void scene.allocate("a", wish);
  await world.advance(500);
  world.evict(HOST_A);
  expect(heldBy(scene, "h").map(blockOf)).toEqual([B, B, B, B]);
  await world.advance(5_000);
  expect(await world.during(scene.allocate("a", wish))).toMatchObject({ kind: "ok" });
  expect(heldBy(scene, "h")).toHaveLength(5);
  expect(findings(scene)).toEqual([]);
});
