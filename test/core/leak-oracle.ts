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

type Allocation = Pick<LeakSubject, "address" | "touch" | "touchedAt">;

export class LeakOracle {
  readonly #hasKubernetes: boolean;
  readonly #words = new Map<string, Word[]>();

  constructor(hasKubernetes: boolean) {
    this.#hasKubernetes = hasKubernetes;
  }

  hear({ address, touch }: Allocation, word: Word): void {
    const key = `${address} ${touch}`;
    this.#words.set(key, [...(this.#words.get(key) ?? []), word]);
  }

  /** What is wrong with releasing an allocation now; undefined if nothing is. */
  faultOf({ address, touch, touchedAt }: Allocation, life: HostLife, now: number): string | undefined {
    const words = this.#words.get(`${address} ${touch}`) ?? [];
    const isGone = life.kind === "gone" && touchedAt < life.since;
    // What the host itself told before it was removed is older than its removal.
    const isOver = ({ mark }: Word) => isGone && mark.source !== "kubernetes" && mark.takenAt < life.since;
    const last = words.at(-1);
    if (last?.isAlive === true && !isOver(last)) return "the last evidence calls it alive";
    for (const source of ["report", "kubernetes", "attachments:net"]) {
      const told = words.findLast(({ mark, isComplete }) => isComplete && mark.source === source);
      const isStale = told !== undefined && now - told.mark.takenAt > STALE_MS;
      if (told?.isAlive === true && !isOver(told) && !isStale) {
        return `what ${source} said last calls it alive, and is fresh`;
      }
    }
    if (isGone) {
      const isLooked = ({ mark }: Word) => mark.source === "kubernetes" && mark.takenAt >= life.since;
      const isKnown = !this.#hasKubernetes || words.some(isLooked);
      if (isKnown) return undefined;
    }
    return hasProof(words, touchedAt) ? undefined : "not seen leaked twice and once more";
  }
}

/** Two absences by different lists more than the grace apart, a third list after them, and no life between. */
function hasProof(words: readonly Word[], touchedAt: number): boolean {
  const since = words.findLastIndex(({ isAlive }) => isAlive) + 1;
  const settled = words.slice(since).filter(({ mark }) => mark.takenAt >= touchedAt + SETTLE_MS);
  const isLater = (one: number, other: number) => one > other && isAnother(settled[one], settled[other]);
  return settled.some((first, one) =>
    settled.some((second, two) => {
      const isAged = isLater(two, one) && second.mark.takenAt - first.mark.takenAt > GRACE_MS;
      return isAged && settled.some((_, three) => isLater(three, two) && isLater(three, one));
    }),
  );
}

function isAnother(later: Word | undefined, earlier: Word | undefined): boolean {
  if (later === undefined || earlier === undefined || later.list === earlier.list) return false;
  const isUncounted =
    later.mark.source.startsWith("attachments:") && later.mark.source === earlier.mark.source;
  return !isUncounted || later.mark.takenAt - earlier.mark.takenAt > UNCOUNTED_MS;
}
