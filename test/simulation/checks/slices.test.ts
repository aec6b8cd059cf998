/**
 * How a check goes about its work: looking writes nothing, a slice stays within what one event may call,
 * a crash loses nothing of it, what does not answer is told of, much damage at once is mended.
 */
import { describe, expect, test } from "vitest";
import { HandleIndexObject } from "../../../durable-objects/handle-index.ts";
import { SweepObject } from "../../../durable-objects/sweep.ts";
import { checkRows, snapshot } from "../../support/simulation/checker.ts";
import { awaitCheck, check, lines, readCheck, startCheck } from "../../support/simulation/checks.ts";
import { CLASSES, Scene } from "../../support/simulation/scene.ts";
import { HOST_A, HOST_B, POOL, SHARD } from "../histories/stage.ts";

const SWEEP = "sweep:v1:default";
/** Calls that one event may make; the platform's own limit is 1,000. */
const CALLS_PER_EVENT_MAX = 900;

const POOLS = {
  default: { cidr: "10.0.0.0/28", blockSize: 30 },
  six: { cidr: "fd00::/125", blockSize: 126 },
};

/** Two hosts with addresses of both families, some borrowed; old rows of the index passed over. */
async function holding(options: Parameters<typeof Scene.open>[0] = {}): Promise<Scene> {
  const scene = await Scene.open({ pools: POOLS, ...options });
  for (const host of ["a", "b"]) {
    const got = await scene.world.during(scene.allocate(host, { handle: `of-${host}`, v4: 3, v6: 2 }));
    expect(got.kind).toBe("ok");
  }
  await scene.world.advance(60_000);
  return scene;
}

/** Rows written so far by every object but the Sweep. */
function rowsWritten({ world }: Scene): Record<string, number> {
  const { [SWEEP]: _own, ...rows } = world.counters.read().rows;
  return rows;
}

describe("looking", () => {
  test("writes no row of any object, and finds nothing in a sound deployment", async () => {
    const scene = await holding();
    const before = rowsWritten(scene);
    const { view, findings } = await check(scene);
    expect(findings).toEqual([]);
    expect(view).toMatchObject({ state: "done", problems: 0, repaired: 0, blocksChecked: 4, blocksTotal: 4 });
    expect(rowsWritten(scene)).toEqual(before);
  });

  test("writes no row of any object where much is wrong", async () => {
    const scene = await holding();
    scene.world.damage(SHARD, "DELETE FROM keys WHERE handle = 'of-a'");
    scene.world.damage(SHARD, "UPDATE keys SET handle = 'stranger' WHERE handle = 'of-b'");
    scene.world.damage(POOL, "UPDATE block SET owner = 'b', confirmed = NULL WHERE owner = 'a'");
    scene.world.damage(POOL, "DELETE FROM extent");
    scene.world.damage(HOST_B, "UPDATE affinities SET state = 'pending', epoch = epoch + 1");
    const before = rowsWritten(scene);
    const { view } = await check(scene);
    expect(view.problems).toBeGreaterThan(6);
    expect(view.repaired).toBe(0);
    expect(rowsWritten(scene)).toEqual(before);
  });

  test("is kept to a host, or to a pool", async () => {
    const scene = await holding();
    scene.world.damage(HOST_A, "UPDATE affinities SET state = 'pending'");
    scene.world.damage(HOST_B, "UPDATE affinities SET state = 'pending'");
    expect(lines(await check(scene)).length).toBe(4);
    const ofA = await check(scene, { host: "a" });
    expect(ofA.findings.map(({ host, problem }) => `${problem} ${host}`)).toEqual(
      Array(2).fill("row_unsettled a"),
    );
    const ofSix = await check(scene, { pool: "six" });
    expect(ofSix.findings.map(({ block }) => block)).toEqual(["fd00::/126", "fd00::4/126"]);
  });
});

/** What the Sweep has called in each of its events, most last. */
function countedSweep(): { readonly events: number[]; readonly Class: typeof SweepObject } {
  const events: number[] = [];
  class Counted extends SweepObject {
    override async alarm() {
      const before = counted?.();
      await super.alarm();
      events.push((counted?.() ?? 0) - (before ?? 0));
    }
  }
  return { events, Class: Counted };
}

let counted: (() => number) | undefined;

/** Calls that the Sweep has made by now. */
function callsOfSweep({ world }: Scene): number {
  const { calls } = world.counters.read();
  const own = Object.entries(calls).filter(([route]) => /^(Sweep|Counted)[A-Za-z]*>/.test(route));
  return own.reduce((sum, [, n]) => sum + n, 0);
}

describe("a slice", () => {
  test("of a check of 600 blocks and 800 stale rows makes 900 calls at most; crashes lose nothing", async () => {
    const { events, Class } = countedSweep();
    const hosts = Array.from({ length: 20 }, (_, n) => `h${n}`);
    const scene = await Scene.open({
      pools: { default: { cidr: "10.0.0.0/22", blockSize: 32 } },
      hosts,
      classes: { ...CLASSES, SweepObject: Class },
      settings: { indexPassMs: 3_600_000 },
      config: { strictAffinity: true, maxBlocksPerHost: 1_000 },
    });
    const { world } = scene;
    counted = () => callsOfSweep(scene);
    for (const host of hosts) await world.during(scene.allocate(host, { handle: host, v4: 30 }));
    const rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 800)";
    world.damage(
      SHARD,
      `INSERT INTO keys SELECT 'stale-' || i, 'k', '10.0.' || (i % 4) || '.' || (i % 256) || '/32', 4, 1, 'f',
       'reserved', 'x', 1, 0, 1 FROM (${rows} SELECT i FROM n)`,
    );
    const id = await startCheck(scene, { repair: true });
    for (const point of ["after-commit", "before-commit", "after-commit"] as const) {
      world.crash(SWEEP, point);
      await world.advance(40);
    }
    const { view } = await awaitCheck(scene, id);
    expect(world.counters.read().events["crash after-commit"]).toBeGreaterThan(0);
    const blocks = world.rows(POOL, "SELECT count(*) AS n FROM block")[0]?.n;
    expect(blocks).toBeGreaterThanOrEqual(600);
    expect(view).toMatchObject({ state: "done", blocksChecked: blocks, blocksTotal: blocks });
    expect(view).toMatchObject({ problems: 800, repaired: 800 });
    expect(events.length).toBeGreaterThan(3);
    expect(Math.max(...events)).toBeGreaterThan(100);
    expect(Math.max(...events)).toBeLessThanOrEqual(CALLS_PER_EVENT_MAX);
    expect((await check(scene)).view.problems).toBe(0);
  }, 300_000);

  test("that is cut off at any of its commits is gone through again, and every finding is told once", async () => {
    const expected = await damagedAndChecked(undefined);
    expect(expected.length).toBeGreaterThan(5);
    for (let nth = 0; nth < 12; nth += 1) {
      for (const point of ["before-commit", "after-commit"] as const) {
        expect(await damagedAndChecked({ nth, point }), `${point} ${nth}`).toEqual(expected);
      }
    }
    expect(crashes).toBe(24);
  }, 300_000);

  test("that another instance has gone on with is committed once", async () => {
    const scene = await holding();
    const { world } = scene;
    for (const ms of [4, 8, 12, 16, 20]) {
      const started = scene.deployed.ports.sweep().startCheck({ repair: false });
      await world.advance(ms);
      // Both write to one database, as two processes on one folder would.
      world.supersede(SWEEP, "shared");
      const begun = await started;
      const { view } = await awaitCheck(scene, begun.ok ? begun.value.id : "");
      expect(view, `after ${ms} ms`).toMatchObject({ state: "done", blocksChecked: 4, blocksTotal: 4 });
    }
  });

  test("goes on when its alarm was lost for good: any event sets it again", async () => {
    const scene = await holding();
    scene.world.damage(HOST_B, "UPDATE affinities SET state = 'pending'");
    const id = await startCheck(scene, { repair: true });
    await scene.world.advance(2_000);
    scene.world.loseAlarm(SWEEP);
    await scene.world.advance(60_000);
    expect(scene.world.alarmOf(SWEEP)).toBeNull();
    await scene.world.during(scene.deployed.ports.sweep().tick({}));
    expect((await awaitCheck(scene, id)).view).toMatchObject({ state: "done", repaired: 2 });
  });
});

/** How often the Sweep was cut off. */
let crashes = 0;

/** Several damages, and a check with repair that crashes once on the way; what it told, in one order. */
async function damagedAndChecked(
  crash: { readonly nth: number; readonly point: "before-commit" | "after-commit" } | undefined,
): Promise<string[]> {
  const scene = await holding();
  const { world } = scene;
  world.damage(SHARD, "DELETE FROM keys WHERE handle = 'of-a'");
  world.damage(POOL, "DELETE FROM extent");
  world.damage(POOL, "DELETE FROM block WHERE owner = 'a'");
  world.damage(HOST_B, "UPDATE affinities SET epoch = epoch + 1");
  const id = await startCheck(scene, { repair: true });
  for (let step = 0; crash !== undefined && step < 40; step += 1) {
    // The next commit of the Sweep after the nth slice has begun.
    if (step === crash.nth) world.crash(SWEEP, crash.point);
    await world.advance(step < 20 ? 6 : 600);
  }
  const checked = await awaitCheck(scene, id);
  expect(checked.view).toMatchObject({ state: "done", problems: checked.findings.length });
  expect(lines(await check(scene))).toEqual([]);
  expect(checkRows(snapshot(scene))).toEqual([]);
  const { events } = world.counters.read();
  crashes += (events["crash after-commit"] ?? 0) + (events["crash before-commit"] ?? 0);
  return lines(checked).sort();
}

describe("what does not answer", () => {
  test("a block and a Host are told of, and the rest is checked", async () => {
    const scene = await holding();
    scene.world.damage("block:v1:default:10.0.0.0-30", "UPDATE block SET header = 'torn'");
    scene.world.damage(HOST_B, "DELETE FROM affinities");
    const { view, findings } = await check(scene, { repair: true });
    expect(view.state).toBe("done");
    const told = findings.map(
      ({ problem, block, host, repaired }) => `${problem} ${host ?? block} ${repaired}`,
    );
    expect(new Set(told)).toEqual(new Set(["block_no_answer 10.0.0.0/30 false", "host_no_answer b false"]));
  });

  test("without Cluster a check waits, and fails after five minutes; then another may begin", async () => {
    const scene = await holding();
    scene.world.refuse({ toClass: "ClusterObject" }, "connection_lost", 10_000);
    const id = await startCheck(scene);
    await scene.world.advance(120_000);
    expect((await readCheck(scene, id)).view.state).toBe("running");
    expect((await awaitCheck(scene, id)).view.state).toBe("failed");
    expect(await startCheck(scene)).toBe("2");
  });
});

describe("much damage at once", () => {
  test("a Pool that has lost everything, and a shard too, are made again from the blocks", async () => {
    const scene = await holding();
    for (const table of ["block", "extent", "pool"]) scene.world.damage(POOL, `DELETE FROM ${table}`);
    scene.world.damage(SHARD, "DELETE FROM keys");
    const first = await check(scene, { repair: true });
    expect(first.view.problems).toBe(first.view.repaired);
    expect(first.findings.map(({ problem }) => problem)).toContain("block_not_listed");
    expect(first.findings.map(({ problem }) => problem)).toContain("key_not_listed");
    expect(lines(await check(scene))).toEqual([]);
    expect(checkRows(snapshot(scene))).toEqual([]);
    for (const handle of ["of-a", "of-b"])
      expect(await scene.world.during(scene.release(handle))).toMatchObject({ kind: "ok" });
    expect(snapshot(scene).blocks.flatMap(({ held }) => held)).toEqual([]);
    // Epochs go on above those that the blocks have seen: hosts get blocks as ever.
    for (const host of ["a", "b"]) {
      const got = await scene.world.during(scene.allocate(host, { handle: `again-${host}`, v4: 4 }));
      expect(got.kind).toBe("ok");
    }
    expect(lines(await check(scene))).toEqual([]);
  });

  test("I13: the first request with a key whose row was put back is believed, another body is refused", async () => {
    const scene = await holding();
    const wish = { handle: "keyed", key: "key-of-the-client", v4: 1 };
    const first = await scene.world.during(scene.allocate("a", wish));
    scene.world.damage(SHARD, "DELETE FROM keys WHERE handle = 'keyed'");
    expect(lines(await check(scene, { repair: true }))).toHaveLength(1);
    expect(await scene.world.during(scene.allocate("a", wish))).toEqual(first);
    const other = await scene.world.during(scene.allocate("a", { ...wish, v4: 2 }));
    expect(other).toMatchObject({ kind: "refused", code: "idempotency_key_reused" });
  });

  test("keys are looked for in their shard, whichever it is", async () => {
    const scene = await holding({ settings: { indexShards: 4 }, classes: { ...CLASSES, HandleIndexObject } });
    for (let n = 0; n < 4; n += 1) {
      await scene.world.during(scene.allocate("a", { handle: `n${n}`, v6: 1, v4: 0 }));
    }
    expect(lines(await check(scene))).toEqual([]);
    for (let shard = 0; shard < 4; shard += 1)
      scene.world.damage(`handle-index:v1:default:${shard}`, "DELETE FROM keys");
    const { view } = await check(scene, { repair: true });
    expect(view.problems).toBeGreaterThanOrEqual(6);
    expect(view.repaired).toBe(view.problems);
    expect(lines(await check(scene))).toEqual([]);
  });
});
