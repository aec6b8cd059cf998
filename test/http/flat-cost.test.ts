/**
 * What an allocation costs as a pool grows and fills, by the objects' own counters: it stays flat.
 * Blocks are of four addresses, so that every fourth allocation claims one. FLAT_COST_BLOCKS sets sizes.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CountersAnswer, counters, setClock, WITHOUT_ALARMS_MS } from "../support/control.ts";
import { HttpClient } from "../support/http-client.ts";
import { type Service, startService } from "../support/service.ts";

const SIZES = (process.env.FLAT_COST_BLOCKS ?? "64,1024,4096").split(",").map(Number);
const HOSTS = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
/** Of each pool the last blocks are filled one address after the other, and watched. */
const WATCHED_BLOCKS = 16;
const PER_BLOCK = 4;
/** How much dearer an allocation may be than in a pool of one block. */
const GROWTH_MAX = 1.1;
const CLAIM_CALLS_MAX = 6;
const STEADY_CALLS = 3;
/** Told to directories when a block turns; counted, but no request waits for it. */
const BACKGROUND = ["pool.report", "host.blockChanged"];
/** Long, so that nothing is done because time has passed. */
const LONG_MS = 600_000;
const settings = {
  leaseMs: LONG_MS,
  reportMs: LONG_MS,
  figuresMs: LONG_MS,
  indexPassMs: 1_000 * LONG_MS,
  // A block claimed ahead is not claimed when it is needed, but by then.
  claimAheadMs: 0,
};
/** After so long a host asks two blocks that it has not heard of since, at its next claim. */
const OLD_MS = 31_000;

interface Cost {
  calls: number;
  /** Without what is told in the background. */
  waitedFor: number;
  commits: number;
  written: number;
  read: number;
}

/** What the watched allocations cost, claims apart. */
interface Watched {
  readonly claims: Cost[];
  readonly steady: Cost[];
}

let service: Service;
let client: HttpClient;
let baseline: Watched;
let handles = 0;

beforeAll(async () => {
  const vars = { TEST_SETTINGS: JSON.stringify(settings), TEST_CLOCK_MS: String(WITHOUT_ALARMS_MS) };
  service = await startService({ entry: "test/support/entry.ts", vars });
  client = new HttpClient(() => service.url);
  // One host fills many blocks, so its cap is raised; that needs strict affinity.
  await client.must("PATCH", "/v1/config", { strictAffinity: true, maxBlocksPerHost: 100_000 });
  for (let number = 0; number < WATCHED_BLOCKS; number += 1) {
    await client.must("PUT", `/v1/pools/single-${number}`, {
      cidr: `10.0.${number}.0/30`,
      blockSize: 30,
    });
  }
  for (const size of SIZES) {
    const bits = Math.log2(size);
    await client.must("PUT", `/v1/pools/${poolOf(size)}`, {
      cidr: `10.${bits + 1}.0.0/${30 - bits}`,
      blockSize: 30,
    });
  }
  await client.must("PUT", "/v1/pools/first", { cidr: "10.255.0.0/27", blockSize: 30 });
  for (const host of HOSTS) {
    await client.must("PUT", `/v1/hosts/${host}`, { labels: {} });
    // The first block of a host costs its entry in the directory of hosts; that is not what grows.
    await allocate(host, "first", 1);
  }
  baseline = withoutFirstClaim(await watch(WATCHED_BLOCKS, (block) => `single-${block}`));
  console.log(["1 block", ...toldAll(baseline)].join("\n  "));
}, 180_000);

afterAll(async () => {
  client.close();
  await service.stop();
});

function poolOf(size: number): string {
  return `of-${size}`;
}

function allocate(host: string, pool: string, count: number) {
  handles += 1;
  const body = { host, handle: `flat.${handles}`, ipv4: { count, pools: [pool] } };
  return client.must("POST", "/v1/allocations", body);
}

/** Fills so many blocks, each in one request, from all hosts at once. */
async function fill(pool: string, blocks: number): Promise<void> {
  let left = blocks;
  const run = async (host: string): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await allocate(host, pool, PER_BLOCK);
    }
  };
  await Promise.all(HOSTS.map(run));
}

/** Fills so many blocks address by address, each block by the next host. */
async function watch(blocks: number, poolOfBlock: (block: number) => string): Promise<Watched> {
  const watched: Watched = { claims: [], steady: [] };
  let before = await settled();
  for (let number = 0; number < blocks * PER_BLOCK; number += 1) {
    const block = Math.floor(number / PER_BLOCK);
    const host = HOSTS[block % HOSTS.length] ?? "";
    await allocate(host, poolOfBlock(block), 1);
    const after = await settled();
    const claimed = (after.calls["block.claim"] ?? 0) > (before.calls["block.claim"] ?? 0);
    (claimed ? watched.claims : watched.steady).push(costBetween(before, after));
    before = after;
  }
  return watched;
}

/** The counters once every call that was sent has been counted by its callee, too. */
async function settled(): Promise<CountersAnswer> {
  for (let left = 200; left > 0; left -= 1) {
    const answer = await counters(client);
    const isOver = ([name, count]: [string, number]): boolean => answer.calls[name] === count;
    if (Object.entries(answer.sent).every(isOver)) return answer;
  }
  throw new Error("calls go on and on");
}

function costBetween(before: CountersAnswer, after: CountersAnswer): Cost {
  const added = (part: "sent" | "commits" | "rowsWritten" | "rowsRead", except: string[] = []): number =>
    Object.entries(after[part])
      .filter(([name]) => !except.includes(name))
      .reduce((sum, [name, count]) => sum + count - (before[part][name] ?? 0), 0);
  return {
    calls: added("sent"),
    waitedFor: added("sent", BACKGROUND),
    commits: added("commits"),
    written: added("rowsWritten"),
    read: added("rowsRead"),
  };
}

/** The first claim of a pool writes the pool's own two rows; every later one reads the first of them. */
function withoutFirstClaim({ claims, steady }: Watched): Watched {
  const later = claims.map((cost) => ({ ...cost, written: cost.written - 2, read: cost.read + 1 }));
  return { claims: later, steady };
}

function mean(costs: readonly Cost[], part: keyof Cost): number {
  return costs.reduce((sum, cost) => sum + cost[part], 0) / costs.length;
}

const PARTS = ["calls", "waitedFor", "commits", "written", "read"] as const;

function told(name: string, costs: readonly Cost[]): string {
  return `${name}: ${PARTS.map((part) => `${part} ${mean(costs, part).toFixed(2)}`).join(", ")}`;
}

function toldAll({ claims, steady }: Watched): string[] {
  return [told("claim", claims), told("steady", steady)];
}

function expectFlat(what: string, costs: readonly Cost[], base: readonly Cost[]): void {
  for (const part of PARTS) {
    const text = `${part} of ${told(what, costs)}; ${told("one block", base)}`;
    expect(mean(costs, part), text).toBeLessThanOrEqual(mean(base, part) * GROWTH_MAX);
  }
}

describe.each(SIZES)("a pool of %i blocks, filled to 99 %", (size) => {
  let watched: Watched;
  /** The first claim of each host after a long while. */
  let late: Watched;

  beforeAll(async () => {
    await fill(poolOf(size), Math.ceil(size * 0.99) - WATCHED_BLOCKS - HOSTS.length);
    await setClock(client, WITHOUT_ALARMS_MS + OLD_MS * (1 + SIZES.indexOf(size)));
    late = await watch(HOSTS.length, () => poolOf(size));
    watched = await watch(WATCHED_BLOCKS, () => poolOf(size));
    console.log([`${size} blocks`, ...toldAll(watched), told("late claim", late.claims)].join("\n  "));
  }, 600_000);

  it("each block is claimed once, by the first of its four addresses", () => {
    for (const { claims, steady } of [baseline, watched]) {
      expect(claims).toHaveLength(WATCHED_BLOCKS);
      expect(steady).toHaveLength(WATCHED_BLOCKS * (PER_BLOCK - 1));
    }
  });

  it("a claim costs at most 6 calls, also when nobody has told of the host's blocks for long", () => {
    expect(late.claims).toHaveLength(HOSTS.length);
    for (const { waitedFor } of [...watched.claims, ...late.claims]) {
      expect(waitedFor - STEADY_CALLS).toBeLessThanOrEqual(CLAIM_CALLS_MAX);
    }
  });

  it("calls, commits, rows written and rows read are those of a pool of one block", () => {
    expectFlat("claim", watched.claims, baseline.claims);
    expectFlat("steady", watched.steady, baseline.steady);
    const all = ({ claims, steady }: Watched): Cost[] => [...claims, ...steady];
    expectFlat("all", all(watched), all(baseline));
  });
});
