/** The end of a block on workerd: its alarm, the Pool's acknowledgement, and what stays. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeAll, expect, test } from "vitest";
import type { PoolTarget } from "../../src/rpc/pool.ts";
import { evict, now, pass, ports, SETTINGS, stubs } from "../support/objects/deployment.ts";

const POLICY = { reserved: [], cooldownMs: 0 };
/** After a release no message of before can arrive any more. */
const IN_FLIGHT_MS = SETTINGS.untilMs + 2 * SETTINGS.skewMs;
const until = () => now() + SETTINGS.untilMs;
let target: PoolTarget;

beforeAll(async () => {
  const cluster = ports.cluster();
  await cluster.changeConfig({ patch: { ipCooldownSeconds: 0 }, by: "test" });
  const spec = { cidr: "10.7.0.0/24", blockSize: 28 };
  const made = await cluster.putPool({ name: "p", spec, by: "test" });
  if (!made.ok) throw new Error(JSON.stringify(made.error));
  const { name: pool, incarnation, cidr, blockSize } = made.value.value;
  target = { pool, incarnation, cidr, blockSize };
});

/** A block claimed through the Pool, with short ways to use it. */
async function claimed(owner: string) {
  const pool = stubs.pool(target.pool, target.incarnation);
  const offer = await pool.claim({ ...target, owner, known: [], excluded: [], tried: [] });
  if (offer.kind !== "claim") throw new Error(offer.kind);
  const { block, epoch } = offer;
  const stub = stubs.block(block);
  const { pool: name, incarnation, cidr: poolCidr } = target;
  const of = { block, pool: name, incarnation, poolCidr };
  await stub.claim({ ...of, owner, epoch, until: until(), cooldownMs: 0 });
  const allocate = async (handle: string) => {
    const wish = { handle, key: handle, host: owner, use: "Workload", attributes: {} } as const;
    const item = {
      ...wish,
      leakCollection: "auto",
      count: 1,
      strict: false,
      policy: POLICY,
      until: until(),
    } as const;
    const [outcome] = (await stub.allocate({ ...of, items: [item] })).outcomes;
    if (outcome === undefined) throw new Error("an element was left unanswered");
    return outcome;
  };
  const created = async (handle: string) => {
    const outcome = await allocate(handle);
    if (outcome.kind !== "created" || outcome.records[0] === undefined) throw new Error(outcome.kind);
    return outcome.records[0];
  };
  const release = (address: string) =>
    stub.releaseAddresses({ block, cooldownMs: 0, items: [{ address, force: true }] });
  /** The owner gives the block back while it holds addresses. */
  const abandon = async () => {
    const fresh = await pool.fresh({ ...target, owner, block });
    if (fresh.kind !== "claim") throw new Error(fresh.kind);
    const answer = await stub.releaseAffinity({
      ...of,
      owner,
      epoch: fresh.epoch,
      mustBeEmpty: false,
      cooldownMs: 0,
    });
    const draining = answer.kind === "draining";
    await pool.release({ ...target, owner, block, epoch: fresh.epoch, draining });
  };
  const entry = async () => (await pool.find({ ...target, block })).entry?.state;
  const alarmAt = () => runInDurableObject(stub, (_instance, ctx) => ctx.storage.getAlarm());
  /** Lets the block tell what it lends; then nothing is due while it holds an address. */
  const rest = async () => {
    for (let round = 0; round < 4 && (await alarmAt()) !== null; round += 1)
      await runDurableObjectAlarm(stub);
    expect(await alarmAt(), "it holds an address").toBeNull();
  };
  const rows = () =>
    runInDurableObject(
      stub,
      (_instance, ctx) => ctx.storage.sql.exec("SELECT * FROM ordinals").toArray().length,
    );
  return { block, of, stub, allocate, created, release, abandon, entry, alarmAt, rest, rows };
}

test("I3 I5: an ownerless block that became empty retires by its alarm, once nothing is in flight", async () => {
  const { stub, allocate, created, release, abandon, entry, alarmAt, rest, rows } = await claimed("a");
  const { address, sequenceNumber } = await created("h1");
  await abandon();
  expect(await entry()).toBe("draining");
  await rest();
  await release(address);
  expect(await alarmAt()).not.toBeNull();
  await evict(stub);
  await runDurableObjectAlarm(stub);
  expect([await entry(), await rows()], "a late message may still ask").toEqual(["draining", 1]);
  expect(await alarmAt(), "the alarm lives on").not.toBeNull();
  pass(IN_FLIGHT_MS + 100);
  await runDurableObjectAlarm(stub);
  expect([await entry(), await rows()], "the released key stays spent").toEqual(["free", 1]);
  expect(await allocate("h2")).toMatchObject({ kind: "affinity_lost", final: true });
  await evict(stub);
  const again = await claimed("a");
  expect(again.stub.id.toString(), "the same block, claimed anew").toBe(stub.id.toString());
  expect((await again.created("h3")).sequenceNumber).toBeGreaterThan(sequenceNumber);
});

test("I11: an ownerless block that the collector empties retires too", async () => {
  const { block, stub, created, abandon, entry, alarmAt, rest } = await claimed("d");
  const { address, touch } = await created("h1");
  await abandon();
  await rest();
  const items = [{ address, handle: "h1", touch }];
  const order = { block, cooldownMs: 0, items, until: until() };
  expect(await stub.releaseLeaked(order)).toEqual({ answers: ["released"] });
  expect(await alarmAt()).not.toBeNull();
  pass(IN_FLIGHT_MS + 100);
  await runDurableObjectAlarm(stub);
  expect(await entry()).toBe("free");
});

test("one whose alarm was given up retires when it is looked at", async () => {
  const { block, stub, created, release, abandon, entry, alarmAt, rest } = await claimed("e");
  const { address } = await created("h1");
  await abandon();
  await rest();
  const look = () => stub.audit({ block, cooldownMs: 0 });
  await look();
  expect(await alarmAt(), "it holds an address").toBeNull();
  await release(address);
  await runInDurableObject(stub, (_instance, ctx) => ctx.storage.deleteAlarm());
  await evict(stub);
  pass(IN_FLIGHT_MS + 100);
  expect([await entry(), await alarmAt()]).toEqual(["draining", null]);
  await look();
  expect(await alarmAt()).not.toBeNull();
  await runDurableObjectAlarm(stub);
  expect(await entry()).toBe("free");
  // Set again before the Pool had heard; then all is told.
  await runDurableObjectAlarm(stub);
  await look();
  expect(await alarmAt(), "all is told").toBeNull();
});

test("an ownerless block that an undo empties retires too", async () => {
  const { of, stub, created, release, abandon, alarmAt, rest } = await claimed("b");
  const first = await created("h1");
  await abandon();
  const { address, touch } = await created("h2");
  await release(first.address);
  await rest();
  const undone = await stub.undo({ ...of, handle: "h2", key: "h2", addresses: [{ address, touch }] });
  expect(undone.undone).toEqual([address]);
  expect(await alarmAt()).not.toBeNull();
});

test("a block that has an owner never retires", async () => {
  const { created, release, alarmAt, stub, rows, entry } = await claimed("c");
  const { address } = await created("h1");
  await release(address);
  expect(await alarmAt()).toBeNull();
  await runInDurableObject(stub, (instance) => instance.alarm());
  expect([await entry(), await rows()]).toEqual(["owned", 1]);
});
