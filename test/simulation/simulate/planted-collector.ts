/**
 * Planted faults of the leak collector: F25, F32 and F33 where it meets them, and the rules of its judgement.
 * May import: types. Rule: as in planted.ts.
 */
import type { Planted } from "./planted.ts";

const BLOCK_ALLOCATE = "src/core/block-allocate.ts";
/** What was acknowledged is freed by the collector. */
const FREED = /^(I4|I11)/;
const JUDGED = /^I11/;

export const COLLECTOR_FAULTS: Readonly<Record<string, Planted>> = {
  F25a: {
    what: "an address that is reused under a limit keeps its touch",
    file: BLOCK_ALLOCATE,
    find: "const touched = { ...row, ...owned, number: draft.nextNumber(), at: draft.now };",
    replace: "const touched = { ...row, ...owned };",
    by: FREED,
    directed: "reusedBesideOrder",
    within: 2000,
    measured: 588,
  },
  F25b: {
    what: "a replay keeps the touch",
    file: BLOCK_ALLOCATE,
    find: "const touched = { ...row, number: draft.nextNumber(), at: draft.now };",
    replace: "const touched = { ...row };",
    by: FREED,
    directed: "replayedBesideOrder",
  },
  F25c: {
    what: "a change of owners keeps the touch",
    file: "src/core/block-owners.ts",
    find: "const changed = { ...row, current, number: draft.nextNumber(), at: draft.now };",
    replace: "const changed = { ...row, current };",
    by: FREED,
    directed: "ownedBesideOrder",
  },
  F32: {
    what: "a report that arrives again is a second observation",
    file: "durable-objects/host-leak-intake.ts",
    find: "const { host, sequence, ageMs, complete, workloads } = request;",
    replace: `const { host, ageMs, complete, workloads } = request;
    const sequence = (this.#evidence.last("report")?.sequence ?? 0) + 1;`,
    by: JUDGED,
    directed: "reportCopied",
    within: 100,
    measured: 3,
  },
  F33a: {
    what: "the same, and what leaks there is never judged",
    file: "durable-objects/host-borrowing.ts",
    find: "store.transaction(() => saveBorrowed(store, block, name, incarnation));",
    replace: "",
    by: /^liveness/,
    directed: "leakInForeignBlock",
    within: 200,
    measured: 19,
  },
  L1: {
    what: "what was just handed out is judged",
    file: "src/core/leak-evidence.ts",
    find: "if (fresh.some(({ mark }) => subject.touchedAt > mark.takenAt - SETTLE_MS))",
    replace: "if (fresh.some(({ mark }) => subject.touchedAt > mark.takenAt))",
    by: JUDGED,
    within: 100,
    measured: 2,
  },
  L2: {
    what: "a report that was cut short calls absent what it does not list",
    file: "src/core/leak-report.ts",
    find: `if (!report.complete) return "unlisted";`,
    replace: "",
    by: JUDGED,
    within: 100,
    measured: 18,
  },
  L3: {
    what: "a handle is freed as far as it is leaked",
    file: "src/core/leak-release.ts",
    find: "return members.every(isLeaked) ? members : undefined;",
    replace: "return members.filter(isLeaked);",
    by: JUDGED,
    directed: "handleOfTwoHosts",
    within: 50,
    measured: 1,
  },
  L4: {
    what: "what is confirmed is freed without a newer look",
    file: "src/core/leak-ledger.ts",
    find: "return row.confirmed !== undefined && isFinal && areNewer(marks, row.confirmed);",
    replace: "return row.confirmed !== undefined && isFinal && marks.length > 0;",
    by: JUDGED,
    within: 100,
    measured: 2,
  },
  L5: {
    what: "an order frees whatever its address is by then",
    file: "src/core/block-leaks.ts",
    find: "if (row.current?.handle === handle && row.number === touch) {",
    replace: "if (row.current?.handle === handle) {",
    by: FREED,
    directed: "reusedBesideOrder",
  },
  L6: {
    what: "the grace is not waited for",
    file: "src/core/leak-ledger.ts",
    find: "const isAged = graceMs > 0 && oldestAt(marks) - before.firstAbsentAt > graceMs;",
    replace: "const isAged = graceMs > 0 && oldestAt(marks) > before.firstAbsentAt;",
    by: JUDGED,
    within: 100,
    measured: 2,
  },
};
