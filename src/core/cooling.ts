/**
 * When cooling addresses become free, in few steps, so that dated figures can follow the clock.
 * May import: core only. A step never says that an address is free before it is.
 */
import type { BlockCounts } from "./allocation.ts";

/** From `at` on, `count` more addresses are free, of which `open` are not reserved. Units: ms since 1970. */
export interface CoolingStep {
  readonly at: number;
  readonly count: number;
  readonly open: number;
}

/** Steps that figures carry at most; a block of 4,096 addresses may have as many times. */
export const COOLING_STEPS_MAX = 8;

/**
 * Puts the times at which single addresses are free into few steps, ascending.
 * Invariant: each address counts in a step that is not earlier than its own time.
 */
export function coolingSteps(
  times: readonly { readonly at: number; readonly isReserved: boolean }[],
): CoolingStep[] {
  const sorted = times.toSorted((one, other) => one.at - other.at);
  const perStep = Math.ceil(sorted.length / COOLING_STEPS_MAX);
  const steps: CoolingStep[] = [];
  for (let begin = 0; begin < sorted.length; ) {
    let end = Math.min(begin + perStep, sorted.length);
    // Whatever is free at the same time belongs to the same step.
    while (end < sorted.length && sorted[end]?.at === sorted[end - 1]?.at) end += 1;
    const part = sorted.slice(begin, end);
    const open = part.filter(({ isReserved }) => !isReserved).length;
    steps.push({ at: part.at(-1)?.at ?? 0, count: part.length, open });
    begin = end;
  }
  return steps;
}

/**
 * Moves dated figures to a later time: what has cooled since is free.
 * Invariant: the figures still partition the block (I14); nothing else can have changed by time alone.
 */
export function agedCounts(counts: BlockCounts, now: number): BlockCounts {
  const { coolingSteps: steps = [], nextFreeAt: _next, ...rest } = counts;
  const past = steps.filter(({ at }) => at <= now);
  if (past.length === 0) return counts;
  const left = steps.slice(past.length);
  const freed = past.reduce((sum, { count }) => sum + count, 0);
  const opened = past.reduce((sum, { open }) => sum + open, 0);
  const next = left.find(({ open }) => open > 0)?.at;
  return {
    ...rest,
    cooling: counts.cooling - freed,
    free: counts.free + freed,
    available: counts.available + opened,
    ...(next === undefined ? {} : { nextFreeAt: next }),
    ...(left.length === 0 ? {} : { coolingSteps: left }),
  };
}
