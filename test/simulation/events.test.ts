/** What Cluster remembers: changes with who and what, refusals in aggregates, within bounds. */
import { afterEach, describe, expect, test } from "vitest";
import type { RefusalRow } from "../../src/core/events.ts";
import { CLUSTER_OBJECT_NAME, hostObjectName } from "../../src/core/ids.ts";
import type { EventFilter } from "../../src/rpc/cluster.ts";
import { Scene } from "../support/simulation/scene.ts";

let scene: Scene;
afterEach(() => scene?.world.report());

const cluster = () => scene.deployed.ports.cluster();
const by = { by: "token:ops", requestId: "r-1" };

async function events(filter: EventFilter = {}, limit = 100) {
  return (await scene.world.during(cluster().listEvents({ ...filter, limit }))).events;
}

/** Asks for an address that is not to be had. */
async function refuse(host: string, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    const ended = scene.allocate(host, { handle: `${host}-${time}`, v4: 9, pools: ["default"] });
    expect((await scene.world.during(ended)).kind).toBe("refused");
  }
}

const rowsOfEvents = () =>
  Number(scene.world.rows(CLUSTER_OBJECT_NAME, "SELECT count(*) AS n FROM event")[0]?.n);

describe("changes", () => {
  test("configuration: the fields that changed, before and after, by whom, under which request", async () => {
    scene = await Scene.open();
    await scene.world.during(cluster().changeConfig({ patch: { strictAffinity: true }, ...by }));
    const [event] = await events({ type: "config_changed" });
    expect(event).toMatchObject({
      actor: "token:ops",
      requestId: "r-1",
      severity: "info",
      before: { strictAffinity: "false" },
      after: { strictAffinity: "true" },
    });
    await scene.world.during(cluster().changeConfig({ patch: { strictAffinity: true }, ...by }));
    expect(await events({ type: "config_changed" })).toHaveLength(1);
    await scene.world.during(
      cluster().changeConfig({ patch: { autoAllocateBlocks: true }, ifRevision: 9, ...by }),
    );
    expect(await events({ type: "config_changed" })).toHaveLength(1);
  });

  test("a pool: made, changed, draining, cancelled, gone", async () => {
    scene = await Scene.open({ pools: {} });
    const name = "p";
    const spec = { cidr: "10.1.0.0/24", blockSize: 26 };
    await scene.world.during(cluster().putPool({ name, spec, ...by }));
    await scene.world.during(cluster().patchPool({ name, patch: { disabled: true }, ...by }));
    await scene.world.during(cluster().drainPool({ name, ...by }));
    await scene.world.advance(60_000);
    const told = (await events({ pool: "p" })).toReversed();
    expect(told.map(({ type }) => type)).toEqual([
      "pool_changed",
      "pool_changed",
      "pool_draining",
      "pool_gone",
    ]);
    expect(told[0]).toMatchObject({ after: { cidr: "10.1.0.0/24", blockSize: "26" } });
    expect(told[0]?.before).toBeUndefined();
    expect(told[1]).toMatchObject({ before: { disabled: "false" }, after: { disabled: "true" } });
    expect(told[2]).toMatchObject({ after: { draining: "true" }, actor: "token:ops" });
    expect(told[3]?.after).toBeUndefined();
    expect(told[3]?.before).toMatchObject({ cidr: "10.1.0.0/24" });
  });

  test("a split is told as what went and what came", async () => {
    scene = await Scene.open();
    await scene.world.during(cluster().splitPool({ name: "default", parts: 2, ...by }));
    const told = await events();
    expect(told.slice(0, 3).map(({ type }) => type)).toEqual(["pool_changed", "pool_changed", "pool_gone"]);
  });

  test("reservations and registrations", async () => {
    scene = await Scene.open({ hosts: [] });
    const spec = { reservedCIDRs: ["10.0.0.4/30"], reason: "printers" };
    await scene.world.during(cluster().putReservation({ name: "r", spec, ...by }));
    await scene.world.during(cluster().deleteReservation({ name: "r", ...by }));
    const [gone, made] = await events({ type: "reservation_changed" });
    expect(made).toMatchObject({
      name: "r",
      after: { reservedCIDRs: '["10.0.0.4/30"]', reason: "printers" },
    });
    expect(gone?.after).toBeUndefined();
    await scene.register("a");
    await scene.register("a");
    expect(await events({ type: "host_registered", host: "a" })).toHaveLength(1);
  });

  test("an event is committed with the change, or not at all", async () => {
    scene = await Scene.open();
    const before = rowsOfEvents();
    scene.world.setFull(CLUSTER_OBJECT_NAME, true);
    await scene.world.during(
      cluster()
        .changeConfig({ patch: { strictAffinity: true }, ...by })
        .catch(() => undefined),
    );
    scene.world.setFull(CLUSTER_OBJECT_NAME, false);
    expect(rowsOfEvents()).toBe(before);
    await scene.world.during(cluster().changeConfig({ patch: { ipCooldownSeconds: 5 }, ...by }));
    expect(await events({ type: "config_changed" })).toMatchObject([{ after: { ipCooldownSeconds: "5" } }]);
  });
});

describe("refusals", () => {
  const FULL = { pools: { default: { cidr: "10.0.0.0/29", blockSize: 29 } } };

  test("many refusals are one row, told within 10 s, and no row before", async () => {
    scene = await Scene.open(FULL);
    const before = rowsOfEvents();
    await refuse("a", 37);
    expect(rowsOfEvents()).toBe(before);
    await scene.world.advance(10_100);
    const [event, ...more] = await events({ type: "refusal" });
    expect(more).toEqual([]);
    expect(event).toMatchObject({
      severity: "warning",
      host: "a",
      pool: "default",
      code: "pool_exhausted",
      count: 37,
    });
    expect(event?.firstAt).toBeLessThan(event?.at ?? 0);
    expect(event?.shortfall?.[0]).toMatchObject({ code: "pool_exhausted", requested: 9 });
    const status = await scene.world.during(cluster().status({}));
    expect(status.refusalsLast10Minutes).toBe(37);
    await scene.world.advance(600_000);
    expect((await scene.world.during(cluster().status({}))).refusalsLast10Minutes).toBe(0);
  });

  test("a host tells at most once per 10 s", async () => {
    scene = await Scene.open(FULL);
    const mark = scene.world.counters.read();
    for (let second = 0; second < 30; second += 1) {
      await refuse("a", 3);
      await scene.world.advance(1_000);
    }
    await scene.world.advance(20_000);
    const told = scene.world.counters.since(mark).calls["HostObject>ClusterObject.refusals"] ?? 0;
    expect(told).toBeGreaterThanOrEqual(3);
    expect(told).toBeLessThanOrEqual(4);
    const counts = (await events({ type: "refusal" })).map(({ count = 0 }) => count);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(90);
  });

  test("a message that is doubled, or repeated since its answer was lost, counts once", async () => {
    scene = await Scene.open(FULL);
    const mark = scene.world.counters.read();
    await refuse("a", 2);
    scene.world.duplicate({ kind: "request", toClass: "ClusterObject", method: "refusals" }, 300);
    await scene.world.advance(12_000);
    await refuse("a", 3);
    const answer = { kind: "answer", fromClass: "ClusterObject", method: "refusals" } as const;
    scene.world.drop(answer, { loss: "error" });
    await scene.world.advance(30_000);
    const sent = scene.world.counters.since(mark).calls["HostObject>ClusterObject.refusals"];
    expect(sent).toBeGreaterThanOrEqual(3);
    const counts = (await events({ type: "refusal" })).map(({ count }) => count);
    expect(counts).toEqual([3, 2]);
  });

  test("a host that dies before it told costs counts, and nothing else", async () => {
    scene = await Scene.open(FULL);
    await refuse("a", 2);
    scene.world.evict(hostObjectName("a"));
    await scene.world.advance(30_000);
    expect(await events({ type: "refusal" })).toEqual([]);
    await refuse("a", 1);
    await scene.world.advance(12_000);
    expect(await events({ type: "refusal" })).toMatchObject([{ count: 1 }]);
  });
});

describe("the list", () => {
  test("newest first, in pages that meet every event once, by any filter", async () => {
    scene = await Scene.open();
    for (let time = 0; time < 25; time += 1) {
      const patch = { ipCooldownSeconds: time + 1 };
      await scene.world.during(cluster().changeConfig({ patch, ...by }));
    }
    const ids: number[] = [];
    let before: number | undefined;
    for (let pages = 0; pages < 10; pages += 1) {
      const at = before === undefined ? {} : { before };
      const filter = { type: "config_changed", limit: 7, ...at };
      const page = await scene.world.during(cluster().listEvents(filter));
      ids.push(...page.events.map(({ id }) => id));
      before = page.next;
      if (before === undefined) break;
    }
    expect(ids).toHaveLength(25);
    expect(ids).toEqual(ids.toSorted((one, other) => other - one));
    const since = (await events({ type: "config_changed" }))[4]?.at ?? 0;
    expect(await events({ type: "config_changed", since })).toHaveLength(5);
    expect(await events({ severity: "error" })).toEqual([]);
    expect(await events({ host: "b" })).toMatchObject([{ type: "host_registered" }]);
  });

  test("the latest 10,000 refusals and the latest 10,000 others are kept, not many more", async () => {
    scene = await Scene.open();
    const rows: RefusalRow[] = Array.from({ length: 100 }, (_, n) => {
      return { code: `code_${n}`, count: 1, firstAt: 1, lastAt: 1 };
    });
    for (let message = 0; message < 112; message += 1) {
      await scene.world.during(cluster().refusals({ host: "a", message: `m-${message}`, rows }));
    }
    const count = (where: string) =>
      Number(scene.world.rows(CLUSTER_OBJECT_NAME, `SELECT count(*) AS n FROM event WHERE ${where}`)[0]?.n);
    expect(count("type = 'refusal'")).toBeGreaterThanOrEqual(10_000);
    expect(count("type = 'refusal'")).toBeLessThanOrEqual(10_000 + 512);
    expect(await events({ type: "pool_changed" })).toHaveLength(1);
  }, 60_000);

  test("what the collector tells of hosts every day pushes out none of the others", async () => {
    scene = await Scene.open();
    const count = (where: string) =>
      Number(scene.world.rows(CLUSTER_OBJECT_NAME, `SELECT count(*) AS n FROM event WHERE ${where}`)[0]?.n);
    const others = count("true");
    // With so many more the next one is that with which the oldest go.
    const daily = 512 * 40 - 1 - others;
    scene.world.damage(
      CLUSTER_OBJECT_NAME,
      `WITH RECURSIVE nth (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM nth WHERE n < ${daily})
       INSERT INTO event (at, type, severity, count, body)
       SELECT 1, CASE n % 2 WHEN 0 THEN 'leak_released' ELSE 'host_silent' END, 'info', 1, '{}' FROM nth`,
    );
    await scene.world.during(cluster().changeConfig({ patch: { ipCooldownSeconds: 9 }, ...by }));
    expect(count("type IN ('leak_released', 'host_silent')")).toBe(10_000);
    expect(count("type NOT IN ('leak_released', 'host_silent')")).toBe(others + 1);
  });
});
