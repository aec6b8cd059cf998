/** Releases of many addresses by what they are: how much one request asks, and what it says of the rest. */
import { describe, expect, it } from "vitest";
import type { PoolDefinition } from "../../src/core/policy.ts";
import { definePool } from "../../src/core/pool.ts";
import type { ReleaseAddressesRequest } from "../../src/rpc/block.ts";
import { fake, NOW } from "./fake-deployment.ts";

/** Object calls that one event may make, with some to spare below the platform's 1,000. */
const CALLS_MAX = 900;

const range = (count: number) => Array.from({ length: count }, (_, number) => number);
/** The addresses of as many blocks of /24, one each. */
const addressesIn = (blocks: number) => range(blocks).map((n) => `10.${n >> 8}.${n & 255}.1`);

function poolsOf(cidrs: readonly string[], blockSize: number): PoolDefinition[] {
  const pools: PoolDefinition[] = [];
  for (const [n, cidr] of cidrs.entries()) {
    const made = definePool(`pool-${n}`, { cidr, blockSize }, [], { now: NOW, by: "t", incarnation: 0 });
    if (!made.ok) throw new Error(JSON.stringify(made.error));
    pools.push(made.value);
  }
  return pools;
}

/** A service whose directories have these blocks; what it frees is free from then on. */
function serviceOf(pools: PoolDefinition[], exists: (block: string) => boolean) {
  const freed = new Set<string>();
  const service = fake({
    policy: { pools },
    answers: {
      "pool.entries": ({ blocks }: { blocks: string[] }) => ({
        entries: blocks.filter(exists).map((block) => ({ block, state: "draining", epoch: 1 })),
      }),
      "block.releaseAddresses": ({ items }: ReleaseAddressesRequest) => ({
        outcomes: items.map(({ address }) => {
          if (freed.has(address)) return { kind: "already_free", address };
          freed.add(address);
          return { kind: "released", address, handle: "h", freeAt: NOW, sequenceNumber: 1 };
        }),
      }),
    },
  });
  const release = async (addresses: readonly string[]) => {
    const before = service.asked.length;
    const json = { addresses: addresses.map((address) => ({ address, sequenceNumber: 1 })) };
    const answer = await service.send("POST", "/v1/releases", { json });
    expect(answer.status).toBe(200);
    const { results } = (await answer.json()) as {
      results: { address: string; outcome: string; code?: string }[];
    };
    expect(results.map(({ address }) => address)).toEqual(addresses);
    const asked = service.asked.slice(before).map(({ method }) => method);
    expect(asked.length).toBeLessThan(CALLS_MAX);
    const open = results.filter(({ outcome }) => outcome === "rejected");
    for (const { code } of open) expect(code).toBe("in_progress");
    return { asked, results, open: open.map(({ address }) => address) };
  };
  return { freed, release };
}

const count = (asked: readonly string[], method: string) => asked.filter((one) => one === method).length;

describe("1,024 addresses in 1,024 blocks", () => {
  const addresses = addressesIn(1_024);

  it("are looked up in two calls; what one request does not reach it says, and the next one frees it", async () => {
    const { release, freed } = serviceOf(poolsOf(["10.0.0.0/8"], 24), () => true);
    const first = await release(addresses);
    expect(count(first.asked, "pool.entries")).toBe(2);
    expect(freed.size).toBeGreaterThan(800);
    expect(first.open.length).toBe(1_024 - freed.size);
    const second = await release(first.open);
    expect(second.results.every(({ outcome }) => outcome === "released")).toBe(true);
    expect(freed.size).toBe(1_024);
    // What is known by now is asked for at once.
    expect(count((await release(addresses.slice(0, 100))).asked, "pool.entries")).toBe(0);
  });

  it("that never were are told in two calls, and none of them is asked", async () => {
    const { release } = serviceOf(poolsOf(["10.0.0.0/8"], 24), () => false);
    const { asked, results } = await release(addresses);
    expect(results.every(({ outcome }) => outcome === "already_free")).toBe(true);
    expect(count(asked, "pool.entries")).toBe(2);
    expect(count(asked, "block.releaseAddresses")).toBe(0);
  });

  it("each of a pool of its own, whoever asks again for what is open comes to an end", async () => {
    const cidrs = range(1_024).map((n) => `10.${n >> 8}.${n & 255}.0/26`);
    const pools = poolsOf(cidrs, 26);
    let open = addresses;
    const freed = new Set<string>();
    for (let turn = 0; turn < 4 && open.length > 0; turn += 1) {
      // An isolate that knows none of them each time.
      const one = serviceOf(pools, () => true);
      const before = open;
      open = (await one.release(open)).open;
      expect(open.length).toBeLessThan(before.length);
      for (const address of one.freed) freed.add(address);
    }
    expect(open).toEqual([]);
    expect(freed.size).toBe(1_024);
  });
});

it("handles and addresses of one request share what it may ask", async () => {
  const pools = poolsOf(["10.0.0.0/8"], 24);
  const blocks = addressesIn(1_024)
    .slice(600)
    .map((address) => address.replace(/1$/, "0/24"));
  const rows = blocks.map((block) => ({ key: "k", handle: "h", block, until: 0 }));
  const service = fake({
    policy: { pools },
    answers: {
      "index.list": () => ({ rows }),
      "index.settle": ({ items }: { items: unknown[] }) => ({ changed: items.length }),
      "block.releaseHandle": () => ({ keys: [{ key: "k", outcome: "released", records: [] }] }),
      "pool.entries": ({ blocks }: { blocks: string[] }) => ({
        entries: blocks.map((block) => ({ block, state: "draining", epoch: 1 })),
      }),
      "block.releaseAddresses": ({ items }: ReleaseAddressesRequest) => ({
        outcomes: items.map(({ address }) => ({
          kind: "released",
          address,
          handle: "h",
          freeAt: NOW,
          sequenceNumber: 1,
        })),
      }),
    },
  });
  const addresses = addressesIn(600).map((address) => ({ address, sequenceNumber: 1 }));
  const answer = await service.send("POST", "/v1/releases", { json: { handles: ["h"], addresses } });
  const body = (await answer.json()) as { released: number; rejected: number };
  expect(body.released + body.rejected).toBe(600);
  expect(body.rejected).toBeGreaterThan(0);
  expect(service.asked.length).toBeLessThan(CALLS_MAX);
});
