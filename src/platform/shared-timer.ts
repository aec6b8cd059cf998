/**
 * One timer for the limits of all calls of an object: nearly all of them are answered long before.
 * May import: platform only. Why: setting and ending a timer for every call cost 4 % of an allocation.
 */
import type { EndSignal } from "./call.ts";

/** What a timer needs of its platform. Units: milliseconds. */
export interface Clock {
  now(): number;
  sleep(ms: number, signal?: EndSignal): Promise<void>;
}

/** The sleep of an object in which those that a signal may end share one timer. */
export function sharedSleep(clock: Clock): Clock["sleep"] {
  const timer = new SharedTimer(clock);
  return (ms, signal) => (signal === undefined ? clock.sleep(ms) : timer.sleep(ms, signal));
}

interface Sleeper {
  readonly ms: number;
  due: number;
  readonly wake: () => void;
}

export class SharedTimer {
  readonly #clock: Clock;
  readonly #sleepers = new Set<Sleeper>();
  /** When the timer rings next. */
  #armedFor = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after that many milliseconds; rejects when the signal says so. */
  sleep(ms: number, signal: EndSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const sleeper: Sleeper = { ms, due: this.#clock.now() + ms, wake: resolve };
      this.#sleepers.add(sleeper);
      const stop = (): void => {
        if (this.#sleepers.delete(sleeper)) reject(signal.reason);
      };
      signal.addEventListener("abort", stop, { once: true });
      this.#arm(sleeper.due);
    });
  }

  /** A timer that is armed stays: with nobody left to wake it does nothing when it rings. */
  #arm(due: number): void {
    const now = this.#clock.now();
    // One that should have rung by now counts for nothing: the clock was set forward.
    if (due >= this.#armedFor && now <= this.#armedFor) return;
    this.#armedFor = due;
    // An object that ends takes its timer along, and whoever waited for it.
    this.#clock.sleep(due - now).then(
      () => this.#ring(due),
      () => undefined,
    );
  }

  #ring(due: number): void {
    // One that was armed later for an earlier time has taken over.
    if (due !== this.#armedFor) return;
    this.#armedFor = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    let next = Number.POSITIVE_INFINITY;
    for (const sleeper of this.#sleepers) {
      // Nobody has longer to sleep than at first: the clock was set back.
      sleeper.due = Math.min(sleeper.due, now + sleeper.ms);
      if (sleeper.due > now) next = Math.min(next, sleeper.due);
      else {
        this.#sleepers.delete(sleeper);
        sleeper.wake();
      }
    }
    if (next < Number.POSITIVE_INFINITY) this.#arm(next);
  }
}
