/**
 * The blocks of a pool by position: 0 is the one at the pool's first address.
 * May import: core only. Positions are BigInt: a /48 has 2^74 blocks of prefix length 122.
 */
import { bits, type Cidr, containsCidr, formatCidr, parseBlockName, parseCidr } from "./cidr.ts";
import { hash32 } from "./ids.ts";
import { invariant } from "./invariant.ts";

/** Invariant: the blocks partition the pool. */
export interface BlockGrid {
  readonly cidr: Cidr;
  /** Prefix length of the blocks. */
  readonly blockSize: number;
  /** How many blocks fit. */
  readonly positions: bigint;
}

const HASH_VALUES = 1n << 32n;

/** Cuts a pool into blocks. Invariant: the pool is a range at least as large as one block. */
export function blockGrid(pool: string, blockSize: number): BlockGrid {
  const cidr = parseCidr(pool);
  invariant(cidr.ok, `${pool} is no range`);
  const { family, prefix } = cidr.value;
  invariant(blockSize >= prefix && blockSize <= bits(family), `${pool} has no blocks of /${blockSize}`);
  return { cidr: cidr.value, blockSize, positions: 1n << BigInt(blockSize - prefix) };
}

/** The range at a position. */
export function rangeAt(grid: BlockGrid, position: bigint): Cidr {
  invariant(position >= 0n && position < grid.positions, "the position lies outside the pool");
  const hostBits = BigInt(bits(grid.cidr.family) - grid.blockSize);
  return { family: grid.cidr.family, base: grid.cidr.base + (position << hostBits), prefix: grid.blockSize };
}

/** The canonical CIDR of the block at a position. */
export function blockAt(grid: BlockGrid, position: bigint): string {
  return formatCidr(rangeAt(grid, position));
}

/** The position of a block, given by CIDR or name; undefined when it is no block of this pool. */
export function positionOf(grid: BlockGrid, block: string): bigint | undefined {
  const cidr = parseBlockName(block);
  if (!cidr.ok || cidr.value.prefix !== grid.blockSize || !containsCidr(grid.cidr, cidr.value)) {
    return undefined;
  }
  const { family, base, prefix } = cidr.value;
  return (base - grid.cidr.base) >> BigInt(bits(family) - prefix);
}

/**
 * Where the search for a free block begins for an owner.
 * Why: owners spread over the pool and seldom meet; one owner begins at the same place each time.
 */
export function startPosition(owner: string, positions: bigint): bigint {
  const hash = BigInt(hash32(owner));
  return positions > HASH_VALUES ? hash * (positions / HASH_VALUES) : hash % positions;
}
