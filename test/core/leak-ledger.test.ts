/** How a suspicion grows, what makes it begin anew, and what voids it. */
import { describe, expect, it } from "vitest";
import type { Mark } from "../../src/core/leak-evidence.ts";
import { type Finding, type Suspicion, suspicionAfter } from "../../src/core/leak-ledger.ts";
import { GRACE, MINUTE, markAt, subjectOf, T } from "./leak-facts.ts";

const absent = (...marks: Mark[]): Finding => ({ kind: "absent", marks, isFinal: true });
const next = (before: Suspicion | undefined, finding: Finding, graceMs: number | undefined = GRACE) =>
  suspicionAfter(before, subjectOf(), "workload", finding, graceMs);
const through = (...findings: Finding[]) =>
  findings.reduce((step, finding) => next(step.row, finding), next(undefined, { kind: "alive" }));

describe("suspicionAfter", () => {
  it("I11: confirms by a second observation more than the grace later, and is ready by a third", () => {
    expect(through(absent(markAt(T)))).toMatchObject({
      isReady: false,
      row: { state: "candidate", observations: 1, firstAbsentAt: T, held: "grace_period" },
    });
    const exactly = absent(markAt(T + GRACE));
    expect(through(absent(markAt(T)), exactly).row).toMatchObject({ state: "candidate", observations: 2 });
    const second = absent(markAt(T + GRACE + 1));
    expect(through(absent(markAt(T)), second)).toMatchObject({
      isReady: false,
      row: { state: "confirmed", held: "awaiting_recheck" },
    });
    const ready = through(absent(markAt(T)), second, absent(markAt(T + GRACE + 2)));
    expect(ready.isReady).toBe(true);
    expect(ready.row?.held).toBeUndefined();
  });

  it("F32: one report is one observation, however often it is judged", () => {
    const first = absent(markAt(T));
    expect(through(first, first, first).row).toMatchObject({ observations: 1 });
    const second = absent(markAt(T + GRACE + 1));
    expect(through(first, second, second)).toMatchObject({ isReady: false, row: { observations: 2 } });
  });

  it("counts an observation only when all that it rests on is newer", () => {
    const cluster = (at: number) => markAt(at, "kubernetes");
    const first = absent(markAt(T), cluster(T));
    const half = absent(markAt(T + GRACE + MINUTE), cluster(T));
    expect(through(first, half).row).toMatchObject({ state: "candidate", observations: 1 });
    // The grace lies between the newest of the first and the oldest of the second.
    const near = absent(markAt(T + 2 * GRACE), cluster(T + GRACE));
    expect(through(first, near).row).toMatchObject({ state: "candidate", observations: 2 });
    const both = absent(markAt(T + 2 * GRACE), cluster(T + GRACE + 1));
    expect(through(first, both).row).toMatchObject({ state: "confirmed" });
  });

  it("is not ready by evidence that did not look everywhere", () => {
    const { row } = through(absent(markAt(T)), absent(markAt(T + GRACE + 1)));
    const here: Finding = { kind: "absent", marks: [markAt(T + 2 * GRACE)], isFinal: false };
    expect(next(row, here)).toMatchObject({ isReady: false, row: { state: "confirmed" } });
  });

  it("is void by one word of life, at any time", () => {
    const { row } = through(absent(markAt(T)), absent(markAt(T + GRACE + 1)));
    expect(next(row, { kind: "alive" })).toEqual({ isReady: false });
  });

  it("I11: frees nothing by what is unknown, and forgets nothing", () => {
    const { row } = through(absent(markAt(T)), absent(markAt(T + GRACE + 1)));
    const step = next(row, { kind: "unknown", why: "evidence_stale" });
    expect(step).toMatchObject({ isReady: false, row: { state: "confirmed", held: "evidence_stale" } });
    expect(next(step.row, absent(markAt(T + 9 * GRACE))).isReady).toBe(true);
    expect(next(undefined, { kind: "unknown", why: "evidence_never" }).row).toBeUndefined();
  });

  it("begins anew with a new life of the source", () => {
    const { row } = through(absent(markAt(T)), absent(markAt(T + GRACE + 1)));
    const again = next(row, absent(markAt(T + 2 * GRACE, "report", 2)));
    expect(again.row).toMatchObject({ state: "candidate", observations: 1, firstAbsentAt: T + 2 * GRACE });
  });

  it("begins anew when the clock was set back, and takes a step ahead for time", () => {
    const first = absent({ ...markAt(T), sequence: 1 });
    const back = absent({ ...markAt(T - MINUTE), sequence: 2 });
    expect(through(first, back).row).toMatchObject({ firstAbsentAt: T - MINUTE, observations: 1 });
  });

  it("suspects and never confirms with a grace of 0, and does not suspect without one", () => {
    const first = next(undefined, absent(markAt(T)), 0);
    expect(next(first.row, absent(markAt(T + 100 * GRACE)), 0).row).toMatchObject({ state: "candidate" });
    expect(
      suspicionAfter(undefined, subjectOf(), "workload", absent(markAt(T)), undefined).row,
    ).toBeUndefined();
  });

  it("I11: is ready at once when the host was lost, and void when it is there again", () => {
    const { row, isReady } = next(undefined, { kind: "lost", since: T });
    expect(isReady).toBe(true);
    expect(row).toMatchObject({ cause: "host_gone", state: "confirmed", firstAbsentAt: T });
    expect(next(row, { kind: "unknown", why: "evidence_never" }).row).toBeUndefined();
    expect(next(row, absent(markAt(T + 5 * GRACE)))).toMatchObject({
      isReady: false,
      row: { cause: "absent", state: "candidate", observations: 1 },
    });
  });
});
