/** The arbiter of keys, decision by decision. The random histories are in key-index-model.test.ts. */
import { describe, expect, test } from "vitest";
import {
  cleanUp,
  type KeyChanges,
  type KeyRow,
  type MoveItem,
  move,
  type ReserveItem,
  reserve,
  settle,
} from "../../src/core/key-index.ts";

const TIMES = { skewMs: 50, untilMs: 2_000, spentKeyMs: 600_000 };
const NOW = 1_000_000;
const NOTHING: KeyChanges = { put: [], remove: [] };
const [A, B] = ["10.0.0.0/26", "10.0.0.64/26"];

function row(changed: Partial<KeyRow> = {}): KeyRow {
  return {
    handle: "h",
    key: "k",
    block: A,
    family: 4,
    count: 1,
    fingerprint: "f",
    state: "reserved",
    attempt: "first",
    until: NOW + 1_000,
    untilBefore: 0,
    at: NOW - 1_000,
    ...changed,
  };
}

function wish(changed: Partial<ReserveItem> = {}): ReserveItem {
  const until = NOW + 2_000;
  const item = { handle: "h", key: "k", fingerprint: "f", family: 4 as const, count: 1 };
  return { ...item, block: A, attempt: "second", until, ...changed };
}

function going(changed: Partial<MoveItem> = {}): MoveItem {
  const until = NOW + 2_000;
  return { handle: "h", key: "k", from: A, to: B, attempt: "first", until, final: true, ...changed };
}

describe("reserve", () => {
  test("I5: writes the row of a new key before anybody is sent to its block", () => {
    const { outcome, changes } = reserve([], wish(), NOW, TIMES);
    expect(outcome).toEqual({ kind: "reserved" });
    expect(changes.put).toEqual([row({ attempt: "second", until: NOW + 2_000, at: NOW })]);
  });

  test("I13: the key with another body is refused, held or spent", () => {
    for (const state of ["reserved", "spent"] as const) {
      const decided = reserve([row({ state })], wish({ fingerprint: "other" }), NOW, TIMES);
      expect(decided).toEqual({ outcome: { kind: "key_reused" }, changes: NOTHING });
    }
  });

  test("I13: a key spent in one family is spent in both", () => {
    const spent = row({ state: "spent", family: 6, block: "fd00::/122" });
    expect(reserve([spent], wish(), NOW, TIMES).outcome).toEqual({ kind: "spent" });
  });

  test("a later attempt is sent to the listed block, and knows until when an earlier one may land", () => {
    const { outcome, changes } = reserve([row()], wish({ block: B }), NOW, TIMES);
    expect(outcome).toEqual({ kind: "listed", rows: [{ block: A, untilBefore: NOW + 1_000 }] });
    const until = NOW + 2_000;
    expect(changes.put).toEqual([row({ attempt: "second", until, untilBefore: NOW + 1_000, at: NOW })]);
  });

  test("an earlier time never shortens that of a row", () => {
    const { changes } = reserve([row({ until: NOW + 1_900 })], wish({ until: NOW + 10 }), NOW, TIMES);
    expect(changes.put[0]?.until).toBe(NOW + 1_900);
  });

  test("I5: an attempt that is sent to its own row again prolongs it, from whichever block it came", () => {
    for (const block of [A, B, undefined]) {
      const { block: _block, ...bare } = wish({ attempt: "first" });
      const item = block === undefined ? bare : { ...bare, block };
      expect(reserve([row()], item, NOW, TIMES).changes.put[0]?.until, `from ${block}`).toBe(NOW + 2_000);
    }
  });

  test("blocks in which the attempt holds addresses already do not call it back", () => {
    expect(reserve([row()], wish({ block: B, also: [A] }), NOW, TIMES).outcome.kind).toBe("reserved");
    expect(reserve([row()], wish({ block: B }), NOW, TIMES).outcome.kind).toBe("listed");
  });

  test("a look-up reserves nothing", () => {
    const { block: _block, ...lookUp } = wish();
    expect(reserve([], lookUp, NOW, TIMES)).toEqual({ outcome: { kind: "absent" }, changes: NOTHING });
  });

  test("rows of the other family are another way", () => {
    const v6 = row({ family: 6, block: "fd00::/122" });
    expect(reserve([v6], wish(), NOW, TIMES).outcome.kind).toBe("reserved");
  });

  test("I9: rows of the family count in full at the limit; spent ones and the other family do not", () => {
    const others = [
      row({ key: "one", count: 2 }),
      row({ key: "two", state: "spent", count: 9 }),
      row({ key: "six", family: 6, count: 9 }),
    ];
    expect(reserve(others, wish({ limit: 3 }), NOW, TIMES).outcome.kind).toBe("reserved");
    const over = reserve(others, wish({ limit: 2 }), NOW, TIMES);
    expect(over).toEqual({ outcome: { kind: "limit", rows: [others[0]] }, changes: NOTHING });
    expect(reserve(others, wish({ limit: 3, count: 2 }), NOW, TIMES).outcome.kind).toBe("limit");
  });

  test("a late message changes nothing; one from too far ahead is a defect", () => {
    const late = reserve([], wish({ until: NOW - 1 }), NOW, TIMES);
    expect(late).toEqual({ outcome: { kind: "late" }, changes: NOTHING });
    expect(reserve([], wish({ until: NOW }), NOW, TIMES).outcome.kind).toBe("reserved");
    expect(reserve([], wish({ until: NOW + 2_050 }), NOW, TIMES).outcome.kind).toBe("reserved");
    expect(() => reserve([], wish({ until: NOW + 2_051 }), NOW, TIMES)).toThrow("until");
    expect(() => reserve([], wish({ until: Number.NaN }), NOW, TIMES)).toThrow("until");
  });
});

describe("move", () => {
  test("the only attempt moves its row; its time goes with it", () => {
    const { outcome, changes } = move([row()], going({ final: false }), NOW, TIMES);
    expect(outcome.kind).toBe("moved");
    expect(changes).toEqual({ put: [row({ block: B, until: NOW + 2_000, at: NOW })], remove: [row()] });
  });

  test.each([
    ["another attempt is the latest", row({ attempt: "second" }), going(), "in_progress"],
    ["an earlier one may still land", row({ untilBefore: 5 }), going({ final: false }), "in_progress"],
    ["the no was final for the earlier ones", row({ untilBefore: 5 }), going(), "moved"],
    ["the key was released meanwhile", row({ state: "spent" }), going(), "gone"],
    ["the message is late", row(), going({ until: NOW - 1 }), "late"],
    ["a repeat finds it moved", row({ block: B }), going(), "moved"],
    ["another attempt moved it", row({ block: B, attempt: "second" }), going(), "gone"],
  ] as const)("%s: %s", (_why, stored, item, kind) => {
    const { outcome, changes } = move([stored], item, NOW, TIMES);
    expect(outcome.kind).toBe(kind);
    if (kind !== "moved" || stored.block === B) expect(changes).toEqual(NOTHING);
  });

  test("a row never lands on another of the same key", () => {
    const decided = move([row(), row({ block: B })], going(), NOW, TIMES);
    expect(decided).toEqual({ outcome: { kind: "in_progress" }, changes: NOTHING });
  });

  test("a late copy moves nothing, even when the row has come back meanwhile", () => {
    const first = going({ attemptAfter: "first 1" });
    const [away] = move([row()], first, NOW, TIMES).changes.put;
    expect(away).toMatchObject({ block: B, attempt: "first 1" });
    expect(move(away === undefined ? [] : [away], first, NOW, TIMES)).toEqual({
      outcome: { kind: "moved" },
      changes: NOTHING,
    });
    const back = going({ from: B, to: A, attempt: "first 1", attemptAfter: "first 2" });
    const [home] = move(away === undefined ? [] : [away], back, NOW, TIMES).changes.put;
    expect(home).toMatchObject({ block: A, attempt: "first 2" });
    expect(move(home === undefined ? [] : [home], first, NOW, TIMES)).toEqual({
      outcome: { kind: "in_progress" },
      changes: NOTHING,
    });
  });

  test("a row that is not there is gone", () => {
    expect(move([], going(), NOW, TIMES).outcome).toEqual({ kind: "gone" });
    expect(move([row({ key: "other" })], going(), NOW, TIMES).outcome).toEqual({ kind: "gone" });
  });
});

describe("settle and clean up", () => {
  const said = { handle: "h", key: "k", block: A };

  test("I5: a row whose time has risen since it was read stays", () => {
    const absent = { ...said, outcome: "absent" as const };
    expect(settle(row(), { ...absent, until: NOW + 999 }, NOW)).toEqual(NOTHING);
    expect(settle(row(), { ...absent, until: NOW + 1_000 }, NOW)).toEqual({ put: [], remove: [row()] });
  });

  test("I13: a released key is spent, whatever the time; a spent one stays as it is", () => {
    const released = { ...said, outcome: "released" as const, until: 0 };
    expect(settle(row(), released, NOW).put).toEqual([row({ state: "spent", at: NOW })]);
    for (const outcome of ["released", "absent", "held"] as const) {
      const item = { ...said, outcome, count: 1, until: NOW + 1_000 };
      expect(settle(row({ state: "spent", count: 2 }), item, NOW)).toEqual(NOTHING);
      expect(settle(undefined, item, NOW)).toEqual(NOTHING);
    }
  });

  test("I9: a row learns that it holds fewer than it was reserved for, never more or none", () => {
    const held = (count: number) => ({ ...said, outcome: "held" as const, count, until: 0 });
    expect(settle(row({ count: 3 }), held(2), NOW).put).toEqual([row({ count: 2, at: NOW })]);
    for (const count of [3, 4, 0]) expect(settle(row({ count: 3 }), held(count), NOW)).toEqual(NOTHING);
  });

  test("a spent row is dropped after its ten minutes; a live one is asked for after its time and skew", () => {
    const spent = row({ state: "spent", at: NOW });
    expect(cleanUp(spent, NOW + 599_999, TIMES)).toBe("keep");
    expect(cleanUp(spent, NOW + 600_000, TIMES)).toBe("drop");
    expect(cleanUp(row(), NOW + 1_050, TIMES)).toBe("keep");
    expect(cleanUp(row(), NOW + 1_051, TIMES)).toBe("ask");
  });
});
