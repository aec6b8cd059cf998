/**
 * What a block does for the leak collector: it tells what a host holds, and frees what is proven leaked.
 * May import: core only. Rule: only the very tenure that was judged is freed, named by handle and touch (I11).
 */
import { parseAddress } from "./address.ts";
import type { OrdinalRanges } from "./allocation.ts";
import { addressText, type BlockDraft } from "./block.ts";
import { end } from "./block-release.ts";
import { containsAddress, formatCidr, ordinalOf } from "./cidr.ts";
import type { LeakSubject } from "./leak-subject.ts";
import type { KeyName, OrdinalRow } from "./ordinal.ts";

/** Asks a block what a host holds there, for an audit. */
export interface HoldingsRequest {
  readonly block: string;
  readonly host: string;
  readonly cooldownMs: number;
  /** The block's number at the last reading: if it still stands, the subjects are left out. */
  readonly ifNumber?: number;
}

export interface HoldingsAnswer {
  /** The block's counter; every hand-out, release and owner change moves it. */
  readonly number: number;
  readonly epoch: number;
  readonly owner?: string;
  /** Absent: the block was never written. */
  readonly pool?: { readonly name: string; readonly incarnation: number };
  /** Allocated to the host that asks, and to all others. */
  readonly own: number;
  readonly lent: number;
  readonly cooling: number;
  /** Absent: as at `ifNumber`. */
  readonly subjects?: readonly LeakSubject[];
}

/** An address as it was judged. */
export interface LeakedItem {
  readonly address: string;
  readonly handle: string;
  readonly touch: number;
}

/** Frees addresses that are proven leaked, each only at its touch. */
export interface ReleaseLeakedRequest {
  readonly block: string;
  readonly items: readonly LeakedItem[];
  /** The order frees nothing later than this. Milliseconds since 1970. */
  readonly until: number;
  readonly cooldownMs: number;
  readonly reserved?: OrdinalRanges;
}

export interface ReleaseLeakedAnswer {
  /**
   * In the order of the items. `released`: now, or by an earlier copy of this order. `late`: what was known
   * when the order was given may have changed, so nothing was done.
   */
  readonly answers: readonly ("released" | "moved_on" | "late")[];
}

/** Tells what a host holds here, in the order of addresses; nothing is changed. */
export function holdings(draft: BlockDraft, request: HoldingsRequest): HoldingsAnswer {
  const { header, index, now } = draft;
  const { host, cooldownMs, ifNumber } = request;
  const own = index.heldBy(host);
  return {
    number: draft.counter,
    epoch: header?.epoch ?? 0,
    ...(header?.owner === undefined ? {} : { owner: header.owner }),
    ...(header === undefined ? {} : { pool: { name: header.pool, incarnation: header.incarnation } }),
    own,
    lent: index.allocated - own,
    cooling: index.freed.length - index.freed.freeCount(cooldownMs, now),
    ...(ifNumber === draft.counter ? {} : { subjects: own === 0 ? [] : subjectsOf(draft, host) }),
  };
}

function subjectsOf(draft: BlockDraft, host: string): LeakSubject[] {
  const rows = [...draft.rows()].filter(({ current }) => current?.host === host);
  rows.sort((one, other) => one.ordinal - other.ordinal);
  return rows.flatMap((row) => subjectOf(draft, row) ?? []);
}

function subjectOf(draft: BlockDraft, { ordinal, number, at, current }: OrdinalRow): LeakSubject | undefined {
  if (current === undefined) return undefined;
  const { host, usedOn, handle, use, attributes, alternateAttributes, leakCollection, sequenceNumber } =
    current;
  return {
    address: addressText(draft, ordinal),
    block: draft.header?.block ?? formatCidr(draft.cidr),
    host,
    ...(usedOn === undefined ? {} : { usedOn }),
    handle,
    use,
    attributes,
    ...(alternateAttributes === undefined ? {} : { alternateAttributes }),
    leakCollection,
    touch: number,
    touchedAt: at,
    sequenceNumber,
  };
}

/**
 * Frees leaked addresses, each by itself.
 * Invariant: I3, I11. An address that was handed out again, reused or changed owner since it was judged
 * has another touch, and nothing happens to it. A copy of an order is answered as the first one was, as
 * long as the block remembers the tenure that it ended. One that comes late frees nothing: its host may
 * have registered again, or have been heard of, without any address having moved.
 */
export function releaseLeaked(
  draft: BlockDraft,
  { items, until }: Pick<ReleaseLeakedRequest, "items" | "until">,
): ReleaseLeakedAnswer["answers"][number][] {
  return items.map((item) => releaseOne(draft, item, draft.now > until));
}

/** Ends one tenure, or tells that this order or an earlier copy of it has. */
function releaseOne(
  draft: BlockDraft,
  { address: text, handle, touch }: LeakedItem,
  isLate: boolean,
): ReleaseLeakedAnswer["answers"][number] {
  const address = parseAddress(text);
  if (!address.ok || !containsAddress(draft.cidr, address.value)) return "moved_on";
  const row = draft.row(ordinalOf(draft.cidr, address.value));
  if (row === undefined) return "moved_on";
  if (row.current?.handle === handle && row.number === touch) {
    if (isLate) return "late";
    end(draft, row, { releasedBy: "collector", touch });
    return "released";
  }
  const isOver = row.ended.some((past) => past.touch === touch && past.handle === handle);
  return isOver ? "released" : "moved_on";
}

/** The keys of which a decision has ended the last address here. */
export function keysOver(draft: BlockDraft): KeyName[] {
  const over = new Map<string, KeyName>();
  for (const { current } of [...draft.touched().values()].flatMap((before) => before ?? [])) {
    if (current === undefined || draft.index.held(current.handle, current.key).length > 0) continue;
    const { handle, key } = current;
    over.set(`${handle} ${key}`, { handle, key });
  }
  return [...over.values()];
}
