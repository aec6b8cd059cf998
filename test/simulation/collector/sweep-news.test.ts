/** What a sweep tells as events: of silent hosts, of what was released, of pools; each once, over crashes too. */
import { afterEach, describe, expect, test } from "vitest";
import type { RecentEvent } from "../../../src/core/events.ts";
import { OWN_EVENTS_MAX } from "../../../src/core/sweep-news.ts";
import { Fleet } from "./fleet.ts";
import { audited, figuresOf, MINUTE, names, SWEEP, SweepStage, usageOf } from "./sweep-stage.ts";

/** No alarm stands in for cron. */
const EDGE = { settings: { tickMs: 0 } };

let stage: SweepStage;
afterEach(() => stage?.world.dispose());

/** A host's agent reported last at a time, which by now is too long ago or not. */
function reports(host: string, state: "fresh" | "stale", lastAt: number): void {
  stage.answers.set(host, (_request, now) => audited(now, { report: { state, lastAt, workloads: 1 } }));
}

const poolsOf = (counts: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    Object.entries(counts).map(([name, reclaimed]) => {
      return [name, { allocated: 1, borrowed: 0, blocks: 1, candidates: 0, reclaimed }];
    }),
  );

/** A host has released so many by now, by pool. */
function released(host: string, counts: Readonly<Record<string, number>>): void {
  stage.answers.set(host, (_request, now) => audited(now, { pools: poolsOf(counts) }));
}

const hostsOf = (events: readonly RecentEvent[]) => events.map(({ host }) => host).toReversed();

describe("a host that falls silent", () => {
  test("is told once, by the sweep that finds it, and again only after it has reported", async () => {
    stage = new SweepStage(EDGE);
    await stage.enrol("a", "b");
    reports("a", "fresh", 1_000);
    reports("b", "fresh", 1_000);
    await stage.swept();
    expect(await stage.events("host_silent")).toEqual([]);
    reports("b", "stale", 1_000);
    await stage.swept();
    const [event, ...more] = await stage.events("host_silent");
    expect(more).toEqual([]);
    expect(event).toMatchObject({ host: "b", severity: "warning", firstAt: 1_000 });
    stage.world.restart();
    await stage.swept();
    expect(await stage.events("host_silent")).toHaveLength(1);
    reports("b", "fresh", 2_000);
    await stage.swept();
    reports("b", "stale", 2_000);
    await stage.swept();
    await stage.swept();
    expect((await stage.events("host_silent")).map(({ firstAt }) => firstAt)).toEqual([2_000, 1_000]);
  });

  test("is found by a sweep also where its wish to release told of it first", async () => {
    stage = new SweepStage(EDGE);
    await stage.enrol("a");
    reports("a", "fresh", 1_000);
    await stage.swept();
    const report = { state: "stale", lastAt: 1_000, workloads: 1 } as const;
    await stage.weigh("a", { figures: figuresOf({ report }) });
    reports("a", "stale", 1_000);
    await stage.swept();
    await stage.swept();
    expect(await stage.events("host_silent")).toHaveLength(1);
  });

  test("with many others has an event of its own up to a bound; the rest is one", async () => {
    stage = new SweepStage(EDGE);
    const hosts = names(OWN_EVENTS_MAX + 30);
    await stage.enrol(...hosts);
    for (const host of hosts) reports(host, "stale", 1_000);
    await stage.swept();
    const [last, ...own] = await stage.events("host_silent");
    expect(hostsOf(own)).toEqual(hosts.slice(0, OWN_EVENTS_MAX));
    expect(last).toMatchObject({ severity: "warning", after: { others: "30" } });
    expect(last?.host).toBeUndefined();
    await stage.swept();
    expect(await stage.events("host_silent")).toHaveLength(OWN_EVENTS_MAX + 1);
  });
});

describe("what the collector released of a host", () => {
  test("is one event per sweep, however often the host was weighed between", async () => {
    stage = new SweepStage(EDGE);
    await stage.enrol("a", "b");
    released("a", { blue: 100 });
    await stage.swept();
    // What it had released before it was met is no news.
    expect(await stage.events("leak_released")).toEqual([]);
    for (const reclaimed of [103, 105, 109]) {
      await stage.weigh("a", { figures: figuresOf({ pools: poolsOf({ blue: reclaimed }) }) });
    }
    released("a", { blue: 110, red: 2 });
    released("b", { red: 0 });
    await stage.swept();
    const [event, ...more] = await stage.events("leak_released");
    expect(more).toEqual([]);
    expect(event).toMatchObject({
      ...{ host: "a", severity: "info", count: 12, after: { "pool.blue": "10", "pool.red": "2" } },
    });
    stage.world.restart();
    await stage.swept();
    expect(await stage.events("leak_released")).toHaveLength(1);
  });

  test("is told when the host is done, if it has more to do in this sweep", async () => {
    stage = new SweepStage(EDGE);
    await stage.enrol("a");
    released("a", {});
    await stage.swept();
    let visits = 0;
    stage.answers.set("a", (_request, now) => {
      visits += 1;
      const pools = poolsOf({ blue: visits * 10 });
      return { ...audited(now, { pools }), kind: visits < 4 ? "more" : "audited" };
    });
    await stage.swept();
    expect(visits).toBe(4);
    expect(await stage.events("leak_released")).toMatchObject([{ host: "a", count: 40, pool: "blue" }]);
  });

  test("is told of a host that is forgotten, too, with the last that is known", async () => {
    stage = new SweepStage(EDGE);
    await stage.enrol("a", "b");
    for (const host of ["a", "b"]) released(host, { blue: 1 });
    await stage.swept();
    const pools = poolsOf({ blue: 6 });
    stage.answers.set("a", () => ({ kind: "unknown", figures: figuresOf({ pools }), calls: 0 }));
    await stage.weigh("b", { figures: figuresOf({ pools: poolsOf({ blue: 4 }) }) });
    stage.world.damage("cluster:v1:default", "DELETE FROM host WHERE name = 'b'");
    await stage.swept();
    await stage.swept();
    const told = (await stage.events("leak_released")).map(({ host, count }) => `${host} ${count}`);
    expect(told.toSorted()).toEqual(["a 5", "b 3"]);
    expect(await stage.world.during(stage.sweep.hostFigures({ limit: 10 }))).toEqual({ hosts: [] });
  });

  test("of many hosts is an event each up to a bound, and a sum for the rest; nothing is lost of it", async () => {
    stage = new SweepStage(EDGE);
    const hosts = names(2 * OWN_EVENTS_MAX + 20);
    await stage.enrol(...hosts);
    for (const host of hosts) released(host, {});
    await stage.swept();
    for (const [nth, host] of hosts.entries()) released(host, { blue: nth + 1 });
    await stage.swept();
    const [last, ...own] = await stage.events("leak_released");
    expect(hostsOf(own)).toEqual(hosts.slice(0, OWN_EVENTS_MAX));
    const rest = hosts.length - OWN_EVENTS_MAX;
    expect(last).toMatchObject({ severity: "info", after: { others: String(rest) } });
    const sum = [last, ...own].reduce((all, event) => all + (event?.count ?? 0), 0);
    expect(sum).toBe((hosts.length * (hosts.length + 1)) / 2);
  });
});

describe("a pool", () => {
  async function withPools(...pools: readonly string[]): Promise<void> {
    stage = new SweepStage(EDGE);
    for (const [nth, name] of pools.entries()) await stage.pool(name, nth);
  }
  const told = async () => {
    const events = (await stage.events("pool_warning")).toReversed();
    return events.map(({ pool, code }) => `${pool} ${code}`);
  };

  test("that passes its threshold is told once, when it is full once more, and again after it fell", async () => {
    await withPools("p");
    const looks: readonly (readonly [used: number, events: number])[] = [
      ...([
        [899, 0],
        [900, 1],
        [950, 1],
        [899, 1],
        [901, 1],
      ] as const),
      ...([
        [1_000, 2],
        [990, 2],
        [1_000, 2],
        [840, 2],
        [905, 3],
      ] as const),
    ];
    for (const [used, events] of looks) {
      stage.usages.set("p", usageOf(used));
      await stage.swept();
      expect(await told(), `${used}`).toHaveLength(events);
      stage.world.restart();
    }
    expect(await told()).toEqual(["p pool_nearly_full", "p pool_full", "p pool_nearly_full"]);
    const [event] = await stage.events("pool_warning");
    expect(event).toMatchObject({
      ...{ severity: "warning", pool: "p" },
      after: { usedPercent: "90.5", warnAtPercent: "90", available: "95", allocated: "905" },
    });
  });

  test("that does not answer holds up no sweep, and is told by the next one", async () => {
    await withPools("away", "full");
    stage.usages.set("full", usageOf(1_000));
    await stage.swept();
    expect(await told()).toEqual(["full pool_full"]);
    expect(await stage.gc()).toMatchObject({ state: "idle", sweep: 1, backlogHosts: 0 });
    stage.usages.set("away", usageOf(950));
    await stage.swept();
    expect(await told()).toEqual(["full pool_full", "away pool_nearly_full"]);
  });

  test("of many is looked at, each once, and so many are told each by itself", async () => {
    const pools = names(130);
    await withPools(...pools);
    for (const name of pools) stage.usages.set(name, usageOf(999));
    await stage.swept();
    const [last, ...own] = await stage.events("pool_warning");
    expect(own.map(({ pool }) => pool).toReversed()).toEqual(pools.slice(0, OWN_EVENTS_MAX));
    expect(last).toMatchObject({ after: { others: String(pools.length - OWN_EVENTS_MAX) } });
    const counters = stage.world.counters.read().calls;
    expect(counters["SweepObject>PoolObject.usage"]).toBe(pools.length);
  }, 60_000);

  test("that is gone leaves nothing behind; one that does not serve is not asked", async () => {
    await withPools("p", "off");
    const by = { by: "test" };
    const { cluster } = stage.deployed.ports;
    await stage.world.during(cluster().patchPool({ name: "off", patch: { disabled: true }, ...by }));
    for (const name of ["p", "off"]) stage.usages.set(name, usageOf(1_000));
    await stage.swept();
    expect(await told()).toEqual(["p pool_full"]);
    const warned = () =>
      String(stage.world.rows(SWEEP, "SELECT state FROM gc_state WHERE name = 'pools'")[0]?.state);
    expect(Object.values(JSON.parse(warned()).warned)).toEqual(["pool_full"]);
    stage.world.damage("cluster:v1:default", "DELETE FROM definition WHERE kind = 'pool' AND name = 'p'");
    // The damage is a policy of its own only with the next write.
    await stage.world.during(cluster().changeConfig({ patch: { ipCooldownSeconds: 7 }, ...by }));
    await stage.swept();
    expect(JSON.parse(warned()).warned).toEqual({});
  });
});

describe("what is to be told", () => {
  const HOSTS = names(20);

  /** Five hosts are silent, five have released something, a pool is full; nothing is told of it yet. */
  async function loaded(seed: number): Promise<void> {
    stage = new SweepStage({ ...EDGE, seed });
    await stage.enrol(...HOSTS);
    await stage.pool("p", 0);
    await stage.pool("q", 1);
    for (const name of ["p", "q"]) stage.usages.set(name, usageOf(1));
    for (const host of HOSTS) released(host, { blue: 10 });
    await stage.swept();
    for (const host of HOSTS.slice(0, 5)) reports(host, "stale", 1_000);
    for (const [nth, host] of HOSTS.slice(5, 10).entries()) released(host, { blue: 11 + nth });
    stage.usages.set("q", usageOf(1_000));
  }

  async function expectTold(what: string): Promise<void> {
    const silent = hostsOf(await stage.events("host_silent"));
    expect(silent, what).toEqual(HOSTS.slice(0, 5));
    const counts = (await stage.events("leak_released")).map(({ host, count }) => `${host} ${count}`);
    expect(counts.toReversed(), what).toEqual(HOSTS.slice(5, 10).map((host, nth) => `${host} ${nth + 1}`));
    expect(await stage.events("pool_warning"), what).toMatchObject([{ pool: "q", code: "pool_full" }]);
  }

  test("is told once each, wherever the Sweep crashes", async () => {
    let crashes = 0;
    for (let nth = 0; nth < 8; nth += 1) {
      for (const point of ["before-commit", "after-commit"] as const) {
        await loaded(nth + 1);
        const commits = () => stage.world.counters.read().commits[SWEEP] ?? 0;
        const begin = commits();
        stage.sweep.startSweep({ by: "test" }).catch(() => {});
        while (commits() - begin < nth && (await stage.world.step()));
        stage.world.crash(SWEEP, point);
        await stage.world.advance(5 * MINUTE);
        // The sweep itself may not have been begun.
        await stage.swept();
        await stage.swept();
        await expectTold(`${point} ${nth}`);
        const { events } = stage.world.counters.read();
        crashes += (events["crash before-commit"] ?? 0) + (events["crash after-commit"] ?? 0);
        stage.world.dispose();
      }
    }
    expect(crashes).toBe(16);
  }, 60_000);

  test("is told once each when answers of Cluster are lost, and when it is away for long", async () => {
    await loaded(1);
    const answer = { kind: "answer", fromClass: "ClusterObject", method: "noted" } as const;
    stage.world.drop(answer, { loss: "error", times: 4 });
    await stage.swept();
    await stage.world.advance(MINUTE);
    await expectTold("answers lost");
    stage.world.dispose();
    await loaded(2);
    stage.world.refuse({ toClass: "ClusterObject", method: "noted" }, "connection_lost", 60);
    await stage.swept();
    expect(await stage.events("host_silent")).toEqual([]);
    await stage.world.advance(20 * MINUTE);
    await expectTold("away");
  });
});

describe("real hosts, blocks and pools", () => {
  test("make each of these events, once", async () => {
    const pools = { default: { cidr: "10.0.0.0/27", blockSize: 28 } };
    const fleet = await Fleet.open(["a", "b"], { tickMs: 0 }, pools);
    const { cluster } = fleet.scene.deployed.ports;
    const patch = { warnAtPercent: 60 };
    await fleet.world.during(cluster().patchPool({ name: "default", patch, by: "test" }));
    await fleet.minutes(7);
    // 20 of 32 are used.
    expect(await fleet.events({ type: "pool_warning" })).toMatchObject([
      { pool: "default", code: "pool_nearly_full", after: { usedPercent: "62.5", available: "12" } },
    ]);
    for (const pod of ["a-0", "a-1", "b-9"]) fleet.pods.get(pod.slice(0, 1))?.delete(pod);
    await fleet.minutes(30);
    const freed = await fleet.events({ type: "leak_released" });
    expect(freed.map(({ host, pool, count }) => `${host} ${pool} ${count}`).toSorted()).toEqual([
      "a default 2",
      "b default 1",
    ]);
    expect(await fleet.events({ type: "host_silent" })).toEqual([]);
    await fleet.minutes(30, ["b"]);
    expect(await fleet.events({ type: "host_silent" })).toMatchObject([{ host: "a", severity: "warning" }]);
    await fleet.minutes(10);
    await fleet.minutes(20, ["b"]);
    expect(await fleet.events({ type: "host_silent" })).toMatchObject([{ host: "a" }, { host: "a" }]);
    expect(await fleet.events({ type: "leak_released" })).toHaveLength(2);
    expect(await fleet.events({ type: "pool_warning" })).toHaveLength(1);
    fleet.world.dispose();
  });
});
