/**
 * Puts a row back into the handle index for a key that its block holds. Pure.
 * May import: core only. A row too much is always safe: it leaves on the block's final answer.
 */
import type { Family } from "./errors.ts";
import { type KeyChanges, type KeyRow, type KeyTimes, UNKNOWN_BODY } from "./key-index.ts";

/** A key that a block holds, by its own word. */
export interface RestoreItem {
  readonly handle: string;
  readonly key: string;
  readonly block: string;
  readonly family: Family;
  readonly count: number;
}

/** No attempt has this name: whoever asks with the key takes the row over. */
const RESTORED = "restored";

/**
 * Decides what becomes of a key's row in a block that holds it.
 * Why: which request the key came with nobody knows any more, so the first that repeats it is believed;
 * a message of an earlier attempt may be under way, so no "no" is final before its time has passed.
 */
export function restore(
  row: KeyRow | undefined,
  item: RestoreItem,
  now: number,
  times: KeyTimes,
): KeyChanges {
  const { handle, key, block, family, count } = item;
  const until = Math.max(now + times.untilMs, row?.until ?? 0);
  const latest = { attempt: RESTORED, until, untilBefore: row?.until ?? 0, at: now };
  if (row === undefined) {
    const fresh = { handle, key, block, family, count, fingerprint: UNKNOWN_BODY } as const;
    return { put: [{ ...fresh, ...latest, state: "reserved" }], remove: [] };
  }
  const counted = Math.max(row.count, count);
  if (row.state === "spent") {
    return { put: [{ ...row, ...latest, count: counted, state: "reserved" }], remove: [] };
  }
  return counted > row.count ? { put: [{ ...row, count: counted, at: now }], remove: [] } : NOTHING;
}

const NOTHING: KeyChanges = { put: [], remove: [] };
