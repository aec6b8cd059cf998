/**
 * The tables of a Pool: itself, its blocks, its free space. Rows in, plain values out.
 * May import: core, store. Keys are 16-byte big-endian positions, so that BLOB order is address order.
 */
import type { BlockCounts } from "../../src/core/allocation.ts";
import { epochFloor } from "../../src/core/epoch.ts";
import type { Extent, ExtentChange, ExtentSource } from "../../src/core/extents.ts";
import { invariant } from "../../src/core/invariant.ts";
import type { DirectoryBlock } from "../../src/core/pool-directory.ts";
import type { Migrations, SqlRow, SqlValue, Store } from "./store.ts";

export const POOL_MIGRATIONS: Migrations = [
  [
    `CREATE TABLE pool (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      cidr TEXT NOT NULL,
      block_size INTEGER NOT NULL,
      incarnation INTEGER NOT NULL,
      last_epoch INTEGER NOT NULL CHECK (last_epoch >= incarnation * 4294967296),
      terminating INTEGER NOT NULL CHECK (terminating IN (0, 1))
    ) STRICT`,
    `CREATE TABLE block (
      position BLOB PRIMARY KEY CHECK (length(position) = 16),
      state TEXT NOT NULL CHECK (state IN ('free', 'draining', 'owned')),
      owner TEXT,
      epoch INTEGER NOT NULL CHECK (epoch > 0),
      issued_at INTEGER NOT NULL,
      counts TEXT,
      CHECK ((state = 'owned') = (owner IS NOT NULL)),
      CHECK (state <> 'free' OR counts IS NULL)
    ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE extent (
      last BLOB PRIMARY KEY CHECK (length(last) = 16),
      first BLOB NOT NULL CHECK (length(first) = 16),
      CHECK (first <= last)
    ) STRICT, WITHOUT ROWID`,
  ],
  // Ownership from before this version began at 0: any word of the present owner's Host counts.
  [
    "ALTER TABLE pool ADD COLUMN routes_revision INTEGER NOT NULL DEFAULT 0 CHECK (routes_revision >= 0)",
    "ALTER TABLE block ADD COLUMN began INTEGER NOT NULL DEFAULT 0 CHECK (began >= 0)",
    `ALTER TABLE block ADD COLUMN confirmed INTEGER
      CHECK (confirmed IS NULL OR (state = 'owned' AND confirmed >= began))`,
    `CREATE TABLE borrowed (
      position BLOB PRIMARY KEY CHECK (length(position) = 16),
      version INTEGER NOT NULL CHECK (version > 0),
      addresses TEXT NOT NULL CHECK (json_valid(addresses))
    ) STRICT, WITHOUT ROWID`,
  ],
  // A block is over, as far as a drain goes, while `closed` is its row's epoch.
  [
    "ALTER TABLE block ADD COLUMN closed INTEGER CHECK (closed IS NULL OR closed <= epoch)",
    `CREATE TABLE drain (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      name TEXT NOT NULL,
      number INTEGER NOT NULL CHECK (number > 0),
      revision INTEGER NOT NULL CHECK (revision > 0),
      mode TEXT NOT NULL CHECK (mode IN ('open', 'closed', 'draining', 'gone')),
      place BLOB CHECK (place IS NULL OR length(place) = 16)
    ) STRICT`,
  ],
];

/** The pool itself. Units: `lastEpoch` is the last one issued. */
export interface PoolRow {
  readonly cidr: string;
  readonly blockSize: number;
  readonly incarnation: number;
  readonly lastEpoch: number;
  /** Set by a drain; a terminating pool refuses claims and lends nothing. */
  readonly terminating: boolean;
  /** Rises with every change of a route. */
  readonly routesRevision: number;
}

/** A block that exists or existed. Invariant: owned blocks alone have an owner. */
export interface BlockRow extends DirectoryBlock {
  readonly state: "free" | "draining" | "owned";
  /** The epoch from which on a word of the owner's Host is about this ownership. */
  readonly began: number;
  /** The latest epoch at which the owner's Host said that it is confirmed; absent: there is no route. */
  readonly confirmed: number | undefined;
}

interface StoredBlock extends SqlRow {
  position: ArrayBuffer;
  state: "free" | "draining" | "owned";
  owner: string | null;
  epoch: number;
  issued_at: number;
  counts: string | null;
  began: number;
  confirmed: number | null;
}

const PAGE = 4096;
const BLOCK_COLUMNS = "position, state, owner, epoch, issued_at, counts, began, confirmed";

export class PoolRows implements ExtentSource {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  pool(): PoolRow | undefined {
    const row = this.#store.row<Record<string, SqlValue>>("SELECT * FROM pool WHERE id = 1");
    if (row === undefined) return undefined;
    return {
      cidr: String(row.cidr),
      blockSize: Number(row.block_size),
      incarnation: Number(row.incarnation),
      lastEpoch: Number(row.last_epoch),
      terminating: row.terminating === 1,
      routesRevision: Number(row.routes_revision),
    };
  }

  /** Makes the pool's own row and its free space: everything. */
  create(pool: Omit<PoolRow, "lastEpoch" | "terminating" | "routesRevision">, positions: bigint): PoolRow {
    const row = { ...pool, lastEpoch: epochFloor(pool.incarnation), terminating: false, routesRevision: 0 };
    const columns = "(id, cidr, block_size, incarnation, last_epoch, terminating)";
    const values = [row.cidr, row.blockSize, row.incarnation, row.lastEpoch];
    this.#store.write(`INSERT INTO pool ${columns} VALUES (1, ?, ?, ?, ?, 0)`, ...values);
    this.changeExtents([{ kind: "put", extent: { first: 0n, last: positions - 1n } }]);
    return row;
  }

  putLastEpoch(epoch: number): void {
    const written = this.#store.write(
      "UPDATE pool SET last_epoch = ?1 WHERE id = 1 AND last_epoch < ?1",
      epoch,
    );
    invariant(written > 0, "an epoch is issued once");
  }

  block(position: bigint): BlockRow | undefined {
    const row = this.#store.row<StoredBlock>(
      `SELECT ${BLOCK_COLUMNS} FROM block WHERE position = ?`,
      keyOf(position),
    );
    return row && blockRow(row);
  }

  /** Writes a block's ownership; its counts stay unless it becomes free. */
  putBlock(block: Omit<BlockRow, "counts">): void {
    const { position, state, owner, epoch, issuedAt, began, confirmed } = block;
    this.#store.write(
      `INSERT INTO block (position, state, owner, epoch, issued_at, began, confirmed)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (position) DO UPDATE SET state = excluded.state, owner = excluded.owner,
        epoch = excluded.epoch, issued_at = excluded.issued_at,
        began = excluded.began, confirmed = excluded.confirmed,
        counts = CASE excluded.state WHEN 'free' THEN NULL ELSE counts END`,
      keyOf(position),
      state,
      owner ?? null,
      epoch,
      issuedAt,
      began,
      confirmed ?? null,
    );
  }

  putCounts(position: bigint, counts: BlockCounts | undefined): void {
    const text = counts === undefined ? null : JSON.stringify(counts);
    this.#store.write(
      "UPDATE block SET counts = ? WHERE position = ? AND state <> 'free'",
      text,
      keyOf(position),
    );
  }

  /** Blocks that exist, in address order, after a position. */
  blocksAfter(position: bigint | undefined, limit: number): BlockRow[] {
    const after = position === undefined ? new ArrayBuffer(0) : keyOf(position);
    const query = `SELECT ${BLOCK_COLUMNS} FROM block WHERE position > ? AND state <> 'free' ORDER BY position LIMIT ?`;
    return this.#store.rows<StoredBlock>(query, after, limit).map(blockRow);
  }

  /** Blocks that were ever issued, free ones too, in address order, after a position. */
  issuedAfter(position: bigint | undefined, limit: number): BlockRow[] {
    const after = position === undefined ? new ArrayBuffer(0) : keyOf(position);
    const query = `SELECT ${BLOCK_COLUMNS} FROM block WHERE position > ? ORDER BY position LIMIT ?`;
    return this.#store.rows<StoredBlock>(query, after, limit).map(blockRow);
  }

  countIssued(): number {
    return this.#store.row<{ n: number }>("SELECT count(*) AS n FROM block")?.n ?? 0;
  }

  /** All blocks that exist; read in pages, so that the rows are not in memory twice. */
  allBlocks(): BlockRow[] {
    const all: BlockRow[] = [];
    for (;;) {
      const page = this.blocksAfter(all.at(-1)?.position, PAGE);
      for (const block of page) all.push(block);
      if (page.length < PAGE) return all;
    }
  }

  endingFrom(position: bigint): Extent | undefined {
    const query = "SELECT first, last FROM extent WHERE last >= ? ORDER BY last LIMIT 1";
    const row = this.#store.row<{ first: ArrayBuffer; last: ArrayBuffer }>(query, keyOf(position));
    return row && { first: positionIn(row.first), last: positionIn(row.last) };
  }

  changeExtents(changes: readonly ExtentChange[]): void {
    for (const change of changes) {
      if (change.kind === "remove") {
        this.#store.write("DELETE FROM extent WHERE last = ?", keyOf(change.last));
        continue;
      }
      const { first, last } = change.extent;
      this.#store.write(
        "INSERT INTO extent (last, first) VALUES (?, ?) ON CONFLICT (last) DO UPDATE SET first = excluded.first",
        keyOf(last),
        keyOf(first),
      );
    }
  }
}

function blockRow(row: StoredBlock): BlockRow {
  return {
    position: positionIn(row.position),
    state: row.state,
    owner: row.owner ?? undefined,
    epoch: row.epoch,
    issuedAt: row.issued_at,
    counts: row.counts === null ? undefined : (JSON.parse(row.counts) as BlockCounts),
    began: row.began,
    confirmed: row.confirmed ?? undefined,
  };
}

/** The key of a position: 16 bytes, big-endian. */
export function keyOf(position: bigint): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(16));
  view.setBigUint64(0, position >> 64n);
  view.setBigUint64(8, position & 0xffff_ffff_ffff_ffffn);
  return view.buffer;
}

export function positionIn(key: ArrayBuffer): bigint {
  const view = new DataView(key);
  return (view.getBigUint64(0) << 64n) | view.getBigUint64(8);
}
