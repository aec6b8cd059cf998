/**
 * Affinities of the in-memory reference: claiming blocks, giving them back, taking over empty ones.
 * May import: core ranges only. A block has at most one owner (I6).
 */
import { blockOf, type Cidr, containsCidr, parseCidr as parseCidrText, size } from "../../src/core/cidr.ts";
import type { ModelBlock } from "./model-block.ts";
import { holds, type ModelPool } from "./model-pools.ts";
import type { AffinityRow, ModelState } from "./model-state.ts";

export interface SetAside {
  readonly start: number;
  readonly end: number;
}

/** An empty block is taken from its owner at the earliest so long after it was claimed. */
const RECLAIM_AGE_MS = 60_000;
/** Blocks that one claim or release of a range may name. */
const RANGE_BLOCKS_MAX = 256n;

/** Makes a block its owner's: a new one, one that is free, or one that is the owner's already. */
export function claim(
  state: ModelState,
  owner: string,
  range: Cidr,
  setAside?: SetAside,
): ModelBlock | undefined {
  const existing = [...state.blocks.values()].find((block) => overlapping(block, range));
  if (existing !== undefined && existing.owner !== owner) {
    state.dropRow(owner, existing.name);
    return undefined;
  }
  const block = existing ?? state.makeBlock(range, owner);
  if (existing === undefined && setAside !== undefined) block.setAside = { ...setAside };
  state.setRow(owner, block.name, "confirmed");
  return block;
}

function overlapping(block: ModelBlock, range: Cidr): boolean {
  return containsCidr(block.range, range) || containsCidr(range, block.range);
}

/** Puts in order what crashes left behind of an owner's blocks in these pools. */
export function recover(state: ModelState, owner: string, pools: readonly ModelPool[]): void {
  for (const block of pools.flatMap((pool) => state.blocksIn(pool))) {
    if (block.owner === owner) state.setRow(owner, block.name, "confirmed");
  }
  for (const row of state.rowsOf(owner)) {
    const block = state.blocks.get(row.block);
    if (block !== undefined && block.owner !== owner) state.dropRow(owner, row.block);
    const pool = pools.find(({ range }) => containsCidr(range, rangeOfRow(row)));
    if (block === undefined && pool !== undefined) claim(state, owner, rangeOfRow(row));
  }
}

function rangeOfRow({ block }: AffinityRow): Cidr {
  const cidr = parsedCidr(block);
  if (cidr === undefined) throw new Error(`${block} is no block`);
  return cidr;
}

/**
 * One more block for an owner: an unclaimed one, else an empty one of somebody else that is old enough.
 * Why pool by pool: each Pool answers a claim with the best that it has, before the next one is asked.
 */
export function nextBlock(
  state: ModelState,
  owner: string,
  pools: readonly ModelPool[],
  setAside?: SetAside,
): ModelBlock | undefined {
  for (const pool of pools) {
    const range = unclaimed(state, pool, setAside) ?? takenOver(state, owner, pool)?.range;
    if (range !== undefined) return claim(state, owner, range, setAside);
  }
  return undefined;
}

/** Takes an empty block of a pool from its owner. */
function takenOver(state: ModelState, owner: string, pool: ModelPool): ModelBlock | undefined {
  for (const block of state.byPreference(state.blocksIn(pool), ({ name }) => name)) {
    if (block.owner === undefined || block.owner === owner || !block.isEmpty(state.clock)) continue;
    const age = state.now - (block.claimedAt ?? Number.NEGATIVE_INFINITY);
    if (age < RECLAIM_AGE_MS || state.available(block).length === 0) continue;
    giveUp(state, block);
    return block;
  }
  return undefined;
}

/** A range of a pool that is no block yet and has an address to give: a preferred one, else the first. */
function unclaimed(state: ModelState, pool: ModelPool, setAside?: SetAside): Cidr | undefined {
  const taken = state.blocksIn(pool);
  const isToBeHad = (range: Cidr): boolean =>
    !taken.some((block) => overlapping(block, range)) && hasUsableAddress(state, range, setAside);
  const preferred = state.preferred
    .flatMap((name) => parsedCidr(name) ?? [])
    .find((range) => {
      return range.prefix === pool.blockSize && containsCidr(pool.range, range) && isToBeHad(range);
    });
  if (preferred !== undefined) return preferred;
  const perBlock = size({ ...pool.range, prefix: pool.blockSize });
  for (let base = pool.range.base; base < pool.range.base + size(pool.range); base += perBlock) {
    const range: Cidr = { ...pool.range, base, prefix: pool.blockSize };
    if (isToBeHad(range)) return range;
  }
  return undefined;
}

function hasUsableAddress(
  state: ModelState,
  range: Cidr,
  setAside: SetAside = { start: 0, end: 0 },
): boolean {
  const last = range.base + size(range) - BigInt(setAside.end);
  for (let value = range.base + BigInt(setAside.start); value < last; value += 1n) {
    if (!state.isReserved({ family: range.family, value })) return true;
  }
  return false;
}

/** Takes the owner from a block: an empty block goes, one in use stays without owner. */
export function giveUp(state: ModelState, block: ModelBlock): void {
  if (block.owner !== undefined) state.dropRow(block.owner, block.name);
  block.owner = undefined;
  block.claimedAt = undefined;
  if (block.isEmpty(state.clock)) state.removeBlock(block);
}

/** Releases one affinity. `not_empty`: nothing was changed. */
export function releaseRow(
  state: ModelState,
  row: AffinityRow,
  mustBeEmpty: boolean,
): "released" | "not_empty" {
  const block = state.blocks.get(row.block);
  if (block?.owner === row.owner) {
    if (mustBeEmpty && !block.isEmpty(state.clock)) return "not_empty";
    giveUp(state, block);
  }
  state.dropRow(row.owner, row.block);
  return "released";
}

/** An owner gives up an empty block of a pool that does not select it any more. */
export function giveUpIfDeselected(state: ModelState, block: ModelBlock): void {
  const pool = state.poolOfBlock(block);
  if (pool === undefined || pool.disabled || pool.terminating) return;
  const labels = block.owner === undefined ? undefined : state.hosts.get(block.owner);
  if (labels === undefined || holds(pool.nodeSelector, labels)) return;
  if (block.isEmpty(state.clock)) giveUp(state, block);
}

export type RangeFault = "cidr_not_in_pool" | "range_too_small" | "range_too_large";

/** The blocks of a range, which lies in one enabled pool. */
export function blocksOfRange(state: ModelState, text: string): readonly Cidr[] | RangeFault {
  const range = parsedCidr(text);
  if (range === undefined) return "cidr_not_in_pool";
  const pool = state.enabledPoolOf({ family: range.family, value: range.base });
  if (pool === undefined || !containsCidr(pool.range, range)) return "cidr_not_in_pool";
  if (range.prefix > pool.blockSize) return "range_too_small";
  const perBlock = size({ ...range, prefix: pool.blockSize });
  if (size(range) / perBlock > RANGE_BLOCKS_MAX) return "range_too_large";
  const blocks: Cidr[] = [];
  for (let value = range.base; value < range.base + size(range); value += perBlock) {
    blocks.push(blockOf({ family: range.family, value }, pool.blockSize));
  }
  return blocks;
}

function parsedCidr(text: string): Cidr | undefined {
  const parsed = parseCidrText(text);
  return parsed.ok ? parsed.value : undefined;
}
