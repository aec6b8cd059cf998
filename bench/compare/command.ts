/**
 * The comparison as the command line has it: all of it, or the part about allocations only.
 * May import: the comparison. Rule: an unknown subject is an error, never an empty result.
 */
import { compare, type Options, SUBJECTS } from "./compare.ts";
import { PEER_IDS } from "./peers.ts";

const FILE = new URL("../../reports/bench.json", import.meta.url).pathname;
const SKELETONS = SUBJECTS.map(({ id }) => id).filter((id) => id.includes("skeleton"));
const ALLOCATIONS = ["noop", "write", "no-call", "one-call", ...SKELETONS, "allocate-1", "allocate-50"];

function optionsOf(wanted: readonly string[]): Options {
  const { BENCH_ROUNDS, BENCH_SECONDS, BENCH_WARM_UP_SECONDS, BENCH_PROCESSES, BENCH_FILE } = process.env;
  return {
    rounds: Number(BENCH_ROUNDS ?? 5),
    seconds: Number(BENCH_SECONDS ?? 1),
    warmUpSeconds: Number(BENCH_WARM_UP_SECONDS ?? 1),
    processes: Number(BENCH_PROCESSES ?? 1),
    wanted,
    file: BENCH_FILE ?? FILE,
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
  return await compare(optionsOf(ALLOCATIONS));
}
