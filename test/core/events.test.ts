/** What an event tells of a change: the fields that differ, as text. */
import { expect, it } from "vitest";
import { changedFields, policyEvent } from "../../src/core/events.ts";
import { policyOf } from "./policies.ts";

const by = { at: 5, actor: "token:ops", requestId: "r" };

it("tells only what differs; revisions and stamps are no news", () => {
  const before = { revision: 1, updatedAt: 1, updatedBy: "a", a: "x", b: 1, c: ["y"] };
  const after = { revision: 2, updatedAt: 2, updatedBy: "b", a: "x", b: 2, c: ["y", "z"] };
  expect(changedFields(before, after)).toEqual({
    before: { b: "1", c: '["y"]' },
    after: { b: "2", c: '["y","z"]' },
  });
});

it("a field that came or went stands on one side", () => {
  expect(changedFields({ a: 1 }, { b: 2 })).toEqual({ before: { a: "1" }, after: { b: "2" } });
  expect(changedFields(undefined, { b: undefined, c: true })).toEqual({ after: { c: "true" } });
  expect(changedFields({ c: true }, undefined)).toEqual({ before: { c: "true" } });
});

it("long fields are cut, and say so", () => {
  const { after } = changedFields(undefined, { a: "x".repeat(5_000) });
  expect(after?.a).toHaveLength(1024);
  expect(after?.a?.endsWith("…")).toBe(true);
});

it("a pool that begins to drain, goes on draining, or goes", () => {
  const [pool] = policyOf({ pools: { p: { cidr: "10.0.0.0/24" } } }).pools;
  if (pool === undefined) throw new Error("no pool");
  const draining = { ...pool, terminating: { startedAt: 1 }, revision: 2 };
  const type = (before: typeof pool | undefined, after: typeof pool | undefined) =>
    policyEvent({ kind: "pool", before, after }, by).type;
  expect(type(undefined, pool)).toBe("pool_changed");
  expect(type(pool, draining)).toBe("pool_draining");
  expect(type(draining, { ...draining, warnAtPercent: 5 })).toBe("pool_changed");
  expect(type(draining, pool)).toBe("pool_changed");
  expect(type(draining, undefined)).toBe("pool_gone");
  const event = policyEvent({ kind: "pool", before: pool, after: draining }, by);
  expect(event).toEqual({
    at: 5,
    actor: "token:ops",
    requestId: "r",
    type: "pool_draining",
    severity: "info",
    pool: "p",
    before: {},
    after: { draining: "true" },
  });
});
