/**
 * One address of a block: what its row remembers and which of three states it is in.
 * May import: core only. Free is derived from time, never stored.
 */
import type { Attributes, LeakCollection, OrdinalRanges, Use } from "./allocation.ts";

/**
 * One time in the hands of one key.
 * Units: times in milliseconds since 1970; numbers come from the block's one counter.
 */
export interface Tenure {
  readonly handle: string;
  readonly key: string;
  /** The attempt that created it, while it is held. */
  readonly attempt?: string;
  /** How many addresses of this block the key got at first. */
  readonly granted: number;
  readonly host: string;
  /** Another host that got the address since, under the same handle. */
  readonly usedOn?: string;
  readonly use: Use;
  readonly attributes: Attributes;
  readonly alternateAttributes?: Attributes;
  readonly leakCollection: LeakCollection;
  readonly sequenceNumber: number;
  readonly allocatedAt: number;
}

/** A tenure that has ended. `freedAt` orders the queue of free addresses. */
export interface EndedTenure extends Tenure, Ending {
  readonly releasedAt: number;
  readonly freedAt: number;
}

/** How a tenure ended where no caller released it; `touch`: the last one, by which it was judged leaked. */
export interface Ending {
  readonly releasedBy?: "collector";
  readonly touch?: number;
}

/** A request key, by whom it is of. */
export interface KeyName {
  readonly handle: string;
  readonly key: string;
}

/**
 * The row of an ordinal that was used at least once.
 * Invariant: `number` is the block's counter at the row's last transition; it is the touch of an
 * allocated address. `ended` lists past tenures, newest first.
 */
export interface OrdinalRow {
  readonly ordinal: number;
  readonly number: number;
  /** The block's time at the row's last transition. */
  readonly at: number;
  readonly current?: Tenure;
  readonly ended: readonly EndedTenure[];
  /** A past tenure was dropped: the list is not all that there ever was. */
  readonly hasForgotten?: true;
  /** Attempts that were undone here, as long as a copy of their message may still arrive. */
  readonly undone?: readonly UndoneAttempt[];
}

/** An attempt whose address was put back before anybody was told of it. */
export interface UndoneAttempt {
  readonly handle: string;
  readonly key: string;
  readonly attempt: string;
  readonly at: number;
}

const NONE: readonly UndoneAttempt[] = [];

/** What a row still has to remember of undone attempts. */
export function recentlyUndone(
  row: Pick<OrdinalRow, "undone"> | undefined,
  now: number,
  inFlightMs: number,
): readonly UndoneAttempt[] {
  if (row?.undone === undefined) return NONE;
  return row.undone.filter(({ at }) => now - at < inFlightMs);
}

export type OrdinalState = "free" | "allocated" | "cooling" | "host_reserved";

/** When a released address may be given out again; 0 for one that was never used. */
export function freeAt(row: OrdinalRow | undefined, cooldownMs: number): number {
  const last = row?.ended[0];
  return last === undefined ? 0 : last.releasedAt + cooldownMs;
}

/** Derives the state of an ordinal that is not host-reserved (I2: exactly one). */
export function stateOf(row: OrdinalRow | undefined, cooldownMs: number, now: number): OrdinalState {
  if (row === undefined) return "free";
  if (row.current !== undefined) return "allocated";
  return freeAt(row, cooldownMs) <= now ? "free" : "cooling";
}

/** Tells whether an ordinal lies in one of the ranges. */
export function inRanges(ranges: OrdinalRanges, ordinal: number): boolean {
  return ranges.some(([first, last]) => first <= ordinal && ordinal <= last);
}

/** How many past tenures a row keeps at most, however young they are beyond the in-flight time. */
export const ENDED_MAX = 16;

/**
 * Drops what no late message and no replay can ask for any more.
 * Invariant: the newest tenure stays (undo and getAddress need it), and every one that is younger
 * than `inFlightMs` (a message that left before the release may still arrive).
 */
export function pruneEnded(
  ended: readonly EndedTenure[],
  now: number,
  age: { readonly inFlightMs: number; readonly spentKeyMs: number },
): readonly EndedTenure[] {
  const isKept = (tenure: EndedTenure, index: number): boolean => {
    const since = now - tenure.releasedAt;
    return index === 0 || since < age.inFlightMs || (index < ENDED_MAX && since < age.spentKeyMs);
  };
  // The same list when nothing changes: then nobody has to compare or store it.
  if (ended.every((tenure, index) => isKept(tenure, index) && (index === 0 || isBare(tenure)))) return ended;
  const kept = ended.filter(isKept);
  // Only the newest is shown to people; of the others the key is all that matters.
  return kept.map((tenure, index) => (index === 0 ? tenure : withoutAttributes(tenure)));
}

/**
 * What a row says of the past after a transition.
 * Invariant: once something was dropped, the row says so for ever.
 */
export function pastOf(
  ended: readonly EndedTenure[],
  before: Pick<OrdinalRow, "hasForgotten" | "undone"> | undefined,
  now: number,
  age: { readonly inFlightMs: number; readonly spentKeyMs: number },
): Pick<OrdinalRow, "ended" | "hasForgotten" | "undone"> {
  const kept = pruneEnded(ended, now, age);
  const hasForgotten = before?.hasForgotten === true || kept.length < ended.length;
  const undone = recentlyUndone(before, now, age.inFlightMs);
  return {
    ended: kept,
    ...(hasForgotten ? { hasForgotten } : {}),
    ...(undone.length > 0 ? { undone } : {}),
  };
}

function isBare({ attributes, alternateAttributes }: EndedTenure): boolean {
  if (alternateAttributes !== undefined) return false;
  for (const _name in attributes) return false;
  return true;
}

function withoutAttributes(tenure: EndedTenure): EndedTenure {
  if (isBare(tenure)) return tenure;
  const { alternateAttributes: _dropped, ...rest } = tenure;
  return { ...rest, attributes: {} };
}

/**
 * Tells the keys that a row no longer remembers though they were released not long ago.
 * Why: the index must know that they are spent before the block forgets it (I13).
 */
export function forgottenKeys(
  before: OrdinalRow | undefined,
  after: OrdinalRow,
  now: number,
  spentKeyMs: number,
): KeyName[] {
  if (before === undefined || before.ended.length < ENDED_MAX) return [];
  const kept = new Set(after.ended.map(({ sequenceNumber }) => sequenceNumber));
  const young = before.ended.filter(({ releasedAt }) => now - releasedAt < spentKeyMs);
  return young
    .filter(({ sequenceNumber }) => !kept.has(sequenceNumber))
    .map(({ handle, key }) => ({ handle, key }));
}
