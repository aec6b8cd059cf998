/** The collector with a Kubernetes API server as its evidence: what goes when a pod or a node has gone. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, it } from "vitest";
import { repositoryRoot } from "../../src/tools/bundle.ts";
import { readClusterAccess } from "../../src/tools/cluster-access.ts";
import { type Launched, launch } from "../../src/tools/launch.ts";
import { ApiServer, type Fault } from "../support/api-server.ts";
import { type Listening, listen } from "../support/api-server-http.ts";
import { type Client, clientOf, expectStatus } from "./client.ts";

const MINUTE = 60_000;
/** The collector's least: what is absent longer is leaked. */
const GRACE_SECONDS = 60;
/** Sweeps that a leak takes from the first that misses it: seen, confirmed, read again and released. */
const SWEEPS = 4;

let dataFolder: string;
let api: ApiServer;
let server: Listening;
let service: Launched;
let call: Client;
let offsetMs: number;

/** Starts all; so long an answer of the API server is waited for. Why: a slow machine is no server that hangs. */
async function open(timeoutSeconds = 10): Promise<void> {
  dataFolder = mkdtempSync(join(tmpdir(), "edge-ipam-cluster-"));
  api = new ApiServer();
  api.token = "s3cret";
  server = await listen(api);
  const kubernetes = readClusterAccess({
    KUBERNETES_API_URL: server.url,
    KUBERNETES_TOKEN: api.token,
    KUBERNETES_VIRTUAL_MACHINES: "on",
    KUBERNETES_TIMEOUT_SECONDS: String(timeoutSeconds),
  })!;
  const entry = resolve(repositoryRoot, "test/support/entry.ts");
  service = await launch({ dataFolder, port: 0, address: "127.0.0.1", entry, kubernetes });
  call = clientOf({ url: await service.ready });
  offsetMs = 0;
  await expectStatus(call("PATCH", "/v1/config", { leakGraceSeconds: GRACE_SECONDS }), 200);
  await expectStatus(call("PUT", "/v1/pools/default", { cidr: "10.7.0.0/24", blockSize: 28 }), 201);
}

afterEach(async () => {
  await service.kill();
  await server.close();
  rmSync(dataFolder, { recursive: true, force: true });
});

/** A host whose node is in the cluster. */
async function enrol(host: string): Promise<void> {
  api.putNode(host);
  await expectStatus(call("PUT", `/v1/hosts/${host}`, { labels: {}, incarnation: "boot-1" }), 201);
}

/** An address for a pod, which runs with it unless told otherwise. */
async function start(host: string, pod: string, given: { machine?: string; isRunning?: boolean } = {}) {
  const machine = given.machine === undefined ? {} : { "vmi-name": given.machine };
  const body = {
    host,
    handle: `net.${pod}`,
    ipv4: { count: 1 },
    attributes: { namespace: "web", pod, ...machine },
  };
  const { body: made } = await expectStatus(call("POST", "/v1/allocations", body), 201);
  const address: string = made.allocations[0].address;
  if (given.isRunning !== false) api.putPod("web", pod, host, [address]);
  return address;
}

async function pass(ms: number): Promise<void> {
  offsetMs += ms;
  await expectStatus(call("POST", "/test/clock", { offsetMs }), 200);
}

/** A sweep of all hosts, from its beginning to its end, some minutes after the one before. */
async function sweep(): Promise<void> {
  await pass(3 * MINUTE);
  const before = (await expectStatus(call("GET", "/v1/gc"), 200)).body.lastSweepAt;
  await expectStatus(call("POST", "/v1/gc/sweeps"), 202);
  for (let looks = 0; looks < 600; looks += 1) {
    const { body: gc } = await expectStatus(call("GET", "/v1/gc"), 200);
    if (gc.lastSweepAt !== before) return;
    await new Promise((settle) => setTimeout(settle, 100));
  }
  throw new Error("the sweep does not end");
}

async function sweeps(count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) await sweep();
}

async function stateOf(address: string): Promise<string> {
  return (await expectStatus(call("GET", `/v1/addresses/${address}`), 200)).body.state;
}

it("frees the address of a pod that has gone, after the grace, and of no other", async () => {
  await open();
  await enrol("node-a");
  await enrol("node-b");
  const kept = await start("node-a", "kept");
  const gone = await start("node-a", "gone");
  const moved = await start("node-a", "moved");
  const ending = await start("node-a", "ending");
  const machine = await start("node-a", "virt-launcher-db-1", { machine: "db" });
  api.putMachine("web", "db");
  await sweep();
  expect((await call("GET", "/v1/gc")).body).toMatchObject({ candidates: 0, confirmed: 0 });
  api.deletePod("web", "gone");
  api.deletePod("web", "virt-launcher-db-1");
  api.putPod("web", "ending", "node-a", [ending], {
    metadata: { deletionTimestamp: "2026-11-30T00:00:00Z" },
  });
  // It runs on another node, with the same address.
  api.putPod("web", "moved", "node-b", [moved]);
  await sweep();
  expect(await stateOf(gone)).toBe("allocated");
  await sweeps(SWEEPS - 1);
  expect(await stateOf(gone)).not.toBe("allocated");
  const { body: seen } = await expectStatus(call("GET", `/v1/addresses/${gone}`), 200);
  expect(seen.tenures[0]).toMatchObject({ handle: "net.gone", releasedBy: "collector" });
  for (const address of [kept, moved, ending, machine]) expect(await stateOf(address)).toBe("allocated");
  api.deleteMachine("web", "db");
  await sweeps(SWEEPS);
  expect(await stateOf(machine)).not.toBe("allocated");
  for (const address of [kept, moved, ending]) expect(await stateOf(address)).toBe("allocated");
}, 180_000);

it("takes down a host whose node has gone, with all that went with it", async () => {
  await open();
  await enrol("node-a");
  await enrol("node-b");
  const lost = [await start("node-b", "lost-1"), await start("node-b", "lost-2")];
  const kept = await start("node-a", "kept");
  await sweep();
  expect((await call("GET", "/v1/blocks?host=node-b")).body.items).toHaveLength(1);
  api.deleteNode("node-b");
  await pass(6 * MINUTE);
  await sweep();
  // Its pods are still there, as far as the cluster knows.
  for (const address of lost) expect(await stateOf(address)).toBe("allocated");
  api.deletePod("web", "lost-1");
  api.deletePod("web", "lost-2");
  await sweeps(SWEEPS);
  for (const address of lost) expect(await stateOf(address)).not.toBe("allocated");
  expect((await call("GET", "/v1/blocks?host=node-b")).body.items).toEqual([]);
  expect(await stateOf(kept)).toBe("allocated");
  expect((await call("GET", "/v1/blocks?host=node-a")).body.items).toHaveLength(1);
}, 180_000);

it.each<[string, () => void, string]>([
  [
    "forbids to list and to read pods",
    () => {
      api.forbidden.add("list pods").add("get pods");
    },
    "forbidden: needs list pods",
  ],
  [
    "forbids to read pods by name",
    () => {
      api.forbidden.add("get pods");
    },
    "forbidden: needs get pods",
  ],
  [
    "takes the token for another's",
    () => {
      api.token = "another";
    },
    "unauthorized",
  ],
  ["never answers of pods", () => always({ hangs: true, on: /pods/ }), "timed out"],
  ["cuts its answers short", () => always({ cutAt: 60, on: /pods/ }), "not reachable"],
  ["sends us elsewhere", () => always({ status: 302, headers: { location: "/other" } }), "answered 302"],
  ["answers 404 to everything, as a proxy does", () => always({ status: 404 }), "not found"],
  ["lists nothing that can be read", () => always({ edit: (body) => ({ ...body, items: null }) }), "no list"],
])(
  "I11: nothing is freed while an API server %s, and all that has gone is once it does not",
  async (_, set, what) => {
    await open(what === "timed out" ? 1 : 10);
    await enrol("node-a");
    await enrol("node-b");
    const gone = await start("node-a", "gone");
    const onLost = await start("node-b", "kept");
    await sweep();
    api.deletePod("web", "gone");
    api.deleteNode("node-b");
    set();
    await sweeps(SWEEPS);
    expect(await stateOf(gone)).toBe("allocated");
    expect(await stateOf(onLost)).toBe("allocated");
    expect((await call("GET", "/v1/blocks?host=node-b")).body.items).toHaveLength(1);
    expect((await call("GET", "/v1/gc")).body.lastError).toContain(what);
    api.forbidden.clear();
    api.token = "s3cret";
    api.faults = [];
    await sweeps(SWEEPS);
    expect(await stateOf(gone)).not.toBe("allocated");
    expect(await stateOf(onLost)).toBe("allocated");
  },
  180_000,
);

function always(fault: Fault): void {
  api.faults = [{ ...fault, times: Number.POSITIVE_INFINITY }];
}
