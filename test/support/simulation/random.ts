/**
 * The only source of chance in a simulation: equal seeds give equal runs.
 * May import: nothing. No Math.random, no clock.
 */

/** A small seeded generator (32 bits of state, additive step with a mixing function). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns the next number of [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns true with the given probability; draws nothing where the answer is certain. */
  chance(probability: number): boolean {
    if (probability <= 0) return false;
    return probability >= 1 || this.next() < probability;
  }

  /** Returns a number of [low, high); draws nothing where the two are equal. */
  between(low: number, high: number): number {
    return high > low ? low + this.next() * (high - low) : low;
  }

  /** Returns a whole number of [0, count). */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** Returns one element of a list that is not empty. */
  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError("pick() needs at least one element");
    return list[this.below(list.length)] as T;
  }
}
