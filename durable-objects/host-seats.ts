/**
 * The own blocks of a Host as seats for one family's search. May import: core, storage.
 * Rule: from memory, so all of it is a hint; the block that is asked decides.
 */
import type { Family } from "../src/core/errors.ts";
import { earliest } from "../src/core/placement.ts";
import type { CompiledPool } from "../src/core/policy.ts";
import type { Seat } from "./host-attempt-terms.ts";
import { cidrOf, type HostContext } from "./host-context.ts";
import type { Affinity } from "./storage/host-rows.ts";

export class HostSeats {
  readonly #host: HostContext;
  readonly #family: Family;

  constructor(host: HostContext, family: Family) {
    this.#host = host;
    this.#family = family;
  }

  /** Confirmed blocks of the pools: by pool as chosen, then by address. */
  own(pools: readonly CompiledPool[]): Seat[] {
    const rows = [...this.#host.memory.affinities.values()].filter(({ state }) => state === "confirmed");
    return pools.flatMap((pool) =>
      rows
        .filter((row) => isRowOf(row, pool))
        .map(({ block }) => ({ block, base: cidrOf(block).base }))
        .sort((one, other) => (one.base < other.base ? -1 : 1))
        .map(({ block }) => ({ pool, block, isOwn: true })),
    );
  }

  /** Of these only the blocks that may have room; the full ones are not even looked at. */
  roomy(pools: readonly CompiledPool[]): Seat[] {
    const { memory, runtime } = this.#host;
    const now = runtime.now();
    return pools.flatMap((pool) => {
      const blocks = [...memory.roomy(pool.definition, now)];
      if (blocks.length > 1) blocks.sort((one, other) => (cidrOf(one).base < cidrOf(other).base ? -1 : 1));
      return blocks.map((block) => ({ pool, block, isOwn: true }));
    });
  }

  /** Whether a block may have room for one more request. */
  mayHaveRoom(seat: Seat): boolean {
    return this.#host.memory.mayHaveRoom(seat.block, this.#host.runtime.now());
  }

  /** Affinity rows of the family in every state: what caps count. */
  rows(): number {
    return this.#host.memory.countOf(this.#family);
  }

  /** When the first cooling address of the own blocks is free, as far as known. */
  nextFreeAt(pools: readonly CompiledPool[]): number | undefined {
    return earliest(this.own(pools).map(({ block }) => this.#host.memory.hint(block)?.counts.nextFreeAt));
  }
}

/** Tells whether a row is of that incarnation of the pool. */
export function isRowOf(row: Pick<Affinity, "pool" | "incarnation">, { definition }: CompiledPool): boolean {
  return row.pool === definition.name && row.incarnation === definition.incarnation;
}
