/**
 * What a check tells of leaks: what the Hosts suspect, addresses in use that nobody allocated; nothing of it is
 * mended. May import: the simulation and its support.
 */
import { describe, expect, test } from "vitest";
import {
  awaitCheck,
  type Checked,
  check,
  lines,
  reports,
  startCheck,
} from "../../support/simulation/checks.ts";
import { CLASSES, type SceneOptions } from "../../support/simulation/scene.ts";
import { MINUTE, type Stage, staged } from "../collector/host-stage.ts";
import { HOST_A, HOST_B, SHARD } from "../histories/stage.ts";

const BLOCK = "10.0.0.0/26";
const SWEEP = "sweep:v1:default";

/** With the real Sweep, so that there are checks. Nothing but reports drives the collector. */
const open = (options: Omit<SceneOptions, "cluster"> = {}): Promise<Stage> =>
  staged({ classes: CLASSES, settings: { tickMs: 0, upkeepMs: 0 }, ...options });

/** Pods of host a: one lives, one is gone for as many minutes as there were reports. */
async function reported(stage: Stage, ...pauses: readonly number[]): Promise<void> {
  await stage.pod("a", "lives");
  await stage.pod("a", "gone");
  await stage.reported("a", ["lives", "gone"]);
  await stage.reports("a", ["lives"], ...pauses);
}

const CONFIRMING = [3, 4, 4, 3].map((minutes) => minutes * MINUTE);

async function checked(stage: Stage, request: Parameters<typeof check>[1] = {}): Promise<Checked> {
  return await check(stage.scene, request);
}

const repairs = async ({ scene }: Stage) =>
  (await scene.world.during(scene.deployed.ports.cluster().listEvents({ type: "repair", limit: 10 }))).events;

describe("suspected leaks", () => {
  test("are told as they stand: suspected, confirmed, held with the reason", async () => {
    const stage = await open();
    await reported(stage, 3 * MINUTE);
    const first = await checked(stage);
    expect(reports(first)).toEqual(["leak_suspected 10.0.0.1 a grace_period"]);
    expect(first.findings).toMatchObject([{ handle: "net.gone", block: BLOCK }]);
    expect(first.view).toMatchObject({ state: "done", problems: 1, repaired: 0 });
    await stage.reports("a", ["lives"], 4 * MINUTE, 4 * MINUTE, 3 * MINUTE);
    expect(reports(await checked(stage))).toEqual(["leak_confirmed 10.0.0.1 a awaiting_recheck"]);
    const pause = { paused: true, reason: "test", by: "test" };
    await stage.world.during(stage.scene.deployed.ports.sweep().changeGc(pause));
    await stage.reports("a", ["lives"], MINUTE);
    expect(reports(await checked(stage))).toEqual(["leak_held 10.0.0.1 a paused"]);
    await stage.reported("a", ["lives", "gone"]);
    expect((await checked(stage)).view.problems).toBe(0);
  });

  test("I11: are never mended: a check with repair frees nothing, and says nothing of a repair", async () => {
    const stage = await open();
    await reported(stage, ...CONFIRMING);
    const { view, findings } = await checked(stage, { repair: true });
    expect(view).toMatchObject({ state: "done", problems: 1, repaired: 0 });
    expect(findings).toMatchObject([{ problem: "leak_confirmed" }]);
    expect(findings[0]).not.toHaveProperty("repaired");
    expect(await stage.held(BLOCK)).toHaveLength(2);
    expect(await stage.leaks("a")).toEqual(["10.0.0.1 confirmed awaiting_recheck"]);
    expect(await repairs(stage)).toEqual([]);
  });

  test("do not count in the event of what was mended beside them", async () => {
    const stage = await open();
    await reported(stage, 3 * MINUTE);
    stage.world.damage(SHARD, "DELETE FROM keys WHERE handle = 'net.lives'");
    const { view } = await checked(stage, { repair: true });
    expect(view).toMatchObject({ problems: 2, repaired: 1 });
    const after = { problems: "1", repaired: "1" };
    expect(await repairs(stage)).toMatchObject([{ severity: "info", after }]);
  });

  test("are kept to the pool or the host that is named, and are no matter of upkeep", async () => {
    const pools = {
      default: { cidr: "10.0.0.0/26", blockSize: 26 },
      other: { cidr: "10.0.1.0/26", blockSize: 26 },
    };
    const stage = await open({ pools, settings: { tickMs: 0, upkeepMs: 10 * MINUTE } });
    for (const [host, pool] of [
      ["a", "default"],
      ["b", "other"],
    ] as const) {
      const attributes = { namespace: "web", pod: "gone" };
      const wish = { handle: `net.${host}`, v4: 1, attributes, pools: [pool] };
      await stage.world.during(stage.scene.allocate(host, wish));
      await stage.reported(host, []);
      await stage.reports(host, [], 3 * MINUTE);
    }
    await stage.reports("a", [], MINUTE);
    const [ofA, ofB] = ["leak_suspected 10.0.0.0 a grace_period", "leak_suspected 10.0.1.0 b grace_period"];
    expect(reports(await checked(stage))).toEqual([ofA, ofB]);
    expect(reports(await checked(stage, { pool: "other" }))).toEqual([ofB]);
    expect(reports(await checked(stage, { host: "a" }))).toEqual([ofA]);
    await stage.world.during(stage.scene.deployed.ports.sweep().tick({ source: "cron" }));
    await stage.world.advance(10 * MINUTE);
    await stage.world.during(stage.scene.deployed.ports.sweep().tick({ source: "cron" }));
    await stage.world.advance(5 * MINUTE);
    const upkeep = stage.world.rows(SWEEP, "SELECT state, problems FROM upkeep_checks");
    expect(upkeep).toEqual([{ state: "done", problems: 0 }]);
  });
});

describe("addresses in use that the host does not hold", () => {
  test("are counted by host, as long as its report is fresh", async () => {
    const stage = await open();
    await stage.pod("a", "lives");
    const stranger = {
      handle: "net.stranger",
      namespace: "web",
      pod: "stranger",
      addresses: ["10.0.0.40", "10.9.9.9"],
    };
    const lives = { handle: "net.lives", namespace: "web", pod: "lives", addresses: ["10.0.0.0"] };
    const said = await stage.reported("a", [], { workloads: [lives, stranger] });
    expect(said).toMatchObject({ ok: true, value: { addressesNotAllocated: [{}, {}] } });
    const { view, findings } = await checked(stage, { repair: true });
    expect(findings).toMatchObject([{ problem: "used_not_allocated", host: "a", other: "2" }]);
    expect(findings[0]).not.toHaveProperty("repaired");
    expect(view).toMatchObject({ problems: 1, repaired: 0 });
    expect((await checked(stage, { pool: "default" })).view.problems).toBe(0);
    await stage.world.advance(10 * MINUTE);
    expect((await checked(stage)).view.problems).toBe(0);
  });
});

describe("the Hosts are asked", () => {
  /** Makes a Host suspect so many addresses; only its ledger says so. */
  function suspect({ world }: Stage, object: string, count: number): void {
    const [row] = world.rows(object, "SELECT row FROM leaks");
    const n = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;
    const address = "'10.0.' || (i / 250 + 1) || '.' || (i % 250)";
    world.damage(
      object,
      `INSERT INTO leaks SELECT ${address}, i, json_set('${String(row?.row)}', '$.suspicion.address', ${address},
       '$.suspicion.touch', i, '$.subject.address', ${address}) FROM (${n} SELECT i FROM n)`,
    );
  }

  test("in pages: thousands of suspicions are counted once each, over crashes of the Sweep", async () => {
    const stage = await open({ pools: { default: { cidr: "10.0.0.0/16", blockSize: 26 } } });
    for (const host of ["a", "b"]) {
      await stage.pod(host, `gone-${host}`);
      await stage.reported(host, []);
    }
    await stage.world.advance(3 * MINUTE);
    for (const host of ["a", "b"]) await stage.reported(host, []);
    suspect(stage, HOST_A, 6_500);
    suspect(stage, HOST_B, 2_000);
    const started = stage.scene.deployed.ports.sweep().startCheck({ repair: false });
    await stage.world.advance(10);
    for (const point of ["after-commit", "before-commit", "after-commit"] as const) {
      stage.world.crash(SWEEP, point);
      await stage.world.advance(8);
    }
    const begun = await started;
    const id = begun.ok ? begun.value.id : "";
    const { view } = await awaitCheck(stage.scene, id);
    expect(stage.world.counters.read().events).toMatchObject({ "crash after-commit": 2 });
    expect(view).toMatchObject({ state: "done", problems: 8_502, repaired: 0 });
  }, 300_000);

  test("again when they do not answer; one that goes on so is told of, and holds nobody up", async () => {
    const stage = await open();
    await reported(stage, 3 * MINUTE);
    const late = stage.world.hold({ method: "leaks", kind: "request" });
    const id = await startCheck(stage.scene);
    await stage.world.advance(12_000);
    expect(late.messages.length).toBeGreaterThan(0);
    late.drop();
    expect(reports(await awaitCheck(stage.scene, id))).toEqual(["leak_suspected 10.0.0.1 a grace_period"]);
    const never = stage.world.hold({ method: "leaks", kind: "request" });
    const told = await checked(stage);
    never.drop();
    expect(told.view.state).toBe("done");
    expect(lines(told).sort()).toEqual(["host_no_answer a", "host_no_answer b"]);
  });
});
