/**
 * How many addresses a handle surely held at one moment, from what clients saw.
 * May import: the lives of tenures. Rule: what might have ended, or not have begun, does not count.
 */
import { grouped, livesOf, type Operation } from "../../support/history-lives.ts";
import { mostAtOnce, surelyHeld } from "../../support/history-policy.ts";

/** The most that each handle held at once, of one family; handles that surely held nothing are left out. */
export function mostHeldAtOnce(history: readonly Operation[], family: 4 | 6): Map<string, number> {
  const ofFamily = livesOf(history, []).filter(
    ({ tenure }) => tenure.address.includes(":") === (family === 6),
  );
  const byHandle = grouped(ofFamily, ({ tenure }) => tenure.handle);
  const most = [...byHandle].map(([handle, lives]) => [handle, mostAtOnce(lives.map(surelyHeld))] as const);
  return new Map(most.filter(([, held]) => held > 0));
}
