/**
 * The arbiter of request keys: to which blocks a key of a handle went, and whose attempt is the latest.
 * May import: core only. A row leaves only on its block's final answer (design: handle index).
 */
import type { Family } from "./errors.ts";
import { invariant } from "./invariant.ts";

/** One row: this key may hold addresses in this block. Units: milliseconds since 1970. */
export interface KeyRow {
  readonly handle: string;
  readonly key: string;
  readonly block: string;
  readonly family: Family;
  readonly count: number;
  readonly fingerprint: string;
  readonly state: "reserved" | "spent";
  /** The latest attempt; only it may move the row. */
  readonly attempt: string;
  /** Highest `until` of all attempts. */
  readonly until: number;
  /** Highest `until` of the attempts before the latest; 0 when there was none. */
  readonly untilBefore: number;
  /** When the row was last written. */
  readonly at: number;
}

/** What a decision leaves to be stored. */
export interface KeyChanges {
  readonly put: readonly KeyRow[];
  readonly remove: readonly { readonly handle: string; readonly key: string; readonly block: string }[];
}

/** Fingerprint of a row that a check put back: the first request that comes with the key is believed. */
export const UNKNOWN_BODY = "";

export interface KeyTimes {
  readonly skewMs: number;
  readonly untilMs: number;
  readonly spentKeyMs: number;
}

export interface ReserveItem {
  readonly handle: string;
  readonly key: string;
  /** Hash of the canonical request; the same key with another one is refused. */
  readonly fingerprint: string;
  readonly family: Family;
  /** Absent: only look the key up, and take it over if listed. */
  readonly block?: string;
  readonly count: number;
  /** Which attempt asks; unique per attempt. */
  readonly attempt: string;
  readonly until: number;
  /** Blocks in which this attempt knows the key to hold addresses already. */
  readonly also?: readonly string[];
  /** Addresses that the handle may hold in this family. */
  readonly limit?: number;
}

export interface ListedRow {
  readonly block: string;
  /** Highest `until` of the attempts before this one: a "no" before it + ε is not final. */
  readonly untilBefore: number;
}

export type ReserveOutcome =
  | { readonly kind: "reserved" }
  /** Go to these blocks; this attempt is now each row's latest. */
  | { readonly kind: "listed"; readonly rows: readonly ListedRow[] }
  /** Only for a look-up: nothing is listed. */
  | { readonly kind: "absent" }
  | { readonly kind: "spent" }
  | { readonly kind: "key_reused" }
  | { readonly kind: "limit"; readonly rows: readonly KeyRow[] }
  | { readonly kind: "late" };

export interface MoveItem {
  readonly handle: string;
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly attempt: string;
  /** What the row calls the attempt once it has moved: a late copy of this message then moves nothing. */
  readonly attemptAfter?: string;
  readonly until: number;
  /** The block's "no" at `from` was final for all earlier attempts. */
  readonly final: boolean;
}

export type MoveOutcome =
  | { readonly kind: "moved" }
  /** A later attempt owns the row, or an earlier one may still land. */
  | { readonly kind: "in_progress" }
  /** The row is gone: released or settled meanwhile. */
  | { readonly kind: "gone" }
  | { readonly kind: "late" };

export interface SettleItem {
  readonly handle: string;
  readonly key: string;
  readonly block: string;
  /** `held`: it holds `count` addresses, perhaps fewer than the row says. */
  readonly outcome: "released" | "absent" | "held";
  readonly count?: number;
  /** The row's `until` when it was read; an absent one that has a later one stays. */
  readonly until: number;
}

type Decided<T> = { readonly outcome: T; readonly changes: KeyChanges };

const NO_CHANGES: KeyChanges = { put: [], remove: [] };

function late(until: number, now: number, times: KeyTimes): boolean {
  invariant(until <= now + times.untilMs + times.skewMs, "until lies more than 2 s + skew ahead");
  return now > until;
}

/**
 * Decides where a key goes. `rows` are all rows of the handle.
 * Invariant: I13 (one key, one body), I9 (with a limit), I5 (the row is there before the block may hold).
 */
export function reserve(
  rows: readonly KeyRow[],
  item: ReserveItem,
  now: number,
  times: KeyTimes,
): Decided<ReserveOutcome> {
  if (late(item.until, now, times)) return { outcome: { kind: "late" }, changes: NO_CHANGES };
  const ofKey = rows.filter((row) => row.key === item.key);
  if (ofKey.some((row) => ![item.fingerprint, UNKNOWN_BODY].includes(row.fingerprint))) {
    return { outcome: { kind: "key_reused" }, changes: NO_CHANGES };
  }
  if (ofKey.some((row) => row.state === "spent")) return { outcome: { kind: "spent" }, changes: NO_CHANGES };
  const ofFamily = ofKey.filter((row) => row.family === item.family);
  const own = ofFamily.find((row) => row.block === item.block && row.attempt === item.attempt);
  if (own !== undefined) return { outcome: { kind: "reserved" }, changes: prolong(own, item.until, now) };
  const others = ofFamily.filter((row) => item.also?.includes(row.block) !== true);
  if (others.length > 0) return takeOver(others, item, now);
  if (item.block === undefined) return { outcome: { kind: "absent" }, changes: NO_CHANGES };
  const over = overLimit(rows, item);
  if (over !== undefined) return { outcome: { kind: "limit", rows: over }, changes: NO_CHANGES };
  return { outcome: { kind: "reserved" }, changes: { put: [newRow(item, item.block, now)], remove: [] } };
}

/** The same attempt asks its block again: the row must know until when. */
function prolong(row: KeyRow, until: number, now: number): KeyChanges {
  return until > row.until ? { put: [{ ...row, until, at: now }], remove: [] } : NO_CHANGES;
}

/** The attempt becomes the latest of rows that others made; its own know until when it may still land. */
function takeOver(rows: readonly KeyRow[], item: ReserveItem, now: number): Decided<ReserveOutcome> {
  const put: KeyRow[] = [];
  const listed = rows.map((row) => {
    const until = Math.max(row.until, item.until);
    if (row.attempt === item.attempt) {
      put.push(...prolong(row, until, now).put);
      return { block: row.block, untilBefore: row.untilBefore };
    }
    const { attempt, fingerprint } = item;
    put.push({ ...row, fingerprint, attempt, until, untilBefore: row.until, at: now });
    return { block: row.block, untilBefore: row.until };
  });
  return { outcome: { kind: "listed", rows: listed }, changes: { put, remove: [] } };
}

/** Rows of the family count in full, whether their addresses were allocated yet or not. */
function overLimit(rows: readonly KeyRow[], item: ReserveItem): readonly KeyRow[] | undefined {
  if (item.limit === undefined) return undefined;
  const live = rows.filter((row) => row.family === item.family && row.state === "reserved");
  const held = live.reduce((sum, row) => sum + row.count, 0);
  return held + item.count > item.limit ? live : undefined;
}

function newRow(item: ReserveItem, block: string, now: number): KeyRow {
  const { handle, key, family, count, fingerprint, attempt, until } = item;
  return {
    handle,
    key,
    block,
    family,
    count,
    fingerprint,
    state: "reserved",
    attempt,
    until,
    untilBefore: 0,
    at: now,
  };
}

/**
 * Decides whether a key may go to another block: only for the row's latest attempt, and after earlier
 * attempts only on a final answer.
 */
export function move(
  rows: readonly KeyRow[],
  item: MoveItem,
  now: number,
  times: KeyTimes,
): Decided<MoveOutcome> {
  if (late(item.until, now, times)) return { outcome: { kind: "late" }, changes: NO_CHANGES };
  const ofKey = rows.filter((row) => row.key === item.key);
  const from = ofKey.find((row) => row.block === item.from);
  const to = ofKey.find((row) => row.block === item.to);
  const attempt = item.attemptAfter ?? item.attempt;
  if (from === undefined) {
    const isRepeat = to?.attempt === attempt && to.state === "reserved";
    return { outcome: { kind: isRepeat ? "moved" : "gone" }, changes: NO_CHANGES };
  }
  if (from.state === "spent") return { outcome: { kind: "gone" }, changes: NO_CHANGES };
  const mayMove = from.attempt === item.attempt && (from.untilBefore === 0 || item.final);
  if (!mayMove || to !== undefined) return { outcome: { kind: "in_progress" }, changes: NO_CHANGES };
  const until = Math.max(from.until, item.until);
  const moved: KeyRow = { ...from, block: item.to, attempt, until, untilBefore: 0, at: now };
  return { outcome: { kind: "moved" }, changes: { put: [moved], remove: [from] } };
}

/**
 * Notes what a block said of a key, finally.
 * Invariant: a row whose `until` has risen since it was read stays: another attempt may still land.
 */
export function settle(row: KeyRow | undefined, item: SettleItem, now: number): KeyChanges {
  if (row === undefined || row.state === "spent") return NO_CHANGES;
  if (item.outcome === "released") return { put: [{ ...row, state: "spent", at: now }], remove: [] };
  if (item.outcome === "held") {
    const count = item.count ?? row.count;
    return count > 0 && count < row.count ? { put: [{ ...row, count, at: now }], remove: [] } : NO_CHANGES;
  }
  return row.until === item.until ? { put: [], remove: [row] } : NO_CHANGES;
}

/** What the shard's own clean-up does with an old row. */
export function cleanUp(row: KeyRow, now: number, times: KeyTimes): "keep" | "drop" | "ask" {
  if (row.state === "spent") return row.at + times.spentKeyMs <= now ? "drop" : "keep";
  return row.until + times.skewMs < now ? "ask" : "keep";
}
