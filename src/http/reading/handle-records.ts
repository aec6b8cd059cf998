/**
 * What a handle holds: the index lists too much, the blocks tell the truth.
 * May import: core, rpc and http.
 */
import { parseAddress } from "../../core/address.ts";
import type { AddressRecord } from "../../core/allocation.ts";
import { invariant } from "../../core/invariant.ts";
import type { CompiledPolicy } from "../../core/policy.ts";
import { mapBounded } from "../concurrency.ts";
import type { Call } from "../operation.ts";
import { blockPolicyOf, cooldownMsOf, poolOfBlock, storedCidr } from "./policy.ts";

/** Reads the records of a handle, in the order of their addresses. */
export async function recordsOfHandle(
  call: Call,
  policy: CompiledPolicy,
  handle: string,
): Promise<AddressRecord[]> {
  const { rows } = await call.ports.handleIndex(handle).list({ handle });
  const blocks = [...new Set(rows.map((row) => row.block))];
  const views = await mapBounded(blocks, (block) => {
    const cidr = storedCidr(block);
    const pool = poolOfBlock(policy, cidr);
    const own =
      pool === undefined
        ? { reserved: [], cooldownMs: cooldownMsOf(policy) }
        : blockPolicyOf(policy, pool, cidr);
    return call.ports.block(block).describe({ block, policy: own, records: { handle } });
  });
  return views.flatMap((view) => [...view.records]).toSorted(byAddress);
}

/** Orders records by family, then by number. */
export function byAddress(one: AddressRecord, other: AddressRecord): number {
  if (one.family !== other.family) return one.family - other.family;
  const [left, right] = [numberOf(one), numberOf(other)];
  return left < right ? -1 : Number(left > right);
}

function numberOf({ address }: AddressRecord): bigint {
  const parsed = parseAddress(address);
  invariant(parsed.ok, "an object gave an address that cannot be read");
  return parsed.value.value;
}
