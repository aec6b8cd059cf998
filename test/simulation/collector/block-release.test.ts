/**
 * What follows from a release by touch: the index row of the key ends, the handle may allocate again, owner and
 * Pool hear of the room. May import: the simulation and its support.
 */
import { describe, expect, test } from "vitest";
import { checkRows, snapshot } from "../../support/simulation/checker.ts";
import { giveUpBlocks } from "../../support/simulation/operators.ts";
import { Scene, type Told } from "../../support/simulation/scene.ts";
import { A, HOST_A, heldBy, ONE_BLOCK, POOL, SHARD, TWO_BLOCKS } from "../histories/stage.ts";

const SECOND = 1_000;
/** As long as a spent key is remembered. */
const PASS = 600 * SECOND;
const COOLDOWN = 30 * SECOND;

async function open(pools = ONE_BLOCK): Promise<Scene> {
  const settings = { indexPassMs: PASS, reportMs: SECOND };
  return await Scene.open({ pools, settings, config: { ipCooldownSeconds: COOLDOWN / SECOND } });
}

async function got(scene: Scene, wish: Parameters<Scene["allocate"]>[1], host = "a"): Promise<Told> {
  const ended = await scene.world.during(scene.allocate(host, wish));
  const [told] = ended.kind === "ok" ? ended.addresses : [];
  if (told === undefined) throw new Error(JSON.stringify(ended));
  return told;
}

/** What the collector would free now, as host `a` holds it. */
async function judged(scene: Scene, handle: string) {
  const question = { block: A, host: "a", cooldownMs: COOLDOWN };
  const { subjects = [] } = await scene.world.during(scene.deployed.ports.block(A).holdings(question));
  return subjects.filter((subject) => subject.handle === handle);
}

async function free(scene: Scene, items: readonly { address: string; handle: string; touch: number }[]) {
  const order = { block: A, items, until: scene.world.now + 2_000, cooldownMs: COOLDOWN };
  return (await scene.world.during(scene.deployed.ports.block(A).releaseLeaked(order))).answers;
}

const keysOf = (scene: Scene, handle: string) =>
  scene.world.rows(SHARD, `SELECT state FROM keys WHERE handle = '${handle}'`).map(({ state }) => state);

describe("the index row of a key that the collector freed", () => {
  test("is spent at once, by the block's word, and goes when a repeat can no longer come", async () => {
    const scene = await open();
    await got(scene, { handle: "h" });
    // The shard has passed over its rows and rests: nothing would look at this one again.
    await scene.world.advance(3 * PASS);
    expect(await free(scene, await judged(scene, "h"))).toEqual(["released"]);
    expect(keysOf(scene, "h")).toEqual(["spent"]);
    await scene.world.advance(2 * PASS);
    expect(keysOf(scene, "h")).toEqual([]);
    expect(checkRows(snapshot(scene))).toEqual([]);
  });

  test("ends by the shard's own pass where that word was lost", async () => {
    const scene = await open();
    await got(scene, { handle: "h" });
    const word = scene.world.hold({ method: "settle", kind: "request" });
    expect(await free(scene, await judged(scene, "h"))).toEqual(["released"]);
    expect(word.messages).toHaveLength(1);
    word.drop();
    expect(keysOf(scene, "h")).toEqual(["reserved"]);
    await scene.world.advance(PASS);
    expect(keysOf(scene, "h")).toEqual(["spent"]);
    await scene.world.advance(PASS);
    expect(keysOf(scene, "h")).toEqual([]);
    expect(checkRows(snapshot(scene))).toEqual([]);
  });

  test("I5: stays while the key holds another address in the block", async () => {
    const scene = await open();
    await got(scene, { handle: "h", v4: 2 });
    const [first, second] = await judged(scene, "h");
    if (first === undefined) throw new Error("it holds two");
    expect(await free(scene, [first])).toEqual(["released"]);
    await scene.world.advance(PASS);
    expect(keysOf(scene, "h")).toEqual(["reserved"]);
    expect(heldBy(scene, "h")).toEqual([second?.address]);
    expect(await scene.world.during(scene.release("h"))).toEqual({ kind: "ok" });
    expect(heldBy(scene, "h")).toEqual([]);
  });

  test("I13: a repeat of the request is told that its key is spent, before and after the pass", async () => {
    const scene = await open();
    await got(scene, { handle: "h", key: "k" });
    await free(scene, await judged(scene, "h"));
    const again = () => scene.world.during(scene.allocate("a", { handle: "h", key: "k" }));
    expect(await again()).toMatchObject({ kind: "refused", code: "idempotency_key_released" });
    await scene.world.advance(PASS + SECOND);
    expect(await again()).toMatchObject({ kind: "refused", code: "idempotency_key_released" });
  });
});

describe("I9: a handle with a limit of one whose address the collector freed", () => {
  test.each([
    ["before the index's pass", 0],
    ["after it", 2 * PASS],
  ])("allocates again, %s", async (_when, pauseMs) => {
    const scene = await open();
    const first = await got(scene, { handle: "h", maxPerHandle: 1 });
    expect(await free(scene, await judged(scene, "h"))).toEqual(["released"]);
    await scene.world.advance(pauseMs);
    const second = await got(scene, { handle: "h", maxPerHandle: 1 });
    expect(second.sequenceNumber).toBeGreaterThan(first.sequenceNumber);
    expect(heldBy(scene, "h")).toEqual([second.address]);
    await scene.world.advance(2 * PASS);
    expect(checkRows(snapshot(scene))).toEqual([]);
  });

  test("H14 I11: keeps the address that it was given again before the order came", async () => {
    const scene = await open();
    const first = await got(scene, { handle: "h", maxPerHandle: 1 });
    const order = await judged(scene, "h");
    scene.world.evict(HOST_A);
    const again = await got(scene, { handle: "h", maxPerHandle: 1 });
    expect(again.address).toBe(first.address);
    expect(await free(scene, order)).toEqual(["moved_on"]);
    expect(heldBy(scene, "h")).toEqual([first.address]);
    await scene.world.advance(2 * PASS);
    expect(keysOf(scene, "h")).toContain("reserved");
    expect(checkRows(snapshot(scene))).toEqual([]);
  });

  test("I9: order and request at once, in any order of arrival: one address at the end", async () => {
    for (const isHeld of [true, false]) {
      const scene = await open(TWO_BLOCKS);
      await got(scene, { handle: "h", maxPerHandle: 1 });
      const order = await judged(scene, "h");
      const late = isHeld ? scene.world.hold({ method: "reuse", kind: "request" }) : undefined;
      const added = scene.allocate("a", { handle: "h", maxPerHandle: 1 });
      await scene.world.advance(20);
      expect(await free(scene, order)).toEqual([isHeld ? "released" : "moved_on"]);
      late?.release();
      const ended = await scene.world.during(added);
      await scene.world.advance(2 * PASS);
      const held = ended.kind === "ok" ? ended.addresses.map(({ address }) => address) : [];
      expect(heldBy(scene, "h"), JSON.stringify(ended)).toEqual(held);
      expect(checkRows(snapshot(scene))).toEqual([]);
    }
  });
});

describe("whoever may gain by it hears of a release", () => {
  const calls = (scene: Scene, route: string) => scene.world.counters.read().calls[route] ?? 0;

  test("the owner, at once, when the block was full; when it is empty; and else within its time", async () => {
    const scene = await open();
    const route = "BlockObject>HostObject.blockChanged";
    await got(scene, { handle: "one" });
    await got(scene, { handle: "rest", v4: 3 });
    await scene.world.advance(5 * SECOND);
    const before = calls(scene, route);
    await free(scene, await judged(scene, "one"));
    expect(calls(scene, route)).toBe(before + 1);
    const [first, ...others] = await judged(scene, "rest");
    if (first === undefined) throw new Error("it holds three");
    await free(scene, [first]);
    expect(calls(scene, route)).toBe(before + 1);
    await scene.world.advance(2 * SECOND);
    expect(calls(scene, route)).toBe(before + 2);
    await free(scene, others);
    expect(calls(scene, route)).toBe(before + 3);
    await scene.world.advance(COOLDOWN);
    expect(await got(scene, { handle: "next", v4: 4 })).toMatchObject({ block: A });
  });

  test("the Pool, when the block has no owner; and it retires with its last address", async () => {
    const scene = await open();
    const { address } = await got(scene, { handle: "h" });
    await scene.world.during(giveUpBlocks(scene, "a", false));
    expect(scene.world.rows(POOL, "SELECT state FROM block")).toEqual([{ state: "draining" }]);
    const order = await judged(scene, "h");
    expect(order.map((subject) => subject.address)).toEqual([address]);
    const before = calls(scene, "BlockObject>PoolObject.report");
    expect(await free(scene, order)).toEqual(["released"]);
    expect(calls(scene, "BlockObject>PoolObject.report")).toBe(before + 1);
    await scene.world.advance(COOLDOWN + 10 * SECOND);
    expect(scene.world.rows(POOL, "SELECT state FROM block")).toEqual([{ state: "free" }]);
    expect(checkRows(snapshot(scene))).toEqual([]);
  });
});
