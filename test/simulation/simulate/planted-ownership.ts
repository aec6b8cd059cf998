/**
 * Planted faults of who owns a block, and of pools, hosts and blocks that end.
 * May import: types. Rule: as in planted.ts.
 */
import type { Planted } from "./planted.ts";

const AFFINITIES = "durable-objects/host-affinities.ts";
const AFFINITY_ROWS = "durable-objects/host-affinity-rows.ts";
const CLAIM_STEPS = "durable-objects/host-claim-steps.ts";
const POOL = "durable-objects/pool.ts";
const BLOCK_AFFINITY = "src/core/block-affinity.ts";
const OWNERSHIP = /^(I5|I6|directory|liveness|I1)/;

export const OWNERSHIP_FAULTS: Readonly<Record<string, Planted>> = {
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
    file: CLAIM_STEPS,
    find: `if (this.#rows.move(row, "confirm") === "moved_on") return "lost";`,
    replace: `if (this.#rows.move(row, "confirm") === "moved_on") this.#host.store.transaction(() => this.#host.store.write("UPDATE affinities SET state = 'confirmed' WHERE block = ?", block));`,
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
    file: AFFINITY_ROWS,
    find: "countAffinities(store, row.family) - (isNew ? 0 : 1)",
    replace: `store.rows("SELECT block FROM affinities WHERE family = ? AND state = 'confirmed'", row.family).length`,
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
  F30: {
    what: "a pool goes when its figures say that no block holds an address",
    file: "durable-objects/pool-drain.ts",
    find: "if (left.length > 0) return IDLE_PAUSE_MS;",
    replace:
      "if (left.some((row) => (this.#rows.block(row.position)?.counts?.allocated ?? 0) > 0)) return IDLE_PAUSE_MS;",
    by: /^(I1|I3|I4|I5|liveness)/,
    directed: "drainOnOldFigures",
  },
  F31: {
    what: "the removal of a host goes on after it is back",
    file: "durable-objects/host-removal.ts",
    find: "return gone !== undefined && gone.generation === generation && current?.epoch === row.epoch;",
    replace: "return gone === undefined || current !== undefined;",
    by: /^H13/,
    directed: "removedAndBack",
  },
  F33: {
    what: "a borrow is noted in memory only",
    file: "durable-objects/host-borrowing.ts",
    find: "store.transaction(() => saveBorrowed(store, block, name, incarnation));",
    replace: "",
    by: /^directory/,
    directed: "borrowerRemoved",
  },
  F34: {
    what: "a block decides from memory, whatever is stored",
    file: "durable-objects/storage/block-rows.ts",
    find: "if (known !== undefined && known.headerText === row?.header && known.top === top) return known;",
    replace: "if (known !== undefined) return known;",
    by: /^I1/,
    directed: "sharedStorage",
  },
  F35: {
    what: "a block's alarm is not armed again after a failure",
    file: "durable-objects/block.ts",
    find: `// Where it cannot be armed the run has failed, and the platform repeats it.
      await this.#armed(this.#runtime.now() + ALARM_RETRY_MS);`,
    replace: "",
    by: /^liveness/,
    directed: "retireOnFullDisk",
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
