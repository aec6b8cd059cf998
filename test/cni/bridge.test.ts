/**
 * The main job on real input: the bridge plugin, the IPAM plugin, the kernel and the service.
 * May import: src/client, test. Where the machine cannot, it says why and is skipped; CI refuses that.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Client, createClient } from "../../src/client/client.ts";
import type { Allocation, AllocationList } from "../../src/client/wire.ts";
import { type Service, startService } from "../support/service.ts";
import { addressesOf, invokePlugin, printed, SILENT_SUCCESS } from "./invocation.ts";
import { BridgedNetwork, ping, talk, whyNoBridge, whyNoIpv6 } from "./namespaces.ts";
import { type BuiltPlugin, buildPlugin, type Finished } from "./plugin-process.ts";

const HOST = "node-1";
const POOLS = {
  ipv4: { cidr: "10.231.0.0/24", blockSize: 26, pattern: /^10\.231\.0\.\d+\/26$/ },
  ipv6: { cidr: "fd00:231::/120", blockSize: 122, pattern: /^fd00:231::[0-9a-f]{0,4}\/122$/ },
} as const;
const PAGES_MAX = 20;

interface Form {
  /** Goes into the names of namespaces and containers. */
  tag: string;
  title: string;
  families: (keyof typeof POOLS)[];
  ipam: Record<string, unknown>;
}

const FORMS: Form[] = [
  { tag: "4", title: "IPv4 only", families: ["ipv4"], ipam: {} },
  { tag: "46", title: "dual stack", families: ["ipv4", "ipv6"], ipam: { ipv4: true, ipv6: true } },
  { tag: "6", title: "IPv6 only", families: ["ipv6"], ipam: { ipv4: false, ipv6: true } },
];

interface Pod {
  namespace: string;
  /** Bare addresses, IPv4 first. */
  addresses: string[];
  /** What the bridge plugin printed. */
  result: unknown;
}

const reason = whyNoBridge();
const reasonOfIpv6 = reason ?? whyNoIpv6();
if (reasonOfIpv6 !== undefined) console.info(`main job skipped, at least in part: ${reasonOfIpv6}`);

describe.skipIf(reason !== undefined)("main job: pods get their addresses from the service", () => {
  const network = new BridgedNetwork();
  let plugin: BuiltPlugin;
  let service: Service;
  let client: Client;

  beforeAll(async () => {
    plugin = await buildPlugin();
  });
  afterAll(() => plugin?.remove());
  beforeEach(async () => {
    service = await startService();
    client = createClient({ server: service.url, timeoutMs: 60_000 });
    await put(`/v1/hosts/${HOST}`, { labels: {} });
    for (const [name, { cidr, blockSize }] of Object.entries(POOLS)) {
      await put(`/v1/pools/${name}`, { cidr, blockSize });
    }
    return async () => {
      await network.remove();
      await service.stop();
    };
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

  const ipamOf = (form: Form): Record<string, unknown> => ({
    server: service.url,
    host: HOST,
    prefix: "answer",
    ...form.ipam,
  });
  const argsOf = (pod: string): string => `IgnoreUnknown=1;K8S_POD_NAMESPACE=web;K8S_POD_NAME=${pod}`;

  function attach(
    form: Form,
    command: "ADD" | "CHECK" | "DEL",
    namespace: string,
    pod: string,
    prevResult?: unknown,
  ): Promise<Finished> {
    return network.attach(command, namespace, {
      containerId: `container-${pod}`,
      ipamFolder: plugin.folder,
      ipam: ipamOf(form),
      args: argsOf(pod),
      prevResult,
    });
  }

  /** Adds a pod and checks the printed result against the kernel's view. */
  async function addPod(form: Form, pod: string): Promise<Pod> {
    const namespace = await network.addNamespace(pod);
    const added = await attach(form, "ADD", namespace, pod);
    const given = addressesOf(added);
    expect(given).toEqual(form.families.map((family) => expect.stringMatching(POOLS[family].pattern)));
    expect(await network.addressesOf(namespace)).toEqual(given);
    return {
      namespace,
      addresses: given.map((address) => address.split("/")[0] ?? ""),
      result: printed(added),
    };
  }

  /** TCP in each family, both ways. */
  async function expectTalk(a: Pod, b: Pod): Promise<void> {
    for (const [index, ofA] of a.addresses.entries()) {
      const ofB = b.addresses[index] ?? "";
      expect(await talk(a.namespace, b.namespace, ofB)).toBe(`from ${ofA}`);
      expect(await talk(b.namespace, a.namespace, ofA)).toBe(`from ${ofB}`);
      expect([true, undefined]).toContain(await ping(a.namespace, ofB));
    }
  }

  async function expectListed(form: Form, pods: Record<string, Pod>): Promise<void> {
    const listed = await allocatedOnHost();
    const expected = Object.entries(pods).flatMap(([pod, { addresses }]) =>
      addresses.map((address) => [address, `edge-net.container-${pod}`]),
    );
    expect(listed.map((item) => [item.address, item.handle]).sort()).toEqual(expected.sort());
    expect(new Set(listed.map((item) => item.block)).size).toBe(form.families.length);
    for (const item of listed) {
      const pod = (item.handle ?? "").replace("edge-net.container-", "");
      expect(item.attributes).toEqual({ namespace: "web", pod, node: HOST });
    }
  }

  /** The IPAM plugin alone, as a runtime repeats an ADD whose answer it did not hear. */
  async function repeatAdd(form: Form, pod: string): Promise<string[]> {
    const finished = await invokePlugin(plugin.file, service.url, {
      cniVersion: "1.1.0",
      env: { CNI_CONTAINERID: `container-${pod}`, CNI_ARGS: argsOf(pod) },
      netconf: { name: "edge-net" },
      ipam: ipamOf(form),
    });
    return addressesOf(finished).map((address) => address.split("/")[0] ?? "");
  }

  for (const form of FORMS) {
    const isSkipped = form.families.includes("ipv6") && reasonOfIpv6 !== undefined;
    test.skipIf(isSkipped)(
      `I1, I4, I13, ${form.title}: two namespaces talk, a third follows SIGKILL, DEL leaves nothing allocated`,
      async () => {
        const [nameA, nameB, nameC] = [`a${form.tag}`, `b${form.tag}`, `c${form.tag}`];
        const a = await addPod(form, nameA);
        const b = await addPod(form, nameB);
        await expectTalk(a, b);
        await expectListed(form, { [nameA]: a, [nameB]: b });
        expect((await heldBy(`edge-net.container-${nameA}`)).sort()).toEqual([...a.addresses].sort());
        // The last one added: the bridge plugin also compares the bridge's MAC, which follows its ports.
        expect(await attach(form, "CHECK", b.namespace, nameB, b.result)).toEqual(SILENT_SUCCESS);

        await service.kill();
        const nobody = `nobody${form.tag}`;
        const unreachable = await attach(form, "DEL", await network.addNamespace(nobody), nobody);
        expect(unreachable.exitCode).toBe(1);
        expect(printed(unreachable)).toMatchObject({ code: 11 });
        await service.restart();

        const c = await addPod(form, nameC);
        const pods = { [nameA]: a, [nameB]: b, [nameC]: c };
        const all = Object.values(pods).flatMap((pod) => pod.addresses);
        expect(new Set(all).size).toBe(3 * form.families.length);
        await expectTalk(c, a);
        await expectListed(form, pods);
        expect(await repeatAdd(form, nameA)).toEqual(a.addresses);

        for (const [name, pod] of Object.entries(pods)) {
          expect(await attach(form, "DEL", pod.namespace, name), name).toEqual(SILENT_SUCCESS);
          expect(await heldBy(`edge-net.container-${name}`)).toEqual([]);
          expect(await attach(form, "DEL", pod.namespace, name), name).toEqual(SILENT_SUCCESS);
        }
        expect(await allocatedOnHost()).toEqual([]);
      },
    );
  }
});
