/**
 * Checks with repair while random clients, operators, crashes and a bad network are at work: nothing
 * acknowledged is lost or doubled; at rest one repair is enough.
 */
import { expect, test } from "vitest";
import type { Finding } from "../../../src/core/check.ts";
import { noteCases } from "../../support/cases.ts";
import { factor, isUsual, range, seeds } from "../../support/seeds.ts";
import { checkHistory, checkLimits, checkRows, snapshot } from "../../support/simulation/checker.ts";
import { check, lines } from "../../support/simulation/checks.ts";
import { claimBlock, giveUpBlocks } from "../../support/simulation/operators.ts";
import { type Asked, Scene, type Told } from "../../support/simulation/scene.ts";
import { Watch, watched } from "../../support/simulation/watch.ts";

const SEEDS = seeds(range(1, 25));
const OPERATIONS = 60;
const SKEW_MS = 100;
const HOSTS = ["a", "b", "c"];
const HANDLES = ["h1", "h2", "h3", "h4", "limit1"];
const POOLS = {
  v4: { cidr: "10.0.0.0/28", blockSize: 30 },
  other: { cidr: "10.0.1.0/29", blockSize: 30 },
  v6: { cidr: "fd00::/125", blockSize: 126 },
};
const POOL = "pool:v1:default:v4:0";
const SWEEP = "sweep:v1:default";
const reached = new Map<string, number>();

function count(what: string): void {
  reached.set(what, (reached.get(what) ?? 0) + 1);
}

async function open(seed: number, watch: Watch): Promise<Scene> {
  return await Scene.open({
    seed,
    pools: POOLS,
    hosts: HOSTS,
    config: { strictAffinity: seed % 3 === 0 },
    classes: watched(watch),
    settings: { skewMs: SKEW_MS, reclaimAgeMs: 2_000, indexPassMs: 600_000, laneBatches: 1 + (seed % 2) },
    clockOffset: (_place, random) => Math.round(random.between(-SKEW_MS / 2, SKEW_MS / 2)),
    faults: {
      delay: [0.5, 6],
      late: 0.02,
      lateMax: 4_000,
      loseRequest: 0.015,
      loseAnswer: 0.015,
      noticed: 0.7,
      crashBeforeCommit: 0.006,
      crashAfterCommit: 0.006,
      evict: 0.006,
      supersede: 0.006,
    },
  });
}

function toldTo({ ended }: Asked): readonly Told[] {
  return ended?.kind === "ok" ? ended.addresses : [];
}

/** One thing that a client, an operator or a check does; nobody waits for it. */
function operate(scene: Scene): void {
  const { random } = scene.world;
  const host = random.pick(HOSTS);
  const draw = random.next();
  if (draw < 0.45) {
    const handle = random.pick(HANDLES);
    const wish =
      handle === "limit1"
        ? { handle, maxPerHandle: 1, v4: 1 }
        : { handle, v4: 1 + random.below(2), v6: random.below(2) };
    void scene.allocate(host, wish);
  } else if (draw < 0.6) void scene.release(random.pick(HANDLES));
  else if (draw < 0.75) {
    const known = scene.asked.flatMap(toldTo);
    if (known.length === 0) return;
    const { block, address, sequenceNumber } = random.pick(known.slice(-12));
    void scene.releaseAddress(block, { address, sequenceNumber });
  } else if (draw < 0.81) void giveUpBlocks(scene, host, random.chance(0.6));
  else if (draw < 0.87) void claimBlock(scene, host, "v4", `10.0.0.${4 * random.below(4)}/30`);
  else if (draw < 0.9) endAndBegin(scene);
  else if (draw < 0.96) beginCheck(scene);
  else scene.world.evict(random.chance(0.3) ? SWEEP : random.pick(scene.world.objectNames));
}

/** A host is removed or comes back, a pool drains or is made again. */
function endAndBegin({ world, deployed: { ports } }: Scene): void {
  const { random } = world;
  const host = random.pick(HOSTS);
  const name = "other";
  const begun: Promise<unknown> = random.pick([
    () => ports.host(host).remove({ host }),
    () => ports.host(host).register({ host, labels: {} }),
    () => ports.host(host).register({ host, labels: {} }),
    () => ports.cluster().drainPool({ name, by: "test" }),
    () => ports.cluster().patchPool({ name, patch: { draining: false }, by: "test" }),
    () => ports.cluster().putPool({ name, spec: POOLS.other, by: "test" }),
  ])();
  begun.catch(() => undefined);
}

function beginCheck(scene: Scene): void {
  const started = scene.deployed.ports.sweep().startCheck({ repair: true });
  started.then((one) => count(one.ok ? "started" : "busy")).catch(() => undefined);
}

/** Records that list something which is not there: harmless between checks, gone after a repair. */
async function surplus(scene: Scene): Promise<string[]> {
  const { blocks, keys, affinities } = snapshot(scene);
  const directory = await listedBlocks(scene);
  const held = new Set(
    blocks.flatMap(({ block, held }) => held.map((one) => `${one.handle} ${one.key} ${block}`)),
  );
  const owned = new Set(blocks.map(({ block, owner }) => `${owner} ${block}`));
  const existing = new Set(
    blocks.filter((one) => one.owner !== undefined || one.held.length > 0).map(({ block }) => block),
  );
  const rows = keys
    .filter(({ state }) => state === "reserved")
    .map(({ handle, key, block }) => `${handle} ${key} ${block}`);
  return [
    ...rows.filter((row) => !held.has(row)).map((row) => `index lists ${row}`),
    ...affinities
      .filter(({ host, block, state }) => state !== "confirmed" || !owned.has(`${host} ${block}`))
      .map(({ host, block, state }) => `${host} has ${block} ${state}`),
    ...directory.filter((block) => !existing.has(block)).map((block) => `directory lists ${block}`),
  ];
}

/** Blocks in the directories of the pools that are there; nobody asks those that have gone. */
async function listedBlocks({ world, deployed: { ports } }: Scene): Promise<string[]> {
  const { policy } = await world.during(ports.cluster().policy({}));
  const listed: string[] = [];
  for (const { name: pool, incarnation, cidr, blockSize } of policy?.pools ?? []) {
    const page = { pool, incarnation, cidr, blockSize, limit: 100 };
    const { entries } = await world.during(ports.pool(pool, incarnation).list(page));
    listed.push(...entries.map(({ block }) => block));
  }
  return listed;
}

/** Rows of a Pool or a Host become wrong: whoever believes them is refused by the block. */
function spoil({ world }: Scene): void {
  const { random } = world;
  const position = `x'${random.below(4).toString(16).padStart(32, "0")}'`;
  const host = `host:v1:default:${random.pick(HOSTS)}`;
  const any = "block = (SELECT min(block) FROM affinities)";
  const damages: readonly (readonly [object: string, query: string])[] = [
    [POOL, `UPDATE block SET confirmed = NULL WHERE position = ${position}`],
    [POOL, `UPDATE block SET owner = 'b', confirmed = NULL WHERE state = 'owned' AND position = ${position}`],
    [POOL, `DELETE FROM block WHERE position = ${position}`],
    [
      POOL,
      `UPDATE block SET state = 'draining', owner = NULL, confirmed = NULL WHERE position = ${position}`,
    ],
    [POOL, "DELETE FROM extent WHERE first > x'00'"],
    [host, `UPDATE affinities SET epoch = epoch + 1 WHERE ${any}`],
    [host, `UPDATE affinities SET state = 'pending' WHERE ${any}`],
    [host, `UPDATE affinities SET state = 'pendingDeletion' WHERE ${any}`],
  ];
  const [object, query] = random.pick(damages);
  if (world.rows(object, "SELECT name FROM sqlite_master WHERE name = 'schema_version'").length === 0) return;
  world.damage(object, query);
}

async function run(seed: number, isSpoilt: boolean): Promise<void> {
  const watch = new Watch();
  const scene = await open(seed, watch);
  const { world } = scene;
  const found = new Set<string>();
  const look = (): void => {
    const seen = snapshot(scene);
    // Rows that are spoilt contradict each other until they are mended.
    for (const finding of isSpoilt ? [] : checkRows(seen)) found.add(finding);
    for (const finding of checkLimits(scene, seen)) found.add(finding);
  };
  for (let step = 0; step < OPERATIONS; step += 1) {
    operate(scene);
    if (isSpoilt && world.random.chance(0.08)) spoil(scene);
    await world.advance(
      world.random.chance(0.15) ? world.random.between(500, 6_000) : world.random.between(0, 60),
    );
    look();
  }
  world.faults = {};
  await world.advance(60_000);
  look();
  for (const finding of checkHistory(scene, snapshot(scene))) found.add(finding);
  expect([...found, ...watch.findings], `seed ${seed}\n${world.report(80)}`).toEqual([]);
  const repaired = await check(scene, { repair: true });
  for (const row of world.rows(SWEEP, "SELECT check_number AS number, finding, repaired FROM findings")) {
    const { problem } = JSON.parse(String(row.finding)) as Finding;
    count(problem);
    if (row.repaired === 1)
      count(row.number === Number(repaired.view.id) ? "repaired" : "repaired meanwhile");
  }
  count(repaired.view.state);
  expect(repaired.view, lines(repaired).join("\n")).toMatchObject({ problems: repaired.view.repaired });
  const second = await check(scene);
  expect(lines(second), `seed ${seed}: after repair`).toEqual([]);
  for (const finding of [...checkRows(snapshot(scene)), ...checkHistory(scene, snapshot(scene))]) {
    found.add(finding);
  }
  expect([...found], `seed ${seed}`).toEqual([]);
  expect(await surplus(scene), `seed ${seed}: after repair`).toEqual([]);
}

async function runAll(isSpoilt: boolean, rare: readonly string[]): Promise<void> {
  reached.clear();
  for (const seed of SEEDS) await run(seed, isSpoilt);
  noteCases(SEEDS.length);
  const counts = [...reached].sort().map(([what, times]) => `${what} ${times}`);
  console.info(`${SEEDS.length} histories: ${counts.join(", ")}`);
  if (isUsual) expect(rare.filter((what) => !reached.has(what))).toEqual([]);
}

test(
  "I1–I15: checks with repair under traffic and crashes change no truth; at rest one repair is enough",
  () => runAll(false, ["done", "busy", "repaired meanwhile", "row_unsettled"]),
  300_000 * factor,
);

test(
  "I1, I4, I13: what is wrong in Pools and Hosts is mended under traffic, no address is lost or doubled",
  () =>
    runAll(true, [
      "repaired meanwhile",
      "block_not_listed",
      "owner_differs",
      "epoch_behind",
      "epoch_differs",
      "route_missing",
      "space_lost",
    ]),
  300_000 * factor,
);
