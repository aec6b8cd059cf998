/** The cases of the leak collector, on the pure judgement with a virtual clock. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runLeakCase } from "./leak-case-run.ts";
import { ELSEWHERE, ENDS_AS_WRITTEN, LEAK_DEVIATIONS } from "./leak-deviations.ts";
import type { LeakCase } from "./leak-vocabulary.ts";

const file = new URL("../conformance/cases/gc.jsonl", import.meta.url);
const lines = readFileSync(file, "utf8").split("\n");
const cases = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as LeakCase);
const elsewhere = Object.keys(ELSEWHERE);
const ours = cases.filter(({ id }) => !elsewhere.some((prefix) => id.startsWith(prefix)));

describe("the cases of the leak collector", () => {
  it.each(ours.map((one) => [one.id, one] as const))("%s", (id, one) => {
    const end = runLeakCase(one, LEAK_DEVIATIONS[id]);
    expect(end.kind === "fail" ? end.text : "").toBe("");
    expect(end.kind === "fail" ? 0 : end.compared).toBeGreaterThan(0);
  });

  it("are all accounted for: every one runs, or is named with who answers it", () => {
    expect(cases.length).toBe(131);
    expect(ours.length).toBe(86);
    for (const prefix of elsewhere) expect(cases.some(({ id }) => id.startsWith(prefix))).toBe(true);
  });

  it("that are marked as to be done otherwise are all decided", () => {
    const marked = ours.filter(({ deviate }) => deviate !== undefined).map(({ id }) => id);
    const decided = new Set([...Object.keys(LEAK_DEVIATIONS), ...Object.keys(ENDS_AS_WRITTEN)]);
    expect(marked.filter((id) => !decided.has(id))).toEqual([]);
    expect([...decided].filter((id) => !ours.some((one) => one.id === id))).toEqual([]);
  });
});

describe("the driver of the cases", () => {
  const one = ours.find(({ id }) => id === "gc-valid-005");
  if (one === undefined) throw new Error("the case is gone");
  const last = one.steps[1];
  if (last === undefined) throw new Error("the step is gone");

  it.each([
    ["released", []],
    ["blocks_left", []],
    ["nodes_released", ["cnode"]],
    ["result", "work_remaining"],
  ])("finds a wrong %s", (name, value) => {
    const steps = [one.steps[0] ?? last, { ...last, expect: { ...last.expect, [name]: value } }];
    expect(runLeakCase({ ...one, steps }, undefined).kind).toBe("fail");
  });

  it("fails a member that it cannot answer, and an entry that a case does not need", () => {
    const steps = [{ ...last, expect: { colour: "red" } }];
    expect(runLeakCase({ ...one, steps }, undefined).kind).toBe("fail");
    expect(runLeakCase(one, { reason: "none", steps: {} }).kind).toBe("fail");
  });
});
