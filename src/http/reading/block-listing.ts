/**
 * One page of blocks: the directories say which exist, each block says how it is.
 * May import: core, rpc and http.
 */
import { parseCidr } from "../../core/cidr.ts";
import type { Rejection } from "../../core/errors.ts";
import type { CompiledPolicy } from "../../core/policy.ts";
import { ok, type Result } from "../../core/result.ts";
import { mapBounded, OBJECTS_PER_PAGE_MAX } from "../concurrency.ts";
import type { Call } from "../operation.ts";
import { invalidCursor, type PageRequest, readPage } from "../paging.ts";
import { blockOnWire } from "../present/block.ts";
import type { Wire } from "../schemas/components.ts";
import type { blocksQuery } from "../schemas/parameters.ts";
import type { z } from "../schemas/zod.ts";
import { blocksOf, newScan, poolsByAddress } from "./block-walk.ts";
import { blockPolicyOf, type LocatedBlock, poolOfBlock, storedCompiledPolicy } from "./policy.ts";

type Query = z.output<typeof blocksQuery>;

/** Lists one page of blocks. */
export async function listBlockPage(
  call: Call,
  query: Query,
): Promise<Result<Wire["BlockList"], Rejection<"invalid_request">>> {
  const page = await readPage("listBlocks", query);
  if (!page.ok) return page;
  const policy = await storedCompiledPolicy(call);
  const found = await locate(call, policy, query, page.value);
  if (found === undefined) return invalidCursor("names no block of a pool: start again");
  const { located, seen } = found;
  const items = await mapBounded(located, async (one) => {
    const { block } = one.entry;
    const own = blockPolicyOf(policy, one.pool, one.block);
    const view = await call.ports.block(block).describe({ block, policy: own, map: query.map ?? false });
    return view.exists ? [blockOnWire(one, view)] : [];
  });
  const next = seen === undefined ? {} : { nextCursor: page.value.cursorAfter(seen) };
  return ok({ items: items.flat(), ...next });
}

/**
 * Finds the blocks of a page, and where the next one begins; undefined when the cursor names no block of a pool.
 * Why: a filter that few blocks pass ends a page by what was looked through, so a page may be empty.
 */
async function locate(
  call: Call,
  policy: CompiledPolicy,
  query: Query,
  page: PageRequest,
): Promise<{ located: LocatedBlock[]; seen?: string | undefined } | undefined> {
  const limit = Math.min(page.limit, OBJECTS_PER_PAGE_MAX);
  const pools = poolsByAddress(policy).filter(
    ({ definition }) => query.pool === undefined || definition.name === query.pool,
  );
  const { after } = page;
  const at = after === undefined ? undefined : parseCidr(after);
  const started = at?.ok === true ? poolOfBlock(policy, at.value) : undefined;
  if (after !== undefined && (started === undefined || !pools.includes(started))) return undefined;
  const located: LocatedBlock[] = [];
  const scan = newScan();
  for (const pool of pools.slice(started === undefined ? 0 : pools.indexOf(started))) {
    const from = pool === started && after !== undefined ? { after } : {};
    const owner = query.host === undefined ? {} : { owner: query.host };
    for await (const one of blocksOf(call, pool, { ...from, ...owner, scan })) {
      if (query.owned !== undefined && (one.entry.state === "owned") !== query.owned) continue;
      if (located.length === limit) return { located, seen: located.at(-1)?.entry.block };
      located.push(one);
    }
    if (scan.isOver) return { located, seen: scan.at };
  }
  return { located };
}
