/** Sets of ranges against a naive model: a set of numbers within 10.0.0.0/24. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blockOf, type Cidr } from "../../src/core/cidr.ts";
import { RangeSet, rangeSetOf } from "../../src/core/range-set.ts";

const BASE = 10n << 24n;
const ALL = Array.from({ length: 256 }, (_, i) => BASE + BigInt(i));

const smallCidrs: fc.Arbitrary<Cidr> = fc
  .tuple(fc.nat(255), fc.integer({ min: 26, max: 32 }))
  .map(([offset, prefix]) => blockOf({ family: 4, value: BASE + BigInt(offset) }, prefix));
const lists = fc.array(smallCidrs, { maxLength: 12 });

function model(cidrs: readonly Cidr[]): Set<bigint> {
  return new Set(
    ALL.filter((value) =>
      cidrs.some((cidr) => blockOf({ family: 4, value }, cidr.prefix).base === cidr.base),
    ),
  );
}

function members(set: RangeSet): Set<bigint> {
  return new Set(ALL.filter((value) => set.contains(value)));
}

describe("RangeSet", () => {
  it("holds what its ranges hold, however they nest, touch or repeat", () => {
    fc.assert(
      fc.property(lists, (cidrs) => {
        const set = rangeSetOf(cidrs);
        expect(members(set)).toEqual(model(cidrs));
        expect(set.size).toBe(BigInt(model(cidrs).size));
        expect(set.isEmpty).toBe(cidrs.length === 0);
      }),
    );
  });

  it("keeps its ranges sorted, disjoint and apart", () => {
    fc.assert(
      fc.property(lists, lists, (one, other) => {
        const set = rangeSetOf(one).subtract(rangeSetOf(other));
        for (const [i, range] of set.ranges.entries()) {
          expect(range.first <= range.last).toBe(true);
          const next = set.ranges[i + 1];
          expect(next === undefined || next.first > range.last + 1n).toBe(true);
        }
      }),
    );
  });

  it("intersects with and counts within a range", () => {
    fc.assert(
      fc.property(lists, smallCidrs, (cidrs, window) => {
        const expected = model(cidrs).intersection(model([window]));
        expect(members(rangeSetOf(cidrs).intersectCidr(window))).toEqual(expected);
        expect(rangeSetOf(cidrs).countWithin(window)).toBe(BigInt(expected.size));
      }),
    );
  });

  it("subtracts and unites", () => {
    fc.assert(
      fc.property(lists, lists, (one, other) => {
        const [a, b] = [rangeSetOf(one), rangeSetOf(other)];
        expect(members(a.subtract(b))).toEqual(model(one).difference(model(other)));
        expect(members(a.union(b))).toEqual(model(one).union(model(other)));
        expect(a.subtract(b).size + b.size).toBe(a.union(b).size);
      }),
    );
  });

  it("finds the first free address within a bound", () => {
    fc.assert(
      fc.property(lists, fc.nat(255), fc.nat(255), (cidrs, from, to) => {
        const held = model(cidrs);
        const expected = ALL.slice(from, to + 1).find((value) => !held.has(value));
        const found = rangeSetOf(cidrs).firstFreeFrom(BASE + BigInt(from), BASE + BigInt(to));
        expect(found).toBe(expected);
      }),
    );
  });

  it("does not count addresses one by one", () => {
    const half = rangeSetOf([blockOf({ family: 6, value: 0n }, 1)]);
    expect(half.size).toBe(1n << 127n);
    expect(half.firstFreeFrom(5n, (1n << 128n) - 1n)).toBe(1n << 127n);
  });

  it("refuses to mix families", () => {
    const four = rangeSetOf([blockOf({ family: 4, value: 0n }, 8)]);
    const six = blockOf({ family: 6, value: 0n }, 8);
    expect(() => four.intersectCidr(six)).toThrow("families");
    expect(() => four.union(rangeSetOf([six]))).toThrow("families");
    expect(() => rangeSetOf([six, blockOf({ family: 4, value: 0n }, 8)])).toThrow("one family");
    expect(RangeSet.empty.countWithin(six)).toBe(0n);
  });
});
