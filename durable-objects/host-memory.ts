/**
 * What a Host keeps in memory: its rows as last read, how full blocks are, what it refused.
 * May import: core, storage. Rule: all of it is a hint or a copy; decisions read their rows again.
 */
import type { BlockCounts } from "../src/core/allocation.ts";
import { agedCounts } from "../src/core/cooling.ts";
import type { Code, Family } from "../src/core/errors.ts";
import {
  type Affinity,
  type Registration,
  readAffinities,
  readBorrowed,
  readRegistration,
} from "./storage/host-rows.ts";
import type { Store } from "./storage/store.ts";

/** Figures of a block, dated by the Host's clock. */
export interface Hint {
  readonly counts: BlockCounts;
  readonly seenAt: number;
}

type OfPool = Pick<Affinity, "pool" | "incarnation">;

const REFUSAL_MINUTES = 10;
/** Blocks of others whose figures are remembered; the oldest go first. */
const FOREIGN_HINTS_MAX = 1_024;

export class HostMemory {
  readonly #store: Store;
  #registration: { value: Registration | undefined } | undefined;
  #affinities: Map<string, Affinity> | undefined;
  /** Of the rows: how many there are of a family and of a pool, and those that are not confirmed. */
  readonly #ofFamily = { 4: 0, 6: 0 };
  readonly #ofPool = new Map<string, OfPool & { rows: number }>();
  readonly #unsettled = new Map<string, Affinity>();
  #borrowed: Set<string> | undefined;
  readonly #hints = new Map<string, Hint>();
  readonly #onTheWay = new Map<string, number>();
  /** How many were refused, by minute. */
  readonly #refusals = new Map<number, number>();
  #lastRefusal: { at: number; code: Code } | undefined;
  /** Confirmed blocks by pool: those that may have room, and those that are full until a time. */
  readonly #open = new Map<string, Set<string>>();
  readonly #full = new Map<string, number>();
  #nextDue = Number.POSITIVE_INFINITY;

  constructor(store: Store) {
    this.#store = store;
  }

  get registration(): Registration | undefined {
    this.#registration ??= { value: readRegistration(this.#store) };
    return this.#registration.value;
  }

  set registration(value: Registration | undefined) {
    this.#registration = { value };
  }

  /** The host was declared gone, and has not registered since. */
  get isRemoving(): boolean {
    const gone = this.registration?.gone;
    return gone !== undefined && gone.isOver !== true;
  }

  /** Affinity rows by block. */
  get affinities(): ReadonlyMap<string, Affinity> {
    return this.#rows();
  }

  #rows(): Map<string, Affinity> {
    if (this.#affinities === undefined) {
      this.#affinities = new Map(readAffinities(this.#store).map((row) => [row.block, row]));
      for (const row of this.#affinities.values()) this.#enter(row);
    }
    return this.#affinities;
  }

  #enter(row: Affinity): void {
    const { pool, incarnation } = row;
    this.#ofFamily[row.family] += 1;
    const ofPool = this.#ofPool.get(poolKey(row)) ?? { pool, incarnation, rows: 0 };
    this.#ofPool.set(poolKey(row), ofPool);
    ofPool.rows += 1;
    if (row.state !== "confirmed") this.#unsettled.set(row.block, row);
    this.#place(row);
  }

  #leave(row: Affinity): void {
    this.#ofFamily[row.family] -= 1;
    const ofPool = this.#ofPool.get(poolKey(row));
    if (ofPool !== undefined) ofPool.rows -= 1;
    if (ofPool?.rows === 0) this.#ofPool.delete(poolKey(row));
    this.#unsettled.delete(row.block);
    this.#open.get(poolKey(row))?.delete(row.block);
  }

  /** How many affinity rows of a family there are, in every state: what caps count. */
  countOf(family: Family): number {
    this.#rows();
    return this.#ofFamily[family];
  }

  /** The pools of which there are rows. Why: what holds for a pool is not looked up for each of its blocks. */
  pools(): OfPool[] {
    this.#rows();
    return [...this.#ofPool.values()];
  }

  /** Rows that are not confirmed: of claims and releases under way, or left by one that was interrupted. */
  unsettled(): Affinity[] {
    this.#rows();
    return [...this.#unsettled.values()];
  }

  get borrowed(): Set<string> {
    this.#borrowed ??= new Set(readBorrowed(this.#store));
    return this.#borrowed;
  }

  /** Takes over how a row was moved. */
  moved(block: string, row: Affinity | "gone" | "moved_on"): void {
    if (row === "moved_on") return;
    const rows = this.#rows();
    const known = rows.get(block);
    if (known !== undefined) this.#leave(known);
    this.#full.delete(block);
    if (row === "gone") rows.delete(block);
    else {
      rows.set(block, row);
      this.#enter(row);
    }
  }

  /**
   * Own confirmed blocks of a pool that may have room, in no order.
   * Why: a host may own thousands of full blocks; a request looks only at the few others.
   */
  roomy(pool: { readonly name: string; readonly incarnation: number }, now: number): Iterable<string> {
    this.#rows();
    if (now >= this.#nextDue) this.#reopen(now);
    return this.#open.get(`${pool.name} ${pool.incarnation}`) ?? [];
  }

  /** Puts a confirmed block among those that may have room, or among the full ones. */
  #place(row: Affinity): void {
    if (row.state !== "confirmed") return;
    const { block } = row;
    const counts = this.#hints.get(block)?.counts;
    const key = poolKey(row);
    const open = this.#open.get(key) ?? new Set<string>();
    this.#open.set(key, open);
    if (counts === undefined || counts.available > 0) {
      open.add(block);
      this.#full.delete(block);
      return;
    }
    open.delete(block);
    const due = counts.nextFreeAt ?? Number.POSITIVE_INFINITY;
    this.#full.set(block, due);
    this.#nextDue = Math.min(this.#nextDue, due);
  }

  /** Full blocks in which an address has become free by time alone. */
  #reopen(now: number): void {
    this.#nextDue = Number.POSITIVE_INFINITY;
    for (const [block, due] of this.#full) {
      const row = this.#rows().get(block);
      if (due > now) this.#nextDue = Math.min(this.#nextDue, due);
      else {
        this.#full.delete(block);
        if (row !== undefined) this.#open.get(poolKey(row))?.add(block);
      }
    }
  }

  /** Addresses that own blocks of a pool may still have, less the requests on their way to them. */
  room(pool: { readonly name: string; readonly incarnation: number }, now: number): number {
    let room = 0;
    for (const block of this.roomy(pool, now)) {
      const available = this.#hints.get(block)?.counts.available ?? 0;
      room += Math.max(0, available - (this.#onTheWay.get(block) ?? 0));
    }
    return room;
  }

  /** Blocks with figures, those not heard of for longest first. */
  *longestUnheard(): Iterable<{ readonly block: string; readonly seenAt: number }> {
    for (const [block, { seenAt }] of this.#hints) yield { block, seenAt };
  }

  hint(block: string): Hint | undefined {
    return this.#hints.get(block);
  }

  /** Notes a block's figures; older ones than known are dropped. */
  note(block: string, counts: BlockCounts, now: number): void {
    const known = this.#hints.get(block);
    if (known !== undefined && known.counts.asOf > counts.asOf) return;
    this.#hints.delete(block);
    this.#hints.set(block, { counts, seenAt: now });
    const row = this.#rows().get(block);
    if (row !== undefined) this.#place(row);
    if (this.#hints.size <= FOREIGN_HINTS_MAX + this.affinities.size) return;
    for (const other of this.#hints.keys()) {
      if (this.affinities.has(other)) continue;
      this.#hints.delete(other);
      break;
    }
  }

  /** Whether a block may have room for one more: by its figures and who is on the way, or since nobody knows. */
  mayHaveRoom(block: string, now: number): boolean {
    const known = this.#hints.get(block)?.counts;
    if (known === undefined) return true;
    const counts = agedCounts(known, now);
    if (counts.available > (this.#onTheWay.get(block) ?? 0)) return true;
    // Steps are coarse: an address may be free before its step says so.
    return counts.nextFreeAt !== undefined && counts.nextFreeAt <= now;
  }

  /**
   * Counts a request that goes to a block, until it has come back.
   * Why: of many requests at once only as many go to a block as it has room for.
   */
  async visiting<T>(block: string, wanted: number, visit: () => Promise<T>): Promise<T> {
    this.#onTheWay.set(block, (this.#onTheWay.get(block) ?? 0) + wanted);
    try {
      return await visit();
    } finally {
      const left = (this.#onTheWay.get(block) ?? 0) - wanted;
      if (left > 0) this.#onTheWay.set(block, left);
      else this.#onTheWay.delete(block);
    }
  }

  /** Whether a request is on its way to a block. */
  isVisited(block: string): boolean {
    return this.#onTheWay.has(block);
  }

  /** Counts a refusal; nothing is written. */
  refused(code: Code, now: number): void {
    const minute = Math.floor(now / 60_000);
    this.#refusals.set(minute, (this.#refusals.get(minute) ?? 0) + 1);
    this.#lastRefusal = { code, at: now };
    if (this.#refusals.size > REFUSAL_MINUTES * 2) this.#forgetRefusals(now);
  }

  /** Refusals of the last ten minutes, to the minute. */
  refusals(now: number): { last10Minutes: number; lastCode?: string; lastAt?: number } {
    this.#forgetRefusals(now);
    const last10Minutes = [...this.#refusals.values()].reduce((sum, count) => sum + count, 0);
    const last = this.#lastRefusal;
    return last === undefined || last10Minutes === 0
      ? { last10Minutes }
      : { last10Minutes, lastCode: last.code, lastAt: last.at };
  }

  #forgetRefusals(now: number): void {
    const oldest = Math.floor(now / 60_000) - REFUSAL_MINUTES;
    for (const minute of this.#refusals.keys()) if (minute <= oldest) this.#refusals.delete(minute);
  }
}

function poolKey({ pool, incarnation }: OfPool): string {
  return `${pool} ${incarnation}`;
}
