/**
 * Planted faults of what a request is given: keys, limits, policy, undo, releases.
 * May import: types. Rule: as in planted.ts.
 */
import type { Planted } from "./planted.ts";

const ATTEMPT = "durable-objects/host-attempt.ts";
const ATTEMPT_ROW = "durable-objects/host-attempt-row.ts";
const CLUSTER = "durable-objects/cluster.ts";
const BLOCK_AFFINITY = "src/core/block-affinity.ts";
const BLOCK_ALLOCATE = "src/core/block-allocate.ts";
const BLOCK_RELEASE = "src/core/block-release.ts";
const KEY_INDEX = "src/core/key-index.ts";
const AFTER_POLICY = /^(I7|I8|I12)/;

export const REQUEST_FAULTS: Readonly<Record<string, Planted>> = {
  F1: {
    what: "the block is asked beside the index, not after it",
    file: ATTEMPT_ROW,
    find: "const reserved = await this.#reserve(block);",
    replace: `this.#reserve(block); this.#reservedUntil = this.#indexUntil();
      const reserved = { kind: "answered", value: { kind: "reserved" } } as never as Awaited<ReturnType<typeof this.lookUp>>;`,
    by: /^(I5|I9|I13)/,
    within: 100,
    measured: 1,
  },
  F2: {
    what: "the index drops a row on a word that was not final",
    file: BLOCK_RELEASE,
    find: `outcome: isFinal(draft, finalAfter) ? "absent" : "not_final"`,
    replace: `outcome: "absent"`,
    by: /^(I5|I4)/,
    directed: "releaseBeforeMessage",
    within: 100,
    measured: 6,
  },
  F3: {
    what: "the index drops a row that was prolonged since it was read",
    file: KEY_INDEX,
    find: "return row.until === item.until ? { put: [], remove: [row] } : NO_CHANGES;",
    replace: "return { put: [], remove: [row] };",
    by: /^I5/,
    directed: "keyTakenUpAgain",
    within: 300,
    measured: 103,
  },
  F4: {
    what: "a limit drops a row that is not final",
    file: BLOCK_RELEASE,
    find: `return isFinal(draft, finalAfter) ? "not_held" : "not_final";`,
    replace: `return "not_held";`,
    by: /^(I9|I5)/,
    directed: "limitBesideMessage",
    within: 300,
    measured: 71,
  },
  F5: {
    what: "the block ignores until",
    file: BLOCK_AFFINITY,
    find: `return draft.now > until ? "late" : "open";`,
    replace: `return "open";`,
    by: /^(I7|I8|I12|I5|I4)/,
    directed: "slowClock",
    within: 100,
    measured: 11,
  },
  F6: {
    what: "a policy write that changes nothing answers at once",
    file: CLUSTER,
    find: "if (!decided.ok || (await this.#waitOut(horizon))) return decided;",
    replace:
      "if (!decided.ok || this.#changes.length === 0 || (await this.#waitOut(horizon))) return decided;",
    by: AFTER_POLICY,
    directed: "writeAgain",
    within: 1_000,
    measured: 544,
  },
  F7: {
    what: "the horizon of leases is not stored",
    file: CLUSTER,
    find: "if (isShort) this.#policy.put(numbers, { horizon });",
    replace: "",
    by: AFTER_POLICY,
    within: 100,
    measured: 1,
  },
  F8: {
    what: "a policy write waits without the margin for clocks",
    file: CLUSTER,
    find: "const end = horizon + skewMs + 1;",
    replace: "const end = horizon;",
    by: AFTER_POLICY,
    directed: "slowClock",
  },
  F20: {
    what: "sequence numbers begin anew with another block size",
    file: "src/core/block.ts",
    find: "const floor = incarnation * 2 ** 36;",
    replace: "const floor = 0;",
    by: /^I3/,
    directed: "otherSizeAgain",
    within: 300,
    measured: 11,
  },
  F21: {
    what: "undo ignores the touch",
    file: BLOCK_ALLOCATE,
    find: "if (touches.get(address) !== row.number) continue;",
    replace: "if (!touches.has(address)) continue;",
    by: /^(I4|I13|I5)/,
    directed: "undoOfReused",
  },
  F22: {
    what: "undo is a release",
    file: BLOCK_ALLOCATE,
    find: "draft.put({ ...rest, undone: attempts, number: draft.nextNumber(), at: draft.now });",
    replace:
      "draft.put({ ...rest, ended: [{ ...row.current, releasedAt: draft.now, freedAt: draft.counter + 1 } as never, ...row.ended], undone: attempts, number: draft.nextNumber(), at: draft.now });",
    by: /^I15/,
    within: 50,
    measured: 1,
  },
  F23: {
    what: "a key is looked up in the chosen block only",
    file: KEY_INDEX,
    find: "if (others.length > 0) return takeOver(others, item, now);",
    replace: "",
    by: /^(I13|I9)/,
    directed: "repeatAfterFullBlock",
    within: 50,
    measured: 6,
  },
  F24: {
    what: "an unknown outcome leads to the next block",
    file: ATTEMPT,
    find: "return until === undefined ? policyUnavailable() : unknownOutcome(this.wish);",
    replace: `return until === undefined ? policyUnavailable() : { kind: "affinity_lost", final: true };`,
    by: /^(I13|I9|I5)/,
    directed: "answersLost",
    within: 300,
    measured: 10,
  },
  F25: {
    what: "an address that is assigned again keeps its touch",
    file: BLOCK_ALLOCATE,
    find: "if (row?.current?.handle !== item.handle) return row;",
    replace: "return row;",
    by: /^I4/,
    directed: "undoOfReused",
  },
  F26: {
    what: "an unguarded release is repeated when its answer is lost",
    file: "src/http/writing/release-by-address.ts",
    find: "const answer = await call.ports.block(block).releaseAddresses({",
    replace: `const send = (message: never) => call.ports.block(block).releaseAddresses(message);
    const answer = await ((message: object) => send(message as never).catch(() => send(message as never)))({`,
    by: /^I4/,
    directed: "unguardedRelease",
  },
  F27: {
    what: "a release by handle answers before a listed key is settled",
    file: "src/http/writing/release-by-handle.ts",
    find: "if (open.length === 0 && isSettled) return ok(outcomes);",
    replace: "if (isSettled) return ok(outcomes);",
    by: /^I4/,
    directed: "releaseAfterHangUp",
  },
  F28: {
    what: "an address is free without its cooldown",
    file: BLOCK_ALLOCATE,
    find: "if (row === undefined || freeAt(row, cooldownMs) > now) break;",
    replace: "if (row === undefined || freeAt(row, cooldownMs - 1_000) > now) break;",
    by: /^I12/,
    within: 50,
    measured: 1,
  },
  F29: {
    what: "one poisoned element fails its batch",
    file: "durable-objects/lane.ts",
    find: `const mayGoAlone = answer.kind === "failed" && answer.failure !== "overloaded" && batch.length > 1;`,
    replace: "const mayGoAlone = false as boolean;",
    by: /^liveness/,
    directed: "poisonedBatch",
  },
};
