/**
 * The tables of a Host's collector: suspicions, evidence, empty blocks, what was released.
 * May import: core, store. Rule: a transaction writes only what differs from what is stored.
 */
import type { EmptyMark } from "../../src/core/leak-blocks.ts";
import type { SourceName } from "../../src/core/leak-evidence.ts";
import type { Suspicion } from "../../src/core/leak-ledger.ts";
import type { LeakSubject } from "../../src/core/leak-subject.ts";
import type { Store } from "./store.ts";

export const LEAK_TABLES: readonly string[] = [
  `CREATE TABLE leaks (
     address TEXT PRIMARY KEY,
     touch INTEGER NOT NULL,
     row TEXT NOT NULL
   ) STRICT, WITHOUT ROWID`,
  // Of each source the last complete piece, and the newest one after it that was cut short.
  `CREATE TABLE evidence (
     source TEXT NOT NULL,
     slot TEXT NOT NULL CHECK (slot IN ('complete', 'newer')),
     place TEXT NOT NULL,
     PRIMARY KEY (source, slot)
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE evidence_parts (
     source TEXT NOT NULL,
     slot TEXT NOT NULL,
     part INTEGER NOT NULL,
     body TEXT NOT NULL,
     PRIMARY KEY (source, slot, part)
   ) STRICT`,
  `CREATE TABLE empty_blocks (
     block TEXT PRIMARY KEY,
     epoch INTEGER NOT NULL,
     number INTEGER NOT NULL,
     since INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE reclaimed (
     pool TEXT PRIMARY KEY,
     addresses INTEGER NOT NULL CHECK (addresses >= 0)
   ) STRICT, WITHOUT ROWID`,
];

/** One suspicion with what it is about, so that new evidence can be asked for it without its block. */
export interface LeakRow {
  readonly suspicion: Suspicion;
  readonly subject: LeakSubject;
  readonly pool?: string;
}

/** Which piece of a source it is. Units: milliseconds since 1970. */
export interface Place {
  readonly generation: number;
  readonly sequence: number;
  readonly takenAt: number;
  readonly complete: boolean;
  /** Of a piece that was cut short: when one like it was taken that told of life, and is forgotten. */
  readonly forgottenAt?: number;
}

export type Slot = "complete" | "newer";

/** Why: a row of SQLite in an object is limited to 2 MB, and a report may be larger. */
const PART_CHARACTERS = 512 * 1024;

export function readLeaks(store: Store): LeakRow[] {
  const rows = store.rows<{ row: string }>("SELECT row FROM leaks");
  return rows.map(({ row }) => JSON.parse(row) as LeakRow);
}

/** Makes the stored suspicions these. */
export function saveLeaks(store: Store, rows: readonly LeakRow[]): void {
  const before = new Map(
    store
      .rows<{ address: string; row: string }>("SELECT address, row FROM leaks")
      .map(({ address, row }) => [address, row]),
  );
  for (const row of rows) {
    const { address, touch } = row.suspicion;
    const text = JSON.stringify(row);
    if (before.get(address) !== text)
      store.write("INSERT OR REPLACE INTO leaks VALUES (?, ?, ?)", address, touch, text);
    before.delete(address);
  }
  for (const address of before.keys()) store.write("DELETE FROM leaks WHERE address = ?", address);
}

/** The places of all pieces. */
export function readPlaces(store: Store): { source: SourceName; slot: Slot; place: Place }[] {
  const rows = store.rows<{ source: string; slot: Slot; place: string }>(
    "SELECT source, slot, place FROM evidence",
  );
  return rows.map(({ source, slot, place }) => {
    return { source: source as SourceName, slot, place: JSON.parse(place) as Place };
  });
}

export function savePlace(store: Store, source: SourceName, slot: Slot, place: Place): void {
  store.write("INSERT OR REPLACE INTO evidence VALUES (?, ?, ?)", source, slot, JSON.stringify(place));
}

export function readBody(store: Store, source: SourceName, slot: Slot): string {
  const rows = store.rows<{ body: string }>(
    "SELECT body FROM evidence_parts WHERE source = ? AND slot = ? ORDER BY part",
    source,
    slot,
  );
  return rows.map(({ body }) => body).join("");
}

/** `body` is ASCII: cut anywhere, its parts are text. */
export function saveBody(store: Store, source: SourceName, slot: Slot, body: string): void {
  store.write("DELETE FROM evidence_parts WHERE source = ? AND slot = ?", source, slot);
  for (let begin = 0, part = 0; begin < body.length; begin += PART_CHARACTERS, part += 1) {
    const text = body.slice(begin, begin + PART_CHARACTERS);
    store.write("INSERT INTO evidence_parts VALUES (?, ?, ?, ?)", source, slot, part, text);
  }
}

export function dropPiece(store: Store, source: SourceName, slot: Slot): void {
  store.write("DELETE FROM evidence WHERE source = ? AND slot = ?", source, slot);
  store.write("DELETE FROM evidence_parts WHERE source = ? AND slot = ?", source, slot);
}

export function readEmptyMarks(store: Store): EmptyMark[] {
  return store
    .rows<{ block: string; epoch: number; number: number; since: number }>("SELECT * FROM empty_blocks")
    .map(({ block, epoch, number, since }) => ({ block, epoch, number, since }));
}

/** Makes the stored marks these. */
export function saveEmptyMarks(store: Store, marks: readonly EmptyMark[]): void {
  const before = new Map(readEmptyMarks(store).map((mark) => [mark.block, mark]));
  for (const { block, epoch, number, since } of marks) {
    const known = before.get(block);
    before.delete(block);
    if (known?.epoch === epoch && known.number === number && known.since === since) continue;
    const query = "INSERT OR REPLACE INTO empty_blocks VALUES (?, ?, ?, ?)";
    store.write(query, block, epoch, number, since);
  }
  for (const block of before.keys()) store.write("DELETE FROM empty_blocks WHERE block = ?", block);
}

/** Addresses released by the collector, by pool. */
export function readReclaimed(store: Store): Map<string, number> {
  const rows = store.rows<{ pool: string; addresses: number }>("SELECT * FROM reclaimed");
  return new Map(rows.map(({ pool, addresses }) => [pool, addresses]));
}

export function countReclaimed(store: Store, pool: string, addresses: number): void {
  store.write(
    `INSERT INTO reclaimed (pool, addresses) VALUES (?, ?)
     ON CONFLICT (pool) DO UPDATE SET addresses = addresses + excluded.addresses`,
    pool,
    addresses,
  );
}

/** Nothing is left of the host, so nothing of it is suspected, known or counted. */
export function forgetCollected(store: Store): void {
  for (const table of ["leaks", "evidence", "evidence_parts", "empty_blocks", "reclaimed"]) {
    store.write(`DELETE FROM ${table}`);
  }
}

/** Takes away a block that the host borrowed from, and holds nothing in any more. */
export function dropBorrowed(store: Store, block: string): void {
  store.write("DELETE FROM borrowed WHERE block = ?", block);
}
