/** Configuration: defaults, patches, fields that exclude each other. */
import { describe, expect, it } from "vitest";
import { type ConfigPatch, changeConfig, defaultConfig } from "../../src/core/config.ts";
import type { Config } from "../../src/core/policy.ts";

const stamp = { now: 2000, by: "token:ops" };
const start = defaultConfig(1000);

function changed(current: Config, patch: ConfigPatch): Config {
  const result = changeConfig(current, patch, stamp);
  if (!result.ok) throw new Error(result.error.evidence.field);
  return result.value;
}

function conflictOf(current: Config, patch: ConfigPatch): string | undefined {
  const result = changeConfig(current, patch, stamp);
  return result.ok ? undefined : result.error.evidence.field;
}

describe("defaultConfig", () => {
  it("is that of a deployment where nobody wrote one", () => {
    expect(start).toEqual({
      strictAffinity: false,
      autoAllocateBlocks: true,
      maxBlocksPerHost: 0,
      kubeVirtVMAddressPersistence: "Enabled",
      ipCooldownSeconds: 0,
      maintenance: false,
      revision: 0,
      updatedAt: 1000,
    });
  });
});

describe("changeConfig", () => {
  it("cf-002, cf-007: sets what is given, keeps the rest, raises the revision", () => {
    const patch = { strictAffinity: true, autoAllocateBlocks: false, ipCooldownSeconds: 1200 };
    const next = changed(start, { ...patch, kubeVirtVMAddressPersistence: "Disabled" });
    expect(next).toEqual({
      ...start,
      ...patch,
      kubeVirtVMAddressPersistence: "Disabled",
      revision: 1,
      updatedAt: 2000,
      updatedBy: "token:ops",
    });
    const again = changeConfig(next, { maintenance: true, maintenanceReason: "disk" }, { now: 3000 });
    expect(again).toMatchObject({
      ok: true,
      value: { strictAffinity: true, maintenanceReason: "disk", revision: 2 },
    });
    expect(again.ok && again.value).not.toHaveProperty("updatedBy");
  });

  it("a patch that changes nothing gives back the very same configuration", () => {
    expect(changed(start, {})).toBe(start);
    expect(changed(start, { strictAffinity: false, maxBlocksPerHost: undefined })).toBe(start);
  });

  it("refuses strict affinity and autoAllocateBlocks both off", () => {
    expect(conflictOf(start, { autoAllocateBlocks: false })).toBe("autoAllocateBlocks");
    const strict = changed(start, { strictAffinity: true, autoAllocateBlocks: false });
    expect(conflictOf(strict, { strictAffinity: false })).toBe("strictAffinity");
    expect(conflictOf(strict, { strictAffinity: false, autoAllocateBlocks: true })).toBeUndefined();
  });

  it("cf-004: refuses a cap without strict affinity, also when that is turned off later", () => {
    expect(conflictOf(start, { maxBlocksPerHost: 5 })).toBe("maxBlocksPerHost");
    const capped = changed(start, { maxBlocksPerHost: 5, strictAffinity: true });
    expect(conflictOf(capped, { strictAffinity: false })).toBe("strictAffinity");
    expect(conflictOf(capped, { strictAffinity: false, maxBlocksPerHost: 0 })).toBeUndefined();
  });

  it.each([
    { maxBlocksPerHost: -1 },
    { maxBlocksPerHost: 1_000_001 },
    { ipCooldownSeconds: 1201 },
    { ipCooldownSeconds: 0.5 },
  ])("takes %j for a defect: the body was to be checked before", (patch) => {
    expect(() => changeConfig(start, { strictAffinity: true, ...patch }, stamp)).toThrow("out of range");
  });
});
