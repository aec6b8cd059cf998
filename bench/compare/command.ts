/**
 * The comparison as the command line has it: all of it, or the part about allocations only.
 * May import: the comparison. Rule: an unknown subject is an error, never an empty result.
 */
import { compare, type Options, SUBJECTS } from "./compare.ts";
import { PEER_IDS } from "./peers.ts";

const FILE = new URL("../../reports/bench.json", import.meta.url).pathname;
const SKELETONS = SUBJECTS.map(({ id }) => id).filter((id) => id.includes("skeleton"));
const BESIDE = ["noop", "write", "no-call", "one-call"];
const ALLOCATIONS = [...BESIDE, ...SKELETONS, ...[1, 50].flatMap((n) => [`allocate-${n}`, `roomy-${n}`])];

/** What the environment says of a run. Rejects: a value that is no number, or below what makes sense. */
export function optionsOf(
  wanted: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Options {
  const numberOf = (name: string, usual: number, least: number): number => {
    const text = env[name];
    const value = Number(text ?? usual);
    const isSound = text !== "" && Number.isFinite(value) && value >= least;
    if (isSound && (least < 1 || Number.isInteger(value))) return value;
    throw new RangeError(`${name}=${text} must be a ${least < 1 ? "" : "whole "}number from ${least} on`);
  };
  return {
    rounds: numberOf("BENCH_ROUNDS", 5, 1),
    seconds: numberOf("BENCH_SECONDS", 1, 0.05),
    warmUpSeconds: numberOf("BENCH_WARM_UP_SECONDS", 1, 0),
    processes: numberOf("BENCH_PROCESSES", 1, 1),
    wanted,
    file: env.BENCH_FILE ?? FILE,
  };
}

/** All subjects and peers, or those that BENCH_SUBJECTS names. */
export async function benchCompare(): Promise<boolean> {
  const wanted = process.env.BENCH_SUBJECTS?.split(",").filter((id) => id !== "") ?? [];
  const known = [...SUBJECTS.map(({ id }) => id), ...PEER_IDS];
  const unknown = wanted.filter((id) => !known.includes(id));
  if (unknown.length > 0) {
    console.error(`bench: there is no ${unknown.join(", ")}; there is: ${known.join(", ")}`);
    return false;
  }
  return await compare(optionsOf(wanted));
}

/** What is inside an allocation, beside the floor. */
export async function benchAllocate(): Promise<boolean> {
  if (process.env.BENCH_SUBJECTS !== undefined) {
    console.error(
      "bench: this part has lines of its own; leave BENCH_SUBJECTS out, or run all: npm run bench",
    );
    return false;
  }
  return await compare(optionsOf(ALLOCATIONS));
}
