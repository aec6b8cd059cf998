/**
 * Evidence of what is alive, and what several pieces of it say together: alive, absent or unknown.
 * May import: core only. Rule: unknown never frees anything, and one piece counts once.
 */
import type { LeakKind, LeakSubject } from "./leak-subject.ts";

/** Where evidence comes from; attachments are told apart by network. */
export type SourceName = "report" | "kubernetes" | `attachments:${string}`;

/**
 * Which piece of evidence it is.
 * Invariant: of one source, a higher generation is later, then a higher sequence.
 * Units: `takenAt` is when what it lists was looked at, by the Host's clock.
 */
export interface Mark {
  readonly source: SourceName;
  /** Which life of the host or of the source; a new one begins all observations anew. */
  readonly generation: number;
  readonly sequence: number;
  readonly takenAt: number;
}

/**
 * What one piece says of one address.
 * `absent_here`: not where it looked, but it did not look everywhere. `unknown`: it ought to know and does not.
 * `unlisted`: what was cut short does not list it. `silent`: it does not speak of such an address.
 */
export type Answer = "alive" | "absent" | "absent_here" | "unknown" | "unlisted" | "silent";

/** One piece of evidence, read for lookups. It lives for one audit and never crosses a call. */
export interface Evidence {
  readonly mark: Mark;
  /** It can only tell of things on its host, and went with it. */
  readonly isHostBound: boolean;
  readonly says: (subject: LeakSubject, kind: LeakKind) => Answer;
  /** When the newest piece of its source was taken that may have told of life and is not among the evidence. */
  readonly forgottenAt?: number;
}

export type UnknownReason = "evidence_never" | "evidence_stale" | "too_young" | "unreadable";

export type Verdict =
  | { readonly kind: "alive" }
  /** `isFinal`: it was looked for everywhere that the sources can look. */
  | { readonly kind: "absent"; readonly marks: readonly Mark[]; readonly isFinal: boolean }
  | { readonly kind: "unknown"; readonly why: UnknownReason };

/** How old evidence may be. Units: milliseconds. */
export interface Freshness {
  readonly now: number;
  readonly staleMs: number;
}

/** An allocation touched later than this before the evidence was taken is not judged by it, ms. */
export const SETTLE_MS = 120_000;
/** How far a time may lie ahead of the clock that it is compared with, ms. */
const AHEAD_MS = 5_000;
/**
 * What is listed without a count of its own counts as listed anew only after this time, ms.
 * Why: a request that is delivered twice would be two pieces of evidence.
 */
const UNCOUNTED_GAP_MS = 120_000;

/**
 * Combines all evidence about one address: alive if any says so, absent only if all that speak say so.
 * Shape: of each source the last complete piece, and a newer one that is not complete, if there is one: that
 * cannot take back what the complete one called alive.
 */
export function verdictOf(
  subject: LeakSubject,
  kind: LeakKind,
  evidence: readonly Evidence[],
  freshness: Freshness,
): Verdict {
  const spoken = speaking(subject, kind, evidence);
  if (spoken.some(({ answer, mark }) => answer === "alive" && !isOld(mark, freshness)))
    return { kind: "alive" };
  const fresh = spoken.filter(({ answer, mark }) => answer !== "unlisted" && isFresh(mark, freshness));
  if (fresh.length === 0) {
    return { kind: "unknown", why: spoken.length === 0 ? "evidence_never" : "evidence_stale" };
  }
  if (fresh.some(({ answer }) => answer === "unknown")) return { kind: "unknown", why: "unreadable" };
  const forgottenAt = Math.max(...spoken.map((one) => one.forgottenAt));
  if (fresh.some(({ mark }) => mark.takenAt <= forgottenAt))
    return { kind: "unknown", why: "evidence_stale" };
  if (fresh.some(({ mark }) => subject.touchedAt > mark.takenAt - SETTLE_MS))
    return { kind: "unknown", why: "too_young" };
  const isFinal = fresh.every(({ answer }) => answer === "absent");
  return { kind: "absent", marks: fresh.map(({ mark }) => mark), isFinal };
}

interface Spoken {
  readonly mark: Mark;
  readonly answer: Answer;
  /** Up to when its source may have told of life that is forgotten. */
  readonly forgottenAt: number;
}

const NEVER = Number.NEGATIVE_INFINITY;

/**
 * The words of each source that speaks of the address at all: its newest, and what that cannot take back.
 * Why: what was cut short neither takes back the life that an older piece told of, nor lets that piece's
 * absence count again, after something else may have told of life between them. If it was its own source that
 * did, in a piece whose place it took, then no source's absence from before that may count again.
 */
function speaking(subject: LeakSubject, kind: LeakKind, evidence: readonly Evidence[]): Spoken[] {
  const words = new Map<SourceName, Spoken[]>();
  for (const { mark, says, forgottenAt = NEVER } of evidence) {
    const word = { mark, answer: says(subject, kind), forgottenAt };
    if (word.answer !== "silent") words.set(mark.source, [...(words.get(mark.source) ?? []), word]);
  }
  return [...words.values()].flatMap((ofSource) => {
    const sorted = ofSource.sort((one, other) => (isLater(one.mark, other.mark) ? -1 : 1));
    const at = sorted.findIndex(({ answer }) => answer !== "unlisted");
    const told = sorted[at];
    const cut = at === -1 ? sorted : sorted.slice(0, at);
    const isToBeHeard = told !== undefined && (cut.length === 0 || told.answer === "alive");
    return isToBeHeard ? [...cut, told] : cut;
  });
}

function isOld({ takenAt }: Mark, { now, staleMs }: Freshness): boolean {
  return now - takenAt > staleMs;
}

/** What seems to come from the future is no more to be built on than what is old. */
function isFresh(mark: Mark, freshness: Freshness): boolean {
  return !isOld(mark, freshness) && mark.takenAt <= freshness.now + AHEAD_MS;
}

/** Tells which of two pieces of one source is the later, by count alone. */
export function isLater(one: Mark, other: Mark): boolean {
  if (one.generation !== other.generation) return one.generation > other.generation;
  return one.sequence > other.sequence;
}

/**
 * Tells whether all of some evidence was taken after all of other evidence (I11: from different reports).
 * Why: within a source its count decides, whatever clocks did; between sources only time can.
 */
export function areNewer(marks: readonly Mark[], than: readonly Mark[]): boolean {
  return marks.every((mark) => {
    const same = than.find(({ source }) => source === mark.source);
    if (same === undefined) return mark.takenAt > newestAt(than);
    if (!mark.source.startsWith("attachments:")) return isLater(mark, same);
    return mark.takenAt - same.takenAt > UNCOUNTED_GAP_MS;
  });
}

/**
 * Dates a piece anew where the clock tells an earlier time than when it was taken: that was now, at the latest.
 * Why: the clock was set back, and what is handed out from now on would seem to be older than the piece.
 */
export function datedBy<P extends { readonly takenAt: number; readonly forgottenAt?: number }>(
  piece: P,
  now: number,
): P {
  if (piece.takenAt <= now + AHEAD_MS) return piece;
  const { forgottenAt } = piece;
  return {
    ...piece,
    takenAt: now,
    ...(forgottenAt === undefined ? {} : { forgottenAt: Math.min(forgottenAt, now) }),
  };
}

/**
 * Tells up to when life is forgotten, if one piece that was cut short takes the place of another.
 * Shape: `isEmpty`: the one before listed nothing, so nothing of it can be forgotten.
 */
export function forgottenAfter(
  before:
    | { readonly takenAt: number; readonly isEmpty: boolean; readonly forgottenAt?: number | undefined }
    | undefined,
): { readonly forgottenAt?: number } {
  if (before === undefined) return {};
  const { takenAt, isEmpty, forgottenAt } = before;
  if (!isEmpty) return { forgottenAt: Math.max(takenAt, forgottenAt ?? takenAt) };
  return forgottenAt === undefined ? {} : { forgottenAt };
}

/** Tells whether a source has begun a new life since: what it said before is of another machine's run. */
export function isOfAnotherLife(marks: readonly Mark[], than: readonly Mark[]): boolean {
  return marks.some((mark) =>
    than.some(({ source, generation }) => source === mark.source && generation !== mark.generation),
  );
}

/** When the newest of some evidence was taken. */
export function newestAt(marks: readonly Mark[]): number {
  return Math.max(...marks.map(({ takenAt }) => takenAt));
}

/** When the oldest of some evidence was taken: what rests on all of it is no newer. */
export function oldestAt(marks: readonly Mark[]): number {
  return Math.min(...marks.map(({ takenAt }) => takenAt));
}
