/**
 * Whose turn it is at the Sweep's one alarm: each event does one slice of what is due and waited longest.
 * May import: nothing. Rule: what fails is tried again later, and keeps nothing else from its turn.
 */

/** Something that goes on in slices. Units: milliseconds. */
export interface Turn {
  now(): number;
  isWanted(): boolean;
  /** When it is due by what is stored. Absent: as soon as its last pause is over. */
  dueAt?(): number;
  /** One slice; returns the pause until the next, or nothing when it has none to ask for. */
  slice(): Promise<number | undefined>;
}

export class Turns {
  readonly #turns: readonly Turn[];
  /** By turn: not before this time, and when it was taken last. Only a hint: an instance begins with none. */
  readonly #notBefore = new Map<Turn, number>();
  readonly #takenAt = new Map<Turn, number>();
  #taken = 0;

  constructor(turns: readonly Turn[]) {
    this.#turns = turns;
  }

  /** Takes one slice of what is due, and returns when the next is; nothing: there is no more to do. */
  async take(now: number, retryMs: number): Promise<number | undefined> {
    try {
      const next = this.#next(now);
      if (next !== undefined) await this.#slice(next, retryMs);
      return this.#earliest(now);
    } catch {
      // What is wanted could not be read.
      return now + retryMs;
    }
  }

  async #slice(turn: Turn, retryMs: number): Promise<void> {
    this.#taken += 1;
    this.#takenAt.set(turn, this.#taken);
    let pauseMs: number | undefined = retryMs;
    try {
      pauseMs = await turn.slice();
    } catch {
      // What failed is tried again: its place is stored.
    }
    if (pauseMs === undefined) this.#notBefore.delete(turn);
    else this.#notBefore.set(turn, turn.now() + pauseMs);
  }

  /** Of all that is due, what waited longest for its turn. */
  #next(now: number): Turn | undefined {
    const due = this.#turns.filter((turn) => turn.isWanted() && this.#dueAt(turn) <= now);
    const [first] = due.toSorted((a, b) => (this.#takenAt.get(a) ?? 0) - (this.#takenAt.get(b) ?? 0));
    return first;
  }

  #earliest(now: number): number | undefined {
    const times = this.#turns.filter((turn) => turn.isWanted()).map((turn) => this.#dueAt(turn));
    return times.length === 0 ? undefined : Math.max(Math.min(...times), now + 1);
  }

  #dueAt(turn: Turn): number {
    return Math.max(turn.dueAt?.() ?? 0, this.#notBefore.get(turn) ?? 0);
  }
}
