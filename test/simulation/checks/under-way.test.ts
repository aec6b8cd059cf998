/**
 * Steps that are under way are no findings: while claims, releases and reclaims go on without a fault,
 * one check after the other finds nothing.
 */
import { expect, test } from "vitest";
import { noteCases } from "../../support/cases.ts";
import { factor, range, seeds } from "../../support/seeds.ts";
import { check, lines } from "../../support/simulation/checks.ts";
import { claimBlock, giveUpBlocks } from "../../support/simulation/operators.ts";
import { Scene } from "../../support/simulation/scene.ts";

const SEEDS = seeds(range(1, 6));
const PATIENCE_MS = 120_000 * factor;
const STEPS = 400;
const SWEEP = "sweep:v1:default";
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

/** What checks have found by now, read from outside: asking would wait until nothing moves. */
function found({ world }: Scene): unknown[] {
  return world.rows(SWEEP, "SELECT check_number, name FROM findings");
}

function isRunning({ world }: Scene): boolean {
  return world.rows(SWEEP, "SELECT 1 FROM checks WHERE state = 'running'").length > 0;
}

async function run(seed: number): Promise<{ checks: number; moves: number }> {
  const settings = { reclaimAgeMs: 100, indexPassMs: 600_000 };
  const scene = await Scene.open({ seed, pools: POOLS, hosts: HOSTS, settings });
  const { world } = scene;
  await check(scene);
  world.faults = { delay: [1, 250] };
  for (let step = 0; step < STEPS; step += 1) {
    operate(scene);
    if (!isRunning(scene)) void scene.deployed.ports.sweep().startCheck({ repair: false });
    await world.advance(world.random.between(0, 400));
    expect(found(scene), `seed ${seed}, step ${step}`).toEqual([]);
  }
  await world.advance(60_000);
  const last = await check(scene);
  expect(lines(last), `seed ${seed}, at rest`).toEqual([]);
  const { calls } = world.counters.read();
  return { checks: Number(last.view.id), moves: calls["HostObject>BlockObject.releaseAffinity"] ?? 0 };
}

test(
  "I6: steps under way between Hosts, Pools and blocks are no findings",
  async () => {
    let checks = 0;
    let moves = 0;
    for (const seed of SEEDS) {
      const ran = await run(seed);
      checks += ran.checks;
      moves += ran.moves;
    }
    noteCases(SEEDS.length);
    console.info(`${checks} checks, ${moves} blocks given up`);
    expect(checks).toBeGreaterThan(4 * SEEDS.length);
    expect(moves).toBeGreaterThan(5 * SEEDS.length);
  },
  PATIENCE_MS,
);
