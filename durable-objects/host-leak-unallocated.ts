/**
 * Addresses that are in use on a host which does not hold them: what the service knows of each.
 * May import: core, rpc. Rule: no block is asked whose existence its Pool has not confirmed.
 */
import { parseAddress } from "../src/core/address.ts";
import { blockOf, formatCidr } from "../src/core/cidr.ts";
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import type { AddressInspection } from "../src/rpc/block.ts";
import type { UnallocatedUseView } from "../src/rpc/leaks.ts";
import { again, blockPolicy, type HostContext, poolTarget } from "./host-context.ts";

/** Addresses that are looked up for one report; the others are told as unknown. */
const LOOKED_UP_MAX = 64;
/** Addresses that are told of, looked up or not. */
const TOLD_MAX = 1_024;

/** Looks addresses up; `mine` names blocks that say that the host holds them after all. */
export async function unallocatedUse(
  host: HostContext,
  name: string,
  policy: CompiledPolicy,
  addresses: readonly string[],
  mine: (block: string) => void,
): Promise<UnallocatedUseView[]> {
  const told = addresses.slice(0, TOLD_MAX);
  const looks = told.map(async (address, at): Promise<UnallocatedUseView | undefined> => {
    const parsed = parseAddress(address);
    if (!parsed.ok) return { address, state: "not_in_any_pool" };
    const pool = policy.poolOf(parsed.value);
    if (pool === undefined) return { address, state: "not_in_any_pool" };
    if (at >= LOOKED_UP_MAX) return { address, state: "unknown" };
    const block = formatCidr(blockOf(parsed.value, pool.definition.blockSize));
    const said = await inspected(host, policy, pool, block, address);
    if (said === undefined) return { address, state: "unknown" };
    const { record } = said === "free" ? {} : said;
    if (said !== "free" && record?.host === name) {
      mine(block);
      return undefined;
    }
    const isReserved = policy.reserved[parsed.value.family].contains(parsed.value.value);
    const known = said === "free" ? "free" : said.state;
    const state = known === "host_reserved" || (known === "free" && isReserved) ? "reserved" : known;
    return record === undefined
      ? { address, state }
      : { address, state, handle: record.handle, holder: record.host };
  });
  return (await Promise.all(looks)).filter((view) => view !== undefined);
}

/** What a block says of an address; `free` where the Pool knows of no such block. */
async function inspected(
  host: HostContext,
  policy: CompiledPolicy,
  pool: CompiledPool,
  block: string,
  address: string,
): Promise<AddressInspection | "free" | undefined> {
  const { ports } = host.runtime;
  const { name, incarnation } = pool.definition;
  const question = { ...poolTarget(pool), block };
  const found = await again(host, () => ports.pool(name, incarnation).find(question));
  if (found.kind !== "answered") return undefined;
  const { entry } = found.value;
  if (entry === undefined || entry.state === "free") return "free";
  const asked = { block, address, policy: blockPolicy(policy, pool, block) };
  const said = await again(host, () => ports.block(block).inspect(asked));
  return said.kind === "answered" ? said.value : undefined;
}
