/**
 * The store on real workerd: what is only read, or decided without a write, creates nothing.
 * May import: the product, cloudflare:test.
 */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { now, SETTINGS } from "../support/objects/entry.ts";

const until = (): number => now() + SETTINGS.untilMs;

const tablesOf = (state: DurableObjectState): string[] =>
  state.storage.sql
    .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    .toArray()
    .map(({ name }) => name)
    .filter((name) => !name.startsWith("_cf"));

test("releases, questions and late repeats to a block that never was create no table", async () => {
  const block = "10.99.0.0/26";
  const stub = env.BLOCK.get(env.BLOCK.idFromName("block:v1:default:10.99.0.0-26"));
  const items = [{ address: "10.99.0.7", force: true }];
  const { outcomes } = await stub.releaseAddresses({ block, items, cooldownMs: 0 });
  expect(outcomes).toEqual([{ kind: "already_free", address: "10.99.0.7" }]);
  const keys = [{ key: "k", finalAfter: 0 }];
  await stub.releaseHandle({ block, handle: "h", keys, cooldownMs: 0 });
  const policy = { reserved: [], cooldownMs: 0 };
  expect(await stub.describe({ block, policy })).toMatchObject({ exists: false });
  const target = { block, pool: "p", poolCidr: "10.99.0.0/16", incarnation: 0 };
  await stub.undo({ ...target, handle: "h", key: "k", addresses: [] });
  expect(await runInDurableObject(stub, (_object, state) => tablesOf(state))).toEqual([]);
});

test("the first write creates the tables, and a failed one leaves none", async () => {
  const block = "10.99.1.0/26";
  const stub = env.BLOCK.get(env.BLOCK.idFromName("block:v1:default:10.99.1.0-26"));
  const target = { block, pool: "p", poolCidr: "10.99.0.0/16", incarnation: 0 };
  const claim = { ...target, owner: "a", epoch: 1, cooldownMs: 0 };
  await runInDurableObject(stub, async (object) => {
    await expect(object.claim({ ...claim, until: now() + 10 * SETTINGS.untilMs })).rejects.toThrow(
      "more than 2 s",
    );
  });
  expect(await runInDurableObject(stub, (_object, state) => tablesOf(state))).toEqual([]);
  expect(await stub.claim({ ...claim, until: until() })).toMatchObject({ kind: "accepted" });
  expect(await runInDurableObject(stub, (_object, state) => tablesOf(state))).toContain("ordinals");
});

test("tables of a newer release are neither read nor written by code put back in its place", async () => {
  const block = "10.99.2.0/26";
  const stub = env.BLOCK.get(env.BLOCK.idFromName("block:v1:default:10.99.2.0-26"));
  const target = { block, pool: "p", poolCidr: "10.99.0.0/16", incarnation: 0 };
  const claim = { ...target, owner: "a", epoch: 1, cooldownMs: 0 };
  expect(await stub.claim({ ...claim, until: until() })).toMatchObject({ kind: "accepted" });
  const headerOf = () =>
    runInDurableObject(stub, (_object, state) => state.storage.sql.exec("SELECT * FROM block").one());
  const before = await headerOf();
  await runInDurableObject(stub, (_object, state) => {
    state.storage.sql.exec("INSERT INTO schema_version VALUES (1000)");
  });
  await evictDurableObject(stub);
  await runInDurableObject(stub, async (object) => {
    const policy = { reserved: [], cooldownMs: 0 };
    await expect(object.describe({ block, policy })).rejects.toThrow("SCHEMA_TOO_NEW");
    const next = { ...claim, epoch: 2, until: until() };
    await expect(object.claim(next)).rejects.toThrow("SCHEMA_TOO_NEW");
  });
  expect(await headerOf()).toEqual(before);
});
