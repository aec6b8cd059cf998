/**
 * What a block shows of itself: figures, records, a map. Pure; nothing is changed.
 * May import: core only.
 */
import { parseAddress } from "./address.ts";
import type { OrdinalRanges } from "./allocation.ts";
import { type BlockDraft, ordinalState, recordOf } from "./block.ts";
import { countBlock } from "./block-counts.ts";
import type { BlockView, DescribeRequest } from "./block-messages.ts";
import { containsAddress, ordinalOf } from "./cidr.ts";
import { inRanges, type OrdinalRow } from "./ordinal.ts";

/** Tells who owns the block, its figures, and the records and the map that are asked for. */
export function viewBlock(draft: BlockDraft, request: DescribeRequest): BlockView {
  const { header } = draft;
  const { cooldownMs, reserved } = request.policy;
  const records = wantedRows(draft, request.records).flatMap((row) => {
    const state = ordinalState(draft, row.ordinal, cooldownMs);
    const isShown = state === "allocated" || state === "cooling";
    return (isShown ? recordOf(draft, row, cooldownMs) : undefined) ?? [];
  });
  const counts = countBlock(draft, request.policy);
  return {
    exists: header !== undefined && (header.owner !== undefined || counts.allocated + counts.cooling > 0),
    ...(header?.owner === undefined ? {} : { owner: header.owner }),
    ...(header?.claimedAt === undefined ? {} : { claimedAt: header.claimedAt }),
    epoch: header?.epoch ?? 0,
    sequenceNumber: draft.counter,
    counts,
    records,
    ...(request.map === true ? { map: mapOf(draft, reserved, cooldownMs) } : {}),
  };
}

/** The rows that are asked for, by address. */
function wantedRows(draft: BlockDraft, wanted: DescribeRequest["records"]): OrdinalRow[] {
  if (wanted === undefined) return [];
  if (wanted !== "all" && "address" in wanted) {
    const address = parseAddress(wanted.address);
    if (!address.ok || !containsAddress(draft.cidr, address.value)) return [];
    const row = draft.row(ordinalOf(draft.cidr, address.value));
    return row === undefined ? [] : [row];
  }
  const isWanted = ({ current, ended }: OrdinalRow): boolean =>
    wanted === "all" || (current ?? ended[0])?.handle === wanted.handle;
  return [...draft.rows()].filter(isWanted).sort((one, other) => one.ordinal - other.ordinal);
}

function mapOf(draft: BlockDraft, reserved: OrdinalRanges, cooldownMs: number): string {
  let map = "";
  for (let ordinal = 0; ordinal < draft.capacity; ordinal += 1) {
    const state = ordinalState(draft, ordinal, cooldownMs);
    const isBorrowed = draft.row(ordinal)?.current?.host !== draft.owner;
    if (state === "host_reserved") map += "w";
    else if (state === "allocated") map += isBorrowed ? "b" : "#";
    else if (state === "cooling") map += "c";
    else map += inRanges(reserved, ordinal) ? "r" : ".";
  }
  return map;
}
