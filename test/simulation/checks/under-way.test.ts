/**
 * Steps that are under way are no findings: while claims, releases and reclaims go on without a fault,
 * one check after the other finds nothing.
 */
import { expect, test } from "vitest";
import { check, lines, readCheck, startCheck } from "../../support/simulation/checks.ts";
import { claimBlock, giveUpBlocks } from "../../support/simulation/operators.ts";
import { Scene } from "../../support/simulation/scene.ts";

const SEEDS = 8;
const STEPS = 250;
const HOSTS = ["a", "b", "c", "d"];
const HANDLES = ["h1", "h2", "h3", "h4", "h5"];
/** Too few blocks for all hosts: they are asked back all the time. */
const POOLS = { v4: { cidr: "10.0.0.0/29", blockSize: 31 } };

function operate(scene: Scene): void {
  const { random } = scene.world;
  const host = random.pick(HOSTS);
  const draw = random.next();
  if (draw < 0.5) void scene.allocate(host, { handle: random.pick(HANDLES) });
  else if (draw < 0.85) void scene.release(random.pick(HANDLES));
  else if (draw < 0.93) void giveUpBlocks(scene, host, random.chance(0.5));
  else void claimBlock(scene, host, "v4", `10.0.0.${2 * random.below(4)}/31`);
}

async function run(seed: number): Promise<{ checks: number; moves: number }> {
  const settings = { reclaimAgeMs: 100, indexPassMs: 600_000 };
  const scene = await Scene.open({ seed, pools: POOLS, hosts: HOSTS, settings, faults: { delay: [1, 250] } });
  const { world } = scene;
  let id = await startCheck(scene);
  let checks = 0;
  for (let step = 0; step < STEPS; step += 1) {
    operate(scene);
    await world.advance(world.random.between(0, 400));
    const { view, findings } = await readCheck(scene, id);
    expect(lines({ view, findings }), `seed ${seed}, check ${id}`).toEqual([]);
    if (view.state === "running") continue;
    expect(view.state).toBe("done");
    checks += 1;
    id = await startCheck(scene);
  }
  await world.advance(60_000);
  expect(lines(await check(scene)), `seed ${seed}, at rest`).toEqual([]);
  const { calls } = world.counters.read();
  return { checks, moves: calls["HostObject>BlockObject.releaseAffinity"] ?? 0 };
}

test("I6: steps under way between Hosts, Pools and blocks are no findings", async () => {
  let checks = 0;
  let moves = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const ran = await run(seed);
    checks += ran.checks;
    moves += ran.moves;
  }
  console.info(`${checks} checks, ${moves} blocks given up`);
  expect(checks).toBeGreaterThan(5 * SEEDS);
  expect(moves).toBeGreaterThan(5 * SEEDS);
}, 120_000);
