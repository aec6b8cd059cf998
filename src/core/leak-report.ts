/**
 * Evidence from a host itself: what its agent reports, and which attachments its container runtime calls valid.
 * May import: core only. Rule: a report that is not complete can only tell of life.
 */
import type { Answer, Evidence, Mark } from "./leak-evidence.ts";
import { canonicalAddress, type LeakKind, type LeakSubject, namedOwners, nameIn } from "./leak-subject.ts";

/** One workload as an agent reports it; without addresses it is being set up. */
export interface ReportedWorkload {
  readonly handle?: string;
  readonly namespace?: string;
  readonly pod?: string;
  readonly uid?: string;
  readonly addresses: readonly string[];
}

/** Which report of which life of a host it is. */
export interface ReportPlace {
  readonly generation: number;
  readonly sequence: number;
}

/** `repeated`: the very report that was taken in last; it is answered again and counts no second time. */
export type ReportOrder = "newer" | "repeated" | "out_of_order" | "older_incarnation";

/** Tells how a report stands to the last one that was taken in. */
export function orderOfReport(last: ReportPlace | undefined, next: ReportPlace): ReportOrder {
  if (last === undefined || next.generation > last.generation) return "newer";
  if (next.generation < last.generation) return "older_incarnation";
  if (next.sequence === last.sequence) return "repeated";
  return next.sequence > last.sequence ? "newer" : "out_of_order";
}

/**
 * Numbers a runtime's list, which has no count of its own. Undefined: it came with the very request that the last
 * one came with, so that it counts no second time, whatever the clock did between them.
 * Units: `arrivedAt` is when the request reached the service, in milliseconds since 1970; absent: nobody noted it.
 */
export function countOfAttachments(
  last: { readonly sequence: number; readonly isSame: boolean } | undefined,
  arrivedAt: number | undefined,
): number | undefined {
  if (last === undefined) return arrivedAt ?? 1;
  if (last.isSame && last.sequence === arrivedAt) return undefined;
  return Math.max(last.sequence + 1, arrivedAt ?? 0);
}

/**
 * Dates a report: its arrival minus the age that the agent states.
 * Units: milliseconds; an agent's own clock is never looked at.
 */
export function markOfReport(place: ReportPlace, arrivedAt: number, ageMs: number): Mark {
  const { generation, sequence } = place;
  return { source: "report", generation, sequence, takenAt: arrivedAt - Math.max(0, ageMs) };
}

/** Kinds that an agent which lists all its workloads can call absent. */
const ABSENT_BY_REPORT: Readonly<Record<LeakKind, boolean>> = {
  workload: true,
  // A machine that stands still, or moves, has no pod on its host.
  vm: false,
  tunnel: false,
  load_balancer: false,
  reserved: false,
  external: false,
};

/** Reads a report. An address is alive that is listed, or whose handle or not yet addressed pod is. */
export function reportEvidence(
  mark: Mark,
  report: { readonly complete: boolean; readonly workloads: readonly ReportedWorkload[] },
): Evidence {
  const handles = new Set<string>();
  const addresses = new Set<string>();
  const starting = new Set<string>();
  for (const { handle, namespace, pod, addresses: listed } of report.workloads) {
    if (handle !== undefined) handles.add(handle);
    for (const text of listed) addresses.add(canonicalAddress(text) ?? text);
    const isNamed = namespace !== undefined && pod !== undefined;
    if (isNamed && listed.length === 0) starting.add(nameIn(namespace, pod));
  }
  const isStarting = (subject: LeakSubject) =>
    namedOwners(subject).some(({ namespace, pod }) => starting.has(nameIn(namespace, pod)));
  const says = (subject: LeakSubject, kind: LeakKind): Answer => {
    if (handles.has(subject.handle) || addresses.has(subject.address)) return "alive";
    if (isStarting(subject)) return "alive";
    if (!report.complete) return "unlisted";
    return ABSENT_BY_REPORT[kind] && subject.usedOn === undefined ? "absent" : "silent";
  };
  return { mark, isHostBound: true, says };
}

/**
 * Reads what a container runtime calls valid on one network. It names handles, so attributes may be missing.
 * Why: a handle of the network is its name, a dot and a container's id; one with more dots may be of another.
 */
export function attachmentsEvidence(
  network: string,
  mark: Omit<Mark, "source">,
  validHandles: readonly string[],
): Evidence {
  const valid = new Set(validHandles);
  const says = (subject: LeakSubject, kind: LeakKind): Answer => {
    if (valid.has(subject.handle)) return "alive";
    const isJudged = kind === "workload" || (kind === "external" && subject.leakCollection !== "never");
    const isHere = isOfNetwork(subject.handle, network) && subject.usedOn === undefined;
    return isJudged && isHere ? "absent" : "silent";
  };
  return { mark: { ...mark, source: `attachments:${network}` }, isHostBound: true, says };
}

/** Tells whether a handle is one that a runtime made on a network. */
export function isOfNetwork(handle: string, network: string): boolean {
  const prefix = `${network}.`;
  return handle.startsWith(prefix) && !handle.slice(prefix.length).includes(".");
}
