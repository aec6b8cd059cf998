/**
 * Which block a claim is answered with, and when counts are worth a row.
 * May import: core only. Decides from hints and extents; the caller verifies the chosen row.
 */
import type { BlockCounts } from "./allocation.ts";
import { startPosition } from "./block-grid.ts";
import { type ExcludedPositions, type ExtentSource, excludedAt, firstFree } from "./extents.ts";
import type { DirectoryBlock, PoolDirectory } from "./pool-directory.ts";

/** What a claim asks for, by positions. */
export interface ClaimWish {
  readonly owner: string;
  /** Blocks for which the owner has a row; absent: it knows all that are its own. */
  readonly known?: ReadonlySet<bigint>;
  readonly tried: ReadonlySet<bigint>;
  readonly excluded: ExcludedPositions;
}

export type ClaimChoice =
  | { readonly kind: "own" | "reclaim"; readonly block: DirectoryBlock }
  | { readonly kind: "free"; readonly position: bigint }
  | { readonly kind: "none" };

/**
 * Chooses the owner's block that it does not know, else a free one, else one to ask back.
 * Invariant: never a draining block, never an excluded one.
 */
export function chooseBlock(
  directory: PoolDirectory,
  extents: ExtentSource,
  positions: bigint,
  wish: ClaimWish,
  now: number,
): ClaimChoice {
  for (const block of unknownOf(directory, wish)) return { kind: "own", block };
  const start = startPosition(wish.owner, positions);
  const position = firstFree(extents, positions, start, wish.excluded);
  if (position !== undefined) return { kind: "free", position };
  const block = directory.reclaimCandidate(wish.owner, wish.tried, wish.excluded, now);
  return block === undefined ? { kind: "none" } : { kind: "reclaim", block };
}

/** Blocks that the free stretch keeps at least where a claim takes more than one. Why: the last ones are for all. */
const PLENTY = 64n;

/**
 * The free block that a claim takes beside the one before it; none where free blocks are scarce.
 * Invariant: the one that the next claim would be given.
 */
export function moreFree(extents: ExtentSource, positions: bigint, wish: ClaimWish): bigint | undefined {
  const start = startPosition(wish.owner, positions);
  const position = firstFree(extents, positions, start, wish.excluded);
  if (position === undefined) return undefined;
  const stretch = extents.endingFrom(position);
  return stretch !== undefined && stretch.last - position >= PLENTY ? position : undefined;
}

/** The owner's blocks that it does not know, since an answer of the Pool was lost. */
function* unknownOf(
  directory: PoolDirectory,
  { owner, known, excluded }: ClaimWish,
): Iterable<DirectoryBlock> {
  if (known === undefined) return;
  for (const block of directory.ownedBy(owner)) {
    if (!known.has(block.position) && excludedAt(excluded, block.position) === undefined) yield block;
  }
}

/**
 * Tells whether a choice is likely to end in a block: a free one, or one that its owner can be asked for.
 * Why: a block that is not known to be empty, or that was claimed a moment ago, is not given up.
 */
export function isLikelyClaimable(choice: ClaimChoice, now: number, reclaimAgeMs: number): boolean {
  if (choice.kind !== "reclaim") return choice.kind !== "none";
  const { counts, issuedAt } = choice.block;
  return counts !== undefined && isEmpty(counts) && now - issuedAt >= reclaimAgeMs;
}

/** Blocks of others that a plan lists; each claim asks for three of them at most. */
const RECLAIM_PLAN_MAX = 64;

/** A block that a claim of the owner would be answered with, were the ones before it not to be had. */
export type PlannedBlock =
  | { readonly kind: "own" | "free"; readonly position: bigint }
  /** Asked back from its owner; of two ranks the lower one is asked first. */
  | { readonly kind: "reclaim"; readonly position: bigint; readonly owner: string; readonly rank: number };

/** Lists what claims would be answered with, in their order. Invariant: as chooseBlock, and nothing is issued. */
export function planClaims(
  directory: PoolDirectory,
  extents: ExtentSource,
  positions: bigint,
  wish: ClaimWish,
  limit: number,
  now: number,
): PlannedBlock[] {
  const planned: PlannedBlock[] = [];
  for (const { position } of unknownOf(directory, wish)) planned.push({ kind: "own", position });
  const start = startPosition(wish.owner, positions);
  let barred = wish.excluded;
  while (planned.length < limit) {
    const position = firstFree(extents, positions, start, barred);
    if (position === undefined) break;
    planned.push({ kind: "free", position });
    barred = withPosition(barred, position);
  }
  const back = directory.reclaimOrder(wish.owner, wish.excluded, RECLAIM_PLAN_MAX, now);
  return [...planned.slice(0, limit), ...back.map((block) => ({ kind: "reclaim" as const, ...block }))];
}

function withPosition(excluded: ExcludedPositions, position: bigint): ExcludedPositions {
  const index = excluded.findIndex(([first]) => first > position);
  const at = index === -1 ? excluded.length : index;
  return [...excluded.slice(0, at), [position, position], ...excluded.slice(at)];
}

/** Milliseconds between two writes of a block that turns full and not full again and again. */
const FULL_STORED_MS = 30_000;

/**
 * Tells whether counts are worth a row: the block turned empty or not empty, full or not full.
 * Why: after a wake these hints spare other owners useless tries; exact figures come with reports.
 */
export function isWorthStoring(stored: BlockCounts | undefined, counts: BlockCounts | undefined): boolean {
  if (isEmpty(stored) !== isEmpty(counts)) return true;
  if (isFull(stored) === isFull(counts)) return false;
  return (counts?.asOf ?? 0) - (stored?.asOf ?? 0) >= FULL_STORED_MS;
}

function isEmpty(counts: BlockCounts | undefined): boolean {
  return counts === undefined || (counts.allocated === 0 && counts.cooling === 0);
}

function isFull(counts: BlockCounts | undefined): boolean {
  return counts !== undefined && counts.available === 0;
}
