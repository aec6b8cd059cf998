/** What the Sweep lets go: bucket, breaker, pause; and what it tells of the collector. */
import { describe, expect, test } from "vitest";
import { audited, figuresOf, MINUTE, names, SWEEP, SweepStage } from "./sweep-stage.ts";

const EDGE = { settings: { tickMs: 0 } };

/** A host of 100 addresses, of which so many are due. */
const leaking = (due: number, wanted = due) => ({ due, wanted, figures: figuresOf({ allocated: 100 }) });

async function staged(hosts = 200): Promise<SweepStage> {
  const stage = new SweepStage(EDGE);
  await stage.enrol(...names(hosts));
  for (const host of names(hosts)) {
    stage.answers.set(host, (_request, now) => audited(now, { allocated: 100 }));
  }
  await stage.minutes(1, "cron");
  return stage;
}

describe("a wish", () => {
  test("is granted as far as the bucket goes, over restarts too", async () => {
    const stage = await staged();
    let granted = 0;
    for (const host of names(100)) granted += (await stage.weigh(host, leaking(9))).granted;
    expect(granted).toBe(900);
    stage.world.restart();
    // So many are left of the 2,000 that may go at once.
    const more = await stage.weigh("h0199", leaking(10, 5_000));
    expect(more.stop).toBe("release_limit");
    expect(more.granted).toBeGreaterThanOrEqual(1_100);
    expect(more.granted).toBeLessThan(1_200);
  });

  test("that tells only what is due, and nothing new, writes no row", async () => {
    const stage = await staged();
    await stage.weigh("h0000", leaking(1, 0));
    const before = stage.world.counters.read();
    expect(await stage.weigh("h0000", leaking(1, 0))).toEqual({ granted: 0 });
    expect(stage.world.counters.since(before).rows).toEqual({});
  });

  test("of a host that the Sweep does not know yet makes its row", async () => {
    const stage = new SweepStage(EDGE);
    expect(await stage.weigh("new", { figures: figuresOf({ allocated: 5 }) })).toEqual({ granted: 1 });
    const { hosts } = await stage.world.during(stage.sweep.hostFigures({ limit: 10 }));
    expect(hosts).toMatchObject([{ host: "new", figures: { allocated: 5 } }]);
  });
});

describe("the breaker", () => {
  test("opens by a host's share, stays open over restarts, closes when it is named, and lets it pass", async () => {
    const stage = await staged();
    expect(await stage.weigh("h0000", leaking(60))).toEqual({ granted: 0, stop: "breaker_open" });
    expect(await stage.weigh("h0001", leaking(1))).toEqual({ granted: 0, stop: "breaker_open" });
    stage.world.restart();
    const { state, breaker } = await stage.gc();
    expect(state).toBe("breaker_open");
    expect(breaker).toMatchObject({ open: true, scope: "h0000", confirmed: 60, limitPercent: 50 });
    const { openedAt = 0 } = breaker;
    const close = (breakerOpenedAt: number) =>
      stage.world.during(stage.sweep.acknowledge({ breakerOpenedAt, by: "token:ops", requestId: "r1" }));
    expect(await close(openedAt - 1)).toMatchObject({ ok: false, error: { code: "breaker_not_open" } });
    const closed = await close(openedAt);
    expect(closed.ok && closed.value).toMatchObject({ state: "idle", breaker: { open: false } });
    expect(await close(openedAt)).toMatchObject({ ok: false, error: { code: "breaker_not_open" } });
    expect(await stage.weigh("h0000", leaking(60))).toEqual({ granted: 60 });
    await stage.world.advance(10_000);
    expect(await stage.events("breaker_opened")).toMatchObject([
      { severity: "error", host: "h0000", at: openedAt, after: { confirmed: "60", limitPercent: "50" } },
    ]);
    expect(await stage.events("config_changed")).toMatchObject([
      { actor: "token:ops", requestId: "r1", after: { "gc.breaker": "acknowledged" } },
    ]);
  });

  test("opens by the deployment's share, as all hosts told of it", async () => {
    const stage = await staged(50);
    // 5 % of 50 hosts with 100 addresses each.
    const answers = [];
    for (const host of names(13)) answers.push(await stage.weigh(host, leaking(20, 0)));
    expect(answers.slice(0, 12)).toEqual(Array(12).fill({ granted: 0 }));
    expect(answers.at(-1)).toEqual({ granted: 0, stop: "breaker_open" });
    expect((await stage.gc()).breaker).toMatchObject({ scope: "the deployment", confirmed: 260 });
    await stage.world.advance(10_000);
    expect((await stage.events("breaker_opened"))[0]?.host).toBeUndefined();
  });

  test("has opened for good when the answer is given: a crash before it opens nothing and grants nothing", async () => {
    const stage = await staged();
    stage.world.crash(SWEEP, "before-commit");
    await expect(stage.weigh("h0000", leaking(60))).rejects.toThrow();
    expect((await stage.gc()).breaker).toEqual({ open: false });
    stage.world.crash(SWEEP, "after-commit");
    await expect(stage.weigh("h0000", leaking(60))).rejects.toThrow();
    expect((await stage.gc()).breaker).toMatchObject({ open: true, confirmed: 60 });
    await stage.world.advance(10_000);
    expect(await stage.events("breaker_opened")).toHaveLength(1);
  });
});

describe("a pause", () => {
  const change = (stage: SweepStage, patch: { paused?: boolean; reason?: string }) =>
    stage.world.during(stage.sweep.changeGc({ ...patch, by: "token:ops", requestId: "r1" }));

  test("grants nothing, is shown with who and why, is told once, and ends", async () => {
    const stage = await staged();
    const paused = await change(stage, { paused: true, reason: "migration" });
    expect(paused).toMatchObject({ state: "paused", pausedBy: "token:ops", pauseReason: "migration" });
    await change(stage, { paused: true });
    stage.world.restart();
    expect(await stage.weigh("h0000", leaking(1))).toEqual({ granted: 0, stop: "paused" });
    expect(await change(stage, { reason: "longer" })).toMatchObject({ paused: true, pauseReason: "longer" });
    const on = await change(stage, { paused: false });
    expect(on).toMatchObject({ state: "idle", paused: false });
    expect(on.pauseReason).toBeUndefined();
    await change(stage, { paused: false });
    expect(await stage.weigh("h0000", leaking(1))).toEqual({ granted: 1 });
    await stage.world.advance(10_000);
    const told = (await stage.events("config_changed")).map(({ after }) => after).toReversed();
    expect(told).toEqual([
      { "gc.paused": "true", "gc.reason": "migration" },
      { "gc.paused": "true", "gc.reason": "longer" },
      { "gc.paused": "false" },
    ]);
  });

  test("lets sweeps go on, and a breaker open that is shown when it ends", async () => {
    const stage = await staged(2);
    await change(stage, { paused: true });
    expect(await stage.weigh("h0000", leaking(60))).toEqual({ granted: 0, stop: "paused" });
    await stage.minutes(9, "cron");
    const gc = await stage.gc();
    expect(gc).toMatchObject({ state: "paused", sweep: 2, breaker: { open: true } });
    expect(await change(stage, { paused: false })).toMatchObject({ state: "breaker_open" });
  });

  test("is told to Cluster even if Cluster is away, or the Sweep is cut off", async () => {
    const stage = await staged(1);
    stage.world.refuse({ toClass: "ClusterObject", method: "noted" }, "connection_lost", 6);
    await change(stage, { paused: true, reason: "x" });
    stage.world.evict(SWEEP, "silent");
    await stage.minutes(3, "cron");
    expect(await stage.events("config_changed")).toHaveLength(1);
  });
});

describe("the state", () => {
  test("adds up what hosts told: suspicions, silent and stale agents, what was released in the hour", async () => {
    const stage = new SweepStage(EDGE);
    await stage.enrol("a", "b", "c");
    const counts = { candidates: 2, confirmed: 1, held: 1 };
    let reclaimed = 0;
    stage.answers.set("a", (_request, now) => {
      const report = { state: "fresh", lastAt: now, workloads: 3 } as const;
      const pool = { allocated: 10, borrowed: 0, blocks: 1, candidates: 2, reclaimed };
      return audited(now, { counts, report, pools: { default: pool } });
    });
    const old = { state: "stale", lastAt: stage.world.now - 10 * MINUTE, workloads: 0 } as const;
    stage.answers.set("b", (_request, now) => audited(now, { counts, report: old }));
    await stage.minutes(1, "cron");
    expect(await stage.gc()).toMatchObject({
      counts: { candidates: 4, confirmed: 2, held: 2 },
      ...{ hostsStale: 1, hostsNeverReported: 1, releasedLastHour: 0 },
    });
    reclaimed = 7;
    await stage.minutes(9, "cron");
    expect((await stage.gc()).releasedLastHour).toBe(7);
    reclaimed = 9;
    await stage.minutes(56, "cron");
    expect((await stage.gc()).releasedLastHour).toBe(9);
    await stage.minutes(5, "cron");
    expect((await stage.gc()).releasedLastHour).toBe(2);
    await stage.minutes(61, "cron");
    expect((await stage.gc()).releasedLastHour).toBe(0);
  });

  test("counts nothing that was released before a host was met, or was forgotten and came back", async () => {
    const stage = new SweepStage(EDGE);
    await stage.enrol("a");
    let reclaimed = 40;
    let isKnown = true;
    stage.answers.set("a", (_request, now) => {
      const pool = { allocated: 10, borrowed: 0, blocks: 1, candidates: 0, reclaimed };
      const answer = audited(now, { pools: { default: pool } });
      return isKnown ? answer : { ...answer, kind: "unknown" };
    });
    await stage.minutes(1, "cron");
    expect((await stage.gc()).releasedLastHour).toBe(0);
    reclaimed = 43;
    await stage.minutes(9, "cron");
    expect((await stage.gc()).releasedLastHour).toBe(3);
    isKnown = false;
    await stage.minutes(9, "cron");
    isKnown = true;
    await stage.minutes(9, "cron");
    expect((await stage.gc()).releasedLastHour).toBe(3);
  });

  test("is stuck when the trigger is gone, and the next call tells of it once", async () => {
    const stage = await staged(1);
    await stage.minutes(2, "cron");
    await stage.minutes(5);
    expect(await stage.gc()).toMatchObject({ state: "stuck", tick: { overdue: true } });
    await stage.minutes(2, "cron");
    expect(await stage.gc()).toMatchObject({ state: "idle", tick: { overdue: false } });
    expect(await stage.events("gc_stuck")).toHaveLength(1);
    await stage.minutes(5);
    await stage.minutes(2, "cron");
    expect(await stage.events("gc_stuck")).toHaveLength(2);
  });

  test("is stuck when a sweep does not come on, although the trigger calls", async () => {
    const stage = await staged(1);
    stage.world.refuse({ toClass: "ClusterObject", method: "listHosts" }, "connection_lost", 100_000);
    await stage.minutes(8, "cron");
    expect((await stage.gc()).state).toBe("running");
    await stage.minutes(12, "cron");
    const gc = await stage.gc();
    expect(gc).toMatchObject({ state: "stuck", tick: { overdue: false } });
    expect(gc.lastError?.what).toBe("Cluster did not answer");
  });

  test("is stuck when no host at all answers", async () => {
    const stage = await staged(3);
    for (const host of names(3)) stage.answers.set(host, () => new Promise(() => {}));
    await stage.minutes(30, "cron");
    expect((await stage.gc()).state).toBe("stuck");
  });

  test("of a Sweep that nobody has used is idle, and reading it writes nothing", async () => {
    const stage = new SweepStage(EDGE);
    expect(await stage.gc()).toMatchObject({
      ...{ state: "idle", sweep: 0, lastSweepAt: 0, oldestAuditMs: 0, tick: { lastAt: 0, overdue: false } },
    });
    expect(stage.world.counters.read().rows[SWEEP]).toBeUndefined();
  });

  test("pages through the hosts in the order of names", async () => {
    const stage = await staged(5);
    const first = await stage.world.during(stage.sweep.hostFigures({ limit: 3 }));
    expect(first.hosts.map(({ host }) => host)).toEqual(names(3));
    const rest = await stage.world.during(stage.sweep.hostFigures({ after: first.next!, limit: 3 }));
    expect(rest.hosts.map(({ host }) => host)).toEqual(["h0003", "h0004"]);
    expect(rest.next).toBeUndefined();
  });
});
