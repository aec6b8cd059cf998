/**
 * Every operation through the generated client: what it sends is understood, what it gets is what the
 * document declares. A new operation needs a call here; the last test names those without one.
 */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Api, accepted, apiOf, everyItem, Refused } from "../support/api/client.ts";
import { addressesOf, allocateOnce, describePool, releaseAll } from "../support/api/examples.ts";
import { type Service, startService } from "../support/service.ts";
import { staged } from "./collector-stage.ts";
import { heldToDocument, operationIds } from "./declared.ts";

const tokens = JSON.stringify(
  [
    { name: "ops", role: "admin", token: "admin-token" },
    { name: "agent", role: "agent", host: "node-1", token: "agent-token" },
  ].map(({ token, ...entry }) => ({ ...entry, sha256: createHash("sha256").update(token).digest("hex") })),
);

let service: Service;
let api: Api;
let agent: Api;
const called = new Map<string, Set<number>>();

beforeAll(async () => {
  service = await startService({ tokens });
  api = apiOf(service.url, { token: "admin-token" });
  agent = apiOf(service.url, { token: "agent-token" });
  for (const one of [api, agent]) one.use(heldToDocument(called));
  const pool = (name: string, cidr: string, blockSize: number) =>
    accepted(api.PUT("/v1/pools/{pool}", { params: { path: { pool: name } }, body: { cidr, blockSize } }));
  await Promise.all([pool("four", "10.20.0.0/25", 28), pool("six", "fd00:20::/112", 122)]);
  await accepted(
    agent.PUT("/v1/hosts/{host}", { params: { path: { host: "node-1" } }, body: { labels: { zone: "b" } } }),
  );
}, 60_000);

afterAll(async () => {
  await service.stop();
});

const both = (handle: string, count = 1) => ({ host: "node-1", handle, ipv4: { count }, ipv6: { count } });

describe("the generated client", () => {
  it("reads the state of the service and of its caller", async () => {
    expect(await accepted(api.GET("/healthz"))).toEqual({ ok: true });
    expect((await accepted(api.GET("/readyz"))).ready).toBe(true);
    expect(await accepted(agent.GET("/v1/whoami"))).toMatchObject({ role: "agent", host: "node-1" });
  });

  it("R8: revisions travel in ETag and If-Match", async () => {
    const { data, response } = await api.GET("/v1/config");
    const header = { "If-Match": response.headers.get("etag") ?? "" };
    expect(header).toEqual({ "If-Match": `"${data?.revision}"` });
    const changed = await accepted(
      api.PATCH("/v1/config", { params: { header }, body: { ipCooldownSeconds: 60 } }),
    );
    expect(changed.ipCooldownSeconds).toBe(60);
    const late = await api.PATCH("/v1/config", { params: { header }, body: { ipCooldownSeconds: 0 } });
    expect(late.error).toMatchObject({
      status: 412,
      code: "revision_mismatch",
      evidence: { revision: changed.revision },
    });
    await accepted(api.PATCH("/v1/config", { body: { ipCooldownSeconds: 0 } }));
  });

  it("writes and reads pools, reservations and hosts", async () => {
    const path = { pool: "four" };
    const patched = await accepted(
      api.PATCH("/v1/pools/{pool}", { params: { path }, body: { description: "tests" } }),
    );
    expect(await accepted(api.GET("/v1/pools/{pool}", { params: { path } }))).toMatchObject({
      description: "tests",
      revision: patched.revision,
      usage: { capacity: "128" },
    });
    const reservation = { params: { path: { reservation: "printers" } } };
    const spec = { ...reservation, body: { reservedCIDRs: ["10.20.0.0/30"], reason: "printers" } };
    const written = await accepted(api.PUT("/v1/reservations/{reservation}", spec));
    expect(await accepted(api.GET("/v1/reservations/{reservation}", reservation))).toEqual(written);
    expect((await accepted(api.GET("/v1/reservations"))).items).toEqual([written]);
    const removed = await api.DELETE("/v1/reservations/{reservation}", reservation);
    expect([removed.response.status, removed.data, removed.error]).toEqual([204, undefined, undefined]);
    const host = await accepted(agent.GET("/v1/hosts/{host}", { params: { path: { host: "node-1" } } }));
    expect(host.labels).toEqual({ zone: "b" });
    const { items } = await accepted(api.GET("/v1/hosts", { params: { query: { state: "active" } } }));
    expect(items.map(({ name }) => name)).toEqual(["node-1"]);
  });

  it("I1, I13: allocates, repeats, reads, and gives back", async () => {
    const header = { "Idempotency-Key": "client.test.eth0" };
    const request = { params: { header }, body: both("client.test") };
    const first = await accepted(agent.POST("/v1/allocations", request));
    expect(first.allocations.map(({ family }) => family)).toEqual([4, 6]);
    const again = await accepted(agent.POST("/v1/allocations", request));
    expect(again).toEqual({ ...first, replayed: true });
    const held = await accepted(
      agent.GET("/v1/handles/{handle}", { params: { path: { handle: "client.test" } } }),
    );
    expect(held.items).toEqual(first.allocations);
    for (const allocation of first.allocations) {
      const { address, block, sequenceNumber } = allocation;
      const read = await accepted(agent.GET("/v1/allocations/{address}", { params: { path: { address } } }));
      expect(read).toEqual(allocation);
      const seen = await accepted(api.GET("/v1/blocks/{block}", { params: { path: { block } } }));
      expect(seen).toMatchObject({ allocated: 1, affinity: { name: "node-1" } });
      const query = { sequenceNumber };
      const released = await accepted(
        agent.DELETE("/v1/allocations/{address}", { params: { path: { address }, query } }),
      );
      expect(released.outcome).toBe("released");
    }
    const spent = agent.POST("/v1/allocations", request);
    await expect(accepted(spent)).rejects.toThrow("idempotency_key_released");
  });

  it("assigns one exact address, in any spelling", async () => {
    const params = { path: { address: "FD00:0020::00AB" } };
    const body = { host: "node-1", handle: "exact" };
    const assigned = await accepted(agent.PUT("/v1/allocations/{address}", { params, body }));
    expect(assigned.address).toBe("fd00:20::ab");
    expect((await agent.PUT("/v1/allocations/{address}", { params, body })).response.status).toBe(200);
    const handle = { params: { path: { handle: "exact" } } };
    expect((await accepted(agent.DELETE("/v1/handles/{handle}", handle))).released).toBe(1);
  });

  it("R6: reads lists to their end, page by page", async () => {
    const result = await accepted(agent.POST("/v1/allocations", { body: both("many", 20) }));
    const listed: string[] = [];
    const query = { host: "node-1", limit: 7 };
    for await (const { address } of everyItem((from) =>
      api.GET("/v1/allocations", { params: { query: { ...query, ...from } } }),
    )) {
      listed.push(address);
    }
    expect(listed.toSorted()).toEqual(result.allocations.map(({ address }) => address).toSorted());
    const blocks: string[] = [];
    for await (const { cidr } of everyItem((from) =>
      api.GET("/v1/blocks", { params: { query: { limit: 1, owned: true, ...from } } }),
    )) {
      blocks.push(cidr);
    }
    expect(blocks).toEqual(expect.arrayContaining(result.allocations.map(({ block }) => block)));
    const pools: string[] = [];
    for await (const { name } of everyItem((from) =>
      api.GET("/v1/pools", { params: { query: { limit: 1, ...from } } }),
    )) {
      pools.push(name);
    }
    expect(pools).toEqual(["four", "six"]);
    const released = await accepted(agent.POST("/v1/releases", { body: { handles: ["many"] } }));
    expect(released).toMatchObject({ released: 40, alreadyFree: 0, rejected: 0 });
  });

  it("reads utilization, routes, readiness and status", async () => {
    const { allocations } = await accepted(agent.POST("/v1/allocations", { body: both("seen", 3) }));
    const query = { pool: "four", exact: true };
    const { items } = await accepted(api.GET("/v1/utilization", { params: { query } }));
    expect(items).toMatchObject([{ pool: "four", allocated: "3", capacity: "128", exact: true }]);
    const routes = new Map<string, string>();
    for await (const { destination, host } of everyItem((from) =>
      api.GET("/v1/routes", { params: { query: { limit: 1, ...from } } }),
    )) {
      routes.set(destination, host);
    }
    for (const { block } of allocations) expect(routes.get(block), block).toBe("node-1");
    const { response } = await api.GET("/v1/routes");
    const header = { "If-None-Match": response.headers.get("etag") ?? "" };
    const unchanged = await api.GET("/v1/routes", { params: { header } });
    expect([unchanged.response.status, unchanged.data]).toEqual([304, undefined]);
    const path = { host: "node-1" };
    const readiness = await accepted(agent.GET("/v1/hosts/{host}/readiness", { params: { path } }));
    expect(readiness).toMatchObject({ host: "node-1", ready: true, ipv4: { wanted: true, ready: true } });
    const status = await accepted(api.GET("/v1/status"));
    expect(status.pools?.map(({ pool }) => pool)).toEqual(["four", "six"]);
    await accepted(agent.DELETE("/v1/handles/{handle}", { params: { path: { handle: "seen" } } }));
  });

  it("I15: a refusal is a value with its code, and leaves nothing", async () => {
    const refused = await agent.POST("/v1/allocations", { body: both("much", 256) });
    expect(refused.data).toBeUndefined();
    expect(refused.error).toMatchObject({ status: 409, code: "pool_exhausted", retry: "after_change" });
    const handle = { params: { path: { handle: "much" } } };
    expect((await accepted(agent.GET("/v1/handles/{handle}", handle))).items).toEqual([]);
    const elsewhere = accepted(agent.GET("/v1/hosts/{host}", { params: { path: { host: "node-2" } } }));
    await expect(elsewhere).rejects.toBeInstanceOf(Refused);
  });

  it("allocates in batches, explains, and lists what happened", async () => {
    const { host, ...rest } = both("batch.1");
    const items = [
      { key: "batch.1", ...rest },
      { key: "batch.2", ...rest, handle: "batch.2", ipv4: { count: 256 } },
    ];
    const many = await accepted(agent.POST("/v1/allocation-batches", { body: { host, items } }));
    expect(many.results).toMatchObject([
      { key: "batch.1", status: 201, replayed: false },
      { key: "batch.2", status: 409, allocations: [], problem: { code: "pool_exhausted" } },
    ]);
    const explained = await accepted(agent.POST("/v1/explanations", { body: both("asked") }));
    expect(explained).toMatchObject({ wouldSucceed: true, families: [{ family: 4 }, { family: 6 }] });
    const told = await accepted(agent.POST("/v1/allocations", { body: { ...both("asked"), explain: true } }));
    expect(told.explanation).toMatchObject({ wouldSucceed: true, hostKnown: true });
    const query = { type: "pool_changed", pool: "four" };
    const events = await accepted(api.GET("/v1/events", { params: { query } }));
    expect(events.items.at(-1)).toMatchObject({ pool: "four", summary: "Pool four was made." });
    await accepted(agent.POST("/v1/releases", { body: { handles: ["batch.1", "asked"] } }));
  });

  it("does what docs/clients.md shows", async () => {
    const [four, six] = await allocateOnce(agent, "node-1", "shown.pod", "eth0");
    expect(four?.interfaceAddress).toMatch(/^10\.20\.0\.\d+\/28$/);
    expect(six?.interfaceAddress).toMatch(/^fd00:20:.*\/122$/);
    expect(await allocateOnce(agent, "node-1", "shown.pod", "eth0")).toEqual([four, six]);
    const addresses = [four, six].map((one) => one?.interfaceAddress.split("/")[0]);
    expect((await addressesOf(api, "node-1")).toSorted()).toEqual(addresses.toSorted());
    expect(await releaseAll(agent, "shown.pod")).toBe(true);
    expect(await releaseAll(agent, "shown.pod")).toBe(true);
    expect(await addressesOf(api, "node-1")).toEqual([]);
  });

  it("R8: of eight that change one pool at once none is lost", async () => {
    const append = (letter: string) => describePool(api, "six", (description) => description + letter);
    const settled = await Promise.allSettled(Array.from("abcdefgh", append));
    const written = Array.from("abcdefgh").filter((_, at) => settled[at]?.status === "fulfilled");
    const { description = "" } = await accepted(
      api.GET("/v1/pools/{pool}", { params: { path: { pool: "six" } } }),
    );
    expect(Array.from(description).toSorted()).toEqual(written);
    expect(written.length).toBeGreaterThan(0);
  });

  it("splits and drains pools", async () => {
    const pool = (name: string) => ({ path: { pool: name } });
    const spec = { cidr: "10.30.0.0/24", blockSize: 28 };
    await accepted(api.PUT("/v1/pools/{pool}", { params: pool("whole"), body: spec }));
    const split = api.POST("/v1/pools/{pool}/splits", { params: pool("whole"), body: { parts: 2 } });
    const parts = (await accepted(split)).items;
    expect(parts.map(({ cidr }) => cidr)).toEqual(["10.30.0.0/25", "10.30.0.128/25"]);
    for (const { name } of parts) {
      const drained = await api.DELETE("/v1/pools/{pool}", { params: pool(name) });
      expect(drained.response.status).toBe(202);
      expect(["draining", "deleted"]).toContain(drained.data?.state);
    }
  });

  it("changes owners, and tells everything about an address", async () => {
    const attributes = { namespace: "n", pod: "vm-1" };
    const body = { host: "node-1", handle: "vm", ipv4: { count: 1 }, attributes };
    const { allocations } = await accepted(agent.POST("/v1/allocations", { body }));
    const address = allocations[0]?.address ?? "";
    const target = { namespace: "n", pod: "vm-2" };
    const update = { handle: "vm", setAlternate: target, expectAlternateEmpty: true };
    const params = { path: { address } };
    const updated = await accepted(agent.PATCH("/v1/allocations/{address}/owners", { params, body: update }));
    expect(updated.alternateAttributes).toEqual({ ...target, node: "node-1" });
    const change = { handle: "vm", change: "promote" as const, owner: target };
    const changed = await accepted(agent.POST("/v1/owner-changes", { body: change }));
    expect(changed).toMatchObject({ changed: 1, unchanged: 0, released: 0 });
    expect(changed.allocations?.[0]).toMatchObject({ address, alternateAttributes: attributes });
    const view = await accepted(api.GET("/v1/addresses/{address}", { params }));
    expect(view).toMatchObject({ state: "allocated", allocatable: false, blockOwner: "node-1" });
    await accepted(agent.DELETE("/v1/handles/{handle}", { params: { path: { handle: "vm" } } }));
    expect((await accepted(api.GET("/v1/addresses/{address}", { params }))).tenures).toMatchObject([
      { host: "node-1", handle: "vm", attributes: target },
    ]);
  });

  it("claims blocks for hosts, and takes them back", async () => {
    const params = { path: { host: "node-1" } };
    const own = await accepted(agent.POST("/v1/hosts/{host}/blocks", { params, body: { families: [4, 6] } }));
    expect([own.ipv4?.affinity?.name, own.ipv6?.affinity?.name]).toEqual(["node-1", "node-1"]);
    await accepted(
      api.PUT("/v1/pools/{pool}", {
        params: { path: { pool: "single" } },
        body: { cidr: "10.40.0.0/23", blockSize: 32 },
      }),
    );
    const range = { host: "node-4", cidr: "10.40.0.0/30" };
    const claimed = await accepted(api.POST("/v1/affinity-claims", { body: range }));
    expect(claimed.results.map(({ outcome }) => outcome)).toEqual(Array(4).fill("claimed"));
    const released = await accepted(api.POST("/v1/affinity-releases", { body: { pool: "single" } }));
    expect(released.results.map(({ outcome }) => outcome)).toEqual(Array(4).fill("released"));
    expect(released.nextCursor).toBeUndefined();
  });

  it("removes a host", async () => {
    const params = { path: { host: "node-3" } };
    await accepted(api.PUT("/v1/hosts/{host}", { params, body: { labels: {} } }));
    const removed = await api.DELETE("/v1/hosts/{host}", { params });
    expect(removed.response.status).toBe(202);
    expect(removed.data).toMatchObject({ state: "removing", allocationsLeft: 0 });
  });

  it("starts a check and reads what it found", async () => {
    const started = await accepted(api.POST("/v1/checks", { body: { repair: false } }));
    const check = await accepted(api.GET("/v1/checks/{check}", { params: { path: { check: started.id } } }));
    expect(check).toMatchObject({ id: started.id, problems: 0 });
  });

  it("brings evidence, and reads what comes of it", async () => {
    const params = { path: { host: "node-1" } };
    const workloads = [{ namespace: "n", pod: "p", addresses: ["FD00:20::0001"] }];
    const report = { incarnation: "life-1", sequence: 1, ageMs: 20, complete: true, workloads };
    const told = await accepted(agent.PUT("/v1/hosts/{host}/workloads", { params, body: report }));
    expect(told).toMatchObject({ accepted: true, addressesNotAllocated: [{ address: "fd00:20::1" }] });
    const list = { network: "net", validHandles: ["net.a"] };
    const collected = await accepted(agent.POST("/v1/hosts/{host}/attachment-gc", { params, body: list }));
    expect(collected).toEqual({ released: 0, held: 0, results: [] });
    expect(await accepted(api.GET("/v1/leaks", { params: { query: { host: "node-1" } } }))).toEqual({
      items: [],
    });
  });

  it("steers the collector, and closes its breaker", async () => {
    const stage = await staged();
    try {
      const ops = apiOf(stage.service.url, { token: "t-ops" });
      ops.use(heldToDocument(called));
      const paused = await accepted(ops.PATCH("/v1/gc", { body: { paused: true, reason: "tests" } }));
      expect(paused).toMatchObject({ state: "paused", pauseReason: "tests" });
      await accepted(ops.PATCH("/v1/gc", { body: { paused: false } }));
      for (let n = 0; n < 24; n += 1) await stage.pod("node-1", `pod-${n}`);
      await stage.proveLeaked("node-1", []);
      await stage.report("node-1", []);
      const { sweep } = await accepted(ops.POST("/v1/gc/sweeps"));
      expect(sweep).toBeGreaterThan(0);
      const { breaker } = await accepted(ops.GET("/v1/gc"));
      const { items } = await accepted(ops.GET("/v1/leaks", { params: { query: { host: "node-1" } } }));
      expect(items.map(({ reason }) => reason)).toEqual(Array(24).fill("breaker_open"));
      const body = { breakerOpenedAt: breaker.openedAt ?? "" };
      expect((await accepted(ops.POST("/v1/gc/acknowledgements", { body }))).breaker).toEqual({
        open: false,
      });
    } finally {
      await stage.stop();
    }
  });

  it("has called every operation of the document, each with success", () => {
    const succeeded = [...called].filter(([, statuses]) => [...statuses].some((status) => status < 300));
    expect(succeeded.map(([id]) => id).toSorted()).toEqual(operationIds().toSorted());
  });
});
