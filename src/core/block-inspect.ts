/**
 * All that a block knows of one address: its state, its holder, who held it before. Pure.
 * May import: core only. Nothing is changed.
 */
import { parseAddress } from "./address.ts";
import { type BlockDraft, ordinalState, recordOf } from "./block.ts";
import type { AddressInspection, InspectRequest, PastTenure } from "./block-messages.ts";
import { containsAddress, ordinalOf } from "./cidr.ts";
import { invariant } from "./invariant.ts";
import { type EndedTenure, freeAt } from "./ordinal.ts";

/** Tells everything about one address of the block. */
export function inspect(draft: BlockDraft, { address: text, policy }: InspectRequest): AddressInspection {
  const address = parseAddress(text);
  const isHere = address.ok && containsAddress(draft.cidr, address.value);
  invariant(isHere, `${text} is no address of this block`);
  const ordinal = ordinalOf(draft.cidr, address.value);
  const row = draft.row(ordinal);
  const state = ordinalState(draft, ordinal, policy.cooldownMs);
  const record =
    row === undefined || state !== "allocated" ? undefined : recordOf(draft, row, policy.cooldownMs);
  return {
    state,
    ...(draft.owner === undefined ? {} : { owner: draft.owner }),
    ...(record === undefined ? {} : { record }),
    ...(state === "cooling" ? { freeAt: freeAt(row, policy.cooldownMs) } : {}),
    tenures: (row?.ended ?? []).map(pastTenure),
    isComplete: row?.hasForgotten !== true && draft.header?.hasForgotten !== true,
  };
}

function pastTenure(tenure: EndedTenure): PastTenure {
  const { host, handle, attributes, allocatedAt, releasedAt, releasedBy, sequenceNumber } = tenure;
  const told = { host, handle, attributes, allocatedAt, releasedAt, sequenceNumber };
  return releasedBy === undefined ? told : { ...told, releasedBy };
}
