/**
 * Calls of other objects with an end: a time limit, and one further try where repeating is harmless.
 * May import: platform only. Rule: an overloaded object is never asked again.
 */
import { classify, type PlatformFailure } from "./failure.ts";

/** What became of a call. `timed_out`: nobody knows; the callee may still run to its end. */
export type CallOutcome<T> =
  | { readonly kind: "answered"; readonly value: T }
  | { readonly kind: "failed"; readonly failure: PlatformFailure; readonly cause: unknown }
  | { readonly kind: "timed_out" };

/**
 * Resolves after that many milliseconds.
 * Shape: one that heeds the signal lets a call's timer end with the call; one that does not is right too.
 */
export type Sleep = (ms: number, signal: EndSignal) => Promise<void>;

/** What a sleep needs of an AbortSignal; a real one will do. */
export interface EndSignal {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
}

/**
 * Tells one sleeper that nobody waits for it any more.
 * Why: an AbortController makes an exception with a stack for every call; calls are the hot path.
 */
class Ending implements EndSignal {
  aborted = false;
  readonly reason = "the call was answered";
  #listener: (() => void) | undefined;

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listener = listener;
  }

  end(): void {
    this.aborted = true;
    this.#listener?.();
  }
}

/** Units: milliseconds for all tries together. */
export interface CallLimit {
  readonly timeoutMs: number;
  readonly sleep: Sleep;
}

/** Makes one call and waits for its answer, at most so long; never throws. */
export async function callOnce<T>(begin: () => Promise<T>, limit: CallLimit): Promise<CallOutcome<T>> {
  return await withinLimit(attempt(begin), limit);
}

/**
 * Makes a call that may be repeated: once more at most, and only when the object was not reached.
 * Why: the platform itself repeats calls that never arrived; more tries here would multiply.
 * Invariant: `begin` makes a new stub each time, since a failed stub stays broken.
 */
export async function callIdempotent<T>(begin: () => Promise<T>, limit: CallLimit): Promise<CallOutcome<T>> {
  return await withinLimit(attemptTwice(begin), limit);
}

async function attempt<T>(begin: () => Promise<T>): Promise<CallOutcome<T>> {
  try {
    return { kind: "answered", value: await begin() };
  } catch (cause) {
    return { kind: "failed", failure: classify(cause), cause };
  }
}

async function attemptTwice<T>(begin: () => Promise<T>): Promise<CallOutcome<T>> {
  const first = await attempt(begin);
  const again = first.kind === "failed" && first.failure === "unreachable";
  return again ? await attempt(begin) : first;
}

/** Waits for an outcome that never rejects; the timer ends with it. */
async function withinLimit<T>(
  outcome: Promise<CallOutcome<T>>,
  { timeoutMs, sleep }: CallLimit,
): Promise<CallOutcome<T>> {
  const ending = new Ending();
  const limit = sleep(timeoutMs, ending).then(
    () => ({ kind: "timed_out" }) as const,
    // The signal ends the sleep; by then the outcome has won.
    () => outcome,
  );
  try {
    return await Promise.race([outcome, limit]);
  } finally {
    ending.end();
  }
}
