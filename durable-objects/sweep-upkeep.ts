/**
 * Upkeep: a check with repair that the Sweep makes by itself, at a low rate, over all there is.
 * May import: core, rpc, storage. Rule: it waits while a check runs that somebody asked for, and goes on after it.
 */
import type { SweepPort } from "../src/rpc/sweep.ts";
import { type CheckKind, CheckRun } from "./check-run.ts";
import type { Runtime } from "./runtime.ts";
import type { Store } from "./storage/store.ts";

/** A hundred calls and one more step, then a pause: some twenty calls a second at most. */
const UPKEEP: CheckKind = { series: "upkeep_", idPrefix: "u", callsPerSlice: 100, pauseMs: 5_000 };

/** What the Sweep knows that decides whether there is to be upkeep. */
export interface UpkeepFacts {
  /** When the Sweep was first called by a trigger; absent: never. Milliseconds since 1970. */
  since(): number | undefined;
  /** A check runs that somebody asked for. */
  isChecking(): boolean;
}

export class SweepUpkeep {
  readonly #everyMs: number;
  readonly #run: CheckRun;
  readonly #facts: UpkeepFacts;

  constructor(runtime: Runtime, store: Store, arm: (at: number) => void, facts: UpkeepFacts) {
    this.#everyMs = runtime.settings.upkeepMs;
    this.#run = new CheckRun(runtime, store, arm, UPKEEP);
    this.#facts = facts;
  }

  /** Whether there is something to do now: to begin, or to go on. */
  isDue(now: number): boolean {
    if (this.#everyMs <= 0 || this.#facts.isChecking()) return false;
    if (this.#run.isRunning) return true;
    const begunAt = this.#run.lastBegunAt ?? this.#facts.since();
    // A clock that was set back makes it due.
    return begunAt !== undefined && (now - begunAt >= this.#everyMs || now < begunAt);
  }

  /** Begins, or goes on; returns the pause until the next slice, or nothing when it is over. */
  async slice(now: number): Promise<number | undefined> {
    if (!this.isDue(now)) return undefined;
    if (!this.#run.isRunning) this.#run.start({ repair: true, by: "upkeep", isUpkeep: true });
    return await this.#run.slice();
  }

  /** Tells whether an id names an upkeep rather than a check that was asked for. */
  isNamed(id: string): boolean {
    return id.startsWith(UPKEEP.idPrefix);
  }

  read(request: Parameters<SweepPort["getCheck"]>[0]): Awaited<ReturnType<SweepPort["getCheck"]>> {
    return this.#run.read(request);
  }
}
