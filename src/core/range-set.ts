/**
 * Sets of addresses of one family, kept as sorted, disjoint, inclusive ranges.
 * May import: core only. A set never changes; cost depends on ranges, not on addresses.
 */
import { type Cidr, lastAddress } from "./cidr.ts";
import type { Family } from "./errors.ts";
import { invariant } from "./invariant.ts";

/** Shape: both ends belong to the range. */
export interface AddressRange {
  readonly first: bigint;
  readonly last: bigint;
}

// Math.min and Math.max do not take a bigint.
function smaller(one: bigint, other: bigint): bigint {
  if (one < other) return one;
  return other;
}

function larger(one: bigint, other: bigint): bigint {
  if (one > other) return one;
  return other;
}

/** Sorts ranges and joins those that overlap or touch. */
function joined(ranges: readonly AddressRange[]): AddressRange[] {
  const sorted = ranges.toSorted((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  const result: AddressRange[] = [];
  for (const range of sorted) {
    const previous = result.at(-1);
    if (previous === undefined || range.first > previous.last + 1n) {
      result.push(range);
    } else if (range.last > previous.last) {
      result[result.length - 1] = { first: previous.first, last: range.last };
    }
  }
  return result;
}

/** Invariant: `ranges` are sorted, disjoint and do not touch. The empty set is of no family. */
export class RangeSet {
  static readonly empty = new RangeSet(undefined, []);

  readonly family: Family | undefined;
  readonly ranges: readonly AddressRange[];

  private constructor(family: Family | undefined, ranges: readonly AddressRange[]) {
    this.family = family;
    this.ranges = ranges;
  }

  /** Makes a set from any ranges of one family: unsorted, nested or repeated ones are fine. */
  static of(family: Family, ranges: readonly AddressRange[]): RangeSet {
    invariant(
      ranges.every(({ first, last }) => first <= last),
      "a range ends before it begins",
    );
    return ranges.length === 0 ? RangeSet.empty : new RangeSet(family, joined(ranges));
  }

  get isEmpty(): boolean {
    return this.ranges.length === 0;
  }

  /** The number of addresses in the set. */
  get size(): bigint {
    return this.ranges.reduce((sum, { first, last }) => sum + last - first + 1n, 0n);
  }

  /** Tells whether the set holds an address of its family. */
  contains(value: bigint): boolean {
    const range = this.ranges[this.indexOfRangeEndingFrom(value)];
    return range !== undefined && range.first <= value;
  }

  /** The part of the set that lies in a range. */
  intersectCidr(cidr: Cidr): RangeSet {
    this.expectFamily(cidr.family);
    const end = lastAddress(cidr);
    const inside: AddressRange[] = [];
    for (let i = this.indexOfRangeEndingFrom(cidr.base); i < this.ranges.length; i++) {
      const { first, last } = this.rangeAt(i);
      if (first > end) break;
      inside.push({ first: larger(first, cidr.base), last: smaller(last, end) });
    }
    return RangeSet.of(cidr.family, inside);
  }

  /** The number of addresses that the set and a range share. */
  countWithin(cidr: Cidr): bigint {
    return this.intersectCidr(cidr).size;
  }

  /** The addresses of this set and of the other. */
  union(other: RangeSet): RangeSet {
    if (other.family === undefined) return this;
    this.expectFamily(other.family);
    return RangeSet.of(other.family, [...this.ranges, ...other.ranges]);
  }

  /** The addresses of this set that the other does not hold. */
  subtract(other: RangeSet): RangeSet {
    if (this.family === undefined || other.family === undefined) return this;
    this.expectFamily(other.family);
    const left: AddressRange[] = [];
    for (const { first, last } of this.ranges) {
      let from = first;
      for (let i = other.indexOfRangeEndingFrom(first); i < other.ranges.length && from <= last; i++) {
        const hole = other.rangeAt(i);
        if (hole.first > last) break;
        if (hole.first > from) left.push({ first: from, last: hole.first - 1n });
        from = hole.last + 1n;
      }
      if (from <= last) left.push({ first: from, last });
    }
    return RangeSet.of(this.family, left);
  }

  /** The first address from `value` on, up to `last`, that is not in the set. */
  firstFreeFrom(value: bigint, last: bigint): bigint | undefined {
    const range = this.ranges[this.indexOfRangeEndingFrom(value)];
    const free = range !== undefined && range.first <= value ? range.last + 1n : value;
    return free <= last ? free : undefined;
  }

  /** The index of the first range whose end is not before `value`; binary search. */
  private indexOfRangeEndingFrom(value: bigint): number {
    let low = 0;
    let high = this.ranges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.rangeAt(middle).last < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private rangeAt(index: number): AddressRange {
    const range = this.ranges[index];
    invariant(range !== undefined, "range index out of bounds");
    return range;
  }

  private expectFamily(family: Family): void {
    invariant(this.family === undefined || this.family === family, "sets of two families do not mix");
  }
}

/** Makes the set of all addresses of some ranges of one family. */
export function rangeSetOf(cidrs: readonly Cidr[]): RangeSet {
  const family = cidrs[0]?.family;
  if (family === undefined) return RangeSet.empty;
  invariant(
    cidrs.every((cidr) => cidr.family === family),
    "a range set is of one family",
  );
  return RangeSet.of(
    family,
    cidrs.map((cidr) => ({ first: cidr.base, last: lastAddress(cidr) })),
  );
}
