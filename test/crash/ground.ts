/**
 * What a crash test runs on: how large it is, and its pools, hosts and addresses.
 * May import: Node and the test client. Rule: everything follows from the size.
 */
import { BlockList, isIPv6 } from "node:net";
import type { HttpClient } from "../support/http-client.ts";

export interface Size {
  readonly clients: number;
  readonly hosts: number;
  readonly cycles: number;
}

export const FULL: Size = { clients: 64, hosts: 50, cycles: 40 };
/** For CI, beside other tests on two cores. */
export const SHORT: Size = { clients: 16, hosts: 12, cycles: 8 };

/** Ages so short that blocks change hands; the index passes over old rows in long runs, not in short ones. */
export const SETTINGS = {
  reclaimAgeMs: 500,
  reportMs: 500,
  indexPassMs: 60_000,
  spentKeyMs: 7_200_000,
  tickMs: 3_000,
};

/** The range of the pool that is drained and made again, with the block sizes that take turns. */
export const MOVING = { name: "moving", cidr: "10.31.0.0/25", blockSizes: [28, 27, 29] } as const;

/** Handles with a limit; the limit follows from the handle. */
export const LIMITED = Array.from({ length: 8 }, (_, number) => ({
  handle: `vm.${number}`,
  maxPerHandle: 1 + (number % 2),
}));

/** Blocks of so many addresses each. */
const BLOCK_BITS = 4;

export interface Ground {
  readonly hosts: readonly string[];
  /** Hosts whose requests say that they may own at most so many blocks of a family; nothing is assigned there. */
  readonly capped: ReadonlySet<string>;
  readonly cap: number;
  /** Hosts that are removed and come back. */
  readonly movable: readonly string[];
  /** Addresses of the IPv4 pool that is never drained, and how many it has. */
  readonly capacity: number;
  addressAt(position: number): string;
  /** A block of that pool. */
  blockAt(position: number): string;
  readonly blocks: number;
}

/** A few more blocks than hosts, so that there is some room and much to share. */
export function groundOf({ hosts: count }: Size): Ground {
  const hosts = Array.from({ length: count }, (_, number) => `node-${number}`);
  const blocks = 2 ** Math.ceil(Math.log2(count * 1.25));
  const addressAt = (position: number): string => `10.30.${position >> 8}.${position & 255}`;
  return {
    hosts,
    capped: new Set(hosts.slice(0, Math.ceil(count / 8))),
    cap: 2,
    movable: hosts.slice(-Math.max(2, Math.floor(count / 12))),
    blocks,
    capacity: blocks << BLOCK_BITS,
    addressAt,
    blockAt: (position) => `${addressAt(position << BLOCK_BITS)}/${32 - BLOCK_BITS}`,
  };
}

/** What every request of a host says of its cap: one that said nothing would claim beyond it. */
export function capOf({ capped, cap }: Ground, host: string): { readonly maxBlocksPerHost?: number } {
  return capped.has(host) ? { maxBlocksPerHost: cap } : {};
}

/** Puts pools and hosts there. */
export async function prepare(client: HttpClient, { hosts, blocks }: Ground): Promise<void> {
  const bits = Math.log2(blocks) + BLOCK_BITS;
  const pools = {
    wide: { cidr: `10.30.0.0/${32 - bits}`, blockSize: 32 - BLOCK_BITS },
    six: { cidr: `fd00:30::/${128 - bits + 1}`, blockSize: 128 - BLOCK_BITS },
    [MOVING.name]: movingPool(0),
  };
  const collected = { leakGraceSeconds: 60, staleReportSeconds: 300 };
  await client.must("PATCH", "/v1/config", { ipCooldownSeconds: 1, ...collected });
  for (const [name, spec] of Object.entries(pools)) await client.must("PUT", `/v1/pools/${name}`, spec);
  for (const host of hosts) await client.must("PUT", `/v1/hosts/${host}`, { labels: {}, incarnation: "0" });
}

export function movingPool(turn: number): object {
  const { cidr, blockSizes } = MOVING;
  return { cidr, blockSize: blockSizes[turn % blockSizes.length] };
}

/** Whether an address lies in one of some ranges. */
export function isWithin(address: string, cidrs: readonly string[]): boolean {
  const list = new BlockList();
  const family = (text: string): "ipv4" | "ipv6" => (isIPv6(text) ? "ipv6" : "ipv4");
  for (const cidr of cidrs) {
    const [base = "", prefix = ""] = cidr.split("/");
    list.addSubnet(base, Number(prefix), family(base));
  }
  return list.check(address, family(address));
}
