/**
 * Cluster on the simulated platform: leases, the wait of policy writes, guards, the directory.
 */
import { expect, test } from "vitest";
import { ClusterObject } from "../../durable-objects/cluster.ts";
import { CLUSTER_OBJECT_NAME } from "../../src/core/ids.ts";
import { LOCAL_SETTINGS } from "../../src/core/settings.ts";
import type { ClusterPort, LeaseAnswer } from "../../src/rpc/cluster.ts";
import { type Place, World, type WorldOptions } from "../support/simulation/world.ts";
import { GateObject } from "./lease-gate.ts";

const settings = { ...LOCAL_SETTINGS, leaseMs: 1000, skewMs: 50 };
const CLUSTER = CLUSTER_OBJECT_NAME;
const GATE = "gate:a";
const DEFAULT_POOL = { name: "default", spec: { cidr: "10.0.0.0/24" }, by: "token:ops" };
const STRICT = { patch: { strictAffinity: true }, by: "token:ops" };

type Method = keyof ClusterPort;

function deployment(options: Partial<WorldOptions> = {}, skewMs = settings.skewMs) {
  const runtime = (place: Place) => ({
    settings: { ...settings, skewMs },
    now: () => place.now(),
    sleep: (ms: number, signal?: AbortSignal) => place.sleep(ms, signal),
  });
  // Messages take no time, so that what is measured is Cluster's own wait.
  const faults = { delay: [0, 0] as const };
  const world = new World({ classes: { ClusterObject, GateObject }, runtime, faults, ...options });
  return {
    world,
    /** Begins a call of Cluster. */
    call: (method: Method, request: object) => world.call(CLUSTER, method, request),
    /** Calls Cluster and runs to the answer, whatever it is. */
    ask: <M extends Method>(method: M, request: Parameters<ClusterPort[M]>[0]) =>
      world.ask<Awaited<ReturnType<ClusterPort[M]>>>(CLUSTER, method, request),
    lease: (knownVersion?: number) =>
      world.ask<LeaseAnswer>(CLUSTER, "lease", knownVersion === undefined ? {} : { knownVersion }),
    stored: () => world.rows(CLUSTER, "SELECT version, horizon, incarnation FROM cluster")[0],
  };
}

/** The first moment at which no block takes a message under a lease that ends then, by any clock. */
function after(leaseUntil: number): number {
  return leaseUntil + settings.skewMs + 1;
}

test("reading creates no tables and gives the default policy", async () => {
  const { world, ask } = deployment();
  const { version, policy } = await ask("policy", {});
  expect(version).toBe(1);
  expect(policy).toMatchObject({
    version: 1,
    config: { strictAffinity: false },
    pools: [],
    reservations: [],
  });
  expect(await ask("listHosts", { limit: 10 })).toEqual({ hosts: [] });
  expect(world.rows(CLUSTER, "SELECT name FROM sqlite_master")).toEqual([]);
});

test("a lease carries the policy only to a caller that does not know its version", async () => {
  const { ask, lease } = deployment();
  const first = await lease();
  expect(first.policy?.version).toBe(1);
  expect(await lease(1)).toEqual({ version: 1, leaseUntil: first.leaseUntil });
  await ask("changeConfig", STRICT);
  expect((await lease(1)).policy).toMatchObject({ version: 2, config: { strictAffinity: true } });
});

test("a lease is at most L long and ends at the stored horizon, which moves at half", async () => {
  const { world, lease, stored } = deployment();
  const start = world.now;
  expect((await lease()).leaseUntil).toBe(start + 1000);
  await world.advance(500);
  expect((await lease(1)).leaseUntil).toBe(start + 1000);
  expect(stored()).toMatchObject({ horizon: start + 1000 });
  await world.advance(1);
  const asked = world.now;
  expect((await lease(1)).leaseUntil).toBe(asked + 1000);
  expect(stored()).toMatchObject({ horizon: asked + 1000 });
});

test("budget: a lease writes one row when it moves the horizon and none otherwise", async () => {
  const { world, lease, ask } = deployment();
  await lease();
  const before = world.counters.read();
  for (let i = 0; i < 50; i += 1) {
    await lease(1);
    await world.advance(40);
  }
  expect(world.counters.since(before).rows[CLUSTER]).toBe(3);
  await world.advance(5000);
  const written = world.counters.read();
  await ask("putPool", DEFAULT_POOL);
  // The numbers, the definition, and the event of it.
  expect(world.counters.since(written).rows[CLUSTER]).toBe(3);
});

test("a policy write answers at once when no lease was ever granted, or all have run out", async () => {
  const { world, lease, ask } = deployment();
  const start = world.now;
  expect(await ask("putPool", DEFAULT_POOL)).toMatchObject({ ok: true, value: { created: true } });
  expect(world.now).toBe(start);
  const { leaseUntil } = await lease();
  await world.advance(after(leaseUntil) - world.now);
  expect(await ask("changeConfig", STRICT)).toMatchObject({ ok: true });
  expect(world.now).toBe(after(leaseUntil));
});

test("I7, I8: a policy write commits at once and answers after every lease has run out", async () => {
  const { world, call, lease } = deployment();
  const { leaseUntil } = await lease();
  await world.advance(300);
  const write = call("changeConfig", STRICT);
  await world.deliver();
  expect(write.state).toBe("pending");
  expect((await world.ask<LeaseAnswer>(CLUSTER, "lease", { knownVersion: 1 })).version).toBe(2);
  await world.run();
  expect(write.settledAt).toBe(after(leaseUntil));
});

test("I7, I8: a lease whose answer was lost is waited for", async () => {
  const { world, call, stored } = deployment();
  world.drop({ kind: "answer", method: "lease" });
  call("lease", {});
  await world.deliver();
  const write = call("changeConfig", STRICT);
  await world.run();
  expect(write.settledAt).toBe(after(Number(stored()?.horizon)));
});

test("I7, I8: a write that changes nothing waits too (F6)", async () => {
  const { world, call, ask, lease, stored } = deployment();
  await ask("putPool", DEFAULT_POOL);
  const { leaseUntil } = await lease();
  const again = call("putPool", DEFAULT_POOL);
  await world.run();
  expect(again.settledAt).toBe(after(leaseUntil));
  expect(again.value).toMatchObject({ ok: true, value: { created: false, value: { revision: 1 } } });
  expect(stored()).toMatchObject({ version: 2 });
});

test("I7, I8: after a restart in the middle, the repeated write waits for the old leases (CE-6)", async () => {
  const { world, call, lease } = deployment();
  const { leaseUntil } = await lease();
  const first = call("changeConfig", STRICT);
  await world.deliver();
  world.evict(CLUSTER);
  await world.deliver();
  expect(first.state).toBe("failed");
  const again = call("changeConfig", STRICT);
  await world.run();
  expect(again.value).toMatchObject({ ok: true, value: { revision: 1, strictAffinity: true } });
  expect(again.settledAt).toBe(after(leaseUntil));
});

test("I7, I8: a write that was not committed is not in force, its repeat is", async () => {
  const { world, call, ask, lease } = deployment();
  await lease();
  world.crash(CLUSTER, "before-commit", "changeConfig");
  const first = call("changeConfig", STRICT);
  await world.run();
  expect(first.state).toBe("failed");
  expect((await ask("policy", {})).version).toBe(1);
  expect(await ask("changeConfig", STRICT)).toMatchObject({ ok: true, value: { revision: 1 } });
});

test("I7, I8: an instance that was replaced grants nothing past what its successor waits for (F7)", async () => {
  const { world, call, lease } = deployment();
  const { leaseUntil } = await lease();
  const old = world.supersede(CLUSTER);
  const write = call("changeConfig", STRICT);
  await world.deliver();
  const late = old.call<LeaseAnswer>("lease", {});
  await world.run();
  expect(write.settledAt).toBe(after(leaseUntil));
  expect(late.state).toBe("failed");
  expect(old.isAlive).toBe(false);
});

test("I7, I8: two instances on one storage grant within one horizon (F7)", async () => {
  const { world, call, lease, stored } = deployment();
  await lease();
  const old = world.supersede(CLUSTER, "shared");
  const granted: number[] = [];
  for (let i = 0; i < 20; i += 1) {
    const calls = [old.call<LeaseAnswer>("lease", {}), world.call<LeaseAnswer>(CLUSTER, "lease", {})];
    await world.deliver();
    for (const { value } of calls) granted.push(value?.leaseUntil ?? Number.NaN);
    expect(Math.max(...granted)).toBeLessThanOrEqual(Number(stored()?.horizon));
    await world.advance(130);
  }
  const write = call("changeConfig", STRICT);
  await world.run();
  expect(write.settledAt).toBeGreaterThanOrEqual(Math.max(...granted) + settings.skewMs);
});

test("I7, I8: a block whose clock is behind by ε takes its last message before the answer (F8)", async () => {
  const { world, call, lease } = deployment();
  world.setClock(GATE, -settings.skewMs);
  const { leaseUntil } = await lease();
  const write = call("changeConfig", STRICT);
  await world.deliver();
  await world.advance(leaseUntil + settings.skewMs - world.now);
  const last = world.call(GATE, "pass", { until: leaseUntil });
  await world.deliver();
  expect([last.value, write.state]).toEqual([true, "pending"]);
  await world.run();
  expect(write.state).toBe("done");
  expect(await world.ask(GATE, "pass", { until: leaseUntil })).toBe(false);
});

test("I7, I8: without ε the same block takes a message after the answer", async () => {
  const { world, call, lease } = deployment({}, 0);
  world.setClock(GATE, -settings.skewMs);
  const { leaseUntil } = await lease();
  const write = call("changeConfig", STRICT);
  await world.run();
  expect(write.state).toBe("done");
  expect(await world.ask(GATE, "pass", { until: leaseUntil })).toBe(true);
});

test("writes that arrive while one waits commit at once and wait no longer", async () => {
  const { world, call, lease, stored } = deployment();
  const { leaseUntil } = await lease();
  const writes = [];
  for (const name of ["a", "b", "c"]) {
    writes.push(call("putReservation", { name, spec: { reservedCIDRs: ["10.0.0.1"] }, by: "token:ops" }));
    await world.advance(100);
  }
  expect(stored()).toMatchObject({ version: 4 });
  await world.run();
  expect(writes.map((write) => write.settledAt)).toEqual(Array(3).fill(after(leaseUntil)));
});

test("leases taken while a write waits are under the new version and do not lengthen its wait", async () => {
  const { world, call, lease } = deployment();
  const { leaseUntil } = await lease();
  const write = call("changeConfig", STRICT);
  await world.deliver();
  const during: LeaseAnswer[] = [];
  while (write.state === "pending" && during.length < 30) {
    const granted = call("lease", { knownVersion: 1 });
    await world.deliver();
    during.push(granted.value as LeaseAnswer);
    await world.advance(50);
  }
  expect(during.every(({ version }) => version === 2)).toBe(true);
  expect(during.at(-1)?.leaseUntil).toBeGreaterThan(after(leaseUntil));
  expect(write.settledAt).toBe(after(leaseUntil));
});

test("a refused write changes nothing and waits for nothing", async () => {
  const { world, lease, ask, stored } = deployment();
  await lease();
  const start = world.now;
  const refused = await ask("changeConfig", { patch: { autoAllocateBlocks: false }, by: "token:ops" });
  expect(refused).toEqual({
    ok: false,
    error: { code: "config_conflict", evidence: { field: "autoAllocateBlocks" } },
  });
  expect(world.now).toBe(start);
  expect(stored()).toMatchObject({ version: 1 });
});

test("a clock that went back by more than it may is no reason to hang: the write says so", async () => {
  const { world, lease, ask } = deployment();
  await lease();
  world.setClock(CLUSTER, -3_600_000);
  expect(await ask("changeConfig", STRICT)).toMatchObject({
    ok: false,
    error: { code: "policy_unavailable" },
  });
  expect((await ask("policy", {})).policy).toMatchObject({ config: { strictAffinity: true } });
});

test("a full disk fails a write and leaves leases within the horizon", async () => {
  const { world, call, lease } = deployment();
  const { leaseUntil } = await lease();
  world.setFull(CLUSTER, true);
  const write = call("changeConfig", STRICT);
  await world.run();
  expect(write.error?.message).toContain("SQLITE_FULL");
  expect(await lease(1)).toEqual({ version: 1, leaseUntil });
});
