/**
 * What a Pool stores for its routes: borrowed addresses by block, and the revision of all of them.
 * May import: core, store, pool rows. Rule: a set of addresses moves only to a higher version.
 */
import type { BorrowedOrdinals } from "../../src/core/routes.ts";
import { keyOf, positionIn } from "./pool-rows.ts";
import type { SqlRow, Store } from "./store.ts";

/** The set that a block told last. */
export interface BorrowedRow {
  readonly version: number;
  readonly addresses: BorrowedOrdinals;
}

/** A block that exists, as far as routes go. */
export interface RouteSource {
  readonly position: bigint;
  /** Absent: its Host has not confirmed it. */
  readonly owner: string | undefined;
  readonly borrowed: BorrowedOrdinals;
}

interface StoredSource extends SqlRow {
  position: ArrayBuffer;
  owner: string | null;
  confirmed: number | null;
  addresses: string | null;
}

export class PoolRouteRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  borrowed(position: bigint): BorrowedRow | undefined {
    const query = "SELECT version, addresses FROM borrowed WHERE position = ?";
    const row = this.#store.row<{ version: number; addresses: string }>(query, keyOf(position));
    return row && { version: row.version, addresses: JSON.parse(row.addresses) as BorrowedOrdinals };
  }

  putBorrowed(position: bigint, { version, addresses }: BorrowedRow): void {
    this.#store.write(
      `INSERT INTO borrowed (position, version, addresses) VALUES (?1, ?2, ?3)
      ON CONFLICT (position) DO UPDATE SET version = ?2, addresses = ?3`,
      keyOf(position),
      version,
      JSON.stringify(addresses),
    );
  }

  putRevision(revision: number): void {
    this.#store.write("UPDATE pool SET routes_revision = ? WHERE id = 1", revision);
  }

  /** Blocks that exist from a position on, with what they route. */
  from(position: bigint, limit: number): RouteSource[] {
    const query = `SELECT block.position, owner, confirmed, addresses
      FROM block LEFT JOIN borrowed ON borrowed.position = block.position
      WHERE block.position >= ? AND state <> 'free' ORDER BY block.position LIMIT ?`;
    return this.#store.rows<StoredSource>(query, keyOf(position), limit).map((row) => ({
      position: positionIn(row.position),
      owner: row.confirmed === null ? undefined : (row.owner ?? undefined),
      borrowed: row.addresses === null ? [] : (JSON.parse(row.addresses) as BorrowedOrdinals),
    }));
  }
}
