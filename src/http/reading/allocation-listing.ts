/**
 * One page of allocations, in the order of addresses: candidate blocks first, then each block's own answer.
 * May import: core, rpc and http. A page asks a bounded number of blocks and may be empty.
 */

import { formatAddress, parseAddress } from "../../core/address.ts";
import type { AddressRecord } from "../../core/allocation.ts";
import { blockOf, formatCidr, lastAddress, parseBlockName, size } from "../../core/cidr.ts";
import type { Rejection } from "../../core/errors.ts";
import { invariant } from "../../core/invariant.ts";
import type { CompiledPolicy } from "../../core/policy.ts";
import { ok, type Result } from "../../core/result.ts";
import { CALLS_AT_ONCE, mapBounded, OBJECTS_PER_PAGE_MAX } from "../concurrency.ts";
import { isKnownHost } from "../known-hosts.ts";
import type { Call } from "../operation.ts";
import { invalidCursor, type PageRequest, readPage } from "../paging.ts";
import { allocationOnWire } from "../present/allocation.ts";
import type { Wire } from "../schemas/components.ts";
import type { allocationsQuery } from "../schemas/parameters.ts";
import type { z } from "../schemas/zod.ts";
import { blocksOf, newScan, poolsByAddress, type Scan } from "./block-walk.ts";
import { byAddress } from "./handle-records.ts";
import {
  blockPolicyOf,
  leasedPolicy,
  locateBlock,
  placedByPolicy,
  poolOfBlock,
  storedCidr,
} from "./policy.ts";

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
  const items: AddressRecord[] = [];
  const scan = newScan();
  let asked = 0;
  let slice = 0;
  let blocks: string[] = [];
  const ask = async (): Promise<void> => {
    const views = await mapBounded(blocks, (block) => recordsOf(call, policy, block, query));
    items.push(
      ...views
        .flat()
        .filter((record) => isAfter(page.value, record))
        .toSorted(byAddress),
    );
  };
  for await (const block of candidates(call, policy, query, page.value, scan)) {
    // As many as would fill the page if they were full; of a host with few in each, more and more.
    if (blocks.length === 0) {
      slice = Math.min(SLICE_MAX, slice === 0 ? blocksFilling(page.value.limit, block) : 2 * slice);
    }
    blocks.push(block);
    asked += 1;
    if (blocks.length < slice && asked < OBJECTS_PER_PAGE_MAX) continue;
    await ask();
    if (items.length > page.value.limit) break;
    // Everything up to the end of this block has been seen.
    if (asked >= OBJECTS_PER_PAGE_MAX) return ok(written(policy, items, page.value, endOf(block)));
    blocks = [];
  }
  if (items.length <= page.value.limit) await ask();
  const seenUpTo = scan.isOver && scan.at !== undefined ? endOf(scan.at) : undefined;
  return ok(written(policy, items, page.value, seenUpTo));
}

/** How many blocks like this one hold more than a page. */
function blocksFilling(limit: number, block: string): number {
  return Math.ceil((limit + 1) / Number(size(storedCidr(block))));
}

function written(
  policy: CompiledPolicy,
  records: readonly AddressRecord[],
  page: PageRequest,
  seenUpTo: string | undefined,
): Wire["AllocationList"] {
  const shown = records.slice(0, page.limit);
  const last = records.length > page.limit ? shown.at(-1)?.address : seenUpTo;
  return {
    items: shown.map((record) => allocationOnWire(placedByPolicy(policy, record))),
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
    yield* named.filter((block) => isWanted(policy, query, block) && isNotPassed(page, block));
    return;
  }
  for (const pool of poolsByAddress(policy)) {
    if (query.pool !== undefined && pool.definition.name !== query.pool) continue;
    if (!isNotPassed(page, pool.definition.cidr)) continue;
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
  return [...new Set(blocks)].toSorted((one, other) => orderOf(one, other));
}

function orderOf(one: string, other: string): number {
  const [left, right] = [storedCidr(one), storedCidr(other)];
  if (left.family !== right.family) return left.family - right.family;
  return left.base < right.base ? -1 : Number(left.base > right.base);
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

/** Whether a range reaches beyond the cursor. */
function isNotPassed({ after }: PageRequest, range: string): boolean {
  if (after === undefined) return true;
  const cidr = storedCidr(range);
  const seen = cursorAddress(after);
  if (cidr.family !== seen.family) return cidr.family > seen.family;
  return lastAddress(cidr) > seen.value;
}

/** The block in which the cursor stands, when it is one of this pool and not passed. */
function cursorBlock(policy: CompiledPolicy, page: PageRequest, poolName: string): string | undefined {
  if (page.after === undefined) return undefined;
  const seen = cursorAddress(page.after);
  const pool = policy.poolOf(seen);
  if (pool === undefined || pool.definition.name !== poolName) return undefined;
  const cidr = blockOf(seen, pool.definition.blockSize);
  return formatCidr(cidr);
}

function cursorAddress(text: string) {
  const parsed = parseAddress(text);
  invariant(parsed.ok, "the cursor has been read before");
  return parsed.value;
}

function endOf(block: string): string {
  const cidr = storedCidr(block);
  return formatAddress({ family: cidr.family, value: lastAddress(cidr) });
}

function isAfter({ after }: PageRequest, record: AddressRecord): boolean {
  if (after === undefined) return true;
  const [seen, own] = [cursorAddress(after), cursorAddress(record.address)];
  return own.family === seen.family ? own.value > seen.value : own.family > seen.family;
}

async function recordsOf(
  call: Call,
  policy: CompiledPolicy,
  block: string,
  query: Query,
): Promise<AddressRecord[]> {
  const cidr = storedCidr(block);
  const pool = poolOfBlock(policy, cidr);
  if (pool === undefined) return [];
  const view = await call.ports.block(block).describe({
    block,
    policy: blockPolicyOf(policy, pool, cidr),
    records: query.handle === undefined ? "all" : { handle: query.handle },
  });
  return view.records.filter(
    (record) =>
      record.state === (query.state ?? "allocated") &&
      (query.host === undefined || record.host === query.host) &&
      (query.handle === undefined || record.handle === query.handle) &&
      (query.namespace === undefined || record.attributes.namespace === query.namespace) &&
      (query.pod === undefined || record.attributes.pod === query.pod),
  );
}
