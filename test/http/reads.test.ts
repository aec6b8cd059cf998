/** Utilization, routes, readiness and status of the running service, and what each costs. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CountersAnswer } from "../support/control.ts";
import { type Service, startService } from "../support/service.ts";
import { type Answer, type Client, clientOf, expectStatus } from "./client.ts";

/** What is done because time has passed is done soon, or never: costs are counted here, too. */
const settings = {
  leaseMs: 300,
  reportMs: 50,
  indexPassMs: 600_000_000,
  reclaimAgeMs: 600_000,
  figuresMs: 600_000_000,
};
/** A wait for changes that nobody waits for to its end, in seconds, and what is surely earlier, ms. */
const LONG_WAIT = 20;
const EARLIER_MS = 15_000;

let service: Service;
let client: Client;

beforeAll(async () => {
  const vars = { TEST_SETTINGS: JSON.stringify(settings) };
  service = await startService({ entry: "test/support/entry.ts", vars });
  client = clientOf(service);
});

afterAll(async () => {
  await service.stop();
});

const get = (path: string, headers?: Record<string, string>) =>
  expectStatus(client("GET", path, undefined, headers), 200, 304);

async function pool(name: string, cidr: string, blockSize: number, more: object = {}): Promise<void> {
  await expectStatus(client("PUT", `/v1/pools/${name}`, { cidr, blockSize, ...more }), 201, 200);
}

async function host(name: string, labels: object = {}): Promise<void> {
  await expectStatus(client("PUT", `/v1/hosts/${name}`, { labels }), 201, 200);
}

async function take(name: string, handle: string, pools: string[], count = 1): Promise<Answer["body"]> {
  const wish = { host: name, handle, ipv4: { count, pools } };
  return (await expectStatus(client("POST", "/v1/allocations", wish), 201)).body;
}

async function items(path: string): Promise<Answer["body"][]> {
  const all: Answer["body"][] = [];
  let cursor = "";
  for (let pages = 0; pages < 50; pages += 1) {
    const { body } = await get(`${path}${cursor}`);
    all.push(...body.items);
    if (body.nextCursor === undefined) return all;
    cursor = `&cursor=${body.nextCursor}`;
  }
  throw new Error(`${path} does not end`);
}

/** Asks until it is so; what is told in the background is told within a moment. */
async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("it did not become so within 30 s");
}

/** Calls by object class during some work; what happens by itself meanwhile is left out. */
async function asked(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const read = async () => ((await get("/test/counters")).body as CountersAnswer).sent;
  const before = await read();
  await work();
  const after = await read();
  const own = ["pool.report", "pool.borrowed", "host.blockChanged", "cluster.lease"];
  const calls = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const);
  return Object.fromEntries(calls.filter(([name, count]) => count > 0 && !own.includes(name)));
}

describe("getUtilization", () => {
  it("I14: figures of directories are sums, soon equal to what the blocks say", async () => {
    await pool("util-a", "10.1.0.0/28", 30);
    await pool("util-b", "10.1.1.0/28", 30);
    await host("util-1");
    await take("util-1", "util.1", ["util-a"], 5);
    await take("util-1", "util.2", ["util-b"], 2);
    await expectStatus(client("DELETE", "/v1/handles/util.2"), 200);
    const exact = await items("/v1/utilization?exact=true&limit=1");
    expect(exact.map((one) => one.pool)).toEqual(["util-a", "util-b"]);
    expect(exact[0]).toMatchObject({
      ...{ capacity: "16", allocated: "5", cooling: "0", reserved: "0", available: "11" },
      ...{ usedPercent: 31.25, blocks: 2, blocksFull: 1, blocksUnowned: 0, exact: true, family: 4 },
    });
    const figures = ({ asOf: _asOf, exact: _exact, ...rest }: Answer["body"]) => rest;
    await eventually(async () => {
      const told = await items("/v1/utilization?limit=1");
      return JSON.stringify(told.map(figures)) === JSON.stringify(exact.map(figures));
    });
    const { body } = await get("/v1/utilization");
    const oldest = body.items.map((one: { asOf: string }) => one.asOf).toSorted()[0];
    expect(body.asOf).toBe(oldest);
    expect((await get("/v1/utilization?pool=util-b")).body.items).toHaveLength(1);
    expect((await get("/v1/utilization?pool=absent")).body.items).toEqual([]);
  });

  it("IPv6: exact decimals beyond 2^53", async () => {
    await pool("wide", "fd00:1::/48", 122);
    const wish = { host: "util-1", handle: "wide.1", ipv6: { count: 3, pools: ["wide"] } };
    await expectStatus(client("POST", "/v1/allocations", wish), 201);
    for (const exact of ["true", "false"]) {
      await eventually(async () => {
        const [one] = (await get(`/v1/utilization?pool=wide&exact=${exact}`)).body.items;
        return one.capacity === String(2n ** 80n) && one.available === String(2n ** 80n - 3n);
      });
    }
  });

  it("I7: what is reserved is not available, inside blocks and outside them", async () => {
    const held = (await items("/v1/allocations?pool=util-a")).map(({ block }) => block);
    const all = ["10.1.0.0/30", "10.1.0.4/30", "10.1.0.8/30", "10.1.0.12/30"];
    const [untouched = ""] = all.filter((block) => !held.includes(block));
    const [roomy = ""] = all.filter((block) => held.filter((one) => one === block).length === 1);
    await expectStatus(client("PUT", "/v1/reservations/util", { reservedCIDRs: [untouched, roomy] }), 201);
    const [exact] = (await get("/v1/utilization?pool=util-a&exact=true")).body.items;
    expect(exact).toMatchObject({ reserved: "8", allocated: "5", available: String(11 - 4 - 3) });
    const [told] = (await get("/v1/utilization?pool=util-a")).body.items;
    expect(told).toMatchObject({ reserved: "8", allocated: "5", available: String(11 - 4 - 3) });
    await expectStatus(client("DELETE", "/v1/reservations/util"), 204);
  });

  it("a cursor of other filters, or a forged one, is refused", async () => {
    const { body } = await get("/v1/utilization?limit=1");
    const other = `/v1/utilization?limit=1&exact=true&cursor=${body.nextCursor}`;
    expect((await client("GET", other)).body).toMatchObject({ code: "invalid_request" });
    const [bound] = JSON.parse(
      Buffer.from((await get("/v1/utilization?limit=1&exact=true")).body.nextCursor, "base64url").toString(),
    );
    for (const place of ["x", "[]", "[1]", '["a","b",{}]', '["util-a","10.1.0.0/30",{"open":"-1"}]']) {
      const cursor = Buffer.from(JSON.stringify([bound, place])).toString("base64url");
      expect((await client("GET", `/v1/utilization?exact=true&cursor=${cursor}`)).status, place).toBe(400);
    }
  });
});

describe("listRoutes", () => {
  const routes = async (query = "") => {
    const found = await items(`/v1/routes?limit=1000${query}`);
    return found.map((one) => `${one.destination} ${one.host} ${one.kind}`);
  };

  it("I6: confirmed blocks and borrowed addresses, filtered by pool and host, in pages", async () => {
    await pool("route-a", "10.3.0.0/29", 30);
    await pool("route-b", "10.3.1.0/29", 30);
    for (const name of ["route-1", "route-2"]) await host(name);
    const own = await take("route-1", "route.1", ["route-a"], 7);
    const blocks = [
      ...new Set<string>(own.allocations.map((one: { block: string }) => one.block)),
    ].toSorted();
    const guest = await take("route-2", "route.2", ["route-a"]);
    const [{ address }] = guest.allocations;
    await take("route-2", "route.3", ["route-b"]);
    await eventually(async () => (await routes("&pool=route-a")).length === 3);
    expect((await routes("&pool=route-a")).toSorted()).toEqual(
      [...blocks.map((block) => `${block} route-1 block`), `${address}/32 route-2 borrowed`].toSorted(),
    );
    await eventually(async () => (await routes("&host=route-2")).length === 2);
    expect(await routes("&host=route-2&pool=route-a")).toEqual([`${address}/32 route-2 borrowed`]);
    const all = await routes();
    const paged: string[] = [];
    for (const one of await items("/v1/routes?limit=7"))
      paged.push(`${one.destination} ${one.host} ${one.kind}`);
    expect(paged).toEqual(all);
    expect(new Set(all.map((text) => text.split(" ")[0])).size).toBe(all.length);
    await expectStatus(client("DELETE", "/v1/handles/route.2"), 200);
    await eventually(async () => (await routes("&pool=route-a")).length === 2);
  });

  it("R8: 304 while nothing changes; another ETag and a higher revision when something does", async () => {
    const path = "/v1/routes?pool=route-b";
    const first = await get(path);
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[0-9a-f]{24}"$/);
    const same = await client("GET", path, undefined, { "if-none-match": etag });
    expect({ status: same.status, text: same.text, etag: same.headers.get("etag") }).toEqual({
      ...{ status: 304, text: "", etag },
    });
    const begun = Date.now();
    const waited = await client("GET", `${path}&waitSeconds=1`, undefined, { "if-none-match": etag });
    expect(waited.status).toBe(304);
    expect(Date.now() - begun).toBeGreaterThan(900);
    const waiting = client("GET", `${path}&waitSeconds=${LONG_WAIT}`, undefined, { "if-none-match": etag });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const late = Date.now();
    await take("route-1", "route.4", ["route-b"]);
    const changed = await waiting;
    expect(Date.now() - late).toBeLessThan(EARLIER_MS);
    expect(changed.status).toBe(200);
    expect(changed.headers.get("etag")).not.toBe(etag);
    expect(changed.body.revision).toBeGreaterThan(first.body.revision);
    expect(changed.body.items).toHaveLength(first.body.items.length + 1);
  });

  it("ends a wait at the caller's deadline, and refuses what is no ETag or too long a wait", async () => {
    const etag = (await get("/v1/routes")).headers.get("etag") ?? "";
    const begun = Date.now();
    const headers = { "if-none-match": etag, "x-request-timeout-ms": "4000" };
    const path = `/v1/routes?waitSeconds=${LONG_WAIT}`;
    expect((await client("GET", path, undefined, headers)).status).toBe(304);
    expect(Date.now() - begun).toBeLessThan(EARLIER_MS);
    for (const tag of ["*", '"a", "b"', `"${"x".repeat(60)}"`]) {
      const refused = await client("GET", "/v1/routes", undefined, { "if-none-match": tag });
      expect(refused.body).toMatchObject({
        code: "invalid_request",
        errors: [{ parameter: "If-None-Match" }],
      });
    }
    expect((await client("GET", "/v1/routes?waitSeconds=26")).status).toBe(400);
    expect((await client("GET", "/v1/routes?waitSeconds=0")).status).toBe(200);
  });
});

describe("getHostReadiness", () => {
  const readiness = async (name: string) => (await get(`/v1/hosts/${name}/readiness`)).body;
  const config = (patch: object) => expectStatus(client("PATCH", "/v1/config", patch), 200);

  it("says what an allocation would meet now, by family", async () => {
    expect((await client("GET", "/v1/hosts/nobody/readiness")).body.code).toBe("host_not_found");
    await pool("ready", "10.4.0.0/30", 30, { nodeSelector: "ready == 'yes'" });
    for (const name of ["ready-1", "ready-2"]) await host(name, { ready: "yes" });
    for (const name of ["util-a", "util-b", "route-a", "route-b", "wide"]) {
      await expectStatus(client("PATCH", `/v1/pools/${name}`, { disabled: true }), 200);
    }
    const fresh = await readiness("ready-1");
    expect(fresh).toMatchObject({
      ...{ host: "ready-1", ready: true },
      ipv4: { wanted: true, ready: true, availableInOwnBlocks: 0, canClaim: true, canBorrow: true },
      ipv6: { wanted: false, ready: false, code: "no_qualified_pool" },
    });
    await take("ready-1", "ready.1", ["ready"], 3);
    expect((await readiness("ready-1")).ipv4).toMatchObject({ ready: true, availableInOwnBlocks: 1 });
    // The other host has no block, and may borrow the last address.
    expect((await readiness("ready-2")).ipv4).toMatchObject({
      ready: true,
      canClaim: false,
      canBorrow: true,
    });
    await config({ strictAffinity: true });
    expect((await readiness("ready-2")).ipv4).toMatchObject({ ready: false, code: "strict_affinity" });
    await take("ready-1", "ready.2", ["ready"]);
    for (const name of ["ready-1", "ready-2"]) {
      await eventually(async () => (await readiness(name)).ipv4.code === "pool_exhausted");
    }
    await config({ strictAffinity: true, maxBlocksPerHost: 1 });
    const capped = await readiness("ready-1");
    expect(capped).toMatchObject({ ready: false, ipv4: { ready: false, code: "block_limit_reached" } });
    expect(capped.ipv4.hint).toContain("maxBlocksPerHost");
    await config({ strictAffinity: true, maxBlocksPerHost: 0, autoAllocateBlocks: false });
    expect((await readiness("ready-1")).ipv4.code).toBe("auto_allocate_disabled");
    await config({ autoAllocateBlocks: true, maintenance: true, maintenanceReason: "disk" });
    expect((await readiness("ready-1")).ipv4.code).toBe("maintenance");
    await config({ strictAffinity: false, maintenance: false, ipCooldownSeconds: 600 });
    await expectStatus(client("DELETE", "/v1/handles/ready.2"), 200);
    await eventually(async () => (await readiness("ready-1")).ipv4.code === "pool_cooling");
    await host("ready-3", { ready: "no" });
    expect(await readiness("ready-3")).toMatchObject({
      ready: false,
      ipv4: { code: "no_pool_selects_host" },
    });
    await config({ ipCooldownSeconds: 0 });
    expect((await readiness("ready-1")).ipv4).toMatchObject({ ready: true, availableInOwnBlocks: 1 });
  });

  it("I7: room that was reserved since it was last seen is no room", async () => {
    await expectStatus(client("PUT", "/v1/reservations/ready", { reservedCIDRs: ["10.4.0.0/30"] }), 201);
    expect((await readiness("ready-1")).ipv4).toMatchObject({ ready: false, code: "pool_exhausted" });
    await expectStatus(client("DELETE", "/v1/reservations/ready"), 204);
    expect((await readiness("ready-1")).ipv4.ready).toBe(true);
  });

  it("asks nobody while a hint knows of room, then own blocks, then the Pools, never Cluster", async () => {
    await readiness("ready-1");
    expect(await asked(() => readiness("ready-1"))).toEqual({ "host.readiness": 1 });
    const without = await asked(() => readiness("ready-2"));
    expect(Object.keys(without).filter((name) => name.startsWith("cluster."))).toEqual([]);
    expect(without).toMatchObject({ "host.readiness": 1, "pool.mayClaim": 1, "pool.borrowCandidates": 1 });
  });
});

describe("getStatus", () => {
  it("names what to look at, with a next step", async () => {
    const { body } = await get("/v1/status");
    expect(body).toMatchObject({ ready: true, apiVersion: "1.0", config: { strictAffinity: false } });
    expect(body.serverVersion).toBe(JSON.parse(readFileSync("package.json", "utf8")).version);
    expect(body.deploymentId).toMatch(/^[0-9a-f-]{36}$/);
    expect(body.hosts.active).toBe(6);
    expect(body.pools.map((one: { pool: string }) => one.pool)).toContain("wide");
    expect(body.warnings).toContainEqual(expect.objectContaining({ code: "auth_disabled" }));
    const codes = async () => {
      const { warnings } = (await get("/v1/status")).body;
      return warnings.map(({ code, pool: of }: { code: string; pool?: string }) =>
        `${code} ${of ?? ""}`.trim(),
      );
    };
    await expectStatus(client("PATCH", "/v1/pools/ready", { warnAtPercent: 75 }), 200);
    await eventually(async () => (await codes()).includes("pool_nearly_full ready"));
    await take("ready-1", "ready.3", ["ready"]);
    await eventually(async () => (await codes()).includes("pool_full ready"));
    await expectStatus(client("PATCH", "/v1/pools/ready", { disabled: true }), 200);
    expect(await codes()).toContain("no_serving_pool");
    expect(await codes()).not.toContain("pool_full ready");
    for (const warning of (await get("/v1/status")).body.warnings) expect(warning.hint).toMatch(/\w/);
  });

  it("has the same id after a restart", async () => {
    const before = (await get("/v1/status")).body.deploymentId;
    await service.kill();
    await service.restart();
    expect((await get("/v1/status")).body.deploymentId).toBe(before);
  });
});

describe("costs", () => {
  it("utilization, routes and status ask Pools, Cluster and the Sweep only, and write nothing", async () => {
    await get("/v1/status");
    const rows = async () => ((await get("/test/counters")).body as CountersAnswer).rowsWritten;
    for (const path of ["/v1/utilization", "/v1/routes", "/v1/status"]) {
      const before = await rows();
      const calls = await asked(() => get(path));
      // The collector's state is the Sweep's own: it asks nobody for it.
      expect(
        Object.keys(calls).filter((name) => !/^(pool|cluster)\./.test(name)),
        path,
      ).toEqual(path === "/v1/status" ? ["sweep.getGc"] : []);
      expect(
        Object.values(calls).reduce((sum, count) => sum + count, 0),
        path,
      ).toBeLessThanOrEqual(2 + 2 * 8);
      const { cluster = 0, ...others } = await rows();
      const { cluster: clusterBefore = 0, ...othersBefore } = before;
      expect(others, path).toEqual(othersBefore);
      // Status takes a lease, and the horizon of leases is a row.
      expect(cluster - clusterBefore, path).toBeLessThanOrEqual(path === "/v1/status" ? 1 : 0);
    }
  });

  it("exact figures ask the blocks of the pools shown, and nobody else", async () => {
    const calls = await asked(() => get("/v1/utilization?pool=util-a&exact=true"));
    expect(calls).toEqual({ "cluster.policy": 1, "pool.list": 1, "block.describe": 2 });
  });
});
