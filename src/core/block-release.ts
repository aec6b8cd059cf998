/**
 * Taking addresses back: by handle and key, by address. Pure.
 * May import: core only. A release that does not match changes nothing and says so (I3).
 */
import { parseAddress } from "./address.ts";
import type { AddressRecord } from "./allocation.ts";
import { type BlockDraft, isHostReserved, recordOf } from "./block.ts";
import { isFinal, traceKey } from "./block-allocate.ts";
import type { BlockRoom } from "./block-counts.ts";
import type {
  AddressRelease,
  AddressReleaseOutcome,
  HoldsAnswer,
  HoldsRequest,
  KeyRelease,
  ReleasedRecord,
  ReleaseHandleRequest,
} from "./block-messages.ts";
import { containsAddress, ordinalOf } from "./cidr.ts";
import { type EndedTenure, type Ending, freeAt, type OrdinalRow, pastOf } from "./ordinal.ts";
import { isReleasedBy } from "./owners.ts";

/** Ends the tenure of an allocated address: it cools from now on. */
export function end(draft: BlockDraft, row: OrdinalRow, ending: Ending = {}): OrdinalRow {
  const tenure = row.current;
  if (tenure === undefined) return row;
  const number = draft.nextNumber();
  // The block's time is never earlier than any time it stored, so no older release lies after this.
  const { attempt: _over, ...kept } = tenure;
  const ended: EndedTenure = { ...kept, releasedAt: draft.now, freedAt: number, ...ending };
  const age = {
    inFlightMs: draft.times.untilMs + 2 * draft.times.skewMs,
    spentKeyMs: draft.times.spentKeyMs,
  };
  const released: OrdinalRow = {
    ordinal: row.ordinal,
    number,
    at: draft.now,
    ...pastOf([ended, ...row.ended], row, draft.now, age),
  };
  draft.put(released);
  return released;
}

/**
 * Releases what the named keys of a handle hold here. A key that holds nothing was released before,
 * or is absent: finally, or perhaps only not yet.
 */
export function releaseHandle(draft: BlockDraft, request: ReleaseHandleRequest): KeyRelease[] {
  const { handle, onlyHost, cooldownMs } = request;
  const asked = request.keys.map(({ key, finalAfter }) => {
    const trace = traceKey(draft, handle, key);
    return { key, finalAfter, trace, mine: trace.held.filter((row) => isInReach(row, onlyHost)) };
  });
  const records = endTogether(
    draft,
    asked.flatMap(({ mine }) => mine),
    cooldownMs,
  );
  return asked.map(({ key, finalAfter, trace, mine }) => {
    const told = mine.flatMap(({ ordinal }) => records.get(ordinal) ?? []);
    if (trace.held.length > mine.length) return { key, outcome: "kept", records: told };
    if (mine.length > 0 || trace.wasReleased) return { key, outcome: "released", records: told };
    return { key, outcome: isFinal(draft, finalAfter) ? "absent" : "not_final", records: [] };
  });
}

/**
 * Ends tenures at one moment; gives back their records by ordinal. Addresses that are freed together are
 * given out again in their own order, whichever was taken first.
 */
function endTogether(
  draft: BlockDraft,
  rows: readonly OrdinalRow[],
  cooldownMs: number,
): ReadonlyMap<number, ReleasedRecord> {
  const records = new Map<number, ReleasedRecord>();
  for (const row of rows.toSorted((one, other) => one.ordinal - other.ordinal)) {
    if (records.has(row.ordinal)) continue;
    const record = recordOf(draft, end(draft, row), cooldownMs);
    if (record !== undefined) records.set(row.ordinal, withoutAttributes(record));
  }
  return records;
}

function withoutAttributes({ attributes: _active, alternateAttributes: _other, ...rest }: AddressRecord) {
  return rest satisfies ReleasedRecord;
}

function isInReach(row: OrdinalRow, onlyHost: string | undefined): boolean {
  return onlyHost === undefined || (row.current !== undefined && isReleasedBy(onlyHost, row.current));
}

/** Tells for each key whether the block holds it, and whether a "no" is final. */
export function holds(draft: BlockDraft, request: HoldsRequest): HoldsAnswer {
  const traces = request.keys.map(({ handle, key }) => traceKey(draft, handle, key));
  const held = request.keys.map(({ finalAfter }, index) => {
    const trace = traces[index];
    if (trace !== undefined && trace.held.length > 0) return "held";
    if (trace?.wasReleased === true) return "released";
    return isFinal(draft, finalAfter) ? "not_held" : "not_final";
  });
  return { held, counts: traces.map((trace) => trace.held.length) };
}

/**
 * Releases the addresses of a list, each judged by itself, in the order of addresses; answers in that of
 * the list. One that is named twice is judged in the order of the list.
 */
export function releaseAddresses(
  draft: BlockDraft,
  items: readonly AddressRelease[],
  cooldownMs: number,
): AddressReleaseOutcome[] {
  const places = items.map((item, place) => ({ place, item, ordinal: ordinalHere(draft, item) ?? -1 }));
  places.sort((one, other) => one.ordinal - other.ordinal);
  const outcomes: AddressReleaseOutcome[] = [];
  for (const { place, item } of places) outcomes[place] = releaseAddress(draft, item, cooldownMs);
  return outcomes;
}

function ordinalHere(draft: BlockDraft, { address }: AddressRelease): number | undefined {
  const parsed = parseAddress(address);
  const isHere = parsed.ok && containsAddress(draft.cidr, parsed.value);
  return isHere ? ordinalOf(draft.cidr, parsed.value) : undefined;
}

/**
 * Releases one address, guarded by its number or handle unless forced.
 * Invariant: I3. A guarded release of an address whose last allocation had that number is success.
 */
export function releaseAddress(
  draft: BlockDraft,
  item: AddressRelease,
  cooldownMs: number,
): AddressReleaseOutcome {
  const address = item.address;
  const ordinal = ordinalHere(draft, item);
  if (ordinal === undefined) return { kind: "not_in_any_block", address };
  const row = draft.row(ordinal);
  if (isHostReserved(draft.header, draft.capacity, ordinal)) {
    return { kind: "rejected", address, code: "address_taken", sequenceNumber: draft.counter };
  }
  if (row?.current === undefined) return notAllocated(row, item, cooldownMs);
  const { handle, sequenceNumber } = row.current;
  // First, so that a guess tells an agent nothing about an address of another host.
  if (item.onlyHost !== undefined && !isReleasedBy(item.onlyHost, row.current)) {
    return { kind: "rejected", address, code: "host_mismatch", sequenceNumber };
  }
  if (item.sequenceNumber !== undefined && item.sequenceNumber !== sequenceNumber) {
    return { kind: "rejected", address, code: "sequence_mismatch", sequenceNumber };
  }
  if (item.handle !== undefined && item.handle !== handle) {
    return { kind: "rejected", address, code: "handle_mismatch", sequenceNumber };
  }
  const released = end(draft, row);
  return { kind: "released", address, handle, freeAt: freeAt(released, cooldownMs), sequenceNumber };
}

function notAllocated(
  row: OrdinalRow | undefined,
  item: AddressRelease,
  cooldownMs: number,
): AddressReleaseOutcome {
  const address = item.address;
  const last = row?.ended[0];
  if (last === undefined) return { kind: "already_free", address };
  const isStale = item.sequenceNumber !== undefined && item.sequenceNumber !== last.sequenceNumber;
  if (isStale)
    return { kind: "rejected", address, code: "sequence_mismatch", sequenceNumber: last.sequenceNumber };
  return { kind: "already_free", address, freeAt: freeAt(row, cooldownMs) };
}

/** Tells what a release changed for others: room where there was none, or a block that became empty. */
export function transition(
  before: BlockRoom,
  after: BlockRoom,
): { readonly gainedRoom: boolean; readonly emptied: boolean } {
  const hadRoom = before.available > 0 || before.cooling > 0;
  const hasRoom = after.available > 0 || after.cooling > 0;
  return { gainedRoom: !hadRoom && hasRoom, emptied: before.allocated > 0 && after.allocated === 0 };
}
