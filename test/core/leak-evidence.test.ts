/** What several pieces of evidence say together, and which of two is newer. */
import { describe, expect, it } from "vitest";
import {
  type Answer,
  areNewer,
  datedBy,
  type Evidence,
  forgottenAfter,
  isOfAnotherLife,
  verdictOf,
} from "../../src/core/leak-evidence.ts";
import { MINUTE, markAt, saying, subjectOf, T } from "./leak-facts.ts";

const fresh = { now: T, staleMs: 5 * MINUTE };
const verdict = (...evidence: Evidence[]) => verdictOf(subjectOf(), "workload", evidence, fresh);
const report = (answer: Answer, at = T) => saying(answer, markAt(at));
const cluster = (answer: Answer, at = T) => saying(answer, markAt(at, "kubernetes"));

describe("verdictOf", () => {
  it("is alive if any source says so, absent only if all that speak do", () => {
    expect(verdict(report("absent"), cluster("alive")).kind).toBe("alive");
    expect(verdict(report("alive"), cluster("absent")).kind).toBe("alive");
    expect(verdict(report("absent"), cluster("absent"))).toMatchObject({ kind: "absent", isFinal: true });
    expect(verdict(report("absent"), cluster("silent"))).toMatchObject({ kind: "absent" });
    expect(verdict(report("absent"), cluster("absent_here"))).toMatchObject({
      kind: "absent",
      isFinal: false,
    });
  });

  it("is unknown where nothing speaks, and where one that ought to know does not", () => {
    expect(verdict()).toEqual({ kind: "unknown", why: "evidence_never" });
    expect(verdict(report("silent"))).toEqual({ kind: "unknown", why: "evidence_never" });
    expect(verdict(report("absent"), cluster("unknown"))).toEqual({ kind: "unknown", why: "unreadable" });
  });

  it("H15: is unknown when all that spoke is stale, however long ago", () => {
    for (const age of [5 * MINUTE + 1, 1000 * MINUTE]) {
      expect(verdict(report("absent", T - age))).toEqual({ kind: "unknown", why: "evidence_stale" });
    }
    expect(verdict(report("absent", T - 5 * MINUTE)).kind).toBe("absent");
  });

  it("takes nothing as absent from evidence that seems to come from the future, and life all the same", () => {
    expect(verdict(report("absent", T + MINUTE))).toEqual({ kind: "unknown", why: "evidence_stale" });
    expect(verdict(report("alive", T + MINUTE), cluster("absent")).kind).toBe("alive");
  });

  it("CE-21: does not judge what was touched less than 120 s before the evidence was taken", () => {
    const at = (touchedAt: number) =>
      verdictOf(subjectOf({ touchedAt }), "workload", [report("absent")], fresh);
    expect(at(T - 120_000).kind).toBe("absent");
    expect(at(T - 119_999)).toEqual({ kind: "unknown", why: "too_young" });
  });

  it("hears of each source its newest word by count, and passes over newer silence", () => {
    expect(verdict(report("alive", T - 10), report("absent", T)).kind).toBe("absent");
    expect(verdict(report("absent", T), report("alive", T - 10)).kind).toBe("absent");
    expect(verdict(report("alive", T - 10), report("silent", T)).kind).toBe("alive");
    expect(verdict(report("absent", T - 10), report("silent", T)).kind).toBe("absent");
  });

  it("I11: lets what was cut short neither take back life nor repeat an absence", () => {
    const cut = report("unlisted", T);
    expect(verdict(report("alive", T - 10), cut).kind).toBe("alive");
    expect(verdict(report("absent", T - 10), cut)).toEqual({ kind: "unknown", why: "evidence_stale" });
    expect(verdict(cut)).toEqual({ kind: "unknown", why: "evidence_stale" });
    expect(verdict(cut, cluster("absent"))).toMatchObject({ kind: "absent" });
  });

  it("I11: takes no absence of any source that is not newer than life which was cut short and is forgotten", () => {
    const cut = { ...report("unlisted", T), ...forgottenAfter({ takenAt: T - 20, isEmpty: false }) };
    const stale = { kind: "unknown", why: "evidence_stale" };
    expect(verdict(cut, cluster("absent", T - 30))).toEqual(stale);
    expect(verdict(cut, cluster("absent", T - 20))).toEqual(stale);
    expect(verdict(cut, cluster("absent", T - 19))).toMatchObject({ kind: "absent" });
    expect(verdict(report("alive", T - 30), cut, cluster("absent", T - 30)).kind).toBe("alive");
    // The source itself has told of it again.
    expect(verdict(cut, report("absent", T + 1), cluster("absent", T - 30))).toMatchObject({
      kind: "absent",
    });
  });
});

describe("datedBy", () => {
  it("dates by the clock what seems to come from the future, and leaves everything else as it is", () => {
    const piece = { takenAt: T, forgottenAt: T - 5 };
    expect(datedBy(piece, T - 5_000)).toBe(piece);
    expect(datedBy(piece, T - MINUTE)).toEqual({ takenAt: T - MINUTE, forgottenAt: T - MINUTE });
    expect(datedBy({ takenAt: T }, T - MINUTE)).toEqual({ takenAt: T - MINUTE });
  });
});

describe("forgottenAfter", () => {
  it("is of the last piece that listed anything, and goes on until one is complete", () => {
    expect(forgottenAfter(undefined)).toEqual({});
    expect(forgottenAfter({ takenAt: T, isEmpty: true })).toEqual({});
    expect(forgottenAfter({ takenAt: T, isEmpty: false })).toEqual({ forgottenAt: T });
    expect(forgottenAfter({ takenAt: T, isEmpty: true, forgottenAt: T - 5 })).toEqual({ forgottenAt: T - 5 });
    expect(forgottenAfter({ takenAt: T, isEmpty: false, forgottenAt: T - 5 })).toEqual({ forgottenAt: T });
  });
});

describe("areNewer", () => {
  const kubernetes = (at: number) => markAt(at, "kubernetes");

  it("F32: one report is never newer than itself, whatever the time", () => {
    const mark = markAt(T);
    expect(areNewer([mark], [mark])).toBe(false);
    expect(areNewer([{ ...mark, takenAt: T + MINUTE }], [mark])).toBe(false);
    expect(areNewer([{ ...mark, sequence: mark.sequence + 1 }], [mark])).toBe(true);
  });

  it("goes by generation first, so that a count that began anew is newer", () => {
    expect(areNewer([{ ...markAt(T, "report", 2), sequence: 1 }], [markAt(T)])).toBe(true);
    expect(areNewer([markAt(T, "report", 1)], [{ ...markAt(T - 1, "report", 2), sequence: 1 }])).toBe(false);
  });

  it("asks it of every source, and of a new source by its time", () => {
    const before = [markAt(T), kubernetes(T)];
    expect(areNewer([markAt(T + 1), kubernetes(T)], before)).toBe(false);
    expect(areNewer([markAt(T + 1), kubernetes(T + 1)], before)).toBe(true);
    expect(areNewer([kubernetes(T)], [markAt(T)])).toBe(false);
    expect(areNewer([kubernetes(T + 1)], [markAt(T)])).toBe(true);
  });

  it("counts what has no count of its own only after 120 s: it may be one request delivered twice", () => {
    const of = (at: number) => markAt(at, "attachments:net");
    expect(areNewer([of(T + 120_000)], [of(T)])).toBe(false);
    expect(areNewer([of(T + 120_001)], [of(T)])).toBe(true);
  });
});

describe("isOfAnotherLife", () => {
  it("is so when a source has another generation than before", () => {
    expect(isOfAnotherLife([markAt(T, "report", 2)], [markAt(T)])).toBe(true);
    expect(isOfAnotherLife([markAt(T)], [markAt(T - 1)])).toBe(false);
    expect(isOfAnotherLife([markAt(T, "report", 2)], [markAt(T, "kubernetes")])).toBe(false);
  });
});
