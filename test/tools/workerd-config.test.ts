/** The configuration of bare workerd agrees with wrangler.toml. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { repositoryRoot } from "../../src/tools/bundle.ts";
import { authModeOf } from "../../src/tools/launch.ts";
import { readDeployment, workerdConfig } from "../../src/tools/workerd-config.ts";

const setting = {
  objectsFolder: "/data/objects",
  publicFolder: "/public",
  bundle: "worker.js",
  socket: "127.0.0.1:8787",
  vars: { PLATFORM: "local", NOTE: 'say "hi" \\ there' },
  secrets: ["IPAM_TOKENS"],
};

it("finds every object of the deployment", () => {
  expect(readDeployment()).toEqual({
    compatibilityDate: "2026-10-01",
    objects: [
      { binding: "BLOCK", className: "BlockObject" },
      { binding: "HOST", className: "HostObject" },
      { binding: "POOL", className: "PoolObject" },
      { binding: "HANDLE_INDEX", className: "HandleIndexObject" },
      { binding: "CLUSTER", className: "ClusterObject" },
      { binding: "SWEEP", className: "SweepObject" },
    ],
  });
});

it("gives every class durable SQL storage that is never evicted, under a name that must not change", () => {
  const text = workerdConfig(setting);
  for (const { className } of readDeployment().objects) {
    expect(text).toContain(
      `(className = "${className}", uniqueKey = "edge-ipam-${className}", enableSql = true, preventEviction = true)`,
    );
  }
  expect(text).toContain('durableObjectStorage = (localDisk = "objects")');
  expect(text).toContain('(path = "/data/objects", writable = true)');
});

it("quotes text, and refuses what it cannot quote", () => {
  expect(workerdConfig(setting)).toContain('(name = "NOTE", text = "say \\"hi\\" \\\\ there")');
  expect(() => workerdConfig({ ...setting, vars: { BAD: "\u0001" } })).toThrow("control character");
});

it("refuses a wrangler.toml in which it finds no objects", () => {
  expect(() => readDeployment('compatibility_date = "2026-10-01"\n')).toThrow("no durable object bindings");
});

it("leaves a deployment closed: wrangler.toml sets neither AUTH_MODE nor tokens", () => {
  const lines = readFileSync(resolve(repositoryRoot, "wrangler.toml"), "utf8").split("\n");
  const settings = lines.filter((line) => !line.startsWith("#"));
  expect(settings.filter((line) => /AUTH_MODE|IPAM_TOKENS/.test(line))).toEqual([]);
  expect(settings).toContain('PLATFORM = "edge"');
});

it.each([
  ["127.0.0.1", undefined, "none"],
  ["127.8.0.1", undefined, "none"],
  ["::1", undefined, "none"],
  ["localhost", undefined, "none"],
  ["0.0.0.0", undefined, "not configured"],
  ["::", undefined, "not configured"],
  ["10.0.0.1", undefined, "not configured"],
  ["127.0.0.1.example.org", undefined, "not configured"],
  ["127.0.0.1", "", "not configured"],
  ["127.0.0.1", "[]", "not configured"],
  ["0.0.0.0", "secret", "not configured"],
  ["127.0.0.1", `[{"name":"ops","sha256":"${"0".repeat(64)}","role":"admin"}]`, "tokens"],
])("on %s with tokens %j authentication is: %s", (address, tokens, mode) => {
  expect(authModeOf({ address, ...(tokens === undefined ? {} : { tokens }) })).toBe(mode);
});
