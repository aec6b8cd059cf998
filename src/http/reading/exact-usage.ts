/**
 * Exact figures of pools, asked of their blocks: as many pools as one request may ask, then the next page.
 * May import: core, rpc and http. A cursor carries the sum of a pool that was too large for one request.
 */
import type { BlockCounts } from "../../core/allocation.ts";
import { blockGrid, positionOf } from "../../core/block-grid.ts";
import { invariant } from "../../core/invariant.ts";
import {
  type CompiledPolicy,
  type CompiledPool,
  compilePolicy,
  type Policy,
  type PoolDefinition,
} from "../../core/policy.ts";
import { addSums, type BlocksSum, reservedWithin, sumBlocks, usageOf } from "../../core/pool-usage.ts";
import type { DirectoryEntry, PoolUsageView } from "../../rpc/pool.ts";
import { mapBounded } from "../concurrency.ts";
import type { Call } from "../operation.ts";
import { blockPolicyOf, storedCidr, targetOf } from "./policy.ts";
import { reservedOfFamily } from "./pool-usage.ts";

/** Object calls of one request. Why: the platform allows 1,000, and one is for the policy. */
const CALLS_MAX = 880;
/** Directory rows of one answer of a Pool. */
const ROWS_PER_CALL = 256;

/** Where a page ended: behind a whole pool, or inside one with the sum of the blocks up to there. */
export interface ExactMark {
  readonly pool: string;
  readonly inside?: { readonly block: string; readonly sum: BlocksSum };
}

export interface ExactUsage {
  readonly pool: PoolDefinition;
  readonly usage: PoolUsageView;
}

/** Reads exact figures from a mark on. Rejects: nothing; pools that are gone are passed over. */
export async function exactUsages(
  call: Call,
  policy: Policy,
  pools: readonly PoolDefinition[],
  from: ExactMark | undefined,
  limit: number,
): Promise<{ usages: ExactUsage[]; next?: ExactMark }> {
  const compiled = compilePolicy(policy);
  const usages: ExactUsage[] = [];
  const budget = { calls: CALLS_MAX };
  let mark = from;
  for (const pool of pools) {
    const { name } = pool;
    const inside = mark?.pool === name ? mark.inside : undefined;
    if (mark !== undefined && (name < mark.pool || (name === mark.pool && inside === undefined))) continue;
    if (usages.length === limit || budget.calls < 2)
      return mark === undefined ? { usages } : { usages, next: mark };
    const own = compiled.pools.find(({ definition }) => definition.name === name);
    invariant(own !== undefined, "a compiled policy has all its pools");
    const walked = await walk(call, compiled, reservedOfFamily(policy, pool), own, inside, budget);
    if ("inside" in walked) return { usages, next: { pool: name, inside: walked.inside } };
    usages.push({ pool, usage: walked.usage });
    mark = { pool: name };
  }
  return { usages };
}

/** Asks the blocks of one pool, from a block on, until the pool or the budget is at its end. */
async function walk(
  call: Call,
  policy: CompiledPolicy,
  reservedCidrs: readonly string[],
  pool: CompiledPool,
  from: ExactMark["inside"],
  budget: { calls: number },
): Promise<Pick<ExactUsage, "usage"> | { readonly inside: NonNullable<ExactMark["inside"]> }> {
  const target = targetOf(pool);
  const grid = blockGrid(target.cidr, target.blockSize);
  const reserved = reservedWithin(grid, reservedCidrs);
  const port = call.ports.pool(target.pool, target.incarnation);
  let sum = from?.sum ?? sumBlocks(grid, reserved, [], call.now());
  let after = from?.block;
  for (;;) {
    const limit = Math.min(ROWS_PER_CALL, budget.calls - 1);
    if (limit < 1) {
      invariant(after !== undefined, "a walk asks at least once");
      return { inside: { block: after, sum } };
    }
    const listed = await port.list({ ...target, limit, ...(after === undefined ? {} : { after }) });
    const blocks = await mapBounded(listed.entries, (entry) => figuresOf(call, policy, pool, entry));
    budget.calls -= 1 + blocks.length;
    const exist = blocks.flatMap(({ entry, owner, counts }) => {
      const position = positionOf(grid, entry.block);
      if (position === undefined || counts === undefined) return [];
      return [{ position, owner, issuedAt: counts.asOf, counts }];
    });
    sum = addSums(sum, sumBlocks(grid, reserved, exist, call.now()));
    if (listed.next === undefined) break;
    after = listed.next;
  }
  const { nextFreeAt } = sum;
  const usage = usageOf(grid, reserved, sum);
  return {
    usage: {
      ...usage,
      capacity: String(usage.capacity),
      allocated: String(usage.allocated),
      cooling: String(usage.cooling),
      reserved: String(usage.reserved),
      available: String(usage.available),
      ...(nextFreeAt === undefined ? {} : { nextFreeAt }),
      exact: true,
    },
  };
}

/** What a block says of itself; no counts: it does not exist any more. */
async function figuresOf(
  call: Call,
  policy: CompiledPolicy,
  pool: CompiledPool,
  entry: DirectoryEntry,
): Promise<{ entry: DirectoryEntry; owner: string | undefined; counts: BlockCounts | undefined }> {
  const { block } = entry;
  const question = { block, policy: blockPolicyOf(policy, pool, storedCidr(block)) };
  const { exists, owner, counts } = await call.ports.block(block).describe(question);
  return { entry, owner, counts: exists ? counts : undefined };
}

/** Writes a mark as text for a cursor. */
export function markText({ pool, inside }: ExactMark): string {
  if (inside === undefined) return JSON.stringify([pool]);
  const { open, available, ...rest } = inside.sum;
  return JSON.stringify([pool, inside.block, { ...rest, open: `${open}`, available: `${available}` }]);
}

/** The last time that has a text, milliseconds since 1970. */
const TIME_MAX = 8.64e15;
const SUM_FIELDS = ["allocated", "cooling", "blocks", "blocksFull", "blocksUnowned", "asOf"] as const;

/** Reads a mark; undefined when it is none. Why: anybody can write a cursor, so nothing in it is believed. */
export function readMark(text: string): ExactMark | undefined {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(read) || typeof read[0] !== "string") return undefined;
  const [pool, block, given] = read as [string, unknown, unknown];
  if (read.length === 1) return { pool };
  if (typeof block !== "string" || typeof given !== "object" || given === null) return undefined;
  const { open, available, nextFreeAt, ...rest } = given as Record<string, unknown>;
  const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;
  const isDecimal = (value: unknown): value is string =>
    typeof value === "string" && /^\d{1,39}$/.test(value);
  if (!SUM_FIELDS.every((name) => isCount(rest[name])) || !isDecimal(open) || !isDecimal(available))
    return undefined;
  const isTime = (value: unknown) => isCount(value) && Number(value) <= TIME_MAX;
  if (!isTime(rest.asOf) || (nextFreeAt !== undefined && !isTime(nextFreeAt))) return undefined;
  const counts = Object.fromEntries(SUM_FIELDS.map((name) => [name, Number(rest[name])]));
  const known = nextFreeAt === undefined ? {} : { nextFreeAt: Number(nextFreeAt) };
  const sum = { ...counts, ...known, open: BigInt(open), available: BigInt(available) } as BlocksSum;
  return { pool, inside: { block, sum } };
}
