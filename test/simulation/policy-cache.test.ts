/**
 * The lease in hand: who asks Cluster for it, when, and what is done with late and lost answers.
 */
import { expect, test } from "vitest";
import { PolicyCache } from "../../durable-objects/policy-cache.ts";
import { defaultConfig } from "../../src/core/config.ts";
import type { LeaseAnswer } from "../../src/rpc/cluster.ts";
import { platformFault } from "../support/simulation/platform-fault.ts";

const TIMEOUT_MS = 2000;

interface Asked {
  readonly knownVersion: number | undefined;
  readonly resolve: (answer: LeaseAnswer) => void;
  readonly reject: (thrown: Error) => void;
}

/** A cache beside a Cluster that answers when the test says so, on a clock that the test moves. */
function bench() {
  let now = 1000;
  const asked: Asked[] = [];
  const timers: { at: number; end: () => void }[] = [];
  const kept: Promise<unknown>[] = [];
  const cache = new PolicyCache({
    cluster: () => ({
      lease: ({ knownVersion }) => {
        const { promise, resolve, reject } = Promise.withResolvers<LeaseAnswer>();
        asked.push({ knownVersion, resolve, reject });
        return promise;
      },
    }),
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        timers.push({ at: now + ms, end: resolve });
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
    timeoutMs: TIMEOUT_MS,
    keep: (pending) => void kept.push(pending),
  });
  return {
    cache,
    asked,
    kept,
    get now() {
      return now;
    },
    current: () => cache.current(now),
    /** Ends the event that waits now: nothing it began goes on. */
    cutOff: () => void timers.splice(0),
    async moveTo(time: number) {
      now = time;
      for (const timer of timers.filter(({ at }) => at <= now)) timer.end();
      await settled();
    },
    async answer(index: number, leaseUntil: number, version = 1) {
      asked[index]!.resolve(answerOf(asked[index]!.knownVersion, version, leaseUntil));
      await settled();
    },
  };
}

function answerOf(knownVersion: number | undefined, version: number, leaseUntil: number): LeaseAnswer {
  if (knownVersion === version) return { version, leaseUntil };
  const policy = { version, config: defaultConfig(0), pools: [], reservations: [] };
  return { version, leaseUntil, policy };
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

test("requests that need a lease at the same time share one call", async () => {
  const it = bench();
  const waiting = [it.current(), it.current(), it.current()];
  expect(it.asked).toHaveLength(1);
  await it.answer(0, 2000);
  const leases = await Promise.all(waiting);
  expect(leases.map((lease) => lease?.until)).toEqual([2000, 2000, 2000]);
  expect(it.cache.peek()?.version).toBe(1);
});

test("a lease in hand is used without a call, and is gone at its end", async () => {
  const it = bench();
  const first = it.current();
  await it.answer(0, 2000);
  await first;
  await it.moveTo(1499);
  expect((await it.current())?.until).toBe(2000);
  expect(it.asked).toHaveLength(1);
  expect(it.cache.held(1999)?.until).toBe(2000);
  expect(it.cache.held(2000)).toBeUndefined();
});

test("from its half on a lease that is used is renewed once, in the background", async () => {
  const it = bench();
  const first = it.current();
  await it.answer(0, 2000);
  await first;
  await it.moveTo(1500);
  expect((await it.current())?.until).toBe(2000);
  expect((await it.current())?.until).toBe(2000);
  expect(it.asked).toHaveLength(2);
  expect(it.asked[1]?.knownVersion).toBe(1);
  await it.answer(1, 2500);
  expect(it.cache.held(2400)?.until).toBe(2500);
});

test("a lease that nobody uses is not renewed", async () => {
  const it = bench();
  const first = it.current();
  await it.answer(0, 2000);
  await first;
  await it.moveTo(60_000);
  expect(it.asked).toHaveLength(1);
  expect(it.cache.held(it.now)).toBeUndefined();
  expect(it.cache.peek()?.version).toBe(1);
});

test("a failed call gives nothing, and the next request asks again", async () => {
  const it = bench();
  const first = it.current();
  it.asked[0]?.reject(platformFault("overloaded"));
  expect(await first).toBeUndefined();
  const second = it.current();
  expect(it.asked).toHaveLength(2);
  await it.answer(1, 2000);
  expect((await second)?.until).toBe(2000);
});

test("a lost connection is tried once more within the same call", async () => {
  const it = bench();
  const lease = it.current();
  it.asked[0]?.reject(platformFault("connection_lost"));
  await settled();
  await it.answer(1, 2000);
  expect((await lease)?.until).toBe(2000);
});

test("a call without an answer is given up, and is not joined any more", async () => {
  const it = bench();
  const first = it.current();
  await it.moveTo(1000 + TIMEOUT_MS);
  expect(await first).toBeUndefined();
  const second = it.current();
  expect(it.asked).toHaveLength(2);
  await it.answer(1, 5000);
  expect((await second)?.until).toBe(5000);
});

test("a call whose event was cut off is joined while it may be alive, and no longer", async () => {
  const it = bench();
  void it.current();
  it.cutOff();
  await it.moveTo(1000 + TIMEOUT_MS - 1);
  void it.current();
  expect(it.asked).toHaveLength(1);
  await it.moveTo(1000 + TIMEOUT_MS);
  const lease = it.current();
  expect(it.asked).toHaveLength(2);
  await it.answer(1, 5000);
  expect((await lease)?.until).toBe(5000);
});

test("an answer that comes out of order does not shorten the lease in hand", async () => {
  const it = bench();
  const first = it.current();
  await it.answer(0, 2000);
  await first;
  const refreshed = it.cache.refresh();
  await it.answer(1, 1900);
  expect((await refreshed)?.until).toBe(2000);
  expect(it.cache.held(1950)?.until).toBe(2000);
});

test("an answer that arrives after the lease's end gives nothing", async () => {
  const it = bench();
  const lease = it.current();
  await it.moveTo(2100);
  await it.answer(0, 2000);
  expect(await lease).toBeUndefined();
});

test("I7, I8: a late answer under an older version does not bring the old policy back", async () => {
  const it = bench();
  const first = it.current();
  const refreshed = it.cache.refresh();
  await it.moveTo(1000 + TIMEOUT_MS / 4);
  await it.answer(1, 4600, 2);
  expect((await refreshed)?.policy.version).toBe(2);
  await it.answer(0, 9000, 1);
  expect(await first).toMatchObject({ until: 4600, policy: { version: 2 } });
  expect(it.cache.peek()?.version).toBe(2);
  expect(it.cache.held(4700)).toBeUndefined();
});

test("an answer without the policy, of a version that is no longer in hand, gives nothing new", async () => {
  const it = bench();
  const first = it.current();
  await it.answer(0, 2000, 1);
  await first;
  await it.moveTo(1600);
  await it.current();
  const refreshed = it.cache.refresh();
  await it.moveTo(1600 + TIMEOUT_MS / 4);
  await it.answer(2, 4600, 2);
  await refreshed;
  await it.answer(1, 9000, 1);
  expect(it.cache.held(it.now)).toMatchObject({ until: 4600, policy: { version: 2 } });
});

test("a new version under a shorter lease replaces the old one at once", async () => {
  const it = bench();
  const first = it.current();
  await it.answer(0, 9000, 1);
  await first;
  const refreshed = it.cache.refresh();
  await it.answer(1, 2000, 2);
  expect(await refreshed).toMatchObject({ until: 2000, policy: { version: 2 } });
  expect(it.cache.held(2500)).toBeUndefined();
});

test("a version is compiled once", async () => {
  const it = bench();
  const first = it.current();
  await it.answer(0, 2000);
  const before = (await first)?.policy;
  const refreshed = it.cache.refresh();
  await it.answer(1, 2400);
  expect((await refreshed)?.policy).toBe(before);
});

test("refresh takes a lease whose call begins after it; waiting ones share the next", async () => {
  const it = bench();
  const joined = it.current();
  const refreshed = [it.cache.refresh(), it.cache.refresh()];
  await settled();
  expect(it.asked).toHaveLength(1);
  await it.answer(0, 2000);
  expect((await joined)?.until).toBe(2000);
  expect(it.asked).toHaveLength(2);
  await it.answer(1, 2300);
  expect((await Promise.all(refreshed)).map((lease) => lease?.until)).toEqual([2300, 2300]);
  expect(it.asked).toHaveLength(2);
});

test("refresh asks although a lease is in hand", async () => {
  const it = bench();
  const first = it.current();
  await it.answer(0, 2000);
  await first;
  const refreshed = it.cache.refresh();
  expect(it.asked).toHaveLength(2);
  await it.answer(1, 2001);
  expect((await refreshed)?.until).toBe(2001);
});

test("every call is kept alive by the event that began it", async () => {
  const it = bench();
  const first = it.current();
  const next = it.cache.refresh();
  await it.answer(0, 2000);
  await it.answer(1, 2000);
  await Promise.all([first, next, ...it.kept]);
  expect(it.kept.length).toBeGreaterThanOrEqual(2);
});
