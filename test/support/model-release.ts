/**
 * Releases and owners in the in-memory reference. May import: core addresses only.
 * Rule: each address is judged by itself; what does not match changes nothing and says so (I3).
 */
import { parseAddress } from "../../src/core/address.ts";
import { giveUpIfDeselected } from "./model-affinities.ts";
import type { ModelBlock, OwnerAttributes } from "./model-block.ts";
import { addressOf, type Held, type ModelState } from "./model-state.ts";

export interface ReleaseItem {
  readonly address: string;
  readonly handle?: string | undefined;
  readonly sequenceNumber?: number | undefined;
}

export interface ReleaseOutcome {
  /** As the item wrote it. */
  readonly address: string;
  readonly outcome: "released" | "already_free" | "not_in_any_block" | "rejected";
  readonly code?: "sequence_mismatch" | "handle_mismatch" | "address_taken";
}

/** Releases addresses. Absent: one of them is no address, and nothing was released. */
export function releaseAddresses(
  state: ModelState,
  items: readonly ReleaseItem[],
): readonly ReleaseOutcome[] | undefined {
  state.settle();
  if (items.some(({ address }) => !parseAddress(address).ok)) return undefined;
  const ended = new Map<ModelBlock, Set<number>>();
  const outcomes = items.map((item) => judge(state, item, ended));
  for (const [block, ordinals] of ended) end(state, block, [...ordinals]);
  return outcomes;
}

function judge(
  state: ModelState,
  { address: text, handle, sequenceNumber }: ReleaseItem,
  ended: Map<ModelBlock, Set<number>>,
): ReleaseOutcome {
  const address = addressOf(text);
  const rejected = (code: NonNullable<ReleaseOutcome["code"]>): ReleaseOutcome => {
    return { address: text, outcome: "rejected", code };
  };
  const block = state.blockOf(address);
  if (block === undefined) {
    const outcome = state.poolOf(address) === undefined ? "not_in_any_block" : "already_free";
    return { address: text, outcome };
  }
  const ordinal = Number(address.value - block.range.base);
  const slot = block.stateOf(ordinal, state.clock);
  if (slot === "host_reserved") return rejected("address_taken");
  const tenure = block.tenures.get(ordinal);
  if (sequenceNumber !== undefined && tenure !== undefined && tenure.sequenceNumber !== sequenceNumber) {
    return rejected("sequence_mismatch");
  }
  const isTaken = slot === "allocated" && ended.get(block)?.has(ordinal) !== true;
  if (!isTaken || tenure === undefined) return { address: text, outcome: "already_free" };
  if (handle !== undefined && handle !== tenure.handle) return rejected("handle_mismatch");
  ended.set(block, (ended.get(block) ?? new Set()).add(ordinal));
  return { address: text, outcome: "released" };
}

/** Releases all that a handle holds; gives back the addresses. */
export function releaseHandle(state: ModelState, handle: string): readonly string[] {
  state.settle();
  const held = state.heldBy(handle);
  for (const block of new Set(held.map((one) => one.block))) {
    const ordinals = held.filter((one) => one.block === block).map(({ ordinal }) => ordinal);
    end(state, block, ordinals);
  }
  return held.map(({ block, ordinal }) => block.address(ordinal));
}

function end(state: ModelState, block: ModelBlock, ordinals: readonly number[]): void {
  block.take(ordinals, state.now);
  giveUpIfDeselected(state, block);
  state.settle();
}

export interface OwnerChange {
  readonly active?: OwnerAttributes;
  readonly alternate?: OwnerAttributes;
}

export interface OwnerConditions {
  /** An owner without pod and namespace stands for nobody. */
  readonly active?: OwnerAttributes;
  readonly alternate?: OwnerAttributes;
}

export type OwnerFault =
  | "address_not_in_pool"
  | "address_not_allocated"
  | "handle_mismatch"
  | "owner_mismatch";

/** Replaces owners of one address; all conditions on owners that are replaced are checked first. */
export function changeOwners(
  state: ModelState,
  { address: text, handle }: { readonly address: string; readonly handle: string },
  change: OwnerChange,
  conditions: OwnerConditions,
): OwnerFault | undefined {
  state.settle();
  const address = addressOf(text);
  if (state.poolOf(address) === undefined) return "address_not_in_pool";
  const found = holderOf(state, text);
  if (found === undefined || found === "cooling") return "address_not_allocated";
  const { tenure } = found;
  if (tenure.handle !== handle) return "handle_mismatch";
  const slots = (["active", "alternate"] as const).filter((slot) => change[slot] !== undefined);
  const fails = slots.some((slot) => {
    const expected = conditions[slot];
    return expected !== undefined && !sameOwner(expected, tenure[slot]);
  });
  if (fails) return "owner_mismatch";
  for (const slot of slots) tenure[slot] = change[slot] ?? {};
  return undefined;
}

/** Who holds an address. */
export function holderOf(state: ModelState, text: string): Held | "cooling" | undefined {
  state.settle();
  const address = addressOf(text);
  const block = state.blockOf(address);
  if (block === undefined) return undefined;
  const ordinal = Number(address.value - block.range.base);
  const slot = block.stateOf(ordinal, state.clock);
  if (slot === "cooling") return "cooling";
  const tenure = block.tenures.get(ordinal);
  return slot === "allocated" && tenure !== undefined ? { block, ordinal, tenure } : undefined;
}

export type PromoteFault = "handle_not_allocated" | "alternate_owner_empty" | "alternate_owner_mismatch";

/** Makes the alternate owner the active one on every address of a handle, and the other way round. */
export function promote(
  state: ModelState,
  handle: string,
  target: OwnerAttributes,
): PromoteFault | undefined {
  state.settle();
  const held = state.heldBy(handle);
  if (held.length === 0) return "handle_not_allocated";
  for (const { tenure } of held) {
    if (sameOwner(target, tenure.active)) continue;
    if (isNobody(tenure.alternate)) return "alternate_owner_empty";
    if (!sameOwner(target, tenure.alternate)) return "alternate_owner_mismatch";
    const { active, alternate } = tenure;
    tenure.active = alternate;
    tenure.alternate = isNobody(active) ? {} : active;
  }
  return undefined;
}

function isNobody({ pod = "", namespace = "" }: OwnerAttributes): boolean {
  return pod === "" && namespace === "";
}

/** Only pod and namespace say who an owner is. */
function sameOwner(one: OwnerAttributes, other: OwnerAttributes): boolean {
  return (one.pod ?? "") === (other.pod ?? "") && (one.namespace ?? "") === (other.namespace ?? "");
}
