/**
 * What happens by chance, occasion by occasion: each has a name and a generator of its own, so that a
 * shorter history meets the same faults, and single faults can be left out.
 * May import: random. Rule: no occasion's luck depends on another's.
 */
import { Random } from "./random.ts";

interface Occasions {
  readonly hash: number;
  count: number;
}

export class Chance {
  /** The faults that happened, by name, in their order. */
  readonly happened: string[] = [];
  /** When given, no other faults happen. */
  readonly only: ReadonlySet<string> | undefined;
  readonly #seed: number;
  readonly #occasions = new Map<string, Occasions>();

  constructor(seed: number, only?: ReadonlySet<string>) {
    this.#seed = seed;
    this.only = only;
  }

  /** The next occasion of a sort. */
  at(sort: string): Luck {
    let occasions = this.#occasions.get(sort);
    if (occasions === undefined) {
      occasions = { hash: hashOf(sort, this.#seed), count: 0 };
      this.#occasions.set(sort, occasions);
    }
    occasions.count += 1;
    return new Luck(this, sort, occasions.count, occasions.hash);
  }
}

/** One occasion. */
export class Luck extends Random {
  readonly #chance: Chance;
  readonly #sort: string;
  readonly #count: number;

  constructor(chance: Chance, sort: string, count: number, hash: number) {
    super(Math.imul(hash ^ count, 0x9e3779b1));
    this.#chance = chance;
    this.#sort = sort;
    this.#count = count;
  }

  /** Does a fault of this probability happen here? */
  fault(what: string, probability: number): boolean {
    if (!this.chance(probability)) return false;
    const name = `${what}: ${this.#sort} #${this.#count}`;
    if (this.#chance.only?.has(name) === false) return false;
    this.#chance.happened.push(name);
    return true;
  }
}

function hashOf(text: string, seed: number): number {
  let hash = 0x811c9dc5 ^ Math.imul(seed, 0x85ebca6b);
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash ^ (hash >>> 13);
}
