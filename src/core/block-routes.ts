/**
 * Addresses of a block that hosts other than its owner hold: the truth of routes to single addresses.
 * May import: core only. Rule: a change of that set raises its version in the same commit.
 */
import { addressText, type BlockDraft, type BlockState } from "./block.ts";
import type { OrdinalRow } from "./ordinal.ts";

export interface BorrowedAddress {
  readonly address: string;
  readonly host: string;
}

/** Lists the allocated addresses whose host is not the block's owner; without an owner, all of them. */
export function borrowedAddresses(draft: BlockDraft): BorrowedAddress[] {
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
export function noteBorrowed(base: BlockState, draft: BlockDraft): boolean {
  const { header } = draft;
  if (header === undefined || !hasChanged(base, draft)) return false;
  const { counter: _counter, at: _at, ...rest } = header;
  draft.putHeader({ ...rest, borrowedVersion: (header.borrowedVersion ?? 0) + 1 });
  return true;
}

function hasChanged(base: BlockState, draft: BlockDraft): boolean {
  const before = base.header?.owner;
  const after = draft.owner;
  const { rows, dropped } = draft.changes();
  if (before === after && !dropped) {
    return rows.some((row) => foreignHost(base.rows.get(row.ordinal), before) !== foreignHost(row, after));
  }
  const held = new Map([...draft.rows()].map((row) => [row.ordinal, foreignHost(row, after)]));
  const ordinals = new Set([...base.rows.keys(), ...held.keys()]);
  return [...ordinals].some((ordinal) => foreignHost(base.rows.get(ordinal), before) !== held.get(ordinal));
}

function foreignHost(row: OrdinalRow | undefined, owner: string | undefined): string | undefined {
  const host = row?.current?.host;
  return host === owner ? undefined : host;
}
