/** When a pool is warned of, and when that is news: once per passing, not with every address about it. */
import { describe, expect, it } from "vitest";
import type { PoolDefinition } from "../../src/core/policy.ts";
import { type PoolWarning, poolNews, poolWarning } from "../../src/core/pool-warning.ts";
import { policyOf } from "./policies.ts";

function poolWith(changed: Partial<PoolDefinition> = {}): PoolDefinition {
  const [pool] = policyOf({ pools: { p: { cidr: "10.0.0.0/24" } } }).pools;
  if (pool === undefined) throw new Error("no pool");
  return { ...pool, warnAtPercent: 90, ...changed };
}

const filled = (usedPercent: number) => ({ usedPercent, available: usedPercent >= 100 ? "0" : "9" });

/** What is news of a pool that is so full, one look after the other. */
function news(pool: PoolDefinition, ...percents: readonly number[]): (PoolWarning | undefined)[] {
  let told: PoolWarning | undefined;
  return percents.map((percent) => {
    const decided = poolNews(told, pool, filled(percent));
    told = decided.told;
    return decided.news;
  });
}

const NEARLY = "pool_nearly_full";
const FULL = "pool_full";

describe("a pool", () => {
  it.each([
    [89.99, undefined],
    [90, NEARLY],
    [99.99, NEARLY],
    [100, FULL],
  ])("that is %d %% used is warned of: %s", (percent, code) => {
    expect(poolWarning(poolWith(), filled(percent))).toBe(code);
  });

  it("without an address to give is full, whatever its share", () => {
    expect(poolWarning(poolWith(), { usedPercent: 10, available: "0" })).toBe(FULL);
  });

  it("that is not to be allocated from is not warned of", () => {
    expect(poolWarning(poolWith({ disabled: true }), filled(100))).toBeUndefined();
    expect(poolWarning(poolWith({ terminating: { startedAt: 1 } }), filled(100))).toBeUndefined();
  });
});

describe("a passing of the threshold", () => {
  it("is news once, and again only after the pool has fallen well below", () => {
    expect(news(poolWith(), 80, 91, 92, 90)).toEqual([undefined, NEARLY, undefined, undefined]);
    expect(news(poolWith(), 91, 89, 91, 86, 91)).toEqual([NEARLY, ...Array(4).fill(undefined)]);
    expect(news(poolWith(), 91, 84, 91)).toEqual([NEARLY, undefined, NEARLY]);
  });

  it("is news a second time when the pool is full, once on the way", () => {
    expect(news(poolWith(), 91, 100, 99, 100, 91, 100)).toEqual([
      ...[NEARLY, FULL],
      ...Array(4).fill(undefined),
    ]);
    expect(news(poolWith(), 100, 99, 84, 91)).toEqual([FULL, undefined, undefined, NEARLY]);
  });

  it("of a low threshold can be news again, too", () => {
    expect(news(poolWith({ warnAtPercent: 1 }), 1, 0.95, 1, 0, 1)).toEqual([
      ...[NEARLY, undefined, undefined],
      ...[undefined, NEARLY],
    ]);
  });

  it("stays told while the pool is disabled, and is looked at again afterwards", () => {
    const off = poolWith({ disabled: true });
    expect(poolNews(NEARLY, off, filled(0))).toEqual({ told: NEARLY });
    expect(poolNews(undefined, off, filled(100))).toEqual({});
  });
});
