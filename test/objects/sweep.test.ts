/** The Sweep on workerd: a sweep by its alarm over real Hosts, its tables, and what stays over an eviction. */
import { reset, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test } from "vitest";
import { Store } from "../../durable-objects/storage/store.ts";
import { SWEEP_MIGRATIONS, SweepRows, type SweptHost } from "../../durable-objects/storage/sweep-rows.ts";
import { SWEEP_OBJECT_NAME } from "../../src/core/ids.ts";
import type { HostLeakFigures } from "../../src/rpc/leaks.ts";
import { evict, ports } from "../support/objects/deployment.ts";

const stub = () => env.SWEEP.get(env.SWEEP.idFromName(SWEEP_OBJECT_NAME));

beforeEach(async () => {
  await reset();
});

const figures: HostLeakFigures = {
  ...{ auditedAt: 1, allocated: 3, counts: { candidates: 0, confirmed: 0, held: 0 } },
  ...{ heldByReason: {}, unknownBySource: {}, unauditable: {}, pools: {}, isGone: false },
  report: { state: "never", workloads: 0 },
};

test("a call of the trigger begins a sweep, and the alarm visits every host", async () => {
  const hosts = Array.from({ length: 20 }, (_, n) => `n${n}`);
  for (const host of hosts) await ports.host(host).register({ host, labels: {} });
  expect(await ports.sweep().tick({ source: "cron" })).toEqual({ kind: "working" });
  // The alarm may have run by itself already.
  for (let turn = 0; turn < 10 && (await ports.sweep().getGc({})).lastSweepAt === 0; turn += 1) {
    await runDurableObjectAlarm(stub() as never);
  }
  const gc = await ports.sweep().getGc({});
  expect(gc).toMatchObject({ state: "idle", sweep: 1, backlogHosts: 0, hostsNeverReported: 20 });
  expect(gc.tick).toMatchObject({ source: "cron", overdue: false });
  const page = await ports.sweep().hostFigures({ limit: 15 });
  expect(page.hosts).toHaveLength(15);
  expect((await ports.sweep().hostFigures({ after: page.next!, limit: 15 })).hosts).toHaveLength(5);
});

test("a pause and an open breaker stay over an eviction", async () => {
  const many = { ...figures, allocated: 100 };
  const wish = { host: "a", due: 60, wanted: 60, isRemoved: false, isLost: false, figures: many };
  expect(await ports.sweep().weigh(wish)).toEqual({ granted: 0, stop: "breaker_open" });
  await ports.sweep().changeGc({ paused: true, reason: "test", by: "token:ops" });
  await evict(stub() as never);
  expect(await ports.sweep().weigh(wish)).toEqual({ granted: 0, stop: "paused" });
  const { paused, breaker } = await ports.sweep().changeGc({ paused: false, by: "token:ops" });
  expect(paused).toBe(false);
  const closed = await ports.sweep().acknowledge({ breakerOpenedAt: breaker.openedAt ?? 0, by: "token:ops" });
  expect(closed.ok && closed.value.breaker).toEqual({ open: false });
  expect(await ports.sweep().weigh(wish)).toEqual({ granted: 60 });
});

test("its tables take a list of nodes: who is named is seen, who was seen and is not named is missing", async () => {
  const node = { wasSeen: false, isUnreadable: false };
  const host = (name: string): SweptHost => {
    return { host: name, kind: "host", met: 1, metAt: 1, again: 0, figures, node };
  };
  await runInDurableObject(stub() as never, async (_object, state) => {
    const store = new Store(state.storage, SWEEP_MIGRATIONS);
    const rows = new SweepRows(store);
    const listed = (at: number, ...pages: readonly (readonly string[])[]) =>
      store.transaction(() => {
        rows.clearNodes();
        for (const [page, names] of pages.entries()) rows.addNodes(page, names);
        rows.nodesListed(at);
      });
    store.transaction(() => {
      for (const name of ["a", 'odd "name"', "c"]) rows.put(host(name), 5);
      rows.put({ ...host("virtual:x"), kind: "virtual" }, 5);
    });
    expect(rows.allocated()).toBe(12);
    listed(10, ["a"], ['odd "name"', "virtual:x"]);
    expect(rows.find("a")?.node).toEqual({ wasSeen: true, isUnreadable: false });
    expect(rows.find('odd "name"')?.node.wasSeen).toBe(true);
    expect(rows.find("c")?.node).toEqual(node);
    expect(rows.find("virtual:x")?.node).toEqual(node);
    listed(20, ["a"]);
    listed(30, ["a"]);
    expect(rows.find('odd "name"')?.node).toEqual({ wasSeen: true, missingSince: 20, isUnreadable: false });
    listed(40, ["a"], ['odd "name"']);
    expect(rows.find('odd "name"')?.node).toEqual({ wasSeen: true, isUnreadable: false });
    expect(rows.sums()).toMatchObject({ hosts: 4, allocated: 12, neverReported: 3, stale: 0 });
    expect(rows.oldest()).toEqual({ host: "a", at: 1 });
  });
});

test("its tables take over what hosts had released before it was told, and keep what was told since", async () => {
  const pools = { blue: { allocated: 1, borrowed: 0, blocks: 1, candidates: 0, reclaimed: 7 } };
  await runInDurableObject(stub() as never, async (_object, state) => {
    const { sql } = state.storage;
    sql.exec("CREATE TABLE schema_version (version INTEGER PRIMARY KEY) STRICT");
    for (const statement of SWEEP_MIGRATIONS.slice(0, 3).flat()) sql.exec(statement);
    sql.exec("INSERT INTO schema_version (version) VALUES (3)");
    sql.exec(
      "INSERT INTO gc_hosts VALUES ('a', 'host', 1, 1, 0, 1, 3, 0, 0, 0, NULL, ?, 0, NULL, NULL, 0)",
      JSON.stringify({ ...figures, pools }),
    );
    const store = new Store(state.storage, SWEEP_MIGRATIONS);
    const rows = new SweepRows(store);
    expect(rows.find("a")?.told).toEqual({ released: { blue: 7 } });
    const told = { silentSince: 5, released: { blue: 9 } };
    store.transaction(() => rows.putTold("a", told));
    const before = rows.find("a");
    if (before === undefined) throw new Error("its row is gone");
    // What a host tells later leaves it as it is.
    const { told: _told, ...next } = before;
    store.transaction(() => rows.put({ ...next, metAt: 2 }, 5));
    expect(rows.find("a")).toMatchObject({ metAt: 2, told });
  });
});
