/**
 * The main job on real input: the bridge plugin, the IPAM plugin, the kernel and the service.
 * May import: src/client, test. Where the machine cannot, it says why and is skipped; CI refuses that.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient } from "../../src/client/client.ts";
import type { Allocation, AllocationList } from "../../src/client/wire.ts";
import { type Service, startService } from "../support/service.ts";
import { BridgedNetwork, ping, talk, whyNoBridge } from "./namespaces.ts";
import { type BuiltPlugin, buildPlugin, PATH_WITH_NODE, runProgram } from "./plugin-process.ts";

const HOST = "node-1";
const POOL = "10.231.0.0/24";
const BLOCK_SIZE = 26;
const PAGES_MAX = 20;

const reason = whyNoBridge();
if (reason !== undefined) console.info(`main job skipped: ${reason}`);

describe.skipIf(reason !== undefined)("main job: pods get their addresses from the service", () => {
  const network = new BridgedNetwork();
  let plugin: BuiltPlugin;
  let service: Service;
  let client: Client;

  beforeAll(async () => {
    [plugin, service] = await Promise.all([buildPlugin(), startService()]);
    client = createClient({ server: service.url, timeoutMs: 10_000 });
    await put(`/v1/hosts/${HOST}`, { labels: {} });
    await put("/v1/pools/pods", { cidr: POOL, blockSize: BLOCK_SIZE });
  });
  afterAll(async () => {
    await network.remove();
    await Promise.allSettled([plugin?.remove(), service?.stop()]);
  });

  async function put(path: string, body: unknown): Promise<void> {
    const response = await fetch(`${service.url}${path}`, {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(response.status, await response.text()).toBe(201);
  }

  /** All pages: one may be empty and still have a next. */
  async function allocatedOnHost(): Promise<Allocation[]> {
    const items: Allocation[] = [];
    let cursor = "";
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const response = await fetch(`${service.url}/v1/allocations?host=${HOST}&state=allocated${cursor}`);
      expect(response.status).toBe(200);
      const list = (await response.json()) as AllocationList;
      items.push(...list.items);
      if (list.nextCursor === undefined) return items;
      cursor = `&cursor=${encodeURIComponent(list.nextCursor)}`;
    }
    throw new Error(`the listing did not end within ${PAGES_MAX} pages`);
  }

  async function heldBy(handle: string): Promise<string[]> {
    const list = await client.getHandle(handle);
    if (!list.ok) throw new Error(`getHandle: ${JSON.stringify(list.error)}`);
    return list.value.items.filter((item) => item.state === "allocated").map((item) => item.address);
  }

  const ipam = (): Record<string, unknown> => ({ server: service.url, host: HOST, prefix: "answer" });

  function attach(
    command: "ADD" | "DEL",
    namespace: string,
    pod: string,
  ): ReturnType<BridgedNetwork["attach"]> {
    return network.attach(command, namespace, {
      containerId: `container-${pod}`,
      ipamFolder: plugin.folder,
      ipam: ipam(),
      args: `IgnoreUnknown=1;K8S_POD_NAMESPACE=web;K8S_POD_NAME=${pod}`,
    });
  }

  /** Adds a pod, checks the printed result against the kernel's view and gives the bare address. */
  async function addPod(pod: string): Promise<{ namespace: string; address: string }> {
    const namespace = await network.addNamespace(pod);
    const added = await attach("ADD", namespace, pod);
    expect(added.exitCode, added.stdout + added.stderr).toBe(0);
    const result = JSON.parse(added.stdout) as { ips: { address: string }[] };
    const given = result.ips.map((ip) => ip.address);
    expect(given).toHaveLength(1);
    expect(given[0]).toMatch(new RegExp(`^10\\.231\\.0\\.\\d+/${BLOCK_SIZE}$`));
    expect(await network.addressesOf(namespace)).toEqual(given);
    return { namespace, address: (given[0] ?? "").split("/")[0] ?? "" };
  }

  test("I1, I4, I13: two namespaces talk, a third follows SIGKILL, DEL leaves nothing allocated", async () => {
    const a = await addPod("a");
    const b = await addPod("b");
    expect(a.address).not.toBe(b.address);

    expect(await talk(a.namespace, b.namespace, b.address)).toBe(`from ${a.address}`);
    expect(await talk(b.namespace, a.namespace, a.address)).toBe(`from ${b.address}`);
    expect([true, undefined]).toContain(await ping(a.namespace, b.address));

    const listed = await allocatedOnHost();
    expect(listed.map((item) => [item.address, item.handle]).sort()).toEqual(
      [
        [a.address, "edge-net.container-a"],
        [b.address, "edge-net.container-b"],
      ].sort(),
    );
    expect(new Set(listed.map((item) => item.block)).size).toBe(1);
    expect(listed.find((item) => item.address === a.address)?.attributes).toEqual({
      namespace: "web",
      pod: "a",
      node: HOST,
    });
    expect(await heldBy("edge-net.container-a")).toEqual([a.address]);

    await service.kill();
    const unreachable = await attach("DEL", await network.addNamespace("nobody"), "nobody");
    expect(unreachable.exitCode).toBe(1);
    expect(JSON.parse(unreachable.stdout)).toMatchObject({ code: 11 });
    await service.restart();

    const c = await addPod("c");
    expect(new Set([a.address, b.address, c.address]).size).toBe(3);
    expect(await talk(c.namespace, a.namespace, a.address)).toBe(`from ${c.address}`);
    expect((await allocatedOnHost()).map((item) => item.address).sort()).toEqual(
      [a.address, b.address, c.address].sort(),
    );
    expect(await repeatAdd("a")).toEqual([`${a.address}/${BLOCK_SIZE}`]);

    for (const [pod, { namespace }] of Object.entries({ a, b, c })) {
      const deleted = await attach("DEL", namespace, pod);
      expect(deleted, pod).toEqual({ exitCode: 0, stdout: "", stderr: "" });
      expect(await heldBy(`edge-net.container-${pod}`)).toEqual([]);
      const again = await attach("DEL", namespace, pod);
      expect(again.exitCode, again.stdout).toBe(0);
    }
    expect(await allocatedOnHost()).toEqual([]);
  });

  /** The IPAM plugin alone, as a runtime repeats an ADD whose answer it did not hear. */
  async function repeatAdd(pod: string): Promise<string[]> {
    const finished = await runProgram(plugin.file, [], {
      env: {
        PATH: PATH_WITH_NODE,
        CNI_COMMAND: "ADD",
        CNI_CONTAINERID: `container-${pod}`,
        CNI_NETNS: "/var/run/netns/none",
        CNI_IFNAME: "eth0",
        CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=web;K8S_POD_NAME=${pod}`,
      },
      stdin: JSON.stringify({
        cniVersion: "1.1.0",
        name: "edge-net",
        type: "bridge",
        ipam: { type: "edge-ipam", ...ipam() },
      }),
    });
    expect(finished.exitCode, finished.stdout).toBe(0);
    const result = JSON.parse(finished.stdout) as { ips: { address: string }[] };
    return result.ips.map((ip) => ip.address);
  }
});
