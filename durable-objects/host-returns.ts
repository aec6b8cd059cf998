/**
 * How a Host gives a block back: row marked, block asked, Pool told, row gone.
 * May import: core, rpc, platform. Rule: it says what the block said; without an answer the row stays.
 */
import type { ReleaseBlockAnswer } from "../src/rpc/host.ts";
import type { PoolTarget } from "../src/rpc/pool.ts";
import { type AffinityRows, type RowTarget, rowOf } from "./host-affinity-rows.ts";
import { again, type HostContext } from "./host-context.ts";
import { saveBorrowed } from "./storage/host-rows.ts";

/** What is given back, under an epoch that its Pool has just issued. */
export interface Return {
  readonly owner: string;
  readonly target: PoolTarget;
  readonly block: string;
  readonly epoch: number;
  readonly mustBeEmpty: boolean;
  readonly cooldownMs: number;
  /** Asked in the transaction that marks the row; when it says no, nothing is changed. */
  readonly onlyIf?: () => boolean;
}

export class HostReturns {
  readonly #host: HostContext;
  readonly #enrol: () => Promise<boolean>;
  readonly #rows: AffinityRows;

  constructor(host: HostContext, enrol: () => Promise<boolean>, rows: AffinityRows) {
    this.#host = host;
    this.#enrol = enrol;
    this.#rows = rows;
  }

  /** Gives a block back. */
  async run(request: Return): Promise<ReleaseBlockAnswer> {
    const { owner, target, block, epoch, mustBeEmpty, cooldownMs } = request;
    const row = rowOf(target, block, epoch);
    const known = this.#host.memory.affinities.get(block);
    if (known === undefined && !(await this.#enrol())) return { kind: "unsettled" };
    if (this.#rows.move(row, "release", request.onlyIf) === "moved_on") return { kind: "stale" };
    const { pool, incarnation, cidr: poolCidr } = target;
    const message = { block, pool, incarnation, poolCidr, owner, epoch, mustBeEmpty, cooldownMs };
    const answer = await again(this.#host, () =>
      this.#host.runtime.ports.block(block).releaseAffinity(message),
    );
    if (answer.kind !== "answered") return { kind: "unsettled" };
    const said = answer.value;
    switch (said.kind) {
      case "stale":
        return { kind: "stale" };
      case "block_not_empty":
        this.#rows.move(row, "keep");
        return { kind: "block_not_empty", allocated: said.allocated, cooling: said.cooling };
      case "draining":
        // Its own addresses stay there: it goes on finding them, as it finds what it has borrowed.
        this.#noteBorrowed(row);
        return await this.#giveBack(row, owner, target, true);
      case "closed":
      case "not_owner":
        return await this.#giveBack(row, owner, target, false);
    }
  }

  #noteBorrowed({ block, pool, incarnation }: RowTarget): void {
    const { memory, store } = this.#host;
    store.transaction(() => saveBorrowed(store, block, pool, incarnation));
    memory.borrowed.add(block);
  }

  async #giveBack(
    row: RowTarget,
    owner: string,
    target: PoolTarget,
    draining: boolean,
  ): Promise<ReleaseBlockAnswer> {
    const message = { ...target, owner, block: row.block, epoch: row.epoch, draining };
    const told = await again(this.#host, () =>
      this.#host.runtime.ports.pool(target.pool, target.incarnation).release(message),
    );
    if (told.kind !== "answered") return { kind: "unsettled" };
    this.#rows.move(row, "remove");
    return { kind: draining ? "draining" : "released" };
  }
}
