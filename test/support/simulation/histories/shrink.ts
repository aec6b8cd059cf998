/**
 * The shortest history that still shows what was found: operations and faults are left out, one lot
 * after another, as long as a finding of the same sort remains.
 * May import: the simulation. Rule: what it returns has been lived, never inferred.
 */
import { type LifeOptions, type Lived, live } from "./life.ts";
import type { Plan } from "./plan.ts";

/** What is left: positions in the plan's steps, and in the faults that its whole life met. */
export interface Kept {
  readonly steps: readonly number[];
  readonly faults: readonly number[];
}

export interface Shrunk extends Kept {
  readonly finding: string;
  /** Lives that were tried. */
  readonly lives: number;
}

/** Told after each life that was tried. */
type Progress = (lives: number, kept: Kept) => void;

/** Lives what is kept of a plan. */
export async function liveKept(
  plan: Plan,
  kept: Kept,
  faults: readonly string[],
  options: LifeOptions = {},
): Promise<Lived> {
  const onlyFaults = new Set(kept.faults.map((at) => faults[at] as string));
  const steps = kept.steps.map((at) => plan.steps[at]).filter((step) => step !== undefined);
  return await live({ ...plan, steps }, { ...options, onlyFaults });
}

/** The sort of a finding: the words before its details. */
export function sortOf(finding: string): string {
  return finding.slice(0, finding.indexOf(":"));
}

/** Shortens the history of a plan, whose life under these options found something, within so many lives. */
export async function shrink(
  plan: Plan,
  lived: Lived,
  livesMax: number,
  { progress, ...options }: LifeOptions & { readonly progress?: Progress } = {},
): Promise<Shrunk> {
  const sorts = new Set(lived.findings.map(sortOf));
  let finding = lived.findings[0] ?? "";
  let lives = 0;
  let best: Kept = { steps: [...plan.steps.keys()], faults: [...lived.faults.keys()] };
  const fails = async (kept: Kept): Promise<boolean> => {
    if (lives >= livesMax) return false;
    lives += 1;
    const { findings } = await liveKept(plan, kept, lived.faults, options);
    progress?.(lives, best);
    const same = findings.find((one) => sorts.has(sortOf(one)));
    if (same === undefined) return false;
    finding = same;
    best = kept;
    return true;
  };
  // Two passes: without some faults, operations become needless, and the other way round.
  for (let pass = 0; pass < 2; pass += 1) {
    await fails({ ...best, faults: [] });
    await reduce(best.steps, async (steps) => await fails({ ...best, steps }));
    await reduce(best.faults, async (faults) => await fails({ ...best, faults }));
  }
  return { ...best, finding, lives };
}

/** Leaves out lots of a list, halves first, then ever smaller ones, while the test still fails without them. */
async function reduce(
  list: readonly number[],
  fails: (rest: readonly number[]) => Promise<boolean>,
): Promise<void> {
  let rest = list;
  for (let lot = Math.ceil(rest.length / 2); rest.length > 0; lot = Math.ceil(lot / 2)) {
    for (let from = rest.length - lot; from > -lot; from -= lot) {
      const shorter = rest.filter((_, at) => at < from || at >= from + lot);
      if (shorter.length < rest.length && (await fails(shorter))) rest = shorter;
    }
    if (lot === 1) return;
  }
}
