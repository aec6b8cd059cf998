/**
 * The simulated platform itself: each rule of the runtime that the objects' protocols rest on.
 */
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { ObjectDatabase } from "../support/simulation/database.ts";
import { deploy } from "../support/simulation/deployment.ts";
import { Random } from "../support/simulation/random.ts";
import {
  CallerObject,
  CounterObject,
  EchoObject,
  SlowStartObject,
  somethingReal,
} from "../support/simulation/toys.ts";
import { World, type WorldOptions } from "../support/simulation/world.ts";

const classes = { CounterObject, CallerObject, SlowStartObject };
const A = "counter:a";
const CALLER = "caller:x";

function world(options: Partial<WorldOptions> = {}): World {
  return new World({ classes, ...options });
}

test("a call writes, answers, and is counted", async () => {
  const sim = world();
  expect(await sim.ask(A, "add", 2)).toBe(2);
  const before = sim.counters.read();
  expect(await sim.ask(CALLER, "relay", A, 3)).toBe(5);
  const spent = sim.counters.since(before);
  expect(spent.calls).toEqual({ "client>CallerObject.relay": 1, "CallerObject>CounterObject.add": 1 });
  expect(spent).toMatchObject({ callsTotal: 2, commits: { [A]: 1 }, rows: { [A]: 1 }, rowsTotal: 1 });
});

test("events of one object interleave at an await, and only there", async () => {
  const sim = world();
  const held = sim.hold({ method: "add", kind: "request" });
  const calls = [sim.call(CALLER, "relay", A, 1), sim.call(CALLER, "relay", A, 2)];
  await sim.run();
  expect(held.messages.map((message) => message.args)).toEqual([[1], [2]]);
  expect(calls.map((call) => call.state)).toEqual(["pending", "pending"]);
  held.release();
  await sim.run();
  expect(await sim.ask(CALLER, "log")).toEqual(["begin 1", "begin 2", "end 1", "end 2"]);
});

test("a transaction that throws leaves nothing, what follows it in the turn stays", async () => {
  const sim = world();
  const call = sim.call(A, "addThenFail", 5);
  await sim.run();
  expect(call.error).toMatchObject({ message: "inner", remote: true });
  expect(sim.rows(A, "SELECT name FROM sqlite_master").map((row) => row.name)).toEqual(["seen"]);
});

test("a crash before the commit loses the writes of the turn and the answer", async () => {
  const sim = world();
  await sim.ask(A, "add", 1);
  sim.crash(A, "before-commit");
  const call = sim.call(A, "add", 1);
  await sim.run();
  expect(call.error).toMatchObject({ retryable: true, durableObjectReset: true });
  expect(await sim.ask(A, "value")).toBe(1);
  expect(await sim.ask(A, "remembered")).toBe(0);
});

test("a crash after the commit keeps the writes and loses the answer", async () => {
  const sim = world();
  await sim.ask(A, "add", 1);
  sim.crash(A, "after-commit", "add");
  const call = sim.call(A, "add", 1);
  await sim.run();
  expect(call.state).toBe("failed");
  expect(await sim.ask(A, "value")).toBe(2);
});

test("a crash after the answer left loses the memory only", async () => {
  const sim = world();
  sim.crash(A, "after-send", "add");
  expect(await sim.ask(A, "add", 1)).toBe(1);
  expect(sim.isLive(A)).toBe(false);
  expect(await sim.ask(A, "remembered")).toBe(0);
  expect(await sim.ask(A, "value")).toBe(1);
});

test("an object that aborts itself loses what it has just written", async () => {
  const sim = world();
  await sim.ask(A, "add", 1);
  const call = sim.call(A, "addAndAbort", 10);
  await sim.run();
  expect(call.error).toMatchObject({ durableObjectReset: true });
  expect(await sim.ask(A, "value")).toBe(1);
});

test("deleteAll leaves no table and no alarm", async () => {
  const sim = world();
  await sim.ask(A, "add", 1);
  await sim.ask(A, "remind", sim.now + 500);
  await sim.ask(A, "clear");
  expect(sim.rows(A, "SELECT name FROM sqlite_master")).toEqual([]);
  expect(sim.alarmOf(A)).toBeNull();
  expect(await sim.ask(A, "add", 1)).toBe(1);
});

test("a restart of the process loses the memory of all objects and no committed row", async () => {
  const sim = world();
  await sim.ask(CALLER, "relay", A, 1);
  sim.restart();
  expect([A, CALLER].map((name) => sim.isLive(name))).toEqual([false, false]);
  expect(await sim.ask(CALLER, "log")).toEqual([]);
  expect(await sim.ask(CALLER, "relay", A, 1)).toBe(2);
});

test("scripts delay, repeat and reorder messages", async () => {
  const sim = world();
  const start = sim.now;
  sim.delay({ method: "add", kind: "request" }, 500);
  const slow = sim.call(A, "add", 1);
  const quick = sim.call(A, "add", 1);
  await sim.run();
  expect([slow.value, quick.value]).toEqual([2, 1]);
  expect(slow.settledAt).toBeGreaterThanOrEqual(start + 500);
  sim.duplicate({ method: "add", kind: "request" }, 1_000);
  expect(await sim.ask(A, "add", 1)).toBe(3);
  expect(await sim.ask(A, "value")).toBe(4);
  const held = sim.hold(({ kind, args }) => kind === "request" && args[0] === 7);
  const calls = [sim.call(A, "add", 7), sim.call(A, "add", 7)];
  await sim.run();
  held.releaseNext();
  await sim.run();
  expect(calls.map((call) => call.state)).toEqual(["done", "pending"]);
  expect(held.messages).toHaveLength(1);
});

test("each object has its own clock, which may go back", async () => {
  const sim = world({ clockOffset: ({ objectName }) => (objectName === A ? 2_000 : 0) });
  const [fast, right] = await Promise.all([sim.ask<number>(A, "now"), sim.ask<number>("counter:b", "now")]);
  expect(fast - right).toBe(2_000);
  sim.setClock(A, -2_000);
  expect(await sim.ask<number>(A, "now")).toBeLessThan(right);
});

test("a full disk refuses writes and serves reads", async () => {
  const sim = world();
  await sim.ask(A, "add", 1);
  sim.setFull(A, true);
  const call = sim.call(A, "add", 1);
  await sim.run();
  expect(call.error?.message).toContain("SQLITE_FULL");
  expect(await sim.ask(A, "value")).toBe(1);
  sim.setFull(A, false);
  expect(await sim.ask(A, "add", 1)).toBe(2);
});

test("a crash between two turns keeps the first turn's writes only", async () => {
  const sim = world();
  sim.crash(A, "before-commit", "sync");
  const call = sim.call(A, "addTwice", 4);
  await sim.run();
  expect(call.state).toBe("failed");
  expect(await sim.ask(A, "value")).toBe(4);
  expect(await sim.ask(A, "addTwice", 4)).toBe(12);
});

test("output gate: a call after a write waits for the commit, a call before it does not", async () => {
  for (const [method, arrived] of [
    ["writeThenCall", 0],
    ["callThenWrite", 1],
  ] as const) {
    const sim = world();
    sim.crash(CALLER, "before-commit");
    sim.call(CALLER, method, A);
    await sim.run();
    expect(await sim.ask(A, "value"), method).toBe(arrived);
    expect(await sim.ask(CALLER, "written"), method).toBe(0);
  }
});

test("a lost answer leaves the write; the caller hears nothing, or of a lost connection", async () => {
  const sim = world();
  sim.drop({ kind: "answer", method: "add" });
  const silent = sim.call(A, "add", 1);
  await sim.run();
  expect(silent.state).toBe("pending");
  sim.drop({ kind: "answer", method: "add" }, { loss: "error" });
  const noticed = sim.call(A, "add", 1);
  await sim.run();
  expect(noticed.error).toMatchObject({ retryable: true });
  expect(await sim.ask(A, "value")).toBe(2);
});

test("a held request arrives after its caller gave up", async () => {
  const sim = world();
  const held = sim.hold({ method: "add" });
  const call = sim.call(CALLER, "relayFor", A, 1, 2_000);
  await sim.deliver();
  expect(call.state).toBe("pending");
  await sim.run();
  expect(call.value).toBe("late");
  expect(call.settledAt).toBeGreaterThanOrEqual(2_000 + Date.UTC(2026, 0, 1));
  expect(await sim.ask(A, "value")).toBe(0);
  held.release();
  await sim.run();
  expect(await sim.ask(A, "value")).toBe(1);
});

test("the callee runs on after its caller was evicted", async () => {
  const sim = world();
  const held = sim.hold({ kind: "request", method: "add" });
  const call = sim.call(CALLER, "relay", A, 1);
  await sim.run();
  sim.evict(CALLER);
  held.release();
  await sim.run();
  expect(call.state).toBe("failed");
  expect(await sim.ask(A, "value")).toBe(1);
  expect(await sim.ask(CALLER, "log")).toEqual([]);
});

test("a dead instance's code does not go on, whatever arrives for it", async () => {
  const sim = world();
  const held = sim.hold({ kind: "answer", method: "add" });
  sim.call(CALLER, "chain", A, "counter:b");
  await sim.run();
  expect(held.messages).toHaveLength(1);
  sim.evict(CALLER, "silent");
  held.release();
  await sim.run();
  expect(await sim.ask(A, "value")).toBe(1);
  expect(await sim.ask("counter:b", "value")).toBe(0);
});

test("deliver() goes on through a sync, but waits for no timer", async () => {
  const sim = world();
  const held = sim.hold({ method: "add" });
  const calls = [sim.call("counter:b", "addTwice", 1), sim.call(CALLER, "relayFor", A, 1, 100)];
  const start = sim.now;
  await sim.deliver();
  expect(calls.map((call) => call.state)).toEqual(["done", "pending"]);
  expect(sim.now - start).toBeLessThan(100);
  held.drop("error");
  await sim.run();
  expect(calls[1]?.error).toMatchObject({ retryable: true });
});

test("a superseded instance answers from memory and dies at its storage", async () => {
  const sim = world();
  await sim.ask(A, "add", 1);
  const old = sim.supersede(A);
  expect(await sim.ask(A, "add", 1)).toBe(2);
  expect(await sim.answerOf(old.call("remembered"))).toBe(1);
  const write = old.call("add", 10);
  await sim.run();
  expect(write.error).toMatchObject({ durableObjectReset: true });
  expect(old.isAlive).toBe(false);
  expect(await sim.ask(A, "value")).toBe(2);
});

test("a request on its way goes to the instance it was sent to", async () => {
  const sim = world();
  await sim.ask(A, "add", 1);
  const held = sim.hold({ method: "remembered" });
  const call = sim.call(A, "remembered");
  await sim.run();
  sim.supersede(A);
  held.release();
  await sim.run();
  expect(call.value).toBe(1);
  expect(await sim.ask(A, "remembered")).toBe(0);
});

test("two instances can share a storage, as two processes on one folder do", async () => {
  const sim = world();
  await sim.ask(A, "add", 1);
  const twin = sim.supersede(A, "shared");
  expect(await sim.answerOf(twin.call("add", 1))).toBe(2);
  expect(await sim.ask(A, "add", 1)).toBe(3);
  expect(twin.isAlive).toBe(true);
});

test("an alarm fires by the object's clock, and again when its handler was cut off", async () => {
  const sim = world({ clockOffset: () => 500 });
  const start = sim.now;
  await sim.ask(A, "remind", start + 1_500);
  await sim.run();
  expect(sim.alarmOf(A)).toBe(start + 1_500);
  await sim.advance(990);
  expect(await sim.ask(A, "value")).toBe(0);
  await sim.advance(11);
  sim.evict(A);
  expect(sim.alarmOf(A)).toBe(start + 1_500);
  await sim.advance(20);
  expect(await sim.ask(A, "value")).toBe(100);
  expect(sim.alarmOf(A)).toBeNull();
});

test("an alarm set in a turn that crashed was never set", async () => {
  const sim = world();
  sim.crash(A, "before-commit");
  sim.call(A, "remind", sim.now + 100);
  await sim.run();
  expect(sim.alarmOf(A)).toBeNull();
  await sim.advance(1_000);
  expect(await sim.ask(A, "value")).toBe(0);
});

test("a handler that keeps failing is tried six more times and then dropped", async () => {
  const sim = world();
  await sim.ask(A, "remind", sim.now + 100);
  sim.setFull(A, true);
  await sim.advance(1_000_000);
  expect(sim.counters.read().events).toEqual({ "alarm dropped": 1 });
  expect(await sim.ask(A, "remembered")).toBe(7);
  expect(sim.alarmOf(A)).toBeNull();
});

test("no event enters before blockConcurrencyWhile has ended", async () => {
  const sim = world();
  const calls = [sim.call("slow-start:s", "start"), sim.call("slow-start:s", "start")];
  await sim.run();
  expect(calls.map((call) => call.value)).toEqual([7, 7]);
});

test("only a method marked retryable is delivered twice by chance", async () => {
  const sim = world({ faults: { duplicate: 1 } });
  await sim.ask(A, "add", 1);
  expect(await sim.ask(A, "value")).toBe(1);
  await sim.ask(A, "addAgain", 1);
  expect(await sim.ask(A, "value")).toBe(3);
});

test("real asynchrony in an object is found out", async () => {
  const sim = world();
  const seen: unknown[] = [];
  const listener = (reason: unknown): void => void seen.push(reason);
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", listener);
  const call = sim.call(A, "real");
  await sim.run();
  somethingReal.resolve();
  await setImmediate();
  process.off("unhandledRejection", listener);
  for (const other of others) process.on("unhandledRejection", other);
  expect(call.state).toBe("pending");
  expect(String(seen[0])).toContain("waited for something real");
});

test("what an object may not do is refused", async () => {
  const sim = world();
  for (const method of ["alarm", "constructor", "missing", "toString"]) {
    const call = sim.call(A, method);
    await sim.run();
    expect(call.error?.message, method).toContain("does not implement");
  }
  const database = new ObjectDatabase();
  expect(() => database.exec("BEGIN", [])).toThrow("not allowed");
  expect(() => database.exec("PRAGMA user_version = 3", [])).toThrow("not authorized");
  expect(() => database.exec("SELECT ?", [1n])).toThrow("cannot be bound");
  expect(() => database.exec("SELECT ?", [undefined])).toThrow("cannot be bound");
});

test("rows written are those that the real runtime counts", () => {
  // Each number was read from cursor.rowsWritten of workerd, for the same statements in this order.
  const counted: [statement: string, rows: number][] = [
    ["CREATE TABLE plain (id INTEGER PRIMARY KEY, n INTEGER) STRICT", 2],
    ["CREATE TABLE IF NOT EXISTS plain (id INTEGER PRIMARY KEY, n INTEGER) STRICT", 0],
    ["CREATE TABLE named (name TEXT PRIMARY KEY, n INTEGER) STRICT", 3],
    ["CREATE TABLE bare (name TEXT PRIMARY KEY, n INTEGER) STRICT, WITHOUT ROWID", 2],
    ["CREATE TABLE wide (a TEXT PRIMARY KEY, n INTEGER, m INTEGER) STRICT, WITHOUT ROWID", 2],
    ["CREATE INDEX wide_n ON wide (n)", 1],
    ["INSERT INTO plain VALUES (1, 1), (2, 2)", 2],
    ["INSERT INTO plain VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET n = excluded.n", 1],
    ["INSERT INTO plain VALUES (1, 5) ON CONFLICT (id) DO NOTHING", 0],
    ["UPDATE plain SET n = 9", 2],
    ["DELETE FROM plain WHERE id = 1", 1],
    ["DELETE FROM plain WHERE id = 1", 0],
    ["INSERT INTO named VALUES ('x', 1)", 2],
    ["INSERT INTO named VALUES ('x', 2) ON CONFLICT (name) DO UPDATE SET n = excluded.n", 1],
    ["UPDATE named SET n = 3", 1],
    ["DELETE FROM named", 1],
    ["INSERT INTO bare VALUES ('x', 1)", 1],
    ["INSERT OR REPLACE INTO bare VALUES ('x', 3)", 1],
    ["DELETE FROM bare WHERE name = 'x' RETURNING n", 1],
    ["INSERT INTO wide VALUES ('a', 1, 1)", 2],
    ["INSERT INTO wide VALUES ('a', 1, 2) ON CONFLICT DO UPDATE SET m = excluded.m", 1],
    ["INSERT INTO wide VALUES ('a', 2, 2) ON CONFLICT DO UPDATE SET n = excluded.n", 2],
    ["UPDATE wide SET m = 3", 1],
    ["UPDATE wide SET n = 4 RETURNING n", 2],
    ["DELETE FROM wide", 1],
    ["SELECT * FROM wide", 0],
  ];
  const database = new ObjectDatabase();
  const rows = counted.map(([statement]) => [statement, database.exec(statement, []).rowsWritten]);
  expect(rows).toEqual(counted);
});

test("several statements in one text split at their own semicolons", () => {
  const database = new ObjectDatabase();
  const text = `
    -- one; comment
    CREATE TABLE plain (id INTEGER PRIMARY KEY, text TEXT DEFAULT 'a;b') STRICT; /* two; */
    INSERT INTO plain (id) VALUES (?) RETURNING id, text;`;
  expect(database.exec(text, [4])).toEqual({ columns: ["id", "text"], rows: [[4, "a;b"]], rowsWritten: 3 });
});

test("a blob comes back as an ArrayBuffer", () => {
  const database = new ObjectDatabase();
  const [row] = database.exec("SELECT ? AS bytes", [new Uint8Array([1, 2, 255])]).rows;
  expect(row?.[0]).toBeInstanceOf(ArrayBuffer);
  expect([...new Uint8Array(row?.[0] as ArrayBuffer)]).toEqual([1, 2, 255]);
});

const ECHOES = {
  BlockObject: EchoObject,
  HostObject: EchoObject,
  PoolObject: EchoObject,
  HandleIndexObject: EchoObject,
  ClusterObject: EchoObject,
};

test("a database that served another object is as new, also where its schema replaces a table", () => {
  const schema = [
    "CREATE TABLE item (id INTEGER PRIMARY KEY) STRICT",
    "ALTER TABLE item RENAME TO item_before",
    "CREATE TABLE item (id INTEGER PRIMARY KEY, text TEXT) STRICT",
    "INSERT INTO item SELECT id, NULL FROM item_before",
    "DROP TABLE item_before",
  ];
  const tables = "SELECT name FROM sqlite_master";
  const rowsWritten = [1, 2, 3].map((life) => {
    const database = new ObjectDatabase("ShelvedObject");
    expect(database.exec(tables, []).rows, `life ${life}`).toEqual([]);
    expect(() => database.exec("INSERT INTO item (id) VALUES (1)", [])).toThrow("no such table");
    database.rollback();
    for (const statement of schema) database.exec(statement, []);
    database.rollback();
    expect(database.exec(tables, []).rows, `life ${life}`).toEqual([]);
    for (const statement of schema) database.exec(statement, []);
    expect(database.exec("SELECT count(*) AS n FROM item", []).rows).toEqual([[0]]);
    database.exec("INSERT INTO item (id) VALUES (?)", [life]);
    const written = database.commit();
    expect(database.exec("SELECT id FROM item", []).rows).toEqual([[life]]);
    database.dispose();
    return written;
  });
  expect(new Set(rowsWritten).size).toBe(1);
});

test("the ports of a deployment lead to the objects' own names", async () => {
  const { world: sim, ports } = deploy(ECHOES, { settings: { indexShards: 1 } });
  const echo = (stub: unknown): Promise<unknown> => sim.during((stub as EchoObject).describe({ n: 1n }));
  const stubs = [
    ports.block("10.0.0.64/26"),
    ports.block("fd00::/122"),
    ports.host("node-1"),
    ports.pool("default", 3),
    ports.handleIndex("pod-1"),
    ports.cluster(),
  ];
  for (const stub of stubs) expect(await echo(stub)).toEqual({ n: 1n });
  expect(sim.objectNames).toEqual([
    "block:v1:default:10.0.0.64-26",
    "block:v1:default:fd00::-122",
    "host:v1:default:node-1",
    "pool:v1:default:default:3",
    "handle-index:v1:default:0",
    "cluster:v1:default",
  ]);
});

test("leases are held by each object, or by the process for all", async () => {
  for (const [leasesOf, leases] of [
    ["object", 2],
    ["process", 1],
  ] as const) {
    const { world: sim } = deploy(ECHOES, { leasesOf });
    const hosts = ["host:v1:default:a", "host:v1:default:b"];
    expect(await Promise.all(hosts.map((host) => sim.ask(host, "leased")))).toEqual([4, 4]);
    const { calls } = sim.counters.read();
    const from = leasesOf === "object" ? "HostObject" : "client";
    expect(calls[`${from}>ClusterObject.lease`], leasesOf).toBe(leases);
  }
});

test("a call that failed breaks its stub, not the next one", async () => {
  const sim = world();
  sim.refuse({ method: "add" }, "overloaded");
  expect(await sim.ask(CALLER, "tryTwice", A)).toEqual(["overloaded", "overloaded", 1]);
});

async function churn(
  seed: number,
): Promise<{ digest: number; sum: number; acknowledged: number; events: object }> {
  const faults = {
    delay: [1, 40] as const,
    late: 0.05,
    lateMax: 3_000,
    loseRequest: 0.02,
    loseAnswer: 0.05,
    noticed: 0.5,
    crashBeforeCommit: 0.03,
    crashAfterCommit: 0.03,
    evict: 0.02,
    supersede: 0.01,
  };
  const sim = world({ seed, faults, clockOffset: (_place, random) => random.between(-50, 50) });
  const workload = new Random(seed + 1);
  const calls = [];
  for (let i = 0; i < 60; i++) {
    calls.push(sim.call(`caller:${workload.below(3)}`, "relay", `counter:${workload.below(2)}`, 1));
    await sim.advance(workload.below(30));
  }
  await sim.run();
  sim.faults = {};
  const sums = await Promise.all(["counter:0", "counter:1"].map((name) => sim.ask<number>(name, "value")));
  const acknowledged = calls.filter((call) => call.state === "done").length;
  const sum = sums.reduce((total, n) => total + n, 0);
  return { digest: sim.scheduler.digest, sum, acknowledged, events: sim.counters.read().events };
}

test("equal seeds give equal runs, other seeds give others; what was acknowledged is there", async () => {
  const digests = new Set<number>();
  const events = new Set<string>();
  for (let seed = 1; seed <= 10; seed++) {
    const run = await churn(seed);
    expect(await churn(seed)).toEqual(run);
    expect(run.sum).toBeGreaterThanOrEqual(run.acknowledged);
    expect(run.sum).toBeLessThanOrEqual(60);
    expect(run.acknowledged).toBeGreaterThan(10);
    digests.add(run.digest);
    for (const event of Object.keys(run.events)) events.add(event);
  }
  expect([...events].sort()).toEqual([
    "crash after-commit",
    "crash before-commit",
    "evict",
    "lost answer",
    "lost request",
    "supersede",
  ]);
  expect(digests.size).toBe(10);
});
