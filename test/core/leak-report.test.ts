/** Evidence from a host: its agent's reports and its runtime's valid attachments. */
import { describe, expect, it } from "vitest";
import {
  attachmentsEvidence,
  countOfAttachments,
  markOfReport,
  orderOfReport,
  type ReportedWorkload,
  reportEvidence,
} from "../../src/core/leak-report.ts";
import type { LeakKind } from "../../src/core/leak-subject.ts";
import { markAt, subjectOf, T } from "./leak-facts.ts";

const KINDS: LeakKind[] = ["workload", "vm", "tunnel", "load_balancer", "reserved", "external"];
const listing = (...workloads: ReportedWorkload[]) =>
  reportEvidence(markAt(T), { complete: true, workloads });

describe("orderOfReport", () => {
  const last = { generation: 3, sequence: 10 };

  it.each([
    [{ generation: 3, sequence: 11 }, "newer"],
    [{ generation: 3, sequence: 10 }, "repeated"],
    [{ generation: 3, sequence: 9 }, "out_of_order"],
    [{ generation: 2, sequence: 99 }, "older_incarnation"],
    [{ generation: 4, sequence: 0 }, "newer"],
  ])("takes %o as %s", (next, order) => expect(orderOfReport(last, next)).toBe(order));

  it("takes any first report", () => expect(orderOfReport(undefined, last)).toBe("newer"));
});

describe("countOfAttachments", () => {
  const count = (sequence: number, arrivedAt?: number, isSame = true) =>
    countOfAttachments({ sequence, isSame }, arrivedAt);

  it("rises with each list, by when its request arrived if that is later", () => {
    expect(countOfAttachments(undefined, undefined)).toBe(1);
    expect(countOfAttachments(undefined, T)).toBe(T);
    expect(count(T, T + 5)).toBe(T + 5);
    expect(count(T, T - 5)).toBe(T + 1);
    expect(count(T)).toBe(T + 1);
  });

  it("F32: a copy of the last request is none, and another list of the same moment is one", () => {
    expect(count(T, T)).toBeUndefined();
    expect(count(T, T, false)).toBe(T + 1);
  });
});

describe("markOfReport", () => {
  it("is dated by its arrival and the age that is stated, never later than its arrival", () => {
    expect(markOfReport({ generation: 1, sequence: 2 }, T, 340).takenAt).toBe(T - 340);
    expect(markOfReport({ generation: 1, sequence: 2 }, T, -5_000).takenAt).toBe(T);
  });
});

describe("reportEvidence", () => {
  it.each([
    ["its handle", { handle: "net.c1", addresses: [] }],
    ["its address", { addresses: ["10.0.0.1"] }],
    ["its pod, which has no address yet", { namespace: "web", pod: "api-0", addresses: [] }],
  ])("calls alive what is listed by %s", (_, workload) => {
    expect(listing(workload).says(subjectOf(), "workload")).toBe("alive");
  });

  it("calls absent a pod that is listed with other addresses under another handle", () => {
    const other = { handle: "net.c2", namespace: "web", pod: "api-0", addresses: ["10.0.0.9"] };
    expect(listing(other).says(subjectOf(), "workload")).toBe("absent");
  });

  it("compares addresses, not their spelling", () => {
    const subject = subjectOf({ address: "fd00::1" });
    expect(listing({ addresses: ["FD00:0:0::0001"] }).says(subject, "workload")).toBe("alive");
  });

  it("can call only workloads absent, and alive whatever it lists", () => {
    const says = KINDS.map((kind) => listing().says(subjectOf(), kind));
    expect(says).toEqual(["absent", "silent", "silent", "silent", "silent", "silent"]);
    const alive = KINDS.map((kind) => listing({ handle: "net.c1", addresses: [] }).says(subjectOf(), kind));
    expect(new Set(alive)).toEqual(new Set(["alive"]));
  });

  it("I11: tells only of life where it is not complete", () => {
    const workloads = [{ handle: "net.c1", addresses: [] }];
    const cut = reportEvidence(markAt(T), { complete: false, workloads });
    expect(cut.says(subjectOf(), "workload")).toBe("alive");
    expect(cut.says(subjectOf({ handle: "net.c9" }), "workload")).toBe("unlisted");
  });
});

describe("attachmentsEvidence", () => {
  const valid = (...handles: string[]) => attachmentsEvidence("net", markAt(T), handles);

  it("speaks of the handles of its network, also where nothing else is known of them", () => {
    expect(valid("net.c1").says(subjectOf(), "workload")).toBe("alive");
    expect(valid("net.c2").says(subjectOf(), "workload")).toBe("absent");
    expect(valid().says(subjectOf({ attributes: {} }), "external")).toBe("absent");
  });

  it.each([
    ["another network", { handle: "other.c1" }, "workload"],
    ["a network whose name begins alike", { handle: "net.b.c1" }, "workload"],
    ["a virtual machine", { handle: "net.vmi.web.db" }, "vm"],
    ["what is never collected", { leakCollection: "never" }, "external"],
    ["a tunnel", { use: "Tunnel" }, "tunnel"],
  ] as const)("says nothing of %s", (_, given, kind) => {
    expect(valid().says(subjectOf(given), kind)).toBe("silent");
  });
});
