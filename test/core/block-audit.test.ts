/** What a block tells a check of itself. */
import { describe, expect, it } from "vitest";
import { applyChanges, BlockDraft, blockState } from "../../src/core/block.ts";
import { claim } from "../../src/core/block-affinity.ts";
import { allocate } from "../../src/core/block-allocate.ts";
import { auditBlock } from "../../src/core/block-audit.ts";
import type { AllocateItem } from "../../src/core/block-messages.ts";
import { releaseAddress } from "../../src/core/block-release.ts";
import { parseCidr } from "../../src/core/cidr.ts";
import type { OrdinalRow, Tenure } from "../../src/core/ordinal.ts";

const TIMES = { skewMs: 50, untilMs: 2_000, spentKeyMs: 600_000 };
const BLOCK = "10.0.0.0/29";
const NOW = 1_000_000;
const cooldownMs = 60_000;
const target = { block: BLOCK, pool: "p", poolCidr: "10.0.0.0/24", incarnation: 2 };
const question = { block: BLOCK, cooldownMs };

function range() {
  const cidr = parseCidr(BLOCK);
  if (!cidr.ok) throw new Error("no block");
  return cidr.value;
}

/** A block of host `a` on which decisions are made one after the other. */
function decided(...decisions: ((draft: BlockDraft) => unknown)[]): BlockDraft {
  let state = blockState(undefined, []);
  for (const decide of decisions) {
    const draft = new BlockDraft(state, range(), NOW, TIMES);
    decide(draft);
    state = applyChanges(state, draft.changes());
  }
  return new BlockDraft(state, range(), NOW, TIMES);
}

const owned = (draft: BlockDraft) =>
  claim(draft, { ...target, owner: "a", epoch: 5, until: NOW, cooldownMs });

function take(key: string, count: number, host = "a") {
  const item: AllocateItem = {
    ...{ handle: "h", key, host, use: "Workload", attributes: {}, leakCollection: "auto" },
    ...{ count, strict: false, until: NOW, policy: { reserved: [], cooldownMs } },
  };
  return (draft: BlockDraft) => allocate(draft, item);
}

const row = (ordinal: number, number: number, current?: Partial<Tenure>): OrdinalRow => ({
  ordinal,
  number,
  at: NOW,
  ended: [],
  ...(current === undefined ? {} : { current: { ...TENURE, ...current } }),
});

const TENURE: Tenure = {
  ...{ handle: "h", key: "k", granted: 1, host: "a", use: "Workload", attributes: {} },
  ...{ leakCollection: "auto", sequenceNumber: 1, allocatedAt: NOW },
};

describe("a block", () => {
  it("that was never written says nothing of itself", () => {
    const empty = { epoch: 0, allocated: 0, cooling: 0, keys: [], holders: [], faults: [] };
    expect(auditBlock(decided(), question, NOW)).toEqual(empty);
  });

  it("tells owner, pool, epoch, who holds, and what each key holds", () => {
    const released = (draft: BlockDraft) =>
      releaseAddress(draft, { address: "10.0.0.0", force: true }, cooldownMs);
    const draft = decided(owned, take("one", 3), take("two", 1, "b"), released);
    expect(auditBlock(draft, question, NOW)).toEqual({
      pool: { name: "p", incarnation: 2 },
      owner: "a",
      epoch: 5,
      allocated: 3,
      cooling: 1,
      keys: [
        { handle: "h", key: "one", count: 2, sequenceNumber: expect.any(Number) },
        { handle: "h", key: "two", count: 1, sequenceNumber: expect.any(Number) },
      ],
      holders: ["a", "b"],
      faults: [],
    });
    expect(auditBlock(draft, { ...question, cooldownMs: 0 }, NOW)).toMatchObject({
      allocated: 3,
      cooling: 0,
    });
  });

  it("names rows that contradict each other, by their address", () => {
    const header = decided(owned).header;
    const of = (...rows: OrdinalRow[]) =>
      auditBlock(new BlockDraft(blockState(header, rows), range(), NOW, TIMES), question, NOW).faults;
    expect(of(row(0, 7), row(1, 8))).toEqual([]);
    expect(of(row(0, 7), row(1, 7))).toEqual([{ problem: "rows_contradict", address: "10.0.0.1" }]);
    expect(of(row(2, 7, { sequenceNumber: 9 }))).toEqual([
      { problem: "rows_contradict", address: "10.0.0.2" },
    ]);
  });

  it("names rows that belong to no pool, and a time that is far ahead", () => {
    const orphan = new BlockDraft(blockState(undefined, [row(0, 7, {})]), range(), NOW, TIMES);
    expect(auditBlock(orphan, question, NOW).faults).toEqual([{ problem: "rows_contradict" }]);
    const draft = decided(owned);
    expect(auditBlock(draft, question, NOW - 61_000).faults).toEqual([{ problem: "time_ahead" }]);
    expect(auditBlock(draft, question, NOW - 59_000).faults).toEqual([]);
  });
});
