/** The Pool's figures over a restart: hosts that do nothing afterwards tell nothing. */
import { expect, test } from "vitest";
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
