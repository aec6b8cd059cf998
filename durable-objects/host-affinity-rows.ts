/**
 * The rows of a Host's blocks, and how they move. May import: core, storage.
 * Rule: a row moves only under the epoch that it has, in a transaction of its own; whoever is late is told so.
 */
import type { AffinityEvent } from "../src/core/affinity.ts";
import type { PoolTarget } from "../src/rpc/pool.ts";
import { cidrOf, type HostContext } from "./host-context.ts";
import type { HostOffers } from "./host-offers.ts";
import {
  type Affinity,
  countAffinities,
  moveAffinity,
  readAffinity,
  readRegistration,
} from "./storage/host-rows.ts";

/** A block under an epoch, as a row names it. */
export type RowTarget = Omit<Affinity, "state" | "claimedAt">;

export class AffinityRows {
  readonly #host: HostContext;
  readonly #offers: HostOffers;
  #moves = 0;

  constructor(host: HostContext, offers: HostOffers) {
    this.#host = host;
    this.#offers = offers;
  }

  /** Rises with every row that moved: who has looked through the rows knows whether to look again. */
  get moves(): number {
    return this.#moves;
  }

  /** The cap is checked in the transaction that inserts the row, over rows in every state (I10). */
  begin(row: RowTarget, cap: number | undefined): "begun" | "over_cap" | "moved_on" | "removing" {
    const { store, memory, runtime } = this.#host;
    const now = runtime.now();
    const outcome = store.transaction(() => {
      const before = readAffinity(store, row.block);
      const isNew = before === undefined;
      // An order to leave may have made its row beyond the cap: what matters are the others.
      const others = countAffinities(store, row.family) - (isNew ? 0 : 1);
      const isChecked = isNew || before.state === "pendingDeletion";
      if (isChecked && cap !== undefined && others >= cap) return "over_cap";
      // A removed host takes nothing: what was offered goes back, as beyond a cap.
      const gone = readRegistration(store)?.gone;
      if (gone !== undefined && gone.isOver !== true) return isNew ? "over_cap" : "removing";
      return moveAffinity(store, row, "claim", now);
    });
    if (outcome === "over_cap" || outcome === "removing") return outcome;
    if (outcome === "moved_on" || outcome === "gone") return "moved_on";
    memory.moved(row.block, outcome);
    this.#moves += 1;
    return "begun";
  }

  move(row: RowTarget, event: AffinityEvent, onlyIf?: () => boolean): Affinity | "gone" | "moved_on" {
    const { store, memory, runtime } = this.#host;
    const { block, pool, poolCidr, incarnation, family, epoch } = row;
    const target = { block, pool, poolCidr, incarnation, family, epoch };
    const moved = store.transaction(() => {
      if (onlyIf?.() === false) return "moved_on";
      if (event === "confirm") this.#host.confirmations.arm();
      return moveAffinity(store, target, event, runtime.now());
    });
    memory.moved(block, moved);
    if (moved === "gone") this.#offers.lost(row);
    if (moved !== "moved_on") this.#moves += 1;
    return moved;
  }
}

/** The row of a block under an epoch. */
export function rowOf(target: PoolTarget, block: string, epoch: number): RowTarget {
  const { pool, incarnation, cidr: poolCidr } = target;
  return { block, pool, poolCidr, incarnation, family: cidrOf(block).family, epoch };
}
