/**
 * What the routes read from the policy: which pool holds an address, which of a block is held back.
 * May import: core, rpc and http. Routes that create or release take the leased policy.
 */

import { parseAddress } from "../../core/address.ts";
import type { AddressRecord } from "../../core/allocation.ts";
import { type Cidr, parseCidr } from "../../core/cidr.ts";
import { type Rejection, rejection } from "../../core/errors.ts";
import { invariant } from "../../core/invariant.ts";
import { interfacePrefix, isInPool, reservedOrdinals } from "../../core/placement.ts";
import { type CompiledPolicy, type CompiledPool, compilePolicy, type Policy } from "../../core/policy.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { BlockPolicy } from "../../rpc/block.ts";
import type { PlacedAddress } from "../../rpc/host.ts";
import type { DirectoryEntry, PoolTarget } from "../../rpc/pool.ts";
import type { Call } from "../operation.ts";

/** The policy under this isolate's lease. */
export async function leasedPolicy(
  call: Call,
): Promise<Result<CompiledPolicy, Rejection<"policy_unavailable">>> {
  const leased = await call.policy.current(call.now());
  return leased === undefined ? err(rejection("policy_unavailable", {})) : ok(leased.policy);
}

/** The policy as Cluster stores it now: a read sees every write that was answered. */
export async function storedPolicy(call: Call): Promise<Policy> {
  const { policy } = await call.ports.cluster().policy({});
  invariant(policy !== undefined, "a policy that is not known is always sent");
  return policy;
}

/** The stored policy with its texts read. */
export async function storedCompiledPolicy(call: Call): Promise<CompiledPolicy> {
  return compilePolicy(await storedPolicy(call));
}

/** How a Pool is told which pool is meant. */
export function targetOf({ definition }: Pick<CompiledPool, "definition">): PoolTarget {
  const { name, incarnation, cidr, blockSize } = definition;
  return { pool: name, incarnation, cidr, blockSize };
}

/** The pool that a block belongs to; undefined when the range is no block of any pool. */
export function poolOfBlock(policy: CompiledPolicy, block: Cidr): CompiledPool | undefined {
  const pool = policy.poolOf({ family: block.family, value: block.base });
  if (pool === undefined || pool.definition.blockSize !== block.prefix) return undefined;
  return isInPool(pool, block) ? pool : undefined;
}

/** The part of the policy that one block needs. */
export function blockPolicyOf(policy: CompiledPolicy, pool: CompiledPool, block: Cidr): BlockPolicy {
  return { reserved: reservedOrdinals(policy, pool, block), cooldownMs: cooldownMsOf(policy) };
}

/** What a release tells its block; of a block outside all pools nothing is held back. */
export function releasePolicyOf(policy: CompiledPolicy, block: string): BlockPolicy {
  const cidr = storedCidr(block);
  const pool = poolOfBlock(policy, cidr);
  return pool === undefined
    ? { reserved: [], cooldownMs: cooldownMsOf(policy) }
    : blockPolicyOf(policy, pool, cidr);
}

/** Milliseconds for which a released address cools. */
export function cooldownMsOf(policy: CompiledPolicy): number {
  return policy.config.ipCooldownSeconds * 1000;
}

/** Reads a range that one of our objects wrote. */
export function storedCidr(text: string): Cidr {
  const parsed = parseCidr(text);
  invariant(parsed.ok, "an object gave a range that cannot be read");
  return parsed.value;
}

/** Adds to a record what only the policy knows. Why: a block knows no pool and no reservation by itself. */
export function placedByPolicy(policy: CompiledPolicy, record: AddressRecord): PlacedAddress {
  const address = parseAddress(record.address);
  invariant(address.ok, "an object gave an address that cannot be read");
  const pool = policy.poolOf(address.value);
  const reserved = policy.reserved[record.family].contains(address.value.value);
  if (pool === undefined) {
    return { record, pool: "", interfacePrefix: storedCidr(record.block).prefix, reserved };
  }
  const { name, gateway } = pool.definition;
  return {
    record,
    pool: name,
    interfacePrefix: interfacePrefix(pool),
    ...(gateway === undefined ? {} : { gateway }),
    reserved,
  };
}

/** A block that the directory confirms, with the pool it belongs to. */
export interface LocatedBlock {
  readonly pool: CompiledPool;
  readonly block: Cidr;
  readonly entry: DirectoryEntry;
}

/**
 * Finds a block without touching it: only what the Pool confirms may be asked.
 * Why: any call to an object's name creates its database.
 */
export async function locateBlock(
  call: Call,
  policy: CompiledPolicy,
  block: Cidr,
  text: string,
): Promise<LocatedBlock | undefined> {
  const pool = poolOfBlock(policy, block);
  if (pool === undefined) return undefined;
  const target = targetOf(pool);
  const { entry } = await call.ports.pool(target.pool, target.incarnation).find({ ...target, block: text });
  return entry === undefined || entry.state === "free" ? undefined : { pool, block, entry };
}
