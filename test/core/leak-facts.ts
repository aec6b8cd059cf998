/** Facts for the tests of the leak collector: allocations, marks and evidence that says one thing of everything. */
import type { Answer, Evidence, Mark, SourceName } from "../../src/core/leak-evidence.ts";
import { auditHost, type HostAudit, type HostFacts } from "../../src/core/leak-policy.ts";
import type { LeakSubject } from "../../src/core/leak-subject.ts";

export const MINUTE = 60_000;
export const GRACE = 15 * MINUTE;
/** Long after everything that `subjectOf` was touched. */
export const T = 100_000_000;

/** A pod's address, touched long ago, but for what a test says. */
export function subjectOf(given: Partial<LeakSubject> = {}): LeakSubject {
  return {
    address: "10.0.0.1",
    block: "10.0.0.0/26",
    host: "h",
    handle: "net.c1",
    use: "Workload",
    attributes: { namespace: "web", pod: "api-0", uid: "u1" },
    leakCollection: "auto",
    touch: 7,
    touchedAt: T - 600 * MINUTE,
    ...given,
  };
}

/** A mark that is later than others of its source by its time. */
export function markAt(takenAt: number, source: SourceName = "report", generation = 1): Mark {
  return { source, generation, sequence: takenAt, takenAt };
}

export function saying(answer: Answer, mark: Mark): Evidence {
  return { mark, isHostBound: mark.source !== "kubernetes", says: () => answer };
}

/** Facts of a host that is there, with fresh evidence or none. */
export function factsAt(
  now: number,
  given: Partial<HostFacts> & { subjects?: LeakSubject[] } = {},
): HostFacts {
  const { subjects = [subjectOf()], ...rest } = given;
  const blocks = [...new Set(subjects.map(({ block }) => block))];
  return {
    now,
    staleMs: 5 * MINUTE,
    life: { kind: "active", generation: 1 },
    graceMs: GRACE,
    evidence: [],
    hasKubernetes: false,
    blocks: blocks.map((block) => ({ block, subjects: subjects.filter((one) => one.block === block) })),
    isWhole: true,
    ledger: [],
    ...rest,
  };
}

/** Audits at several times by one piece of evidence each; gives the last audit. */
export function auditsBy(
  pieces: readonly Evidence[],
  given: Partial<HostFacts> & { subjects?: LeakSubject[] } = {},
): HostAudit {
  let audit = auditHost(factsAt(T - 60 * MINUTE, given));
  for (const piece of pieces) {
    const { ledger } = audit;
    audit = auditHost(factsAt(piece.mark.takenAt, { ...given, ledger, evidence: [piece] }));
  }
  return audit;
}
