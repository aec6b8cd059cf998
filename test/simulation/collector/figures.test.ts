/** What a Host tells of its audits by pool: what is left of pools that are gone, and what goes with them. */
import { expect, test } from "vitest";
import { figuresOf } from "../../../durable-objects/host-audit-figures.ts";
import type { Suspicion } from "../../../src/core/leak-ledger.ts";
import { subjectOf } from "../../core/leak-facts.ts";

const ROW: Suspicion = {
  address: "10.0.0.1",
  touch: 7,
  block: "10.0.0.0/26",
  handle: "h",
  kind: "workload",
  cause: "absent",
  state: "candidate",
  firstAbsentAt: 1,
  lastAbsentAt: 1,
  observations: 1,
  first: [],
  last: [],
};

/** A host that owns a block of one pool, and holds an address in a block of another. */
function told(pools: readonly string[] | undefined, suspicion: Suspicion = ROW) {
  const holding = (block: string, pool: string | undefined, owner: string) => ({
    block,
    subjects: [],
    answer: { own: 1, owner, ...(pool === undefined ? {} : { pool: { name: pool, incarnation: 1 } }) },
  });
  const facts = {
    host: "h",
    auditedAt: 1,
    holdings: [holding("a", "red", "h"), holding("b", "blue", "other"), holding("c", undefined, "h")],
    judged: [],
    rows: [{ suspicion, subject: subjectOf(), pool: "blue" }],
    report: { state: "never", workloads: 0 },
    hasKubernetes: false,
    reclaimed: new Map([
      ["red", 3],
      ["blue", 4],
      ["", 5],
    ]),
    ...(pools === undefined ? {} : { pools: new Set(pools) }),
    isGone: false,
  };
  return figuresOf(facts as never).pools;
}

test("a virtual owner is on no node: it borrows only what nobody owns", () => {
  const holding = (block: string, owner?: string) => ({
    ...{ block, subjects: [] },
    answer: { own: 1, pool: { name: "red", incarnation: 1 }, ...(owner === undefined ? {} : { owner }) },
  });
  const borrowed = (host: string) =>
    figuresOf({
      ...{ host, auditedAt: 1, judged: [], rows: [], hasKubernetes: false, reclaimed: new Map() },
      holdings: [holding("a", host), holding("b", "other"), holding("c")],
      ...{ report: { state: "never", workloads: 0 }, isGone: false },
    } as never).pools.red?.borrowed;
  expect(borrowed("h")).toBe(2);
  expect(borrowed("virtual:lb")).toBe(1);
});

const NONE = { allocated: 0, borrowed: 0, blocks: 0, candidates: 0, reclaimed: 0 };

test("what is left of a pool that is gone is told as in no pool, but for what it counted", () => {
  expect(told(["red"])).toEqual({
    red: { ...NONE, allocated: 1, blocks: 1, reclaimed: 3 },
    "": { allocated: 2, borrowed: 1, blocks: 1, candidates: 1, reclaimed: 5 },
  });
});

test("what is confirmed stays counted as suspected until it is released, held or not", () => {
  const confirmed = { ...ROW, state: "confirmed" } as const;
  const counted = [confirmed, { ...confirmed, held: "breaker_open" } as const].map(
    (row) => told(["blue"], row).blue?.candidates,
  );
  expect(counted).toEqual([1, 1]);
});

test("while it is not known which pools there are, none counts as gone", () => {
  expect(Object.keys(told(undefined)).toSorted()).toEqual(["", "blue", "red"]);
  expect(told(undefined)).toMatchObject({ blue: { borrowed: 1, candidates: 1, reclaimed: 4 } });
});
