/** The driver of the conformance cases: a wrong expectation, a wrong back end and a stale entry all fail. */
import { describe, expect, test } from "vitest";
import { coreCases } from "../conformance/case-files.ts";
import { DEVIATIONS, type Deviation } from "../conformance/deviations.ts";
import { runCase, runCases, summary } from "../conformance/driver.ts";
import { differences } from "../conformance/matching.ts";
import { modelBackend } from "../conformance/model-backend.ts";
import { resolved } from "../conformance/references.ts";
import {
  type Assigned,
  type Backend,
  type Case,
  NotYet,
  type Outcome,
  type World,
} from "../conformance/vocabulary.ts";

const cases = coreCases();

function caseOf(id: string): Case {
  const found = cases.find((one) => one.id === id);
  if (found === undefined) throw new Error(`there is no case ${id}`);
  return found;
}

/** The model, with some operations replaced. */
function changed(change: (world: World) => Partial<World>): Backend {
  return {
    ...modelBackend,
    begin: async (given) => {
      const world = await modelBackend.begin(given);
      return { ...world, ...change(world) };
    },
  };
}

describe("the body of cases", () => {
  test("is whole: 333 cases with names of their own", () => {
    expect(cases).toHaveLength(333);
    expect(new Set(cases.map(({ id }) => id)).size).toBe(333);
    expect(cases.every(({ steps }) => steps.length > 0)).toBe(true);
  });

  test("every entry of the table names a case, once per back end, and says what ends otherwise", () => {
    const named = DEVIATIONS.flatMap(({ id, on }) => on.map((backend) => `${id} ${backend}`));
    expect(new Set(named).size).toBe(named.length);
    for (const entry of DEVIATIONS) {
      expect(caseOf(entry.id).id).toBe(entry.id);
      expect(entry.steps !== undefined || entry.given !== undefined, entry.id).toBe(true);
    }
  });
});

describe("partial comparison", () => {
  const v4: Assigned = {
    addresses: ["10.0.0.2", "10.0.0.1"].map((ip) => ({ ip, prefixLength: 26 })),
    requested: 3,
    reasons: [],
  };

  test.each([
    [{ v4: { count: 2, ips: ["10.0.0.2", "10.0.0.1"], ipsSet: ["10.0.0.1", "10.0.0.2"] } }, []],
    [{ v4: { within: "10.0.0.0/30", prefixLen: 26, distinct: true, partial: true, requested: 3 } }, []],
    [{ v4: { ips: ["10.0.0.1", "10.0.0.2"] } }, ["v4.ips[0]", "v4.ips[1]"]],
    [{ v4: { ipsSet: ["10.0.0.1", "10.0.0.3"] } }, ["v4.ipsSet[0]", "v4.ipsSet[1]"]],
    [{ v4: { ips: ["10.0.0.2"] } }, ["v4.ips"]],
    [{ v4: { within: "10.0.0.2/32" } }, ["v4.within"]],
    [{ v4: { prefixLen: 32, partial: false, count: 3 } }, ["v4.prefixLen", "v4.partial", "v4.count"]],
    [{ v4: { reasons: [{ kind: "strictAffinity" }] } }, ["v4.reasons"]],
    [{ v4: null }, ["v4"]],
    [{ error: { kind: "notFound" } }, ["error"]],
  ])("%j", (expected, places) => {
    expect(differences({ v4 }, expected, false).map(({ at }) => at)).toEqual(places);
  });

  test("a missing error expects success, and a whole map of handles is compared", () => {
    const failed: Outcome = { error: { kind: "notFound" } };
    expect(differences(failed, {}, false)).toHaveLength(1);
    expect(differences({ handles: { a: {}, b: {} } }, { handles: { a: {} } }, false)).toHaveLength(1);
    expect(
      differences({ handles: { b: { x: 1 }, a: {} } }, { handles: { a: {}, b: { x: 1 } } }, false),
    ).toEqual([]);
  });

  test("keys of a representation are passed over only in cases that are marked so", () => {
    const got = { blocks: [{ numAttributes: 7 }], sequence: 5 };
    const expected = { blocks: [{ numAttributes: 0 }], sequence: 1 };
    expect(differences(got, expected, true)).toEqual([]);
    expect(differences(got, expected, false)).toHaveLength(2);
  });

  test("references lead to what was saved, or are refused", () => {
    const saved = new Map<string, unknown>([["a", { v4: { ips: ["x", "y"] }, sequence: 4 }]]);
    expect(resolved([{ ip: "$a.v4.ips[1]", sequence: { $ref: "a.sequence", plus: 2 } }], saved)).toEqual([
      { ip: "y", sequence: 6 },
    ]);
    expect(() => resolved("$a.v4.ips[2]", saved)).toThrow("a.v4.ips[2]");
    expect(() => resolved({ $ref: "a.v4" }, saved)).toThrow("no number");
  });
});

describe("verdicts", () => {
  test("a planted wrong expectation fails, with the place in its text", async () => {
    const one = caseOf("aa-002");
    const [first, ...rest] = one.steps;
    if (first === undefined) throw new Error("the case has steps");
    const wrong: Case = { ...one, steps: [{ ...first, expect: { v4: { count: 4 } } }, ...rest] };
    const verdict = await runCase(modelBackend, wrong);
    expect(verdict).toMatchObject({ kind: "fail" });
    expect(verdict.kind === "fail" && verdict.text).toContain("v4.count: expected 4, got 3");
  });

  test("an operation that is not there makes a case `not yet`, never passed", async () => {
    const operations = new Set([...modelBackend.operations].filter((name) => name !== "claimAffinity"));
    const without: Backend = { ...modelBackend, operations };
    expect(await runCase(without, caseOf("ca-001"))).toEqual({ kind: "not yet", needs: "claimAffinity" });
    const refusing = changed(() => ({ releaseIps: () => Promise.reject(new NotYet("releaseIps")) }));
    expect(await runCase(refusing, caseOf("rl-004"))).toEqual({ kind: "not yet", needs: "releaseIps" });
  });

  test("an entry of the table is held to what it says, and to being needed", async () => {
    const needless: Deviation = { id: "aa-001", on: ["model"], reason: "none", steps: { 0: {} } };
    expect((await runCase(modelBackend, caseOf("aa-001"), needless)).kind).toBe("fail");
    const wrong: Deviation = {
      id: "aa-005",
      on: ["model"],
      reason: "none",
      steps: { 0: { error: { kind: "other" } } },
    };
    expect((await runCase(modelBackend, caseOf("aa-005"), wrong)).kind).toBe("fail");
    expect((await runCase(modelBackend, caseOf("aa-045"), undefined)).kind).toBe("fail");
    const entry = DEVIATIONS.find(({ id }) => id === "aa-045");
    expect(await runCase(modelBackend, caseOf("aa-045"), entry)).toEqual({ kind: "differs", by: entry });
  });

  test("an error of a back end that is no outcome ends the run", async () => {
    const broken = changed(() => ({ autoAssign: () => Promise.reject(new Error("a defect")) }));
    await expect(runCase(broken, caseOf("aa-001"))).rejects.toThrow("a defect");
  });
});

describe("planted faults of a back end are noticed", () => {
  const faults: Record<string, (world: World) => Partial<World>> = {
    "releases are forgotten": () => ({ releaseIps: async () => ({ released: [], unallocated: [] }) }),
    "time stands still": () => ({ advanceTime: async () => ({}) }),
    "reservations are not heard of": () => ({ setReservations: async () => ({}) }),
    "switches are not thrown": () => ({ setConfig: async () => ({}) }),
    "every selector matches": () => ({ selector: async () => ({ match: true }) }),
    "the namespace is dropped": (world) => ({
      autoAssign: async ({ namespaceLabels: _dropped, ...args }) => (await world.autoAssign?.(args)) ?? {},
    }),
    "the list of pools is dropped": (world) => ({
      autoAssign: async ({ pools4: _4, pools6: _6, ...args }) => (await world.autoAssign?.(args)) ?? {},
    }),
    "the limit of a handle is dropped": (world) => ({
      autoAssign: async ({ maxAllocPerHandlePerVersion: _dropped, ...args }) =>
        (await world.autoAssign?.(args)) ?? {},
    }),
    "guards of releases are dropped": (world) => ({
      releaseIps: async ({ releases }) =>
        (await world.releaseIps?.({ releases: releases.map(({ ip }) => ({ ip })) })) ?? {},
    }),
    "conditions on owners are dropped": (world) => ({
      setOwnerAttributes: async ({ preconditions: _dropped, ...args }) =>
        (await world.setOwnerAttributes?.(args)) ?? {},
    }),
    "blocks need not be empty": (world) => ({
      releaseAffinity: async ({ mustBeEmpty: _dropped, ...args }) =>
        (await world.releaseAffinity?.(args)) ?? {},
    }),
  };

  test.each(Object.entries(faults))("%s", async (_name, fault) => {
    const report = await runCases(changed(fault), cases, DEVIATIONS);
    expect(summary(report)).toMatch(/[1-9][0-9]* fail/);
  });
});
