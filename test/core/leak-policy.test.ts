/** The judgement of a host: kinds, loss of the host, what was not read, what is voided. */
import { describe, expect, it } from "vitest";
import { kubernetesEvidence } from "../../src/core/leak-kubernetes.ts";
import { auditHost, leakTimes, type Standing } from "../../src/core/leak-policy.ts";
import { attachmentsEvidence, reportEvidence } from "../../src/core/leak-report.ts";
import { auditsBy, factsAt, GRACE, MINUTE, markAt, saying, subjectOf, T } from "./leak-facts.ts";

const reportAt = (at: number, generation = 1) => saying("absent", markAt(at, "report", generation));
const gone = { kind: "gone", generation: 1, since: T, by: "removal" } as const;
const tunnel = subjectOf({
  address: "10.0.0.2",
  handle: "vxlan-tunnel-addr-h",
  use: "Tunnel",
  attributes: {},
});
const machine = subjectOf({ attributes: { namespace: "web", pod: "launcher", "vmi-name": "db" } });
const standings = (facts: Parameters<typeof factsAt>[1], now = T): Standing[] =>
  [...auditHost(factsAt(now, facts)).judged.values()].map(({ standing }) => standing);
const cluster = (at: number, scope: "host" | "cluster" = "cluster") =>
  kubernetesEvidence(markAt(at), { complete: true, scope, pods: [] });

describe("auditHost by evidence", () => {
  const three = [reportAt(T), reportAt(T + GRACE + 1), reportAt(T + GRACE + 2)];

  it("I11: makes ready by three reports, two of them more than the grace apart", () => {
    expect(auditsBy(three).judged.get("10.0.0.1")?.standing).toBe("ready");
    expect(auditsBy(three.slice(0, 2)).judged.get("10.0.0.1")?.standing).toBe("confirmed");
    expect(auditsBy(three.slice(0, 2)).recheck).toEqual(["net.c1"]);
    expect(auditsBy(three.slice(0, 1)).recheck).toEqual([]);
  });

  it("CE-17: begins anew when the address changed hands between reports", () => {
    const before = auditsBy(three.slice(0, 2));
    const subjects = [subjectOf({ touch: 8 })];
    const facts = factsAt(T + GRACE + 2, { subjects, ledger: before.ledger, evidence: three.slice(2) });
    const audit = auditHost(facts);
    expect(audit.judged.get("10.0.0.1")?.standing).toBe("candidate");
    expect(audit.ledger).toMatchObject([{ touch: 8, observations: 1 }]);
  });

  it("forgets what is no longer allocated, and keeps what was not read", () => {
    const { ledger } = auditsBy(three.slice(0, 1));
    const none = auditHost({ ...factsAt(T), ledger, blocks: [{ block: "10.0.0.0/26", subjects: [] }] });
    expect(none.ledger).toEqual([]);
    expect(auditHost({ ...factsAt(T), ledger, blocks: [] }).ledger).toEqual(ledger);
  });

  it("judges nothing of a host that could not be looked up", () => {
    const facts = {
      life: { kind: "unknown" },
      evidence: [cluster(T)],
      subjects: [subjectOf(), tunnel],
    } as const;
    expect(standings({ ...facts, subjects: [...facts.subjects] })).toEqual(["unknown", "unknown"]);
  });

  it("leaves to others what is theirs", () => {
    const balancer = subjectOf({ address: "10.0.0.3", use: "LoadBalancer" });
    const never = subjectOf({ address: "10.0.0.4", leakCollection: "never" });
    const nameless = subjectOf({ address: "10.0.0.5", attributes: {} });
    const subjects = [balancer, never, nameless];
    expect(standings({ subjects, evidence: [cluster(T)] })).toEqual(["exempt", "exempt", "exempt"]);
    const runtime = attachmentsEvidence("net", markAt(T), []);
    expect(standings({ subjects, evidence: [runtime] })).toEqual(["exempt", "exempt", "candidate"]);
  });

  it("gives machines five minutes at least, and judges them by machines alone", () => {
    const none = { machines: new Set<string>(), instances: new Map() };
    const look = (at: number) =>
      kubernetesEvidence(markAt(at), { complete: true, scope: "cluster", pods: [], machines: none });
    const of = (graceMs: number, ...times: number[]) =>
      auditsBy(times.map(look), { subjects: [machine], graceMs, hasKubernetes: true }).judged.get("10.0.0.1")
        ?.standing;
    expect(of(MINUTE, T, T + 5 * MINUTE)).toBe("candidate");
    expect(of(MINUTE, T, T + 5 * MINUTE + 1)).toBe("confirmed");
    expect(of(GRACE, T, T + 5 * MINUTE + 1)).toBe("candidate");
    const empty = reportEvidence(markAt(T), { complete: true, workloads: [] });
    expect(standings({ subjects: [machine], evidence: [empty, cluster(T)] })).toEqual(["unknown"]);
  });
});

describe("auditHost of a host that was lost", () => {
  it("confirms at once what was touched before, and its tunnels with it", () => {
    expect(standings({ life: gone, subjects: [subjectOf(), tunnel] })).toEqual(["ready", "ready"]);
  });

  it("CE-27: does not cover what was touched later, and takes nothing once the host is there again", () => {
    const later = subjectOf({ touchedAt: T });
    expect(standings({ life: gone, subjects: [later, tunnel] }, T + MINUTE)).toEqual(["unknown", "unknown"]);
    const { ledger } = auditHost(factsAt(T, { life: gone, subjects: [subjectOf(), tunnel] }));
    const life = { kind: "active", generation: 2 } as const;
    const again = auditHost(factsAt(T + MINUTE, { life, ledger, subjects: [subjectOf(), tunnel] }));
    expect([...again.judged.values()].map(({ standing }) => standing)).toEqual(["unknown", "alive"]);
    expect(again.ledger).toEqual([]);
  });

  it.each([
    ["a workload that a cluster still sees", subjectOf(), [saying("alive", markAt(T - 1, "kubernetes"))]],
    ["a workload that its host reported later", subjectOf(), [saying("alive", markAt(T))]],
    ["what nobody can judge", subjectOf({ attributes: {} }), []],
    ["what is never collected", subjectOf({ leakCollection: "never" }), []],
    ["a machine, where no cluster is asked", machine, []],
  ])("keeps its tunnels for %s", (_, subject, evidence) => {
    const audit = auditHost(factsAt(T, { life: gone, subjects: [subject, tunnel], evidence }));
    expect(audit.hasVeto).toBe(true);
    expect([...audit.judged.values()].map(({ standing }) => standing)).not.toContain("ready");
  });

  it("does not listen to what the host told before it was lost", () => {
    const evidence = [saying("alive", markAt(T - 1))];
    expect(standings({ life: gone, evidence })).toEqual(["ready"]);
  });

  it("needs the whole cluster's word where one is asked, and asks for it", () => {
    const facts = { life: gone, hasKubernetes: true };
    expect(standings({ ...facts, evidence: [] })).toEqual(["unknown"]);
    expect(standings({ ...facts, evidence: [saying("unknown", markAt(T, "kubernetes"))] })).toEqual([
      "unknown",
    ]);
    const half = auditHost(factsAt(T, { ...facts, evidence: [cluster(T, "host")] }));
    expect(half.judged.get("10.0.0.1")?.standing).toBe("candidate");
    expect(half.recheck).toEqual(["net.c1"]);
    expect(standings({ ...facts, evidence: [cluster(T)] })).toEqual(["ready"]);
    const earlier = auditHost(factsAt(T, { ...facts, evidence: [cluster(T - 1)] }));
    expect(earlier.judged.get("10.0.0.1")?.standing).toBe("candidate");
    expect(earlier.recheck).toEqual(["net.c1"]);
  });

  it("keeps its tunnels while a block was not read", () => {
    const audit = auditHost(factsAt(T, { life: gone, subjects: [subjectOf(), tunnel], isWhole: false }));
    expect([...audit.judged.values()].map(({ standing }) => standing)).toEqual(["ready", "unknown"]);
    expect(audit.hasVeto).toBe(true);
  });
});

describe("leakTimes", () => {
  it("are fifteen and five minutes where no operator says otherwise", () => {
    expect(leakTimes({})).toEqual({ graceMs: 900_000, staleMs: 300_000 });
    expect(leakTimes({ leakGraceSeconds: 60, staleReportSeconds: 30 })).toEqual({
      graceMs: 60_000,
      staleMs: 30_000,
    });
  });
});
