/**
 * The range that a claim or a release of affinities names, and its blocks.
 * May import: core and http.
 */
import { blockOf, type Cidr, formatCidr, overlaps, size } from "../../core/cidr.ts";
import { type Rejection, rejection } from "../../core/errors.ts";
import { AFFINITY_BLOCKS_MAX, IN_PROGRESS_RETRY_AFTER_SECONDS } from "../../core/limits.ts";
import { isInPool } from "../../core/placement.ts";
import type { CompiledPolicy, CompiledPool } from "../../core/policy.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { Wire } from "../schemas/components.ts";

export type RangeRefusal = Rejection<"cidr_not_in_pool" | "range_too_large" | "invalid_request">;
export type SingleRefusal = Rejection<
  "block_owned_by_other" | "block_not_empty" | "cidr_not_in_pool" | "host_removing" | "in_progress"
>;

/** The pool that the whole range lies in, whatever its state. */
export function poolOfRange(policy: CompiledPolicy, range: Cidr): CompiledPool | undefined {
  const pool = policy.poolOf({ family: range.family, value: range.base });
  return pool !== undefined && isInPool(pool, range) ? pool : undefined;
}

/** Checks that a range of a pool is one of whole blocks, not too many of them. */
export function checkBlocks(
  range: Cidr,
  { definition }: CompiledPool,
): Rejection<"range_too_large" | "invalid_request"> | undefined {
  if (range.prefix > definition.blockSize) {
    const message = `is smaller than a block: those of pool ${definition.name} are /${definition.blockSize}`;
    return rejection("invalid_request", { errors: [{ pointer: "/cidr", code: "block_size", message }] });
  }
  return 2 ** (definition.blockSize - range.prefix) > AFFINITY_BLOCKS_MAX
    ? rejection("range_too_large", { limit: AFFINITY_BLOCKS_MAX })
    : undefined;
}

/** Checks a range that lies in no pool: the blocks of the pools that lie in it are not too many. */
export function checkCover(policy: CompiledPolicy, range: Cidr): Rejection<"range_too_large"> | undefined {
  const covered = policy.pools
    .filter((one) => overlaps(one.cidr, range))
    .reduce((sum, { cidr, definition }) => sum + 2 ** (definition.blockSize - cidr.prefix), 0);
  return covered > AFFINITY_BLOCKS_MAX
    ? rejection("range_too_large", { limit: AFFINITY_BLOCKS_MAX })
    : undefined;
}

/** The blocks of a range that lies in one pool which takes claims. */
export function blocksToClaim(
  policy: CompiledPolicy,
  range: Cidr,
): Result<{ pool: CompiledPool; blocks: Cidr[] }, RangeRefusal> {
  const pool = poolOfRange(policy, range);
  const isOpen = pool?.definition.disabled === false && pool.definition.terminating === undefined;
  if (pool === undefined || !isOpen) return err(rejection("cidr_not_in_pool", { block: formatCidr(range) }));
  const refusal = checkBlocks(range, pool);
  if (refusal !== undefined) return err(refusal);
  const { blockSize } = pool.definition;
  const perBlock = size({ ...range, prefix: blockSize });
  const blocks: Cidr[] = [];
  for (let value = range.base; value < range.base + size(range); value += perBlock) {
    blocks.push(blockOf({ family: range.family, value }, blockSize));
  }
  return ok({ pool, blocks });
}

/** What became of one block; `refusal` is what it means when it was the only one named. */
export interface Judged {
  readonly outcome: Wire["AffinityOutcome"];
  readonly refusal?: SingleRefusal;
}

/** A block that was left as it is, and why. */
export function skipped(block: string, refusal: SingleRefusal): Judged {
  const owner = refusal.code === "block_owned_by_other" ? { owner: refusal.evidence.host } : {};
  return { outcome: { block, outcome: "skipped", code: refusal.code, ...owner }, refusal };
}

/** A step had no answer, or another one is under way: the same request again settles it. */
export function unsettled(host: string): Rejection<"in_progress"> {
  return rejection("in_progress", { host }, IN_PROGRESS_RETRY_AFTER_SECONDS);
}
