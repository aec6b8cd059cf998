/**
 * What an operator decided: configuration, pools, reservations, as one numbered whole.
 * May import: core only. Policy is plain data that crosses object calls; CompiledPolicy never does.
 */
import { type Address, parseAddress } from "./address.ts";
import type { Use } from "./allocation.ts";
import { type Cidr, containsAddress, lastAddress, overlaps, parseCidr } from "./cidr.ts";
import type { Revised } from "./definition.ts";
import type { Family } from "./errors.ts";
import { invariant } from "./invariant.ts";
import { BLOCKS_PER_HOST_BUILT_IN } from "./limits.ts";
import { RangeSet, rangeSetOf } from "./range-set.ts";
import type { Selector } from "./selector.ts";
import { parseSelector } from "./selector-parser.ts";

export const USES = ["Workload", "Tunnel", "LoadBalancer"] as const satisfies readonly Use[];
export const ASSIGNMENT_MODES = ["Automatic", "Manual"] as const;
export const TUNNEL_MODES = ["Never", "Always", "CrossSubnet"] as const;
export const ANSWER_PREFIXES = ["block", "pool", "host"] as const;
export const PERSISTENCE_MODES = ["Enabled", "Disabled"] as const;

export type AssignmentMode = (typeof ASSIGNMENT_MODES)[number];
export type TunnelMode = (typeof TUNNEL_MODES)[number];
export type AnswerPrefix = (typeof ANSWER_PREFIXES)[number];
export type PersistenceMode = (typeof PERSISTENCE_MODES)[number];

/** The switches of the service. Invariant: see config.ts. */
export interface Config extends Revised {
  readonly strictAffinity: boolean;
  readonly autoAllocateBlocks: boolean;
  /** Blocks of one family per host; 0 means the built-in cap. */
  readonly maxBlocksPerHost: number;
  readonly kubeVirtVMAddressPersistence: PersistenceMode;
  readonly ipCooldownSeconds: number;
  readonly maintenance: boolean;
  readonly maintenanceReason?: string;
  readonly leakGraceSeconds?: number;
  readonly staleReportSeconds?: number;
}

/** A pool as stored. Invariant: it passed pool.ts; CIDR, gateway and defaults are canonical. */
export interface PoolDefinition extends Revised {
  readonly name: string;
  /** Which pool of this deployment it is; never used again. */
  readonly incarnation: number;
  readonly cidr: string;
  readonly family: Family;
  /** Prefix length of its blocks. */
  readonly blockSize: number;
  readonly disabled: boolean;
  /** Present while the pool drains. Units: milliseconds since 1970. */
  readonly terminating?: { readonly startedAt: number };
  readonly assignmentMode: AssignmentMode;
  readonly allowedUses: readonly Use[];
  readonly nodeSelector: string;
  /** Empty where any namespace may use the pool. */
  readonly namespaceSelector: string;
  readonly ipipMode: TunnelMode;
  readonly vxlanMode: TunnelMode;
  readonly natOutgoing: boolean;
  readonly disableBGPExport: boolean;
  readonly gateway?: string;
  readonly answerPrefix: AnswerPrefix;
  readonly warnAtPercent: number;
  readonly description?: string;
  readonly createdAt: number;
}

/** A reservation as stored. Invariant: its ranges are canonical, without host bits. */
export interface ReservationDefinition extends Revised {
  readonly name: string;
  readonly reservedCIDRs: readonly string[];
  readonly reason?: string;
  readonly createdAt: number;
}

/** All that an operator decided, in one version. */
export interface Policy {
  readonly version: number;
  readonly config: Config;
  readonly pools: readonly PoolDefinition[];
  readonly reservations: readonly ReservationDefinition[];
}

/** A pool with its texts read. */
export interface CompiledPool {
  readonly definition: PoolDefinition;
  readonly cidr: Cidr;
  readonly nodeSelector: Selector;
  readonly namespaceSelector: Selector;
}

/** A policy with its texts read, made once per version. */
export interface CompiledPolicy {
  readonly version: number;
  readonly config: Config;
  /** By name. */
  readonly pools: readonly CompiledPool[];
  /** The union of all reservations. */
  readonly reserved: Readonly<Record<Family, RangeSet>>;
  /**
   * What of a pool is never given automatically besides reservations: its gateway and,
   * where answers carry the pool's prefix, its first and last address.
   */
  notAutomatic(pool: CompiledPool): RangeSet;
  /** The pool that holds an address, enabled or not. */
  poolOf(address: Address): CompiledPool | undefined;
  /** Blocks of one family that a host may own: the smaller of the request's and the global cap. */
  cap(requestCap?: number): number;
}

/** Reads the texts of a policy once. Invariant: what was stored can be read; pools do not overlap. */
export function compilePolicy(policy: Policy): CompiledPolicy {
  const pools = policy.pools
    .map(compilePool)
    .toSorted((a, b) => byText(a.definition.name, b.definition.name));
  const byAddress = { 4: sortedByBase(pools, 4), 6: sortedByBase(pools, 6) };
  const heldBack = new Map(pools.map((pool) => [pool, heldBackOf(pool)]));
  const reservedRanges = policy.reservations.flatMap((reservation) => reservation.reservedCIDRs.map(stored));
  const reservedOf = (family: Family): RangeSet =>
    rangeSetOf(reservedRanges.filter((range) => range.family === family));
  return {
    version: policy.version,
    config: policy.config,
    pools,
    reserved: { 4: reservedOf(4), 6: reservedOf(6) },
    notAutomatic: (pool) => heldBack.get(pool) ?? heldBackOf(pool),
    poolOf: (address) => poolHolding(byAddress[address.family], address),
    cap: (requestCap = 0) => {
      const given = [requestCap, policy.config.maxBlocksPerHost].filter((cap) => cap > 0);
      return given.length === 0 ? BLOCKS_PER_HOST_BUILT_IN : Math.min(...given);
    },
  };
}

function byText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function stored(text: string): Cidr {
  const parsed = parseCidr(text);
  invariant(parsed.ok, `a stored range cannot be read: ${text}`);
  return parsed.value;
}

function storedSelector(text: string): Selector {
  const parsed = parseSelector(text);
  invariant(parsed.ok, `a stored selector cannot be read: ${text}`);
  return parsed.value;
}

function compilePool(definition: PoolDefinition): CompiledPool {
  return {
    definition,
    cidr: stored(definition.cidr),
    nodeSelector: storedSelector(definition.nodeSelector),
    namespaceSelector: storedSelector(definition.namespaceSelector),
  };
}

function heldBackOf({ definition, cidr }: CompiledPool): RangeSet {
  const values: bigint[] = [];
  if (definition.gateway !== undefined) {
    const gateway = parseAddress(definition.gateway);
    invariant(gateway.ok, "a stored gateway cannot be read");
    values.push(gateway.value.value);
  }
  if (definition.answerPrefix === "pool") values.push(cidr.base, lastAddress(cidr));
  return RangeSet.of(
    cidr.family,
    values.map((value) => ({ first: value, last: value })),
  );
}

function sortedByBase(pools: readonly CompiledPool[], family: Family): CompiledPool[] {
  const sorted = pools
    .filter((pool) => pool.cidr.family === family)
    .toSorted((a, b) => (a.cidr.base < b.cidr.base ? -1 : 1));
  for (const [i, pool] of sorted.entries()) {
    const next = sorted[i + 1];
    invariant(next === undefined || !overlaps(pool.cidr, next.cidr), "two pools overlap");
  }
  return sorted;
}

/** Finds the pool with the highest base that is not above the address; binary search. */
function poolHolding(pools: readonly CompiledPool[], address: Address): CompiledPool | undefined {
  let low = 0;
  let high = pools.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const pool = pools[middle];
    invariant(pool !== undefined, "pool index out of bounds");
    if (pool.cidr.base <= address.value) low = middle + 1;
    else high = middle;
  }
  const pool = pools[low - 1];
  return pool !== undefined && containsAddress(pool.cidr, address) ? pool : undefined;
}
