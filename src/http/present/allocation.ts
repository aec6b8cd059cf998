/**
 * Writes allocations, releases and their outcomes as answers.
 * May import: core, rpc and http. Times become text here, nowhere earlier.
 */
import type { AddressReleaseOutcome } from "../../rpc/block.ts";
import type { PlacedAddress } from "../../rpc/host.ts";
import { timeText } from "../problems/row.ts";
import type { Wire } from "../schemas/components.ts";

/** Writes one allocation. */
export function allocationOnWire(placed: PlacedAddress): Wire["Allocation"] {
  const { record } = placed;
  return {
    address: record.address,
    interfaceAddress: `${record.address}/${placed.interfacePrefix}`,
    family: record.family,
    pool: placed.pool,
    block: record.block,
    host: record.host,
    handle: record.handle,
    use: record.use,
    state: record.state,
    attributes: { ...record.attributes },
    ...(record.alternateAttributes === undefined
      ? {}
      : { alternateAttributes: { ...record.alternateAttributes } }),
    sequenceNumber: record.sequenceNumber,
    allocatedAt: timeText(record.allocatedAt),
    ...(record.releasedAt === undefined ? {} : { releasedAt: timeText(record.releasedAt) }),
    ...(record.freeAt === undefined ? {} : { freeAt: timeText(record.freeAt) }),
    borrowed: record.blockOwner !== record.host,
    reserved: placed.reserved,
    ...(placed.gateway === undefined ? {} : { gateway: placed.gateway }),
    leakCollection: record.leakCollection,
  };
}

/** What became of one address; `not_reached`: nothing, its request asks more blocks than one event may. */
export type ReleasedItem = AddressReleaseOutcome | { readonly kind: "not_reached"; readonly address: string };

/** Writes what became of one address of a release. */
export function releaseOnWire(outcome: ReleasedItem): Wire["ReleaseOutcome"] {
  const { address } = outcome;
  switch (outcome.kind) {
    case "released":
      return {
        address,
        handle: outcome.handle,
        outcome: "released",
        freeAt: timeText(outcome.freeAt),
        sequenceNumber: outcome.sequenceNumber,
      };
    case "already_free":
      return {
        address,
        outcome: "already_free",
        ...(outcome.freeAt === undefined ? {} : { freeAt: timeText(outcome.freeAt) }),
      };
    case "not_in_any_block":
      return { address, outcome: "not_in_any_block" };
    case "not_reached":
      return { address, outcome: "rejected", code: "in_progress" };
    case "rejected":
      return {
        address,
        outcome: "rejected",
        code: outcome.code,
        // A caller of another host learns nothing of the address.
        ...(outcome.code === "host_mismatch" ? {} : { sequenceNumber: outcome.sequenceNumber }),
      };
  }
}

/** Sums up the outcomes of a release. */
export function releaseResultOnWire(results: readonly Wire["ReleaseOutcome"][]): Wire["ReleaseResult"] {
  const count = (...outcomes: string[]) => results.filter(({ outcome }) => outcomes.includes(outcome)).length;
  return {
    released: count("released"),
    alreadyFree: count("already_free", "not_in_any_block"),
    rejected: count("rejected"),
    results: [...results],
  };
}
