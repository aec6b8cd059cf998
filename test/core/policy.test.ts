/** The compiled policy: pools by name and by address, reservations, what is held back, caps. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Address, parseAddress } from "../../src/core/address.ts";
import { blockOf, containsAddress, formatCidr } from "../../src/core/cidr.ts";
import { compilePolicy } from "../../src/core/policy.ts";
import type { PoolSpec } from "../../src/core/pool.ts";
import { compiled, policyOf } from "./policies.ts";

function address(text: string): Address {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw new Error(parsed.error.message);
  return parsed.value;
}

describe("compilePolicy", () => {
  it("orders pools by name and reads their texts", () => {
    const policy = compiled({
      pools: { b: { cidr: "10.0.0.0/24" }, a: { cidr: "fd00::/64", nodeSelector: "has(x)" } },
    });
    expect(policy.pools.map((pool) => pool.definition.name)).toEqual(["a", "b"]);
    expect(policy.pools[0]?.nodeSelector.root).toEqual({ kind: "has", key: "x" });
    expect(policy.pools[1]?.namespaceSelector.root).toEqual({ kind: "all" });
  });

  it("survives the copy that an object call makes", () => {
    const policy = policyOf({ pools: { a: { cidr: "10.0.0.0/24" } }, reservedCIDRs: ["10.0.0.9"] });
    expect(structuredClone(policy)).toEqual(policy);
    expect(JSON.parse(JSON.stringify(policy))).toEqual(policy);
  });

  it("I7: reserved is the union of all reservations, per family", () => {
    const { reserved } = compiled({
      reservedCIDRs: ["10.0.0.77/30", "10.0.0.79", "10.0.0.80/29", "fd00::/127"],
    });
    expect(reserved[4].size).toBe(12n);
    expect(reserved[4].contains(address("10.0.0.76").value)).toBe(true);
    expect(reserved[4].contains(address("10.0.0.87").value)).toBe(true);
    expect(reserved[4].contains(address("10.0.0.88").value)).toBe(false);
    expect(reserved[6].size).toBe(2n);
    expect(compiled({}).reserved[4].isEmpty).toBe(true);
  });

  it("refuses stored pools that overlap, and stored texts that cannot be read", () => {
    const policy = policyOf({ pools: { a: { cidr: "10.0.0.0/24" }, b: { cidr: "10.0.1.0/24" } } });
    const [a, b] = policy.pools;
    if (a === undefined || b === undefined) throw new Error("two pools");
    expect(() => compilePolicy({ ...policy, pools: [a, { ...b, cidr: "10.0.0.0/25" }] })).toThrow("overlap");
    expect(() => compilePolicy({ ...policy, pools: [{ ...a, nodeSelector: "(" }] })).toThrow("selector");
    expect(() => compilePolicy({ ...policy, pools: [{ ...a, cidr: "x" }] })).toThrow("range");
  });
});

describe("poolOf", () => {
  it("agrees with looking at every pool", () => {
    const cidr = fc
      .tuple(fc.nat(255), fc.integer({ min: 24, max: 30 }))
      .map(([byte, prefix]) => blockOf({ family: 4, value: (10n << 24n) | BigInt(byte << 2) }, prefix));
    const anyAddress = fc.nat(1200).map(
      (offset): Address => ({
        family: 4,
        value: (10n << 24n) - 50n + BigInt(offset),
      }),
    );
    const disjoint = fc.uniqueArray(cidr, {
      maxLength: 8,
      comparator: (one, other) =>
        containsAddress(one, { family: 4, value: other.base }) ||
        containsAddress(other, { family: 4, value: one.base }),
    });
    fc.assert(
      fc.property(disjoint, fc.array(anyAddress, { minLength: 5 }), (cidrs, addresses) => {
        const specs = cidrs.map((range): PoolSpec => ({ cidr: formatCidr(range), blockSize: 30 }));
        const pools = Object.fromEntries(specs.map((spec, i) => [`p${i}`, spec]));
        const policy = compiled({ pools });
        for (const one of addresses) {
          const expected = policy.pools.find((pool) => containsAddress(pool.cidr, one));
          expect(policy.poolOf(one)).toBe(expected);
        }
      }),
    );
  });

  it("keeps the families apart and finds disabled pools", () => {
    const policy = compiled({
      pools: { six: { cidr: "fd00::/64" }, four: { cidr: "10.0.0.0/24", disabled: true } },
    });
    expect(policy.poolOf(address("fd00::5"))?.definition.name).toBe("six");
    expect(policy.poolOf(address("10.0.0.255"))?.definition.name).toBe("four");
    expect(policy.poolOf({ family: 6, value: address("10.0.0.1").value })).toBeUndefined();
  });
});

describe("notAutomatic", () => {
  it.each<[Partial<PoolSpec>, string[]]>([
    [{}, []],
    [{ gateway: "10.0.0.1" }, ["10.0.0.1"]],
    [{ answerPrefix: "host", gateway: "10.0.0.9" }, ["10.0.0.9"]],
    [{ answerPrefix: "pool" }, ["10.0.0.0", "10.0.0.255"]],
    [{ answerPrefix: "pool", gateway: "10.0.0.255" }, ["10.0.0.0", "10.0.0.255"]],
  ])("of %j holds back %j", (fields, texts) => {
    const policy = compiled({ pools: { p: { cidr: "10.0.0.0/24", ...fields } } });
    const [pool] = policy.pools;
    if (pool === undefined) throw new Error("one pool");
    const heldBack = policy.notAutomatic(pool);
    expect(heldBack.size).toBe(BigInt(texts.length));
    for (const text of texts) expect(heldBack.contains(address(text).value)).toBe(true);
  });
});

describe("cap", () => {
  it.each([
    ["I10: nobody said anything", 0, undefined, 20],
    ["the request says 0", 0, 0, 20],
    ["only the request", 0, 30, 30],
    ["only the configuration", 5, undefined, 5],
    ["I10: the smaller of both", 5, 30, 5],
    ["I10: the smaller of both, the other way", 30, 5, 5],
  ])("%s: %i and %s give %i", (_, maxBlocksPerHost, requestCap, cap) => {
    const policy = compiled({ config: { strictAffinity: true, maxBlocksPerHost } });
    expect(policy.cap(requestCap)).toBe(cap);
  });
});
