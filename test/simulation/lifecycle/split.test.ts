/** The split of a pool: one policy write over a Pool that gives nothing out meanwhile, or nothing at all. */
import { describe, expect, test } from "vitest";
import { CLUSTER_OBJECT_NAME } from "../../../src/core/ids.ts";
import type { CrashPoint } from "../../support/simulation/instance.ts";
import { Scene } from "../../support/simulation/scene.ts";
import { A, findings, HOST_A, POOL, rowsOf } from "../histories/stage.ts";

const FOUR_BLOCKS = { default: { cidr: "10.0.0.0/28", blockSize: 30 } };
const PARTS = ["split-default-0 10.0.0.0/29", "split-default-1 10.0.0.8/29"];

function split(scene: Scene, key?: string) {
  const request = { name: "default", parts: 2, by: "test" };
  return scene.deployed.ports.cluster().splitPool(key === undefined ? request : { ...request, key });
}

async function pools(scene: Scene): Promise<string[]> {
  const { policy } = await scene.world.during(scene.deployed.ports.cluster().policy({}));
  return (policy?.pools ?? []).map(({ name, cidr }) => `${name} ${cidr}`);
}

describe("a split", () => {
  test("I3 I5: of a pool whose blocks were used and given back: the parts serve the whole range", async () => {
    const scene = await Scene.open({ pools: FOUR_BLOCKS });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "old", v4: 4 }));
    await world.during(scene.release("old"));
    await world.during(scene.deployed.ports.host("a").remove({ host: "a" }));
    await world.advance(10_000);
    await scene.register("a");
    expect(await world.during(split(scene))).toMatchObject({ ok: true });
    expect(await pools(scene)).toEqual(PARTS);
    const all = await world.during(scene.allocate("a", { handle: "new", v4: 16 }));
    expect(all).toMatchObject({ kind: "ok" });
    const numbers = all.kind === "ok" ? all.addresses.map(({ sequenceNumber }) => sequenceNumber) : [];
    expect(Math.min(...numbers)).toBeGreaterThan(2 ** 36);
    expect(findings(scene)).toEqual([]);
  });

  test("is refused while a block has an owner, and the pool goes on as it was", async () => {
    const scene = await Scene.open({ pools: FOUR_BLOCKS });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "h" }));
    await world.advance(10_000);
    expect(await world.during(split(scene))).toMatchObject({
      ok: false,
      error: { code: "block_not_empty", evidence: { allocated: 1 } },
    });
    expect(await pools(scene)).toEqual(["default 10.0.0.0/28"]);
    expect(await world.during(scene.allocate("b", { handle: "next", v4: 4 }))).toMatchObject({ kind: "ok" });
    expect(findings(scene)).toEqual([]);
  });

  test("a claim that comes while the Pool is closed waits for nothing and gets nothing", async () => {
    const scene = await Scene.open({ pools: FOUR_BLOCKS });
    const { world } = scene;
    const answers = world.hold({ method: "order", from: POOL, kind: "answer" });
    const asked = split(scene);
    await world.advance(20);
    expect(answers.messages).toHaveLength(1);
    const claimed = scene.allocate("a", { handle: "h" });
    await world.advance(30);
    expect(await claimed).toMatchObject({ code: "pool_exhausted" });
    answers.release();
    expect(await world.during(asked)).toMatchObject({ ok: true });
    expect(await world.during(scene.allocate("a", { handle: "h" }))).toMatchObject({ kind: "ok" });
    expect(findings(scene)).toEqual([]);
  });

  test("a claim under way when the Pool is closed makes the split fail, whole", async () => {
    const scene = await Scene.open({ pools: FOUR_BLOCKS });
    const { world } = scene;
    const late = world.hold({ method: "claim", from: HOST_A, kind: "request", toClass: "BlockObject" });
    const claimed = scene.allocate("a", { handle: "h" });
    await world.advance(20);
    expect(late.messages).toHaveLength(1);
    const asked = split(scene);
    await world.advance(50);
    expect(await asked).toMatchObject({ ok: false, error: { code: "block_not_empty" } });
    late.release();
    expect(await world.during(claimed)).toMatchObject({ kind: "ok" });
    expect(await pools(scene)).toEqual(["default 10.0.0.0/28"]);
    expect(findings(scene)).toEqual([]);
  });

  test("a Pool that was opened again before the write is not split", async () => {
    const scene = await Scene.open({ pools: FOUR_BLOCKS });
    const { world } = scene;
    const answers = world.hold({ method: "order", from: POOL, kind: "answer" });
    const first = split(scene);
    await world.advance(20);
    const patch = { name: "default", patch: { description: "written meanwhile" }, by: "test" };
    const written = scene.deployed.ports.cluster().patchPool(patch);
    await world.advance(20);
    answers.release();
    const [ended] = await world.during(Promise.all([first, written]));
    expect(ended).toMatchObject({ ok: false, error: { code: "in_progress" } });
    expect(await pools(scene)).toEqual(["default 10.0.0.0/28"]);
    expect(await world.during(scene.allocate("a", { handle: "h" }))).toMatchObject({ kind: "ok" });
    expect(findings(scene)).toEqual([]);
  });

  test("a repeat with its key is answered as before; without one there is no such pool", async () => {
    const scene = await Scene.open({ pools: FOUR_BLOCKS });
    const { world } = scene;
    const first = await world.during(split(scene, "split-key"));
    expect(await world.during(split(scene, "split-key"))).toEqual(first);
    expect(await world.during(split(scene))).toMatchObject({ ok: false, error: { code: "pool_not_found" } });
  });
});

/** Where a split is cut off: object, crash point, the turn that it ends in. */
const CUTS: [string, string, CrashPoint, string][] = [
  ["before the orders are stored", CLUSTER_OBJECT_NAME, "before-commit", "splitPool"],
  ["after the orders are stored", CLUSTER_OBJECT_NAME, "after-commit", "splitPool"],
  ["before the Pool is closed", POOL, "before-commit", `-> ${POOL} order`],
  ["after the Pool is closed", POOL, "after-commit", `-> ${POOL} order`],
  ["before the parts are made", CLUSTER_OBJECT_NAME, "before-commit", `=> ${CLUSTER_OBJECT_NAME} order`],
  ["after the parts are made", CLUSTER_OBJECT_NAME, "after-commit", `=> ${CLUSTER_OBJECT_NAME} order`],
];

describe("a split that is cut off is done whole, or not at all, and the range serves again", () => {
  test.each(CUTS)("%s", async (_where, object, point, during) => {
    const scene = await Scene.open({ pools: FOUR_BLOCKS });
    const { world } = scene;
    world.crash(object, point, during);
    await world.during(split(scene).catch(() => undefined));
    await world.advance(40_000);
    expect(world.counters.read().events[`crash ${point}`]).toBe(1);
    const made = await pools(scene);
    expect([["default 10.0.0.0/28"], PARTS]).toContainEqual(made);
    const all = await world.during(scene.allocate("a", { handle: "all", v4: 16 }));
    expect(all).toMatchObject({ kind: "ok" });
    expect(rowsOf(scene)).toHaveLength(4);
    expect(rowsOf(scene)).toContain(`a ${A} confirmed`);
    expect(findings(scene)).toEqual([]);
  });
});
