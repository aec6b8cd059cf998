/**
 * `npm run hunt`: the random tests again and again, with fresh seeds and more cases, until the time is
 * over; then what ran and what failed. May import: the seeds, node.
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { freshSeed } from "../support/seeds.ts";
import { randomTests } from "./files.ts";
import { playRound, type Round } from "./round.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url).href);
/** Histories that are drawn one by one take as many seeds in a row; no two rounds share one. */
const SEEDS_PER_ROUND = 10_000;
const USAGE = `npm run hunt -- [options] [files]
  --minutes M   how long (30); the round that runs then is cut off
  --factor F    how many times the usual number of cases in a round (4)
  --seed S      the first seed, instead of a fresh one`;

interface Failure {
  readonly file: string;
  readonly seed: number;
}

interface Options {
  readonly minutes: number;
  readonly factor: number;
  readonly seed: number;
  readonly files: readonly string[];
}

function optionsOf(args: string[]): Options {
  const text = { type: "string" } as const;
  const options = { minutes: text, factor: text, seed: text };
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const numberOf = (name: keyof typeof options, usual: number): number => {
    const number = Number(values[name] ?? usual);
    if (Number.isFinite(number) && number >= 0) return number;
    throw new Error(`--${name} ${values[name]} is no number`);
  };
  return {
    minutes: numberOf("minutes", 30),
    factor: numberOf("factor", 4),
    seed: numberOf("seed", freshSeed()),
    files: positionals.length > 0 ? positionals : randomTests(ROOT),
  };
}

/** Ends the hunt: when its time is over, or when it is told to stop. */
function endOf(minutes: number): AbortSignal {
  const stopped = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stopped.abort());
  return AbortSignal.any([AbortSignal.timeout(minutes * 60_000), stopped.signal]);
}

async function hunt({ minutes, factor, seed: first, files }: Options): Promise<boolean> {
  const signal = endOf(minutes);
  const cases = new Map<string, number>();
  const failures: Failure[] = [];
  console.log(`${files.length} files with random tests, ${factor} times their cases in a round`);
  let seed = first;
  for (; !signal.aborted; seed += SEEDS_PER_ROUND) {
    const beganAt = performance.now();
    const round = await playRound({ root: ROOT, files, seed, factor, signal });
    if (round.ended === "failed") console.log(round.output);
    for (const file of round.failed) failures.push({ file, seed });
    for (const [file, count] of round.cases) cases.set(file, (cases.get(file) ?? 0) + count);
    console.log(line(round, seed, (performance.now() - beganAt) / 1000));
    if (round.ended === "failed" && round.failed.length === 0) return false;
  }
  conclude(cases, failures, factor);
  return failures.length === 0;
}

function line({ ended, cases }: Round, seed: number, seconds: number): string {
  const count = sumOf(cases).toLocaleString("en");
  return `seed ${seed}: ${count} cases in ${seconds.toFixed(0)} s, ${ended}`;
}

function sumOf(cases: ReadonlyMap<string, number>): number {
  return [...cases.values()].reduce((sum, count) => sum + count, 0);
}

/** Says what ran, by file, and how each failure comes back. */
function conclude(cases: ReadonlyMap<string, number>, failures: readonly Failure[], factor: number): void {
  for (const [file, count] of cases) {
    console.log(`${file.padEnd(60)} ${count.toLocaleString("en").padStart(12)}`);
  }
  for (const { file, seed } of failures) {
    console.log(`failed: ${file}`);
    console.log(`  SEED=${seed} RUNS_FACTOR=${factor} npx vitest run \\\n    ${file}`);
  }
  console.log(`${sumOf(cases).toLocaleString("en")} cases, ${failures.length} failed`);
}

try {
  process.exitCode = (await hunt(optionsOf(process.argv.slice(2)))) ? 0 : 1;
} catch (thrown) {
  console.error(thrown instanceof Error ? thrown.message : thrown);
  console.error(USAGE);
  process.exitCode = 2;
}
