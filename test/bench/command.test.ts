/** What the environment says of a run of the benchmark. May import: bench. */
import { expect, test } from "vitest";
import { optionsOf } from "../../bench/compare/command.ts";

test("says nothing: five rounds of a second, one process", () => {
  expect(optionsOf([], {})).toMatchObject({ rounds: 5, seconds: 1, warmUpSeconds: 1, processes: 1 });
});

test("parts of a second are sound, parts of a round are not", () => {
  expect(optionsOf([], { BENCH_SECONDS: "0.3", BENCH_WARM_UP_SECONDS: "0" })).toMatchObject({
    seconds: 0.3,
    warmUpSeconds: 0,
  });
  expect(() => optionsOf([], { BENCH_ROUNDS: "1.5" })).toThrow("BENCH_ROUNDS=1.5 must be a whole number");
});

test.each([
  ["BENCH_ROUNDS", "0"],
  ["BENCH_ROUNDS", "abc"],
  ["BENCH_ROUNDS", ""],
  ["BENCH_SECONDS", "-1"],
  ["BENCH_SECONDS", "0"],
  ["BENCH_WARM_UP_SECONDS", "x"],
  ["BENCH_PROCESSES", "0"],
])("%s=%s is refused by its name: a run without a round would end well", (name, value) => {
  expect(() => optionsOf([], { [name]: value })).toThrow(`${name}=${value} must be`);
});
