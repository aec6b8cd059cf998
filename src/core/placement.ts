/**
 * Where a request may get its addresses: what the policy leaves of a block, and why there is nothing.
 * May import: core only. Which pools are allowed is decided in pool-choice.ts.
 */
import type { OrdinalRanges } from "./allocation.ts";
import { type Cidr, lastAddress, size } from "./cidr.ts";
import type { Considered } from "./errors.ts";
import type { CompiledPolicy, CompiledPool } from "./policy.ts";
import type { RangeSet } from "./range-set.ts";

/** What of a pool is never given out automatically: reservations, gateway, ends. */
function heldBack(policy: CompiledPolicy, pool: CompiledPool): RangeSet {
  return policy.reserved[pool.cidr.family].union(policy.notAutomatic(pool));
}

/** The ordinals of a block that are not given out automatically (I7). */
export function reservedOrdinals(policy: CompiledPolicy, pool: CompiledPool, block: Cidr): OrdinalRanges {
  return heldBack(policy, pool)
    .intersectCidr(block)
    .ranges.map(({ first, last }) => [Number(first - block.base), Number(last - block.base)] as const);
}

/** Positions of blocks of a pool that are reserved whole, so that claiming them would be for nothing. */
export function reservedPositions(policy: CompiledPolicy, pool: CompiledPool): (readonly [bigint, bigint])[] {
  const { cidr, definition } = pool;
  const perBlock = size({ ...cidr, prefix: definition.blockSize });
  return heldBack(policy, pool)
    .intersectCidr(cidr)
    .ranges.flatMap(({ first, last }) => {
      const begin = (first - cidr.base + perBlock - 1n) / perBlock;
      const end = (last + 1n - cidr.base) / perBlock - 1n;
      return begin <= end ? [[begin, end] as const] : [];
    });
}

/** The prefix length that an answer carries beside the address. */
export function interfacePrefix({ definition, cidr }: CompiledPool): number {
  switch (definition.answerPrefix) {
    case "block":
      return definition.blockSize;
    case "pool":
      return cidr.prefix;
    case "host":
      return cidr.family === 4 ? 32 : 128;
  }
}

/** What a search that came back short has met. Units: milliseconds since 1970. */
export interface SearchEnd {
  readonly capReached: boolean;
  readonly autoAllocateOff: boolean;
  readonly strict: boolean;
  /** A qualified pool has free addresses in blocks of others. */
  readonly othersHaveRoom: boolean;
  /** When the first cooling address that this host may take is free; absent: none cools. */
  readonly nextFreeAt?: number;
}

export type ShortageCode =
  | "block_limit_reached"
  | "auto_allocate_disabled"
  | "strict_affinity"
  | "pool_cooling"
  | "pool_exhausted";

/** Names the reason of a shortage; the order is part of the contract. */
export function shortageCode(end: SearchEnd): ShortageCode {
  if (end.capReached) return "block_limit_reached";
  if (end.autoAllocateOff) return "auto_allocate_disabled";
  if (end.strict && end.othersHaveRoom) return "strict_affinity";
  return end.nextFreeAt === undefined ? "pool_exhausted" : "pool_cooling";
}

/**
 * Tells of each pool that might have served why it did not; the others were excluded by their own rule.
 * `roomElsewhere` are the pools in which blocks of other hosts have room.
 */
export function toldPools(
  pools: readonly Considered[],
  host: string,
  end: SearchEnd & { readonly owned: number; readonly cap: number },
  roomElsewhere: ReadonlySet<string>,
): Considered[] {
  const ownership = `${host} owns ${end.owned} of at most ${end.cap} blocks`;
  return pools.map((row) => {
    if (row.outcome !== "used") return row;
    const full = { ...row, outcome: "full" } as const;
    if (end.capReached) return { ...full, rule: "cap_reached", detail: ownership };
    if (end.autoAllocateOff) return { ...full, rule: "auto_allocate_off" };
    const isBarred = end.strict && roomElsewhere.has(row.pool ?? "");
    return { ...full, rule: isBarred ? "strict_affinity" : "no_unclaimed_block" };
  });
}

/** Cuts a list of considered rules to what an answer may carry: the pools first, then blocks. */
export function boundConsidered(
  all: readonly Considered[],
  limit: number,
): { considered: Considered[]; omitted: number } {
  return { considered: all.slice(0, limit), omitted: Math.max(0, all.length - limit) };
}

/** Tells whether a range lies inside the pool; for blocks, which are never larger than it. */
export function isInPool(pool: CompiledPool, block: Cidr): boolean {
  return (
    pool.cidr.family === block.family &&
    pool.cidr.base <= block.base &&
    lastAddress(block) <= lastAddress(pool.cidr)
  );
}

/** The earliest of times that are known. */
export function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
