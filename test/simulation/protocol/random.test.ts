/**
 * The real objects together under chance: late, lost, repeated messages, crashes, instances that live
 * on, clocks apart. `SIMULATE_SECONDS` goes on with further seeds; `SIMULATE_SEED` runs one alone.
 */
import { expect, test } from "vitest";
import { Workload } from "../../support/simulation/workload.ts";

const SEEDS = 100;
const SECONDS = Number(process.env.SIMULATE_SECONDS ?? 0);
const ONLY = process.env.SIMULATE_SEED;

/** Rare branches that the runs are about: one that was never reached proves nothing. */
const RARE = [
  "block late",
  "block full final",
  "block full not final",
  "block found",
  "block spent",
  "block affinity_lost final",
  "index listed",
  "index limit",
  "move moved",
  "claim refused",
  "claim late",
  "pool reclaim",
  "affinity block_not_empty",
  "retired applied",
  "release not_final",
  "address stale",
  "undone",
  "undo without effect",
  "offer declined",
  "give up released",
  "give up block_not_empty",
  "claim block claimed",
  "claim block owned_by_other",
  "owners set updated",
  "owner promote changed",
  "owner clear changed",
];

const reached = new Map<string, number>();

async function run(seed: number): Promise<number> {
  const ran = await Workload.run(seed);
  for (const [what, times] of ran.reached) reached.set(what, (reached.get(what) ?? 0) + times);
  if (ran.findings.length > 0) console.error(`SIMULATE_SEED=${seed}\n${ran.trace()}`);
  expect(ran.findings, `seed ${seed}`).toEqual([]);
  return ran.operations;
}

test(
  "I1–I10, I12–I15: whatever is late, lost, repeated or cut off, what was acknowledged holds",
  async () => {
    if (ONLY !== undefined) {
      await run(Number(ONLY));
      return;
    }
    const begun = performance.now();
    const seconds = (): number => (performance.now() - begun) / 1000;
    let operations = 0;
    let seed = 1;
    for (; seed <= SEEDS || seconds() < SECONDS; seed += 1) operations += await run(seed);
    const counts = [...reached].sort().map(([what, times]) => `${what} ${times}`);
    const perSecond = Math.round(operations / seconds());
    console.info(`${seed - 1} histories, ${operations} operations, ${perSecond}/s\n${counts.join(", ")}`);
    expect(RARE.filter((what) => !reached.has(what))).toEqual([]);
  },
  (SECONDS + 300) * 1000,
);
