/** Which pools a request may use: every rule, the order of refusals, and what is considered. */
import { describe, expect, it } from "vitest";
import { choosePools, longestBlockPrefix, type PoolRequest } from "../../src/core/pool-choice.ts";
import { compiled, type PolicySpec } from "./policies.ts";

const request: PoolRequest = { family: 4, use: "Workload", hostLabels: {} };

function choose(pools: NonNullable<PolicySpec["pools"]>, fields: Partial<PoolRequest> = {}) {
  const choice = choosePools(compiled({ pools }), { ...request, ...fields });
  const { considered } = choice.ok ? choice.value : choice.error;
  const rules = Object.fromEntries(considered.map((entry) => [entry.pool, entry.rule]));
  expect(Object.keys(rules)).toHaveLength(considered.length);
  if (choice.ok) return { pools: choice.value.pools.map((pool) => pool.definition.name), rules, considered };
  const { code, pool } = choice.error;
  return { code, pool, rules, considered };
}

const two = { b: { cidr: "10.0.0.0/24" }, a: { cidr: "11.0.0.0/24" } };

describe("without a list", () => {
  it("takes all automatic pools of the family by name", () => {
    expect(choose({ ...two, six: { cidr: "fd00::/64" } })).toMatchObject({
      pools: ["a", "b"],
      rules: { a: "ok", b: "ok" },
    });
    expect(choose({ ...two, six: { cidr: "fd00::/64" } }, { family: 6 })).toMatchObject({ pools: ["six"] });
  });

  it("says of each excluded pool which rule excluded it", () => {
    const result = choose(
      {
        drained: { cidr: "10.0.0.0/24", terminating: true, disabled: true },
        gpu: { cidr: "10.0.1.0/24", nodeSelector: "gpu == 'true'" },
        manual: { cidr: "10.0.2.0/24", assignmentMode: "Manual", nodeSelector: "has(x)" },
        off: { cidr: "10.0.3.0/24", disabled: true },
        ok: { cidr: "10.0.4.0/24" },
        prod: { cidr: "10.0.5.0/24", namespaceSelector: "env == 'prod'" },
        small: { cidr: "10.0.6.0/24", blockSize: 31 },
        tunnels: { cidr: "10.0.7.0/24", allowedUses: ["Tunnel"] },
      },
      { namespaceLabels: { env: "dev" }, hostReserved: { start: 3, end: 1 } },
    );
    expect(result.pools).toEqual(["ok"]);
    expect(result.considered).toEqual([
      { kind: "pool", pool: "drained", outcome: "skipped", rule: "pool_draining" },
      {
        kind: "pool",
        pool: "gpu",
        outcome: "skipped",
        rule: "node_selector",
        detail: "selector gpu == 'true'; no label gpu",
      },
      { kind: "pool", pool: "manual", outcome: "skipped", rule: "manual_only" },
      { kind: "pool", pool: "off", outcome: "skipped", rule: "pool_disabled" },
      { kind: "pool", pool: "ok", outcome: "used", rule: "ok" },
      {
        kind: "pool",
        pool: "prod",
        outcome: "skipped",
        rule: "namespace_selector",
        detail: "selector env == 'prod'; label env is 'dev'",
      },
      {
        kind: "pool",
        pool: "small",
        outcome: "skipped",
        rule: "block_too_small",
        detail: "its blocks are /31; the host needs /29 or larger",
      },
      {
        kind: "pool",
        pool: "tunnels",
        outcome: "skipped",
        rule: "use_not_allowed",
        detail: "Workload is not among Tunnel",
      },
    ]);
  });

  it("ns-001 to ns-005: both selectors must match; no namespace counts as no labels", () => {
    const pools = { p: { cidr: "10.0.0.0/26", nodeSelector: "zone == 'w'", namespaceSelector: "has(env)" } };
    const hostLabels = { zone: "w" };
    expect(choose(pools, { hostLabels, namespaceLabels: { env: "x" } }).pools).toEqual(["p"]);
    expect(choose(pools, { hostLabels }).code).toBe("no_pool_selects_host");
    expect(choose(pools, { namespaceLabels: { env: "x" } }).code).toBe("no_pool_selects_host");
    const negative = { p: { cidr: "10.0.0.0/26", namespaceSelector: "!has(env)" } };
    expect(choose(negative).pools).toEqual(["p"]);
  });

  it("refuses with no_qualified_pool where no pool is enabled, large enough or for the use", () => {
    expect(choose({}).code).toBe("no_qualified_pool");
    expect(choose({ a: { cidr: "10.0.0.0/24", disabled: true } }).code).toBe("no_qualified_pool");
    expect(choose({ six: { cidr: "fd00::/64" } }).code).toBe("no_qualified_pool");
    expect(choose(two, { hostReserved: { start: 32, end: 33 } }).code).toBe("no_qualified_pool");
    expect(choose(two, { use: "LoadBalancer" })).toMatchObject({
      code: "no_qualified_pool",
      rules: { a: "use_not_allowed", b: "use_not_allowed" },
    });
  });

  it("refuses with no_pool_selects_host before it looks at the use", () => {
    const pools = { p: { cidr: "10.0.0.0/24", assignmentMode: "Manual", allowedUses: ["Tunnel"] } };
    expect(choose(pools)).toMatchObject({ code: "no_pool_selects_host", rules: { p: "manual_only" } });
  });

  it("a load balancer's host has no labels", () => {
    const pools = {
      lb: { cidr: "10.0.0.0/24", allowedUses: ["LoadBalancer"] },
      labelled: { cidr: "10.0.1.0/24", nodeSelector: "has(a)" },
    };
    expect(choose(pools, { use: "LoadBalancer", hostLabels: { a: "b" } })).toMatchObject({
      pools: ["lb"],
      rules: { lb: "ok", labelled: "node_selector" },
    });
  });
});

describe("with a list", () => {
  it("aa-031: keeps the caller's order, takes names and ranges, and each pool once", () => {
    const pools = ["10.0.0.0/24", "a", "b", "11.0.0.7/24"];
    expect(choose(two, { pools })).toMatchObject({ pools: ["b", "a"], rules: { a: "ok", b: "ok" } });
    expect(choose(two, { pools: ["b"] })).toMatchObject({ pools: ["b"], rules: { a: "not_requested" } });
  });

  it("aa-025: passes by selectors and assignment mode, but not by the use", () => {
    const fields = { nodeSelector: "has(a)", namespaceSelector: "has(b)", assignmentMode: "Manual" };
    const pools = { p: { cidr: "10.0.0.0/26", ...fields } };
    expect(choose(pools, { pools: ["p"] }).pools).toEqual(["p"]);
    expect(choose(pools, { pools: ["p"], use: "Tunnel" })).toMatchObject({
      code: "no_qualified_pool",
      rules: { p: "use_not_allowed" },
    });
  });

  it.each([
    ["aa-022: disabled", "off"],
    ["draining", "drained"],
    ["aa-023: unknown range", "40.0.0.0/24"],
    ["unknown name", "nope"],
    ["aa-024: part of a pool", "10.0.0.0/26"],
    ["eb-004: too small blocks", "small"],
    ["not a range", "x/y"],
  ])("refuses the whole request for one entry that is %s", (_, entry) => {
    const pools = {
      ...two,
      off: { cidr: "12.0.0.0/24", disabled: true },
      drained: { cidr: "13.0.0.0/24", terminating: true },
      small: { cidr: "14.0.0.0/24", blockSize: 30 },
    };
    const result = choose(pools, { pools: ["a", entry], hostReserved: { start: 3, end: 1 } });
    expect(result).toMatchObject({ code: "requested_pool_unavailable", pool: entry });
    expect(result.considered).toHaveLength(5);
  });

  it("names an unknown or disabled entry also where no pool is left at all", () => {
    const pools = { off: { cidr: "12.0.0.0/24", disabled: true } };
    expect(choose(pools, { pools: ["off"] })).toMatchObject({
      code: "requested_pool_unavailable",
      pool: "off",
    });
    expect(choose({}, { pools: ["nope"] }).code).toBe("requested_pool_unavailable");
  });

  it("lists a pool of the other family beside the family's own", () => {
    const result = choose({ ...two, six: { cidr: "fd00::/64" } }, { pools: ["six"] });
    expect(result).toMatchObject({
      code: "requested_pool_unavailable",
      pool: "six",
      rules: { a: "not_requested", b: "not_requested", six: "wrong_family" },
    });
  });

  it("an empty list is no list", () => {
    expect(choose(two, { pools: [] }).pools).toEqual(["a", "b"]);
  });
});

describe("longestBlockPrefix", () => {
  it.each([
    ["hr-104", 1, 0, 31],
    ["hr-107", 1, 1, 30],
    ["hr-102", 2, 1, 30],
    ["hr-100", 3, 1, 29],
    ["hr-003", 32, 33, 25],
  ])("%s: %i at the start and %i at the end leave /%i", (_, start, end, prefix) => {
    expect(longestBlockPrefix(4, { start, end })).toBe(prefix);
    expect(longestBlockPrefix(6, { start, end })).toBe(prefix + 96);
  });

  it("without host reservations any block will do", () => {
    expect(longestBlockPrefix(4, undefined)).toBe(32);
    expect(longestBlockPrefix(6, { start: 0, end: 0 })).toBe(128);
  });

  it.each([
    ["hr-100", 29, "ok"],
    ["hr-101", 30, "no_qualified_pool"],
  ])("%s: a listed pool of /%i blocks is %s", (_, blockSize, outcome) => {
    const pools = { p: { cidr: "10.0.0.0/24", blockSize } };
    const result = choose(pools, { pools: ["10.0.0.0/24"], hostReserved: { start: 3, end: 1 } });
    expect(result.code ?? "ok").toBe(outcome);
  });
});
