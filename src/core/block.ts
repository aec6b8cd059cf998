/**
 * The state of one block and its figures; decisions are in block-*.ts and write into a draft.
 * May import: core only. Time and numbers of a block never go back.
 */

import { formatAddress } from "./address.ts";
import type { AddressRecord, BlockCounts, OrdinalRanges } from "./allocation.ts";
import { addressAt, type Cidr, formatCidr, size } from "./cidr.ts";
import { coolingSteps } from "./cooling.ts";
import { invariant } from "./invariant.ts";
import {
  type EndedTenure,
  freeAt,
  inRanges,
  type OrdinalRow,
  type OrdinalState,
  stateOf,
  type Tenure,
} from "./ordinal.ts";

/** What a block knows of itself beside its ordinals. Units: milliseconds since 1970. */
export interface BlockHeader {
  readonly block: string;
  readonly pool: string;
  readonly poolCidr: string;
  readonly incarnation: number;
  /** Absent: ownerless, or retired when it is empty too. */
  readonly owner?: string;
  readonly epoch: number;
  /** Floor of the counter: kept across retirement, raised by a new incarnation. */
  readonly counter: number;
  readonly claimedAt?: number;
  /** The block's time when the header was written. */
  readonly at: number;
  readonly hostReserved?: HostReserved;
  /** Epoch of a release of the affinity that was refused: a copy of it is refused too, whenever it comes. */
  readonly keptEpoch?: number;
  /** Epoch at which the Pool was told that the ownerless block is empty. */
  readonly retiredEpoch?: number;
  /** Version of the set of addresses that other hosts hold; absent: it was always empty. */
  readonly borrowedVersion?: number;
  /** Rows of addresses were dropped: who held them is not known any more. */
  readonly hasForgotten?: true;
}

export interface HostReserved {
  readonly start: number;
  readonly end: number;
  readonly handle?: string;
  readonly note?: string;
}

/** Constants that a decision needs; see settings.ts. */
export interface BlockTimes {
  readonly skewMs: number;
  readonly untilMs: number;
  readonly spentKeyMs: number;
}

/**
 * A block as loaded. Shape: `counter` and `at` are the highest of header and rows.
 * No header means that the block was never written.
 */
export interface BlockState {
  readonly header: BlockHeader | undefined;
  readonly rows: ReadonlyMap<number, OrdinalRow>;
  readonly counter: number;
  readonly at: number;
}

/** What a decision leaves to be stored. */
export interface BlockChanges {
  /** Present when it changed. */
  readonly header?: BlockHeader;
  readonly rows: readonly OrdinalRow[];
  /** All earlier rows are forgotten. */
  readonly dropped: boolean;
  readonly counter: number;
  readonly at: number;
}

/** Assembles a state from what storage holds. */
export function blockState(header: BlockHeader | undefined, rows: Iterable<OrdinalRow>): BlockState {
  const map = new Map<number, OrdinalRow>();
  let counter = header?.counter ?? 0;
  let at = header?.at ?? 0;
  for (const row of rows) {
    map.set(row.ordinal, row);
    counter = Math.max(counter, row.number);
    at = Math.max(at, row.at);
  }
  return { header, rows: map, counter, at };
}

/** Sequence numbers of one incarnation of a pool begin here (I3: also with another block size). */
export function counterFloor(incarnation: number): number {
  const floor = incarnation * 2 ** 36;
  invariant(Number.isSafeInteger(floor + 2 ** 36), "the incarnation is out of range");
  return floor;
}

/** A working copy of a block: decisions write here, the caller stores what changed. */
export class BlockDraft {
  readonly cidr: Cidr;
  readonly capacity: number;
  /** The block's time: never earlier than anything it stored. */
  readonly now: number;
  readonly times: BlockTimes;
  readonly #base: BlockState;
  #header: BlockHeader | undefined;
  #counter: number;
  #changed = new Map<number, OrdinalRow>();
  #dropped = false;

  constructor(base: BlockState, cidr: Cidr, clock: number, times: BlockTimes) {
    this.#base = base;
    this.cidr = cidr;
    this.capacity = Number(size(cidr));
    this.times = times;
    this.#header = base.header;
    this.#counter = base.counter;
    this.now = Math.max(clock, base.at);
  }

  get header(): BlockHeader | undefined {
    return this.#header;
  }

  get owner(): string | undefined {
    return this.#header?.owner;
  }

  get counter(): number {
    return this.#counter;
  }

  row(ordinal: number): OrdinalRow | undefined {
    const changed = this.#changed.get(ordinal);
    if (changed !== undefined) return changed;
    return this.#dropped ? undefined : this.#base.rows.get(ordinal);
  }

  /** Every row, in no particular order. */
  *rows(): Iterable<OrdinalRow> {
    yield* this.#changed.values();
    if (this.#dropped) return;
    for (const row of this.#base.rows.values()) if (!this.#changed.has(row.ordinal)) yield row;
  }

  /** Takes the next number of the block's one counter. */
  nextNumber(): number {
    this.#counter += 1;
    invariant(Number.isSafeInteger(this.#counter), "the block's counter is exhausted");
    return this.#counter;
  }

  /** Writes a row of an ordinal; its number must be the counter's newest. */
  put(row: OrdinalRow): void {
    invariant(row.ordinal >= 0 && row.ordinal < this.capacity, "an ordinal outside its block");
    invariant(row.number === this.#counter, "a row must carry the newest number");
    this.#changed.set(row.ordinal, row);
  }

  /** Writes the header; the counter is kept in it as a floor. */
  putHeader(header: Omit<BlockHeader, "counter" | "at">): void {
    invariant(header.epoch >= (this.#header?.epoch ?? 0), "an epoch only rises");
    this.#counter = Math.max(this.#counter, counterFloor(header.incarnation));
    const { borrowedVersion, hasForgotten } = this.#header ?? {};
    const kept = {
      ...(borrowedVersion === undefined ? {} : { borrowedVersion }),
      ...(hasForgotten === undefined ? {} : { hasForgotten }),
    };
    this.#header = { ...kept, ...header, counter: this.#counter, at: this.now };
  }

  /** Forgets all rows of an empty block; the header keeps the counter. */
  dropRows(): void {
    this.#dropped = true;
    this.#changed.clear();
  }

  /** What is to be stored. */
  changes(): BlockChanges {
    const at = Math.max(
      this.#base.at,
      this.#changed.size > 0 || this.#header !== this.#base.header ? this.now : 0,
    );
    const rest = { rows: [...this.#changed.values()], dropped: this.#dropped, counter: this.#counter, at };
    return this.#header !== undefined && this.#header !== this.#base.header
      ? { header: this.#header, ...rest }
      : rest;
  }

  /** Tries one element of a batch: what it changed is forgotten when it throws. */
  attempt<T>(decide: () => T): T {
    const before = { changed: new Map(this.#changed), header: this.#header, counter: this.#counter };
    try {
      return decide();
    } catch (failure) {
      this.#changed = before.changed;
      this.#header = before.header;
      this.#counter = before.counter;
      throw failure;
    }
  }
}

/** The state after stored changes. Why: the rows of a large block are not copied for each of them. */
export function applyChanges(state: BlockState, changes: BlockChanges): BlockState {
  const rows = changes.dropped ? new Map<number, OrdinalRow>() : (state.rows as Map<number, OrdinalRow>);
  for (const row of changes.rows) rows.set(row.ordinal, row);
  return { header: changes.header ?? state.header, rows, counter: changes.counter, at: changes.at };
}

/** Tells whether an ordinal was set aside for the host at the block's birth. */
export function isHostReserved(header: BlockHeader | undefined, capacity: number, ordinal: number): boolean {
  const reserved = header?.hostReserved;
  return reserved !== undefined && (ordinal < reserved.start || ordinal >= capacity - reserved.end);
}

/** Derives the state of an ordinal (I2). */
export function ordinalState(draft: BlockDraft, ordinal: number, cooldownMs: number): OrdinalState {
  if (isHostReserved(draft.header, draft.capacity, ordinal)) return "host_reserved";
  return stateOf(draft.row(ordinal), cooldownMs, draft.now);
}

/** Counts a block in one pass over one snapshot (I14). */
export function countBlock(
  draft: BlockDraft,
  policy: { reserved: OrdinalRanges; cooldownMs: number },
): BlockCounts {
  const tally = { free: 0, allocated: 0, cooling: 0, host_reserved: 0 };
  let reserved = 0;
  let available = 0;
  let borrowed = 0;
  const times: { at: number; isReserved: boolean }[] = [];
  for (let ordinal = 0; ordinal < draft.capacity; ordinal += 1) {
    const state = ordinalState(draft, ordinal, policy.cooldownMs);
    const isReserved = inRanges(policy.reserved, ordinal);
    tally[state] += 1;
    if (isReserved) reserved += 1;
    if (state === "free" && !isReserved) available += 1;
    const row = draft.row(ordinal);
    if (state === "allocated" && row?.current?.host !== draft.owner) borrowed += 1;
    if (state === "cooling") times.push({ at: freeAt(row, policy.cooldownMs), isReserved });
  }
  const open = times.filter(({ isReserved }) => !isReserved).map(({ at }) => at);
  return {
    capacity: draft.capacity,
    allocated: tally.allocated,
    cooling: tally.cooling,
    hostReserved: tally.host_reserved,
    free: tally.free,
    reserved,
    available,
    borrowed,
    ...(open.length > 0 ? { nextFreeAt: open.reduce((one, other) => Math.min(one, other)) } : {}),
    ...(times.length > 0 ? { coolingSteps: coolingSteps(times) } : {}),
    asOf: draft.now,
  };
}

/** Tells whether a block holds neither an allocated nor a cooling address. */
export function isEmpty(draft: BlockDraft, cooldownMs: number): boolean {
  for (const row of draft.rows()) if (stateOf(row, cooldownMs, draft.now) !== "free") return false;
  return true;
}

/** Tells whether a block holds an allocated address. */
export function holdsAddress(draft: BlockDraft): boolean {
  for (const row of draft.rows()) if (row.current !== undefined) return true;
  return false;
}

/** The address of an ordinal, as canonical text. */
export function addressText(draft: BlockDraft, ordinal: number): string {
  return formatAddress(addressAt(draft.cidr, ordinal));
}

/** What the outside sees of an allocated address, or of its last tenure while it cools. */
export function recordOf(draft: BlockDraft, row: OrdinalRow, cooldownMs: number): AddressRecord | undefined {
  const ended: EndedTenure | undefined = row.ended[0];
  const tenure: Tenure | undefined = row.current ?? ended;
  if (tenure === undefined) return undefined;
  return {
    address: addressText(draft, row.ordinal),
    family: draft.cidr.family,
    block: formatCidr(draft.cidr),
    ...(draft.owner === undefined ? {} : { blockOwner: draft.owner }),
    state: row.current === undefined ? "cooling" : "allocated",
    handle: tenure.handle,
    key: tenure.key,
    host: tenure.host,
    use: tenure.use,
    attributes: tenure.attributes,
    ...(tenure.alternateAttributes === undefined ? {} : { alternateAttributes: tenure.alternateAttributes }),
    leakCollection: tenure.leakCollection,
    sequenceNumber: tenure.sequenceNumber,
    touch: row.number,
    allocatedAt: tenure.allocatedAt,
    ...(row.current === undefined && ended !== undefined
      ? { releasedAt: ended.releasedAt, freeAt: ended.releasedAt + cooldownMs }
      : {}),
  };
}
