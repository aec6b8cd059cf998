/**
 * The state of one block and its figures; decisions are in block-*.ts and write into a draft.
 * May import: core only. Time and numbers of a block never go back.
 */

import { formatAddress } from "./address.ts";
import type { AddressRecord } from "./allocation.ts";
import { BlockIndex } from "./block-index.ts";
import { addressAt, type Cidr, formatCidr, size } from "./cidr.ts";
import { invariant } from "./invariant.ts";
import { type EndedTenure, type OrdinalRow, type OrdinalState, stateOf, type Tenure } from "./ordinal.ts";

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
  readonly index: BlockIndex;
  readonly counter: number;
  readonly at: number;
}

/** What a decision leaves to be stored. */
export interface BlockChanges {
  /** Present when it changed. */
  readonly header?: BlockHeader;
  readonly rows: readonly RowChange[];
  /** All earlier rows are forgotten. */
  readonly dropped: boolean;
  readonly counter: number;
  readonly at: number;
}

/** A row and the one that is stored for its ordinal so far, if there is one. */
export interface RowChange {
  readonly row: OrdinalRow;
  readonly before: OrdinalRow | undefined;
}

/** Assembles a state from what storage holds. */
export function blockState(header: BlockHeader | undefined, rows: Iterable<OrdinalRow>): BlockState {
  const index = new BlockIndex(rows);
  let counter = header?.counter ?? 0;
  let at = header?.at ?? 0;
  for (const row of index.rows()) {
    counter = Math.max(counter, row.number);
    at = Math.max(at, row.at);
  }
  return { header, index, counter, at };
}

/** Sequence numbers of one incarnation of a pool begin here (I3: also with another block size). */
export function counterFloor(incarnation: number): number {
  const floor = incarnation * 2 ** 36;
  invariant(Number.isSafeInteger(floor + 2 ** 36), "the incarnation is out of range");
  return floor;
}

/**
 * One decision on a block: reads it, writes into it, tells what is to be stored.
 * Why: rows are written into the state's own index, which would cost too much to copy. A state whose
 * draft was not stored must be thrown away, or the draft discarded.
 */
export class BlockDraft {
  readonly cidr: Cidr;
  readonly capacity: number;
  /** The block's time: never earlier than anything it stored. */
  readonly now: number;
  readonly times: BlockTimes;
  readonly index: BlockIndex;
  readonly #base: BlockState;
  #header: BlockHeader | undefined;
  #counter: number;
  /** Each write with what was there before it, in order. */
  readonly #log: { readonly ordinal: number; readonly before: OrdinalRow | undefined }[] = [];
  /** Of each ordinal in the log, what was there before its first write. */
  readonly #first = new Map<number, OrdinalRow | undefined>();
  #dropped = false;

  constructor(base: BlockState, cidr: Cidr, clock: number, times: BlockTimes) {
    this.#base = base;
    this.index = base.index;
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

  /** The owner before this decision. */
  get ownerBefore(): string | undefined {
    return this.#base.header?.owner;
  }

  get counter(): number {
    return this.#counter;
  }

  row(ordinal: number): OrdinalRow | undefined {
    return this.index.row(ordinal);
  }

  /** Every row, in no particular order. */
  rows(): Iterable<OrdinalRow> {
    return this.index.rows();
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
    this.#note(row.ordinal, this.index.put(row));
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
    for (const before of [...this.index.rows()]) {
      this.index.remove(before.ordinal);
      this.#note(before.ordinal, before);
    }
  }

  /** Tells whether all earlier rows were forgotten. */
  get hasDropped(): boolean {
    return this.#dropped;
  }

  /** The ordinals written or forgotten, each with its row before this decision. */
  touched(): ReadonlyMap<number, OrdinalRow | undefined> {
    return this.#first;
  }

  /** What is to be stored. */
  changes(): BlockChanges {
    const header = this.#header === this.#base.header ? undefined : this.#header;
    const rows = this.#changedRows();
    const at = Math.max(this.#base.at, rows.length > 0 || header !== undefined ? this.now : 0);
    const rest = { rows, dropped: this.#dropped, counter: this.#counter, at };
    return header === undefined ? rest : { header, ...rest };
  }

  #changedRows(): RowChange[] {
    const changed: RowChange[] = [];
    for (const [ordinal, before] of this.#first) {
      const row = this.index.row(ordinal);
      if (row !== undefined) changed.push({ row, before: this.#dropped ? undefined : before });
    }
    return changed;
  }

  /** Tries one element of a batch: what it changed is forgotten when it throws. */
  attempt<T>(decide: () => T): T {
    const [header, counter, isDropped] = [this.#header, this.#counter, this.#dropped];
    const length = this.#log.length;
    try {
      return decide();
    } catch (failure) {
      this.#takeBack(length);
      this.#header = header;
      this.#counter = counter;
      this.#dropped = isDropped;
      throw failure;
    }
  }

  /** Leaves the state as it was before this decision; the draft has had its use. */
  discard(): void {
    this.#takeBack(0);
    this.#header = this.#base.header;
    this.#counter = this.#base.counter;
    this.#dropped = false;
  }

  #note(ordinal: number, before: OrdinalRow | undefined): void {
    this.#log.push({ ordinal, before });
    if (!this.#first.has(ordinal)) this.#first.set(ordinal, before);
  }

  #takeBack(length: number): void {
    for (const { ordinal, before } of this.#log.splice(length).reverse()) {
      if (before === undefined) this.index.remove(ordinal);
      else this.index.put(before);
    }
    this.#first.clear();
    for (const { ordinal, before } of this.#log) {
      if (!this.#first.has(ordinal)) this.#first.set(ordinal, before);
    }
  }
}

/** The state after stored changes; the rows are in its index since they were decided. */
export function applyChanges(state: BlockState, changes: BlockChanges): BlockState {
  const { counter, at, header = state.header } = changes;
  return { header, index: state.index, counter, at };
}

/** The ordinals that are not set aside for the host: from the first one up to, without, the second. */
export function openOrdinals(header: BlockHeader | undefined, capacity: number): readonly [number, number] {
  const { start = 0, end = 0 } = header?.hostReserved ?? {};
  return [Math.min(start, capacity), Math.max(Math.min(start, capacity), capacity - end)];
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

/** Tells whether a block holds neither an allocated nor a cooling address. */
export function isEmpty({ index, now }: BlockDraft, cooldownMs: number): boolean {
  return index.allocated === 0 && index.freed.freeCount(cooldownMs, now) === index.freed.length;
}

/** Tells whether a block holds an allocated address. */
export function holdsAddress({ index }: BlockDraft): boolean {
  return index.allocated > 0;
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
    block: draft.header?.block ?? formatCidr(draft.cidr),
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
