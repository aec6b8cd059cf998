/**
 * How failures of the platform are told apart, and how often a call is made.
 */
import { expect, test } from "vitest";
import { type CallLimit, callIdempotent, callOnce } from "../../src/platform/call.ts";
import { classify, type PlatformFailure } from "../../src/platform/failure.ts";
import { type FaultName, platformFault } from "../support/simulation/platform-fault.ts";

const FAULTS: readonly [FaultName, PlatformFailure][] = [
  ["connection_lost", "unreachable"],
  ["reset", "unreachable"],
  ["superseded", "unreachable"],
  ["overloaded", "overloaded"],
  ["storage_full", "storage"],
];

test.each(FAULTS)("%s is %s", (fault, expected) => {
  expect(classify(platformFault(fault))).toBe(expected);
});

const MARKS: readonly [object, PlatformFailure][] = [
  [{ overloaded: true, retryable: true }, "overloaded"],
  [{ message: "disk I/O error: SQLITE_IOERR", retryable: true }, "storage"],
  [{ message: "SCHEMA_TOO_NEW: tables of version 3, code of 2" }, "storage"],
  [{ message: "the object was reset", durableObjectReset: true }, "storage"],
  [{ retryable: "yes" }, "unknown"],
  [new TypeError("no such method"), "unknown"],
];

test.each(MARKS)("marks %j are read as %s", (marks, expected) => {
  expect(classify(marks)).toBe(expected);
});

test("what is no object at all is unknown", () => {
  expect([undefined, null, "SQLITE_FULL", 7].map(classify)).toEqual(Array(4).fill("unknown"));
});

/** A limit that ends only when the test says so, and remembers whether its timer was ended. */
function limit(): CallLimit & { expire(): void; readonly wasEnded: boolean } {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let wasEnded = false;
  return {
    timeoutMs: 1000,
    sleep: (_ms, signal) => {
      signal.addEventListener("abort", () => {
        wasEnded = true;
        reject(signal.reason);
      });
      return promise;
    },
    expire: resolve,
    get wasEnded() {
      return wasEnded;
    },
  };
}

/** A callee that fails with these faults in turn, then answers. */
function callee(...faults: FaultName[]): { begin(): Promise<string>; readonly calls: number } {
  let calls = 0;
  return {
    begin: async () => {
      const fault = faults[calls];
      calls += 1;
      if (fault !== undefined) throw platformFault(fault);
      return "answer";
    },
    get calls() {
      return calls;
    },
  };
}

test("a call that answers gives its value and ends its timer", async () => {
  const time = limit();
  expect(await callOnce(callee().begin, time)).toEqual({ kind: "answered", value: "answer" });
  expect(time.wasEnded).toBe(true);
});

test("a call is not repeated unless that is said to be harmless", async () => {
  const target = callee("connection_lost");
  expect(await callOnce(target.begin, limit())).toMatchObject({ kind: "failed", failure: "unreachable" });
  expect(target.calls).toBe(1);
});

const REPEATS: readonly [FaultName[], number, string][] = [
  [[], 1, "answered"],
  [["connection_lost"], 2, "answered"],
  [["connection_lost", "reset"], 2, "failed"],
  [["overloaded"], 1, "failed"],
  [["storage_full"], 1, "failed"],
  [["reset", "overloaded"], 2, "failed"],
];

test.each(REPEATS)("an idempotent call that meets %j is made %i times: %s", async (faults, calls, kind) => {
  const target = callee(...faults);
  expect((await callIdempotent(target.begin, limit())).kind).toBe(kind);
  expect(target.calls).toBe(calls);
});

test("a callee that throws before it gives a promise has failed", async () => {
  const begin = (): Promise<string> => {
    throw platformFault("overloaded");
  };
  expect(await callOnce(begin, limit())).toMatchObject({ kind: "failed", failure: "overloaded" });
});

test("a call without an answer times out, and its late failure disturbs nobody", async () => {
  const time = limit();
  const { promise, reject } = Promise.withResolvers<string>();
  const outcome = callIdempotent(() => promise, time);
  time.expire();
  expect(await outcome).toEqual({ kind: "timed_out" });
  reject(platformFault("overloaded"));
  await Promise.resolve();
});
