/** Pools: defaults, every rule with its fault, and what may change. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { FieldFault } from "../../src/core/errors.ts";
import type { PoolDefinition } from "../../src/core/policy.ts";
import { changePool, definePool, type PoolSpec, replacePool } from "../../src/core/pool.ts";

const made = { now: 1000, by: "token:ops", incarnation: 3 };
const later = { now: 2000, by: "token:other" };

interface PoolCase {
  id: string;
  given: { pools?: (PoolSpec & { name: string })[] };
  steps: {
    op: string;
    args: PoolSpec & { name: string };
    expect: { pool?: Partial<PoolDefinition>; error?: { kind: string } };
  }[];
  mayDiffer?: boolean;
}

const cases = readFileSync(new URL("./cases/pool-validation.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line): PoolCase => JSON.parse(line));

function pool(name: string, spec: PoolSpec, existing: PoolDefinition[] = []): PoolDefinition {
  const result = definePool(name, spec, existing, made);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

function faultsOf(spec: PoolSpec, name = "p"): readonly FieldFault[] {
  const result = definePool(name, spec, [], made);
  return !result.ok && result.error.code === "invalid_request" ? result.error.evidence.errors : [];
}

describe("conformance cases", () => {
  const steps = cases
    .filter(({ mayDiffer }) => mayDiffer !== true)
    .flatMap(({ id, given, steps }) => steps.map((step) => ({ id, given, ...step })))
    .filter(({ op }) => op === "createPool" || op === "updatePool");
  it("are all there", () => expect(steps).toHaveLength(39));

  it.each(steps)("$id: $op $args", ({ given, op, args, expect: expected }) => {
    const existing = (given.pools ?? []).map(({ name, ...spec }) => pool(name, spec));
    const { name, ...spec } = args;
    const current = existing.find((one) => one.name === name);
    const result =
      op === "updatePool" && current !== undefined
        ? replacePool(current, spec, later)
        : definePool(name, spec, existing, made);
    expect(result.ok).toBe(expected.error === undefined);
    if (result.ok) expect(result.value).toMatchObject(expected.pool ?? {});
  });
});

describe("definePool", () => {
  it("fills in the defaults and keeps what identifies the pool", () => {
    expect(pool("p", { cidr: "10.0.0.0/24" })).toEqual({
      name: "p",
      incarnation: 3,
      cidr: "10.0.0.0/24",
      family: 4,
      blockSize: 26,
      disabled: false,
      assignmentMode: "Automatic",
      allowedUses: ["Workload", "Tunnel"],
      nodeSelector: "all()",
      namespaceSelector: "",
      ipipMode: "Never",
      vxlanMode: "Never",
      natOutgoing: false,
      disableBGPExport: false,
      answerPrefix: "block",
      warnAtPercent: 90,
      revision: 1,
      createdAt: 1000,
      updatedAt: 1000,
      updatedBy: "token:ops",
    });
    expect(pool("p6", { cidr: "FD00:0::/64", blockSize: 0 })).toMatchObject({
      cidr: "fd00::/64",
      family: 6,
      blockSize: 122,
    });
  });

  it("gives a pool with a namespace selector to workloads where no use is named (pv-028, ours)", () => {
    const made = pool("p", { cidr: "10.0.0.0/24", namespaceSelector: "has(a)" });
    expect(made.allowedUses).toEqual(["Workload"]);
    expect(pool("p", { cidr: "10.0.0.0/24", namespaceSelector: " \t" }).allowedUses).toContain("Tunnel");
  });

  it.each<[Partial<PoolSpec>, string, string, RegExp]>([
    [{ cidr: "" }, "/cidr", "required", /needs a range/],
    [{ cidr: "10.0.0.1/24" }, "/cidr", "host_bits_set", /10\.0\.0\.0\/24/],
    [{ cidr: "10.0.0.0" }, "/cidr", "invalid_cidr", /prefix length/],
    [{ cidr: "169.254.0.0/20" }, "/cidr", "invalid_cidr", /link-local/],
    [{ cidr: "fe80::/64" }, "/cidr", "invalid_cidr", /link-local/],
    [{ cidr: "fc00::/6" }, "/cidr", "invalid_cidr", /link-local/],
    [{ cidr: "::/64" }, "/cidr", "invalid_cidr", /IPv4-mapped/],
    [{ cidr: `${"0".repeat(50)}/8` }, "/cidr", "too_long", /49/],
    [{ blockSize: 19 }, "/blockSize", "block_size", /20 to 32/],
    [{ blockSize: 26.5 }, "/blockSize", "block_size", /20 to 32/],
    [{ blockSize: 23 }, "/blockSize", "block_size", /smaller than one block: set blockSize to 24/],
    [{ gateway: "10.0.1.1" }, "/gateway", "out_of_range", /10\.0\.0\.0\/24/],
    [{ gateway: "fd00::1" }, "/gateway", "wrong_family", /IPv4/],
    [{ gateway: "10.0.0" }, "/gateway", "invalid_address", /four octets/],
    [{ nodeSelector: "a = 'x'" }, "/nodeSelector", "invalid_selector", /^position 2: /],
    [{ nodeSelector: "has(a)\n" }, "/nodeSelector", "invalid_selector", /^position 6: /],
    [{ nodeSelector: "!global()" }, "/nodeSelector", "invalid_selector", /^position 1: global/],
    [{ nodeSelector: "a".repeat(1025) }, "/nodeSelector", "too_long", /1024/],
    [{ namespaceSelector: "(" }, "/namespaceSelector", "invalid_selector", /^position 1: /],
    [{ allowedUses: ["Workload", "Banana"] }, "/allowedUses/1", "out_of_range", /LoadBalancer/],
    [{ assignmentMode: "automatic" }, "/assignmentMode", "out_of_range", /Automatic, Manual/],
    [{ ipipMode: "always" }, "/ipipMode", "out_of_range", /CrossSubnet/],
    [{ vxlanMode: "" }, "/vxlanMode", "out_of_range", /CrossSubnet/],
    [{ answerPrefix: "none" }, "/answerPrefix", "out_of_range", /block, pool, host/],
    [{ warnAtPercent: 0 }, "/warnAtPercent", "out_of_range", /1 to 100/],
    [{ warnAtPercent: 101 }, "/warnAtPercent", "out_of_range", /1 to 100/],
    [{ description: "x".repeat(257) }, "/description", "too_long", /256/],
    [
      { allowedUses: ["LoadBalancer"], disableBGPExport: true },
      "/disableBGPExport",
      "conflicting_fields",
      /false/,
    ],
    [{ allowedUses: ["LoadBalancer"], ipipMode: "Always" }, "/ipipMode", "conflicting_fields", /Never/],
    [{ ipipMode: "Always", vxlanMode: "Always" }, "/vxlanMode", "conflicting_fields", /either/],
    [
      { allowedUses: ["Tunnel"], namespaceSelector: "has(a)" },
      "/namespaceSelector",
      "conflicting_fields",
      /no namespace/,
    ],
  ])("refuses %j at %s as %s", (fields, pointer, code, message) => {
    const faults = faultsOf({ cidr: "10.0.0.0/24", ...fields });
    expect(faults).toMatchObject([{ pointer, code, message: expect.stringMatching(message) }]);
  });

  it("reports all faults at once, also beside a range that cannot be read", () => {
    const faults = faultsOf(
      { cidr: "x", gateway: "y", nodeSelector: "z", warnAtPercent: 0, allowedUses: ["Banana"] },
      "UPPER",
    );
    expect(faults.map((fault) => fault.pointer ?? fault.parameter).toSorted()).toEqual(
      ["pool", "/cidr", "/gateway", "/nodeSelector", "/warnAtPercent", "/allowedUses/0"].toSorted(),
    );
  });

  it.each(["", "-a", "a-", "a_b", "A", "a".repeat(64)])("refuses the name %j", (name) => {
    expect(faultsOf({ cidr: "10.0.0.0/24" }, name)).toMatchObject([{ parameter: "pool" }]);
  });

  it("names both pools and both ranges of an overlap, whatever the state of the other", () => {
    const other = pool("other", { cidr: "10.0.0.0/24", disabled: true });
    expect(definePool("p", { cidr: "10.0.0.0/16" }, [other], made)).toEqual({
      ok: false,
      error: {
        code: "pool_overlap",
        evidence: { pool: "p", otherPool: "other", cidr: "10.0.0.0/16", otherCidr: "10.0.0.0/24" },
      },
    });
    expect(definePool("p", { cidr: "10.0.1.0/24" }, [other], made).ok).toBe(true);
  });

  it("lets a disabled pool be smaller than a block, but not be enabled", () => {
    const small = pool("p", { cidr: "10.0.0.0/28", disabled: true });
    expect(changePool(small, { disabled: false }, later)).toMatchObject({
      ok: false,
      error: { evidence: { errors: [{ pointer: "/blockSize", code: "block_size" }] } },
    });
  });

  it("writes the gateway in canonical text", () => {
    expect(pool("p", { cidr: "fd00::/64", gateway: "FD00::0001" }).gateway).toBe("fd00::1");
  });
});

describe("replacePool and changePool", () => {
  const current = pool("p", { cidr: "10.0.0.0/24", blockSize: 25, gateway: "10.0.0.1", description: "d" });

  it("a write that changes nothing gives back the very same definition", () => {
    const same = replacePool(current, { cidr: "10.0.0.0/24", gateway: "10.0.0.1", description: "d" }, later);
    expect(same.ok && same.value).toBe(current);
    const patched = changePool(current, { disabled: false, description: undefined }, later);
    expect(patched.ok && patched.value).toBe(current);
  });

  it("a change keeps the identity and raises the revision", () => {
    const patched = changePool(current, { nodeSelector: "has(x)" }, later);
    expect(patched).toEqual({
      ok: true,
      value: { ...current, nodeSelector: "has(x)", revision: 2, updatedAt: 2000, updatedBy: "token:other" },
    });
  });

  it("replacing drops what the new specification leaves out", () => {
    const replaced = replacePool(current, { cidr: "10.0.0.0/24" }, later);
    expect(replaced.ok && replaced.value).not.toHaveProperty("gateway");
    expect(replaced.ok && replaced.value).not.toHaveProperty("description");
    expect(replaced.ok && replaced.value.blockSize).toBe(25);
  });

  it("patching keeps what is absent", () => {
    const patched = changePool(current, { disabled: true }, later);
    expect(patched).toMatchObject({ ok: true, value: { gateway: "10.0.0.1", description: "d" } });
  });

  it.each<[PoolSpec, string]>([
    [{ cidr: "10.0.1.0/24", blockSize: 25 }, "cidr"],
    [{ cidr: "10.0.0.0/23", blockSize: 25 }, "cidr"],
    [{ cidr: "10.0.0.0/24", blockSize: 26 }, "blockSize"],
  ])("refuses to make %j of it", (spec, field) => {
    expect(replacePool(current, spec, later)).toEqual({
      ok: false,
      error: { code: "pool_field_immutable", evidence: { pool: "p", field } },
    });
  });

  it("a pool for load balancers stays one", () => {
    const balancers = pool("lb", { cidr: "10.1.0.0/24", allowedUses: ["LoadBalancer"] });
    const refused = {
      ok: false,
      error: { code: "pool_field_immutable", evidence: { field: "allowedUses" } },
    };
    expect(changePool(balancers, { allowedUses: ["Workload"] }, later)).toMatchObject(refused);
    expect(changePool(balancers, { allowedUses: [] }, later)).toMatchObject(refused);
    expect(changePool(current, { allowedUses: ["LoadBalancer"] }, later).ok).toBe(true);
  });

  it("a draining pool takes no write but the end of its drain", () => {
    const draining: PoolDefinition = { ...current, terminating: { startedAt: 1500 } };
    const refused = { ok: false, error: { code: "pool_draining", evidence: { pool: "p" } } };
    expect(changePool(draining, { disabled: true }, later)).toEqual(refused);
    expect(replacePool(draining, { cidr: "10.0.0.0/24" }, later)).toEqual(refused);
    const kept = changePool(draining, { draining: false, disabled: true }, later);
    expect(kept).toMatchObject({ ok: true, value: { disabled: true, revision: 2 } });
    expect(kept.ok && kept.value).not.toHaveProperty("terminating");
  });

  it("draining: true is refused: deleting drains", () => {
    expect(changePool(current, { draining: true }, later)).toMatchObject({
      ok: false,
      error: { evidence: { errors: [{ pointer: "/draining" }] } },
    });
  });

  it("a patch is checked together with what is there", () => {
    expect(changePool(current, { namespaceSelector: "has(a)" }, later)).toMatchObject({
      ok: false,
      error: { evidence: { errors: [{ pointer: "/namespaceSelector", code: "conflicting_fields" }] } },
    });
    expect(changePool(current, { namespaceSelector: "has(a)", allowedUses: ["Workload"] }, later).ok).toBe(
      true,
    );
  });
});
