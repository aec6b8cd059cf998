/** How events are told: the sentences about the collector, which come from fields of a changed configuration. */
import { describe, expect, it } from "vitest";
import type { ChangedFields } from "../../src/core/events.ts";
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
