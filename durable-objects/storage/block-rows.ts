/**
 * The tables of a block and their mapping. May import: core, store.
 * Rule: one row per transition; the highest number in `ordinals` is the block's counter.
 */
import type { BlockChanges, BlockHeader, BlockState } from "../../src/core/block.ts";
import { blockState } from "../../src/core/block.ts";
import { invariant } from "../../src/core/invariant.ts";
import type { EndedTenure, OrdinalRow, Tenure } from "../../src/core/ordinal.ts";
import type { Migrations, SqlRow, Store } from "./store.ts";

export const BLOCK_MIGRATIONS: Migrations = [
  [
    `CREATE TABLE block (
       id INTEGER PRIMARY KEY CHECK (id = 1),
       owner TEXT,
       epoch INTEGER NOT NULL CHECK (epoch >= 0),
       counter INTEGER NOT NULL CHECK (counter >= 0),
       header TEXT NOT NULL
     ) STRICT`,
    `CREATE TABLE ordinals (
       ordinal INTEGER PRIMARY KEY CHECK (ordinal >= 0),
       number INTEGER NOT NULL CHECK (number > 0),
       at INTEGER NOT NULL,
       state TEXT NOT NULL CHECK (state IN ('allocated', 'released')),
       current TEXT,
       ended TEXT NOT NULL,
       CHECK ((state = 'allocated') = (current IS NOT NULL))
     ) STRICT`,
  ],
];

interface HeaderRow extends SqlRow {
  epoch: number;
  counter: number;
  header: string;
}

interface StoredOrdinal extends SqlRow {
  ordinal: number;
  number: number;
  at: number;
  current: string | null;
  ended: string;
}

/** A state as loaded, with what tells whether storage has moved on since. */
export interface LoadedBlock {
  readonly state: BlockState;
  readonly stamp: string;
}

/** Reads what changes with every write of the block: header and highest number. */
export function blockStamp(store: Store): string {
  const header = store.row<HeaderRow>("SELECT epoch, counter, header FROM block WHERE id = 1");
  const top = store.row<{ top: number | null }>("SELECT max(number) AS top FROM ordinals");
  return stampOf(header?.header, Math.max(header?.counter ?? 0, top?.top ?? 0));
}

/** The stamp that a state will have in storage. */
export function stampOf(headerText: string | undefined, counter: number): string {
  return `${counter} ${headerText ?? ""}`;
}

/** Loads a block whole. */
export function loadBlock(store: Store): LoadedBlock {
  const row = store.row<HeaderRow>("SELECT epoch, counter, header FROM block WHERE id = 1");
  const header = row === undefined ? undefined : (JSON.parse(row.header) as BlockHeader);
  invariant(header === undefined || header.epoch === row?.epoch, "the header contradicts its row");
  const stored = store.rows<StoredOrdinal>("SELECT ordinal, number, at, current, ended FROM ordinals");
  const state = blockState(header, stored.map(toOrdinal));
  return { state, stamp: stampOf(row?.header, state.counter) };
}

function toOrdinal(row: StoredOrdinal): OrdinalRow {
  const ended = JSON.parse(row.ended) as EndedTenure[];
  const { ordinal, number, at } = row;
  if (row.current === null) return { ordinal, number, at, ended };
  return { ordinal, number, at, ended, current: JSON.parse(row.current) as Tenure };
}

/** Stores what a decision changed: one row written per changed row. */
export function saveBlock(store: Store, changes: BlockChanges): void {
  if (changes.dropped) store.write("DELETE FROM ordinals");
  if (changes.header !== undefined) {
    const { owner, epoch, counter } = changes.header;
    store.write(
      "INSERT OR REPLACE INTO block (id, owner, epoch, counter, header) VALUES (1, ?, ?, ?, ?)",
      owner ?? null,
      epoch,
      counter,
      JSON.stringify(changes.header),
    );
  }
  for (const row of changes.rows) {
    store.write(
      "INSERT OR REPLACE INTO ordinals (ordinal, number, at, state, current, ended) VALUES (?, ?, ?, ?, ?, ?)",
      row.ordinal,
      row.number,
      row.at,
      row.current === undefined ? "released" : "allocated",
      row.current === undefined ? null : JSON.stringify(row.current),
      JSON.stringify(row.ended),
    );
  }
}
