/**
 * What a block shows of itself: figures, records, a map. Pure; nothing is changed.
 * May import: core only.
 */
import { parseAddress } from "./address.ts";
import { type AddressRecord, charactersOf, type OrdinalRanges } from "./allocation.ts";
import { type BlockDraft, ordinalState, recordOf } from "./block.ts";
import { countBlock } from "./block-counts.ts";
import type { BlockView, DescribeRequest } from "./block-messages.ts";
import { containsAddress, ordinalOf } from "./cidr.ts";
import { kindOf, type LeakKind } from "./leak-subject.ts";
import { inRanges, type OrdinalRow } from "./ordinal.ts";

/** Tells who owns the block, its figures, and the records and the map that are asked for. */
export function viewBlock(draft: BlockDraft, request: DescribeRequest): BlockView {
  const { header } = draft;
  const { cooldownMs, reserved } = request.policy;
  const counts = countBlock(draft, request.policy);
  return {
    exists: header !== undefined && (header.owner !== undefined || counts.allocated + counts.cooling > 0),
    ...(header?.owner === undefined ? {} : { owner: header.owner }),
    ...(header?.claimedAt === undefined ? {} : { claimedAt: header.claimedAt }),
    epoch: header?.epoch ?? 0,
    sequenceNumber: draft.counter,
    counts,
    ...recordsOf(draft, request),
    ...(request.map === true ? { map: mapOf(draft, reserved, cooldownMs) } : {}),
  };
}

/** The records that are asked for, by address; of a part also where it ends, if not at the last of them. */
function recordsOf(
  draft: BlockDraft,
  request: DescribeRequest,
): Pick<BlockView, "records" | "kinds" | "next"> {
  const { part, bare = false } = request;
  const { cooldownMs } = request.policy;
  const seen = part?.after === undefined ? -1 : ordinalIn(draft, part.after);
  const records: AddressRecord[] = [];
  const kinds: LeakKind[] = [];
  let characters = 0;
  for (const row of wantedRows(draft, request.records)) {
    const state = ordinalState(draft, row.ordinal, cooldownMs);
    if (row.ordinal <= seen || (state !== "allocated" && state !== "cooling")) continue;
    const record = recordOf(draft, row, cooldownMs);
    if (record === undefined) continue;
    const told = bare ? bared(record) : record;
    characters += part === undefined ? 0 : charactersOf(told);
    const last = records.at(-1);
    if (part !== undefined && last !== undefined && characters > part.characters) {
      return { records, ...(bare ? { kinds } : {}), next: last.address };
    }
    records.push(told);
    if (bare) kinds.push(kindOf(record));
  }
  return { records, ...(bare ? { kinds } : {}) };
}

function bared({ alternateAttributes: _, ...record }: AddressRecord): AddressRecord {
  return { ...record, attributes: {} };
}

/** Shape: -1 of what is no address of this block. */
function ordinalIn(draft: BlockDraft, text: string): number {
  const address = parseAddress(text);
  const isHere = address.ok && containsAddress(draft.cidr, address.value);
  return isHere ? ordinalOf(draft.cidr, address.value) : -1;
}

/** The rows that are asked for, by address. */
function wantedRows(draft: BlockDraft, wanted: DescribeRequest["records"]): OrdinalRow[] {
  if (wanted === undefined) return [];
  if (wanted !== "all" && "address" in wanted) {
    const ordinal = ordinalIn(draft, wanted.address);
    const row = ordinal < 0 ? undefined : draft.row(ordinal);
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
