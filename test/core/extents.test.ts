/** Free space as extents against a naive set of positions. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Extent,
  type ExtentChange,
  type ExtentSource,
  excludedAt,
  firstFree,
  isFree,
  returning,
  taking,
} from "../../src/core/extents.ts";

const POSITIONS = 24n;

/** Extents in a sorted list, as the table keeps them; counts what it reads. */
class Space implements ExtentSource {
  extents: Extent[];
  reads = 0;
  written = 0;

  constructor(positions: bigint) {
    this.extents = [{ first: 0n, last: positions - 1n }];
  }

  endingFrom(position: bigint): Extent | undefined {
    this.reads += 1;
    return this.extents.find(({ last }) => last >= position);
  }

  apply(changes: readonly ExtentChange[]): void {
    for (const change of changes) {
      this.written += 1;
      const key = change.kind === "put" ? change.extent.last : change.last;
      this.extents = this.extents.filter(({ last }) => last !== key);
      if (change.kind === "put") this.extents.push(change.extent);
      this.extents.sort((a, b) => (a.last < b.last ? -1 : 1));
    }
  }

  members(): bigint[] {
    const found: bigint[] = [];
    for (const { first, last } of this.extents) for (let p = first; p <= last; p += 1n) found.push(p);
    return found;
  }
}

const position = fc.bigInt(0n, POSITIONS - 1n);
/** Each step toggles a position: taken if free, returned if not. */
const toggles = fc.array(position, { maxLength: 60 });
const excludedRanges = fc.uniqueArray(position, { maxLength: 8 }).map((ends) => {
  const sorted = ends.toSorted((a, b) => (a < b ? -1 : 1));
  const ranges: [bigint, bigint][] = [];
  for (let i = 0; i + 1 < sorted.length; i += 2) ranges.push([sorted[i]!, sorted[i + 1]!]);
  return ranges;
});

function toggled(steps: readonly bigint[]): { space: Space; free: Set<bigint> } {
  const space = new Space(POSITIONS);
  const free = new Set(space.members());
  for (const step of steps) {
    const wasFree = free.has(step);
    expect(isFree(space, step)).toBe(wasFree);
    space.apply(wasFree ? taking(space, step) : returning(space, step));
    if (wasFree) free.delete(step);
    else free.add(step);
  }
  return { space, free };
}

describe("extents", () => {
  it("I5: hold exactly the positions that were not taken, each once", () => {
    fc.assert(
      fc.property(toggles, (steps) => {
        const { space, free } = toggled(steps);
        expect(space.members()).toEqual([...free].toSorted((a, b) => (a < b ? -1 : 1)));
      }),
    );
  });

  it("never touch each other: neighbours are joined", () => {
    fc.assert(
      fc.property(toggles, (steps) => {
        const { space } = toggled(steps);
        for (const [i, extent] of space.extents.entries()) {
          expect(extent.first <= extent.last).toBe(true);
          const next = space.extents[i + 1];
          expect(next === undefined || next.first > extent.last + 1n).toBe(true);
        }
      }),
    );
  });

  it("write at most two rows per step, one when the first position of an extent is taken", () => {
    fc.assert(
      fc.property(toggles, position, (steps, next) => {
        const { space, free } = toggled(steps);
        const changes = free.has(next) ? taking(space, next) : returning(space, next);
        expect(changes.length).toBeLessThanOrEqual(2);
        const isFirst = space.extents.some(({ first }) => first === next);
        if (isFirst) expect(changes.length).toBe(1);
      }),
    );
  });

  it("refuse to take what is not free and to return what is", () => {
    fc.assert(
      fc.property(toggles, position, (steps, next) => {
        const { space, free } = toggled(steps);
        if (free.has(next)) expect(() => returning(space, next)).toThrow("is free already");
        else expect(() => taking(space, next)).toThrow("is not free");
      }),
    );
  });
});

describe("firstFree", () => {
  it("finds the first free position from the start that is not excluded, wrapping round once", () => {
    fc.assert(
      fc.property(toggles, position, excludedRanges, (steps, start, excluded) => {
        const { space, free } = toggled(steps);
        const circle = Array.from({ length: Number(POSITIONS) }, (_, i) => (start + BigInt(i)) % POSITIONS);
        const isExcluded = (p: bigint) => excluded.some(([first, last]) => first <= p && p <= last);
        const expected = circle.find((p) => free.has(p) && !isExcluded(p));
        space.reads = 0;
        expect(firstFree(space, POSITIONS, start, excluded)).toBe(expected);
        expect(space.reads).toBeLessThanOrEqual(excluded.length + 3);
      }),
    );
  });

  it("passes over 2^73 excluded positions of 2^74 in one step", () => {
    const positions = 1n << 74n;
    const space = new Space(positions);
    const half = positions / 2n;
    expect(firstFree(space, positions, 5n, [[0n, half - 1n]])).toBe(half);
    expect(firstFree(space, positions, half, [[half, positions - 1n]])).toBe(0n);
    expect(firstFree(space, positions, half, [[0n, positions - 1n]])).toBeUndefined();
    expect(space.reads).toBeLessThanOrEqual(6);
  });
});

describe("excludedAt", () => {
  it("finds the range that holds a position", () => {
    fc.assert(
      fc.property(excludedRanges, position, (excluded, p) => {
        const expected = excluded.find(([first, last]) => first <= p && p <= last);
        expect(excludedAt(excluded, p)).toEqual(expected);
      }),
    );
  });
});
