/**
 * Walks the directories of pools in the order of addresses, a bounded answer at a time.
 * May import: core, rpc and http. Blocks that the directory calls free are passed over, not asked.
 */
import type { CompiledPolicy, CompiledPool } from "../../core/policy.ts";
import type { Call } from "../operation.ts";
import { type LocatedBlock, storedCidr, targetOf } from "./policy.ts";

/** Directory rows of one answer of a Pool. */
const ROWS_PER_CALL = 512;

/** Pools in the order of their addresses, IPv4 first. */
export function poolsByAddress(policy: CompiledPolicy): CompiledPool[] {
  return policy.pools.toSorted(({ cidr: one }, { cidr: other }) => {
    if (one.family !== other.family) return one.family - other.family;
    return one.base < other.base ? -1 : 1;
  });
}

/** The blocks of a pool that exist, in the order of addresses, after a block or from the start. */
export async function* blocksOf(
  call: Call,
  pool: CompiledPool,
  filter: { readonly after?: string; readonly owner?: string } = {},
): AsyncGenerator<LocatedBlock> {
  const target = targetOf(pool);
  const port = call.ports.pool(target.pool, target.incarnation);
  let next: string | undefined = filter.after;
  do {
    const listed = await port.list({
      ...target,
      limit: ROWS_PER_CALL,
      ...(next === undefined ? {} : { after: next }),
      ...(filter.owner === undefined ? {} : { owner: filter.owner }),
    });
    for (const entry of listed.entries) {
      if (entry.state !== "free") yield { pool, block: storedCidr(entry.block), entry };
    }
    next = listed.next;
  } while (next !== undefined);
}
