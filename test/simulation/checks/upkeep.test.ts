/**
 * Upkeep: a check with repair that the Sweep makes by itself: when, at what rate, beside checks of operators;
 * blocks that are over and whose alarm was given up. May import: the simulation and its support.
 */
import { describe, expect, test } from "vitest";
import { EDGE_SETTINGS, LOCAL_SETTINGS } from "../../../src/core/settings.ts";
import { checkRows, snapshot } from "../../support/simulation/checker.ts";
import { awaitCheck, check, lines, readCheck, startCheck } from "../../support/simulation/checks.ts";
import { giveUpBlocks } from "../../support/simulation/operators.ts";
import { Scene } from "../../support/simulation/scene.ts";
import { HOST_B, POOL, SHARD } from "../histories/stage.ts";

const SWEEP = "sweep:v1:default";
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const EVERY = 6 * HOUR;
const POOLS = { default: { cidr: "10.0.0.0/28", blockSize: 30 } };

/** Two hosts with a block each, and a trigger that has called once. */
async function holding(options: Parameters<typeof Scene.open>[0] = {}): Promise<Scene> {
  const { settings, ...rest } = options;
  const scene = await Scene.open({
    pools: POOLS,
    settings: { upkeepMs: EVERY, tickMs: 0, ...settings },
    ...rest,
  });
  for (const host of ["a", "b"]) {
    const got = await scene.world.during(scene.allocate(host, { handle: `of-${host}`, v4: 2 }));
    expect(got.kind).toBe("ok");
  }
  return scene;
}

async function tick(scene: Scene): Promise<void> {
  await scene.world.during(scene.deployed.ports.sweep().tick({ source: "cron" }));
}

/** Lets time pass with a trigger each ten minutes. */
async function pass(scene: Scene, ms: number): Promise<void> {
  for (let waited = 0; waited < ms; waited += 10 * MINUTE) {
    await tick(scene);
    await scene.world.advance(Math.min(10 * MINUTE, ms - waited));
  }
}

/** Upkeeps so far, as `state problems repaired`. */
function upkeeps({ world }: Scene): string[] {
  const rows = world.rows(SWEEP, "SELECT * FROM upkeep_checks ORDER BY number");
  return rows.map(({ state, problems, repaired }) => `${state} ${problems} ${repaired}`);
}

const repairs = async ({ world, deployed }: Scene) =>
  (await world.during(deployed.ports.cluster().listEvents({ type: "repair", limit: 100 }))).events;

const keyRows = ({ world }: Scene, handle: string) =>
  world.rows(SHARD, `SELECT state FROM keys WHERE handle = '${handle}'`).map(({ state }) => state);

function addStaleKey({ world }: Scene, block: string): void {
  world.damage(
    SHARD,
    `INSERT INTO keys VALUES ('stale', 'k', '${block}', 4, 1, 'f', 'reserved', 'x', 1, 0, 1)`,
  );
}

describe("upkeep begins", () => {
  test("a day after a trigger called for the first time, and once a day from then on", async () => {
    const scene = await holding();
    await pass(scene, EVERY - 10 * MINUTE);
    expect(upkeeps(scene)).toEqual([]);
    await pass(scene, 30 * MINUTE);
    expect(upkeeps(scene)).toEqual(["done 0 0"]);
    await pass(scene, EVERY);
    expect(upkeeps(scene)).toEqual(["done 0 0", "done 0 0"]);
    for (const { upkeepMs } of [LOCAL_SETTINGS, EDGE_SETTINGS]) expect(upkeepMs).toBe(24 * HOUR);
    expect(await repairs(scene)).toEqual([]);
  });

  test.each([
    ["where no trigger ever called", EVERY, async (scene: Scene) => await scene.world.advance(3 * EVERY)],
    ["where it is switched off", 0, async (scene: Scene) => await pass(scene, 3 * EVERY)],
  ])("never %s", async (_where, upkeepMs, spend) => {
    const scene = await holding({ settings: { upkeepMs } });
    scene.world.damage(SHARD, "DELETE FROM keys WHERE handle = 'of-a'");
    await spend(scene);
    await awaitCheck(scene, await startCheck(scene));
    expect(upkeeps(scene)).toEqual([]);
    expect(keyRows(scene, "of-a")).toEqual([]);
  });

  test("anew when the clock was set back, and not over and over", async () => {
    const scene = await holding();
    await pass(scene, EVERY + 30 * MINUTE);
    expect(upkeeps(scene)).toHaveLength(1);
    scene.world.damage(SWEEP, `UPDATE upkeep_checks SET started_at = started_at + ${100 * EVERY}`);
    await pass(scene, HOUR);
    expect(upkeeps(scene)).toHaveLength(2);
    await pass(scene, HOUR);
    expect(upkeeps(scene)).toHaveLength(2);
  });
});

describe("upkeep mends", () => {
  test("I5: missing rows of the index and of a directory, told in an event that names it", async () => {
    const scene = await holding();
    await tick(scene);
    scene.world.damage(SHARD, "DELETE FROM keys WHERE handle = 'of-a'");
    scene.world.damage(POOL, "DELETE FROM block WHERE owner = 'b'");
    scene.world.damage(HOST_B, "UPDATE affinities SET epoch = epoch + 1");
    await pass(scene, EVERY + HOUR);
    const { view, findings } = await readCheck(scene, "u1");
    expect(view).toMatchObject({ id: "u1", state: "done" });
    expect(findings.length).toBeGreaterThan(2);
    expect(findings.map(({ repaired }) => repaired)).toEqual(findings.map(() => true));
    expect(keyRows(scene, "of-a")).toEqual(["reserved"]);
    const problems = String(findings.length);
    expect(await repairs(scene)).toMatchObject([
      { name: "u1", actor: "upkeep", severity: "info", after: { problems, repaired: problems } },
    ]);
    expect(checkRows(snapshot(scene))).toEqual([]);
    expect(lines(await check(scene))).toEqual([]);
  });

  test("rows that name nothing, in a shard that rests, without a word", async () => {
    const scene = await holding();
    await pass(scene, HOUR);
    const [held] = snapshot(scene).blocks.flatMap(({ block, held: list }) =>
      list.map((one) => ({ ...one, block })),
    );
    if (held === undefined) throw new Error("nothing is held");
    const { block } = held;
    addStaleKey(scene, block);
    // A release by address leaves its row to the shard, which has nothing else to do.
    for (const one of snapshot(scene).blocks.find((each) => each.block === block)?.held ?? []) {
      await scene.world.during(scene.releaseAddress(block, { address: one.address, force: true }));
    }
    await scene.world.advance(HOUR);
    expect(keyRows(scene, "stale")).toEqual(["reserved"]);
    expect(keyRows(scene, held.handle)).toEqual(["reserved"]);
    await pass(scene, EVERY);
    expect(upkeeps(scene)).toEqual(["done 0 0"]);
    expect(keyRows(scene, "stale")).toEqual([]);
    expect(keyRows(scene, held.handle)).not.toContain("reserved");
    expect(await repairs(scene)).toEqual([]);
  });
});

describe("upkeep beside other work", () => {
  /** Many blocks, so that upkeep takes many slices. */
  async function busy(): Promise<Scene> {
    const scene = await Scene.open({
      pools: { default: { cidr: "10.0.0.0/23", blockSize: 32 } },
      settings: { upkeepMs: EVERY, tickMs: 0 },
      config: { strictAffinity: true, maxBlocksPerHost: 1_000 },
    });
    for (const host of ["a", "b"])
      await scene.world.during(scene.allocate(host, { handle: `of-${host}`, v4: 150 }));
    await pass(scene, EVERY);
    await tick(scene);
    return scene;
  }

  /** How far upkeep has come. */
  function progress({ world }: Scene): { readonly checked: number; readonly total: number } {
    const row = world.rows(SWEEP, "SELECT checked, total FROM upkeep_checks")[0];
    return { checked: Number(row?.checked ?? 0), total: Number(row?.total ?? 0) };
  }

  function expectDone(scene: Scene): void {
    expect(upkeeps(scene)).toEqual(["done 0 0"]);
    const { checked, total } = progress(scene);
    expect(checked).toBeGreaterThanOrEqual(300);
    expect(checked).toBe(total);
  }

  test("goes slowly: a slice each five seconds, each of some hundred calls at most", async () => {
    const scene = await busy();
    const { world } = scene;
    const calls = () => {
      const own = Object.entries(world.counters.read().calls).filter(([route]) => /^Sweep.*>/.test(route));
      return own.reduce((sum, [, n]) => sum + n, 0);
    };
    let most = 0;
    for (let second = 0; second < 20; second += 5) {
      expect(upkeeps(scene)).toEqual(["running 0 0"]);
      const before = calls();
      await world.advance(5_000);
      most = Math.max(most, calls() - before);
    }
    expect(most).toBeGreaterThan(10);
    expect(most).toBeLessThanOrEqual(300);
    await pass(scene, HOUR);
    expectDone(scene);
  }, 300_000);

  test("waits while a check runs that an operator began, which begins at once, and goes on after it", async () => {
    const scene = await busy();
    await scene.world.advance(12_000);
    const before = progress(scene);
    expect(before.checked).toBeGreaterThan(0);
    expect(before.checked).toBeLessThan(before.total);
    const started = await scene.world.during(scene.deployed.ports.sweep().startCheck({ repair: true }));
    expect(started).toMatchObject({ ok: true, value: { id: "1", state: "running" } });
    const { view } = await awaitCheck(scene, "1");
    expect(view).toMatchObject({ state: "done", problems: 0, blocksTotal: before.total });
    expect(progress(scene)).toEqual(before);
    expect(upkeeps(scene)).toEqual(["running 0 0"]);
    await pass(scene, HOUR);
    expectDone(scene);
  }, 300_000);

  test("does not begin while an operator's check runs", async () => {
    const scene = await holding();
    scene.world.damage(HOST_B, "UPDATE affinities SET state = 'pending'");
    await pass(scene, EVERY);
    const id = await startCheck(scene);
    await tick(scene);
    await scene.world.advance(5_000);
    expect((await readCheck(scene, id)).view.state).toBe("running");
    expect(upkeeps(scene)).toEqual([]);
    await awaitCheck(scene, id);
    await pass(scene, HOUR);
    expect(upkeeps(scene)).toEqual(["done 1 1"]);
  });

  test("keeps its place over crashes, and over a lost alarm: the next trigger goes on", async () => {
    const scene = await busy();
    const { world } = scene;
    for (const point of ["after-commit", "before-commit", "after-commit"] as const) {
      world.crash(SWEEP, point);
      await world.advance(6_000);
    }
    const { events } = world.counters.read();
    expect(events["crash after-commit"]).toBe(2);
    const before = progress(scene);
    expect(before.checked).toBeGreaterThan(0);
    world.loseAlarm(SWEEP);
    await world.advance(HOUR);
    expect(progress(scene)).toEqual(before);
    expect(upkeeps(scene)).toEqual(["running 0 0"]);
    await pass(scene, HOUR);
    expectDone(scene);
  }, 300_000);
});

describe("a block without owner and addresses, whose alarm was given up, retires when it is looked at", () => {
  /** Block of host a: given up in use, then emptied; its alarm is gone. */
  async function abandoned(
    ipCooldownSeconds = 30,
    restMs = HOUR,
  ): Promise<{ readonly scene: Scene; readonly block: string }> {
    const scene = await holding({ config: { ipCooldownSeconds } });
    await tick(scene);
    const block = scene.world.rows("host:v1:default:a", "SELECT block FROM affinities")[0]?.block as string;
    await scene.world.during(giveUpBlocks(scene, "a", false));
    await scene.world.during(scene.release("of-a"));
    const object = `block:v1:default:${block.replace("/", "-")}`;
    await scene.world.advance(1_000);
    scene.world.loseAlarm(object);
    await scene.world.advance(restMs);
    expect(scene.world.alarmOf(object)).toBeNull();
    expect(states(scene)).toEqual(["draining", "owned"]);
    return { scene, block };
  }

  const states = ({ world }: Scene) =>
    world
      .rows(POOL, "SELECT state FROM block")
      .map(({ state }) => String(state))
      .sort();

  test("by upkeep", async () => {
    const { scene } = await abandoned();
    await pass(scene, EVERY + HOUR);
    expect(states(scene)).toEqual(["free", "owned"]);
    expect(upkeeps(scene)).toEqual(["done 0 0"]);
    expect(checkRows(snapshot(scene))).toEqual([]);
  });

  test("by a check that only looks", async () => {
    const { scene } = await abandoned();
    expect(lines(await check(scene))).toEqual([]);
    expect(states(scene)).toEqual(["free", "owned"]);
  });

  test("by the audit of a host that held something there", async () => {
    const { scene, block } = await abandoned();
    const question = { block, host: "a", cooldownMs: 30_000 };
    await scene.world.during(scene.deployed.ports.block(block).holdings(question));
    await scene.world.advance(1_000);
    expect(states(scene)).toEqual(["free", "owned"]);
  });

  test("not before it has cooled, and never while it holds an address", async () => {
    const { scene } = await abandoned(1_200, 5 * MINUTE);
    await check(scene);
    await scene.world.advance(10 * MINUTE);
    expect(states(scene)).toEqual(["draining", "owned"]);
    await scene.world.advance(5 * MINUTE);
    expect(states(scene)).toEqual(["free", "owned"]);
    const kept = await holding();
    await kept.world.during(giveUpBlocks(kept, "a", false));
    await check(kept);
    await kept.world.advance(HOUR);
    expect(states(kept)).toEqual(["draining", "owned"]);
  });
});
