/**
 * What must always hold, as far as the plugin can see it, on the real service.
 * May import: test. Other invariants have no form here: test/support/invariant-coverage.ts says why.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Service, startService } from "../support/service.ts";
import { addressesOf, failed, invokePlugin, type Run, SILENT_SUCCESS } from "./invocation.ts";
import { type BuiltPlugin, buildPlugin, type Finished } from "./plugin-process.ts";

let plugin: BuiltPlugin;
let service: Service;

beforeAll(async () => {
  [plugin, service] = await Promise.all([buildPlugin(), startService()]);
  await write("PUT", "/v1/hosts/node-1", { labels: {} });
  await write("PUT", "/v1/pools/small", { cidr: "10.235.0.0/29", blockSize: 29 });
});
afterAll(async () => {
  await Promise.allSettled([plugin?.remove(), service?.stop()]);
});

async function write(method: string, path: string, body: unknown): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(service.url + path, { method, headers, body: JSON.stringify(body) });
  expect(response.ok, await response.text()).toBe(true);
}

async function read(path: string): Promise<unknown[]> {
  return ((await (await fetch(service.url + path)).json()) as { items: unknown[] }).items;
}

function invoke(command: string, containerId: string, run: Run = {}): Promise<Finished> {
  return invokePlugin(plugin.file, service.url, { ...run, command, env: { CNI_CONTAINERID: containerId } });
}

/** The host part of the one address that an ADD printed. */
async function add(containerId: string): Promise<number> {
  const [address = ""] = addressesOf(await invoke("ADD", containerId));
  return Number(/^10\.235\.0\.([0-7])\//.exec(address)?.[1]);
}

describe("eight addresses", () => {
  test("I7: an address in a reservation is not given to a pod", async () => {
    await write("PUT", "/v1/reservations/ends", { reservedCIDRs: ["10.235.0.0/32", "10.235.0.4/30"] });
    const given = [await add("one"), await add("two"), await add("three")];
    expect(given.toSorted()).toEqual([1, 2, 3]);
    expect(failed(await invoke("ADD", "four")).msg).toMatch(/^pool_exhausted /);
  });

  test("I3: a late DEL of a container takes nothing from the pod that has its address now", async () => {
    expect(await invoke("DEL", "two")).toEqual(SILENT_SUCCESS);
    const address = await add("heir");
    expect(await invoke("DEL", "two")).toEqual(SILENT_SUCCESS);
    expect(await add("heir")).toBe(address);
    expect(failed(await invoke("ADD", "four")).msg).toMatch(/^pool_exhausted /);
  });

  test("I12: what a DEL released is given to nobody before its cooldown has passed", async () => {
    await write("PATCH", "/v1/config", { ipCooldownSeconds: 600 });
    expect(await invoke("DEL", "one")).toEqual(SILENT_SUCCESS);
    expect(failed(await invoke("ADD", "four")).msg).toMatch(/^pool_cooling /);
    await write("PATCH", "/v1/config", { ipCooldownSeconds: 0 });
    expect([1, 2, 3]).toContain(await add("four"));
  });
});

describe("blocks of others, and too many of one's own", () => {
  test("I8: under strict affinity a pod gets no address of another host's block", async () => {
    await write("PATCH", "/v1/config", { strictAffinity: true });
    await write("PUT", "/v1/hosts/node-2", { labels: {} });
    await write("PUT", "/v1/pools/theirs", { cidr: "10.236.0.0/29", blockSize: 29 });
    await write("POST", "/v1/affinity-claims", { host: "node-2", cidr: "10.236.0.0/29" });
    const run = { ipam: { pools: { ipv4: ["theirs"] } } };
    expect(failed(await invoke("ADD", "stranger", run)).msg).toMatch(/^strict_affinity /);
    expect(await read("/v1/allocations?pool=theirs")).toEqual([]);
  });

  test("I10: no ADD takes the host beyond its cap on blocks", async () => {
    await write("PATCH", "/v1/config", { strictAffinity: true, maxBlocksPerHost: 1 });
    await write("PUT", "/v1/pools/more", { cidr: "10.237.0.0/29", blockSize: 31 });
    const run = { ipam: { pools: { ipv4: ["more"] } } };
    expect(failed(await invoke("ADD", "one-too-many", run)).msg).toMatch(/^block_limit_reached /);
    expect(await read("/v1/blocks?host=node-1")).toHaveLength(1);
  });
});
