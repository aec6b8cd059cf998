/**
 * Assignment of one exact address in the in-memory reference. May import: core addresses only.
 */
import { claim, recover } from "./model-affinities.ts";
import { give, type Refusal, type Wish } from "./model-allocate.ts";
import { addressOf, type Held, type ModelState } from "./model-state.ts";

export interface AssignWish extends Pick<Wish, "host" | "handle" | "attributes" | "maxPerHandle"> {
  readonly address: string;
  /** Absent: any that the pool allows. */
  readonly use?: string | undefined;
}

/** Assigns the one address that is named, reserved or not; claims its block if there is none. */
export function assign(state: ModelState, wish: AssignWish): Held | Refusal {
  state.settle();
  const address = addressOf(wish.address);
  const pool = state.enabledPoolOf(address);
  if (pool === undefined) return { code: "address_not_in_pool" };
  if (wish.use !== undefined && !pool.allowedUses.includes(wish.use)) return { code: "use_not_allowed" };
  const range = state.rangeAround(pool, address);
  recover(state, wish.host, [pool]);
  const block = state.blockOf(address) ?? claim(state, wish.host, range);
  if (block === undefined) return { code: "address_outside_affinity" };
  if (state.config.strictAffinity && block.owner !== wish.host) return { code: "address_outside_affinity" };
  const ordinal = Number(address.value - block.range.base);
  const tenure = block.tenures.get(ordinal);
  const slot = block.stateOf(ordinal, state.clock);
  if (slot === "allocated" && tenure !== undefined && wish.handle !== undefined) {
    if (tenure.handle === wish.handle) return { block, ordinal, tenure };
  }
  // What a handle holds is known before the block is asked.
  const { handle, maxPerHandle: limit } = wish;
  if (handle !== undefined && limit !== undefined) {
    if (state.heldBy(handle, address.family).length >= limit) return { code: "handle_limit_reached" };
  }
  // A block without owner or tenant gives nothing: it is claimed when its last address has cooled.
  const isEmptied = block.owner === undefined && block.ordinals("allocated", state.clock).length === 0;
  if (slot === "cooling" || isEmptied) return { code: "address_cooling" };
  if (slot !== "free") return { code: "address_taken" };
  return { block, ordinal, tenure: give(block, ordinal, wish) };
}
