/**
 * Rows of Cluster about how pools end: orders that a Pool has not acknowledged, and splits that were done.
 * May import: core, rpc, the store. Rule: an order is stored in the transaction that decides it.
 */
import type { PoolDefinition } from "../../src/core/policy.ts";
import type { PoolMode, PoolTarget } from "../../src/rpc/pool.ts";
import type { SqlRow, Store } from "./store.ts";

/** What a Pool is to be told. */
export interface PoolOrder extends PoolTarget {
  /** Rises with every order of the deployment. */
  readonly number: number;
  /** Of the definition that it follows from. */
  readonly revision: number;
  readonly mode: PoolMode;
  /** Not sent before this time, so that what it undoes may be made to last. Milliseconds since 1970. */
  readonly heldUntil?: number;
}

/** What a split was asked for, and what it made. */
export interface SplitDone {
  readonly pool: string;
  readonly parts: number;
  readonly made: readonly string[];
}

interface BodyRow extends SqlRow {
  body: string;
}

export class PoolOrderRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Stores an order in the place of an older one to the same Pool. */
  put(definition: PoolDefinition, mode: PoolMode, heldUntil?: number): PoolOrder {
    const { name: pool, incarnation, cidr, blockSize, revision } = definition;
    const { orders, horizon } = this.#numbers();
    const held = heldUntil === undefined ? {} : { heldUntil };
    const number = orders + 1;
    const order: PoolOrder = { pool, incarnation, cidr, blockSize, revision, mode, number, ...held };
    this.#putNumbers(number, horizon);
    this.#write(order);
    return order;
  }

  /** The order to a Pool that is not acknowledged. */
  find(pool: string, incarnation: number): PoolOrder | undefined {
    const query = "SELECT body FROM pool_order WHERE incarnation = ? AND name = ?";
    const row = this.#store.row<BodyRow>(query, incarnation, pool);
    return row && (JSON.parse(row.body) as PoolOrder);
  }

  /** Lets an order go out; before it is sent, so that nobody builds on its being held. */
  unhold(order: PoolOrder): PoolOrder {
    const { heldUntil: _held, ...sent } = order;
    if (order.heldUntil !== undefined) this.#write(sent);
    return sent;
  }

  /** The orders that are to be sent, now or later, oldest first. */
  pending(limit: number): PoolOrder[] {
    const query = "SELECT body FROM pool_order ORDER BY number LIMIT ?";
    return this.#store.rows<BodyRow>(query, limit).map(({ body }) => JSON.parse(body) as PoolOrder);
  }

  /**
   * Notes that a Pool has an order, unless a newer one has taken its place: it is forgotten, or, until the
   * pool is gone, repeated at a time.
   */
  acknowledged(order: PoolOrder, repeatAt: number | undefined): void {
    const { pool, incarnation, number } = order;
    if (this.find(pool, incarnation)?.number !== number) return;
    if (repeatAt === undefined) this.forget(pool, incarnation);
    else this.#write({ ...order, heldUntil: repeatAt });
  }

  forget(pool: string, incarnation: number): void {
    this.#store.write("DELETE FROM pool_order WHERE incarnation = ? AND name = ?", incarnation, pool);
  }

  /** No lease from before the last removal of a pool lives longer. */
  get removalHorizon(): number {
    return this.#numbers().horizon;
  }

  noteRemoval(horizon: number): void {
    const before = this.#numbers();
    this.#putNumbers(before.orders, Math.max(before.horizon, horizon));
  }

  split(key: string): SplitDone | undefined {
    const row = this.#store.row<BodyRow>("SELECT body FROM split WHERE name = ?", key);
    return row && (JSON.parse(row.body) as SplitDone);
  }

  /** Remembers a split by its key; those made before a time are forgotten. */
  putSplit(key: string, done: SplitDone, now: number, forgottenBefore: number): void {
    this.#store.write("DELETE FROM split WHERE at < ?", forgottenBefore);
    const body = JSON.stringify(done);
    this.#store.write("INSERT OR REPLACE INTO split (name, at, body) VALUES (?, ?, ?)", key, now, body);
  }

  #write(order: PoolOrder): void {
    this.#store.write(
      "INSERT OR REPLACE INTO pool_order (incarnation, name, number, body) VALUES (?, ?, ?, ?)",
      order.incarnation,
      order.pool,
      order.number,
      JSON.stringify(order),
    );
  }

  #numbers(): { orders: number; horizon: number } {
    const query = "SELECT orders, removal_horizon AS horizon FROM pool_life WHERE id = 1";
    return this.#store.row<{ orders: number; horizon: number }>(query) ?? { orders: 0, horizon: 0 };
  }

  #putNumbers(orders: number, horizon: number): void {
    const columns = "(id, orders, removal_horizon)";
    this.#store.write(`INSERT OR REPLACE INTO pool_life ${columns} VALUES (1, ?, ?)`, orders, horizon);
  }
}
