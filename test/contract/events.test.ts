/** How events are told: the sentences about the collector and about pools, and the fields beside them. */
import { describe, expect, it } from "vitest";
import type { ChangedFields, EventDraft } from "../../src/core/events.ts";
import { eventOnWire } from "../../src/http/present/event.ts";

function told(before: ChangedFields, after: ChangedFields): string | undefined {
  return eventOnWire({ id: 1, at: 1_000, type: "config_changed", severity: "info", before, after }).summary;
}

describe("an event of what an operator did to the collector", () => {
  const off = { "gc.paused": "false" };
  const on = { "gc.paused": "true", "gc.reason": "looking" };

  it.each<[string, ChangedFields, ChangedFields]>([
    ["The leak collector was paused: looking.", off, on],
    ["The leak collector was paused.", off, { "gc.paused": "true" }],
    ["The leak collector stays paused: longer.", on, { ...on, "gc.reason": "longer" }],
    ["The leak collector goes on.", on, off],
    [
      "The breaker was acknowledged: 24 leaks of node-2.",
      { "gc.breaker": "open: 24 leaks of node-2" },
      { "gc.breaker": "acknowledged" },
    ],
    ["The configuration was changed: maintenance.", { maintenance: "false" }, { maintenance: "true" }],
  ])("says: %s", (summary, before, after) => {
    expect(told(before, after)).toBe(summary);
  });
});

describe("an event of a sweep", () => {
  const warned = (code: string, used: string, available: string): Omit<EventDraft, "at"> => {
    const rest = { warnAtPercent: "90", allocated: "250", cooling: "4", reserved: "2" };
    const after = { usedPercent: used, available, ...rest };
    return { type: "pool_warning", severity: "warning", pool: "blue", code, after };
  };
  const info = { type: "leak_released", severity: "info" } as const;
  const silent = { type: "host_silent", severity: "warning" } as const;
  const others = (count: string) => ({ after: { others: count } });

  it.each<[string, Omit<EventDraft, "at">]>([
    [
      "Host node-1 stopped reporting: nothing there is released on its agent's word. Its last report is of 1970-01-01T00:01:00.000Z.",
      { ...silent, host: "node-1", firstAt: 60_000 },
    ],
    [
      "12 more hosts stopped reporting: nothing there is released on their word.",
      { ...silent, ...others("12") },
    ],
    [
      "The collector released 1 leaked address of node-1 (pool blue).",
      { ...info, host: "node-1", pool: "blue", count: 1 },
    ],
    ["The collector released 7 leaked addresses of node-1.", { ...info, host: "node-1", count: 7 }],
    ["The collector released 40 leaked addresses of 1 more host.", { ...info, count: 40, ...others("1") }],
    ["Pool blue is 97.5 % used; it warns from 90 %. 6 left.", warned("pool_nearly_full", "97.5", "6")],
    [
      "Pool blue has no address to give: 250 allocated, 4 cooling, 2 reserved.",
      warned("pool_full", "100", "0"),
    ],
    [
      "3 more pools have few addresses left, or none.",
      { type: "pool_warning", severity: "warning", ...others("3") },
    ],
  ])("says: %s", (summary, draft) => {
    expect(eventOnWire({ id: 1, at: 120_000, ...draft }).summary).toBe(summary);
  });

  it("tells since when a host is silent, and the figures of a pool", () => {
    const told = eventOnWire({ id: 1, at: 120_000, ...silent, host: "node-1", firstAt: 60_000 });
    expect(told.firstAt).toBe("1970-01-01T00:01:00.000Z");
    const pool = eventOnWire({ id: 1, at: 120_000, ...warned("pool_full", "100", "0") });
    expect(pool).toMatchObject({ pool: "blue", code: "pool_full", after: { available: "0" } });
  });
});
