/** A Host's affinity row: the whole table, and what no order of messages may bring about (I6). */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type AffinityEvent,
  type AffinityMark,
  type AffinityState,
  affinityAfter,
} from "../../src/core/affinity.ts";

const STATES: readonly AffinityState[] = ["pending", "confirmed", "pendingDeletion"];
const EVENTS: readonly AffinityEvent[] = ["claim", "release", "confirm", "lose", "keep", "remove"];
/** What leads on within one epoch; everything else stops. */
const FORWARD: Partial<Record<`${AffinityState} ${AffinityEvent}`, string>> = {
  "pending release": "pendingDeletion",
  "pending confirm": "confirmed",
  "pending remove": "gone",
  "confirmed release": "pendingDeletion",
  "confirmed lose": "pending",
  "pendingDeletion release": "pendingDeletion",
  "pendingDeletion keep": "confirmed",
  "pendingDeletion remove": "gone",
};

test("within one epoch only these lead on", () => {
  for (const state of STATES) {
    for (const event of EVENTS) {
      const expected = FORWARD[`${state} ${event}`] ?? "moved_on";
      expect(affinityAfter({ state, epoch: 7 }, event, 7), `${state} ${event}`).toBe(expected);
    }
  }
});

test("a fresh epoch begins a claim or a release, whatever was there; nothing else begins", () => {
  const begun: Partial<Record<AffinityEvent, string>> = { claim: "pending", release: "pendingDeletion" };
  const rows = [undefined, ...STATES.map((state) => ({ state, epoch: 6 }))];
  for (const row of rows) {
    for (const event of EVENTS) expect(affinityAfter(row, event, 7)).toBe(begun[event] ?? "moved_on");
  }
});

test("an older epoch changes nothing", () => {
  for (const state of STATES) {
    for (const event of EVENTS) expect(affinityAfter({ state, epoch: 7 }, event, 6)).toBe("moved_on");
  }
});

test("I6: a row is confirmed only by its own epoch's claim or kept release, and epochs only rise while it lives", () => {
  const step = fc.record({ event: fc.constantFrom(...EVENTS), epoch: fc.integer({ min: 1, max: 4 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      let row: AffinityMark | undefined;
      const begun = new Set<number>();
      for (const { event, epoch } of steps) {
        const next = affinityAfter(row, event, epoch);
        if (next === "moved_on") continue;
        if (row !== undefined) expect(epoch).toBeGreaterThanOrEqual(row.epoch);
        if (event === "claim" || event === "release") begun.add(epoch);
        if (next === "confirmed") {
          expect(row?.epoch).toBe(epoch);
          expect(begun.has(epoch)).toBe(true);
          expect(event === "confirm" ? row?.state === "pending" : row?.state === "pendingDeletion").toBe(
            true,
          );
        }
        row = next === "gone" ? undefined : { state: next, epoch };
      }
    }),
  );
});
