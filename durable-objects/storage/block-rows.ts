/**
 * The tables of a block and their mapping. May import: core, store.
 * Rule: one row per transition; the highest number in `ordinals` tells whether anything was written.
 */
import type { BlockChanges, BlockHeader, BlockState, RowChange } from "../../src/core/block.ts";
import { blockState } from "../../src/core/block.ts";
import { invariant } from "../../src/core/invariant.ts";
import type { EndedTenure, OrdinalRow, Tenure } from "../../src/core/ordinal.ts";
import type { Migrations, SqlRow, Store } from "./store.ts";

const BLOCK = `CREATE TABLE block (
   id INTEGER PRIMARY KEY CHECK (id = 1),
   owner TEXT,
   epoch INTEGER NOT NULL CHECK (epoch >= 0),
   counter INTEGER NOT NULL CHECK (counter >= 0),
   header TEXT NOT NULL
 ) STRICT`;

const ORDINALS = `CREATE TABLE ordinals (
   number INTEGER PRIMARY KEY CHECK (number > 0),
   ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
   at INTEGER NOT NULL,
   state TEXT NOT NULL CHECK (state IN ('allocated', 'released')),
   current TEXT,
   ended TEXT NOT NULL,
   notes TEXT,
   CHECK ((state = 'allocated') = (current IS NOT NULL))
 ) STRICT`;

/** The tables of a new block: what all migrations lead to, in fewer steps. Invariant: a change is a further migration. */
export const BLOCK_TABLES: readonly string[] = [BLOCK, ORDINALS];

export const BLOCK_MIGRATIONS: Migrations = [
  [
    BLOCK,
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
  // By number: the highest is found without a scan, and no two writers can take the same one.
  [
    "ALTER TABLE ordinals RENAME TO ordinals_by_place",
    ORDINALS,
    `INSERT INTO ordinals SELECT number, ordinal, at, state, current, ended, NULL FROM ordinals_by_place`,
    "DROP TABLE ordinals_by_place",
  ],
];

/** Thrown when a row is not as memory has it: nothing is written, the decision is to be made anew. */
export class StaleMemory extends Error {
  override readonly name = "StaleMemory";
}

interface HeaderRow extends SqlRow {
  header: string;
  top: number | null;
}

interface StoredOrdinal extends SqlRow {
  ordinal: number;
  number: number;
  at: number;
  current: string | null;
  ended: string;
  notes: string | null;
}

/** What an ordinal's row remembers beside its tenures; most rows have none of it. */
type Notes = Pick<OrdinalRow, "undone" | "hasForgotten">;

/**
 * What changes with every write of a block.
 * Invariant: every transition takes a number above all earlier ones, and dropping rows leaves none.
 */
interface Marks {
  readonly headerText: string | undefined;
  /** The highest number of a row; 0 when there is none. */
  readonly top: number;
}

/** A state as loaded, with what tells whether storage has moved on since. */
export interface LoadedBlock extends Marks {
  readonly state: BlockState;
}

/** Two look-ups by key, in one statement, whatever the size of the block. */
const MARKS = "SELECT header, (SELECT max(number) FROM ordinals) AS top FROM block WHERE id = 1";

/** Returns what is known if storage has not moved on since, else the block as it is stored. */
export function freshBlock(store: Store, known: LoadedBlock | undefined): LoadedBlock {
  const row = store.row<HeaderRow>(MARKS);
  const top = row?.top ?? 0;
  if (known !== undefined && known.headerText === row?.header && known.top === top) return known;
  const header = row === undefined ? undefined : (JSON.parse(row.header) as BlockHeader);
  const stored = store.rows<StoredOrdinal>("SELECT ordinal, number, at, current, ended, notes FROM ordinals");
  const state = blockState(header, stored.map(toOrdinal));
  invariant(state.index.size === stored.length, "an ordinal has one row");
  return { state, headerText: row?.header, top };
}

function toOrdinal({ ordinal, number, at, ...row }: StoredOrdinal): OrdinalRow {
  const ended = JSON.parse(row.ended) as EndedTenure[];
  const current = row.current === null ? {} : { current: JSON.parse(row.current) as Tenure };
  const notes = row.notes === null ? {} : (JSON.parse(row.notes) as Notes);
  return { ordinal, number, at, ended, ...current, ...notes };
}

const INSERT_HEADER =
  "INSERT OR REPLACE INTO block (id, owner, epoch, counter, header) VALUES (1, ?, ?, ?, ?)";
const INSERT_ORDINAL =
  "INSERT INTO ordinals (number, ordinal, at, state, current, ended, notes) VALUES (?, ?, ?, ?, ?, ?, ?)";
const UPDATE_ORDINAL =
  "UPDATE ordinals SET number = ?, at = ?, state = ?, current = ?, ended = ?, notes = ? " +
  "WHERE number = ? AND ordinal = ?";
/** The past is as it was: it is neither written as text nor bound. */
const UPDATE_TENURE =
  "UPDATE ordinals SET number = ?, at = ?, state = ?, current = ? WHERE number = ? AND ordinal = ?";

/**
 * Stores what a decision changed, one row written per changed row; returns the marks from then on.
 * Rejects: StaleMemory when a row that it replaces is not the one that is stored.
 */
export function saveBlock(store: Store, changes: BlockChanges, marks: Marks | undefined): Marks {
  let { headerText, top = 0 } = marks ?? {};
  if (changes.dropped) {
    store.write("DELETE FROM ordinals");
    top = 0;
  }
  if (changes.header !== undefined) {
    const { owner, epoch, counter } = changes.header;
    headerText = JSON.stringify(changes.header);
    store.write(INSERT_HEADER, owner ?? null, epoch, counter, headerText);
  }
  for (const change of changes.rows) {
    if (saveOrdinal(store, change) !== 1) throw new StaleMemory(`ordinal ${change.row.ordinal} has moved on`);
    top = Math.max(top, change.row.number);
  }
  return { headerText, top };
}

function saveOrdinal(store: Store, { row, before }: RowChange): number {
  const { ordinal, number, at } = row;
  const current = row.current === undefined ? null : JSON.stringify(row.current);
  const state = row.current === undefined ? "released" : "allocated";
  if (before !== undefined && isSamePast(row, before)) {
    return store.write(UPDATE_TENURE, number, at, state, current, before.number, ordinal);
  }
  const ended = JSON.stringify(row.ended);
  const notes = notesOf(row);
  if (before === undefined) {
    return store.write(INSERT_ORDINAL, number, ordinal, at, state, current, ended, notes);
  }
  return store.write(UPDATE_ORDINAL, number, at, state, current, ended, notes, before.number, ordinal);
}

function isSamePast(row: OrdinalRow, before: OrdinalRow): boolean {
  return row.ended === before.ended && notesOf(row) === notesOf(before);
}

function notesOf({ undone, hasForgotten }: OrdinalRow): string | null {
  if (undone === undefined && hasForgotten === undefined) return null;
  const notes: Notes = {
    ...(undone === undefined ? {} : { undone }),
    ...(hasForgotten === undefined ? {} : { hasForgotten }),
  };
  return JSON.stringify(notes);
}
