/**
 * Writes blocks as answers.
 * May import: core, rpc and http.
 */
import { blockName, formatCidr } from "../../core/cidr.ts";
import type { BlockView } from "../../rpc/block.ts";
import type { DirectoryEntry } from "../../rpc/pool.ts";
import { timeText } from "../problems/row.ts";
import type { LocatedBlock } from "../reading/policy.ts";
import type { Wire } from "../schemas/components.ts";

/** Writes one block from its own answer; the directory only tells of a claim under way. */
export function blockOnWire(located: LocatedBlock, view: BlockView): Wire["Block"] {
  const { counts } = view;
  const affinity = affinityOnWire(located.entry, view);
  return {
    name: blockName(located.block),
    cidr: formatCidr(located.block),
    pool: located.pool.definition.name,
    family: located.block.family,
    ...(affinity === undefined ? {} : { affinity }),
    capacity: counts.capacity,
    allocated: counts.allocated,
    cooling: counts.cooling,
    hostReserved: counts.hostReserved,
    reserved: counts.reserved,
    // As in the figures of its pool (I14): a block without owner is on its way out and offers nothing.
    available: view.owner === undefined ? 0 : counts.available,
    borrowed: counts.borrowed,
    sequenceNumber: view.sequenceNumber,
    epoch: view.epoch,
    ...(counts.nextFreeAt === undefined ? {} : { nextFreeAt: timeText(counts.nextFreeAt) }),
    asOf: timeText(counts.asOf),
    exact: true,
    ...(view.map === undefined ? {} : { map: view.map }),
  };
}

/** The owner that the block names is the owner; one that only the directory names is on its way. */
function affinityOnWire(entry: DirectoryEntry, view: BlockView): Wire["Affinity"] | undefined {
  const owner = view.owner ?? entry.owner;
  if (owner === undefined) return undefined;
  return {
    type: owner.startsWith("virtual:") ? "virtual" : "host",
    name: owner.replace(/^virtual:/, ""),
    state: view.owner === undefined ? "pending" : "confirmed",
    ...(view.claimedAt === undefined ? {} : { claimedAt: timeText(view.claimedAt) }),
  };
}
