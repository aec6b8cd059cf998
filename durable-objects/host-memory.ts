/**
 * What a Host keeps in memory: its rows as last read, how full blocks are, what it refused.
 * May import: core, storage. Rule: all of it is a hint or a copy; decisions read their rows again.
 */
import type { BlockCounts } from "../src/core/allocation.ts";
import { agedCounts } from "../src/core/cooling.ts";
import type { Code } from "../src/core/errors.ts";
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

const REFUSAL_WINDOW_MS = 600_000;
/** Blocks of others whose figures are remembered; the oldest go first. */
const FOREIGN_HINTS_MAX = 1_024;

export class HostMemory {
  readonly #store: Store;
  #registration: { value: Registration | undefined } | undefined;
  #affinities: Map<string, Affinity> | undefined;
  #borrowed: Set<string> | undefined;
  readonly #hints = new Map<string, Hint>();
  readonly #onTheWay = new Map<string, number>();
  #refusals: { at: number; code: Code }[] = [];

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

  /** Affinity rows by block. */
  get affinities(): Map<string, Affinity> {
    this.#affinities ??= new Map(readAffinities(this.#store).map((row) => [row.block, row]));
    return this.#affinities;
  }

  get borrowed(): Set<string> {
    this.#borrowed ??= new Set(readBorrowed(this.#store));
    return this.#borrowed;
  }

  /** Takes over how a row was moved. */
  moved(block: string, row: Affinity | "gone" | "moved_on"): void {
    if (row === "moved_on") return;
    if (row === "gone") this.affinities.delete(block);
    else this.affinities.set(block, row);
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

  /** Counts a refusal; nothing is written. */
  refused(code: Code, now: number): void {
    this.#refusals = this.#refusals.filter(({ at }) => at > now - REFUSAL_WINDOW_MS).slice(-999);
    this.#refusals.push({ at: now, code });
  }

  refusals(now: number): { last10Minutes: number; lastCode?: string; lastAt?: number } {
    const recent = this.#refusals.filter(({ at }) => at > now - REFUSAL_WINDOW_MS);
    const last = recent.at(-1);
    const count = { last10Minutes: recent.length };
    return last === undefined ? count : { ...count, lastCode: last.code, lastAt: last.at };
  }
}
