/** The checker of histories finds each planted fault of policy, limits and handles, and is silent else. */
import { describe, expect, it } from "vitest";
import {
  type Allocate,
  checkHistory,
  type Operation,
  type Release,
  type Tenure,
} from "../support/history.ts";
import {
  checkLimits,
  checkPolicy,
  inForce,
  type PolicyWrite,
  perhapsInForce,
  type Rule,
} from "../support/history-policy.ts";

const never = Number.POSITIVE_INFINITY;

function tenure(sequenceNumber: number, more: Partial<Tenure> = {}): Tenure {
  const base = { address: "10.0.0.1", block: "10.0.0.0/28", handle: `h${sequenceNumber}` };
  return { ...base, sequenceNumber, allocatedAt: sequenceNumber * 1_000, ...more };
}

/** An allocation that was answered; times follow from the number of what it got. */
function allocated(got: Tenure, more: Partial<Allocate> = {}): Allocate {
  const times = { invokedAt: got.allocatedAt - 5, answeredAt: got.allocatedAt + 5 };
  const request = { host: "n", handle: got.handle, key: `key-${got.sequenceNumber}`, body: "{}" };
  return { kind: "allocate", outcome: "ok", ...times, ...request, got: [got], ...more };
}

function released({ handle, address, sequenceNumber }: Tenure, at: number, more: Partial<Release> = {}) {
  const results = [{ address, handle, sequenceNumber, outcome: "released", freeAt: at + 1_000 }];
  const times = { invokedAt: at - 5, answeredAt: at + 5 };
  return { kind: "release", outcome: "ok", ...times, handle, results, ...more } satisfies Release;
}

function write<Value>(value: Value, at: number, outcome: PolicyWrite["outcome"] = "ok"): PolicyWrite<Value> {
  return { value, outcome, invokedAt: at - 50, answeredAt: outcome === "unknown" ? never : at };
}

describe("which value was in force", () => {
  it("is the last acknowledged one, unless another was sent before the end", () => {
    const writes = [write("a", 100), write("b", 500)];
    expect(inForce(writes, 50, 60)).toBeUndefined();
    expect(inForce(writes, 100, 200)).toBeUndefined();
    expect(inForce(writes, 101, 449)?.value).toBe("a");
    expect(inForce(writes, 101, 450)).toBeUndefined();
    expect(inForce(writes, 501, 900)?.value).toBe("b");
  });

  it("stays open after an unknown write until a later one is acknowledged", () => {
    const writes = [write("a", 100), write("b", 500, "unknown"), write("b", 700)];
    expect(inForce(writes, 600, 610)).toBeUndefined();
    expect(inForce(writes, 701, 710)?.value).toBe("b");
    expect(inForce([write("a", 100), write("b", 500, "refused")], 600, 610)?.value).toBe("a");
  });

  it("may be the first one until a write is acknowledged, and each that is under way", () => {
    const writes = [write("a", 100), write("b", 500, "unknown")];
    expect(perhapsInForce("first", writes, 40, 40)).toEqual(["first"]);
    expect(perhapsInForce("first", writes, 90, 110)).toEqual(["first", "a"]);
    expect(perhapsInForce("first", writes, 200, 300)).toEqual(["a"]);
    expect(perhapsInForce("first", writes, 200, 800)).toEqual(["a", "b"]);
  });
});

describe("I7, I8: what is asked for under a rule", () => {
  const reserved = (writes: readonly PolicyWrite<boolean>[]): Rule<boolean> => ({
    invariant: "I7",
    name: "a reservation",
    writes,
    isBroken: (value, { isExact = false }, address) => value && !isExact && address === "10.0.0.1",
  });
  const strict: Rule<boolean> = {
    invariant: "I8",
    name: "strict affinity",
    writes: [write(true, 1_000)],
    isBroken: (value, { borrowed = [] }, address) => value && borrowed.includes(address),
  };
  const broken = (rule: Rule<boolean>, ...history: Operation[]): string[] =>
    checkPolicy(history, [rule as Rule]).map(({ invariant }) => invariant);

  it("is found when it breaks it", () => {
    expect(broken(reserved([write(true, 1_000)]), allocated(tenure(2)))).toEqual(["I7"]);
    expect(broken(strict, allocated(tenure(2), { borrowed: ["10.0.0.1"] }))).toEqual(["I8"]);
  });

  it("is not found before the answer, after the end, in what is exact, or elsewhere", () => {
    expect(broken(reserved([write(true, 1_000)]), allocated(tenure(1)))).toEqual([]);
    expect(broken(reserved([write(true, 1_000), write(false, 2_010)]), allocated(tenure(2)))).toEqual([]);
    expect(broken(reserved([write(true, 1_000)]), allocated(tenure(2), { isExact: true }))).toEqual([]);
    expect(broken(reserved([write(true, 1_000)]), allocated(tenure(2, { address: "10.0.0.2" })))).toEqual([]);
    expect(broken(strict, allocated(tenure(2), { borrowed: [] }))).toEqual([]);
  });

  it("counts from the first time the key was sent: an earlier attempt may have got it", () => {
    const lost = allocated(tenure(2), { invokedAt: 900, answeredAt: never, outcome: "unknown", got: [] });
    expect(broken(reserved([write(true, 1_000)]), lost, allocated(tenure(2)))).toEqual([]);
  });

  it("counts the first attempt alone where a replay tells how things are now", () => {
    const first = allocated(tenure(2), { borrowed: [] });
    const again = allocated(tenure(2), { invokedAt: 3_000, answeredAt: 3_010, borrowed: ["10.0.0.1"] });
    expect(broken({ ...strict, onlyFirst: true }, first, again)).toEqual([]);
    expect(broken({ ...strict, onlyFirst: true }, again)).toEqual(["I8"]);
    expect(broken(strict, first, again)).toEqual(["I8"]);
  });
});

describe("I9: a handle with a limit", () => {
  const limited = (one: Tenure, more: Partial<Allocate> = {}): Allocate =>
    allocated({ ...one, handle: "vm" }, { limit: 1, ...more });
  const second = tenure(2, { address: "10.0.0.2", handle: "vm" });

  it("is found with more at once, by answers and by the last listing", () => {
    const found = checkLimits([limited(tenure(1)), limited(second)], []);
    expect(found.map(({ invariant }) => invariant)).toEqual(["I9"]);
    const listed = [{ ...tenure(1), handle: "vm" }, second];
    expect(checkLimits([limited(tenure(1))], listed).map(({ invariant }) => invariant)).toEqual(["I9"]);
  });

  it("may hold one after the other, one of each family, and what is told twice", () => {
    const first = { ...tenure(1), handle: "vm" };
    expect(checkLimits([limited(first), released(first, 1_500), limited(second)], [second])).toEqual([]);
    const six = { ...second, address: "fd00::2" };
    expect(checkLimits([limited(first), limited(six)], [first, six])).toEqual([]);
    const again = limited(first, { key: "other", invokedAt: 1_400, answeredAt: 1_410 });
    expect(checkLimits([limited(first), again], [first])).toEqual([]);
    const perhaps = released(first, 1_500, { outcome: "unknown", answeredAt: never, results: [] });
    expect(checkLimits([limited(first), perhaps, limited(second)], [second])).toEqual([]);
  });

  it("I1: what it is told again is no second claim; a claim of another handle is", () => {
    const first = { ...tenure(1), handle: "vm" };
    const again = limited(first, { key: "other", invokedAt: 1_400, answeredAt: 1_410 });
    const look = (...history: Operation[]) =>
      checkHistory(history, { final: [first], cooldownMs: 0 }).map(({ invariant }) => invariant);
    expect(look(limited(first), again)).toEqual([]);
    expect(look(limited(first), allocated(first, { key: "other" }))).toContain("I1");
  });
});

describe("what only a release has told of", () => {
  const told = (history: Operation[], final: Tenure[] = []): string[] =>
    checkHistory(history, { final, cooldownMs: 0 }).map(({ invariant }) => invariant);
  const lost = allocated(tenure(1), { answeredAt: never, outcome: "unknown", got: [] });

  it("I1: was held all the same: nobody else may have the address before", () => {
    const early = allocated(tenure(3), { invokedAt: 1_200, answeredAt: 1_210 });
    expect(told([lost, early, released(tenure(1), 2_000)], [tenure(3)])).toContain("I1");
    expect(told([lost, released(tenure(1), 2_000), allocated(tenure(3))], [tenure(3)])).toEqual([]);
  });

  it("I15: was left behind by a refusal", () => {
    const refused = allocated(tenure(1), { outcome: "refused", code: "pool_exhausted", got: [] });
    expect(told([refused, released(tenure(1), 2_000)])).toEqual(["I15"]);
  });

  it("I15: not by a refusal that did not look at the key, nor where several addresses had been begun", () => {
    const refused = (more: Partial<Allocate>): Allocate =>
      allocated(tenure(1), { invokedAt: 1_500, answeredAt: 1_510, outcome: "refused", got: [], ...more });
    expect(told([lost, refused({ code: "host_removing" })], [tenure(1)])).toEqual([]);
    const before = { ...lost, lostAt: 1_400 };
    expect(told([before, refused({ code: "pool_exhausted" })], [tenure(1)])).toEqual(["I15"]);
    // One that is under way beside it is not settled by it; one that was given up before it is.
    const beside = { ...lost, lostAt: 1_600 };
    expect(told([beside, refused({ code: "pool_exhausted" })], [tenure(1)])).toEqual([]);
    const two = { wanted: 2, lostAt: 1_400 };
    expect(told([{ ...lost, ...two }, refused({ code: "pool_exhausted", ...two })], [tenure(1)])).toEqual([]);
  });
});

describe("an address over blocks and cooldowns that change", () => {
  it("I3: has rising numbers, whatever its block is", () => {
    const later = tenure(1, { block: "10.0.0.0/29", allocatedAt: 9_000, handle: "later" });
    const history = [allocated(tenure(5)), released(tenure(5), 6_000), allocated(later)];
    const found = checkHistory(history, { final: [later], cooldownMs: 0 });
    expect(found.map(({ invariant }) => invariant)).toContain("I3");
  });

  it("I12: cools as long as the shortest cooldown that may have been in force", () => {
    const history = [allocated(tenure(1)), released(tenure(1), 1_500), allocated(tenure(3))];
    const look = (cooldownMs: (from: number, to: number) => number, shortenedMs: number): string[] =>
      checkHistory(history, { final: [tenure(3)], cooldownMs, shortenedMs }).map(
        ({ invariant }) => invariant,
      );
    expect(look(() => 1_000, 0)).toEqual([]);
    expect(look(() => 2_000, 0)).toEqual(["I12"]);
    expect(look((from) => (from > 2_000 ? 1_000 : 2_000), 0)).toEqual([]);
  });
});
