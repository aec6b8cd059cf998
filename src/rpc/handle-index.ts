/**
 * The port of a shard of the handle index. Types only; its messages are plain data of the core.
 * Rule: a row is written before its block may hold the key and leaves on the block's final answer.
 */
import type { ListedKey } from "../core/check-keys.ts";
import type {
  KeyRow,
  MoveItem,
  MoveOutcome,
  ReserveItem,
  ReserveOutcome,
  SettleItem,
} from "../core/key-index.ts";
import type { RestoreItem } from "../core/key-restore.ts";

/** A row by its whole key. */
export interface KeyPlace {
  readonly handle: string;
  readonly key: string;
  readonly block: string;
}

export type * from "../core/key-index.ts";

export interface HandleIndexPort {
  /** Both families of a request, or many requests, in one call. */
  reserve(request: {
    readonly items: readonly ReserveItem[];
  }): Promise<{ readonly outcomes: readonly ReserveOutcome[] }>;
  move(request: MoveItem): Promise<MoveOutcome>;
  /** Rows of a handle that may hold something; spent ones are left out. */
  list(request: { readonly handle: string }): Promise<{ readonly rows: readonly KeyRow[] }>;
  /** The same for several handles, in their order. */
  listMany(request: {
    readonly handles: readonly string[];
  }): Promise<{ readonly lists: readonly (readonly KeyRow[])[] }>;
  settle(request: { readonly items: readonly SettleItem[] }): Promise<{ readonly changed: number }>;
  /** What several callers settle, in one commit; how much each has changed. */
  settleMany(request: {
    readonly lots: readonly (readonly SettleItem[])[];
  }): Promise<{ readonly changed: readonly number[] }>;
  /** Rows of all handles in the order of their keys, for a check. */
  page(request: { readonly after?: KeyPlace; readonly limit: number }): Promise<{
    readonly rows: readonly KeyRow[];
    readonly next?: KeyPlace;
  }>;
  /** How keys are listed, in their order, for a check. */
  listed(request: { readonly keys: readonly KeyPlace[] }): Promise<{ readonly keys: readonly ListedKey[] }>;
  /** Puts back rows of keys that their blocks hold. */
  restore(request: { readonly items: readonly RestoreItem[] }): Promise<{ readonly changed: number }>;
}
