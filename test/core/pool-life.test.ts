/** How a pool's definition begins to drain, and how it is cut into parts. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bits, containsAddress, lastAddress, overlaps, parseCidr, size } from "../../src/core/cidr.ts";
import type { PoolDefinition } from "../../src/core/policy.ts";
import { definePool } from "../../src/core/pool.ts";
import { beginDrain, splitPool } from "../../src/core/pool-life.ts";

const STAMP = { now: 9, by: "token:ops", incarnation: 4 };

function pool(name: string, spec: Parameters<typeof definePool>[1]): PoolDefinition {
  const defined = definePool(name, spec, [], { now: 1, by: "token:first", incarnation: 3 });
  if (!defined.ok) throw new Error(JSON.stringify(defined.error));
  return defined.value;
}

function rangeOf(text: string) {
  const range = parseCidr(text);
  if (!range.ok) throw new Error(text);
  return range.value;
}

const four = pool("default", {
  cidr: "10.0.1.0/24",
  blockSize: 27,
  ipipMode: "Always",
  nodeSelector: "foo == 'bar'",
  gateway: "10.0.1.70",
  disabled: true,
});

describe("beginDrain", () => {
  it("raises the revision once; a second time changes nothing", () => {
    const draining = beginDrain(four, STAMP);
    expect(draining).toMatchObject({ terminating: { startedAt: 9 }, revision: 2, updatedBy: "token:ops" });
    expect(beginDrain(draining, { now: 20, by: "x" })).toBe(draining);
  });
});

describe("splitPool", () => {
  it("keeps the settings, gives names in the order of addresses and a new incarnation", () => {
    const split = splitPool(four, 4, [four], STAMP);
    if (!split.ok) throw new Error(JSON.stringify(split.error));
    expect(split.value.map(({ name, cidr }) => `${name} ${cidr}`)).toEqual([
      "split-default-0 10.0.1.0/26",
      "split-default-1 10.0.1.64/26",
      "split-default-2 10.0.1.128/26",
      "split-default-3 10.0.1.192/26",
    ]);
    for (const part of split.value) {
      expect(part).toMatchObject({ blockSize: 27, ipipMode: "Always", nodeSelector: "foo == 'bar'" });
      expect(part).toMatchObject({ incarnation: 4, createdAt: 9, revision: 1, updatedBy: "token:ops" });
      expect(part.disabled).toBe(true);
    }
    expect(split.value.map(({ gateway }) => gateway)).toEqual([undefined, "10.0.1.70", undefined, undefined]);
  });

  it.each([0, 1, 3, -4, 16, 2048, 2.5, Number.NaN])("refuses %s parts and says why", (parts) => {
    expect(splitPool(four, parts, [four], STAMP)).toMatchObject({
      error: { code: "invalid_request", evidence: { errors: [{ pointer: "/parts", code: "out_of_range" }] } },
    });
  });

  it("refuses a draining pool, a name that is taken, and too many pools", () => {
    const draining = beginDrain(four, STAMP);
    expect(splitPool(draining, 2, [draining], STAMP)).toMatchObject({ error: { code: "pool_draining" } });
    const taken = pool("split-default-1", { cidr: "10.9.0.0/24" });
    expect(splitPool(four, 2, [four, taken], STAMP)).toMatchObject({
      error: { evidence: { errors: [{ parameter: "pool" }] } },
    });
    const many = Array.from({ length: 2047 }, (_, n) => ({ ...taken, name: `p-${n}` }));
    expect(splitPool(four, 4, [four, ...many], STAMP)).toMatchObject({
      error: { evidence: { errors: [{ code: "too_many", limit: 2048 }] } },
    });
  });

  it("cuts long names, so that every part has a name of its own", () => {
    const long = pool("a".repeat(63), { cidr: "fd00::/112", blockSize: 124 });
    const split = splitPool(long, 1024, [long], STAMP);
    if (!split.ok) throw new Error(JSON.stringify(split.error));
    const names = split.value.map(({ name }) => name);
    expect(new Set(names).size).toBe(1024);
    expect(Math.max(...names.map(({ length }) => length))).toBe(63);
  });

  it("I1: parts cover the pool, in order, and share no address", () => {
    const arbitrary = fc.record({
      six: fc.boolean(),
      prefix: fc.integer({ min: 0, max: 8 }),
      power: fc.integer({ min: 1, max: 6 }),
      slack: fc.integer({ min: 0, max: 4 }),
    });
    fc.assert(
      fc.property(arbitrary, ({ six, prefix, power, slack }) => {
        const whole = six ? `fd00::/${108 + prefix}` : `10.0.0.0/${12 + prefix}`;
        const length = (six ? 108 : 12) + prefix + power;
        const least = six ? 116 : 20;
        const blockSize = Math.min(six ? 128 : 32, Math.max(least, length + slack));
        const parent = pool("whole", { cidr: whole, blockSize });
        const split = splitPool(parent, 2 ** power, [parent], STAMP);
        if (!split.ok) throw new Error(JSON.stringify(split.error));
        const ranges = split.value.map(({ cidr }) => rangeOf(cidr));
        const all = rangeOf(whole);
        expect(ranges.reduce((sum, range) => sum + size(range), 0n)).toBe(size(all));
        for (const [index, range] of ranges.entries()) {
          expect(range.prefix).toBeLessThanOrEqual(Math.min(blockSize, bits(range.family)));
          expect(containsAddress(all, { family: range.family, value: range.base })).toBe(true);
          const before = ranges[index - 1];
          if (before === undefined) continue;
          expect(lastAddress(before) + 1n).toBe(range.base);
          expect(overlaps(before, range)).toBe(false);
        }
      }),
    );
  });
});
