/**
 * Giving up blocks: which ones a request means, then each by its owner's Host under a fresh epoch.
 * May import: core, rpc and http. Each block is judged by itself; a page names a bounded number.
 */
import { type Cidr, containsCidr, formatCidr, overlaps } from "../../core/cidr.ts";
import { rejection } from "../../core/errors.ts";
import { AFFINITY_BLOCKS_MAX } from "../../core/limits.ts";
import type { CompiledPolicy, CompiledPool } from "../../core/policy.ts";
import { mapBounded } from "../concurrency.ts";
import { isKnownHost } from "../known-hosts.ts";
import type { Call } from "../operation.ts";
import { blocksOf, poolsByAddress } from "../reading/block-walk.ts";
import { poolOfBlock, storedCidr, targetOf } from "../reading/policy.ts";
import { type Judged, skipped, unsettled } from "./affinity-range.ts";

/** What a release names; all of it must fit. */
export interface ReleaseFilter {
  readonly host?: string;
  readonly range?: Cidr;
  readonly pool?: string;
  /** The last block of the page before. */
  readonly after?: Cidr;
}

/** A block with the owner that the directory, or the owner itself, names. */
interface OwnedBlock {
  readonly pool: CompiledPool;
  readonly block: Cidr;
  readonly owner: string;
}

/** Tries under one fresh epoch each, where a row moves on meanwhile or a step has no answer in time. */
const TRIES_MAX = 2;
/** Releases under way at a time: none may wait for long behind the others. */
const RELEASES_AT_ONCE = 8;

/** Releases one page of blocks. `more`: there are others after them. */
export async function releaseBlocks(
  call: Call,
  policy: CompiledPolicy,
  filter: ReleaseFilter,
  mustBeEmpty: boolean,
): Promise<{ readonly judged: readonly Judged[]; readonly last?: string; readonly more: boolean }> {
  const found = await targets(call, policy, filter);
  const page = found.slice(0, AFFINITY_BLOCKS_MAX);
  const work = (target: OwnedBlock) => giveUp(call, target, filter.host, mustBeEmpty);
  const judged = await mapBounded(page, work, RELEASES_AT_ONCE);
  const last = page.at(-1);
  const more = found.length > page.length;
  return last === undefined ? { judged, more } : { judged, last: formatCidr(last.block), more };
}

/** The owned blocks that are meant, by address, one more than a page. */
async function targets(call: Call, policy: CompiledPolicy, filter: ReleaseFilter): Promise<OwnedBlock[]> {
  const byBlock = new Map<string, OwnedBlock>();
  // Whoever owns the blocks of a range is told; of a host alone its own rows say all.
  if (filter.host === undefined || filter.range !== undefined) {
    for await (const found of ownedIn(call, policy, filter)) {
      byBlock.set(formatCidr(found.block), found);
      if (byBlock.size > AFFINITY_BLOCKS_MAX) break;
    }
  }
  if (filter.host !== undefined && (await isKnownHost(call, filter.host))) {
    const { rows } = await call.ports.host(filter.host).affinities({ host: filter.host });
    for (const row of rows) {
      const block = storedCidr(row.block);
      const pool = poolOfBlock(policy, block);
      const isThisPool =
        pool?.definition.name === row.pool && pool.definition.incarnation === row.incarnation;
      if (pool === undefined || !isThisPool || !isMeant(filter, pool, block)) continue;
      if (!byBlock.has(row.block)) byBlock.set(row.block, { pool, block, owner: filter.host });
    }
  }
  const all = [...byBlock.values()].toSorted((one, other) => compare(one.block, other.block));
  return all.slice(0, AFFINITY_BLOCKS_MAX + 1);
}

async function* ownedIn(
  call: Call,
  policy: CompiledPolicy,
  filter: ReleaseFilter,
): AsyncGenerator<OwnedBlock> {
  for (const pool of poolsByAddress(policy)) {
    if (filter.pool !== undefined && pool.definition.name !== filter.pool) continue;
    if (filter.range !== undefined && !overlaps(pool.cidr, filter.range)) continue;
    const { after } = filter;
    const isPast = after !== undefined && containsCidr(pool.cidr, after);
    for await (const { block, entry } of blocksOf(call, pool, isPast ? { after: formatCidr(after) } : {})) {
      if (entry.owner !== undefined && isMeant(filter, pool, block))
        yield { pool, block, owner: entry.owner };
    }
  }
}

function isMeant({ pool: name, range, after }: ReleaseFilter, pool: CompiledPool, block: Cidr): boolean {
  if (name !== undefined && pool.definition.name !== name) return false;
  if (range !== undefined && !containsCidr(range, block)) return false;
  return after === undefined || compare(after, block) < 0;
}

function compare(one: Cidr, other: Cidr): number {
  if (one.family !== other.family) return one.family - other.family;
  return one.base < other.base ? -1 : Number(one.base > other.base);
}

/** A fresh epoch of the Pool, then the owner's Host gives the block back (design: release of a block). */
async function giveUp(
  call: Call,
  { pool, block: range, owner }: OwnedBlock,
  host: string | undefined,
  mustBeEmpty: boolean,
): Promise<Judged> {
  const block = formatCidr(range);
  const ofOther = (name: string) => skipped(block, rejection("block_owned_by_other", { block, host: name }));
  if (host !== undefined && owner !== host) return ofOther(owner);
  const target = targetOf(pool);
  const { incarnation } = target;
  for (let round = 0; round < TRIES_MAX; round += 1) {
    const port = call.ports.pool(target.pool, incarnation);
    const fresh = await port.fresh({ ...target, owner, block });
    if (fresh.kind === "other") return ofOther(fresh.owner);
    const { epoch } = fresh;
    const message = { host: owner, block, pool: target.pool, incarnation, epoch, mustBeEmpty };
    const said = await call.ports.host(owner).releaseBlock({ ...message, forReclaim: false });
    switch (said.kind) {
      case "released":
      case "draining":
        return { outcome: { block, outcome: "released", owner } };
      case "block_not_empty":
        return skipped(block, rejection("block_not_empty", { block, allocated: said.allocated }));
      case "too_young":
        return skipped(block, unsettled(owner));
      case "unsettled":
      case "stale":
        continue;
    }
  }
  return skipped(block, unsettled(owner));
}
