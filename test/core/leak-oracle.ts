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

/** What a piece of evidence said of one allocation; one that was cut short says only what it lists. */
export interface Word {
  readonly mark: Mark;
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
    const all = this.#words.get(`${address} ${touch}`) ?? [];
    const isGone = life.kind === "gone" && touchedAt < life.since;
    // What the host itself told before it was removed is older than its removal.
    const words = isGone
      ? all.filter(({ mark }) => mark.source !== "report" || mark.takenAt >= life.since)
      : all;
    if (words.at(-1)?.isAlive === true) return "the last evidence calls it alive";
    for (const source of ["report", "kubernetes"]) {
      const last = words.findLast(({ mark }) => mark.source === source);
      const isStale = last !== undefined && now - last.mark.takenAt > STALE_MS;
      if (last?.isAlive === true && !isStale) return `what ${source} said last calls it alive, and is fresh`;
    }
    if (isGone) {
      const isKnown = !this.#hasKubernetes || words.some(({ mark }) => mark.source === "kubernetes");
      return isKnown ? undefined : "lost without the word of the cluster";
    }
    return hasProof(words, touchedAt) ? undefined : "not seen leaked twice and once more";
  }
}

/** Two absences by different evidence more than the grace apart, a third one after them, and no life between. */
function hasProof(words: readonly Word[], touchedAt: number): boolean {
  const since = words.findLastIndex(({ isAlive }) => isAlive) + 1;
  const absent = words.slice(since).map(({ mark }) => mark);
  const settled = absent.filter(({ takenAt }) => takenAt >= touchedAt + SETTLE_MS);
  return settled.some((first, one) =>
    settled.some(
      (second, two) => two > one && second.takenAt - first.takenAt > GRACE_MS && two < settled.length - 1,
    ),
  );
}
