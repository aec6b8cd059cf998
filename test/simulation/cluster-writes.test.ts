/**
 * Policy writes of Cluster: revisions, guards, bounds, what is stored; and the directory of hosts.
 */
import { expect, test } from "vitest";
import { ClusterObject } from "../../durable-objects/cluster.ts";
import { CLUSTER_OBJECT_NAME } from "../../src/core/ids.ts";
import { RESERVATIONS_MAX } from "../../src/core/limits.ts";
import type { HostEntry } from "../../src/rpc/cluster.ts";
import { deploy } from "../support/simulation/deployment.ts";

const BY = { by: "token:ops" };

function cluster() {
  const { world, ports } = deploy({ ClusterObject });
  const port = ports.cluster();
  const rows = (query: string) => world.rows(CLUSTER_OBJECT_NAME, query);
  return {
    world,
    port,
    /** Runs to the answer of a call that was begun on `port`. */
    done: <T>(answer: Promise<T>) => world.during(answer),
    version: () => Number(rows("SELECT version FROM cluster")[0]?.version ?? 1),
    rows,
  };
}

test("a pool is created once, changed by its next content, and keeps its incarnation", async () => {
  const { port, done, version } = cluster();
  const put = (spec: object) => done(port.putPool({ name: "default", spec: { ...spec }, ...BY }));
  const made = await put({ cidr: "10.0.0.0/24" });
  expect(made).toMatchObject({
    ok: true,
    value: { created: true, value: { revision: 1, incarnation: 0, blockSize: 26, updatedBy: "token:ops" } },
  });
  const same = await put({ cidr: "10.0.0.0/24" });
  expect(same).toMatchObject({ ok: true, value: { created: false, value: { revision: 1 } } });
  expect(version()).toBe(2);
  const changed = await put({ cidr: "10.0.0.0/24", disabled: true });
  expect(changed).toMatchObject({
    ok: true,
    value: { created: false, value: { revision: 2, incarnation: 0, disabled: true } },
  });
  expect(version()).toBe(3);
});

test("a refused pool leaves nothing behind", async () => {
  const { port, done, rows, version } = cluster();
  await done(port.putPool({ name: "default", spec: { cidr: "10.0.0.0/24" }, ...BY }));
  const refusals = [
    await done(port.putPool({ name: "other", spec: { cidr: "10.0.0.128/25" }, ...BY })),
    await done(port.putPool({ name: "default", spec: { cidr: "10.0.1.0/24" }, ...BY })),
    await done(port.putPool({ name: "bad", spec: { cidr: "10.1.0.1/24" }, ...BY })),
    await done(port.patchPool({ name: "none", patch: { disabled: true }, ...BY })),
  ];
  const codes = refusals.map((refusal) => (refusal.ok ? "accepted" : refusal.error.code));
  expect(codes).toEqual(["pool_overlap", "pool_field_immutable", "invalid_request", "pool_not_found"]);
  expect(rows("SELECT name FROM definition")).toEqual([{ name: "default" }]);
  expect(version()).toBe(2);
});

test("a patch changes what it names; an equal one makes no revision", async () => {
  const { port, done } = cluster();
  await done(port.putPool({ name: "default", spec: { cidr: "10.0.0.0/24" }, ...BY }));
  const patch = { nodeSelector: "zone == 'b'" };
  const first = await done(port.patchPool({ name: "default", patch, ...BY }));
  expect(first).toMatchObject({ ok: true, value: { revision: 2, ...patch } });
  expect(await done(port.patchPool({ name: "default", patch, ...BY }))).toEqual(first);
});

test("guards: a write against another revision, or over a thing that exists, is refused", async () => {
  const { port, done, version } = cluster();
  const name = "r";
  const spec = { reservedCIDRs: ["10.0.0.0/30"] };
  const put = (guard: object) => done(port.putReservation({ name, spec, ...BY, ...guard }));
  const code = (answer: Awaited<ReturnType<typeof put>>) => (answer.ok ? "accepted" : answer.error);
  expect(code(await put({ ifRevision: 3 }))).toEqual({
    code: "revision_mismatch",
    evidence: { revision: 0 },
  });
  expect(code(await put({ mustNotExist: true }))).toBe("accepted");
  expect(code(await put({ mustNotExist: true }))).toEqual({
    code: "already_exists",
    evidence: { revision: 1 },
  });
  expect(code(await put({ ifRevision: 2 }))).toEqual({
    code: "revision_mismatch",
    evidence: { revision: 1 },
  });
  expect(code(await put({ ifRevision: 1 }))).toBe("accepted");
  expect(version()).toBe(2);
  const config = await done(port.changeConfig({ patch: { maintenance: true }, ifRevision: 1, ...BY }));
  expect(config).toMatchObject({
    ok: false,
    error: { code: "revision_mismatch", evidence: { revision: 0 } },
  });
  const patch = await done(port.patchPool({ name: "none", patch: {}, ifRevision: 1, ...BY }));
  expect(patch).toMatchObject({ ok: false, error: { code: "pool_not_found", evidence: { pool: "none" } } });
});

test("a reservation is masked, listed in the policy, and deleted once", async () => {
  const { port, done, version } = cluster();
  const spec = { reservedCIDRs: ["10.0.0.1/30", "10.0.0.9"], reason: "printers" };
  await done(port.putReservation({ name: "r", spec, ...BY }));
  const { policy } = await done(port.policy({}));
  expect(policy?.reservations).toMatchObject([
    { name: "r", reservedCIDRs: ["10.0.0.0/30", "10.0.0.9/32"], revision: 1 },
  ]);
  const stale = await done(port.deleteReservation({ name: "r", ifRevision: 2, ...BY }));
  expect(stale).toMatchObject({ ok: false, error: { code: "revision_mismatch" } });
  expect(await done(port.deleteReservation({ name: "r", ...BY }))).toEqual({
    ok: true,
    value: { deleted: true },
  });
  expect(version()).toBe(3);
  const again = await done(port.deleteReservation({ name: "r", ...BY }));
  expect(again).toEqual({ ok: false, error: { code: "reservation_not_found", evidence: { field: "r" } } });
  expect((await done(port.policy({ knownVersion: 2 }))).policy?.reservations).toEqual([]);
});

test("the policy survives the instance that wrote it", async () => {
  const { world, port, done } = cluster();
  await done(port.putPool({ name: "b", spec: { cidr: "10.0.1.0/24" }, ...BY }));
  await done(port.putPool({ name: "a", spec: { cidr: "fd00::/112" }, ...BY }));
  await done(port.changeConfig({ patch: { ipCooldownSeconds: 60 }, ...BY }));
  const before = await done(port.policy({}));
  world.evict(CLUSTER_OBJECT_NAME);
  expect(await done(port.policy({}))).toEqual(before);
  expect(before.policy?.pools.map(({ name }) => name)).toEqual(["a", "b"]);
  expect(before.policy?.config).toMatchObject({ ipCooldownSeconds: 60, revision: 1 });
});

test("the default configuration dates from the first thing stored, not from when it is read", async () => {
  const { world, port, done } = cluster();
  await done(port.lease({}));
  const first = await done(port.policy({}));
  await world.advance(10_000);
  world.evict(CLUSTER_OBJECT_NAME);
  expect(await done(port.policy({}))).toEqual(first);
});

test("the number of reservations is bounded, and those that exist can still be changed", async () => {
  const { port, done } = cluster();
  const put = (i: number, reason: string) =>
    done(port.putReservation({ name: `r${i}`, spec: { reservedCIDRs: [], reason }, ...BY }));
  for (let i = 0; i < RESERVATIONS_MAX; i += 1) await put(i, "one");
  expect(await put(RESERVATIONS_MAX, "one")).toMatchObject({
    ok: false,
    error: { code: "invalid_request", evidence: { errors: [{ code: "too_many", limit: RESERVATIONS_MAX }] } },
  });
  expect(await put(0, "two")).toMatchObject({ ok: true, value: { created: false, value: { revision: 2 } } });
});

test("the directory writes one row per host, and none when nothing changed", async () => {
  const { world, port, done } = cluster();
  await done(port.enrol({ host: "node-0", registered: false, labels: {} }));
  const enrol = async (host: string, registered: boolean, labels: Record<string, string>) => {
    const before = world.counters.read();
    await done(port.enrol({ host, registered, labels }));
    return world.counters.since(before).rows[CLUSTER_OBJECT_NAME] ?? 0;
  };
  expect(await enrol("node-1", false, {})).toBe(1);
  // A registration is an event too.
  expect(await enrol("node-1", true, { zone: "b", rack: "1" })).toBe(2);
  expect(await enrol("node-1", true, { rack: "1", zone: "b" })).toBe(0);
  const late = { host: "node-1", registered: false, labels: {} };
  await done(port.enrol({ host: "node-1", registered: true, labels: { zone: "b", rack: "1" }, revision: 2 }));
  await done(port.enrol(late));
  expect(await enrol("virtual:load-balancer", false, {})).toBe(1);
  const { hosts } = await done(port.listHosts({ limit: 10 }));
  expect(hosts).toMatchObject([
    { host: "node-0", kind: "host", registered: false },
    { host: "node-1", kind: "host", registered: true, labels: { zone: "b", rack: "1" } },
    { host: "virtual:load-balancer", kind: "virtual" },
  ]);
});

test("hosts are listed in the order of names, each once, whatever the page", async () => {
  const { port, done } = cluster();
  const names = ["b", "A", "c", "a-1", "a"];
  for (const host of names) await done(port.enrol({ host, registered: true, labels: {} }));
  const seen: HostEntry[] = [];
  let next: string | undefined;
  for (let pages = 0; pages < 10; pages += 1) {
    const page = await done(port.listHosts(next === undefined ? { limit: 2 } : { limit: 2, after: next }));
    seen.push(...page.hosts);
    next = page.next;
    if (next === undefined) break;
  }
  expect(seen.map(({ host }) => host)).toEqual(["A", "a", "a-1", "b", "c"]);
});
