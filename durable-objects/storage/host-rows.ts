/**
 * The tables of a Host and their mapping. May import: core, rpc, store.
 * Rule: a row of any kind is written only after the Host has entered itself in Cluster's directory.
 */
import { type AffinityEvent, type AffinityState, affinityAfter } from "../../src/core/affinity.ts";
import type { Attributes } from "../../src/core/allocation.ts";
import type { Family } from "../../src/core/errors.ts";
import { invariant } from "../../src/core/invariant.ts";
import type { Author } from "../../src/rpc/cluster.ts";
import { LEAK_TABLES } from "./host-leak-rows.ts";
import type { Migrations, SqlRow, Store } from "./store.ts";

export const HOST_MIGRATIONS: Migrations = [
  [
    `CREATE TABLE host (
       id INTEGER PRIMARY KEY CHECK (id = 1),
       registration TEXT NOT NULL
     ) STRICT`,
    `CREATE TABLE affinities (
       block TEXT PRIMARY KEY,
       pool TEXT NOT NULL,
       pool_cidr TEXT NOT NULL,
       incarnation INTEGER NOT NULL CHECK (incarnation >= 0),
       family INTEGER NOT NULL CHECK (family IN (4, 6)),
       state TEXT NOT NULL CHECK (state IN ('pending', 'confirmed', 'pendingDeletion')),
       epoch INTEGER NOT NULL CHECK (epoch > 0),
       claimed_at INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE borrowed (
       block TEXT PRIMARY KEY,
       pool TEXT NOT NULL,
       incarnation INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID`,
  ],
  // Blocks that a removed host had: addresses of it may be left there.
  ["CREATE TABLE left_behind (block TEXT PRIMARY KEY) STRICT, WITHOUT ROWID"],
  // How many affinities there are: counting them would make a claim dearer with every block.
  [
    `CREATE TABLE tally (
       family INTEGER PRIMARY KEY CHECK (family IN (4, 6)),
       affinities INTEGER NOT NULL CHECK (affinities >= 0)
     ) STRICT`,
    "INSERT INTO tally SELECT family, count(*) FROM affinities GROUP BY family",
  ],
  LEAK_TABLES,
];

/** What a host said of itself. Units: milliseconds since 1970. */
export interface Registration {
  readonly labels: Attributes;
  readonly incarnation?: string;
  /** Incarnations that were replaced, newest first; at most 8. */
  readonly replaced: readonly string[];
  /** Rises with each new incarnation. */
  readonly generation: number;
  readonly revision: number;
  readonly registeredAt: number;
  /** Present from the host's removal until it registers again. */
  readonly gone?: {
    readonly since: number;
    readonly host: string;
    /** The generation that is gone. */
    readonly generation: number;
    /** Who declared it gone. */
    readonly author?: Author;
    /** Nothing is left of it: the host counts as not registered. */
    readonly isOver?: boolean;
  };
}

/** One affinity row. Units: milliseconds since 1970, by the Host's clock. */
export interface Affinity {
  readonly block: string;
  readonly pool: string;
  readonly poolCidr: string;
  readonly incarnation: number;
  readonly family: Family;
  readonly state: AffinityState;
  readonly epoch: number;
  readonly claimedAt: number;
}

interface StoredAffinity extends SqlRow {
  block: string;
  pool: string;
  pool_cidr: string;
  incarnation: number;
  family: Family;
  state: AffinityState;
  epoch: number;
  claimed_at: number;
}

function toAffinity(row: StoredAffinity): Affinity {
  const { pool_cidr: poolCidr, claimed_at: claimedAt, ...rest } = row;
  return { ...rest, poolCidr, claimedAt };
}

/** What the host said of itself, if it ever registered. */
export function readRegistration(store: Store): Registration | undefined {
  const row = store.row<{ registration: string }>("SELECT registration FROM host WHERE id = 1");
  return row === undefined ? undefined : (JSON.parse(row.registration) as Registration);
}

export function saveRegistration(store: Store, registration: Registration): void {
  const text = JSON.stringify(registration);
  store.write("INSERT OR REPLACE INTO host (id, registration) VALUES (1, ?)", text);
}

/** All rows. Invariant: they are as many as the tally says. */
export function readAffinities(store: Store): Affinity[] {
  const rows = store.rows<StoredAffinity>("SELECT * FROM affinities").map(toAffinity);
  for (const family of [4, 6] as const) {
    const found = rows.filter((row) => row.family === family).length;
    invariant(found === countAffinities(store, family), "the tally of affinities contradicts their rows");
  }
  return rows;
}

export function readAffinity(store: Store, block: string): Affinity | undefined {
  const row = store.row<StoredAffinity>("SELECT * FROM affinities WHERE block = ?", block);
  return row === undefined ? undefined : toAffinity(row);
}

/** Rows of one family in every state: what caps count (I10). */
export function countAffinities(store: Store, family: Family): number {
  const query = "SELECT affinities FROM tally WHERE family = ?";
  return store.row<{ affinities: number }>(query, family)?.affinities ?? 0;
}

function countOneMore(store: Store, family: Family): void {
  store.write(
    `INSERT INTO tally (family, affinities) VALUES (?, 1)
     ON CONFLICT (family) DO UPDATE SET affinities = affinities + 1`,
    family,
  );
}

/**
 * Moves a row by an event at an epoch; inside a transaction.
 * Returns the row, `gone`, or `moved_on` when nothing was written.
 */
export function moveAffinity(
  store: Store,
  target: Omit<Affinity, "state" | "claimedAt">,
  event: AffinityEvent,
  now: number,
): Affinity | "gone" | "moved_on" {
  const row = readAffinity(store, target.block);
  const next = affinityAfter(row, event, target.epoch);
  if (next === "moved_on") return next;
  if (next === "gone") {
    store.write("DELETE FROM affinities WHERE block = ?", target.block);
    if (row !== undefined)
      store.write("UPDATE tally SET affinities = affinities - 1 WHERE family = ?", row.family);
    return next;
  }
  if (row === undefined) countOneMore(store, target.family);
  const claimedAt = event === "claim" || row === undefined ? now : row.claimedAt;
  const moved: Affinity = { ...target, state: next, claimedAt };
  store.write(
    "INSERT OR REPLACE INTO affinities VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    moved.block,
    moved.pool,
    moved.poolCidr,
    moved.incarnation,
    moved.family,
    moved.state,
    moved.epoch,
    moved.claimedAt,
  );
  return moved;
}

/** Blocks in which addresses of a removed host may be left. */
export function readLeft(store: Store): string[] {
  return store.rows<{ block: string }>("SELECT block FROM left_behind").map(({ block }) => block);
}

export function noteLeft(store: Store, block: string): void {
  store.write("INSERT OR IGNORE INTO left_behind VALUES (?)", block);
}

export function dropLeft(store: Store, block: string): void {
  store.write("DELETE FROM left_behind WHERE block = ?", block);
}

export function forgetLeft(store: Store): void {
  store.write("DELETE FROM left_behind");
}

export function readBorrowed(store: Store): string[] {
  return store.rows<{ block: string }>("SELECT block FROM borrowed").map(({ block }) => block);
}

export function saveBorrowed(store: Store, block: string, pool: string, incarnation: number): void {
  store.write("INSERT OR IGNORE INTO borrowed VALUES (?, ?, ?)", block, pool, incarnation);
}
