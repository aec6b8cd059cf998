/**
 * How many addresses a handle surely held at one moment, from what clients saw.
 * May import: the lives of tenures. Rule: what might have ended, or not have begun, does not count.
 */
import { grouped, type Life, livesOf, type Operation } from "../../support/history-lives.ts";

/** From the first answer that told of it until the first request that may have ended it. */
function surelyHeld({ isAcknowledged, answeredAt, ends }: Life): readonly [from: number, to: number] {
  const to = Math.min(...ends.map(({ invokedAt }) => invokedAt));
  return isAcknowledged && answeredAt < to ? [answeredAt, to] : [0, 0];
}

/** The most that each handle held at once, of one family; handles that surely held nothing are left out. */
export function mostHeldAtOnce(history: readonly Operation[], family: 4 | 6): Map<string, number> {
  const ofFamily = livesOf(history, []).filter(
    ({ tenure }) => tenure.address.includes(":") === (family === 6),
  );
  const most = new Map<string, number>();
  for (const [handle, lives] of grouped(ofFamily, ({ tenure }) => tenure.handle)) {
    const turns = lives.map(surelyHeld).flatMap(([from, to]) => (from < to ? [from, to] : []));
    const spans = lives.map(surelyHeld);
    const heldAt = (at: number): number => spans.filter(([from, to]) => from <= at && at < to).length;
    const held = Math.max(0, ...turns.map(heldAt));
    if (held > 0) most.set(handle, held);
  }
  return most;
}
