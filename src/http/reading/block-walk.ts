/**
 * Walks the directories of pools in the order of addresses, a bounded answer at a time.
 * May import: core, rpc and http. Blocks that the directory calls free are passed over, not asked.
 */
import { blockOf, formatCidr, lastAddress } from "../../core/cidr.ts";
import type { CompiledPolicy, CompiledPool } from "../../core/policy.ts";
import type { Call } from "../operation.ts";
import { type LocatedBlock, storedCidr, targetOf } from "./policy.ts";

/** Directory rows of one answer of a Pool. */
const ROWS_PER_CALL = 512;
/** Answers of Pools that one page looks through; the rest comes with the next page. */
export const DIRECTORY_ANSWERS_MAX = 256;

/** How far one page may look, and how far it has looked. */
export interface Scan {
  left: number;
  /** The block up to which the directories were looked through, whatever was found. */
  at: string | undefined;
  /** There was more to look at. */
  isOver: boolean;
}

export function newScan(): Scan {
  return { left: DIRECTORY_ANSWERS_MAX, at: undefined, isOver: false };
}

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
  filter: { readonly after?: string; readonly owner?: string; readonly scan?: Scan } = {},
): AsyncGenerator<LocatedBlock> {
  const { scan } = filter;
  const target = targetOf(pool);
  const port = call.ports.pool(target.pool, target.incarnation);
  let next: string | undefined = filter.after;
  do {
    if (scan?.left === 0) {
      scan.isOver = true;
      return;
    }
    const listed = await port.list({
      ...target,
      limit: ROWS_PER_CALL,
      ...(next === undefined ? {} : { after: next }),
      ...(filter.owner === undefined ? {} : { owner: filter.owner }),
    });
    if (scan !== undefined) {
      scan.left -= 1;
      scan.at = listed.next ?? lastBlockOf(pool);
    }
    for (const entry of listed.entries) {
      if (entry.state !== "free") yield { pool, block: storedCidr(entry.block), entry };
    }
    next = listed.next;
  } while (next !== undefined);
}

/** The block at the end of a pool, whether it exists or not. */
function lastBlockOf({ cidr, definition }: CompiledPool): string {
  return formatCidr(blockOf({ family: cidr.family, value: lastAddress(cidr) }, definition.blockSize));
}
