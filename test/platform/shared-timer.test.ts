/**
 * The one timer behind the limits of an object's calls. May import: platform.
 */
import { beforeEach, describe, expect, test, vi } from "vitest";
import { callOnce } from "../../src/platform/call.ts";
import { SharedTimer } from "../../src/platform/shared-timer.ts";

let timer: SharedTimer;
let armed: number;
beforeEach(() => {
  vi.useFakeTimers({ now: 1_000 });
  armed = 0;
  timer = new SharedTimer({
    now: () => Date.now(),
    sleep: (ms) => {
      armed += 1;
      return new Promise((resolve) => setTimeout(resolve, ms));
    },
  });
});

const forever = { aborted: false, addEventListener: () => undefined };

/** Sleeps, and notes when it woke up. */
function sleeper(ms: number, signal: AbortSignal | typeof forever = forever): { state: string } {
  const seen = { state: "asleep" };
  timer.sleep(ms, signal).then(
    () => {
      seen.state = `awake at ${Date.now() - 1_000}`;
    },
    () => {
      seen.state = `ended at ${Date.now() - 1_000}`;
    },
  );
  return seen;
}

describe("a shared timer", () => {
  test("wakes each sleeper in its time, whatever the order in which they came", async () => {
    const all = [300, 100, 200, 100, 2_000].map((ms) => sleeper(ms));
    await vi.advanceTimersByTimeAsync(250);
    expect(all.map(({ state }) => state)).toEqual([
      "asleep",
      "awake at 100",
      "awake at 200",
      "awake at 100",
      "asleep",
    ]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(all.map(({ state }) => state)).toEqual([
      "awake at 300",
      "awake at 100",
      "awake at 200",
      "awake at 100",
      "awake at 2000",
    ]);
  });

  test("ends a sleep by its signal, once, and an ended one never wakes", async () => {
    const end = new AbortController();
    const seen = sleeper(100, end.signal);
    await vi.advanceTimersByTimeAsync(50);
    end.abort();
    await vi.advanceTimersByTimeAsync(500);
    expect(seen.state).toBe("ended at 50");
    expect(sleeper(100, end.signal).state).toBe("asleep");
    await vi.advanceTimersByTimeAsync(0);
  });

  test("sleeps that come after the last one was ended are woken too", async () => {
    const end = new AbortController();
    sleeper(100, end.signal);
    end.abort();
    await vi.advanceTimersByTimeAsync(60);
    const [short, long] = [sleeper(10), sleeper(100)];
    await vi.advanceTimersByTimeAsync(30);
    expect([short.state, long.state]).toEqual(["awake at 70", "asleep"]);
    await vi.advanceTimersByTimeAsync(100);
    expect(long.state).toBe("awake at 160");
  });

  test.each([
    ["back", -3_600_000],
    ["forward", 3_600_000],
  ])("a clock that is set %s makes nobody sleep much longer", async (_which, step) => {
    const before = sleeper(2_000);
    await vi.advanceTimersByTimeAsync(500);
    vi.setSystemTime(Date.now() + step);
    const after = sleeper(1_000);
    await vi.advanceTimersByTimeAsync(3_000);
    expect([before.state, after.state].map((state) => state.slice(0, 5))).toEqual(["awake", "awake"]);
    const later = sleeper(100);
    await vi.advanceTimersByTimeAsync(100);
    expect(later.state).toMatch("awake");
  });

  test("an hour forward does not keep a short sleep waiting for a long one", async () => {
    sleeper(2_000);
    vi.setSystemTime(Date.now() + 3_600_000);
    const short = sleeper(50);
    await vi.advanceTimersByTimeAsync(60);
    expect(short.state).toMatch("awake");
  });

  test("a thousand calls that are answered arm it once", async () => {
    const limit = { timeoutMs: 2_000, sleep: timer.sleep.bind(timer) };
    for (let n = 0; n < 1_000; n += 1) {
      expect(await callOnce(async () => n, limit)).toEqual({ kind: "answered", value: n });
    }
    expect(armed).toBe(1);
  });

  test("a call without answer ends at its limit", async () => {
    const limit = { timeoutMs: 2_000, sleep: timer.sleep.bind(timer) };
    const outcome = callOnce(() => new Promise<never>(() => undefined), limit);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await outcome).toEqual({ kind: "timed_out" });
  });
});
