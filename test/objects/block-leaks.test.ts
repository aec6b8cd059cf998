/** What a block does for the leak collector, on workerd: evictions between its words, announcements, retirement. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { BlockObject } from "../../durable-objects/block.ts";
import { evict, now, runtimeOf, SETTINGS, spent } from "../support/objects/deployment.ts";
import { freshBlock } from "../support/objects/fresh-block.ts";

const policy = { reserved: [], cooldownMs: 60_000 };

test("a host is told what it holds, and over an eviction only what changed since", async () => {
  const { block, stub, claim, created, releaseAddress } = freshBlock(29, 60_000);
  const ask = (host: string, ifNumber?: number) =>
    stub.holdings({ block, host, cooldownMs: 60_000, ...(ifNumber === undefined ? {} : { ifNumber }) });
  expect(await ask("a")).toEqual({ number: 0, epoch: 0, own: 0, lent: 0, cooling: 0, subjects: [] });
  await claim("a", 1);
  const mine = await created("h1", { attributes: { namespace: "n", pod: "one" } });
  const lent = await created("h2", { host: "b" });
  await evict(stub);
  const told = await ask("a");
  expect(told).toMatchObject({ epoch: 1, owner: "a", pool: { name: "p", incarnation: 0 }, own: 1, lent: 1 });
  const { address, touch, allocatedAt } = mine;
  expect(told.subjects).toMatchObject([{ address, touch, touchedAt: allocatedAt, handle: "h1", host: "a" }]);
  expect((await ask("b")).subjects).toMatchObject([{ address: lent.address, host: "b" }]);
  expect(await ask("a", told.number)).not.toHaveProperty("subjects");
  await releaseAddress(address, { handle: "h1" });
  await evict(stub);
  expect(await ask("a", told.number)).toMatchObject({ own: 0, lent: 1, cooling: 1, subjects: [] });
});

test("I3 I11: a leaked address is freed once, cools, and an order that comes again is answered the same", async () => {
  const { stub, claim, created, releaseLeaked, describeBlock, allocate, block } = freshBlock(30, 60_000);
  await claim("a", 1);
  const { address, touch } = await created("h1");
  const order = { address, handle: "h1", touch };
  expect(await releaseLeaked(order)).toEqual(["released"]);
  await evict(stub);
  const cost = await spent({ block: stub }, () => releaseLeaked(order));
  expect(cost.rowsWritten).toBe(0);
  expect(await releaseLeaked(order)).toEqual(["released"]);
  const view = await describeBlock();
  expect(view).toMatchObject({ counts: { allocated: 0, cooling: 1 }, records: [{ state: "cooling" }] });
  expect(await allocate("h1"), "its key is spent").toMatchObject({ kind: "spent" });
  const { tenures } = await stub.inspect({ block, address, policy });
  expect(tenures).toMatchObject([{ handle: "h1", releasedBy: "collector" }]);
});

test("I3 I11: an address that changed hands, was reused or got another owner stays, over evictions", async () => {
  const { block, stub, claim, created, allocate, releaseLeaked, releaseAddress, describeBlock } =
    freshBlock(32);
  await claim("a", 1);
  const judged = await created("h1");
  const order = { address: judged.address, handle: "h1", touch: judged.touch };
  const refused = async (what: string) => {
    await evict(stub);
    const before = await describeBlock();
    const cost = await spent({ block: stub }, async () => {
      expect(await releaseLeaked(order), what).toEqual(["moved_on"]);
    });
    expect(cost.rowsWritten, what).toBe(0);
    expect((await describeBlock()).records, what).toEqual(before.records);
  };
  await allocate("h1");
  await refused("the same request asked again");
  const until = now() + SETTINGS.untilMs;
  const again = await stub.reuse({
    ...{ block, handle: "h1", keys: ["key-of-h1"], take: 1, attributes: {}, until, cooldownMs: 0 },
  });
  if (again.kind !== "reused") throw new Error(again.kind);
  order.touch = again.records[0]?.touch ?? 0;
  const updated = await stub.updateOwners({
    ...{ block, address: judged.address, handle: "h1", until, cooldownMs: 0 },
    ...{ set: { active: { namespace: "n", pod: "two" } }, expect: {} },
  });
  expect(updated.kind).toBe("updated");
  await refused("another owner");
  await releaseAddress(judged.address, { handle: "h1" });
  await refused("a caller released it");
  await created("h2");
  await refused("another handle has it");
});

test("I11: an old instance that lives on frees nothing that a younger one handed out", async () => {
  const { block, stub, target, claim, created, item, describeBlock } = freshBlock(32);
  await claim("a", 1);
  const { address, touch } = await created("h1");
  const items = [{ address, handle: "h1", touch }];
  const answers = await runInDurableObject(stub, async (_instance, ctx) => {
    const old = new BlockObject(ctx, env, runtimeOf(env));
    await old.holdings({ block, host: "a", cooldownMs: 0 });
    const young = new BlockObject(ctx, env, runtimeOf(env));
    await young.allocate({ ...target, items: [item("h1")] });
    return (await old.releaseLeaked({ block, cooldownMs: 0, items, until: now() + SETTINGS.untilMs }))
      .answers;
  });
  expect(answers).toEqual(["moved_on"]);
  expect((await describeBlock()).records).toMatchObject([{ handle: "h1", state: "allocated" }]);
});

test("orders are decided one by one, and nothing is made where there is no block", async () => {
  const { stub, claim, created, releaseLeaked, block } = freshBlock(29);
  expect(await releaseLeaked({ address: "10.9.0.1", handle: "h", touch: 1 })).toEqual(["moved_on"]);
  expect(await stub.describe({ block, policy })).toMatchObject({ exists: false });
  await claim("a", 1);
  const [one, two] = [await created("h1"), await created("h2")];
  const answers = await releaseLeaked(
    { address: one.address, handle: "h1", touch: one.touch },
    { address: two.address, handle: "h1", touch: two.touch },
    { address: two.address, handle: "h2", touch: one.touch },
    { address: "10.250.0.1", handle: "h2", touch: two.touch },
    { address: two.address, handle: "h2", touch: two.touch },
  );
  expect(answers).toEqual(["released", "moved_on", "moved_on", "moved_on", "released"]);
});

test("I11: an order that comes late frees nothing, and says so", async () => {
  const { stub, claim, created, block } = freshBlock(30);
  await claim("a", 1);
  const { address, touch } = await created("h1");
  const order = { block, cooldownMs: 0, items: [{ address, handle: "h1", touch }] };
  expect(await stub.releaseLeaked({ ...order, until: now() - 1 })).toEqual({ answers: ["late"] });
  expect(await stub.describe({ block, policy })).toMatchObject({ counts: { allocated: 1 } });
  const inTime = now() + SETTINGS.untilMs;
  expect(await stub.releaseLeaked({ ...order, until: inTime })).toEqual({ answers: ["released"] });
  expect(await stub.releaseLeaked({ ...order, until: 0 }), "a copy that comes late").toEqual({
    answers: ["released"],
  });
});
