/** Pages of allocations against a model: pools of both families and of all sizes of blocks, every filter and limit. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { formatAddress, parseAddress } from "../../src/core/address.ts";
import type { DescribeRequest } from "../../src/core/block-messages.ts";
import { type Cidr, formatCidr, parseCidr, size } from "../../src/core/cidr.ts";
import type { PoolDefinition } from "../../src/core/policy.ts";
import { definePool } from "../../src/core/pool.ts";
import { runs } from "../support/seeds.ts";
import { fake, faultsOf, NOW } from "./fake-deployment.ts";

const HOSTS = ["node-1", "node-2", "node-3"];
const HANDLES = ["h-1", "h-2", "h-3"];
/** Object calls that one request may make, with some to spare below the platform's 1,000. */
const CALLS_MAX = 900;

/** Pages of one list, at most. */
const PAGES_MAX = 400;
/** Records that a block tells at a time. */
const partSizes = fc.constantFrom(1, 3, 50, 5_000);

/** Ranges that do not meet, with the sizes of blocks that they may have. */
const RANGES: readonly (readonly [cidr: string, blockSizes: readonly number[]])[] = [
  ["10.0.0.0/20", [20, 24, 28]],
  ["10.0.16.0/24", [26, 32]],
  ["10.1.0.0/25", [29, 30, 31]],
  ["10.255.0.0/22", [22, 25]],
  ["fd00::/116", [116, 120, 125]],
  ["fd00:0:0:1::/121", [124, 128]],
];

interface Held {
  readonly address: string;
  readonly block: string;
  readonly pool: string;
  readonly family: 4 | 6;
  readonly host: string;
  readonly handle: string;
  readonly state: "allocated" | "cooling";
}

interface World {
  readonly pools: PoolDefinition[];
  readonly owners: Map<string, string | undefined>;
  /** In the order of addresses. */
  readonly held: Held[];
}

function cidrOf(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed.ok) throw new Error(text);
  return parsed.value;
}

/** A world from a source of numbers: which pools there are, which of their blocks, who holds what. */
function worldOf(next: (below: number) => number): World {
  const world: World = { pools: [], owners: new Map(), held: [] };
  for (const [place, [cidr, sizes]] of RANGES.entries()) {
    if (next(4) === 0) continue;
    const blockSize = sizes[next(sizes.length)] as number;
    // Names are in another order than addresses.
    const name = `pool-${9 - place}`;
    const made = definePool(name, { cidr, blockSize }, world.pools, { now: NOW, by: "t", incarnation: 0 });
    if (!made.ok) throw new Error(JSON.stringify(made.error));
    world.pools.push(made.value);
    fill(world, cidrOf(cidr), blockSize, name, next);
  }
  return world;
}

function fill(
  { owners, held }: World,
  range: Cidr,
  prefix: number,
  pool: string,
  next: (n: number) => number,
) {
  const step = size({ ...range, prefix });
  const density = next(4);
  for (let n = 0n; n < size(range) / step; n += 1n) {
    if (next(4) > density) continue;
    const base = range.base + n * step;
    const block = formatCidr({ ...range, base, prefix });
    const owner = next(5) === 0 ? undefined : HOSTS[next(3)];
    owners.set(block, owner);
    const [fullness, isMixed] = [next(4), next(2) === 0];
    for (let ordinal = 0n; ordinal < step && ordinal < 80n; ordinal += 1n) {
      if (next(4) > fullness) continue;
      const host = isMixed || owner === undefined ? (HOSTS[next(3)] as string) : owner;
      const address = formatAddress({ family: range.family, value: base + ordinal });
      const state = next(3) === 0 ? "cooling" : "allocated";
      held.push({
        address,
        block,
        pool,
        family: range.family,
        host,
        handle: HANDLES[next(3)] as string,
        state,
      });
    }
  }
}

function recordOf(one: Held) {
  const times = { sequenceNumber: 1, touch: 1, allocatedAt: NOW };
  const released = one.state === "cooling" ? { releasedAt: NOW, freeAt: NOW + 1 } : {};
  return { ...one, key: "k", use: "Workload", attributes: {}, leakCollection: "auto", ...times, ...released };
}

/** The addresses of one block are of one family. */
function numberOf(address: string): bigint {
  const parsed = parseAddress(address);
  if (!parsed.ok) throw new Error(address);
  return parsed.value.value;
}

/** Objects that know this world; a block tells so many records at a time, as if they were large. */
function serviceOf({ pools, owners, held }: World, partSize: number) {
  const blocksOf = (isTheirs: (one: Held) => boolean) => [
    ...new Set(held.filter(isTheirs).map(({ block }) => block)),
  ];
  const byBlock = Map.groupBy(held, ({ block }) => block);
  return fake({
    policy: { pools },
    answers: {
      "pool.list": ({ pool, after, limit }: { pool: string; after?: string; limit: number }) => {
        const entries = [...owners].flatMap(([block, owner]) => {
          const definition = pools.find(({ name }) => name === pool);
          const isIn = definition !== undefined && isInside(block, definition);
          const entry = {
            block,
            epoch: 1,
            ...(owner === undefined ? { state: "draining" } : { state: "owned", owner }),
          };
          return isIn && (after === undefined || compare(block, after) > 0) ? [entry] : [];
        });
        const page = entries.slice(0, Math.min(limit, 7));
        return { entries: page, ...(page.length < entries.length ? { next: page.at(-1)?.block } : {}) };
      },
      "pool.find": ({ block }: { block: string }) =>
        owners.has(block) ? { entry: { block, epoch: 1, state: "owned", owner: "node-1" } } : {},
      "host.affinities": ({ host }: { host: string }) => ({
        rows: [...owners].flatMap(([block, owner]) => (owner === host ? [{ block }] : [])).toReversed(),
        borrowed: blocksOf((one) => one.host === host && owners.get(one.block) !== host).toReversed(),
      }),
      // What was released is no longer listed.
      "index.list": ({ handle }: { handle: string }) => ({
        rows: blocksOf((one) => one.handle === handle && one.state === "allocated").map((block) => ({
          block,
        })),
      }),
      "block.describe": ({ block, records, part }: DescribeRequest) => {
        const found = (byBlock.get(block) ?? []).filter(({ handle, address }) => {
          const isOf = records === "all" || handle === (records as { handle: string }).handle;
          return isOf && (part?.after === undefined || numberOf(address) > numberOf(part.after));
        });
        const told = found.slice(0, partSize);
        const next = told.length < found.length ? { next: told.at(-1)?.address } : {};
        return { records: told.map(recordOf), ...next };
      },
    },
  });
}

function isInside(block: string, { cidr }: PoolDefinition): boolean {
  const [inner, outer] = [cidrOf(block), cidrOf(cidr)];
  return inner.family === outer.family && inner.base >= outer.base && inner.base < outer.base + size(outer);
}

function compare(one: string, other: string): number {
  const [left, right] = [cidrOf(one), cidrOf(other)];
  if (left.family !== right.family) return left.family - right.family;
  return left.base < right.base ? -1 : Number(left.base > right.base);
}

/** A source of numbers that depends on the seed alone. */
function numbers(seed: number): (below: number) => number {
  let state = (seed ^ 0x9e37_79b9) >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

it("R6: what a handle holds is told once, in the order of addresses, however little a block tells at a time", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.constantFrom(...HANDLES), partSizes, async (seed, handle, partSize) => {
      const world = worldOf(numbers(seed));
      const service = serviceOf(world, partSize);
      const told: string[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < PAGES_MAX; page += 1) {
        const before = service.asked.length;
        const query = cursor === undefined ? "" : `?cursor=${cursor}`;
        const answer = await service.send("GET", `/v1/handles/${handle}${query}`);
        const body = (await answer.json()) as { items: { address: string }[]; nextCursor?: string };
        expect(answer.status, JSON.stringify(body)).toBe(200);
        expect(service.asked.length - before).toBeLessThan(CALLS_MAX);
        told.push(...body.items.map(({ address }) => address));
        cursor = body.nextCursor;
        if (cursor === undefined) break;
      }
      expect(cursor).toBeUndefined();
      const held = world.held.filter((one) => one.handle === handle && one.state === "allocated");
      expect(told).toEqual(held.map(({ address }) => address));
    }),
    { numRuns: runs(30) },
  );
});

it("a cursor of another handle, or that names no address, is refused", async () => {
  const service = serviceOf(worldOf(numbers(1)), 1);
  const forged = Buffer.from(JSON.stringify(["0", "nowhere"])).toString("base64url");
  for (const cursor of ["?", forged]) {
    const answer = await service.send("GET", `/v1/handles/h-1?cursor=${encodeURIComponent(cursor)}`);
    expect(await faultsOf(answer)).toEqual(["cursor invalid_cursor"]);
  }
});

it("R6: whatever is asked for, each item is on one page, in the order of addresses", async () => {
  const filters = fc.record(
    {
      host: fc.constantFrom(...HOSTS),
      pool: fc.constantFrom(...RANGES.map((_, place) => `pool-${9 - place}`)),
      handle: fc.constantFrom(...HANDLES),
      state: fc.constantFrom("allocated", "cooling"),
      block: fc.nat(),
    },
    { requiredKeys: [] },
  );
  const limits = fc.constantFrom(1, 2, 7, 64, 100, 1_000);
  await fc.assert(
    fc.asyncProperty(fc.nat(), filters, limits, partSizes, async (seed, asked, limit, partSize) => {
      const { block, ...others } = asked;
      const world = worldOf(numbers(seed));
      const service = serviceOf(world, partSize);
      const named =
        block === undefined ? undefined : [...world.owners.keys()][block % Math.max(1, world.owners.size)];
      const wanted = { ...others, ...(named === undefined ? {} : { block: named }) };
      const state = others.state ?? "allocated";
      const all = world.held.filter((one) => {
        const isNamed = Object.entries(wanted).every(([name, value]) => one[name as keyof Held] === value);
        return isNamed && one.state === state;
      });
      // Short pages of a large world take too long.
      const pageSize = all.length > 40 * limit ? Math.min(1_000, Math.ceil(all.length / 40)) : limit;
      const told: string[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < PAGES_MAX; page += 1) {
        const query = new URLSearchParams({
          ...wanted,
          limit: String(pageSize),
          ...(cursor === undefined ? {} : { cursor }),
        });
        const before = service.asked.length;
        const answer = await service.send("GET", `/v1/allocations?${query}`);
        const body = (await answer.json()) as { items: { address: string }[]; nextCursor?: string };
        expect(answer.status, JSON.stringify(body)).toBe(200);
        expect(body.items.length).toBeLessThanOrEqual(pageSize);
        expect(service.asked.length - before).toBeLessThan(CALLS_MAX);
        told.push(...body.items.map(({ address }) => address));
        cursor = body.nextCursor;
        if (cursor === undefined) break;
      }
      expect(cursor).toBeUndefined();
      expect(told).toEqual(all.map(({ address }) => address));
    }),
    { numRuns: runs(60) },
  );
});
