/**
 * Free space of a pool as extents: which position to take, and how taking and returning change them.
 * May import: core only. Cost depends on the extents passed over, never on the positions in them.
 */
import { invariant } from "./invariant.ts";

/** A run of free positions; both ends belong to it. */
export interface Extent {
  readonly first: bigint;
  readonly last: bigint;
}

/** Where extents are kept. Invariant: they are disjoint and do not touch. */
export interface ExtentSource {
  /** The lowest extent that ends at the position or after it. */
  endingFrom(position: bigint): Extent | undefined;
}

/**
 * How stored extents change. Shape: extents are stored under their `last`, so that taking the
 * first position of one writes one row.
 */
export type ExtentChange =
  | { readonly kind: "put"; readonly extent: Extent }
  | { readonly kind: "remove"; readonly last: bigint };

/** Positions that are never offered. Shape: inclusive, ascending, disjoint. */
export type ExcludedPositions = readonly (readonly [first: bigint, last: bigint])[];

/** The excluded range that holds a position; binary search. */
export function excludedAt(
  excluded: ExcludedPositions,
  position: bigint,
): readonly [first: bigint, last: bigint] | undefined {
  let low = 0;
  let high = excluded.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((excluded[middle]?.[1] ?? position) < position) low = middle + 1;
    else high = middle;
  }
  const range = excluded[low];
  return range !== undefined && range[0] <= position ? range : undefined;
}

/**
 * The first free position from `start` on, wrapping round once, that is not excluded.
 * Invariant: reads at most one extent per excluded range, and two more.
 */
export function firstFree(
  source: ExtentSource,
  positions: bigint,
  start: bigint,
  excluded: ExcludedPositions,
): bigint | undefined {
  invariant(start >= 0n && start < positions, "the start lies outside the pool");
  return (
    firstFreeWithin(source, start, positions - 1n, excluded) ??
    (start > 0n ? firstFreeWithin(source, 0n, start - 1n, excluded) : undefined)
  );
}

function firstFreeWithin(
  source: ExtentSource,
  from: bigint,
  to: bigint,
  excluded: ExcludedPositions,
): bigint | undefined {
  let position = from;
  let extent: Extent | undefined;
  while (position <= to) {
    if (extent === undefined || extent.last < position) extent = source.endingFrom(position);
    if (extent === undefined) return undefined;
    if (extent.first > position) position = extent.first;
    if (position > to) return undefined;
    const barred = excludedAt(excluded, position);
    if (barred === undefined) return position;
    position = barred[1] + 1n;
  }
  return undefined;
}

/** Tells whether a position is free. */
export function isFree(source: ExtentSource, position: bigint): boolean {
  const extent = source.endingFrom(position);
  return extent !== undefined && extent.first <= position;
}

/** Takes a position out of the free space. Invariant: it is free. */
export function taking(source: ExtentSource, position: bigint): ExtentChange[] {
  const extent = source.endingFrom(position);
  invariant(extent !== undefined && extent.first <= position, `position ${position} is not free`);
  const { first, last } = extent;
  const before: ExtentChange[] =
    first < position ? [{ kind: "put", extent: { first, last: position - 1n } }] : [];
  const after: ExtentChange =
    position < last ? { kind: "put", extent: { first: position + 1n, last } } : { kind: "remove", last };
  return [...before, after];
}

/** Gives a position back to the free space; it joins its neighbours. Invariant: it is not free. */
export function returning(source: ExtentSource, position: bigint): ExtentChange[] {
  const below = position > 0n ? source.endingFrom(position - 1n) : undefined;
  const isJoinedBelow = below?.last === position - 1n;
  const above = below === undefined || isJoinedBelow ? source.endingFrom(position) : below;
  invariant(above === undefined || above.first > position, `position ${position} is free already`);
  const first = isJoinedBelow ? below.first : position;
  const removed: ExtentChange[] = isJoinedBelow ? [{ kind: "remove", last: below.last }] : [];
  const last = above?.first === position + 1n ? above.last : position;
  return [...removed, { kind: "put", extent: { first, last } }];
}
