/** Routes under random faults: whatever was late or lost, in the end they are what the rows say. */
import { expect, test } from "vitest";
import { noteCases } from "../support/cases.ts";
import { range, seeds } from "../support/seeds.ts";
import { Random } from "../support/simulation/random.ts";
import { routesWorld, TARGET } from "./routes-world.ts";

const SEEDS = seeds(range(1, 24));
const STEPS = 30;
const HOSTS = ["a", "b", "c"];
const FAULTS = {
  delay: [1, 20],
  late: 0.05,
  lateMax: 8_000,
  loseRequest: 0.05,
  loseAnswer: 0.05,
  noticed: 0.5,
} as const;

/** Long enough for every alarm and every late message. */
const QUIET_MS = 60_000;

async function life(seed: number): Promise<{ routes: string[]; truth: string[]; most: number }> {
  const target = { ...TARGET, cidr: "10.0.0.0/28", blockSize: 30 };
  const all = await routesWorld({ hosts: HOSTS, seed, settings: { reclaimAgeMs: 1_000 } }, target);
  const { world, scene, pool } = all;
  const random = new Random(seed);
  world.faults = FAULTS;
  let most = 0;
  for (let step = 0; step < STEPS; step += 1) {
    const chance = random.next();
    const handle = `handle-${random.below(8)}`;
    if (chance < 0.5) void scene.allocate(random.pick(HOSTS), { handle, v4: 1 + random.below(2) });
    else if (chance < 0.8) void scene.release(handle);
    else if (chance < 0.9) world.evict(random.pick(world.objectNames));
    else await world.advance(random.next() * 3_000);
    void pool()
      .routes({ ...target, limit: 1000 })
      .then(
        ({ routes }) => {
          const destinations = new Set(routes.map(({ destination }) => destination));
          most = Math.max(most, routes.length - destinations.size);
        },
        () => undefined,
      );
    await world.advance(random.next() * 200);
  }
  world.faults = {};
  await world.advance(QUIET_MS);
  // Who holds a row that is not confirmed settles it at its next claim.
  for (const host of HOSTS) await world.during(scene.allocate(host, { handle: `last-${host}`, v4: 4 }));
  await world.advance(QUIET_MS);
  return { routes: (await all.routes()).toSorted(), truth: all.truth(), most };
}

test(`I6: ${SEEDS.length} lives end with the routes that the rows say, and never with two for a destination`, async () => {
  let routed = 0;
  for (const seed of SEEDS) {
    const { routes, truth, most } = await life(seed);
    expect(most, `seed ${seed}`).toBe(0);
    expect(routes, `seed ${seed}`).toEqual(truth);
    routed += routes.length;
  }
  noteCases(SEEDS.length);
  expect(routed).toBeGreaterThan(SEEDS.length);
});
