import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BlockCounts } from "../../src/core/allocation.ts";
import { agedCounts, COOLING_STEPS_MAX, type CoolingStep, coolingStepsOf } from "../../src/core/cooling.ts";

const times = fc.array(fc.record({ at: fc.integer({ min: 1, max: 500 }), isReserved: fc.boolean() }), {
  maxLength: 200,
});

function coolingSteps(all: readonly { readonly at: number; readonly isReserved: boolean }[]): CoolingStep[] {
  const sorted = all.toSorted((one, other) => one.at - other.at);
  const at = (place: number) => sorted[place]?.at ?? Number.NaN;
  return coolingStepsOf(sorted.length, at, (place) => sorted[place]?.isReserved !== true);
}

describe("steps of cooling", () => {
  test("few steps hold every address, none before its time", () => {
    fc.assert(
      fc.property(times, fc.integer({ min: 0, max: 600 }), (all, now) => {
        const steps = coolingSteps(all);
        expect(steps.length).toBeLessThanOrEqual(COOLING_STEPS_MAX);
        expect(steps.reduce((sum, { count }) => sum + count, 0)).toBe(all.length);
        expect(steps.map(({ at }) => at)).toEqual(steps.map(({ at }) => at).toSorted((a, b) => a - b));
        const said = steps.filter(({ at }) => at <= now);
        const free = all.filter(({ at }) => at <= now);
        expect(said.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(free.length);
        const open = free.filter(({ isReserved }) => !isReserved).length;
        expect(said.reduce((sum, one) => sum + one.open, 0)).toBeLessThanOrEqual(open);
      }),
    );
  });

  test("few times are told exactly", () => {
    const all = [30, 10, 10, 20].map((at) => ({ at, isReserved: at === 20 }));
    expect(coolingSteps(all)).toEqual([
      { at: 10, count: 2, open: 2 },
      { at: 20, count: 1, open: 0 },
      { at: 30, count: 1, open: 1 },
    ]);
  });

  test("I14: aged figures partition the block, and all is free after the last step", () => {
    fc.assert(
      fc.property(times, fc.integer({ min: 0, max: 600 }), (all, now) => {
        const steps = coolingSteps(all);
        const counts: BlockCounts = {
          capacity: 256,
          allocated: 56,
          cooling: all.length,
          hostReserved: 0,
          free: 200 - all.length,
          reserved: 0,
          available: 0,
          borrowed: 0,
          asOf: 0,
          coolingSteps: steps,
        };
        const aged = agedCounts(counts, now);
        expect(aged.allocated + aged.cooling + aged.hostReserved + aged.free).toBe(aged.capacity);
        expect(agedCounts(aged, now)).toEqual(aged);
        const late = agedCounts(counts, 501);
        expect(late.cooling).toBe(0);
        expect(late.available).toBe(all.filter(({ isReserved }) => !isReserved).length);
        expect(late.nextFreeAt).toBeUndefined();
      }),
    );
  });
});
