/**
 * The ledger of suspicions: how one allocation goes from first absence to being leaked.
 * May import: core only. Rule: a row is of one (address, touch); anything that changes hands begins anew.
 */
import {
  areNewer,
  isOfAnotherLife,
  type Mark,
  newestAt,
  oldestAt,
  type UnknownReason,
  type Verdict,
} from "./leak-evidence.ts";
import type { LeakKind, LeakSubject } from "./leak-subject.ts";

/** Why something suspected is not released; an open set towards callers. */
export type HoldReason =
  | "grace_period"
  | "awaiting_recheck"
  | "handle_partly_alive"
  | "breaker_open"
  | "paused"
  | "release_limit"
  | UnknownReason;

/**
 * One suspicion, as stored.
 * Invariant: `confirmed` is there exactly when the state is `confirmed` by evidence; observations only
 * count evidence that is newer than that of the one before.
 * Units: times in milliseconds since 1970: when evidence was taken, not when it was judged.
 */
export interface Suspicion {
  readonly address: string;
  readonly touch: number;
  readonly block: string;
  readonly handle: string;
  readonly kind: LeakKind;
  /** `host_gone`: its host was lost; void as soon as the host is there again. */
  readonly cause: "absent" | "host_gone";
  readonly state: "candidate" | "confirmed";
  readonly firstAbsentAt: number;
  readonly lastAbsentAt: number;
  readonly observations: number;
  readonly first: readonly Mark[];
  readonly last: readonly Mark[];
  readonly confirmed?: readonly Mark[];
  readonly held?: HoldReason;
}

/** What evidence says, or that the host was lost with all that was bound to it. */
export type Finding = Verdict | { readonly kind: "lost"; readonly since: number };

/** What becomes of a suspicion. `isReady`: what was seen now proves it leaked, so it may be released. */
export interface Step {
  readonly row?: Suspicion;
  readonly isReady: boolean;
}

const CLEAN: Step = { isReady: false };

/**
 * Takes one finding into the ledger.
 * Shape: a grace of 0 suspects and never confirms; without one nothing is suspected.
 * Invariant: I11. Two observations by evidence that is newer throughout and more than the grace apart
 * confirm; a third, newer one makes ready. Unknown changes nothing, so that what flaps still ends.
 */
export function suspicionAfter(
  before: Suspicion | undefined,
  subject: LeakSubject,
  kind: LeakKind,
  finding: Finding,
  graceMs: number | undefined,
): Step {
  const absent = before?.cause === "absent" ? before : undefined;
  switch (finding.kind) {
    case "alive":
      return CLEAN;
    case "unknown":
      return absent === undefined ? CLEAN : { row: { ...absent, held: finding.why }, isReady: false };
    case "lost":
      return { row: lostRow(before, subject, kind, finding.since), isReady: true };
    case "absent": {
      if (graceMs === undefined) return CLEAN;
      const row = observed(absent, subject, kind, finding.marks, graceMs);
      return { row: noted(row, finding), isReady: isReady(row, finding) };
    }
  }
}

function identity({ address, touch, block, handle }: LeakSubject, kind: LeakKind) {
  return { address, touch, block, handle, kind };
}

function lostRow(
  before: Suspicion | undefined,
  subject: LeakSubject,
  kind: LeakKind,
  since: number,
): Suspicion {
  return {
    ...identity(subject, kind),
    cause: "host_gone",
    state: "confirmed",
    firstAbsentAt: before?.firstAbsentAt ?? since,
    lastAbsentAt: Math.max(since, before?.lastAbsentAt ?? since),
    observations: before?.cause === "host_gone" ? before.observations : (before?.observations ?? 0) + 1,
    first: before?.first ?? [],
    last: before?.last ?? [],
  };
}

function observed(
  before: Suspicion | undefined,
  subject: LeakSubject,
  kind: LeakKind,
  marks: readonly Mark[],
  graceMs: number,
): Suspicion {
  const seenAt = newestAt(marks);
  const fresh: Suspicion = {
    ...identity(subject, kind),
    cause: "absent",
    state: "candidate",
    firstAbsentAt: seenAt,
    lastAbsentAt: seenAt,
    observations: 1,
    first: marks,
    last: marks,
  };
  if (before === undefined || isOfAnotherLife(marks, before.first)) return fresh;
  if (!areNewer(marks, before.last)) return before;
  // Newer by count and earlier by time: the clock was set back, so the time before it tells nothing.
  if (oldestAt(marks) < before.firstAbsentAt) return fresh;
  const next: Suspicion = {
    ...before,
    lastAbsentAt: Math.max(before.lastAbsentAt, seenAt),
    observations: before.observations + 1,
    last: marks,
  };
  const isAged = graceMs > 0 && oldestAt(marks) - before.firstAbsentAt > graceMs;
  return before.state === "candidate" && isAged ? { ...next, state: "confirmed", confirmed: marks } : next;
}

type Absence = Extract<Finding, { readonly kind: "absent" }>;

function isReady(row: Suspicion, { marks, isFinal }: Absence): boolean {
  return row.confirmed !== undefined && isFinal && areNewer(marks, row.confirmed);
}

function noted(row: Suspicion, absence: Absence): Suspicion {
  const { held: _before, ...rest } = row;
  if (row.state === "candidate") return { ...rest, held: "grace_period" };
  return isReady(row, absence) ? rest : { ...rest, held: "awaiting_recheck" };
}
