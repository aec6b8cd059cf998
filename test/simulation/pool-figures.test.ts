/** The Pool's figures over a restart: hosts that do nothing afterwards tell nothing. */
import { expect, test } from "vitest";
import { claimed, poolWorld } from "./pool-world.ts";
import { POOL, routesWorld } from "./routes-world.ts";

test("I14: what was reported half a minute before a restart is known after it, at one row for each block", async () => {
  const { world, take, pool, target } = await routesWorld();
  const usage = () => world.during(pool().usage({ ...target, reservedCidrs: [] }));
  const rows = () => world.counters.read().rows[POOL] ?? 0;
  await take("a", "first");
  await world.advance(60_000);
  const before = rows();
  for (let n = 0; n < 20; n += 1) {
    await take("a", `more-${n}`);
    await world.advance(1_000);
  }
  expect(rows()).toBe(before);
  await world.advance(40_000);
  expect(rows()).toBe(before + 1);
  const told = await usage();
  expect(told).toMatchObject({ allocated: "21", available: "235" });
  world.restart();
  await world.advance(60_000);
  expect(await usage()).toEqual(told);
});

test("each block is its owner's or nobody's, from the moment that the directory has it so", async () => {
  const { claim, ask } = poolWorld();
  const owners = async () => {
    const usage = await ask("usage", { reservedCidrs: [], withOwners: true });
    return { owners: usage.owners?.toSorted(), blocks: usage.blocks, unowned: usage.blocksUnowned };
  };
  expect(await owners()).toEqual({ owners: [], blocks: 0, unowned: 0 });
  const { block, epoch } = claimed(await claim("a"));
  await claim("a", { known: [block] });
  const last = claimed(await claim("virtual:lb"));
  const lent = ["a", 1];
  expect(await owners()).toEqual({
    owners: [
      ["a", 2],
      ["virtual:lb", 1],
    ],
    blocks: 3,
    unowned: 0,
  });
  await ask("release", { owner: "a", block, epoch, draining: true });
  expect(await owners()).toEqual({ owners: [lent, ["virtual:lb", 1]], blocks: 3, unowned: 1 });
  await ask("release", { owner: "virtual:lb", ...last, draining: false });
  expect(await owners()).toEqual({ owners: [lent], blocks: 2, unowned: 1 });
  await ask("retired", { block, epoch });
  expect(await owners()).toEqual({ owners: [lent], blocks: 1, unowned: 0 });
  expect(await ask("usage", { reservedCidrs: [] })).not.toHaveProperty("owners");
});
