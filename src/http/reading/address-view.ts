/**
 * All that is known of one address: from the policy, the directory, and the block if there is one.
 * May import: core, rpc and http. A block that the directory does not confirm is not asked.
 */
import { type Address, formatAddress } from "../../core/address.ts";
import type { AddressRecord } from "../../core/allocation.ts";
import { blockOf, containsAddress, formatCidr } from "../../core/cidr.ts";
import { reservedOrdinals } from "../../core/placement.ts";
import { type CompiledPolicy, type CompiledPool, compilePolicy } from "../../core/policy.ts";
import type { AddressInspection, PastTenure } from "../../rpc/block.ts";
import type { ListedLeak } from "../../rpc/leaks.ts";
import { isKnownHost } from "../known-hosts.ts";
import type { Call } from "../operation.ts";
import { allocationOnWire } from "../present/allocation.ts";
import { leakOnWire } from "../present/leak.ts";
import { timeText } from "../problems/row.ts";
import type { Wire } from "../schemas/components.ts";
import { blockPolicyOf, placedByPolicy, storedCidr, storedPolicy, targetOf } from "./policy.ts";

type View = Wire["AddressView"];

/** Reads everything about any address; of one that is held also whether its host suspects a leak. */
export async function addressView(call: Call, address: Address): Promise<View> {
  const stored = await storedPolicy(call);
  const policy = compilePolicy(stored);
  const reservations = stored.reservations
    .filter(({ reservedCIDRs }) => reservedCIDRs.some((text) => containsAddress(storedCidr(text), address)))
    .map(({ name }) => name);
  const what = { address: formatAddress(address), family: address.family, reservations };
  const pool = policy.poolOf(address);
  if (pool === undefined) {
    return {
      ...what,
      state: "not_in_any_pool",
      allocatable: false,
      reason: "no_pool",
      tenures: [],
      tenuresComplete: false,
      asOf: timeText(call.now()),
    };
  }
  return { ...what, ...(await inPool(call, policy, pool, address)) };
}

async function inPool(
  call: Call,
  policy: CompiledPolicy,
  pool: CompiledPool,
  address: Address,
): Promise<Omit<View, "address" | "family" | "reservations">> {
  const range = blockOf(address, pool.definition.blockSize);
  const block = formatCidr(range);
  const place = { pool: pool.definition.name, block };
  const target = targetOf(pool);
  const { entry } = await call.ports.pool(target.pool, target.incarnation).find({ ...target, block });
  if (entry === undefined || entry.state === "free") {
    return {
      ...place,
      ...verdict(reasonOfPolicy(policy, pool, address)),
      state: "no_block",
      tenures: [],
      // A block that has been and gone is not asked what it remembers.
      tenuresComplete: entry === undefined,
      asOf: timeText(call.now()),
    };
  }
  const question = { block, address: formatAddress(address), policy: blockPolicyOf(policy, pool, range) };
  const known = await call.ports.block(block).inspect(question);
  const leak = known.record === undefined ? undefined : await leakOf(call, address, known.record);
  const reason = known.state === "free" ? reasonWhereFree(policy, pool, address, known) : known.state;
  return {
    ...place,
    ...verdict(reason),
    ...(known.owner === undefined ? {} : { blockOwner: known.owner }),
    state: known.state,
    ...(known.record === undefined
      ? {}
      : { allocation: allocationOnWire(placedByPolicy(policy, known.record)) }),
    ...(known.freeAt === undefined ? {} : { freeAt: timeText(known.freeAt) }),
    ...(leak === undefined ? {} : { leak: leakOnWire(leak) }),
    tenures: known.tenures.map(tenureOnWire),
    tenuresComplete: known.isComplete,
    asOf: timeText(call.now()),
  };
}

/** What the holder's host suspects of it; a suspicion of an earlier allocation is not told. */
async function leakOf(call: Call, address: Address, record: AddressRecord): Promise<ListedLeak | undefined> {
  const { host, handle, sequenceNumber } = record;
  if (!(await isKnownHost(call, host))) return undefined;
  const { family, value } = address;
  const after = value === 0n ? {} : { after: formatAddress({ family, value: value - 1n }) };
  const { leaks } = await call.ports.host(host).leaks({ host, limit: 1, ...after });
  return leaks.find(
    (leak) =>
      leak.address === record.address && leak.handle === handle && leak.sequenceNumber === sequenceNumber,
  );
}

function verdict(reason: string | undefined): Pick<View, "allocatable" | "reason"> {
  return reason === undefined ? { allocatable: true } : { allocatable: false, reason };
}

/** A block without owner gives nothing automatically. */
function reasonWhereFree(
  policy: CompiledPolicy,
  pool: CompiledPool,
  address: Address,
  { owner }: AddressInspection,
): string | undefined {
  const ofPolicy = reasonOfPolicy(policy, pool, address);
  return ofPolicy ?? (owner === undefined ? "block_draining" : undefined);
}

/** Why the policy gives an address to nobody; the pool first. */
function reasonOfPolicy(policy: CompiledPolicy, pool: CompiledPool, address: Address): string | undefined {
  const { terminating, disabled, assignmentMode } = pool.definition;
  if (terminating !== undefined) return "pool_draining";
  if (disabled) return "pool_disabled";
  if (assignmentMode === "Manual") return "manual_only";
  const alone = blockOf(address, address.family === 4 ? 32 : 128);
  return reservedOrdinals(policy, pool, alone).length > 0 ? "reserved" : undefined;
}

function tenureOnWire(tenure: PastTenure): Wire["Tenure"] {
  const { attributes, allocatedAt, releasedAt, ...rest } = tenure;
  return {
    ...rest,
    ...(Object.keys(attributes).length === 0 ? {} : { attributes: { ...attributes } }),
    allocatedAt: timeText(allocatedAt),
    releasedAt: timeText(releasedAt),
  };
}
