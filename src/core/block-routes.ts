/**
 * Addresses of a block that hosts other than its owner hold: the truth of routes to single addresses.
 * May import: core only. Rule: a change of that set raises its version in the same commit.
 */
import { addressText, type BlockDraft } from "./block.ts";
import type { OrdinalRow } from "./ordinal.ts";

export interface BorrowedAddress {
  readonly address: string;
  readonly host: string;
}

/** Lists the allocated addresses whose host is not the block's owner; without an owner, all of them. */
export function borrowedAddresses(draft: BlockDraft): BorrowedAddress[] {
  const { index, owner } = draft;
  if (index.allocated === (owner === undefined ? 0 : index.heldBy(owner))) return [];
  const rows = [...draft.rows()].sort((one, other) => one.ordinal - other.ordinal);
  return rows.flatMap((row) => {
    const host = foreignHost(row, draft.owner);
    return host === undefined ? [] : [{ address: addressText(draft, row.ordinal), host }];
  });
}

/**
 * Raises the version of the set where the draft has changed it; returns whether it did.
 * Why: only what changed is looked at, so that a block's own host pays nothing for it.
 */
export function noteBorrowed(draft: BlockDraft): boolean {
  const { header } = draft;
  if (header === undefined || !hasChanged(draft)) return false;
  const { counter: _counter, at: _at, ...rest } = header;
  draft.putHeader({ ...rest, borrowedVersion: (header.borrowedVersion ?? 0) + 1 });
  return true;
}

function hasChanged(draft: BlockDraft): boolean {
  const { owner, ownerBefore, index } = draft;
  const touched = draft.touched();
  for (const [ordinal, before] of touched) {
    if (foreignHost(before, ownerBefore) !== foreignHost(index.row(ordinal), owner)) return true;
  }
  if (owner === ownerBefore) return false;
  for (const row of index.rows()) {
    if (!touched.has(row.ordinal) && foreignHost(row, ownerBefore) !== foreignHost(row, owner)) return true;
  }
  return false;
}

function foreignHost(row: OrdinalRow | undefined, owner: string | undefined): string | undefined {
  const host = row?.current?.host;
  return host === owner ? undefined : host;
}
