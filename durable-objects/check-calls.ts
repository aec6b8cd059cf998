/**
 * The calls that a check, or a sweep, makes of other objects: counted, with an end. May import: core, rpc, platform.
 * Rule: whatever is sent may arrive twice.
 */
import { callIdempotent, type EndSignal } from "../src/platform/call.ts";
import type { Runtime } from "./runtime.ts";

/** Blocks, or hosts, that are asked at a time. */
const LOT = 16;

export class CheckCalls {
  readonly #runtime: Runtime;
  used = 0;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** The answer, or nothing when there is none. `steps`: calls that the callee makes one after another. */
  async maybe<T>(begin: () => Promise<T>, steps = 1): Promise<T | undefined> {
    const { untilMs, skewMs } = this.#runtime.settings;
    const sleep = (ms: number, signal: EndSignal) => this.#runtime.sleep(ms, signal);
    const counted = (): Promise<T> => {
      this.used += 1;
      return begin();
    };
    const said = await callIdempotent(counted, { timeoutMs: steps * (untilMs + skewMs), sleep });
    return said.kind === "answered" ? said.value : undefined;
  }

  /** The answer. Rejects: when there is none; the step is tried again later. */
  async must<T>(begin: () => Promise<T>): Promise<T> {
    const said = await this.maybe(begin);
    if (said === undefined) throw new NoAnswer();
    return said;
  }

  /** Works on items, so many at a time, and keeps their order. */
  async each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
    const done: R[] = [];
    for (let begin = 0; begin < items.length; begin += LOT) {
      done.push(...(await Promise.all(items.slice(begin, begin + LOT).map(work))));
    }
    return done;
  }
}

/** An object that a step cannot do without did not answer. */
export class NoAnswer extends Error {}
