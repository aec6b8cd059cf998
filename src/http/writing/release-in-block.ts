/**
 * What one handle has in one block: how the block is asked to free it, and what its answer is to the index.
 * May import: core and rpc. Rule: keys are named, so that a late release cannot hit a later allocation.
 */
import { invariant } from "../../core/invariant.ts";
import type { CompiledPolicy } from "../../core/policy.ts";
import type { KeyRelease, ReleaseHandleAnswer, ReleaseHandleRequest } from "../../rpc/block.ts";
import type { KeyRow, SettleItem } from "../../rpc/handle-index.ts";
import { releasePolicyOf } from "../reading/policy.ts";

/** A handle that is to be released, as far as its caller may. */
export interface Wanted {
  readonly handle: string;
  readonly policy: CompiledPolicy;
  /** An agent releases what is its host's. */
  readonly onlyHost?: string;
}

export interface Judged {
  readonly row: KeyRow;
  readonly release: KeyRelease;
}

/** What one pass over index and blocks did. */
export interface Round {
  readonly judged: readonly Judged[];
  /**
   * Every block was asked, and the index has taken in every final word; false: a row moved on since it was
   * listed, its key may hold elsewhere; or there are more blocks than one event may ask.
   */
  readonly isSettled: boolean;
}

/** The rows of one handle in one block. Shape: not empty. */
export interface Part {
  readonly wanted: Wanted;
  readonly rows: readonly KeyRow[];
}

/** Groups the rows of a handle by the block that they point at. */
export function rowsByBlock(rows: readonly KeyRow[]): KeyRow[][] {
  const blocks = new Map<string, KeyRow[]>();
  for (const row of rows) blocks.set(row.block, [...(blocks.get(row.block) ?? []), row]);
  return [...blocks.values()];
}

/** The message that asks a block. */
export function messageOf({ wanted, rows }: Part): ReleaseHandleRequest {
  const { handle, policy, onlyHost } = wanted;
  const block = rows[0]?.block;
  invariant(block !== undefined, "a group of rows is not empty");
  return {
    block,
    handle,
    keys: rows.map(({ key, until }) => ({ key, finalAfter: until })),
    ...releasePolicyOf(policy, block),
    ...(onlyHost === undefined ? {} : { onlyHost }),
  };
}

/** What a block said, by row. */
export function judgedBy({ rows }: Part, answer: ReleaseHandleAnswer): Judged[] {
  return rows.map((row) => {
    const release = answer.keys.find(({ key }) => key === row.key);
    invariant(release !== undefined, "a block answers each key");
    return { row, release };
  });
}

/** What the index may know of a row: only what its block said finally. */
export function settlementOf({ row, release: { outcome } }: Judged): SettleItem[] {
  if (outcome !== "released" && outcome !== "absent") return [];
  const { handle, key, block, until } = row;
  return [{ handle, key, block, outcome, until }];
}
