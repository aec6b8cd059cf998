/**
 * How long objects that do not answer are waited for. May import: platform, http.
 * Rule: no answer is no "no": to whoever asked, the outcome is not known.
 */
import { callOnce, type EndSignal } from "../platform/call.ts";
import type { Call } from "./operation.ts";

type Outside = Pick<Call, "settings" | "sleep">;

/** Asks an object, and notes that it answered. Rejects: once nobody waits any more, without asking. */
export type Hear = <T>(ask: () => Promise<T>) => Promise<T>;

/** How long a message is waited for, ms: as long as whatever it asks for may still come about, and that again. */
export function waitLimitMs({ settings }: Pick<Outside, "settings">): number {
  return 2 * (settings.untilMs + settings.skewMs);
}

/** It may have arrived: to whoever asked this is a lost answer, as where an object is not reached. */
export function unanswered(): Error {
  return Object.assign(new Error("a message was not answered in time"), { retryable: true });
}

/**
 * Does work that asks many objects, as long as any of them answers. Rejects: what the work does, or
 * `unanswered` after a time in which nothing was heard.
 * Why: one timer for all its calls; and what asks hundreds of objects may take longer than one call.
 */
export async function whileHeard<T>(work: (hear: Hear) => Promise<T>, call: Outside): Promise<T> {
  let heard = 0;
  let isOver = false;
  const hear: Hear = async (ask) => {
    if (isOver) throw unanswered();
    const answer = await ask();
    heard += 1;
    return answer;
  };
  const sleep = (ms: number, signal: EndSignal) => call.sleep(ms, signal);
  const working = work(hear);
  try {
    let before: number;
    do {
      before = heard;
      const said = await callOnce(() => working, { timeoutMs: waitLimitMs(call), sleep });
      if (said.kind === "answered") return said.value;
      if (said.kind === "failed") throw said.cause;
    } while (heard > before);
    throw unanswered();
  } finally {
    isOver = true;
  }
}
