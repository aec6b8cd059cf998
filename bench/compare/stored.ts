/**
 * What a service stores at the end, read back page by page, against what it acknowledged and was not told to free.
 * May import: the target. Rule: every allocation by its address and handle; one that differs makes the run fail.
 */
import { allocationsIn } from "../generator/books.ts";
import type { Target } from "../target.ts";

/** As many as a page may have. */
const PAGE = 1_000;

/** What was found on one service. Shape: numbers of allocations; faults in words, none if all is well. */
export interface Checked {
  readonly acknowledged: number;
  readonly stored: number;
  readonly faults: readonly string[];
}

/** Reads all that is stored; `show` is told how many have been read. */
export async function checkStored(target: Target, show: (read: number) => void): Promise<Checked> {
  const stored: string[] = [];
  let from = "";
  do {
    const page = await target.ask<object>("GET", `/v1/allocations?limit=${PAGE}${from}`);
    const { nextCursor } = page as { readonly nextCursor?: string };
    stored.push(...allocationsIn(JSON.stringify(page)));
    show(stored.length);
    from = nextCursor === undefined ? "" : `&cursor=${encodeURIComponent(nextCursor)}`;
  } while (from !== "");
  const { ledger } = target;
  return { acknowledged: ledger.size, stored: stored.length, faults: ledger.faults(stored) };
}
