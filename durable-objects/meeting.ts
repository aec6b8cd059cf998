/**
 * Where steps that run side by side wait for each other, but not for long.
 * May import: nothing. Rule: one that is slow, or never comes, holds up the others once and so long only.
 */
import type { Runtime } from "./runtime.ts";

/**
 * Makes the meeting of so many steps: each calls what is returned once, and goes on when all have come, or
 * so long after the first has. Units: milliseconds.
 */
export function meeting(
  { sleep }: Pick<Runtime, "sleep">,
  steps: number,
  patienceMs: number,
): () => Promise<void> {
  let missing = steps;
  const timer = new AbortController();
  let over: Promise<void> | undefined;
  return async () => {
    missing -= 1;
    if (missing <= 0) timer.abort();
    else over ??= sleep(patienceMs, timer.signal).catch(() => undefined);
    await over;
  };
}

/** The first outcome that will do, as soon as there is one; undefined when all have come and none does. */
export function firstOf<T>(
  steps: readonly Promise<T>[],
  willDo: (outcome: T) => boolean,
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    for (const step of steps) void step.then((outcome) => willDo(outcome) && resolve(outcome), reject);
    void Promise.all(steps).then(() => resolve(undefined), reject);
  });
}
