/** A sweep's way through all hosts: every host, in slices, past silent ones, and its place kept. */
import { describe, expect, test } from "vitest";
import { LOCAL_SETTINGS } from "../../../src/core/settings.ts";
import { audited, figuresOf, MINUTE, names, PERIOD, SWEEP, SweepStage } from "./sweep-stage.ts";

/** Calls that one event may make; the platform's own limit is 1,000. */
const CALLS_PER_EVENT_MAX = 900;

/** No alarm stands in for cron. */
const EDGE = { settings: { tickMs: 0 } };

describe("a sweep", () => {
  test("visits each host once, stores what it told, and ends", async () => {
    const stage = new SweepStage(EDGE);
    await stage.enrol("a", "b", "virtual:load-balancer");
    expect(await stage.tick()).toEqual({ kind: "working" });
    await stage.world.advance(5_000);
    expect(stage.visitsIn(1)).toEqual({ a: 1, b: 1, "virtual:load-balancer": 1 });
    const gc = await stage.gc();
    expect(gc).toMatchObject({ state: "idle", sweep: 1, backlogHosts: 0, hostsNeverReported: 2 });
    expect(gc.lastSweepAt).toBeGreaterThan(0);
    expect(gc.tick).toMatchObject({ source: "cron", overdue: false });
    const { hosts } = await stage.world.during(stage.sweep.hostFigures({ limit: 10 }));
    expect(hosts.map(({ host }) => host)).toEqual(["a", "b", "virtual:load-balancer"]);
    expect(stage.world.alarmOf(SWEEP)).toBeNull();
  });

  test("of 2,000 hosts goes on in slices by its own alarm, each within what one event may call", async () => {
    const stage = new SweepStage(EDGE);
    const hosts = names(2_000);
    await stage.enrol(...hosts);
    await stage.tick();
    await stage.world.advance(3_000);
    const half = await stage.gc();
    expect(half.state).toBe("running");
    expect(half.backlogHosts).toBeGreaterThan(0);
    expect(half.backlogHosts).toBeLessThan(2_000);
    await stage.world.advance(30_000);
    expect(await stage.gc()).toMatchObject({ state: "idle", backlogHosts: 0 });
    expect(stage.visitsIn(1)).toEqual(Object.fromEntries(hosts.map((host) => [host, 1])));
    expect(stage.callsPerEvent.length).toBeGreaterThanOrEqual(10);
    expect(Math.max(...stage.callsPerEvent)).toBeGreaterThan(100);
    expect(Math.max(...stage.callsPerEvent)).toBeLessThanOrEqual(CALLS_PER_EVENT_MAX);
  }, 300_000);

  test("begins when one is due, and not before", async () => {
    const stage = new SweepStage(EDGE);
    await stage.enrol("a");
    await stage.minutes(20, "cron");
    const begun = stage.visits.map(({ sweep }) => sweep);
    expect(begun).toEqual([1, 2, 3]);
    // What was audited in half a period will do.
    expect(stage.visits[1]?.ifOlderThanMs).toBeGreaterThanOrEqual(PERIOD / 2);
    expect(stage.visits[1]?.ifOlderThanMs).toBeLessThan(PERIOD);
  });

  test("follows the grace of the policy at the next call of the trigger", async () => {
    const stage = new SweepStage(EDGE);
    await stage.enrol("a");
    await stage.minutes(2, "cron");
    const patch = { leakGraceSeconds: 60 };
    await stage.world.during(stage.deployed.ports.cluster().changeConfig({ patch, by: "test" }));
    await stage.minutes(3, "cron");
    expect(stage.visits.map(({ sweep }) => sweep)).toEqual([1, 2, 3, 4]);
  });

  test("is begun by an operator at once, and audits what was audited before it", async () => {
    const stage = new SweepStage(EDGE);
    await stage.enrol("a");
    await stage.minutes(1, "cron");
    expect(await stage.world.during(stage.sweep.startSweep({ by: "test" }))).toEqual({ sweep: 2 });
    await stage.world.advance(2_000);
    expect(stage.visits.at(-1)).toMatchObject({ host: "a", sweep: 2 });
    expect(stage.visits.at(-1)?.ifOlderThanMs).toBeLessThan(2_000);
  });

  test("is one at a time: cron, alarm and an operator at once begin one", async () => {
    const stage = new SweepStage();
    await stage.enrol("a", "b");
    const { sweep } = stage;
    const all = [
      sweep.tick({ source: "cron" }),
      sweep.tick({ source: "alarm" }),
      sweep.startSweep({ by: "test" }),
      sweep.tick({ source: "cron" }),
    ];
    await stage.world.during(Promise.all(all));
    await stage.world.advance(5_000);
    expect(stage.visitsIn(1)).toEqual({ a: 1, b: 1 });
    expect(stage.visitsIn(2)).toEqual({});
  });
});

describe("a host", () => {
  test("that does not answer is told of, and the sweep goes on", async () => {
    const stage = new SweepStage(EDGE);
    await stage.enrol("a", "b", "c");
    stage.answers.set("b", async () => {
      throw new Error("broken");
    });
    await stage.minutes(1, "cron");
    expect(stage.visitsIn(1)).toMatchObject({ a: 1, c: 1 });
    await stage.minutes(9, "cron");
    expect(stage.visitsIn(2)).toMatchObject({ a: 1, c: 1 });
    const gc = await stage.gc();
    expect(gc).toMatchObject({ state: "idle", oldestAuditHost: "b" });
    expect(gc.lastError?.what).toContain("host b did not answer");
  });

  test("that never answers keeps what it told last, and its audit grows old", async () => {
    const stage = new SweepStage(EDGE);
    await stage.enrol("a", "b");
    await stage.minutes(1, "cron");
    stage.answers.set("b", () => new Promise(() => {}));
    await stage.minutes(20, "cron");
    const gc = await stage.gc();
    expect(gc).toMatchObject({ state: "idle", oldestAuditHost: "b" });
    expect(gc.oldestAuditMs).toBeGreaterThan(19 * MINUTE);
    const { hosts } = await stage.world.during(stage.sweep.hostFigures({ limit: 10 }));
    expect(hosts).toHaveLength(2);
  });

  test("that has more to do is visited again, and not for ever", async () => {
    const stage = new SweepStage(EDGE);
    await stage.enrol("a", "b", "c");
    let left = 3;
    stage.answers.set("b", (_request, now) => {
      left -= 1;
      return { ...audited(now), kind: left > 0 ? "more" : "audited" };
    });
    stage.answers.set("c", (_request, now) => ({ ...audited(now), kind: "more" }));
    await stage.tick();
    await stage.world.advance(50_000);
    expect(stage.visitsIn(1)).toMatchObject({ a: 1, b: 3 });
    expect(stage.visitsIn(1).c).toBeGreaterThan(10);
    expect(stage.visitsIn(1).c).toBeLessThan(30);
    expect(await stage.gc()).toMatchObject({ state: "idle", backlogHosts: 0 });
    const again = stage.visits.filter(({ host }) => host === "b").slice(1);
    expect(again.map(({ ifOlderThanMs }) => ifOlderThanMs)).toEqual([0, 0]);
  });

  test("that Cluster lists no more loses its row, after a whole sweep that did not meet it", async () => {
    const stage = new SweepStage(EDGE);
    await stage.enrol("a", "b");
    await stage.minutes(1, "cron");
    stage.world.damage("cluster:v1:default", "DELETE FROM host WHERE name = 'a'");
    const listed = async () =>
      (await stage.world.during(stage.sweep.hostFigures({ limit: 10 }))).hosts.map(({ host }) => host);
    await stage.minutes(4, "cron");
    expect(await listed()).toEqual(["a", "b"]);
    await stage.minutes(5, "cron");
    expect(await listed()).toEqual(["b"]);
  });

  test("of which nothing is known loses its row at once", async () => {
    const stage = new SweepStage(EDGE);
    await stage.enrol("a");
    await stage.minutes(1, "cron");
    stage.answers.set("a", () => ({ kind: "unknown", figures: figuresOf(), calls: 0 }));
    await stage.minutes(9, "cron");
    expect(await stage.world.during(stage.sweep.hostFigures({ limit: 10 }))).toEqual({ hosts: [] });
  });
});

describe("the place of a sweep", () => {
  test("is kept over a crash between any two lots of hosts: each host is visited", async () => {
    const hosts = names(192);
    let crashes = 0;
    for (let nth = 0; nth < 12; nth += 1) {
      for (const point of ["before-commit", "after-commit"] as const) {
        const stage = new SweepStage({ settings: { tickMs: 0 }, seed: nth + 1 });
        await stage.enrol(...hosts);
        const ticked = stage.sweep.tick({ source: "cron" });
        // The call itself may be cut off.
        ticked.catch(() => {});
        const commits = () => stage.world.counters.read().commits[SWEEP] ?? 0;
        while (commits() < nth && (await stage.world.step()));
        stage.world.crash(SWEEP, point);
        await stage.world.advance(1_000);
        // Where the first call itself was cut off, the next one begins the sweep.
        await stage.minutes(2, "cron");
        const visits = stage.visitsIn(1);
        expect(Object.keys(visits).toSorted(), `${point} ${nth}`).toEqual(hosts);
        // At most one lot was visited again.
        expect(Object.values(visits).filter((n) => n > 1).length).toBeLessThanOrEqual(16);
        expect(await stage.gc()).toMatchObject({ state: "idle", sweep: 1, backlogHosts: 0 });
        const { events } = stage.world.counters.read();
        crashes += (events["crash before-commit"] ?? 0) + (events["crash after-commit"] ?? 0);
        stage.world.dispose();
      }
    }
    expect(crashes).toBe(24);
  }, 300_000);

  test("is kept when a slice is cut off without a word, and when the alarm is lost for good", async () => {
    const stage = new SweepStage(EDGE);
    const hosts = names(400);
    await stage.enrol(...hosts);
    const ticked = stage.sweep.tick({ source: "cron" });
    await stage.world.advance(30);
    await ticked;
    stage.world.evict(SWEEP, "silent");
    stage.world.loseAlarm(SWEEP);
    await stage.world.advance(MINUTE);
    expect(Object.keys(stage.visitsIn(1)).length).toBeLessThan(400);
    await stage.minutes(1, "cron");
    expect(Object.keys(stage.visitsIn(1)).length).toBe(400);
    expect(await stage.gc()).toMatchObject({ state: "idle", sweep: 1 });
  });

  test("is moved on by one instance: another on the same storage commits nothing over it", async () => {
    const stage = new SweepStage(EDGE);
    const hosts = names(64);
    await stage.enrol(...hosts);
    const ticked = stage.sweep.tick({ source: "cron" });
    ticked.catch(() => {});
    for (let step = 0; step < 6; step += 1) {
      await stage.world.advance(4);
      stage.world.supersede(SWEEP, "shared");
      void stage.sweep.getGc({});
    }
    await stage.minutes(2, "cron");
    expect(Object.keys(stage.visitsIn(1)).toSorted()).toEqual(hosts);
    expect(await stage.gc()).toMatchObject({ state: "idle", sweep: 1 });
  });

  test("stands while Cluster does not answer, and the sweep goes on afterwards", async () => {
    const stage = new SweepStage(EDGE);
    await stage.enrol("a", "b");
    stage.world.refuse({ toClass: "ClusterObject" }, "connection_lost", 40);
    await stage.tick();
    await stage.world.advance(10_000);
    expect(await stage.gc()).toMatchObject({
      state: "running",
      lastError: { what: "Cluster did not answer" },
    });
    await stage.world.advance(5 * MINUTE);
    expect(stage.visitsIn(1)).toEqual({ a: 1, b: 1 });
  });
});

describe("the alarm that stands in for cron", () => {
  test("calls each minute from the first call on, over restarts, lost memory and failures", async () => {
    const stage = new SweepStage();
    expect(LOCAL_SETTINGS.tickMs).toBe(MINUTE);
    await stage.enrol("a");
    await stage.minutes(3);
    expect(stage.visits).toEqual([]);
    await stage.tick("alarm");
    await stage.minutes(20);
    expect(stage.visits.map(({ sweep }) => sweep)).toEqual([1, 2, 3]);
    expect((await stage.gc()).tick).toMatchObject({ source: "alarm", overdue: false });
    stage.world.restart();
    stage.world.refuse({ toClass: "ClusterObject" }, "connection_lost", 10);
    await stage.minutes(20);
    expect(stage.visits.at(-1)?.sweep).toBeGreaterThanOrEqual(5);
    expect((await stage.gc()).tick.overdue).toBe(false);
  });

  test("is set again by any event after it was lost for good", async () => {
    const stage = new SweepStage();
    await stage.enrol("a");
    await stage.tick("alarm");
    await stage.minutes(1);
    stage.world.loseAlarm(SWEEP);
    await stage.minutes(10);
    const gc = await stage.gc();
    expect(gc).toMatchObject({ state: "stuck", tick: { overdue: true } });
    await stage.minutes(2);
    expect(await stage.gc()).toMatchObject({ state: "idle", sweep: 2, tick: { overdue: false } });
  });
});
