/**
 * The plugin against the real service, without network namespaces: refusals, CHECK and credentials.
 * May import: src/client, test. What a refused ADD leaves is read from the service, not from the plugin.
 */

import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AllocationList } from "../../src/client/wire.ts";
import { type Service, startService } from "../support/service.ts";
import { addressesOf, failed, invokePlugin, printed, type Run, SILENT_SUCCESS } from "./invocation.ts";
import { type BuiltPlugin, buildPlugin, type Finished } from "./plugin-process.ts";

const ADMIN = "admin-token-1";
const AGENT = "agent-token-1";
const OTHER_AGENT = "agent-token-2";
const HOST = "node-1";

let plugin: BuiltPlugin;
let service: Service;

beforeAll(async () => {
  const tokens = JSON.stringify([
    { name: "ops", sha256: digestOf(ADMIN), role: "admin" },
    { name: "agent-1", sha256: digestOf(AGENT), role: "agent", host: HOST },
    { name: "agent-2", sha256: digestOf(OTHER_AGENT), role: "agent", host: "node-2" },
  ]);
  [plugin, service] = await Promise.all([buildPlugin(), startService({ tokens })]);
  await put(`/v1/hosts/${HOST}`, { labels: {} });
  await put("/v1/pools/wide-v4", { cidr: "10.233.0.0/24", blockSize: 26 });
  await put("/v1/pools/wide-v6", { cidr: "fd00:233::/120", blockSize: 122 });
  await put("/v1/pools/tiny-v4", { cidr: "10.234.0.0/30", blockSize: 30 });
  await put("/v1/pools/tiny-v6", { cidr: "fd00:234::/126", blockSize: 126 });
  await write("PATCH", "/v1/config", { ipCooldownSeconds: 600 }, 200);
});
afterAll(async () => {
  await Promise.allSettled([plugin?.remove(), service?.stop()]);
});

function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

const put = (path: string, body: unknown): Promise<void> => write("PUT", path, body, 201);

async function write(method: string, path: string, body: unknown, status: number): Promise<void> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${ADMIN}` },
    body: JSON.stringify(body),
  });
  expect(response.status, await response.text()).toBe(status);
}

function invoke(command: string, containerId: string, run: Run = {}): Promise<Finished> {
  return invokePlugin(plugin.file, service.url, {
    ...run,
    command,
    env: { CNI_CONTAINERID: containerId, ...run.env },
    ipam: { token: AGENT, ...run.ipam },
  });
}

async function held(containerId: string): Promise<string[]> {
  const response = await fetch(`${service.url}/v1/handles/net1.${containerId}`, {
    headers: { Authorization: `Bearer ${ADMIN}` },
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as AllocationList).items.map((item) => item.address);
}

describe("dual stack", () => {
  test.each([
    ["IPv6", "tiny-v6", { ipv4: ["wide-v4"], ipv6: ["tiny-v6"] }, { ipv4: false, ipv6: true }],
    ["IPv4", "tiny-v4", { ipv4: ["tiny-v4"], ipv6: ["wide-v6"] }, { ipv4: true, ipv6: false }],
  ])("I15: with %s exhausted it leaves nothing and names the family", async (family, pool, pools, alone) => {
    const single = { ...alone, pools };
    for (let n = 0; n < 4; n += 1) {
      expect(addressesOf(await invoke("ADD", `${pool}-${n}`, { ipam: single }))).toHaveLength(1);
    }
    const both = { ipv4: true, ipv6: true, pools };
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const printedFailure = failed(await invoke("ADD", `${pool}-both`, { ipam: both }));
      expect(printedFailure.code).toBe(100);
      expect(printedFailure.msg).toMatch(
        new RegExp(`^pool_exhausted \\(100\\): No ${family} address for node-1`),
      );
      expect(await held(`${pool}-both`)).toEqual([]);
    }
    expect(await invoke("DEL", `${pool}-both`)).toEqual(SILENT_SUCCESS);
    for (let n = 0; n < 4; n += 1) expect(await invoke("DEL", `${pool}-${n}`)).toEqual(SILENT_SUCCESS);
    expect(failed(await invoke("ADD", `${pool}-both`, { ipam: both })).msg).toMatch(
      new RegExp(`^pool_cooling \\(11\\): No ${family} address`),
    );
    expect(await held(`${pool}-both`)).toEqual([]);
  });

  test.each(["0.4.0", "1.0.0", "1.1.0"])("version %s prints IPv4 before IPv6", async (cniVersion) => {
    const pools = { ipv4: ["wide-v4"], ipv6: ["wide-v6"] };
    const id = `order-${cniVersion}`;
    const added = await invoke("ADD", id, { cniVersion, ipam: { ipv6: true, pools } });
    const given = addressesOf(added);
    expect(given).toEqual([expect.stringMatching(/^10\.233\./), expect.stringMatching(/^fd00:233::/)]);
    expect(printed(added)).toMatchObject({ cniVersion });
    expect((await held(id)).map((address) => address.includes(":")).sort()).toEqual([false, true]);
    expect(await invoke("DEL", id, { cniVersion })).toEqual(SILENT_SUCCESS);
    expect(await held(id)).toEqual([]);
  });
});

test("CHECK succeeds while the addresses are held, and is 119 after their DEL", async () => {
  const ipam = { ipv6: true, pools: { ipv4: ["wide-v4"], ipv6: ["wide-v6"] } };
  const prevResult = printed(await invoke("ADD", "checked", { ipam }));
  const run: Run = { ipam, netconf: { prevResult } };
  expect(await invoke("CHECK", "checked", run)).toEqual(SILENT_SUCCESS);
  expect(failed(await invoke("CHECK", "unknown", run)).code).toBe(119);
  expect(await invoke("DEL", "checked", { ipam })).toEqual(SILENT_SUCCESS);
  expect(failed(await invoke("CHECK", "checked", run)).code).toBe(119);
});

describe("STATUS", () => {
  const status = (ipam: Record<string, unknown>): Promise<Finished> =>
    invokePlugin(plugin.file, service.url, {
      command: "STATUS",
      cniVersion: "1.1.0",
      env: { CNI_CONTAINERID: "", CNI_IFNAME: "", CNI_NETNS: "" },
      ipam: { token: AGENT, ...ipam },
    });

  test("follows what an ADD would meet: ready, then every IPv4 pool disabled, then ready again", async () => {
    const DISABLED = ["wide-v4", "tiny-v4"];
    expect(await status({ ipv6: true })).toEqual(SILENT_SUCCESS);
    for (const pool of DISABLED) await write("PATCH", `/v1/pools/${pool}`, { disabled: true }, 200);
    const printedFailure = failed(await status({ ipv6: true }));
    expect(printedFailure.code).toBe(50);
    expect(printedFailure.msg).toMatch(/^no_qualified_pool \(50\): node-1 cannot be given ipv4 addresses/);
    expect(await status({ ipv4: false, ipv6: true })).toEqual(SILENT_SUCCESS);
    const refused = failed(await invoke("ADD", "not-ready", { ipam: { ipv6: true } }));
    expect(refused.msg).toMatch(/^no_qualified_pool \(112\)/);
    for (const pool of DISABLED) await write("PATCH", `/v1/pools/${pool}`, { disabled: false }, 200);
    expect(await status({ ipv6: true })).toEqual(SILENT_SUCCESS);
  });

  test("of a host that is not registered, or with another host's token, is 50", async () => {
    const unknown = failed(await status({ token: ADMIN, host: "nobody" }));
    expect(unknown.code).toBe(50);
    expect(unknown.msg).toMatch(/^host_not_found \(50\)/);
    expect(failed(await status({ token: OTHER_AGENT })).msg).toMatch(/^host_mismatch \(50\)/);
  });
});

describe("credentials", () => {
  test("a token file is enough, and a rotated one counts at once", async () => {
    const folder = await mkdtemp(join(tmpdir(), "edge-ipam-token-"));
    try {
      const tokenFile = join(folder, "token");
      const ipam = { token: undefined, tokenFile };
      await writeFile(tokenFile, "an-old-token\n");
      expect(failed(await invoke("ADD", "rotated", { ipam })).msg).toMatch(/^token_invalid \(110\)/);
      await writeFile(tokenFile, `${AGENT}\n`);
      expect(addressesOf(await invoke("ADD", "rotated", { ipam }))).toHaveLength(1);
      expect(await invoke("DEL", "rotated", { ipam })).toEqual(SILENT_SUCCESS);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("the token of another host's agent is 110 and gets nothing", async () => {
    const printedFailure = failed(await invoke("ADD", "foreign", { ipam: { token: OTHER_AGENT } }));
    expect(printedFailure.code).toBe(110);
    expect(printedFailure.msg).toMatch(/^host_mismatch \(110\)/);
    expect(await held("foreign")).toEqual([]);
  });
});
