/**
 * The figures of a pool, from dated figures of its blocks and the space outside them.
 * May import: core only. Nobody is asked; `asOf` says how old the oldest figure is.
 */
import { type BlockGrid, rangeAt } from "./block-grid.ts";
import { parseCidrMasked, size } from "./cidr.ts";
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

/**
 * Sums up a pool (I14).
 * Why: a block that never reported counts as untouched, as of its claim: hosts report a block at the
 * latest 5 s after it changed. A draining block has nothing available: it is offered to nobody. A block's
 * own figure is cut to what today's reservations leave, since it may have been taken under older ones.
 */
export function poolUsage(
  grid: BlockGrid,
  reservations: readonly string[],
  blocks: Iterable<DirectoryBlock>,
  now: number,
): PoolUsage {
  const reserved = reservedWithin(grid, reservations);
  const capacity = size(grid.cidr);
  const blockCapacity = 1n << BigInt(grid.cidr.family === 4 ? 32 - grid.blockSize : 128 - grid.blockSize);
  const sum = { allocated: 0, cooling: 0, blocks: 0, blocksFull: 0, blocksUnowned: 0, asOf: now };
  let available = capacity - reserved.size;
  for (const block of blocks) {
    const { counts } = block;
    const isDraining = block.owner === undefined;
    const open = reserved.isEmpty
      ? blockCapacity
      : blockCapacity - reserved.countWithin(rangeAt(grid, block.position));
    const reported = counts === undefined ? open : BigInt(counts.available);
    available -= open;
    available += isDraining ? 0n : reported < open ? reported : open;
    sum.allocated += counts?.allocated ?? 0;
    sum.cooling += counts?.cooling ?? 0;
    sum.blocks += 1;
    sum.blocksFull += reported === 0n ? 1 : 0;
    sum.blocksUnowned += isDraining ? 1 : 0;
    sum.asOf = Math.min(sum.asOf, counts?.asOf ?? block.issuedAt);
  }
  invariant(available >= 0n && available <= capacity, "a pool has no more available than it holds");
  const { allocated, cooling, ...rest } = sum;
  const usedPercent = Number(((capacity - available) * 10_000n) / capacity) / 100;
  const figures = {
    capacity,
    allocated: BigInt(allocated),
    cooling: BigInt(cooling),
    reserved: reserved.size,
  };
  return { ...figures, available, usedPercent, ...rest };
}

function reservedWithin(grid: BlockGrid, reservations: readonly string[]): RangeSet {
  const ranges = reservations.map((text) => {
    const cidr = parseCidrMasked(text);
    invariant(cidr.ok, `${text} is no range`);
    return cidr.value;
  });
  const ofFamily = ranges.filter((cidr) => cidr.family === grid.cidr.family);
  return ofFamily.length === 0 ? RangeSet.empty : rangeSetOf(ofFamily).intersectCidr(grid.cidr);
}
