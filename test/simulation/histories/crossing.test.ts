/**
 * Histories in which messages about one key cross each other: late copies, repeats, undo and release.
 * Each was found by reading or by chance and failed before what it names was mended.
 */
import { expect, test } from "vitest";
import { EDGE_SETTINGS } from "../../../src/core/settings.ts";
import type { AllocateRequest, BlockPort } from "../../../src/rpc/block.ts";
import type { HandleIndexPort } from "../../../src/rpc/handle-index.ts";
import { checkHistory, checkRows, snapshot } from "../../support/simulation/checker.ts";
import { blockObject } from "../../support/simulation/deployment.ts";
import type { Message } from "../../support/simulation/messages.ts";
import { Scene } from "../../support/simulation/scene.ts";

const A = "10.0.0.0/30";
const B = "10.0.0.4/30";
const POOL = { default: { cidr: "10.0.0.0/29", blockSize: 30 } };
const TARGET = { pool: "default", incarnation: 0, cidr: "10.0.0.0/29", blockSize: 30 };
const DUAL = { v4: { cidr: "10.0.0.0/29", blockSize: 30 }, v6: { cidr: "fd00::/125", blockSize: 125 } };
const SHARD = "handle-index:v1:default:0";

function findings(scene: Scene): string[] {
  const seen = snapshot(scene);
  return [...checkRows(seen), ...checkHistory(scene, seen)];
}

function heldBy(scene: Scene, handle: string): string[] {
  const held = snapshot(scene).blocks.flatMap((block) => block.held);
  return held.filter((one) => one.handle === handle).map(({ address }) => address);
}

/** Both families have a pool, and the one of IPv6 is full. */
async function withFullV6(): Promise<Scene> {
  const scene = await Scene.open({ pools: DUAL });
  await scene.world.during(scene.allocate("b", { handle: "full", v4: 0, v6: 8 }));
  await scene.world.during(scene.allocate("a", { handle: "first" }));
  return scene;
}

/** Host a owns block A, whose last free address another host has taken without a's knowing. */
async function withStaleHint(): Promise<Scene> {
  const scene = await Scene.open({ pools: POOL });
  await scene.world.during(scene.allocate("a", { handle: "first", v4: 3 }));
  const last = await scene.world.during(scene.assign("b", "last", "10.0.0.3"));
  expect(last).toMatchObject({ kind: "ok", addresses: [{ block: A }] });
  return scene;
}

test("I5: no message to a block outlives the index row that was written for it", async () => {
  const scene = await Scene.open({ pools: POOL, settings: { ...EDGE_SETTINGS, indexShards: 1 } });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first" }));
  const reserved = world.hold({ method: "reserve", kind: "answer" });
  const allocated = world.hold({ method: "allocate", toClass: "BlockObject", kind: "request" });
  const slow = scene.allocate("a", { handle: "h" });
  await world.advance(1_900);
  reserved.release();
  await world.advance(1_300);
  const released = scene.release("h");
  await world.advance(100);
  allocated.release();
  await world.during(Promise.all([slow, released]));
  expect(findings(scene)).toEqual([]);
});

test("I13: a message that may still arrive makes the next answer of its block not final", async () => {
  const scene = await Scene.open({ pools: POOL });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first", v4: 3 }));
  let isTaken = false;
  const first = world.hold((message: Message) => {
    const items = (message.args[0] as Partial<AllocateRequest>).items ?? [];
    const isIt = message.kind === "request" && message.method === "allocate" && items[0]?.handle === "h";
    const takes = isIt && !isTaken;
    isTaken ||= takes;
    return takes;
  });
  const asked = scene.allocate("a", { handle: "h" });
  await world.advance(10);
  const other = scene.assign("b", "other", "10.0.0.3");
  await world.advance(50);
  // The sender is told of a lost connection, and yet the message is only late.
  for (const message of first.messages) world.network.fail(message, "connection_lost");
  await world.advance(50);
  const free = scene.releaseAddress(A, { address: "10.0.0.3", handle: "other" });
  await world.advance(10);
  expect(await free).toMatchObject({ kind: "released" });
  first.release();
  await world.during(Promise.all([asked, other]));
  expect(findings(scene)).toEqual([]);
});

test("I5: a late copy of a move moves nothing once the row has moved back", async () => {
  const scene = await Scene.open({ pools: POOL });
  const { world } = scene;
  const index = world.stub<HandleIndexPort>(SHARD);
  const until = world.now + 2_000;
  const key = { handle: "h", key: "a/k", until };
  const item = { ...key, fingerprint: "f", family: 4, block: A, count: 1, attempt: "x" } as const;
  await world.during(index.reserve({ items: [item] }));
  const there = { ...key, from: A, to: B, attempt: "x", attemptAfter: "x/1", final: true };
  const back = { ...key, from: B, to: A, attempt: "x/1", attemptAfter: "x/2", final: true };
  expect(await world.during(index.move(there))).toEqual({ kind: "moved" });
  expect(await world.during(index.move(there))).toEqual({ kind: "moved" });
  expect(await world.during(index.move(back))).toEqual({ kind: "moved" });
  expect(await world.during(index.move(there))).toEqual({ kind: "in_progress" });
  expect(world.rows(SHARD, "SELECT block FROM keys")).toEqual([{ block: A }]);
});

test("I4: a release is not over while a listed key has moved on (its client hung up)", async () => {
  const scene = await withStaleHint();
  const { world } = scene;
  const offered = world.hold({ method: "claim", toClass: "PoolObject", kind: "request" });
  const claimed = world.hold({ method: "claim", fromClass: "BlockObject", kind: "answer" });
  const settled = world.hold({ method: "settle", kind: "request" });
  const left = scene.allocate("a", { handle: "h" });
  await world.advance(1_500);
  offered.release();
  await world.advance(1_500);
  const released = scene.release("h");
  await world.advance(20);
  expect(settled.messages).toHaveLength(1);
  claimed.release();
  await world.advance(50);
  settled.release();
  expect(await world.during(released)).toMatchObject({ kind: "ok" });
  expect(await world.during(left)).toMatchObject({ kind: "ok" });
  expect(heldBy(scene, "h")).toEqual([]);
  expect(findings(scene)).toEqual([]);
});

test("I15: a refusal is not given while its undo may not have happened", async () => {
  const scene = await withFullV6();
  const { world } = scene;
  world.drop({ method: "undo", kind: "request" }, { times: 2, loss: "error" });
  const ended = await world.during(scene.allocate("a", { handle: "h", v4: 1, v6: 1 }));
  expect(ended).toMatchObject({ kind: "refused", code: "outcome_unknown" });
  expect(heldBy(scene, "h")).toHaveLength(1);
  const again = await world.during(scene.release("h"));
  expect(again).toEqual({ kind: "ok" });
  expect(heldBy(scene, "h")).toEqual([]);
});

test("I4: an address that was handed out again is not undone", async () => {
  const scene = await withFullV6();
  const { world } = scene;
  const search = world.hold({ method: "claim", toClass: "PoolObject", kind: "request" });
  const dual = scene.allocate("a", { handle: "h", v4: 1, v6: 1 });
  await world.advance(20);
  const again = scene.assign("a", "h", "10.0.0.1");
  await world.advance(20);
  expect(await again).toMatchObject({ kind: "ok", reused: true });
  search.release();
  expect(await world.during(dual)).toMatchObject({ kind: "refused", code: "pool_exhausted" });
  expect(findings(scene)).toEqual([]);
});

test("I15: what an attempt created is undone also where the first answer was lost", async () => {
  const scene = await withFullV6();
  const { world } = scene;
  world.drop({ method: "allocate", from: blockObject(A), kind: "answer" }, { loss: "error" });
  const ended = await world.during(scene.allocate("a", { handle: "h", v4: 1, v6: 1 }));
  expect(ended).toMatchObject({ kind: "refused", code: "pool_exhausted" });
  expect(findings(scene)).toEqual([]);
});

test("an ownerless block whose last address is undone retires, and its Pool hears of it", async () => {
  const scene = await Scene.open({ pools: POOL });
  const { world, deployed } = scene;
  await world.during(scene.allocate("a", { handle: "h" }));
  const block = world.stub<BlockPort>(blockObject(A));
  const view = { block: A, policy: { reserved: [], cooldownMs: 0 }, records: "all" } as const;
  const { records } = await world.during(block.describe(view));
  const pool = deployed.ports.pool("default", 0);
  const fresh = await world.during(pool.fresh({ ...TARGET, owner: "a", block: A }));
  if (fresh.kind !== "claim") throw new Error("the block is a's");
  const leave = { host: "a", block: A, pool: "default", incarnation: 0, epoch: fresh.epoch };
  const left = deployed.ports.host("a").releaseBlock({ ...leave, mustBeEmpty: false, forReclaim: false });
  expect(await world.during(left)).toEqual({ kind: "draining" });
  const addresses = records.map(({ address, touch }) => ({ address, touch }));
  const undo = {
    block: A,
    pool: "default",
    incarnation: 0,
    poolCidr: "10.0.0.0/29",
    handle: "h",
    key: "a/key-1",
  };
  expect(await world.during(block.undo({ ...undo, addresses }))).toEqual({ undone: ["10.0.0.0"] });
  // A copy of the undone message may be under way until then.
  await world.advance(2_200);
  expect(await world.during(pool.list({ ...TARGET, limit: 10 }))).toEqual({ entries: [] });
});
