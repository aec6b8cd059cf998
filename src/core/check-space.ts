/**
 * The free space of a Pool against its rows: every position is in use or free, never both. Pure.
 * May import: core only. One stretch of positions is judged at a time.
 */
import type { Extent, ExtentChange } from "./extents.ts";

/** What of one stretch is wrong. */
export interface SpaceFaults {
  /** Positions in use that the free space holds too. */
  readonly offered: readonly bigint[];
  /** Runs that are neither in use nor free. */
  readonly lost: readonly Extent[];
}

/** A stretch of positions, both ends in it. Shape: `used` ascending; `extents` as stored, all that meet it. */
export interface Stretch {
  readonly first: bigint;
  readonly last: bigint;
  readonly used: readonly bigint[];
  readonly extents: readonly Extent[];
}

/** Finds the faults of a stretch. */
export function spaceFaults({ first, last, used, extents }: Stretch): SpaceFaults {
  const offered = used.filter((position) =>
    extents.some((extent) => extent.first <= position && position <= extent.last),
  );
  const covered = merged([...extents, ...used.map((position) => ({ first: position, last: position }))]);
  return { offered, lost: gapsOf(covered, first, last) };
}

/**
 * Makes the free space of a stretch what its rows leave of it; what lies outside stays.
 * Shape: `extents` also holds those that touch the stretch from outside, so that runs join.
 */
export function mendedSpace({ first, last, used, extents }: Stretch): ExtentChange[] {
  const taken = used.map((position) => ({ first: position, last: position }));
  const outside = extents.flatMap((extent): Extent[] => [
    ...(extent.first < first ? [{ first: extent.first, last: min(extent.last, first - 1n) }] : []),
    ...(extent.last > last ? [{ first: max(extent.first, last + 1n), last: extent.last }] : []),
  ]);
  const mended = merged([...outside, ...gapsOf(taken, first, last)]);
  const isKept = (extent: Extent, among: readonly Extent[]): boolean =>
    among.some((one) => one.first === extent.first && one.last === extent.last);
  const ends = new Set(mended.map((extent) => extent.last));
  const removed = extents.filter((extent) => !ends.has(extent.last));
  const put = mended.filter((extent) => !isKept(extent, extents));
  return [
    ...removed.map((extent): ExtentChange => ({ kind: "remove", last: extent.last })),
    ...put.map((extent): ExtentChange => ({ kind: "put", extent })),
  ];
}

/** Joins runs that overlap or touch. */
function merged(runs: readonly Extent[]): Extent[] {
  const joined: { first: bigint; last: bigint }[] = [];
  for (const run of runs.toSorted((a, b) => (a.first < b.first ? -1 : 1))) {
    const before = joined.at(-1);
    if (before !== undefined && run.first <= before.last + 1n) before.last = max(before.last, run.last);
    else joined.push({ ...run });
  }
  return joined;
}

/** What ascending, disjoint runs leave of a stretch. */
function gapsOf(runs: readonly Extent[], first: bigint, last: bigint): Extent[] {
  const gaps: Extent[] = [];
  let next = first;
  for (const run of runs) {
    if (run.first > next) gaps.push({ first: next, last: min(run.first - 1n, last) });
    next = max(next, run.last + 1n);
    if (next > last) return gaps;
  }
  return next > last ? gaps : [...gaps, { first: next, last }];
}

function min(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
