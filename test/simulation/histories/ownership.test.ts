/**
 * Who owns a block, while messages are late and hosts die at every step (H9, H10, H11, CE-8 to CE-11,
 * CE-20, CE-27).
 */
import { describe, expect, test } from "vitest";
import type { BlockPort } from "../../../src/rpc/block.ts";
import { checkCap, snapshot } from "../../support/simulation/checker.ts";
import { blockObject } from "../../support/simulation/deployment.ts";
import type { CrashPoint } from "../../support/simulation/instance.ts";
import type { Message } from "../../support/simulation/messages.ts";
import { Scene } from "../../support/simulation/scene.ts";
import {
  A,
  askToLeave,
  findings,
  HOST_A,
  HOST_B,
  heldBy,
  leave,
  ONE_BLOCK,
  ownerOf,
  POOL,
  rowsOf,
  TWO_BLOCKS,
  target,
} from "./stage.ts";

const STRICT = { strictAffinity: true };
const BLOCK_A = blockObject(A);

/** Where a claim is cut off: object, crash point, the turn that it ends in. */
const CLAIM_CUTS: [string, string, CrashPoint, string][] = [
  ["before the Pool's commit", POOL, "before-commit", `-> ${POOL} claim`],
  ["after the Pool's commit", POOL, "after-commit", `-> ${POOL} claim`],
  ["before the row", HOST_A, "before-commit", `=> ${HOST_A} claim`],
  ["after the row", HOST_A, "after-commit", `=> ${HOST_A} claim`],
  ["before the block's commit", BLOCK_A, "before-commit", `-> ${BLOCK_A} claim`],
  ["after the block's commit", BLOCK_A, "after-commit", `-> ${BLOCK_A} claim`],
  ["before the confirmation", HOST_A, "before-commit", `${BLOCK_A} => ${HOST_A} claim`],
  ["after the confirmation", HOST_A, "after-commit", `${BLOCK_A} => ${HOST_A} claim`],
];

function epochOf(message: Message | undefined): number {
  return (message?.args[0] as { epoch: number } | undefined)?.epoch ?? Number.NaN;
}

describe("H9: a claim that is cut off keeps its block from nobody", () => {
  test.each(CLAIM_CUTS)("%s", async (_where, object, point, during) => {
    const scene = await Scene.open({ pools: ONE_BLOCK, config: STRICT });
    const { world } = scene;
    world.crash(object, point, during);
    await world.during(scene.allocate("a", { handle: "first" }));
    expect(world.counters.read().events[`crash ${point}`]).toBe(1);
    expect(findings(scene)).toEqual([]);
    await world.during(scene.release("first"));
    await world.advance(62_000);
    const got = await world.during(scene.allocate("b", { handle: "second" }));
    expect(got).toMatchObject({ kind: "ok", addresses: [{ block: A }] });
    expect(ownerOf(scene, A)).toBe("b");
    expect(rowsOf(scene).filter((row) => row.endsWith("confirmed"))).toEqual([`b ${A} confirmed`]);
    expect(findings(scene)).toEqual([]);
  });
});

const LEAVE_CUTS: [string, string, CrashPoint, string][] = [
  ["before the row", HOST_A, "before-commit", `-> ${HOST_A} releaseBlock`],
  ["after the row", HOST_A, "after-commit", `-> ${HOST_A} releaseBlock`],
  ["before the block's commit", BLOCK_A, "before-commit", `-> ${BLOCK_A} releaseAffinity`],
  ["after the block's commit", BLOCK_A, "after-commit", `-> ${BLOCK_A} releaseAffinity`],
  ["before the Pool's commit", POOL, "before-commit", `-> ${POOL} release`],
  ["after the Pool's commit", POOL, "after-commit", `-> ${POOL} release`],
];

describe("H10: a release of a block that is cut off while its host allocates there", () => {
  test.each(LEAVE_CUTS)("%s", async (_where, object, point, during) => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    const first = await world.during(scene.allocate("a", { handle: "first" }));
    const block = first.kind === "ok" ? (first.addresses[0]?.block ?? "") : "";
    expect(block).toBe(A);
    await world.during(scene.release("first"));
    const left = await leave(scene, "a", A, "10.0.0.0/29");
    world.crash(object, point, during);
    const asked = [1, 2, 3].map((n) => scene.allocate("a", { handle: `h${n}` }));
    await world.during(Promise.all([left.answer.catch(() => undefined), ...asked]));
    expect(findings(scene)).toEqual([]);
    await world.during(scene.allocate("a", { handle: "later", v4: 3 }));
    await world.during(scene.allocate("a", { handle: "last", v4: 3 }));
    expect(rowsOf(scene).filter((row) => !row.endsWith("confirmed"))).toEqual([]);
    expect(findings(scene)).toEqual([]);
  });
});

test("H11 CE-11 I10: many requests in two pools at a time never pass the cap", async () => {
  const pools = {
    one: { cidr: "10.0.0.0/28", blockSize: 30 },
    two: { cidr: "10.0.1.0/28", blockSize: 30 },
  };
  const scene = await Scene.open({ pools, hosts: ["a"], config: { ...STRICT, maxBlocksPerHost: 3 } });
  const { world } = scene;
  const asked = Array.from({ length: 30 }, (_, n) =>
    scene.allocate("a", { handle: `h${n}`, pools: [n % 2 === 0 ? "one" : "two"] }),
  );
  const all = Promise.all(asked);
  for (let step = 0; step < 400; step += 1) {
    await world.step();
    expect(checkCap(snapshot(scene), 3)).toEqual([]);
  }
  const ended = await world.during(all);
  expect(ended.filter(({ kind }) => kind === "ok")).toHaveLength(12);
  expect(rowsOf(scene)).toHaveLength(3);
  expect(findings(scene)).toEqual([]);
});

test("CE-8 I6: a block that was asked back is confirmed by its new owner alone, at every step", async () => {
  const scene = await Scene.open({ pools: ONE_BLOCK, config: STRICT });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first" }));
  await world.during(scene.release("first"));
  await world.advance(62_000);
  const got = scene.allocate("b", { handle: "second" });
  for (let step = 0; step < 60; step += 1) {
    await world.step();
    expect(findings(scene)).toEqual([]);
  }
  expect(await world.during(got)).toMatchObject({ kind: "ok" });
  expect(rowsOf(scene)).toEqual([`b ${A} confirmed`]);
});

test("CE-9 I6: a late claim finds a higher epoch at its block", async () => {
  const scene = await Scene.open({ pools: ONE_BLOCK, config: STRICT });
  const { world } = scene;
  const late = world.hold({ method: "claim", to: BLOCK_A, kind: "request" });
  const cut = scene.allocate("b", { handle: "h" });
  await world.advance(20);
  expect(late.messages).toHaveLength(1);
  world.evict(HOST_B);
  await world.advance(10);
  const [first] = late.messages;
  const again = scene.allocate("b", { handle: "h" });
  await world.advance(20);
  // The second claim goes first, and the block is given back before the first one arrives.
  expect(late.messages).toHaveLength(2);
  const second = late.messages[1];
  expect(epochOf(second)).toBeGreaterThan(epochOf(first));
  late.releaseLast();
  await world.advance(20);
  const released = scene.release("h");
  await world.advance(20);
  const epoch = epochOf(second) + 1;
  const fresh = scene.deployed.ports
    .pool("default", 0)
    .fresh({ ...target("10.0.0.0/30"), owner: "b", block: A });
  await world.advance(10);
  expect(await fresh).toMatchObject({ epoch });
  const left = askToLeave(scene, "b", A, epoch);
  await world.advance(20);
  expect(await left).toEqual({ kind: "released" });
  late.release();
  await world.during(Promise.all([cut, again, released]));
  expect(ownerOf(scene, A)).toBeUndefined();
  expect(rowsOf(scene)).toEqual([]);
  const next = await world.during(scene.allocate("a", { handle: "next" }));
  expect(next).toMatchObject({ kind: "ok" });
  expect(findings(scene)).toEqual([]);
});

test("CE-9 I6: a claim under way dies when its block is given back before it arrives", async () => {
  const scene = await Scene.open({ pools: ONE_BLOCK, config: STRICT });
  const { world } = scene;
  const late = world.hold({ method: "claim", to: BLOCK_A, kind: "request" });
  const cut = scene.allocate("b", { handle: "h" });
  await world.advance(20);
  expect(late.messages).toHaveLength(1);
  const fresh = scene.deployed.ports
    .pool("default", 0)
    .fresh({ ...target("10.0.0.0/30"), owner: "b", block: A });
  await world.advance(10);
  const { epoch } = (await fresh) as { epoch: number };
  const left = askToLeave(scene, "b", A, epoch);
  await world.advance(30);
  expect(await left).toEqual({ kind: "released" });
  // Whoever claimed it is gone: a block that took the late claim would be nobody's to free.
  world.evict(HOST_B);
  late.release();
  await world.during(cut);
  expect(ownerOf(scene, A)).toBeUndefined();
  expect(rowsOf(scene)).toEqual([]);
  expect(findings(scene)).toEqual([]);
});

test("CE-9 I6: a late answer to a claim confirms nothing that was given back meanwhile", async () => {
  const scene = await Scene.open({ pools: ONE_BLOCK, config: STRICT });
  const { world } = scene;
  const late = world.hold({ method: "claim", from: BLOCK_A, kind: "answer" });
  const slow = scene.allocate("b", { handle: "h" });
  await world.advance(20);
  expect(ownerOf(scene, A)).toBe("b");
  const fresh = scene.deployed.ports
    .pool("default", 0)
    .fresh({ ...target("10.0.0.0/30"), owner: "b", block: A });
  await world.advance(10);
  const left = askToLeave(scene, "b", A, ((await fresh) as { epoch: number }).epoch);
  await world.advance(30);
  expect(await left).toEqual({ kind: "released" });
  late.release();
  for (let step = 0; step < 60; step += 1) {
    await world.step();
    expect(findings(scene)).toEqual([]);
  }
  await world.during(slow);
  expect(findings(scene)).toEqual([]);
});

test("CE-10 I6: a late release of a block finds a higher epoch, after its host has recovered", async () => {
  const scene = await Scene.open({ pools: TWO_BLOCKS });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first" }));
  let isHeld = false;
  const late = world.hold(({ method, kind }) => {
    const takes = !isHeld && method === "releaseAffinity" && kind === "request";
    isHeld ||= takes;
    return takes;
  });
  const left = await leave(scene, "a", A, "10.0.0.0/29");
  await world.advance(20);
  expect(late.messages).toHaveLength(1);
  world.evict(HOST_A);
  await world.during(left.answer.catch(() => undefined));
  await world.during(scene.allocate("a", { handle: "more", v4: 4 }));
  await world.during(scene.release("first"));
  await world.during(scene.release("more"));
  expect(rowsOf(scene)).toContain(`a ${A} confirmed`);
  late.release();
  await world.advance(1_000);
  expect(ownerOf(scene, A)).toBe("a");
  expect(findings(scene)).toEqual([]);
});

test("CE-10 I6: a late copy of a release that was refused takes nothing once the block is empty", async () => {
  const scene = await Scene.open({ pools: ONE_BLOCK });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first" }));
  const { epoch } = await leave(scene, "a", A, "10.0.0.0/30");
  await world.during(askToLeave(scene, "a", A, epoch));
  expect(rowsOf(scene)).toEqual([`a ${A} confirmed`]);
  await world.during(scene.release("first"));
  const block = world.stub<BlockPort>(BLOCK_A);
  const place = { block: A, pool: "default", incarnation: 0, poolCidr: "10.0.0.0/30" };
  const copy = { ...place, owner: "a", epoch, mustBeEmpty: true, cooldownMs: 0 };
  expect(await world.during(block.releaseAffinity(copy))).toMatchObject({ kind: "block_not_empty" });
  expect(ownerOf(scene, A)).toBe("a");
  expect(findings(scene)).toEqual([]);
});

test("CE-20: a borrow that arrives at a block which has just retired creates nothing", async () => {
  const scene = await Scene.open({ pools: ONE_BLOCK });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first" }));
  const late = world.hold({ method: "allocate", from: HOST_B, kind: "request" });
  const borrow = scene.allocate("b", { handle: "h" });
  await world.advance(50);
  expect(late.messages).toHaveLength(1);
  const released = scene.release("first");
  await world.advance(20);
  await released;
  const fresh = scene.deployed.ports
    .pool("default", 0)
    .fresh({ ...target("10.0.0.0/30"), owner: "a", block: A });
  await world.advance(10);
  const left = askToLeave(scene, "a", A, ((await fresh) as { epoch: number }).epoch);
  await world.advance(50);
  expect(await left).toEqual({ kind: "released" });
  late.release();
  await world.during(borrow);
  expect(findings(scene)).toEqual([]);
  expect(heldBy(scene, "h").length === 0 || ownerOf(scene, A) === "b").toBe(true);
});

test("CE-27: an order to leave a block from before it was claimed again does nothing", async () => {
  const scene = await Scene.open({ pools: TWO_BLOCKS });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first" }));
  await world.during(scene.release("first"));
  const orders = world.hold({ method: "releaseBlock", to: HOST_A, kind: "request" });
  const old = await leave(scene, "a", A, "10.0.0.0/29");
  await world.advance(10);
  expect(orders.messages).toHaveLength(1);
  const next = await leave(scene, "a", A, "10.0.0.0/29");
  await world.advance(10);
  orders.releaseLast();
  expect(await world.during(next.answer)).toEqual({ kind: "released" });
  await world.during(scene.allocate("a", { handle: "again" }));
  expect(ownerOf(scene, A)).toBe("a");
  orders.release();
  expect(await world.during(old.answer)).toEqual({ kind: "stale" });
  expect(rowsOf(scene)).toEqual([`a ${A} confirmed`]);
  expect(ownerOf(scene, A)).toBe("a");
  expect(heldBy(scene, "again")).toHaveLength(1);
  expect(findings(scene)).toEqual([]);
});

test("I10: an order to leave a block beyond the cap does not become a claim of it", async () => {
  const pools = {
    one: { cidr: "10.0.0.0/30", blockSize: 30 },
    two: { cidr: "10.0.1.0/30", blockSize: 30 },
  };
  const scene = await Scene.open({ pools, config: { ...STRICT, maxBlocksPerHost: 1 } });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first", pools: ["one"] }));
  // The directory says that a has the other pool's block, as after a claim whose Host died.
  const pool = scene.deployed.ports.pool("two", 0);
  const place = { pool: "two", incarnation: 0, cidr: "10.0.1.0/30", blockSize: 30 };
  await world.during(pool.claim({ ...place, owner: "a", known: [], excluded: [], tried: [] }));
  world.drop({ method: "releaseAffinity", kind: "request" });
  await world.during(scene.allocate("b", { handle: "second", pools: ["two"] }));
  expect(rowsOf(scene)).toContain("a 10.0.1.0/30 pendingDeletion");
  const asked = scene.allocate("a", { handle: "third", v4: 4 });
  for (let step = 0; step < 80; step += 1) {
    await world.step();
    expect(checkCap(snapshot(scene), 1)).toEqual([]);
  }
  await world.during(asked);
  expect(rowsOf(scene).filter((row) => row.startsWith("a "))).toEqual([`a ${A} confirmed`]);
  const got = await world.during(scene.allocate("b", { handle: "second", pools: ["two"] }));
  expect(got).toMatchObject({ kind: "ok" });
  expect(findings(scene)).toEqual([]);
});
