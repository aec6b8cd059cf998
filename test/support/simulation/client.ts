/**
 * Calls from outside the deployment: begun like any other, looked at without waiting for ever.
 * May import: the simulation's own modules. Rule: a client's code never takes part in a turn.
 */
import { CLIENT, type Endpoint, type Message, type Outcome } from "./messages.ts";
import type { Network } from "./network.ts";
import { copied } from "./plain-copy.ts";

/** A call of a client. */
export interface Call<T = unknown> {
  readonly state: "pending" | "done" | "failed";
  readonly value: T | undefined;
  readonly error: Error | undefined;
  /** Virtual time of the answer. */
  readonly settledAt: number | undefined;
  /** Settles with the answer; never does if the answer was lost. */
  readonly promise: Promise<T>;
}

/** Sends a request as a client, bound to an instance of the object if one is named. */
export function startCall(
  network: Network,
  now: () => number,
  to: Endpoint,
  bound: number | undefined,
  method: string,
  args: unknown[],
): Call {
  const settled: { outcome?: Outcome; at?: number } = {};
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  // A client that looks at the state only leaves the promise alone.
  promise.catch(() => {});
  const call = network.open((outcome) => {
    settled.outcome = outcome;
    settled.at = now();
    if (outcome.ok) resolve(outcome.value);
    else reject(outcome.error);
  });
  const message: Message = { call, kind: "request", from: CLIENT, to, method, args: copied(args) };
  network.send(bound === undefined ? message : { ...message, bound });
  return {
    promise,
    get state() {
      if (settled.outcome === undefined) return "pending";
      return settled.outcome.ok ? "done" : "failed";
    },
    get value() {
      return settled.outcome?.ok ? settled.outcome.value : undefined;
    },
    get error() {
      return settled.outcome?.ok === false ? settled.outcome.error : undefined;
    },
    get settledAt() {
      return settled.at;
    },
  };
}

/** Makes a stub: every method of it sends a call. */
export function stubOf<T extends object>(send: (method: string, args: unknown[]) => Promise<unknown>): T {
  return new Proxy({} as T, {
    get(_target, method) {
      // A stub that is returned from an async function must not look like a promise.
      if (typeof method === "symbol" || method === "then") return undefined;
      return (...args: unknown[]) => send(method, args);
    },
  });
}

/** Makes a stub that, like the platform's, stays broken once a call of it lost its connection. */
export function breakable<T extends object>(send: (method: string, args: unknown[]) => Promise<unknown>): T {
  let broken: Error | undefined;
  return stubOf<T>((method, args) => {
    const answer = broken === undefined ? send(method, args) : Promise.reject(broken);
    // Seen here, so that a failed call that nobody waits for does not end the process.
    answer.catch((thrown: unknown) => {
      if (isOfPlatform(thrown)) broken = thrown;
    });
    return answer;
  });
}

function isOfPlatform(thrown: unknown): thrown is Error {
  if (!(thrown instanceof Error) || "remote" in thrown) return false;
  return "retryable" in thrown || "overloaded" in thrown;
}
