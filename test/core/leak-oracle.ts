/**
 * Says whether a release was right, by all that was ever heard of the address.
 * May import: the core's types. Rule: it counts for itself and asks the judgement nothing.
 */
import type { Mark } from "../../src/core/leak-evidence.ts";
import type { HostLife } from "../../src/core/leak-host.ts";
import type { LeakSubject } from "../../src/core/leak-subject.ts";

export const GRACE_MS = 600_000;
export const STALE_MS = 300_000;
const SETTLE_MS = 120_000;
/** A clock that goes back by less was not set back, ms. */
const AHEAD_MS = 5_000;
/** Lists without a count of their own that are no further apart count as one, ms by the host's clock. */
const UNCOUNTED_MS = 120_000;

/** What a piece of evidence said of one allocation; one that was cut short says only what it lists. */
export interface Word {
  readonly mark: Mark;
  /** Which list it was: one that was delivered twice is one. */
  readonly list: string;
  readonly isComplete: boolean;
  readonly isAlive: boolean;
}

/** `datedAt`: when it was taken by the clock as it is now, which may have been set back since. */
interface Heard extends Word {
  readonly datedAt: number;
}

type Allocation = Pick<LeakSubject, "address" | "touch" | "touchedAt">;

export class LeakOracle {
  readonly #hasKubernetes: boolean;
  readonly #words = new Map<string, Heard[]>();

  constructor(hasKubernetes: boolean) {
    this.#hasKubernetes = hasKubernetes;
  }

  hear({ address, touch }: Allocation, word: Word): void {
    const key = `${address} ${touch}`;
    this.#words.set(key, [...(this.#words.get(key) ?? []), { ...word, datedAt: word.mark.takenAt }]);
  }

  /** The host has asked for something at that time by its clock: what seems to be of later was taken before. */
  clocked(now: number): void {
    for (const [key, words] of this.#words) {
      const dated = words.map((one) => (one.datedAt > now + AHEAD_MS ? { ...one, datedAt: now } : one));
      this.#words.set(key, dated);
    }
  }

  /** What is wrong with releasing an allocation now; undefined if nothing is. */
  faultOf({ address, touch, touchedAt }: Allocation, life: HostLife, now: number): string | undefined {
    const words = this.#words.get(`${address} ${touch}`) ?? [];
    const isGone = life.kind === "gone" && touchedAt < life.since;
    // What the host itself told before it was removed is older than its removal.
    const isOver = ({ mark, datedAt }: Heard) =>
      isGone && mark.source !== "kubernetes" && datedAt < life.since;
    const last = words.at(-1);
    if (last?.isAlive === true && !isOver(last)) return "the last evidence calls it alive";
    for (const source of ["report", "kubernetes", "attachments:net"]) {
      const told = words.findLast(({ mark, isComplete }) => isComplete && mark.source === source);
      const isStale = told !== undefined && now - told.datedAt > STALE_MS;
      if (told?.isAlive === true && !isOver(told) && !isStale) {
        return `what ${source} said last calls it alive, and is fresh`;
      }
    }
    if (isGone) {
      const isLooked = ({ mark, datedAt }: Heard) => mark.source === "kubernetes" && datedAt >= life.since;
      const isKnown = !this.#hasKubernetes || words.some(isLooked);
      if (isKnown) return undefined;
    }
    return hasProof(words, touchedAt) ? undefined : "not seen leaked twice and once more";
  }
}

/** Two absences by different lists more than the grace apart, a third list after them, and no life between. */
function hasProof(words: readonly Heard[], touchedAt: number): boolean {
  const since = words.findLastIndex(({ isAlive }) => isAlive) + 1;
  const settled = words.slice(since).filter(({ mark }) => mark.takenAt >= touchedAt + SETTLE_MS);
  const isLater = (one: number, other: number) => one > other && isAnother(settled[one], settled[other]);
  return settled.some((first, one) =>
    settled.some((second, two) => {
      const isAged = isLater(two, one) && apart(second, first) > GRACE_MS;
      return isAged && settled.some((_, three) => isLater(three, two) && isLater(three, one));
    }),
  );
}

function isAnother(later: Heard | undefined, earlier: Heard | undefined): boolean {
  if (later === undefined || earlier === undefined || later.list === earlier.list) return false;
  const isUncounted =
    later.mark.source.startsWith("attachments:") && later.mark.source === earlier.mark.source;
  return !isUncounted || apart(later, earlier) > UNCOUNTED_MS;
}

/** How far two lie apart: by the clock that both were taken by, or that the later one was. */
function apart(later: Heard, earlier: Heard): number {
  return Math.max(later.mark.takenAt - earlier.mark.takenAt, later.datedAt - earlier.datedAt);
}
