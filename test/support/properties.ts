/**
 * Runs before each test file: all properties draw from the seed of the run, and their cases are counted.
 * A failed one prints its seed. May import: fast-check, the seeds.
 */
import fc from "fast-check";
import { noteCases } from "./cases.ts";
import { runs, seed } from "./seeds.ts";

/** Of a property that names no number of its own. */
const RUNS = 100;

fc.configureGlobal({ seed, numRuns: runs(RUNS) });
fc.installGlobalPlugin(<T>() => ({
  onAllRunsComplete: ({ numRuns }: fc.RunDetails<T>) => noteCases(numRuns),
}));
