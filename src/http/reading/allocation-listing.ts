/**
 * One page of allocations, in the order of addresses: candidate blocks first, then each block's own answer.
 * May import: core, rpc and http. A page asks a bounded number of blocks and may be empty.
 */

import { parseAddress } from "../../core/address.ts";
import { blockOf, formatCidr, parseBlockName, size } from "../../core/cidr.ts";
import type { Rejection } from "../../core/errors.ts";
import { invariant } from "../../core/invariant.ts";
import type { CompiledPolicy } from "../../core/policy.ts";
import { ok, type Result } from "../../core/result.ts";
import { CALLS_AT_ONCE, OBJECTS_PER_PAGE_MAX } from "../concurrency.ts";
import { isKnownHost } from "../known-hosts.ts";
import type { Call } from "../operation.ts";
import { invalidCursor, type PageRequest, readPage } from "../paging.ts";
import { allocationOnWire } from "../present/allocation.ts";
import type { Wire } from "../schemas/components.ts";
import type { allocationsQuery } from "../schemas/parameters.ts";
import type { z } from "../schemas/zod.ts";
import { blocksOf, newScan, poolsByAddress, type Scan } from "./block-walk.ts";
import {
  blockPolicyOf,
  leasedPolicy,
  locateBlock,
  placedByPolicy,
  poolOfBlock,
  storedCidr,
} from "./policy.ts";
import { addressOf, byBlock, endOf, isNotPassed, type Reading, RecordPage } from "./record-page.ts";

type Query = z.output<typeof allocationsQuery>;

/** Blocks asked at a time, at most, while a page fills. */
const SLICE_MAX = CALLS_AT_ONCE;

/** Lists one page of allocations; without a state, those that are held. */
export async function listAllocationPage(
  call: Call,
  query: Query,
): Promise<Result<Wire["AllocationList"], Rejection<"invalid_request" | "policy_unavailable">>> {
  const page = await readPage("listAllocations", query);
  if (!page.ok) return page;
  if (page.value.after !== undefined && !parseAddress(page.value.after).ok) {
    return invalidCursor("names no address");
  }
  const leased = await leasedPolicy(call);
  if (!leased.ok) return leased;
  const policy = leased.value;
  const records = new RecordPage(call, readingOf(policy, query, page.value));
  const scan = newScan();
  let slice = 0;
  let blocks: string[] = [];
  for await (const block of candidates(call, policy, query, page.value, scan)) {
    // As many as would fill the page if they were full; of a host with few in each, more and more.
    if (blocks.length === 0) {
      slice = Math.min(SLICE_MAX, slice === 0 ? blocksFilling(page.value.limit, block) : 2 * slice);
    }
    blocks.push(block);
    if (blocks.length < slice && records.mayAsk(blocks.length)) continue;
    await records.read(blocks);
    if (records.isOver) return ok(written(policy, records, page.value));
    blocks = [];
  }
  await records.read(blocks);
  const seenUpTo = scan.isOver && scan.at !== undefined ? endOf(scan.at) : undefined;
  return ok(written(policy, records, page.value, seenUpTo));
}

/** What a page asks each block for, and what of it is shown. */
function readingOf(policy: CompiledPolicy, query: Query, { after, limit }: PageRequest): Reading {
  const { state = "allocated", host, handle, namespace, pod } = query;
  return {
    records: handle === undefined ? "all" : { handle },
    policyOf: (block) => {
      const cidr = storedCidr(block);
      const pool = poolOfBlock(policy, cidr);
      return pool === undefined ? undefined : blockPolicyOf(policy, pool, cidr);
    },
    isWanted: (record) =>
      record.state === state &&
      (host === undefined || record.host === host) &&
      (handle === undefined || record.handle === handle) &&
      (namespace === undefined || record.attributes.namespace === namespace) &&
      (pod === undefined || record.attributes.pod === pod),
    after,
    limit,
    asksMax: OBJECTS_PER_PAGE_MAX,
  };
}

/** How many blocks like this one hold more than a page. */
function blocksFilling(limit: number, block: string): number {
  return Math.ceil((limit + 1) / Number(size(storedCidr(block))));
}

function written(
  policy: CompiledPolicy,
  { items, end }: RecordPage,
  page: PageRequest,
  seenUpTo?: string,
): Wire["AllocationList"] {
  const last = end ?? seenUpTo;
  return {
    items: items.map((record) => allocationOnWire(placedByPolicy(policy, record))),
    ...(last === undefined ? {} : { nextCursor: page.cursorAfter(last) }),
  };
}

/** Blocks that may hold what is asked for, in the order of addresses, from the cursor on. */
async function* candidates(
  call: Call,
  policy: CompiledPolicy,
  query: Query,
  page: PageRequest,
  scan: Scan,
): AsyncGenerator<string> {
  const named = await namedBlocks(call, policy, query);
  if (named !== undefined) {
    yield* named.filter((block) => isWanted(policy, query, block) && isNotPassed(page.after, block));
    return;
  }
  for (const pool of poolsByAddress(policy)) {
    if (query.pool !== undefined && pool.definition.name !== query.pool) continue;
    if (!isNotPassed(page.after, pool.definition.cidr)) continue;
    const after = cursorBlock(policy, page, pool.definition.name);
    if (after !== undefined && (await exists(call, policy, after))) yield after;
    for await (const { entry } of blocksOf(call, pool, after === undefined ? { scan } : { after, scan }))
      yield entry.block;
    if (scan.isOver) return;
  }
}

/** Whether the directory has a block; one that it does not have is never asked. */
async function exists(call: Call, policy: CompiledPolicy, block: string): Promise<boolean> {
  return (await locateBlock(call, policy, storedCidr(block), block)) !== undefined;
}

/** Blocks named by the narrowest filter that tells: handle, block or host; undefined when there is none. */
async function namedBlocks(call: Call, policy: CompiledPolicy, query: Query): Promise<string[] | undefined> {
  let blocks: readonly string[];
  // The index forgets a key that was released; who held what cools only its block knows.
  if (query.handle !== undefined && query.state !== "cooling") {
    const { rows } = await call.ports.handleIndex(query.handle).list({ handle: query.handle });
    blocks = rows.map((row) => row.block);
  } else if (query.block !== undefined) {
    const parsed = parseBlockName(query.block);
    invariant(parsed.ok, "the schema has read this block");
    const text = formatCidr(parsed.value);
    blocks = (await exists(call, policy, text)) ? [text] : [];
  } else if (query.host !== undefined) {
    if (!(await isKnownHost(call, query.host))) return [];
    const { rows, borrowed } = await call.ports.host(query.host).affinities({ host: query.host });
    blocks = [...rows.map((row) => row.block), ...borrowed];
  } else {
    return undefined;
  }
  return [...new Set(blocks)].toSorted(byBlock);
}

function isWanted(policy: CompiledPolicy, query: Query, block: string): boolean {
  const cidr = storedCidr(block);
  if (query.block !== undefined && parsedBlock(query.block) !== block) return false;
  const pool = poolOfBlock(policy, cidr);
  return pool !== undefined && (query.pool === undefined || pool.definition.name === query.pool);
}

function parsedBlock(name: string): string | undefined {
  const parsed = parseBlockName(name);
  return parsed.ok ? formatCidr(parsed.value) : undefined;
}

/** The block in which the cursor stands, when it is one of this pool and not passed. */
function cursorBlock(policy: CompiledPolicy, page: PageRequest, poolName: string): string | undefined {
  if (page.after === undefined) return undefined;
  const seen = addressOf(page.after);
  const pool = policy.poolOf(seen);
  if (pool === undefined || pool.definition.name !== poolName) return undefined;
  const cidr = blockOf(seen, pool.definition.blockSize);
  return formatCidr(cidr);
}
