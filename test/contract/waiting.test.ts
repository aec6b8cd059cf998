/** How long a piece of work waits for objects: as long as any of them answers, and then to an end. */
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { LOCAL_SETTINGS } from "../../src/core/settings.ts";
import { type Hear, waitLimitMs, whileHeard } from "../../src/http/waiting.ts";
import { classify } from "../../src/platform/failure.ts";

/** A clock whose limits pass when the test says so. */
class Stage {
  readonly limits: { readonly ms: number; readonly pass: () => void }[] = [];
  readonly outside = {
    settings: LOCAL_SETTINGS,
    sleep: (ms: number) => new Promise<void>((pass) => this.limits.push({ ms, pass })),
  };

  /** The limit that runs passes. */
  async pass(): Promise<void> {
    this.limits.at(-1)?.pass();
    await setImmediate();
  }

  does<T>(work: (hear: Hear) => Promise<T>) {
    const done = whileHeard(work, this.outside);
    const state: { value?: T; failure?: unknown } = {};
    done.then(
      (value) => Object.assign(state, { value }),
      (failure) => Object.assign(state, { failure }),
    );
    return state;
  }
}

it("what is answered is handed on, with one limit for all of it", async () => {
  const stage = new Stage();
  const state = stage.does(async (hear) => [await hear(async () => 1), await hear(async () => 2)]);
  await setImmediate();
  expect(state).toEqual({ value: [1, 2] });
  expect(stage.limits.map(({ ms }) => ms)).toEqual([waitLimitMs(stage.outside)]);
});

it("what fails fails the work as it is", async () => {
  const stage = new Stage();
  const failure = new Error("a defect");
  const state = stage.does((hear) => hear(() => Promise.reject(failure)));
  await setImmediate();
  expect(state).toEqual({ failure });
});

it("a limit in which something was heard is followed by another; a silent one ends the wait", async () => {
  const stage = new Stage();
  const first = Promise.withResolvers<number>();
  const hung = Promise.withResolvers<number>();
  let isAsked = false;
  const state = stage.does(async (hear) => {
    await hear(() => first.promise);
    await hear(() => hung.promise);
    await hear(async () => {
      isAsked = true;
    });
  });
  first.resolve(1);
  await setImmediate();
  await stage.pass();
  expect(state).toEqual({});
  await stage.pass();
  expect(classify(state.failure)).toBe("unreachable");
  // Its answer comes after all: nobody waits, and nothing more is asked.
  hung.resolve(2);
  await setImmediate();
  expect(isAsked).toBe(false);
});

it("a failure that comes when nobody waits any more is nobody's", async () => {
  const stage = new Stage();
  const hung = Promise.withResolvers<number>();
  const state = stage.does((hear) => hear(() => hung.promise));
  await stage.pass();
  expect(classify(state.failure)).toBe("unreachable");
  hung.reject(new Error("late"));
  // An unhandled rejection would fail this file.
  await setImmediate();
});
