/**
 * The table of an index shard and its mapping. May import: core, store.
 * Rule: WITHOUT ROWID and no secondary index, so that one reservation is one row written.
 */
import type { Family } from "../../src/core/errors.ts";
import type { KeyChanges, KeyRow } from "../../src/core/key-index.ts";
import type { Migrations, SqlRow, Store } from "./store.ts";

export const HANDLE_INDEX_MIGRATIONS: Migrations = [
  [
    `CREATE TABLE keys (
       handle TEXT NOT NULL,
       key TEXT NOT NULL,
       block TEXT NOT NULL,
       family INTEGER NOT NULL CHECK (family IN (4, 6)),
       count INTEGER NOT NULL CHECK (count > 0),
       fingerprint TEXT NOT NULL,
       state TEXT NOT NULL CHECK (state IN ('reserved', 'spent')),
       attempt TEXT NOT NULL,
       until INTEGER NOT NULL,
       until_before INTEGER NOT NULL CHECK (until_before <= until),
       at INTEGER NOT NULL,
       PRIMARY KEY (handle, key, block)
     ) STRICT, WITHOUT ROWID`,
  ],
];

interface StoredKey extends SqlRow {
  handle: string;
  key: string;
  block: string;
  family: Family;
  count: number;
  fingerprint: string;
  state: "reserved" | "spent";
  attempt: string;
  until: number;
  until_before: number;
  at: number;
}

function toKeyRow({ until_before: untilBefore, ...row }: StoredKey): KeyRow {
  return { ...row, untilBefore };
}

/** All rows of a handle, spent ones included. */
export function rowsOfHandle(store: Store, handle: string): KeyRow[] {
  return store.rows<StoredKey>("SELECT * FROM keys WHERE handle = ?", handle).map(toKeyRow);
}

/** One row, by its whole key. */
export function rowOfKey(store: Store, handle: string, key: string, block: string): KeyRow | undefined {
  const row = store.row<StoredKey>(
    "SELECT * FROM keys WHERE handle = ? AND key = ? AND block = ?",
    handle,
    key,
    block,
  );
  return row === undefined ? undefined : toKeyRow(row);
}

/** The next rows after a place, in the order of their keys. */
export function rowsAfter(
  store: Store,
  after: { handle: string; key: string; block: string },
  limit: number,
): KeyRow[] {
  return store
    .rows<StoredKey>(
      "SELECT * FROM keys WHERE (handle, key, block) > (?, ?, ?) ORDER BY handle, key, block LIMIT ?",
      after.handle,
      after.key,
      after.block,
      limit,
    )
    .map(toKeyRow);
}

/** Stores what a decision changed. */
export function saveKeys(store: Store, changes: KeyChanges): void {
  for (const { handle, key, block } of changes.remove) {
    store.write("DELETE FROM keys WHERE handle = ? AND key = ? AND block = ?", handle, key, block);
  }
  for (const row of changes.put) {
    store.write(
      "INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      row.handle,
      row.key,
      row.block,
      row.family,
      row.count,
      row.fingerprint,
      row.state,
      row.attempt,
      row.until,
      row.untilBefore,
      row.at,
    );
  }
}
