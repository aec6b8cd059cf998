/**
 * Released ordinals in the order in which they were freed: the one free for longest in front (I12).
 * May import: core only. Invariant: ascending `freedAt`, hence ascending `releasedAt`.
 */
import { invariant } from "./invariant.ts";
import { freeAt, type OrdinalRow } from "./ordinal.ts";

/** Shape: each row is released, its newest past tenure says when. */
export class FreedQueue {
  readonly #rows: OrdinalRow[] = [];

  get length(): number {
    return this.#rows.length;
  }

  at(place: number): OrdinalRow | undefined {
    return this.#rows[place];
  }

  /** The one that was released last. */
  get last(): OrdinalRow | undefined {
    return this.#rows[this.#rows.length - 1];
  }

  /** How many in front are free; those behind cool. Invariant: a block's time never goes back. */
  freeCount(cooldownMs: number, now: number): number {
    const { length } = this.#rows;
    // Most often either all or almost none of them cool.
    if (length === 0 || freeAt(this.last, cooldownMs) <= now) return length;
    return this.#firstPlace((row) => freeAt(row, cooldownMs) > now);
  }

  /** Takes in a row at its place: at the end when just released, further in front when undone. */
  insert(row: OrdinalRow): void {
    const number = freedAt(row);
    if (this.last === undefined || freedAt(this.last) < number) this.#rows.push(row);
    else this.#rows.splice(this.#placeOf(number), 0, row);
  }

  remove(row: OrdinalRow): void {
    const place = this.#rows[0] === row ? 0 : this.#placeOf(freedAt(row));
    invariant(this.#rows[place] === row, "a released row stands in the queue");
    if (place === 0) this.#rows.shift();
    else this.#rows.splice(place, 1);
  }

  #placeOf(number: number): number {
    return this.#firstPlace((row) => freedAt(row) >= number);
  }

  /** Where the rows begin for which it holds; it holds for none or for all from one on. */
  #firstPlace(holds: (row: OrdinalRow) => boolean): number {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = this.#rows[middle];
      if (row !== undefined && holds(row)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function freedAt({ ended }: OrdinalRow): number {
  return ended[0]?.freedAt ?? 0;
}
