/**
 * A pool's blocks as its object remembers them: owners, and how full each block is by the last report.
 * May import: core only. All of it is a hint: rows decide about ownership, blocks about room.
 */
import type { BlockCounts } from "./allocation.ts";
import { DueQueue } from "./due-queue.ts";
import { type ExcludedPositions, excludedAt } from "./extents.ts";
import { hash32 } from "./ids.ts";
import { Rotation } from "./rotation.ts";

/** A block that exists. Without an owner it drains. */
export interface DirectoryBlock {
  readonly position: bigint;
  readonly owner: string | undefined;
  readonly epoch: number;
  /** When the epoch was issued, milliseconds since 1970: the last claim, release or try to reclaim. */
  readonly issuedAt: number;
  readonly counts: BlockCounts | undefined;
}

/** Milliseconds after which "not empty" is no longer believed: the report that said otherwise may be lost. */
export const OCCUPIED_HINT_MS = 600_000;

type ReclaimClass = "empty" | "thinning" | "unknown" | "occupied";

interface Entry {
  position: bigint;
  owner: string | undefined;
  epoch: number;
  issuedAt: number;
  counts: BlockCounts | undefined;
  /** The counts in the block's row. */
  stored: BlockCounts | undefined;
  /** Reported since the object woke; otherwise its counts are what was stored. */
  isHeard: boolean;
  /** A cooling address has become free since the counts were taken. */
  isRipe: boolean;
  reclaimClass: ReclaimClass | undefined;
  borrowClass: number | undefined;
}

/** Borrow classes, best first: by powers of two of available addresses, then these two. */
const ROOM_CLASSES = 13;
const RIPE = ROOM_CLASSES;
const UNHEARD = ROOM_CLASSES + 1;

function reclaimClassOf(entry: Entry): ReclaimClass | undefined {
  if (entry.owner === undefined) return undefined;
  if (entry.counts === undefined) return "unknown";
  if (entry.counts.allocated > 0) return "occupied";
  if (entry.counts.cooling === 0) return "empty";
  return entry.isRipe || !entry.isHeard ? "thinning" : "occupied";
}

function borrowClassOf(entry: Entry): number | undefined {
  if (entry.owner === undefined) return undefined;
  if (entry.counts === undefined) return UNHEARD;
  const { available } = entry.counts;
  if (available > 0) return Math.max(0, ROOM_CLASSES - 1 - Math.floor(Math.log2(available)));
  if (entry.isRipe) return RIPE;
  return entry.isHeard ? undefined : UNHEARD;
}

/** When a block was last heard of or tried. */
function lastKnownAt(block: Pick<DirectoryBlock, "issuedAt" | "counts">): number {
  return Math.max(block.issuedAt, block.counts?.asOf ?? 0);
}

/** Invariant: each block stands in the classes that its counts put it in. */
export class PoolDirectory {
  readonly #blocks = new Map<bigint, Entry>();
  readonly #owned = new Map<string, Set<Entry>>();
  /** Each in the order in which to try: longest so, or least recently tried, first. */
  readonly #reclaim: Record<ReclaimClass, Set<Entry>> = {
    empty: new Set(),
    thinning: new Set(),
    unknown: new Set(),
    occupied: new Set(),
  };
  readonly #borrow = Array.from({ length: UNHEARD + 1 }, () => new Rotation<Entry>());
  readonly #due = new DueQueue<Entry>();
  #policyVersion = -1;

  /** Takes the stored blocks; their counts are dated, and "full" is not believed until reported again. */
  constructor(stored: readonly DirectoryBlock[], now: number) {
    const byAge = stored.toSorted((a, b) => lastKnownAt(a) - lastKnownAt(b));
    for (const block of byAge) {
      const unplaced = { isHeard: false, isRipe: false, reclaimClass: undefined, borrowClass: undefined };
      const entry: Entry = { ...block, ...unplaced, stored: block.counts };
      this.#blocks.set(block.position, entry);
      this.#own(entry, block.owner);
      this.#date(entry, now);
      this.#place(entry, false);
    }
  }

  get(position: bigint): DirectoryBlock | undefined {
    return this.#blocks.get(position);
  }

  /** All blocks, in no order. */
  blocks(): Iterable<DirectoryBlock> {
    return this.#blocks.values();
  }

  /** The counts in the block's row, as far as remembered. */
  stored(position: bigint): BlockCounts | undefined {
    return this.#blocks.get(position)?.stored;
  }

  noteStored(position: bigint, counts: BlockCounts | undefined): void {
    const entry = this.#blocks.get(position);
    if (entry !== undefined) entry.stored = counts;
  }

  ownedBy(owner: string): Iterable<DirectoryBlock> {
    return this.#owned.get(owner) ?? [];
  }

  /** When the next cooling address of any block is free, by the hints. */
  nextFreeAt(now: number): number | undefined {
    this.#ripen(now);
    return this.#due.nextAt;
  }

  /** Notes an epoch that was just issued, and whose the block is now. */
  issued(block: Omit<DirectoryBlock, "counts">): void {
    const known = this.#blocks.get(block.position);
    if (known === undefined) {
      const unknown = { counts: undefined, stored: undefined, isHeard: false, isRipe: false };
      const entry: Entry = { ...block, ...unknown, reclaimClass: undefined, borrowClass: undefined };
      this.#blocks.set(block.position, entry);
      this.#own(entry, block.owner);
      this.#place(entry, false);
      return;
    }
    known.epoch = block.epoch;
    known.issuedAt = block.issuedAt;
    this.#own(known, block.owner);
    this.#place(known, true);
  }

  /** Forgets a block that went back to the free space. */
  freed(position: bigint): void {
    const entry = this.#blocks.get(position);
    if (entry === undefined) return;
    this.#own(entry, undefined);
    this.#due.set(entry, undefined);
    this.#place(entry, false);
    this.#blocks.delete(position);
  }

  /**
   * Takes in what was reported of a block; absent counts: it has retired, nothing is known.
   * Returns whether it was news: not of a block that does not exist, nor older than what is known.
   */
  learn(position: bigint, counts: BlockCounts | undefined, now: number): boolean {
    const entry = this.#blocks.get(position);
    if (entry === undefined) return false;
    if (counts !== undefined && entry.counts !== undefined && counts.asOf < entry.counts.asOf) return false;
    entry.counts = counts;
    entry.isHeard = true;
    this.#date(entry, now);
    this.#place(entry, reclaimClassOf(entry) === "occupied");
    return true;
  }

  /**
   * Notes the policy that a request was made under. After a change "full" is not believed until reported
   * again: a reservation may have gone, or a cooldown have been shortened.
   */
  heedPolicy(version: number | undefined): void {
    if (version === undefined || version <= this.#policyVersion) return;
    const isFirst = this.#policyVersion < 0;
    this.#policyVersion = version;
    if (isFirst) return;
    for (const entry of this.#blocks.values()) {
      if (entry.counts === undefined || (entry.counts.available > 0 && entry.counts.cooling === 0)) continue;
      entry.isHeard = false;
      this.#place(entry, false);
    }
  }

  /**
   * The block to ask back from its owner for another: empty ones, longest first; then those whose last
   * addresses were cooling, those never reported, and those whose report is old.
   * Why: a report may be lost for ever with the host that owed it; the block decides anyway.
   */
  reclaimCandidate(
    owner: string,
    tried: ReadonlySet<bigint>,
    excluded: ExcludedPositions,
    now: number,
  ): DirectoryBlock | undefined {
    this.#ripen(now);
    for (const kind of ["empty", "thinning", "unknown", "occupied"] as const) {
      for (const entry of this.#reclaim[kind]) {
        if (kind === "occupied" && now - lastKnownAt(entry) < OCCUPIED_HINT_MS) break;
        if (entry.owner === owner || tried.has(entry.position)) continue;
        if (excludedAt(excluded, entry.position) === undefined) return entry;
      }
    }
    return undefined;
  }

  /** The blocks that would be asked back in turn, as reclaimCandidate picks them; rank by class. */
  reclaimOrder(
    owner: string,
    excluded: ExcludedPositions,
    limit: number,
    now: number,
  ): { readonly position: bigint; readonly owner: string; readonly rank: number }[] {
    this.#ripen(now);
    const found: { position: bigint; owner: string; rank: number }[] = [];
    for (const [rank, kind] of (["empty", "thinning", "unknown", "occupied"] as const).entries()) {
      for (const entry of this.#reclaim[kind]) {
        if (found.length >= limit) return found;
        if (kind === "occupied" && now - lastKnownAt(entry) < OCCUPIED_HINT_MS) break;
        if (entry.owner === undefined || entry.owner === owner) continue;
        if (excludedAt(excluded, entry.position) !== undefined) continue;
        found.push({ position: entry.position, owner: entry.owner, rank });
      }
    }
    return found;
  }

  /**
   * Blocks of others that may have room, most room first, then those not heard of since the wake.
   * Why: beginning at a place that the owner's name picks, borrowers spread over equally good blocks.
   * Invariant: the cost depends on `limit`, `tried` and the owner's own blocks, not on all blocks.
   */
  borrowCandidates(
    owner: string,
    tried: ReadonlySet<bigint>,
    limit: number,
    now: number,
  ): { readonly position: bigint; readonly owner: string | undefined; readonly known: boolean }[] {
    this.#ripen(now);
    const found: { position: bigint; owner: string | undefined; known: boolean }[] = [];
    const pick = hash32(owner);
    for (const [rank, members] of this.#borrow.entries()) {
      for (const entry of members.from(pick)) {
        if (found.length >= limit) return found;
        if (entry.owner === owner || tried.has(entry.position)) continue;
        found.push({ position: entry.position, owner: entry.owner, known: rank !== UNHEARD });
      }
    }
    return found;
  }

  #ripen(now: number): void {
    for (let entry = this.#due.take(now); entry !== undefined; entry = this.#due.take(now)) {
      entry.isRipe = true;
      this.#place(entry, false);
    }
  }

  /** Sets when the block's next cooling address becomes free. */
  #date(entry: Entry, now: number): void {
    const nextFreeAt = entry.counts?.nextFreeAt;
    entry.isRipe = nextFreeAt !== undefined && nextFreeAt <= now;
    this.#due.set(entry, entry.isRipe ? undefined : nextFreeAt);
  }

  #own(entry: Entry, owner: string | undefined): void {
    const before = entry.owner === undefined ? undefined : this.#owned.get(entry.owner);
    before?.delete(entry);
    if (before?.size === 0 && entry.owner !== undefined) this.#owned.delete(entry.owner);
    entry.owner = owner;
    if (owner === undefined) return;
    const blocks = this.#owned.get(owner) ?? new Set();
    this.#owned.set(owner, blocks.add(entry));
  }

  /** Puts a block into the classes of its counts; `again`: to the end of its reclaim class. */
  #place(entry: Entry, again: boolean): void {
    const reclaimClass = reclaimClassOf(entry);
    if (again || reclaimClass !== entry.reclaimClass) {
      if (entry.reclaimClass !== undefined) this.#reclaim[entry.reclaimClass].delete(entry);
      if (reclaimClass !== undefined) this.#reclaim[reclaimClass].add(entry);
      entry.reclaimClass = reclaimClass;
    }
    const borrowClass = borrowClassOf(entry);
    if (borrowClass === entry.borrowClass) return;
    if (entry.borrowClass !== undefined) this.#borrow[entry.borrowClass]?.delete(entry);
    if (borrowClass !== undefined) this.#borrow[borrowClass]?.add(entry);
    entry.borrowClass = borrowClass;
  }
}
