/**
 * How a pool ends: the drain of its definition, and its split into parts.
 * May import: core only. What becomes of its blocks: pool-drain.ts.
 */
import { parseAddress } from "./address.ts";
import { bits, type Cidr, containsAddress, formatCidr, parseCidr } from "./cidr.ts";
import { nextRevision, type Stamp } from "./definition.ts";
import { type FieldFault, type Rejection, rejection } from "./errors.ts";
import { invariant } from "./invariant.ts";
import { NAME_TEXT_MAX, POOLS_MAX, SPLIT_PARTS_MAX, SPLIT_PARTS_MIN } from "./limits.ts";
import type { PoolDefinition } from "./policy.ts";
import { err, ok, type Result } from "./result.ts";

/** Begins a drain; a pool that drains already gives back the very same definition. */
export function beginDrain(current: PoolDefinition, stamp: Stamp): PoolDefinition {
  if (current.terminating !== undefined) return current;
  return { ...current, terminating: { startedAt: stamp.now }, ...nextRevision(current, stamp) };
}

/**
 * Cuts a pool into equal parts, in the order of addresses, each with the pool's own settings.
 * Shape: `split-<pool>-<index>`; a gateway stays with the part that holds it.
 * Rejects: a draining pool; a number of parts that is no power of two, or that leaves parts smaller than a
 * block; names that are taken; more pools than there may be.
 */
export function splitPool(
  parent: PoolDefinition,
  parts: number,
  existing: readonly PoolDefinition[],
  stamp: Stamp & { readonly incarnation: number },
): Result<PoolDefinition[], Rejection<"invalid_request" | "pool_draining">> {
  const errors = partFaults(parent, parts);
  if (errors.length > 0) return err(rejection("invalid_request", { errors }));
  if (parent.terminating !== undefined) return err(rejection("pool_draining", { pool: parent.name }));
  const names = Array.from({ length: parts }, (_, index) => partName(parent.name, index));
  const taken = existing.find(({ name }) => names.includes(name));
  if (taken !== undefined) {
    const message = `A part would be named ${taken.name}, and there is a pool of that name.`;
    return err(rejection("invalid_request", { errors: [{ parameter: "pool", code: "pattern", message }] }));
  }
  if (existing.length - 1 + parts > POOLS_MAX) {
    const message = `There may be ${POOLS_MAX} pools at most.`;
    const fault = { pointer: "/parts", code: "too_many", message, limit: POOLS_MAX } as const;
    return err(rejection("invalid_request", { errors: [fault] }));
  }
  const ranges = partRanges(rangeOf(parent), parts);
  return ok(names.map((name, index) => partOf(parent, name, ranges[index], stamp)));
}

function partFaults(parent: PoolDefinition, parts: number): FieldFault[] {
  const pointer = "/parts";
  const isPower = Number.isInteger(parts) && parts >= 1 && Math.log2(parts) % 1 === 0;
  if (!isPower || parts < SPLIT_PARTS_MIN || parts > SPLIT_PARTS_MAX) {
    const message = `A pool is split into a power of two, from ${SPLIT_PARTS_MIN} to ${SPLIT_PARTS_MAX}.`;
    return [{ pointer, code: "out_of_range", message }];
  }
  const { prefix, family } = rangeOf(parent);
  const most = 2 ** Math.max(0, Math.min(parent.blockSize, bits(family)) - prefix);
  if (parts <= most) return [];
  const message = `Parts of ${parent.cidr} hold a block of /${parent.blockSize} up to ${most} parts.`;
  return [{ pointer, code: "out_of_range", message, limit: most }];
}

/** The name of a part; a long name of the pool is cut. */
function partName(parent: string, index: number): string {
  const end = `-${index}`;
  return `split-${parent.slice(0, NAME_TEXT_MAX - "split-".length - end.length)}${end}`;
}

function partRanges(whole: Cidr, parts: number): Cidr[] {
  const prefix = whole.prefix + Math.log2(parts);
  const step = 1n << BigInt(bits(whole.family) - prefix);
  return Array.from({ length: parts }, (_, index) => {
    return { family: whole.family, base: whole.base + BigInt(index) * step, prefix };
  });
}

function partOf(
  parent: PoolDefinition,
  name: string,
  range: Cidr | undefined,
  stamp: Stamp & { readonly incarnation: number },
): PoolDefinition {
  invariant(range !== undefined, "each part has a range");
  const { gateway, updatedBy: _before, ...rest } = parent;
  const address = gateway === undefined ? undefined : parseAddress(gateway);
  const holdsGateway = address?.ok === true && containsAddress(range, address.value);
  return {
    ...rest,
    name,
    incarnation: stamp.incarnation,
    cidr: formatCidr(range),
    ...(gateway !== undefined && holdsGateway ? { gateway } : {}),
    createdAt: stamp.now,
    ...nextRevision(undefined, stamp),
  };
}

function rangeOf(pool: PoolDefinition): Cidr {
  const range = parseCidr(pool.cidr);
  invariant(range.ok, `the range of pool ${pool.name} cannot be read`);
  return range.value;
}
