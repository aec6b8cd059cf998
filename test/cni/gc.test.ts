/**
 * GC of the bundled plugin against the real service, whose clock the test moves: lost DELs are made good.
 * May import: test. What is held is read from the service, as an administrator.
 */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AllocationList } from "../../src/client/wire.ts";
import { setClock } from "../support/control.ts";
import { type Service, startService } from "../support/service.ts";
import { addressesOf, failed, invokePlugin, type Run, SILENT_SUCCESS } from "./invocation.ts";
import { type BuiltPlugin, buildPlugin, type Finished } from "./plugin-process.ts";

const SETTINGS = { leaseMs: 1_000, skewMs: 200 };
const CALLERS = [
  { name: "ops", role: "admin" },
  { name: "node-1", role: "agent", host: "node-1" },
];

let plugin: BuiltPlugin;
let service: Service;
let seconds = 0;

beforeAll(async () => {
  const tokens = JSON.stringify(
    CALLERS.map((one) => ({ ...one, sha256: createHash("sha256").update(`t-${one.name}`).digest("hex") })),
  );
  const vars = { TEST_SETTINGS: JSON.stringify(SETTINGS), TEST_ALARMS: "moved" };
  [plugin, service] = await Promise.all([
    buildPlugin(),
    startService({ entry: "test/support/entry.ts", vars, tokens }),
  ]);
  await must("PUT", "/v1/pools/default", { cidr: "10.233.0.0/24" });
  await must("PUT", "/v1/hosts/node-1", { labels: {} });
});
afterAll(async () => {
  await Promise.allSettled([plugin?.remove(), service?.stop()]);
});

async function must(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: { "Content-Type": "application/json", Authorization: "Bearer t-ops" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(response.ok, text).toBe(true);
  return JSON.parse(text);
}

async function pass(more: number): Promise<void> {
  seconds += more;
  await setClock({ must }, seconds * 1000);
}

function invoke(run: Run): Promise<Finished> {
  return invokePlugin(plugin.file, service.url, {
    cniVersion: "1.1.0",
    ...run,
    ipam: { token: "t-node-1", ...run.ipam },
  });
}

const POD = "K8S_POD_NAMESPACE=web;K8S_POD_NAME=api-0;IgnoreUnknown=1";

async function added(containerId: string, interfaceName = "eth0", args = ""): Promise<void> {
  const env = { CNI_CONTAINERID: containerId, CNI_IFNAME: interfaceName, CNI_ARGS: args };
  expect(addressesOf(await invoke({ env }))).toHaveLength(1);
}

function gc(containerIds: readonly string[], run: Run = {}): Promise<Finished> {
  const valid = containerIds.map((containerID) => ({ containerID, ifname: "eth0" }));
  const netconf = { "cni.dev/valid-attachments": valid, ...run.netconf };
  return invoke({ command: "GC", ...run, netconf });
}

async function held(containerId: string): Promise<number> {
  const path = `/v1/handles/net1.${containerId}`;
  return ((await must("GET", path)) as AllocationList).items.length;
}

describe("a runtime's GC", () => {
  test("I11: frees what a lost DEL left, at the third list that leaves it out, and nothing else", async () => {
    await added("lives", "eth0", POD);
    await added("lives", "net1", POD);
    await added("lost", "eth0", POD);
    await added("lost", "net1", POD);
    await added("no-pod");
    await added("with.dot");
    for (const wait of [0, 180, 960]) {
      await pass(wait);
      expect(await gc(["lives"])).toEqual(SILENT_SUCCESS);
      expect(await held("lost")).toBe(2);
      expect(await held("no-pod")).toBe(1);
    }
    expect(await gc(["lives"])).toEqual(SILENT_SUCCESS);
    expect(await held("lost")).toBe(2);
    await pass(180);
    expect(await gc(["lives"])).toEqual(SILENT_SUCCESS);
    expect(await held("lost")).toBe(0);
    expect(await held("no-pod")).toBe(0);
    expect(await held("lives")).toBe(2);
    expect(await held("with.dot")).toBe(1);
    expect(await gc(["lives"])).toEqual(SILENT_SUCCESS);
  });

  test("I11: spares what comes back into the list, however often it was left out", async () => {
    await added("flaps");
    await pass(180);
    await gc(["lives"]);
    await pass(960);
    await gc(["lives"]);
    await pass(180);
    await gc(["lives", "flaps"]);
    await pass(180);
    await gc(["lives"]);
    await pass(180);
    await gc(["lives"]);
    expect(await held("flaps")).toBe(1);
  });

  test("I11: that sends no list changes nothing, however often", async () => {
    for (const wait of [180, 960, 180, 180]) {
      await pass(wait);
      const netconf = { "cni.dev/valid-attachments": undefined };
      expect(failed(await gc([], { netconf })).code).toBe(7);
    }
    expect(await held("lives")).toBe(2);
    expect(await must("GET", "/v1/leaks?host=node-1")).toMatchObject({
      items: [{ handle: "net1.flaps" }],
    });
  });

  test("of another network leaves this one alone", async () => {
    for (const wait of [180, 960, 180]) {
      await pass(wait);
      expect(await gc([], { netconf: { name: "net" } })).toEqual(SILENT_SUCCESS);
    }
    expect(await held("lives")).toBe(2);
  });

  test("for a host that is not registered, or with a token of another, is a CNI error", async () => {
    const unknown = await gc([], { ipam: { host: "nobody", token: "t-ops" } });
    expect(failed(unknown).msg).toMatch(/^host_not_found \(120\): /);
    expect(failed(await gc([], { ipam: { host: "node-2" } })).msg).toMatch(/^host_mismatch \(110\): /);
  });
});
