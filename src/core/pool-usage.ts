/**
 * The figures of a pool, from dated figures of its blocks and the space outside them.
 * May import: core only. Nobody is asked; `asOf` says how old the oldest figure is.
 */
import { type BlockGrid, rangeAt } from "./block-grid.ts";
import { parseCidrMasked, size } from "./cidr.ts";
import { agedCounts } from "./cooling.ts";
import { invariant } from "./invariant.ts";
import type { DirectoryBlock } from "./pool-directory.ts";
import { RangeSet, rangeSetOf } from "./range-set.ts";

export interface PoolUsage {
  readonly capacity: bigint;
  readonly allocated: bigint;
  readonly cooling: bigint;
  /** Addresses of the pool inside reservations, whatever their state. */
  readonly reserved: bigint;
  /** What could be handed out automatically now. */
  readonly available: bigint;
  readonly usedPercent: number;
  readonly blocks: number;
  readonly blocksFull: number;
  readonly blocksUnowned: number;
  readonly asOf: number;
}

/** A block whose figures are summed. */
export type SummedBlock = Pick<DirectoryBlock, "position" | "owner" | "issuedAt" | "counts">;

/**
 * Sums over some blocks of a pool; the sums of disjoint parts may be added.
 * Units: addresses; `asOf` and `nextFreeAt` in milliseconds since 1970.
 */
export interface BlocksSum {
  /** What reservations leave of the blocks, used or not. */
  readonly open: bigint;
  readonly available: bigint;
  readonly allocated: number;
  readonly cooling: number;
  readonly blocks: number;
  readonly blocksFull: number;
  readonly blocksUnowned: number;
  readonly asOf: number;
  readonly nextFreeAt?: number;
}

/**
 * Sums up a pool (I14).
 * Why: a block that never reported counts as untouched, as of its claim: hosts report a block at the
 * latest 5 s after it changed. What has cooled since is free: time alone makes no report. A draining block has nothing available: it is offered to nobody. A block's
 * own figure is cut to what today's reservations leave, since it may have been taken under older ones.
 */
export function poolUsage(
  grid: BlockGrid,
  reservations: readonly string[],
  blocks: Iterable<SummedBlock>,
  now: number,
): PoolUsage {
  const reserved = reservedWithin(grid, reservations);
  const sum = sumBlocks(grid, reserved, blocks, now);
  const available = availableOf(grid, reserved, sum);
  invariant(available >= 0n && available <= size(grid.cidr), "a pool has no more available than it holds");
  return usageOf(grid, reserved, sum);
}

/** Sums the figures of some blocks; `now` is when the sum of no block dates from. */
export function sumBlocks(
  grid: BlockGrid,
  reserved: RangeSet,
  blocks: Iterable<SummedBlock>,
  now: number,
): BlocksSum {
  const blockCapacity = size({ ...grid.cidr, prefix: grid.blockSize });
  const sum = { allocated: 0, cooling: 0, blocks: 0, blocksFull: 0, blocksUnowned: 0, asOf: now };
  let open = 0n;
  let available = 0n;
  let nextFreeAt = Number.POSITIVE_INFINITY;
  for (const block of blocks) {
    const counts = block.counts === undefined ? undefined : agedCounts(block.counts, now);
    const isDraining = block.owner === undefined;
    const left = reserved.isEmpty
      ? blockCapacity
      : blockCapacity - reserved.countWithin(rangeAt(grid, block.position));
    const reported = counts === undefined ? left : BigInt(counts.available);
    open += left;
    available += isDraining ? 0n : reported < left ? reported : left;
    sum.allocated += counts?.allocated ?? 0;
    sum.cooling += counts?.cooling ?? 0;
    sum.blocks += 1;
    sum.blocksFull += reported === 0n ? 1 : 0;
    sum.blocksUnowned += isDraining ? 1 : 0;
    sum.asOf = Math.min(sum.asOf, counts?.asOf ?? block.issuedAt);
    nextFreeAt = Math.min(nextFreeAt, counts?.nextFreeAt ?? nextFreeAt);
  }
  return { open, available, ...sum, ...(Number.isFinite(nextFreeAt) ? { nextFreeAt } : {}) };
}

/** Adds the sums of two disjoint parts of a pool. */
export function addSums(one: BlocksSum, other: BlocksSum): BlocksSum {
  const times = [one.nextFreeAt, other.nextFreeAt].filter((time) => time !== undefined);
  return {
    open: one.open + other.open,
    available: one.available + other.available,
    allocated: one.allocated + other.allocated,
    cooling: one.cooling + other.cooling,
    blocks: one.blocks + other.blocks,
    blocksFull: one.blocksFull + other.blocksFull,
    blocksUnowned: one.blocksUnowned + other.blocksUnowned,
    asOf: Math.min(one.asOf, other.asOf),
    ...(times.length === 0 ? {} : { nextFreeAt: Math.min(...times) }),
  };
}

/** Counts the blocks of each owner; what nobody owns is in none of the counts. */
export function blocksByOwner(
  blocks: Iterable<Pick<SummedBlock, "owner">>,
): [owner: string, blocks: number][] {
  const counts = new Map<string, number>();
  for (const { owner } of blocks) if (owner !== undefined) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return [...counts];
}

/** What a pool has: in its blocks, and outside them, where nothing was ever taken. */
function availableOf(grid: BlockGrid, reserved: RangeSet, sum: BlocksSum): bigint {
  return size(grid.cidr) - reserved.size - sum.open + sum.available;
}

/**
 * The figures of a pool whose existing blocks have that sum.
 * Why: parts summed under different reservations may not fit together; no figure leaves the pool's bounds.
 */
export function usageOf(grid: BlockGrid, reserved: RangeSet, sum: BlocksSum): PoolUsage {
  const capacity = size(grid.cidr);
  const { open: _open, nextFreeAt: _next, allocated, cooling, ...rest } = sum;
  const available = clamped(availableOf(grid, reserved, sum), capacity);
  return {
    capacity,
    allocated: BigInt(allocated),
    cooling: BigInt(cooling),
    reserved: reserved.size,
    usedPercent: Number(((capacity - available) * 10_000n) / capacity) / 100,
    ...rest,
    available,
  };
}

function clamped(count: bigint, most: bigint): bigint {
  if (count < 0n) return 0n;
  return count > most ? most : count;
}

/** What of a pool lies inside reservations; those of the other family do not count. */
export function reservedWithin(grid: BlockGrid, reservations: readonly string[]): RangeSet {
  const ranges = reservations.map((text) => {
    const cidr = parseCidrMasked(text);
    invariant(cidr.ok, `${text} is no range`);
    return cidr.value;
  });
  const ofFamily = ranges.filter((cidr) => cidr.family === grid.cidr.family);
  return ofFamily.length === 0 ? RangeSet.empty : rangeSetOf(ofFamily).intersectCidr(grid.cidr);
}
