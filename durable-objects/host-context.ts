/**
 * What the parts of a Host share: store, memory, runtime, and calls with an end.
 * May import: core, rpc, platform, storage. Rule: no call waits longer than `until` + ε.
 */
import { type Cidr, parseCidr } from "../src/core/cidr.ts";
import { invariant } from "../src/core/invariant.ts";
import { reservedOrdinals } from "../src/core/placement.ts";
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import { type CallOutcome, callIdempotent, callOnce, type EndSignal } from "../src/platform/call.ts";
import type { BlockPolicy, BlockTarget } from "../src/rpc/block.ts";
import type { LeasedPolicy } from "../src/rpc/policy-source.ts";
import type { PoolTarget } from "../src/rpc/pool.ts";
import type { HostConfirmations } from "./host-confirmations.ts";
import type { HostLanes } from "./host-lanes.ts";
import type { HostMemory } from "./host-memory.ts";
import type { HostRefresh } from "./host-refresh.ts";
import type { HostReports } from "./host-reports.ts";
import type { Runtime } from "./runtime.ts";
import type { Store } from "./storage/store.ts";

export interface HostContext {
  readonly store: Store;
  readonly memory: HostMemory;
  readonly runtime: Runtime;
  readonly reports: HostReports;
  readonly confirmations: HostConfirmations;
  readonly lanes: HostLanes;
  readonly refresh: HostRefresh;
}

/** Makes one call that must not be repeated by itself. */
export function once<T>(
  host: Pick<HostContext, "runtime">,
  begin: () => Promise<T>,
  timeoutMs?: number,
): Promise<CallOutcome<T>> {
  return callOnce(begin, limit(host, timeoutMs));
}

/** Makes one call that may arrive twice. */
export function again<T>(
  host: Pick<HostContext, "runtime">,
  begin: () => Promise<T>,
  timeoutMs?: number,
): Promise<CallOutcome<T>> {
  return callIdempotent(begin, limit(host, timeoutMs));
}

function limit(
  { runtime }: Pick<HostContext, "runtime">,
  timeoutMs = runtime.settings.untilMs + runtime.settings.skewMs,
) {
  return { timeoutMs, sleep: (ms: number, signal: EndSignal) => runtime.sleep(ms, signal) };
}

/** Until when a message may create something: never past the lease, the deadline, or 2 s. */
export function untilOf(host: HostContext, leased: LeasedPolicy, deadlineAt: number | undefined): number {
  const { settings } = host.runtime;
  return Math.min(
    leased.until,
    host.runtime.now() + settings.untilMs,
    deadlineAt ?? Number.POSITIVE_INFINITY,
  );
}

/** Ranges read before: the same few blocks come with every request. */
const parsedBlocks = new Map<string, Cidr>();
const PARSED_MAX = 4_096;

/** Parses the CIDR of a block; that it can be parsed was checked where it came in. */
export function cidrOf(block: string): Cidr {
  const known = parsedBlocks.get(block);
  if (known !== undefined) return known;
  const parsed = parseCidr(block);
  invariant(parsed.ok, `${block} is no block`);
  if (parsedBlocks.size >= PARSED_MAX) parsedBlocks.clear();
  parsedBlocks.set(block, parsed.value);
  return parsed.value;
}

export function poolTarget({ definition }: CompiledPool): PoolTarget {
  const { name: pool, incarnation, cidr, blockSize } = definition;
  return { pool, incarnation, cidr, blockSize };
}

export function blockTarget({ definition }: CompiledPool, block: string): BlockTarget {
  return { block, pool: definition.name, incarnation: definition.incarnation, poolCidr: definition.cidr };
}

/** What each version of the policy leaves of each block; forgotten with the version. */
const policiesOfBlocks = new WeakMap<CompiledPolicy, Map<string, BlockPolicy>>();

/** What a block needs to know of the policy. */
export function blockPolicy(policy: CompiledPolicy, pool: CompiledPool, block: string): BlockPolicy {
  const ofPolicy = policiesOfBlocks.get(policy) ?? new Map<string, BlockPolicy>();
  policiesOfBlocks.set(policy, ofPolicy);
  const known = ofPolicy.get(block);
  if (known !== undefined) return known;
  const made = {
    reserved: reservedOrdinals(policy, pool, cidrOf(block)),
    cooldownMs: policy.config.ipCooldownSeconds * 1000,
  };
  if (ofPolicy.size >= PARSED_MAX) ofPolicy.clear();
  ofPolicy.set(block, made);
  return made;
}
