/**
 * The rows of a block by what is asked of them: ordinal, key, place in the queue of free addresses.
 * May import: core only. Invariant: after each `put` all of it says what a whole scan would say.
 */
import { FreedQueue } from "./freed-queue.ts";
import type { EndedTenure, OrdinalRow, UndoneAttempt } from "./ordinal.ts";

/** Finds, counts and orders rows at a cost that does not grow with the block. */
export class BlockIndex {
  /** Released ordinals, the one freed first in front. */
  readonly freed = new FreedQueue();
  readonly #rows = new Map<number, OrdinalRow>();
  readonly #held = new OrdinalsByText();
  readonly #ended = new OrdinalsByText();
  readonly #undone = new OrdinalsByText();
  readonly #used = new UsedOrdinals();
  readonly #heldByHost = new Map<string, number>();
  #allocated = 0;

  constructor(rows: Iterable<OrdinalRow> = []) {
    for (const row of rows) this.put(row);
  }

  get size(): number {
    return this.#rows.size;
  }

  /** How many ordinals are allocated. */
  get allocated(): number {
    return this.#allocated;
  }

  row(ordinal: number): OrdinalRow | undefined {
    return this.#rows.get(ordinal);
  }

  rows(): Iterable<OrdinalRow> {
    return this.#rows.values();
  }

  /** How many ordinals a host holds. */
  heldBy(host: string): number {
    return this.#heldByHost.get(host) ?? 0;
  }

  /** The ordinals that a key holds, in no particular order. */
  held(handle: string, key: string): readonly number[] {
    return this.#held.get(keyText(handle, key));
  }

  /** Tells whether an address of the key was released here and the row remembers it. */
  hasEnded(handle: string, key: string): boolean {
    return this.#ended.get(keyText(handle, key)).length > 0;
  }

  /** The ordinals whose rows name this attempt as undone, however long ago. */
  undone(attempt: Omit<UndoneAttempt, "at">): readonly number[] {
    return this.#undone.get(attemptText(attempt));
  }

  /** The lowest ordinal, from one on, that was never released and is not held. */
  nextUnused(from: number): number {
    return this.#used.nextClear(from);
  }

  /** Puts a row in the place of the ordinal's earlier one, which it returns. */
  put(row: OrdinalRow): OrdinalRow | undefined {
    const before = this.#rows.get(row.ordinal);
    if (before === row) return before;
    this.#rows.set(row.ordinal, row);
    this.#move(row.ordinal, before, row);
    return before;
  }

  /** Forgets the row of an ordinal. */
  remove(ordinal: number): void {
    const before = this.#rows.get(ordinal);
    if (before === undefined) return;
    this.#rows.delete(ordinal);
    this.#move(ordinal, before, undefined);
  }

  #move(ordinal: number, before: OrdinalRow | undefined, after: OrdinalRow | undefined): void {
    this.#moveHeld(ordinal, before, after);
    if (before !== undefined && isFreed(before)) this.freed.remove(before);
    if (after !== undefined && isFreed(after)) this.freed.insert(after);
    const past = after?.ended ?? [];
    this.#moveEnded(ordinal, before?.ended ?? [], past);
    if (before?.undone !== after?.undone) {
      for (const one of before?.undone ?? []) this.#undone.remove(attemptText(one), ordinal);
      for (const one of after?.undone ?? []) this.#undone.add(attemptText(one), ordinal);
    }
    this.#used.set(ordinal, after?.current !== undefined || past.length > 0);
  }

  #moveHeld(ordinal: number, before: OrdinalRow | undefined, after: OrdinalRow | undefined): void {
    const was = before?.current;
    const is = after?.current;
    if (was?.handle !== is?.handle || was?.key !== is?.key) {
      if (was !== undefined) this.#held.remove(keyText(was.handle, was.key), ordinal);
      if (is !== undefined) this.#held.add(keyText(is.handle, is.key), ordinal);
    }
    if (was?.host === is?.host) return;
    if (was !== undefined) this.#count(was.host, -1);
    if (is !== undefined) this.#count(is.host, 1);
  }

  #count(host: string, step: 1 | -1): void {
    this.#allocated += step;
    const count = this.heldBy(host) + step;
    if (count === 0) this.#heldByHost.delete(host);
    else this.#heldByHost.set(host, count);
  }

  /** Both lists are newest first, so one pass finds what came and what was dropped. */
  #moveEnded(ordinal: number, before: readonly EndedTenure[], after: readonly EndedTenure[]): void {
    if (before === after) return;
    let old = 0;
    let young = 0;
    while (old < before.length || young < after.length) {
      const was = before[old];
      const is = after[young];
      const order = (is?.freedAt ?? 0) - (was?.freedAt ?? 0);
      if (order > 0 && is !== undefined) this.#ended.add(keyText(is.handle, is.key), ordinal);
      if (order < 0 && was !== undefined) this.#ended.remove(keyText(was.handle, was.key), ordinal);
      if (order >= 0) young += 1;
      if (order <= 0) old += 1;
    }
  }
}

function isFreed({ current, ended }: OrdinalRow): boolean {
  return current === undefined && ended.length > 0;
}

/** One text for a handle and a key; the length keeps two pairs apart that read the same in a row. */
function keyText(handle: string, key: string): string {
  return `${key.length} ${key}${handle}`;
}

function attemptText({ handle, key, attempt }: Omit<UndoneAttempt, "at">): string {
  return `${attempt.length} ${attempt}${keyText(handle, key)}`;
}

const NO_ORDINALS: readonly number[] = [];

/** Which ordinals a text leads to; one is listed as often as it was added. */
class OrdinalsByText {
  readonly #places = new Map<string, number[]>();

  get(text: string): readonly number[] {
    return this.#places.get(text) ?? NO_ORDINALS;
  }

  add(text: string, ordinal: number): void {
    const known = this.#places.get(text);
    if (known === undefined) this.#places.set(text, [ordinal]);
    else known.push(ordinal);
  }

  remove(text: string, ordinal: number): void {
    const known = this.#places.get(text);
    const place = known?.lastIndexOf(ordinal) ?? -1;
    if (known === undefined || place < 0) return;
    if (known.length === 1) this.#places.delete(text);
    else known.splice(place, 1);
  }
}

const WORD_BITS = 32;

/** One bit for each ordinal: held, or released before. */
class UsedOrdinals {
  readonly #words: number[] = [];
  /** No word before this one has a clear bit. */
  #open = 0;

  set(ordinal: number, isUsed: boolean): void {
    const word = Math.floor(ordinal / WORD_BITS);
    const bit = 1 << (ordinal % WORD_BITS);
    for (let grown = this.#words.length; grown <= word; grown += 1) this.#words.push(0);
    const bits = this.#words[word] ?? 0;
    this.#words[word] = isUsed ? bits | bit : bits & ~bit;
    if (!isUsed && word < this.#open) this.#open = word;
    while (this.#words[this.#open] === -1) this.#open += 1;
  }

  nextClear(from: number): number {
    let word = Math.floor(from / WORD_BITS);
    // Bits below `from` count as set in the first word that is looked at.
    let below = (1 << (from % WORD_BITS)) - 1;
    if (word < this.#open) {
      word = this.#open;
      below = 0;
    }
    for (; word < this.#words.length; word += 1, below = 0) {
      const clear = ~((this.#words[word] ?? 0) | below);
      if (clear !== 0) return word * WORD_BITS + lowestBit(clear);
    }
    return Math.max(from, this.#words.length * WORD_BITS);
  }
}

function lowestBit(bits: number): number {
  return WORD_BITS - 1 - Math.clz32(bits & -bits);
}
