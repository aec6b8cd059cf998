/** What callers are told of leaks. */
import { describe, expect, it } from "vitest";
import {
  addressesNotHeld,
  attachmentOutcomes,
  leakCounts,
  leakState,
  leakView,
  nextReportWithinMs,
} from "../../src/core/leak-answers.ts";
import { auditHost } from "../../src/core/leak-policy.ts";
import { withHolds } from "../../src/core/leak-release.ts";
import { attachmentsEvidence } from "../../src/core/leak-report.ts";
import { auditsBy, factsAt, GRACE, MINUTE, markAt, saying, subjectOf, T } from "./leak-facts.ts";

const reports = [T, T + GRACE + 1, T + GRACE + 2].map((at) => saying("absent", markAt(at)));
const rowAfter = (count: number) => {
  const row = auditsBy(reports.slice(0, count)).ledger[0];
  if (row === undefined) throw new Error("nothing is suspected");
  return row;
};

describe("a listed leak", () => {
  it("is a candidate until its grace has passed, then confirmed, and held where something holds it", () => {
    expect(leakView(rowAfter(1), GRACE)).toEqual({
      address: "10.0.0.1",
      handle: "net.c1",
      kind: "workload",
      state: "candidate",
      reason: "grace_period",
      firstAbsentAt: T,
      lastAbsentAt: T,
      releasableAt: T + GRACE,
      observations: 1,
    });
    expect(leakView(rowAfter(2), GRACE)).toMatchObject({ state: "confirmed", reason: "awaiting_recheck" });
    expect(leakView(rowAfter(3), GRACE)).toMatchObject({
      state: "confirmed",
      reason: "none",
      observations: 3,
    });
    const held = withHolds([rowAfter(3)], new Map([["net.c1", "handle_partly_alive"]]));
    expect(held.map(leakState)).toEqual(["held"]);
    expect(leakCounts([...held, rowAfter(1), rowAfter(3)])).toEqual({ candidates: 1, confirmed: 1, held: 1 });
  });

  it("is releasable at no time where the grace says never", () => {
    expect("releasableAt" in leakView(rowAfter(1), 0)).toBe(false);
  });
});

describe("the answer to a report", () => {
  it("names addresses in use that the host does not hold, each once in its one spelling", () => {
    const workloads = [{ addresses: ["10.0.0.1", "FD00::0001"] }, { addresses: ["fd00::1"] }];
    expect(addressesNotHeld(workloads, new Set(["10.0.0.1"]))).toEqual(["fd00::1"]);
  });

  it("asks for the next one so that one may be lost", () => {
    expect(nextReportWithinMs(5 * MINUTE)).toBe(2 * MINUTE);
    expect(nextReportWithinMs(60 * MINUTE)).toBe(2 * MINUTE);
    expect(nextReportWithinMs(30_000)).toBe(12_000);
  });
});

describe("the answer to a runtime", () => {
  const subjects = [
    subjectOf(),
    subjectOf({ address: "10.0.0.2", handle: "net.c2" }),
    subjectOf({ address: "10.0.0.3", handle: "net.c3", touchedAt: T + GRACE }),
    subjectOf({ address: "10.0.0.4", handle: "other.c4" }),
    subjectOf({ address: "10.0.0.5", handle: "net.c5", leakCollection: "never" }),
  ];
  const runtime = (at: number) => attachmentsEvidence("net", markAt(at), ["net.c1"]);

  it("says of each handle that is not valid what became of it", () => {
    const audit = auditsBy([runtime(T)], { subjects });
    expect(attachmentOutcomes("net", ["net.c1"], audit, new Set())).toEqual([
      { handle: "net.c2", outcome: "candidate", reason: "grace_period", addresses: ["10.0.0.2"] },
      { handle: "net.c3", outcome: "held", reason: "allocated_less_than_120_s_ago", addresses: ["10.0.0.3"] },
    ]);
    const ready = auditsBy([T, T + GRACE + 1, T + GRACE + 3 * MINUTE].map(runtime), { subjects });
    const released = attachmentOutcomes("net", ["net.c1"], ready, new Set(["10.0.0.2"]));
    expect(released[0]).toEqual({ handle: "net.c2", outcome: "released", addresses: ["10.0.0.2"] });
    expect(attachmentOutcomes("net", ["net.c1"], ready, new Set())[0]).toMatchObject({
      outcome: "held",
      reason: "release_limit",
    });
  });

  it("holds what another source calls alive", () => {
    const evidence = [runtime(T), saying("alive", markAt(T))];
    const audit = auditHost(factsAt(T, { subjects, evidence }));
    expect(attachmentOutcomes("net", [], audit, new Set())[0]).toMatchObject({
      handle: "net.c1",
      outcome: "held",
      reason: "in_use_by_other_evidence",
    });
  });
});
