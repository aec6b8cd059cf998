/**
 * Deliberate faults, each one changed line of the product, put in as the file is loaded: what the
 * histories are worth is what they find of these. May import: nothing.
 * Rule: a line that is not there exactly once is an error, so that no fault vanishes with a change.
 */

export interface Planted {
  readonly what: string;
  /** Below the repository's root. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Start of the findings that count. */
  readonly by: RegExp;
  /** The directed history that finds it at its first playing. */
  readonly directed?: string;
  /** Random histories within which it must be found; absent: only the directed one is asked for. */
  readonly within?: number;
  /** After how many of them it was found when last measured. */
  readonly measured?: number;
}

/** A fault that no history can show here, and what does. */
export interface Elsewhere {
  readonly what: string;
  readonly why: string;
}

const ATTEMPT = "durable-objects/host-attempt.ts";
const AFFINITIES = "durable-objects/host-affinities.ts";
const CLUSTER = "durable-objects/cluster.ts";
const POOL = "durable-objects/pool.ts";
const BLOCK_AFFINITY = "src/core/block-affinity.ts";
const BLOCK_ALLOCATE = "src/core/block-allocate.ts";
const BLOCK_RELEASE = "src/core/block-release.ts";
const KEY_INDEX = "src/core/key-index.ts";
const AFTER_POLICY = /^(I7|I8|I12)/;
const OWNERSHIP = /^(I5|I6|directory|liveness|I1)/;

/** By number of the fault. */
export const PLANTED: Readonly<Record<string, Planted>> = {
  F1: {
    what: "the block is asked beside the index, not after it",
    file: ATTEMPT,
    find: "const reserved = await this.#reserve(seat.block);",
    replace: `this.#reserve(seat.block); this.#reservedUntil = this.#indexUntil();
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
  F9: {
    what: "the Pool offers a block of the owner with its old epoch",
    file: POOL,
    find: `if (choice.kind === "own") return this.#claimed(pool, position, request.owner, event, row);`,
    replace: `if (choice.kind === "own" && row !== undefined) return { kind: "claim", block: blockAt(event.grid, position), epoch: row.epoch };`,
    by: OWNERSHIP,
    directed: "declinedLate",
  },
  F10: {
    what: "a block is asked back under its old epoch",
    file: POOL,
    find: `return { ...claimed, kind: "reclaim", owner };`,
    replace: `return { ...claimed, epoch: row?.epoch ?? claimed.epoch, kind: "reclaim", owner };`,
    by: OWNERSHIP,
    within: 100,
    measured: 1,
  },
  F11: {
    what: "a release of the affinity on an ownerless block stores no epoch",
    file: BLOCK_AFFINITY,
    find: "if (owner !== undefined || request.epoch > epoch) draft.putHeader({ ...target, ...kept });",
    replace: "if (owner !== undefined) draft.putHeader({ ...target, ...kept });",
    by: OWNERSHIP,
    directed: "claimAfterReturn",
  },
  F12: {
    what: "a Host's row is overwritten by a lower epoch",
    file: "src/core/affinity.ts",
    find: "if (row === undefined || epoch > row.epoch) return BEGIN[event];",
    replace: "if (row === undefined || epoch !== row.epoch) return BEGIN[event];",
    by: OWNERSHIP,
    directed: "offerAfterReturn",
  },
  F13: {
    what: "a claim is confirmed whatever its row is by then",
    file: AFFINITIES,
    find: `if (this.#move(row, "confirm") === "moved_on") return "lost";`,
    replace: `if (this.#move(row, "confirm") === "moved_on") this.#host.store.transaction(() => this.#host.store.write("UPDATE affinities SET state = 'confirmed' WHERE block = ?", block));`,
    by: OWNERSHIP,
    directed: "acceptedAfterReturn",
  },
  F14: {
    what: "a refused release of the affinity stores no epoch",
    file: BLOCK_AFFINITY,
    find: "draft.putHeader({ ...target, owner, ...claimedAt, ...kept, keptEpoch: request.epoch });",
    replace: "",
    by: OWNERSHIP,
    directed: "refusedReturnAgain",
  },
  F15: {
    what: "the Pool takes a block back at whatever epoch",
    file: POOL,
    find: "if (row?.epoch !== request.epoch) {\n        this.#endRoute",
    replace: "if (row === undefined) {\n        this.#endRoute",
    by: OWNERSHIP,
    directed: "returnedAgain",
  },
  F16: {
    what: "recovery repeats the old epoch",
    file: AFFINITIES,
    find: "const { epoch, terminating } = fresh.value;",
    replace: "const { terminating } = fresh.value; const epoch = before?.epoch ?? fresh.value.epoch;",
    by: OWNERSHIP,
    directed: "lostClaim",
  },
  F17: {
    what: "the cap counts confirmed rows only",
    file: AFFINITIES,
    find: "countAffinities(store, row.family) >= cap",
    replace: `store.rows("SELECT block FROM affinities WHERE family = ? AND state = 'confirmed'", row.family).length >= cap`,
    by: /^I10/,
    within: 100,
    measured: 1,
  },
  F18: {
    what: "a draining block is offered as free",
    file: POOL,
    find: `if (request.draining) this.#put({ ...row, ...UNOWNED, state: "draining" }, row, event);\n      else this.#free(row, event);`,
    replace: "this.#free(row, event);",
    by: OWNERSHIP,
    within: 50,
    measured: 1,
  },
  F19: {
    what: "epochs begin anew with a new pool over the range",
    file: "src/core/epoch.ts",
    find: "return incarnation * EPOCHS_PER_INCARNATION;",
    replace: "return 0;",
    by: OWNERSHIP,
    directed: "sameRangeAgain",
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
    find: `return until === undefined ? this.#refuse(rejection("policy_unavailable", {}, 1)) : this.#unknown();`,
    replace: `return until === undefined ? this.#refuse(rejection("policy_unavailable", {}, 1)) : { kind: "affinity_lost", final: true };`,
    by: /^(I13|I9|I5)/,
    directed: "answersLost",
    within: 300,
    measured: 10,
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
  F30: {
    what: "a pool goes when its figures say that no block holds an address",
    file: "durable-objects/pool-drain.ts",
    find: "if (left.length > 0) return IDLE_PAUSE_MS;",
    replace:
      "if (left.some((row) => (this.#rows.block(row.position)?.counts?.allocated ?? 0) > 0)) return IDLE_PAUSE_MS;",
    by: /^(I1|I3|I4|I5|liveness)/,
    directed: "drainOnOldFigures",
  },
  F36: {
    what: "a block that retires forgets its highest number",
    file: "src/core/block.ts",
    find: "this.#header = { ...kept, ...header, counter: this.#counter, at: this.now };",
    replace:
      "this.#header = { ...kept, ...header, counter: this.#dropped ? 0 : this.#counter, at: this.now };",
    by: /^I3/,
    directed: "retiredAndBack",
  },
};

/** Faults that a history cannot show, each with what shows it. */
export const ELSEWHERE: Readonly<Record<string, Elsewhere>> = {
  F25: { what: "reuse, replay or new owners without a new touch", why: "harms only with the collector" },
  F26: {
    what: "an unguarded release is repeated",
    why: "the Worker's work: test/http/crash-histories/releases.test.ts (H16)",
  },
  F27: {
    what: "a release by handle leaves keys that are not final",
    why: "only a client that was told nothing is wronged: H2, H3 in test/simulation/histories/keys.test.ts",
  },
  F29: { what: "one poisoned element fails its batch", why: "H18 in test/simulation/histories/keys.test.ts" },
  F31: {
    what: "the removal of a host goes on after it is back",
    why: "no invariant breaks, the host only loses a block: test/simulation/lifecycle/removal.test.ts",
  },
  F32: { what: "one report is two observations", why: "harms only with the collector" },
  F33: { what: "a borrow without its row", why: "harms only with the collector" },
  F34: {
    what: "a block decides from memory beside a second process",
    why: "two processes on one folder: test/simulation/block-memory.test.ts",
  },
  F35: {
    what: "an alarm throws, or is not armed again",
    why: "the next message arms it: test/simulation/lifecycle/slices.test.ts, histories/alarms.test.ts",
  },
};
