/** The Block on workerd: evictions, aborts and two callers between steps; rows as the platform counts them. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { BlockObject } from "../../durable-objects/block.ts";
import { evict, now, runtimeOf, SETTINGS, spent, stubs } from "../support/objects/deployment.ts";
import { freshBlock } from "../support/objects/fresh-block.ts";

const EPOCHS = 2 ** 32;
const SEQUENCES = 2 ** 36;

describe("what was told survives the instance", () => {
  test("I4 I13: claim, allocate, release and their repeats, with an eviction before each", async () => {
    const { stub, claim, created, allocate, releaseHandle, describeBlock } = freshBlock();
    expect(await claim("a", 1)).toMatchObject({ kind: "accepted" });
    await evict(stub);
    const first = await created("h1");
    await evict(stub);
    const again = await allocate("h1");
    expect(again).toMatchObject({ kind: "found", records: [{ address: first.address }] });
    await evict(stub);
    expect(await releaseHandle("h1")).toMatchObject({
      outcome: "released",
      records: [{ address: first.address }],
    });
    await evict(stub);
    expect(await allocate("h1")).toMatchObject({ kind: "spent" });
    expect(await releaseHandle("h1")).toMatchObject({ outcome: "released", records: [] });
    expect(await describeBlock()).toMatchObject({
      owner: "a",
      epoch: 1,
      counts: { allocated: 0 },
      records: [],
    });
  });

  test("I3: numbers go on after an eviction", async () => {
    const { stub, claim, created, releaseAddress } = freshBlock();
    await claim("a", 1);
    let last = 0;
    for (const handle of ["h1", "h2", "h3", "h4"]) {
      const { address, sequenceNumber } = await created(handle);
      expect(sequenceNumber).toBeGreaterThan(last);
      last = sequenceNumber;
      expect(await releaseAddress(address, { sequenceNumber })).toMatchObject({ kind: "released" });
      await evict(stub);
    }
  });

  test("I1 I12: the free queue is the same after an eviction: unused first, then freed first", async () => {
    const { stub, claim, created, releaseAddress } = freshBlock(30);
    await claim("a", 1);
    const held = [await created("h0"), await created("h1"), await created("h2")];
    for (const place of [2, 0, 1]) {
      const { address = "", sequenceNumber = 0 } = held[place] ?? {};
      await releaseAddress(address, { sequenceNumber });
      await evict(stub);
    }
    const order = [await created("n0"), await created("n1"), await created("n2"), await created("n3")];
    const freed = [2, 0, 1].map((place) => held[place]?.address);
    expect(order.map(({ address }) => address)).toEqual([order[0]?.address, ...freed]);
    expect(new Set(order.map(({ address }) => address)).size).toBe(4);
  });

  test.each(["a handle", "a list"])(
    "I12: what %s frees together is given out again in the order of addresses, however it was taken",
    async (how) => {
      const { block, stub, claim, created, allocate, releaseAddress, releaseHandle } = freshBlock(30);
      await claim("a", 1);
      const [first, , , last] = [
        await created("h0"),
        await created("h1"),
        await created("h2"),
        await created("h3"),
      ];
      for (const { address = "", sequenceNumber = 0 } of [last, first]) {
        await releaseAddress(address, { sequenceNumber });
      }
      const both = await allocate("both", { count: 2 });
      expect(both).toMatchObject({ records: [{ address: last?.address }, { address: first?.address }] });
      const items = [last, first].map((one) => ({ address: one?.address ?? "" }));
      const ended =
        how === "a handle"
          ? (await releaseHandle("both"))?.records
          : (await stub.releaseAddresses({ block, cooldownMs: 0, items })).outcomes;
      expect(ended).toMatchObject(items);
      const next = [await created("n0"), await created("n1")];
      expect(next).toMatchObject([{ address: first?.address }, { address: last?.address }]);
    },
  );

  test("I4: an instance that is aborted after its answer has lost nothing; a half-done write leaves nothing", async () => {
    const { block, stub, claim, created } = freshBlock();
    await claim("a", 1);
    const { address } = await created("h1");
    const aborted = runInDurableObject(stub, async (_instance, ctx) => {
      ctx.storage.transactionSync(() => {
        ctx.storage.sql.exec("UPDATE ordinals SET number = number + 100");
        ctx.abort("the machine is gone");
      });
    });
    await expect(aborted).rejects.toThrow();
    // A stub that met the abort stays broken.
    const policy = { reserved: [], cooldownMs: 0 };
    const view = await stubs.block(block).describe({ block, policy, records: "all" });
    expect(view.records.map((record) => record.address)).toEqual([address]);
    expect(view.sequenceNumber).toBe(1);
  });
});

describe("several callers", () => {
  test("I1: two stubs interleaved never get one address, and together they get all", async () => {
    const { block, claim, item, target } = freshBlock(28);
    await claim("a", 1);
    const twice = [stubs.block(block), stubs.block(block)];
    const asked = Array.from({ length: 20 }, (_, n) => {
      const stub = twice[n % 2];
      if (stub === undefined) throw new Error("there are two");
      return stub.allocate({ ...target, items: [item(`h${n}`)] });
    });
    const outcomes = (await Promise.all(asked)).flatMap((answer) => answer.outcomes);
    const got = outcomes.flatMap((outcome) => (outcome.kind === "created" ? outcome.records : []));
    expect(new Set(got.map(({ address }) => address)).size).toBe(16);
    expect(got.length).toBe(16);
    expect(outcomes.filter(({ kind }) => kind === "full").length).toBe(4);
  });

  test("I1: an old instance that lives on decides on what is stored, not on what it remembers", async () => {
    const { block, stub, target, claim, item, created } = freshBlock(31);
    await claim("a", 1);
    const outcome = await runInDurableObject(stub, async (_instance, ctx) => {
      const old = new BlockObject(ctx, env, runtimeOf(env));
      await old.describe({ block, policy: { reserved: [], cooldownMs: 0 } });
      const young = new BlockObject(ctx, env, runtimeOf(env));
      const one = await young.allocate({ ...target, items: [item("h1")] });
      const other = await old.allocate({ ...target, items: [item("h2")] });
      return [...one.outcomes, ...other.outcomes];
    });
    const got = outcome.flatMap((one) => (one.kind === "created" ? one.records : []));
    expect(new Set(got.map(({ address }) => address)).size).toBe(2);
    expect(got[1]?.sequenceNumber).toBeGreaterThan(got[0]?.sequenceNumber ?? Number.NaN);
    await expect(created("h3")).rejects.toThrow("full");
  });

  test("one element that contradicts itself does not fail its neighbours", async () => {
    const { claim, item, allocateAll, describeBlock } = freshBlock();
    await claim("a", 1);
    const until = now() + 10 * SETTINGS.untilMs;
    const outcomes = await allocateAll([item("h1"), item("h2", { until }), item("h3")]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["created", "failed", "created"]);
    expect((await describeBlock()).records.map(({ handle }) => handle)).toEqual(["h1", "h3"]);
  });

  test("I3: a release on old knowledge changes nothing and says so, before and after an eviction", async () => {
    const { stub, claim, created, releaseAddress, describeBlock } = freshBlock(32);
    await claim("a", 1);
    const old = await created("h1");
    await releaseAddress(old.address, { sequenceNumber: old.sequenceNumber });
    const now = await created("h2");
    expect(now.address).toBe(old.address);
    for (const guard of [{ sequenceNumber: old.sequenceNumber }, { handle: "h1" }]) {
      const before = await describeBlock();
      const cost = await spent({ block: stub }, () => releaseAddress(old.address, guard));
      expect(cost.rowsWritten).toBe(0);
      expect(await releaseAddress(old.address, guard)).toMatchObject({ kind: "rejected" });
      expect((await describeBlock()).records).toEqual(before.records);
      await evict(stub);
    }
  });
});

describe("ownership", () => {
  test("I6: only a higher epoch moves a block, over evictions; a refused claim still fences", async () => {
    const { stub, claim, releaseAffinity, created, describeBlock } = freshBlock();
    expect(await claim("a", 2)).toMatchObject({ kind: "accepted" });
    await evict(stub);
    expect(await claim("b", 3)).toEqual({ kind: "refused", owner: "a", epoch: 2 });
    expect(await releaseAffinity("a", 1)).toMatchObject({ kind: "stale", epoch: 2 });
    await created("h1");
    expect(await releaseAffinity("a", 4)).toMatchObject({ kind: "block_not_empty", allocated: 1 });
    expect(await releaseAffinity("a", 5, false)).toEqual({ kind: "draining" });
    await evict(stub);
    expect(await claim("b", 7)).toEqual({ kind: "refused", epoch: 7 });
    await evict(stub);
    expect(await claim("a", 6)).toEqual({ kind: "refused", epoch: 7 });
    const view = await describeBlock();
    expect(view.owner).toBeUndefined();
    expect(view).toMatchObject({ exists: true, epoch: 7, counts: { allocated: 1, borrowed: 1 } });
  });

  test("I3: a new incarnation begins above all numbers of the one before", async () => {
    const { stub, claim, created, releaseAddress, releaseAffinity } = freshBlock(32);
    await claim("a", 1);
    const { address, sequenceNumber } = await created("h1");
    await releaseAddress(address, { sequenceNumber });
    await releaseAffinity("a", 2);
    await evict(stub);
    await claim("a", EPOCHS + 1, 1);
    expect((await created("h2")).sequenceNumber).toBeGreaterThan(SEQUENCES);
    expect(await releaseAddress(address, { sequenceNumber })).toMatchObject({ code: "sequence_mismatch" });
  });

  test("I12: an undone address returns to its old place, over an eviction", async () => {
    const { stub, target, claim, created, allocate } = freshBlock(32, 60_000);
    await claim("a", 1);
    const { address, touch } = await created("h1");
    await evict(stub);
    const stale = await stub.undo({
      ...target,
      handle: "h1",
      key: "key-of-h1",
      addresses: [{ address, touch: touch + 1 }],
    });
    expect(stale.undone).toEqual([]);
    const undone = await stub.undo({
      ...target,
      handle: "h1",
      key: "key-of-h1",
      addresses: [{ address, touch }],
    });
    expect(undone.undone).toEqual([address]);
    await evict(stub);
    expect(await allocate("h2")).toMatchObject({ kind: "created", records: [{ address }] });
  });
});

describe("storage", () => {
  test("each operation writes one row per transition, and a refused one writes none", async () => {
    const { stub, claim, created, allocate, releaseHandle, releaseAddress } = freshBlock(31);
    const rows = async (work: () => Promise<unknown>) => (await spent({ block: stub }, work)).rowsWritten;
    expect(await rows(() => claim("a", 1))).toBe(1);
    expect(await rows(() => created("h1"))).toBe(1);
    expect(await rows(() => allocate("h1"))).toBe(1);
    const { address, sequenceNumber } = await created("h2");
    expect(await rows(() => allocate("h3"))).toBe(0);
    expect(await rows(() => releaseHandle("h1"))).toBe(1);
    expect(await rows(() => releaseHandle("h1"))).toBe(0);
    expect(await rows(() => releaseAddress(address, { sequenceNumber }))).toBe(1);
    expect(await rows(() => releaseAddress(address, { sequenceNumber }))).toBe(0);
    expect(await rows(() => claim("b", 1))).toBe(0);
  });

  test("a block of which nobody wrote anything is no block: reading creates no table", async () => {
    const { stub, describeBlock } = freshBlock();
    expect(await describeBlock()).toMatchObject({
      exists: false,
      epoch: 0,
      counts: { free: 8, available: 8 },
    });
    const tables = await runInDurableObject(stub, (_instance, ctx) =>
      ctx.storage.sql.exec("SELECT name FROM sqlite_master WHERE name IN ('block', 'ordinals')").toArray(),
    );
    expect(tables).toEqual([]);
  });

  test.each([
    ["a text where a number belongs", "UPDATE ordinals SET number = 'many'", "datatype mismatch"],
    ["a text where a time belongs", "UPDATE ordinals SET at = 'now'", "cannot store TEXT"],
    ["an allocated row without a tenure", "UPDATE ordinals SET current = NULL", "CHECK"],
    ["a released row with one", "UPDATE ordinals SET state = 'released'", "CHECK"],
    ["a number below one", "UPDATE ordinals SET number = 0", "CHECK"],
    ["an unknown state", "UPDATE ordinals SET state = 'lent', current = NULL", "CHECK"],
    ["a second header", "INSERT INTO block (id, epoch, counter, header) VALUES (2, 1, 1, '{}')", "CHECK"],
    ["an epoch below zero", "UPDATE block SET epoch = -1", "CHECK"],
  ])("the tables refuse %s", async (_what, statement, complaint) => {
    const { stub, claim, created } = freshBlock();
    await claim("a", 1);
    await created("h1");
    const message = await runInDurableObject(stub, (_instance, ctx) => {
      try {
        ctx.storage.sql.exec(statement).toArray();
        return "accepted";
      } catch (failure) {
        return String(failure);
      }
    });
    expect(message).toContain(complaint);
  });
});
