/**
 * What callers are told of leaks: suspicions with why they are held, and what a report or a runtime is answered.
 * May import: core only. Nothing is decided here.
 */
import type { HoldReason, Suspicion } from "./leak-ledger.ts";
import { graceOf, type HostAudit, type Judged, type Standing } from "./leak-policy.ts";
import { isOfNetwork, type ReportedWorkload } from "./leak-report.ts";
import { canonicalAddress, type LeakKind } from "./leak-subject.ts";

/** `held`: confirmed, and something keeps it from being released. */
export type LeakState = "candidate" | "confirmed" | "held";

/** One suspicion as it is listed. Units: milliseconds since 1970. */
export interface LeakView {
  readonly address: string;
  readonly handle: string;
  readonly kind: LeakKind;
  readonly state: LeakState;
  readonly reason: HoldReason | "none";
  readonly firstAbsentAt: number;
  readonly lastAbsentAt: number;
  /** The earliest time; absent where nothing would ever release it. */
  readonly releasableAt?: number;
  readonly observations: number;
}

/** Tells how a suspicion stands; one that only waits for newer evidence is not held. */
export function leakState({ state, held }: Suspicion): LeakState {
  if (state === "candidate") return "candidate";
  return held === undefined || held === "awaiting_recheck" ? "confirmed" : "held";
}

/** Writes a suspicion for a list. Units: the grace as configured, in milliseconds. */
export function leakView(row: Suspicion, graceMs: number | undefined): LeakView {
  const { address, handle, kind, firstAbsentAt, lastAbsentAt, observations, held } = row;
  const at = releasableAt(row, graceOf(kind, graceMs));
  return {
    address,
    handle,
    kind,
    state: leakState(row),
    reason: held ?? "none",
    firstAbsentAt,
    lastAbsentAt,
    ...(at === undefined ? {} : { releasableAt: at }),
    observations,
  };
}

function releasableAt(row: Suspicion, graceMs: number | undefined): number | undefined {
  if (row.state === "confirmed") return row.lastAbsentAt;
  return graceMs === undefined || graceMs <= 0 ? undefined : row.firstAbsentAt + graceMs;
}

/** How many suspicions there are in each state. */
export function leakCounts(rows: readonly Suspicion[]): {
  readonly candidates: number;
  readonly confirmed: number;
  readonly held: number;
} {
  const states = rows.map(leakState);
  const count = (state: LeakState) => states.filter((one) => one === state).length;
  return { candidates: count("candidate"), confirmed: count("confirmed"), held: count("held") };
}

/** Addresses that a report says are in use and that the host does not hold, each once. */
export function addressesNotHeld(
  workloads: readonly ReportedWorkload[],
  held: ReadonlySet<string>,
): string[] {
  const listed = workloads.flatMap(({ addresses }) =>
    addresses.map((text) => canonicalAddress(text) ?? text),
  );
  return [...new Set(listed)].filter((address) => !held.has(address));
}

/** The share of its staleness after which a report is due again, and the longest time between two, ms. */
const NEXT_REPORT_SHARE = 0.4;
const NEXT_REPORT_MS_MAX = 120_000;

/** When an agent is to report again, so that one lost report does not make it stale. */
export function nextReportWithinMs(staleMs: number): number {
  return Math.min(NEXT_REPORT_MS_MAX, Math.floor(staleMs * NEXT_REPORT_SHARE));
}

/** What became of one handle that a runtime does not call valid. */
export interface AttachmentOutcome {
  readonly handle: string;
  readonly outcome: "released" | "candidate" | "held";
  readonly reason?: string;
  readonly addresses: readonly string[];
}

/** Why something is not released yet, by how it stands; what is exempt is not spoken of at all. */
const REASON: Readonly<Record<Exclude<Standing, "exempt" | "unknown">, string>> = {
  alive: "in_use_by_other_evidence",
  candidate: "grace_period",
  confirmed: "awaiting_recheck",
  ready: "release_limit",
};

/** Answers a runtime for all handles of its network on the host that it does not call valid. */
export function attachmentOutcomes(
  network: string,
  validHandles: readonly string[],
  audit: HostAudit,
  released: ReadonlySet<string>,
): AttachmentOutcome[] {
  const valid = new Set(validHandles);
  const byHandle = new Map<string, Judged[]>();
  for (const one of audit.judged.values()) {
    const { handle } = one.subject;
    const isMeant = isOfNetwork(handle, network) && !valid.has(handle) && one.standing !== "exempt";
    if (isMeant) byHandle.set(handle, [...(byHandle.get(handle) ?? []), one]);
  }
  const rows = new Map(audit.ledger.map((row) => [row.address, row]));
  return [...byHandle].map(([handle, judged]) => {
    const addresses = judged.map(({ subject }) => subject.address);
    if (addresses.every((address) => released.has(address)))
      return { handle, outcome: "released", addresses };
    const isCandidate = judged.every(({ standing }) => standing === "candidate");
    const first = judged.find(({ standing }) => standing !== "ready") ?? judged[0];
    const held = first === undefined ? undefined : rows.get(first.subject.address)?.held;
    const reason = held ?? (first === undefined ? "none" : reasonOf(first));
    return { handle, outcome: isCandidate ? "candidate" : "held", reason: spelled(reason), addresses };
  });
}

function reasonOf({ standing, why }: Judged): string {
  if (standing === "unknown") return why ?? "unreadable";
  return standing === "exempt" ? "none" : REASON[standing];
}

function spelled(reason: string): string {
  return reason === "too_young" ? "allocated_less_than_120_s_ago" : reason;
}
