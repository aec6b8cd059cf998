/**
 * What a drain does next with a block that its pool ever issued.
 * May import: core only. Rule: counts and hints never decide that a block is over, only its own word does.
 */

import type { BlockCounts } from "./allocation.ts";

/** A directory row, as far as a drain looks at it. */
export interface DrainRow {
  readonly state: "free" | "draining" | "owned";
  readonly epoch: number;
  /** Epoch at which the block itself said that it has no owner and holds nothing. */
  readonly closed: number | undefined;
}

/**
 * `ask_host`: its owner's Host is to give it back. `wait`: the block will say when it has emptied.
 * `ask_block`: the directory calls it free, and the block has not said so at this epoch.
 */
export type DrainStep = "ask_host" | "wait" | "ask_block" | "over";

const STEPS: Readonly<Record<DrainRow["state"], (row: DrainRow) => DrainStep>> = {
  owned: () => "ask_host",
  draining: () => "wait",
  free: ({ closed, epoch }) => (closed === epoch ? "over" : "ask_block"),
};

/**
 * Tells the next step for a block.
 * Invariant: a block that is over accepts no claim at the row's epoch or an earlier one, and lends nothing.
 */
export function drainStep(row: DrainRow): DrainStep {
  return STEPS[row.state](row);
}

/**
 * Tells when the last cooling address of some blocks is free, by their figures; absent while an address is
 * allocated, or nothing cools. Units: milliseconds since 1970.
 */
export function lastFreeAt(
  blocks: Iterable<{ readonly counts: BlockCounts | undefined }>,
): number | undefined {
  let last: number | undefined;
  for (const { counts } of blocks) {
    if (counts === undefined) continue;
    if (counts.allocated > 0) return undefined;
    const at = counts.coolingSteps?.at(-1)?.at;
    if (at !== undefined) last = Math.max(last ?? 0, at);
  }
  return last;
}
