/**
 * The port of a shard of the handle index. Types only; its messages are plain data of the core.
 * Rule: a row is written before its block may hold the key and leaves on the block's final answer.
 */
import type {
  KeyRow,
  MoveItem,
  MoveOutcome,
  ReserveItem,
  ReserveOutcome,
  SettleItem,
} from "../core/key-index.ts";

export type * from "../core/key-index.ts";

export interface HandleIndexPort {
  /** Both families of a request, or many requests, in one call. */
  reserve(request: {
    readonly items: readonly ReserveItem[];
  }): Promise<{ readonly outcomes: readonly ReserveOutcome[] }>;
  move(request: MoveItem): Promise<MoveOutcome>;
  /** Rows of a handle that may hold something; spent ones are left out. */
  list(request: { readonly handle: string }): Promise<{ readonly rows: readonly KeyRow[] }>;
  settle(request: { readonly items: readonly SettleItem[] }): Promise<{ readonly changed: number }>;
}
