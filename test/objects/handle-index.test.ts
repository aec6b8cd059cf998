/** One shard of the handle index on workerd: rows, evictions, group writes, and the pass over old rows. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeAll, expect, test } from "vitest";
import type { KeyRow, ReserveItem } from "../../src/rpc/handle-index.ts";
import { evict, now, SETTINGS, spent, stubs } from "../support/objects/deployment.ts";

const BLOCK = "10.8.0.0/28";
const POLICY = { reserved: [], cooldownMs: 0 };
const until = () => now() + SETTINGS.untilMs;
let nextHandle = 0;

function wish(given: Partial<ReserveItem> = {}): ReserveItem {
  nextHandle += 1;
  const names = { handle: `h${nextHandle}`, key: "k", fingerprint: "f", attempt: "first" };
  return { ...names, family: 4, count: 1, block: BLOCK, until: until(), ...given };
}

async function reserve(item: ReserveItem) {
  return (await stubs.index(item.handle).reserve({ items: [item] })).outcomes[0];
}

async function rowsOf(handle: string): Promise<KeyRow[]> {
  return (await runInDurableObject(stubs.index(handle), (_instance, ctx) =>
    ctx.storage.sql.exec("SELECT * FROM keys WHERE handle = ?", handle).toArray(),
  )) as unknown as KeyRow[];
}

/** Lets a row be as old as one of which nothing can be in flight any more, and older than ten minutes. */
async function age(handle: string): Promise<void> {
  await runInDurableObject(stubs.index(handle), (_instance, ctx) => {
    ctx.storage.sql.exec("UPDATE keys SET until = 2, at = 2 WHERE handle = ?", handle);
  });
}

async function allocate({ handle, key }: ReserveItem): Promise<{ address: string; sequenceNumber: number }> {
  const target = { block: BLOCK, pool: "p", incarnation: 0, poolCidr: "10.8.0.0/24" };
  const item = { handle, key, host: "a", use: "Workload", attributes: {}, leakCollection: "auto" } as const;
  const wanted = { ...item, count: 1, strict: false, policy: POLICY, until: until() };
  const [outcome] = (await stubs.block(BLOCK).allocate({ ...target, items: [wanted] })).outcomes;
  if (outcome?.kind !== "created" || outcome.records[0] === undefined)
    throw new Error(JSON.stringify(outcome));
  return outcome.records[0];
}

beforeAll(async () => {
  const target = { block: BLOCK, pool: "p", incarnation: 0, poolCidr: "10.8.0.0/24" };
  await stubs.block(BLOCK).claim({ ...target, owner: "a", epoch: 1, until: until(), cooldownMs: 0 });
});

test("I5 I13: reserve, list, move, settle and their repeats, with an eviction before each", async () => {
  const item = wish();
  const stub = stubs.index(item.handle);
  expect(await reserve(item)).toEqual({ kind: "reserved" });
  await evict(stub);
  expect(await reserve(item)).toEqual({ kind: "reserved" });
  expect(await reserve({ ...item, fingerprint: "other", attempt: "second" })).toEqual({ kind: "key_reused" });
  await evict(stub);
  const to = "10.8.0.16/28";
  const going = {
    handle: item.handle,
    key: "k",
    from: BLOCK,
    to,
    attempt: "first",
    until: until(),
    final: true,
  };
  expect(await stub.move(going)).toEqual({ kind: "moved" });
  await evict(stub);
  expect(await stub.move(going)).toEqual({ kind: "moved" });
  const later = { ...item, attempt: "second", until: until() };
  expect(await reserve(later)).toMatchObject({ kind: "listed", rows: [{ block: to }] });
  expect(await stub.move({ ...going, from: to, to: BLOCK })).toEqual({ kind: "in_progress" });
  await evict(stub);
  const { rows } = await stub.list({ handle: item.handle });
  expect(rows).toMatchObject([{ block: to, attempt: "second", state: "reserved" }]);
  const settled = { handle: item.handle, key: "k", block: to, outcome: "released" as const, until: 0 };
  expect(await stub.settle({ items: [settled] })).toEqual({ changed: 1 });
  await evict(stub);
  expect(await stub.settle({ items: [settled] })).toEqual({ changed: 0 });
  expect(await reserve(later)).toEqual({ kind: "spent" });
  expect(await stub.list({ handle: item.handle })).toEqual({ rows: [] });
});

test("each operation writes one row, its repeat none", async () => {
  const item = wish();
  const stub = stubs.index(item.handle);
  const { handle, key } = item;
  const rows = async (work: () => Promise<unknown>) => (await spent({ index: stub }, work)).rowsWritten;
  expect(await rows(() => reserve(item))).toBe(1);
  expect(await rows(() => reserve(item))).toBe(0);
  const settled = { handle, key, block: BLOCK, outcome: "released" as const, until: 0 };
  expect(await rows(() => stub.settle({ items: [settled] }))).toBe(1);
  expect(await rows(() => stub.settle({ items: [settled] }))).toBe(0);
  expect(await rows(() => reserve({ ...item, attempt: "second" }))).toBe(0);
});

test("a batch is one commit, and one late element in it is its own", async () => {
  const stub = stubs.index("a batch");
  const items = Array.from({ length: 64 }, (_, n) => wish(n === 7 ? { until: now() - 60_000 } : {}));
  const answers: { kind: string }[] = [];
  const cost = await spent({ index: stub }, async () => {
    answers.push(...(await stub.reserve({ items })).outcomes);
  });
  expect(cost).toMatchObject({ commits: 1, rowsWritten: 63 });
  expect(answers.map(({ kind }) => kind).filter((kind) => kind !== "reserved")).toEqual(["late"]);
});

test("I5: the pass removes only what a block finally does not hold, and marks spent what it released", async () => {
  const [held, released, never] = [wish(), wish(), wish()];
  for (const item of [held, released, never]) await reserve(item);
  await allocate(held);
  const { address, sequenceNumber } = await allocate(released);
  await stubs
    .block(BLOCK)
    .releaseAddresses({ block: BLOCK, cooldownMs: 0, items: [{ address, sequenceNumber }] });
  for (const { handle } of [held, released, never]) await evict(stubs.index(handle));
  for (const { handle } of [held, released, never]) {
    await runDurableObjectAlarm(stubs.index(handle));
    expect((await rowsOf(handle)).length, "nothing is final yet").toBe(1);
    await age(handle);
    expect(await runDurableObjectAlarm(stubs.index(handle)), "the alarm goes on").toBe(true);
  }
  expect(await rowsOf(held.handle)).toMatchObject([{ state: "reserved" }]);
  expect(await rowsOf(never.handle)).toEqual([]);
  expect(await rowsOf(released.handle)).toMatchObject([{ state: "spent" }]);
  await age(released.handle);
  expect(await runDurableObjectAlarm(stubs.index(released.handle)), "a spent row waits for its end").toBe(
    true,
  );
  expect(await rowsOf(released.handle), "ten minutes later").toEqual([]);
});

test("a shard that only hears of a release passes over its rows again", async () => {
  const item = wish();
  const { handle, key } = item;
  const stub = stubs.index(handle);
  await reserve(item);
  await allocate(item);
  // Two passes in which nothing was written: the shard rests.
  for (let pass = 0; pass < 3; pass += 1) await runDurableObjectAlarm(stub);
  const alarmAt = () => runInDurableObject(stub, (_instance, ctx) => ctx.storage.getAlarm());
  expect(await alarmAt()).toBeNull();
  await stub.settle({ items: [{ handle, key, block: BLOCK, outcome: "released", until: 0 }] });
  expect(await alarmAt()).not.toBeNull();
});

test.each([
  ["a third family", "UPDATE keys SET family = 5", "CHECK"],
  ["a row for nothing", "UPDATE keys SET count = 0", "CHECK"],
  ["an unknown state", "UPDATE keys SET state = 'lost'", "CHECK"],
  ["an earlier attempt that lasts longer", "UPDATE keys SET until_before = until + 1", "CHECK"],
  ["a text where a number belongs", "UPDATE keys SET at = 'now'", "cannot store TEXT"],
])("the table refuses %s", async (_what, statement, complaint) => {
  const item = wish();
  await reserve(item);
  const message = await runInDurableObject(stubs.index(item.handle), (_instance, ctx) => {
    try {
      ctx.storage.sql.exec(statement).toArray();
      return "accepted";
    } catch (failure) {
      return String(failure);
    }
  });
  expect(message).toContain(complaint);
});
