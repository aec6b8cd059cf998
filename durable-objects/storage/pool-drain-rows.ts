/**
 * What a Pool stores of its end: the last order of Cluster, how far a pass has come, which blocks are over.
 * May import: core, store, pool rows. Rule: an order moves only to a higher number.
 */
import type { DrainRow } from "../../src/core/pool-drain.ts";
import type { PoolMode } from "../../src/rpc/pool.ts";
import { keyOf, positionIn } from "./pool-rows.ts";
import type { SqlRow, Store } from "./store.ts";

/** The drain as stored. Shape: `gone` once Cluster has removed the definition. */
export interface DrainOrder {
  readonly name: string;
  readonly number: number;
  /** Of the definition that ordered it. */
  readonly revision: number;
  readonly mode: PoolMode | "gone";
  /** The last block that the pass has looked at; absent: it begins. */
  readonly place: bigint | undefined;
}

/** A block that is not over yet. */
export interface UnsettledBlock extends DrainRow {
  readonly position: bigint;
}

interface StoredOrder extends SqlRow {
  name: string;
  number: number;
  revision: number;
  mode: DrainOrder["mode"];
  place: ArrayBuffer | null;
}

interface StoredBlock extends SqlRow {
  position: ArrayBuffer;
  state: DrainRow["state"];
  epoch: number;
  closed: number | null;
}

const NOT_OVER = "(state <> 'free' OR closed IS NULL OR closed <> epoch)";

export class PoolDrainRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  order(): DrainOrder | undefined {
    const query = "SELECT name, number, revision, mode, place FROM drain WHERE id = 1";
    const row = this.#store.row<StoredOrder>(query);
    return row && { ...row, place: row.place === null ? undefined : positionIn(row.place) };
  }

  /** Stores an order, and with it whether the pool refuses claims. */
  putOrder({ name, number, revision, mode }: Omit<DrainOrder, "place">): void {
    this.#store.write(
      "INSERT OR REPLACE INTO drain (id, name, number, revision, mode, place) VALUES (1, ?, ?, ?, ?, NULL)",
      name,
      number,
      revision,
      mode,
    );
    this.#store.write("UPDATE pool SET terminating = ? WHERE id = 1", Number(mode !== "open"));
  }

  putPlace(place: bigint | undefined): void {
    const key = place === undefined ? null : keyOf(place);
    this.#store.write("UPDATE drain SET place = ? WHERE id = 1", key);
  }

  /** Notes the word of the block itself, at the epoch of its row. */
  putClosed(position: bigint, epoch: number): void {
    this.#store.write("UPDATE block SET closed = ? WHERE position = ?", epoch, keyOf(position));
  }

  /** Blocks that are not over, in address order, after a position. */
  unsettledAfter(place: bigint | undefined, limit: number): UnsettledBlock[] {
    const after = place === undefined ? new ArrayBuffer(0) : keyOf(place);
    const query = `SELECT position, state, epoch, closed FROM block
      WHERE position > ? AND ${NOT_OVER} ORDER BY position LIMIT ?`;
    return this.#store.rows<StoredBlock>(query, after, limit).map(({ position, closed, ...row }) => {
      return { ...row, position: positionIn(position), closed: closed ?? undefined };
    });
  }
}
