/**
 * What must hold of request keys: replays (I13), and that a refusal leaves nothing behind (I15).
 * May import: the lives of tenures. Rule: only what a client saw counts.
 */
import type { Violation } from "./history.ts";
import {
  type Allocate,
  endsOf,
  grouped,
  idOf,
  isAllocate,
  keyOf,
  type Life,
  type Operation,
  releaseIndex,
} from "./history-lives.ts";

/** Refusals that say nothing of what an earlier attempt of the key has got. */
const SAYS_NOTHING: ReadonlySet<string> = new Set([
  "host_unknown",
  "host_removing",
  "maintenance",
  "idempotency_key_released",
  "idempotency_key_reused",
]);

/** One key, one answer while it is held; another body is refused; after a release the key is spent. */
export function wrongReplays(history: readonly Operation[]): Violation[] {
  const releases = releaseIndex(history);
  const unlimited = history.filter(isAllocate).filter(({ limit }) => limit === undefined);
  return [...grouped(unlimited, keyOf)].flatMap(([key, ofKey]): Violation[] => {
    const answered = ofKey.filter(({ outcome }) => outcome === "ok");
    const first = answered.toSorted((a, b) => a.answeredAt - b.answeredAt)[0];
    if (first === undefined) return [];
    const gotFirst = first.got.map(idOf).toSorted().join();
    const spentAt = Math.min(
      ...first.got.flatMap((tenure) => endsOf(tenure, releases).ended).map(({ answeredAt }) => answeredAt),
    );
    return ofKey.flatMap((operation): Violation[] => {
      if (operation.outcome === "unknown" || isJudgedBeforeItsKey(operation)) return [];
      const wrong = (text: string): Violation[] => [{ invariant: "I13", text: `${key}: ${text}` }];
      const word = operation.code ?? "an answer";
      if (operation.body !== first.body) {
        const isLate = operation.invokedAt > first.answeredAt;
        const isRefused = operation.code === "idempotency_key_reused";
        return isLate && !isRefused ? wrong(`another body got ${word}`) : [];
      }
      if (operation.outcome === "ok") {
        const got = operation.got.map(idOf).toSorted().join();
        if (got !== gotFirst) return wrong(`${gotFirst}, and again ${got}`);
      }
      const isSpent = operation.code === "idempotency_key_released";
      if (operation.invokedAt > spentAt && !isSpent) return wrong(`released, and again ${word}`);
      return [];
    });
  });
}

function isJudgedBeforeItsKey({ code }: Allocate): boolean {
  return code === "host_unknown" || code === "host_removing";
}

/** What is told at the end, or by a release, was told to who asked, or a request for it is open. */
export function leftBehind(history: readonly Operation[], lives: readonly Life[]): Violation[] {
  const ofKeys = [...grouped(history.filter(isAllocate), keyOf).values()];
  const open = new Set(ofKeys.filter(isOpen).map(([one]) => one?.handle));
  return lives
    .filter(({ isAcknowledged, tenure }) => !isAcknowledged && !open.has(tenure.handle))
    .map(({ tenure }) => ({
      invariant: "I15",
      text: `${idOf(tenure)} is held by ${tenure.handle}, whose requests were all refused or told others`,
    }));
}

/**
 * Whether a key may hold something that nobody was told of: an attempt has no known outcome, and none
 * that was sent after it was given up has one.
 *
 * Why: a refusal undoes what its own attempt created. What an attempt in an ended process created of
 * several addresses is found by the next and stays, the one exception to I15.
 */
function isOpen(ofKey: readonly Allocate[]): boolean {
  const telling = ofKey.filter(({ code }) => !SAYS_NOTHING.has(code ?? ""));
  const settledAt = Math.max(
    ...telling.filter(({ outcome }) => outcome !== "unknown").map(({ invokedAt }) => invokedAt),
  );
  return telling.some(({ outcome, answeredAt, lostAt = answeredAt, wanted = 1 }) => {
    return outcome === "unknown" && (lostAt > settledAt || wanted > 1);
  });
}
