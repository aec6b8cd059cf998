/**
 * What must hold of a history whatever the order of its requests was; one function per invariant.
 * May import: the lives of tenures. Rule: only what a client saw counts.
 */
import { leftBehind, wrongReplays } from "./history-keys.ts";
import {
  grouped,
  idOf,
  isRelease,
  type Life,
  livesOf,
  names,
  type Operation,
  type Release,
  type Released,
  type Request,
  type Tenure,
} from "./history-lives.ts";

export type { Allocate, Operation, Read, Release, Released, Tenure } from "./history-lives.ts";

export interface Violation {
  readonly invariant: "I1" | "I3" | "I4" | "I7" | "I8" | "I9" | "I12" | "I13" | "I15";
  readonly text: string;
}

/** What is known beside the history. */
export interface Circumstances {
  /** What is allocated at the end, when nothing is under way. */
  readonly final: readonly Tenure[];
  /** The shortest that may have been in force at any time between two times; a number: throughout. */
  readonly cooldownMs: number | ((from: number, to: number) => number);
  /** How much a cooldown may have been shortened after a release was told when its address is free. */
  readonly shortenedMs?: number;
  /** How much more of the service's time passed between two times than of the clients'. */
  readonly skippedMs?: (from: number, to: number) => number;
}

/** Two clocks of one machine may round to different milliseconds. */
const ROUNDING_MS = 2;

/** Finds what of a history contradicts the invariants. */
export function checkHistory(history: readonly Operation[], circumstances: Circumstances): Violation[] {
  const lives = livesOf(history, circumstances.final);
  return [
    ...doubles(lives),
    ...numbersThatFall(lives),
    ...wrongReleases(history, lives),
    ...lostOrUndone(lives, circumstances.final),
    ...wrongReads(history, lives),
    ...tooSoon(lives, circumstances),
    ...wrongReplays(history),
    ...leftBehind(history, lives),
  ];
}

/** The tenures of each address, one after the other by their numbers. */
function successions(lives: readonly Life[]): (readonly [earlier: Life, later: Life])[] {
  return [...grouped(lives, ({ tenure }) => tenure.address).values()].flatMap((ofAddress) => {
    const sorted = ofAddress.toSorted((a, b) => a.tenure.sequenceNumber - b.tenure.sequenceNumber);
    return sorted.slice(1).map((later, index) => [sorted[index]!, later] as const);
  });
}

function doubles(lives: readonly Life[]): Violation[] {
  const shared = lives
    .filter(({ claims }) => claims.size > 1)
    .map(({ tenure, claims }) => `${idOf(tenure)} was given to ${[...claims].join(" and ")}`);
  const overlapping = successions(lives)
    .filter(([earlier, later]) => !earlier.ends.some(({ invokedAt }) => invokedAt < later.answeredAt))
    .map(([earlier, later]) => {
      const { tenure } = earlier;
      return `${idOf(tenure)} of ${tenure.handle} was not released when ${idOf(later.tenure)} was given out`;
    });
  return [...shared, ...overlapping].map((text) => ({ invariant: "I1", text }));
}

/** In one block, and at one address in whatever block, later tenures have higher numbers. */
function numbersThatFall(lives: readonly Life[]): Violation[] {
  const acknowledged = lives.filter(({ isAcknowledged }) => isAcknowledged);
  return [...numbersThatFallIn(acknowledged, "block"), ...numbersThatFallIn(acknowledged, "address")];
}

/** What began after an answer has a higher number than what was answered. */
function numbersThatFallIn(lives: readonly Life[], place: "block" | "address"): Violation[] {
  return [...grouped(lives, ({ tenure }) => tenure[place]).values()].flatMap((ofPlace) => {
    const byBegin = ofPlace.toSorted((a, b) => a.invokedAt - b.invokedAt);
    const byAnswer = ofPlace.toSorted((a, b) => a.answeredAt - b.answeredAt);
    let answered = 0;
    let highest = 0;
    return byBegin.flatMap(({ tenure, invokedAt }): Violation[] => {
      for (; (byAnswer[answered]?.answeredAt ?? invokedAt) < invokedAt; answered += 1) {
        highest = Math.max(highest, byAnswer[answered]!.tenure.sequenceNumber);
      }
      if (tenure.sequenceNumber > highest) return [];
      return [{ invariant: "I3", text: `${idOf(tenure)} came after #${highest} of the same ${place}` }];
    });
  });
}

/** A release that does not match changes nothing; one that does match is carried out. */
function wrongReleases(history: readonly Operation[], lives: readonly Life[]): Violation[] {
  const ofHandle = grouped(lives, ({ tenure }) => tenure.handle);
  const byId = new Map(lives.map((life) => [idOf(life.tenure), life]));
  return history.filter(isRelease).flatMap((release): Violation[] => {
    if (release.outcome !== "ok") return [];
    if (release.address === undefined) {
      const left = (ofHandle.get(release.handle ?? "") ?? []).filter((life) => isLive(life, release));
      return left.map(({ tenure }) => ({
        invariant: "I4",
        text: `${tenure.handle} was released, ${idOf(tenure)} not`,
      }));
    }
    const asked = `${release.address} #${release.sequenceNumber ?? "-"} of ${release.handle ?? "-"}`;
    const others = release.results
      .filter((result) => result.outcome === "released" && !isMeant(release, result))
      .map((result) => `${asked} released ${idOf(result)} of ${result.handle}`);
    const life = byId.get(idOf({ ...release, address: release.address }));
    const isRefused = life !== undefined && isLive(life, release) && names(release, life.tenure);
    const refused = isRefused ? [`${asked} was live, and ${JSON.stringify(release.results)}`] : [];
    return [
      ...others.map((text): Violation => ({ invariant: "I3", text })),
      ...refused.map((text): Violation => ({ invariant: "I4", text })),
    ];
  });
}

function isMeant({ sequenceNumber, handle }: Release, result: Released): boolean {
  if (sequenceNumber !== undefined && sequenceNumber !== result.sequenceNumber) return false;
  return handle === undefined || handle === result.handle;
}

/** Acknowledged before a request, and not released by it nor by any other before its answer. */
function isLive({ isAcknowledged, answeredAt, ends }: Life, request: Request): boolean {
  if (!isAcknowledged || answeredAt >= request.invokedAt) return false;
  return !ends.some((end) => end.invokedAt < request.answeredAt);
}

function lostOrUndone(lives: readonly Life[], final: readonly Tenure[]): Violation[] {
  const listed = new Map(final.map((tenure) => [idOf(tenure), tenure]));
  return lives.flatMap(({ tenure, isAcknowledged, ends, ended }): Violation[] => {
    const atEnd = listed.get(idOf(tenure));
    const name = `${idOf(tenure)} of ${tenure.handle}`;
    if (atEnd === undefined && isAcknowledged && ends.length === 0) {
      return [{ invariant: "I4", text: `${name} was acknowledged and is gone` }];
    }
    if (atEnd !== undefined && ended.length > 0) {
      return [{ invariant: "I4", text: `${name} was released and is still there` }];
    }
    if (atEnd !== undefined && atEnd.handle !== tenure.handle) {
      return [{ invariant: "I4", text: `${name} is listed under ${atEnd.handle}` }];
    }
    return [];
  });
}

/** What a handle is said to hold fits what was acknowledged before, and ended before. */
function wrongReads(history: readonly Operation[], lives: readonly Life[]): Violation[] {
  const ofHandle = grouped(lives, ({ tenure }) => tenure.handle);
  return history.flatMap((read): Violation[] => {
    if (read.kind !== "read" || read.outcome !== "ok") return [];
    const seen = new Set(read.got.map(idOf));
    return (ofHandle.get(read.handle) ?? []).flatMap((life): Violation[] => {
      const { tenure, ended } = life;
      const mustNot = ended.some((end) => end.answeredAt < read.invokedAt);
      if (isLive(life, read) && !seen.has(idOf(tenure))) {
        return [{ invariant: "I4", text: `${tenure.handle} was read without ${idOf(tenure)}` }];
      }
      if (mustNot && seen.has(idOf(tenure))) {
        return [{ invariant: "I4", text: `${tenure.handle} was read with ${idOf(tenure)}, released before` }];
      }
      return [];
    });
  });
}

/** By the block's own times, and by the clients' clock: no release to next answer is shorter. */
function tooSoon(lives: readonly Life[], circumstances: Circumstances): Violation[] {
  const { cooldownMs, shortenedMs = 0, skippedMs = () => 0 } = circumstances;
  return successions(lives).flatMap(([earlier, later]): Violation[] => {
    const name = `${idOf(later.tenure)} was given out`;
    const freeAt = Math.max(
      0,
      ...earlier.ended.flatMap(({ results }) =>
        results
          .filter(({ outcome }) => outcome === "released")
          .filter((result) => idOf(result) === idOf(earlier.tenure))
          .map((result) => result.freeAt ?? 0),
      ),
    );
    const early = freeAt - later.tenure.allocatedAt;
    if (early > shortenedMs) {
      return [{ invariant: "I12", text: `${name} ${early} ms before it was free` }];
    }
    const firstEnd = Math.min(...earlier.ends.map(({ invokedAt }) => invokedAt));
    const pause = later.answeredAt - firstEnd + skippedMs(firstEnd, later.answeredAt);
    const least = typeof cooldownMs === "number" ? cooldownMs : cooldownMs(later.invokedAt, later.answeredAt);
    if (pause + ROUNDING_MS < least) {
      return [{ invariant: "I12", text: `${name} ${pause} ms after its release` }];
    }
    return [];
  });
}
