/** One ordinal: its state by time, and which past tenures are kept. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  ENDED_MAX,
  type EndedTenure,
  freeAt,
  inRanges,
  type OrdinalRow,
  pruneEnded,
  stateOf,
} from "../../src/core/ordinal.ts";

const AGE = { inFlightMs: 2_100, spentKeyMs: 600_000 };
const NOW = 10_000_000;

function tenure(releasedAt: number, key = "k"): EndedTenure {
  return {
    handle: "h",
    key,
    granted: 1,
    host: "a",
    use: "Workload",
    attributes: { pod: "x" },
    leakCollection: "auto",
    sequenceNumber: 1,
    allocatedAt: 0,
    releasedAt,
    freedAt: 2,
  };
}

const row = (ended: EndedTenure[]): OrdinalRow => ({ ordinal: 0, number: 2, at: NOW, ended });

test("I2 I12: free is derived: never used, or the cooldown of the asker has passed to the millisecond", () => {
  expect([stateOf(undefined, 1_000, NOW), freeAt(undefined, 1_000)]).toEqual(["free", 0]);
  expect(stateOf(row([]), 1_000, NOW), "used only by what was undone").toBe("free");
  const released = row([tenure(NOW - 999)]);
  expect([stateOf(released, 1_000, NOW), freeAt(released, 1_000)]).toEqual(["cooling", NOW + 1]);
  expect(stateOf(released, 1_000, NOW + 1)).toBe("free");
  expect(stateOf(released, 0, NOW)).toBe("free");
  const { releasedAt: _releasedAt, freedAt: _freedAt, ...current } = tenure(0);
  expect(stateOf({ ...released, current }, 0, NOW)).toBe("allocated");
});

test("I13: what a late message or a replay may ask for is kept, and no more than that", () => {
  const ages = fc.array(fc.integer({ min: 0, max: 700_000 }), { maxLength: 40 });
  fc.assert(
    fc.property(ages, (given) => {
      const ended = given.toSorted((a, b) => a - b).map((age, place) => tenure(NOW - age, `k${place}`));
      const kept = pruneEnded(ended, NOW, AGE);
      const keys = kept.map(({ key }) => key);
      for (const [place, { key, releasedAt }] of ended.entries()) {
        const age = NOW - releasedAt;
        const isNeeded = place === 0 || age < AGE.inFlightMs || (place < ENDED_MAX && age < AGE.spentKeyMs);
        expect(keys.includes(key), `${key}, ${age} ms old`).toBe(isNeeded);
      }
      expect(keys).toEqual(ended.map(({ key }) => key).filter((key) => keys.includes(key)));
      expect(kept[0]?.attributes ?? { pod: "x" }).toEqual({ pod: "x" });
      for (const { attributes } of kept.slice(1)) expect(attributes).toEqual({});
    }),
  );
});

test("ranges of ordinals include both ends", () => {
  const ranges = [[2, 3] as const, [5, 5] as const];
  const inside = [0, 1, 2, 3, 4, 5, 6].filter((ordinal) => inRanges(ranges, ordinal));
  expect(inside).toEqual([2, 3, 5]);
  expect(inRanges([], 0)).toBe(false);
});
