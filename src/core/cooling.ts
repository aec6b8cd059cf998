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
 * Shape: `at` gives the time of each place, ascending; `isOpen` tells which are not reserved: all.
 * Invariant: each address counts in a step that is not earlier than its own time.
 */
export function coolingStepsOf(
  length: number,
  at: (place: number) => number,
  isOpen?: (place: number) => boolean,
): CoolingStep[] {
  const perStep = Math.ceil(length / COOLING_STEPS_MAX);
  const steps: CoolingStep[] = [];
  for (let begin = 0; begin < length; ) {
    const last = at(Math.min(begin + perStep, length) - 1);
    // Whatever is free at the same time belongs to the same step.
    const end = endOf(last, Math.min(begin + perStep, length), length, at);
    const count = end - begin;
    steps.push({ at: last, count, open: isOpen === undefined ? count : openWithin(begin, end, isOpen) });
    begin = end;
  }
  return steps;
}

/** Where the places of a time end. Why by halves: thousands may have been released at once. */
function endOf(time: number, from: number, length: number, at: (place: number) => number): number {
  let low = from;
  let high = length;
  while (low < high) {
    const middle = low === from ? from : (low + high) >> 1;
    if (at(middle) > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

function openWithin(begin: number, end: number, isOpen: (place: number) => boolean): number {
  let open = 0;
  for (let place = begin; place < end; place += 1) if (isOpen(place)) open += 1;
  return open;
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
