/**
 * Makes the world in which a case begins, in the in-memory reference.
 * May import: the model, the rest of this folder.
 */
import { parseCidr, parseCidrMasked } from "../../src/core/cidr.ts";
import type { Model } from "../support/model.ts";
import { addressOf } from "../support/model-state.ts";
import { isHandle } from "./model-backend.ts";
import { ownerName } from "./translation.ts";
import { type Given, GivenRefused, type RawBlock, type RawState } from "./vocabulary.ts";

/** Rejects: `GivenRefused` when the service would not let such a state come to be. */
export function seed(model: Model, given: Given): void {
  const { state } = model;
  for (const { name, labels } of given.hosts ?? []) state.hosts.set(name, labels);
  for (const text of given.pools ?? []) {
    if (model.putPool(text) === undefined) throw new GivenRefused(`pool ${text.name} is not sound`);
  }
  state.reservations = (given.reservations ?? []).flatMap(({ reservedCIDRs }) =>
    reservedCIDRs.flatMap((text) => {
      const range = parseCidrMasked(text);
      return range.ok ? [range.value] : [];
    }),
  );
  if (given.config !== undefined && !model.changeConfig(given.config)) {
    throw new GivenRefused("the configuration contradicts itself");
  }
  seedRaw(model, given.state ?? {});
}

/** Counts of handles are not entered: they are derived from the allocations. */
function seedRaw(model: Model, { blocks = [], affinities = [] }: RawState): void {
  for (const block of blocks) seedBlock(model, block);
  for (const { host, type, cidr, state } of affinities) {
    const owner = ownerName(host, type);
    const isKnown = state === "pending" || state === "confirmed" || state === "pendingDeletion";
    model.state.setRow(owner, cidr, isKnown ? state : "confirmed");
  }
}

function seedBlock(model: Model, raw: RawBlock): void {
  const range = parseCidr(raw.cidr);
  if (!range.ok) throw new Error(`${raw.cidr}: ${range.error.message}`);
  const owner = raw.affinity === null ? undefined : raw.affinity.replace(/^host:/, "");
  const block = model.state.makeBlock(range.value, owner);
  const { claimedSecondsAgo } = raw;
  block.claimedAt = claimedSecondsAgo === undefined ? undefined : model.state.now - claimedSecondsAgo * 1000;
  for (const { ip, handle, sequence = 0, releasedSecondsAgo } of raw.allocations ?? []) {
    if (handle !== undefined && !isHandle(handle)) throw new GivenRefused(`${handle} is no handle`);
    const ordinal = Number(addressOf(ip).value - range.value.base);
    const tenure = { handle, host: owner ?? "", active: {}, alternate: {}, sequenceNumber: sequence };
    const released =
      releasedSecondsAgo === undefined
        ? {}
        : { releasedAt: model.state.now - releasedSecondsAgo * 1000, freedAt: sequence };
    block.tenures.set(ordinal, { ...tenure, ...released });
  }
  block.sequenceNumber = raw.sequenceNumber ?? 0;
}
