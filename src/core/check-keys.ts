/**
 * The handle index against the blocks: what a held key lacks there, and which rows name nothing. Pure.
 * May import: core only. The index may list too much, never too little (I5).
 */
import type { HeldKey } from "./block-audit.ts";
import type { HoldsAnswer } from "./block-messages.ts";
import type { ProblemCode } from "./check.ts";

/** How the index lists a key in a block. */
export interface ListedKey {
  readonly state: "reserved" | "spent" | "missing";
  readonly count: number;
}

type KeyProblem = Extract<ProblemCode, "key_not_listed" | "key_listed_as_spent" | "key_counted_short">;

/** Judges a key that a block held before and after the index was asked. Why: else it may come or go meanwhile. */
export function judgeHeldKey({ count }: HeldKey, listed: ListedKey): KeyProblem | undefined {
  if (listed.state === "missing") return "key_not_listed";
  if (listed.state === "spent") return "key_listed_as_spent";
  return listed.count < count ? "key_counted_short" : undefined;
}

/** The keys of the first reading that the second found held still, by the same allocation. */
export function heldThroughout(before: readonly HeldKey[], after: readonly HeldKey[]): HeldKey[] {
  const later = new Map(after.map((key) => [`${key.handle} ${key.key}`, key]));
  return before.flatMap((key) => {
    const now = later.get(`${key.handle} ${key.key}`);
    if (now?.sequenceNumber !== key.sequenceNumber) return [];
    return [{ ...now, count: Math.min(key.count, now.count) }];
  });
}

/** How a row is to be settled by its block's word; absent: it is right, or the word is not final. */
export function outcomeOf(word: HoldsAnswer["held"][number] | undefined): "released" | "absent" | undefined {
  if (word === "released") return "released";
  return word === "not_held" ? "absent" : undefined;
}
