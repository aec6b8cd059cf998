/**
 * The world that a case of the collector begins in, made with the means that callers have.
 * May import: the vocabulary, the service of the case. Rule: no row is written here.
 */
import { parseAddress } from "../../../src/core/address.ts";
import { containsAddress, parseCidr } from "../../../src/core/cidr.ts";
import { isVirtualOwner } from "../../../src/core/leak-subject.ts";
import type { AllocationGiven, BlockGiven, Given } from "../../core/leak-vocabulary.ts";
import { INCARNATION } from "./case-agent.ts";
import type { CaseService } from "./case-service.ts";

/** When what a case begins with was allocated, and when hosts were lost, in seconds of the case. */
const LONG_AGO = -2 * 3600;
const LOST = -1;
/** Owns a block until it has no owner. */
const NOBODY = "nobody-of-the-case";
const HOLDER = { handle: "of-nobody", node: null, attrs: {}, seq: 0 };

const PAUSED = { paused: true, reason: "as the case says" };

export interface PoolGiven {
  readonly name: string;
  readonly cidr: string;
}

/** What makes the pools of a case: its own, and one for each block that lies in none of them. */
export function poolsOf(given: Partial<Given>, pools: readonly PoolGiven[]) {
  const blocks = given.blocks ?? [];
  const named = pools.map(({ name, cidr }) => {
    const inside = blocks.find((block) => isWithin(cidr, block.cidr));
    return { name, cidr, blockSize: inside === undefined ? 26 : prefixOf(inside.cidr) };
  });
  const alone = blocks.filter(({ cidr }) => !pools.some((pool) => isWithin(pool.cidr, cidr)));
  return [
    ...named,
    ...alone.map(({ cidr }, index) => ({ name: `block-${index}`, cidr, blockSize: prefixOf(cidr) })),
  ];
}

function prefixOf(cidr: string): number {
  return Number(cidr.slice(cidr.indexOf("/") + 1));
}

export function isWithin(cidr: string, inside: string): boolean {
  const [range, address] = [parseCidr(cidr), parseAddress(inside.replace(/\/.*/, ""))];
  if (!range.ok || !address.ok) throw new Error(`no range and address: ${cidr}, ${inside}`);
  return range.value.family === address.value.family && containsAddress(range.value, address.value);
}

/** The hosts that a case speaks of. `lost`: those that are there no more when it begins. */
export function hostsOf(given: Partial<Given>): { readonly there: string[]; readonly lost: string[] } {
  const { nodes = [], blocks = [], allocations = [] } = given;
  const there = nodes.filter(({ k8s, k8s_exists = true }) => k8s === null || k8s_exists);
  const named = [
    ...nodes.map(({ name }) => name),
    ...blocks.flatMap(({ affinity }) => hostOf(affinity) ?? []),
    ...allocations.flatMap(({ node }) => node ?? []),
  ];
  const names = there.map(({ name }) => name);
  return { there: names, lost: [...new Set(named)].filter((name) => !names.includes(name)) };
}

export function hostOf(affinity: string | null): string | undefined {
  return affinity?.startsWith("host:") === true ? affinity.slice("host:".length) : undefined;
}

/** Makes it all, and leaves the clock at second 0. `silent`: hosts that are lost only for what looks them up. */
export async function seed(
  service: CaseService,
  given: Partial<Given>,
  pools: readonly PoolGiven[],
  silent: readonly string[],
): Promise<void> {
  const { blocks = [], allocations = [], nodes = [], config = {} } = given;
  await service.goOnAt(LONG_AGO);
  for (const { name, ...spec } of poolsOf(given, pools)) await service.must("PUT", `/v1/pools/${name}`, spec);
  await configure(service, config);
  const { there, lost } = hostsOf(given);
  for (const host of [...there, ...lost, NOBODY]) {
    const labels = nodes.find(({ name }) => name === host)?.labels ?? {};
    await register(service, host, labels);
  }
  for (const block of blocks) await claim(service, block);
  const owner = (ip: string) => blocks.find(({ cidr }) => isWithin(cidr, ip))?.affinity ?? null;
  const cooling = allocations.filter(({ handle }) => handle === null);
  for (const one of allocations) {
    const host = one.node ?? hostOf(owner(one.ip)) ?? NOBODY;
    if (one.handle !== null) await allocate(service, { ...one, node: host });
    else if (one.released_at !== undefined) await allocate(service, { ...one, ...HOLDER, node: host });
  }
  for (const { cidr, affinity } of blocks) if (affinity === null) await disown(service, cidr);
  for (const host of lost.filter((name) => !silent.includes(name))) {
    await service.goOnAt(LOST);
    await remove(service, host);
  }
  const ends = cooling.flatMap(({ ip, released_at: at }) => (at === undefined ? [] : [{ ip, at }]));
  for (const { ip, at } of ends.toSorted((one, other) => one.at - other.at)) {
    await service.standAt(Math.max(at, LOST));
    await release(service, ip);
  }
  await service.goOnAt(0);
}

export async function configure(service: CaseService, config: Given["config"]): Promise<void> {
  const { leak_grace_s: grace, cooldown_s: cooldown, datastore_ready: isReady } = config;
  const patch = {
    ...(grace === undefined || grace === null ? {} : { leakGraceSeconds: grace }),
    ...(cooldown === undefined ? {} : { ipCooldownSeconds: cooldown }),
  };
  if (Object.keys(patch).length > 0) await service.must("PATCH", "/v1/config", patch);
  // A store that is locked for maintenance is a collector that an operator has paused.
  if (isReady !== undefined) {
    await service.must("PATCH", "/v1/gc", isReady ? { paused: false } : PAUSED);
  }
}

export async function register(
  service: CaseService,
  host: string,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  await service.must("PUT", `/v1/hosts/${host}`, { labels, incarnation: INCARNATION });
}

export async function claim(service: CaseService, { cidr, affinity }: BlockGiven): Promise<void> {
  const isVirtual = affinity !== null && isVirtualOwner(affinity);
  const host = isVirtual ? affinity : (hostOf(affinity) ?? NOBODY);
  const { results } = await service.must("POST", "/v1/affinity-claims", { host, cidr });
  const outcomes = (results as { outcome: string }[]).map(({ outcome }) => outcome);
  if (outcomes.length !== 1 || outcomes[0] !== "claimed") throw new Error(`${cidr} is ${outcomes}`);
}

export async function disown(service: CaseService, cidr: string): Promise<void> {
  await service.must("POST", "/v1/affinity-releases", { cidr, mustBeEmpty: false });
}

export async function allocate(service: CaseService, { ip, handle, node, attrs }: AllocationGiven) {
  const body = { host: node, handle, attributes: attrs };
  await service.must("PUT", `/v1/allocations/${encodeURIComponent(ip)}`, body);
}

export async function release(service: CaseService, ip: string): Promise<void> {
  await service.must("DELETE", `/v1/allocations/${encodeURIComponent(ip)}?force=true`);
}

/** An operator takes a host out; its blocks go in the background. */
export async function remove(service: CaseService, host: string): Promise<void> {
  await service.must("DELETE", `/v1/hosts/${host}`);
  const path = `/v1/blocks?host=${host}`;
  await service.until(`${host} gives its blocks back`, async () => (await service.all(path)).length === 0);
}
