/** The index against the blocks: what is judged, what is put back, and what that does to later requests. */
import { describe, expect, it } from "vitest";
import { heldThroughout, judgeHeldKey, outcomeOf } from "../../src/core/check-keys.ts";
import { cleanUp, type KeyRow, move, type ReserveItem, reserve, settle } from "../../src/core/key-index.ts";
import { restore } from "../../src/core/key-restore.ts";

const NOW = 1_000_000;
const TIMES = { skewMs: 50, untilMs: 2_000, spentKeyMs: 600_000 };
const PLACE = { handle: "h", key: "a/k", block: "10.0.0.0/30" };
const HELD = { ...PLACE, family: 4, count: 2 } as const;
const ROW: KeyRow = {
  ...PLACE,
  family: 4,
  count: 2,
  fingerprint: "body",
  state: "reserved",
  attempt: "one",
  until: NOW - 10_000,
  untilBefore: 0,
  at: NOW - 10_000,
};
const ask = (more: Partial<ReserveItem> = {}): ReserveItem => ({
  ...{ handle: "h", key: "a/k", fingerprint: "body", family: 4, block: "10.0.0.4/30", count: 2 },
  ...{ attempt: "retry", until: NOW + 1_000 },
  ...more,
});

function restored(row?: KeyRow): KeyRow {
  const [put] = restore(row, HELD, NOW, TIMES).put;
  if (put === undefined) throw new Error("nothing was put");
  return put;
}

describe("a held key", () => {
  const key = { handle: "h", key: "k", count: 2, sequenceNumber: 9 };

  it("must be listed, as reserved, with at least as many addresses", () => {
    expect(judgeHeldKey(key, { state: "missing", count: 0 })).toBe("key_not_listed");
    expect(judgeHeldKey(key, { state: "spent", count: 2 })).toBe("key_listed_as_spent");
    expect(judgeHeldKey(key, { state: "reserved", count: 1 })).toBe("key_counted_short");
    expect(judgeHeldKey(key, { state: "reserved", count: 2 })).toBeUndefined();
    expect(judgeHeldKey(key, { state: "reserved", count: 3 })).toBeUndefined();
  });

  it("counts only if the same allocation was held before and after", () => {
    expect(heldThroughout([key], [key])).toEqual([key]);
    expect(heldThroughout([key], [])).toEqual([]);
    expect(heldThroughout([key], [{ ...key, sequenceNumber: 12 }])).toEqual([]);
    expect(heldThroughout([key], [{ ...key, count: 1 }])).toEqual([{ ...key, count: 1 }]);
    expect(heldThroughout([key], [{ ...key, handle: "other" }])).toEqual([]);
  });

  it("a row is settled by a final word only", () => {
    expect(
      ["held", "released", "not_held", "not_final", undefined].map((said) => outcomeOf(said as "held")),
    ).toEqual([undefined, "released", "absent", undefined, undefined]);
  });
});

describe("a row that is put back", () => {
  it("I5: lists what is held, and no word of the block is final before messages under way have arrived", () => {
    const row = restored();
    expect(row).toMatchObject({ ...HELD, state: "reserved", until: NOW + TIMES.untilMs, untilBefore: 0 });
    expect(cleanUp(row, NOW + TIMES.untilMs, TIMES)).toBe("keep");
    expect(cleanUp(row, NOW + TIMES.untilMs + TIMES.skewMs + 1, TIMES)).toBe("ask");
  });

  it("changes nothing where the index is right", () => {
    expect(restore(ROW, HELD, NOW, TIMES)).toEqual({ put: [], remove: [] });
    expect(restore({ ...ROW, count: 5 }, HELD, NOW, TIMES)).toEqual({ put: [], remove: [] });
    expect(restore(restored(), HELD, NOW, TIMES)).toEqual({ put: [], remove: [] });
  });

  it("I9: counts all that is held; a spent one may hold again", () => {
    expect(restored({ ...ROW, count: 1 })).toEqual({ ...ROW, count: 2, at: NOW });
    expect(restored({ ...ROW, state: "spent" })).toMatchObject({
      state: "reserved",
      fingerprint: "body",
      count: 2,
    });
  });

  it("I13: is taken over by the first request with its key, whose body counts from then on", () => {
    const first = reserve([restored()], ask(), NOW, TIMES);
    expect(first.outcome).toEqual({
      kind: "listed",
      rows: [{ block: PLACE.block, untilBefore: NOW + TIMES.untilMs }],
    });
    const rows = first.changes.put;
    expect(reserve(rows, ask({ fingerprint: "other", attempt: "x" }), NOW, TIMES).outcome.kind).toBe(
      "key_reused",
    );
    expect(reserve(rows, ask({ attempt: "x" }), NOW, TIMES).outcome.kind).toBe("listed");
  });

  it("moves for nobody who has not taken it over, and then on a final answer only", () => {
    const wish = { ...PLACE, from: PLACE.block, to: "10.0.0.4/30", attempt: "one", until: NOW + 1_000 };
    expect(move([restored()], { ...wish, final: true }, NOW, TIMES).outcome.kind).toBe("in_progress");
    const rows = reserve([restored()], ask(), NOW, TIMES).changes.put;
    const taken = { ...wish, attempt: "retry" };
    expect(move(rows, { ...taken, final: false }, NOW, TIMES).outcome.kind).toBe("in_progress");
    expect(move(rows, { ...taken, final: true }, NOW, TIMES).outcome.kind).toBe("moved");
  });

  it("goes when its block says finally that nothing is held", () => {
    const row = restored();
    const stale = { ...PLACE, outcome: "absent", until: ROW.until } as const;
    expect(settle(row, stale, NOW).remove).toEqual([]);
    expect(settle(row, { ...stale, until: row.until }, NOW).remove).toEqual([row]);
  });
});
