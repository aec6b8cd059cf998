/**
 * What a shard of the handle index answers: the arbiter of request keys. Types only.
 * Rule: a row is written before its block may hold the key and leaves on the block's final answer.
 */
import type { Family } from "../core/errors.ts";

export interface ReserveItem {
  readonly handle: string;
  readonly key: string;
  /** Hash of the canonical request; the same key with another one is refused. */
  readonly fingerprint: string;
  readonly family: Family;
  /** Absent: only look the key up, take it over if listed. */
  readonly block?: string;
  readonly count: number;
  /** Which attempt asks; unique per attempt. */
  readonly attempt: string;
  readonly until: number;
  /** Blocks in which this attempt knows the key to hold addresses already. */
  readonly also?: readonly string[];
  /** Addresses that the handle may hold in this family. Comes with per-handle limits. */
  readonly limit?: number;
}

export interface IndexRow {
  readonly handle: string;
  readonly key: string;
  readonly block: string;
  readonly family: Family;
  readonly count: number;
  readonly state: "reserved" | "spent";
  /** Latest `until` of all attempts of this row. */
  readonly until: number;
}

export type ReserveOutcome =
  | { readonly kind: "reserved" }
  /** Go to these blocks: the key is listed there; this attempt is now each row's latest. */
  | { readonly kind: "listed"; readonly rows: readonly { readonly block: string; readonly untilBefore: number }[] }
  /** Only for a look-up: nothing is listed. */
  | { readonly kind: "absent" }
  | { readonly kind: "spent" }
  | { readonly kind: "key_reused" }
  | { readonly kind: "limit"; readonly rows: readonly IndexRow[] }
  | { readonly kind: "late" };

export interface MoveItem {
  readonly handle: string;
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly attempt: string;
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

/** What a block said of a key, finally. */
export interface SettleItem {
  readonly handle: string;
  readonly key: string;
  readonly block: string;
  readonly outcome: "released" | "absent";
  /** The row's `until` when it was read; a row that has a later one stays. */
  readonly until: number;
}

export interface HandleIndexPort {
  /** Both families of a request, or many requests, in one call. */
  reserve(request: { readonly items: readonly ReserveItem[] }): Promise<{ readonly outcomes: readonly ReserveOutcome[] }>;
  move(request: MoveItem): Promise<MoveOutcome>;
  /** Rows of a handle that may hold something; spent ones are left out. */
  list(request: { readonly handle: string }): Promise<{ readonly rows: readonly IndexRow[] }>;
  settle(request: { readonly items: readonly SettleItem[] }): Promise<{ readonly changed: number }>;
}
