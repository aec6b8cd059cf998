/** Reads that may ask many objects, on the HTTP face alone: each request is bounded, the pages are whole. */
import { describe, expect, it } from "vitest";
import type { BlockCounts } from "../../src/core/allocation.ts";
import { formatCidr, parseCidr, size } from "../../src/core/cidr.ts";
import { defaultConfig } from "../../src/core/config.ts";
import type { PoolDefinition } from "../../src/core/policy.ts";
import { definePool } from "../../src/core/pool.ts";
import { type Fake, type FakeOptions, fake, NOW } from "./fake-deployment.ts";

/** Object calls that one request may make, with some to spare below the platform's 1,000. */
const CALLS_MAX = 900;

function poolOf(name: string, cidr: string, blockSize: number): PoolDefinition {
  const made = definePool(name, { cidr, blockSize }, [], { now: NOW, by: "test", incarnation: 0 });
  if (!made.ok) throw new Error(JSON.stringify(made.error));
  return made.value;
}

const manyPools = (count: number) =>
  Array.from({ length: count }, (_, n) => poolOf(`pool-${n}`, `10.${n >> 8}.${n & 255}.0/24`, 26));

/** The blocks of a range in order, all owned. */
function entriesOf(cidr: string, blockSize: number, host = "node-1") {
  const parsed = parseCidr(cidr);
  if (!parsed.ok) throw new Error(cidr);
  const step = size({ ...parsed.value, prefix: blockSize });
  const count = Number(size(parsed.value) / step);
  return Array.from({ length: count }, (_, n) => {
    const block = formatCidr({
      ...parsed.value,
      base: parsed.value.base + step * BigInt(n),
      prefix: blockSize,
    });
    return { block, state: "owned" as const, owner: host, epoch: n + 1 };
  });
}

/** Answers `pool.list` from entries, as a Pool pages. */
function listing(entries: ReturnType<typeof entriesOf>) {
  return ({ after, limit }: { after?: string; limit: number }) => {
    const begin = after === undefined ? 0 : entries.findIndex(({ block }) => block === after) + 1;
    const page = entries.slice(begin, begin + limit);
    return begin + limit < entries.length ? { entries: page, next: page.at(-1)?.block } : { entries: page };
  };
}

function counts(allocated: number, capacity: number): BlockCounts {
  const free = capacity - allocated;
  const rest = { cooling: 0, hostReserved: 0, reserved: 0, borrowed: 0, asOf: NOW - allocated };
  return { capacity, allocated, free, available: free, ...rest };
}

async function pagesOf(service: Fake, path: string) {
  const items: Record<string, unknown>[] = [];
  const calls: number[] = [];
  let cursor = "";
  for (let pages = 0; pages < 60; pages += 1) {
    const before = service.asked.length;
    const answer = await service.send("GET", `${path}${cursor}`);
    const body = (await answer.json()) as { items: Record<string, unknown>[]; nextCursor?: string };
    expect(answer.status, JSON.stringify(body)).toBe(200);
    calls.push(service.asked.length - before);
    items.push(...body.items);
    if (body.nextCursor === undefined) return { items, calls };
    expect(body.nextCursor.length).toBeLessThanOrEqual(512);
    cursor = `&cursor=${body.nextCursor}`;
  }
  throw new Error(`${path} does not end`);
}

describe("exact utilization", () => {
  it("I14: sums a pool of more blocks than one request may ask, in pages", async () => {
    const pools = [poolOf("large", "10.0.0.0/16", 27), poolOf("small", "10.1.0.0/29", 30)];
    const large = entriesOf("10.0.0.0/16", 27);
    const small = entriesOf("10.1.0.0/29", 30);
    const service = fake({
      policy: { pools },
      answers: {
        "pool.list": (request: { pool: string; limit: number; after?: string }) =>
          listing(request.pool === "large" ? large : small)(request),
        "block.describe": ({ block }: { block: string }) => ({
          exists: block !== "10.0.0.32/27",
          owner: block === "10.0.0.64/27" ? undefined : "node-1",
          counts: block.endsWith("/30") ? counts(4, 4) : counts(3, 32),
        }),
      },
    });
    const { items, calls } = await pagesOf(service, "/v1/utilization?exact=true");
    expect(Math.max(...calls)).toBeLessThanOrEqual(CALLS_MAX);
    expect(calls.length).toBeGreaterThan(2);
    expect(items).toMatchObject([
      {
        ...{ pool: "large", capacity: "65536", allocated: String(3 * 2047), blocks: 2047, blocksUnowned: 1 },
        // Two blocks differ: one is gone, and its space untouched; one drains, and gives nothing.
        available: String(29 * 2046 + 32),
        ...{ exact: true, asOf: new Date(NOW - 3).toISOString() },
      },
      { pool: "small", capacity: "8", allocated: "8", available: "0", blocksFull: 2, usedPercent: 100 },
    ]);
  });

  it("a forged sum moves no figure out of the pool's bounds", async () => {
    const pools = [poolOf("small", "10.1.0.0/29", 30)];
    const service = fake({
      policy: { pools },
      answers: { "pool.list": () => ({ entries: [] }), "block.describe": () => ({}) },
    });
    const first = await service.send("GET", "/v1/utilization?exact=true&limit=1");
    expect(first.status).toBe(200);
    const other = fake({
      policy: { pools: [...pools, poolOf("tall", "10.2.0.0/29", 30)] },
      answers: { "pool.list": () => ({ entries: [] }) },
    });
    const { nextCursor } = (await (await other.send("GET", "/v1/utilization?exact=true&limit=1")).json()) as {
      nextCursor: string;
    };
    const [bound] = JSON.parse(Buffer.from(nextCursor, "base64url").toString()) as [string];
    const sum = { allocated: 1, cooling: 0, blocks: 1, blocksFull: 0, blocksUnowned: 0, asOf: 1 };
    for (const [open, available, wanted] of [
      ["9".repeat(39), "0", "0"],
      ["0", "9".repeat(39), "8"],
    ]) {
      const place = JSON.stringify(["small", "10.1.0.0/30", { ...sum, open, available }]);
      const cursor = Buffer.from(JSON.stringify([bound, place])).toString("base64url");
      const answer = await service.send("GET", `/v1/utilization?exact=true&limit=1&cursor=${cursor}`);
      const body = (await answer.json()) as { items: { available: string }[] };
      expect(answer.status).toBe(200);
      expect(body.items[0]?.available).toBe(wanted);
    }
  });
});

describe("a page of allocations", () => {
  /** A host with sixteen blocks of /26, so many addresses held in each. */
  function hostWith(held: number) {
    const rows = entriesOf("10.0.0.0/22", 26);
    return fake({
      policy: { pools: [poolOf("default", "10.0.0.0/16", 26)] },
      answers: {
        "host.affinities": () => ({ rows, borrowed: [] }),
        "block.describe": ({ block }: { block: string }) => ({
          records: Array.from({ length: held }, (_, n) => recordIn(block, n)),
        }),
      },
    });
  }

  function recordIn(block: string, n: number) {
    const address = block.replace(/(\d+)\/26$/, (_, base) => String(Number(base) + n));
    const owner = { handle: `h-${address}`, key: "k", host: "node-1", use: "Workload", attributes: {} };
    const times = { sequenceNumber: 1, touch: 1, allocatedAt: NOW };
    return { address, family: 4, block, state: "allocated", leakCollection: "auto", ...owner, ...times };
  }

  const path = "/v1/allocations?host=node-1&limit=100";
  const asksOf = ({ asked }: Fake) => asked.filter(({ method }) => method === "block.describe").length;

  it("asks as many blocks as fill it", async () => {
    const service = hostWith(64);
    const answer = await service.send("GET", path);
    const { items } = (await answer.json()) as { items: { address: string }[] };
    expect(items).toHaveLength(100);
    expect(items.at(-1)?.address).toBe("10.0.0.99");
    expect(asksOf(service)).toBe(2);
  });

  it.each([0, 1, 7, 40, 64])("the pages are whole with %i addresses in each block", async (held) => {
    const service = hostWith(held);
    const { items } = await pagesOf(service, path);
    const blocks = entriesOf("10.0.0.0/22", 26).map(({ block }) => block);
    const all = blocks.flatMap((block) => Array.from({ length: held }, (_, n) => recordIn(block, n).address));
    expect(items.map(({ address }) => address)).toEqual(all);
    // Two blocks, then four: as few as that where they hold a half of what they might.
    const pages = Math.ceil(all.length / 100);
    expect(asksOf(service)).toBeLessThanOrEqual(pages > 2 ? 6 * pages : 32);
  });
});

describe("lists over many pools", () => {
  it("R6: blocks: a page looks through so many directories, may be empty, and the next one goes on", async () => {
    const owned = entriesOf("10.2.243.0/24", 26);
    const service = fake({
      policy: { pools: manyPools(900) },
      answers: {
        "pool.list": (request: { pool: string; limit: number; after?: string }) =>
          request.pool === "pool-755" ? listing(owned)(request) : { entries: [] },
        "block.describe": () => ({
          exists: true,
          owner: "node-1",
          counts: counts(1, 64),
          epoch: 1,
          sequenceNumber: 1,
          records: [],
        }),
      },
    });
    for (const path of ["/v1/blocks?host=node-1", "/v1/allocations?pod=none"]) {
      const { items, calls } = await pagesOf(service, path);
      expect(items).toHaveLength(path.startsWith("/v1/blocks") ? owned.length : 0);
      expect(calls.length, path).toBeGreaterThan(3);
      expect(Math.max(...calls), path).toBeLessThanOrEqual(CALLS_MAX);
    }
  });

  it("R6: routes: all of 600 pools, in the order of addresses, each request bounded", async () => {
    const service = fake({
      policy: { pools: manyPools(600), config: defaultConfig(NOW) },
      answers: {
        "pool.routesRevision": () => ({ revision: 7 }),
        "pool.routes": ({ cidr }: { cidr: string }) => ({
          routes: [{ destination: cidr.replace("/24", "/26"), host: "node-1", kind: "block" }],
          revision: 7,
        }),
      },
    });
    const { items, calls } = await pagesOf(service, "/v1/routes?limit=1000");
    expect(items.map(({ destination }) => destination)).toEqual(
      Array.from({ length: 600 }, (_, n) => `10.${n >> 8}.${n & 255}.0/26`),
    );
    expect(Math.max(...calls)).toBeLessThanOrEqual(CALLS_MAX);
  });
});

describe("waiting for routes", () => {
  const feed = (
    routesRevision: (request: { waitMs?: number; known?: number }) => unknown,
    options: Pick<FakeOptions, "sleep"> = {},
  ) =>
    fake({
      ...options,
      policy: { pools: manyPools(3) },
      answers: {
        "pool.routesRevision": routesRevision as never,
        "pool.routes": () => ({ routes: [], revision: 1 }),
      },
    });
  const etagOf = async (service: Fake) => (await service.send("GET", "/v1/routes")).headers.get("etag") ?? "";

  it("does not end early where a Pool answers early that nothing changed", async () => {
    const service = feed(() => ({ revision: 1 }));
    const etag = await etagOf(service);
    const begun = performance.now();
    const answer = await service.send("GET", "/v1/routes?waitSeconds=1", {
      headers: { "if-none-match": etag },
    });
    expect(answer.status).toBe(304);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(900);
    const waits = service.asked.filter(({ request }) => request.waitMs !== undefined);
    expect(waits).toHaveLength(3);
  });

  it("ends with what there is where a Pool that held the request fails", async () => {
    const timeless = { sleep: () => new Promise<void>(() => undefined) };
    const service = feed(({ waitMs }) => {
      if (waitMs !== undefined) throw new Error("evicted");
      return { revision: 1 };
    }, timeless);
    const etag = await etagOf(service);
    const answer = await service.send("GET", "/v1/routes?waitSeconds=5", {
      headers: { "if-none-match": etag },
    });
    expect(answer.status).toBe(304);
    expect(service.reported).toEqual([]);
  });

  it("does not wait for a caller who has another answer", async () => {
    const service = feed(() => ({ revision: 1 }));
    const headers = { "if-none-match": '"0123456789abcdef01234567"' };
    expect((await service.send("GET", "/v1/routes?waitSeconds=25", { headers })).status).toBe(200);
    expect((await service.send("GET", "/v1/routes?waitSeconds=25")).status).toBe(200);
  });
});
