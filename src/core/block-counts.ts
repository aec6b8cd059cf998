/**
 * The figures of a block, from its index: what is not reserved is never looked at one by one.
 * May import: core only. All from one snapshot (I14).
 */
import type { BlockCounts, OrdinalRanges } from "./allocation.ts";
import { type BlockDraft, isHostReserved, openOrdinals, ordinalState } from "./block.ts";
import type { BlockPolicy } from "./block-messages.ts";
import { coolingStepsOf } from "./cooling.ts";
import { freeAt, inRanges, type OrdinalRow, stateOf } from "./ordinal.ts";

/** The part of the figures that says whether there is room. */
export type BlockRoom = Pick<BlockCounts, "allocated" | "cooling" | "free" | "hostReserved" | "available">;

/** Counts what is free, and what of it could be handed out now. */
export function countRoom(draft: BlockDraft, { reserved, cooldownMs }: BlockPolicy): BlockRoom {
  const { capacity, index, now } = draft;
  const [first, end] = openOrdinals(draft.header, capacity);
  const hostReserved = capacity - (end - first);
  const { allocated, freed } = index;
  const cooling = freed.length - freed.freeCount(cooldownMs, now) - coolingSetAside(draft, cooldownMs);
  const free = capacity - hostReserved - allocated - cooling;
  const available = free - freeWithin(draft, reserved, cooldownMs);
  return { allocated, cooling, free, hostReserved, available };
}

/** Counts a block (I14). */
export function countBlock(draft: BlockDraft, policy: BlockPolicy): BlockCounts {
  const { capacity, owner, index, now } = draft;
  const { allocated, cooling, free, hostReserved, available } = countRoom(draft, policy);
  return {
    capacity,
    allocated,
    cooling,
    hostReserved,
    free,
    reserved: sizeWithin(policy.reserved, capacity),
    available,
    borrowed: allocated - (owner === undefined ? 0 : index.heldBy(owner)),
    ...(cooling === 0 ? undefined : stepsOf(draft, policy)),
    asOf: now,
  };
}

/** An ordinal that is set aside may have a row of an earlier life that cools still. */
function coolingSetAside(draft: BlockDraft, cooldownMs: number): number {
  const { header, capacity, index, now } = draft;
  const [first, end] = openOrdinals(header, capacity);
  if (end - first === capacity) return 0;
  const cools = (ordinal: number): boolean => stateOf(index.row(ordinal), cooldownMs, now) === "cooling";
  let count = 0;
  for (let ordinal = 0; ordinal < first; ordinal += 1) if (cools(ordinal)) count += 1;
  for (let ordinal = end; ordinal < capacity; ordinal += 1) if (cools(ordinal)) count += 1;
  return count;
}

function freeWithin(draft: BlockDraft, ranges: OrdinalRanges, cooldownMs: number): number {
  let count = 0;
  for (const [first, last] of ranges) {
    for (let ordinal = first; ordinal <= last && ordinal < draft.capacity; ordinal += 1) {
      if (ordinalState(draft, ordinal, cooldownMs) === "free") count += 1;
    }
  }
  return count;
}

function sizeWithin(ranges: OrdinalRanges, capacity: number): number {
  let sum = 0;
  for (const [first, last] of ranges) sum += Math.max(0, Math.min(last, capacity - 1) - first + 1);
  return sum;
}

/** When the next address that is not reserved is free, and the steps in which all that cool become so. */
function stepsOf(draft: BlockDraft, policy: BlockPolicy): Pick<BlockCounts, "nextFreeAt" | "coolingSteps"> {
  const rows = coolingRows(draft, policy);
  const { reserved } = policy;
  const at = (place: number) => freeAt(rows.at(place), policy.cooldownMs);
  const isOpen = (place: number) => !inRanges(reserved, rows.at(place)?.ordinal ?? 0);
  const coolingSteps = coolingStepsOf(rows.length, at, reserved.length === 0 ? undefined : isOpen);
  let next = 0;
  while (next < rows.length && !isOpen(next)) next += 1;
  return next < rows.length ? { nextFreeAt: at(next), coolingSteps } : { coolingSteps };
}

/** Shape: ascending by when they are free. */
interface CoolingRows {
  readonly length: number;
  at(place: number): OrdinalRow | undefined;
}

function coolingRows(draft: BlockDraft, { cooldownMs }: BlockPolicy): CoolingRows {
  const { capacity, header, index, now } = draft;
  const { freed } = index;
  const from = freed.freeCount(cooldownMs, now);
  const view = { length: freed.length - from, at: (place: number) => freed.at(from + place) };
  if (coolingSetAside(draft, cooldownMs) === 0) return view;
  const rows = Array.from({ length: view.length }, (_, place) => view.at(place));
  return rows.filter((row) => row !== undefined && !isHostReserved(header, capacity, row.ordinal));
}
