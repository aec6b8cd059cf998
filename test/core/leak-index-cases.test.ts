/** The cases of the handle index, on the pure judgement of a check; and those of a guarded release, on a block's. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { applyChanges, BlockDraft, blockState } from "../../src/core/block.ts";
import { claim } from "../../src/core/block-affinity.ts";
import { releaseAddress } from "../../src/core/block-release.ts";
import { type Cidr, parseCidr } from "../../src/core/cidr.ts";
import type { LeakDeviation } from "./leak-deviations.ts";
import { type Handles, LeakIndex } from "./leak-index.ts";
import type { LeakCase, StepGiven } from "./leak-vocabulary.ts";

const file = new URL("../conformance/cases/gc.jsonl", import.meta.url);
const lines = readFileSync(file, "utf8").split("\n");
const cases = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as LeakCase);
const ofIndex = cases.filter(({ id }) => id.startsWith("hgc-"));

const ITS_ROWS = "a handle is its rows: without any there is none, and no switch that would keep it";
const AT_ONCE = "a check looks twice before it mends, and mends at once: there are no cycles to be counted";
const TOO_MUCH = "a row may count too much: whoever meets the limit has the blocks counted (design: I5, I9)";
const meetsLimit = (handles: Handles): StepGiven => {
  return { at_seconds: 0, op: "meet_limit", handle: "h", expect: { handles } };
};

/** Where the repair of the index ends a case otherwise; an entry that a case does not need fails it. */
const DEVIATIONS: Readonly<Record<string, LeakDeviation>> = {
  "hgc-001": { reason: ITS_ROWS, steps: { 0: { handles: {} } } },
  "hgc-002": {
    reason: AT_ONCE,
    steps: { 0: { handles: { "h-missing": { blocks: { "10.0.0.0/26": 2 }, deleted: false } } } },
  },
  "hgc-003": {
    reason: TOO_MUCH,
    steps: { 0: { handles: { h: { blocks: { "10.0.0.0/26": 99 }, deleted: false } } } },
    further: [meetsLimit({ h: { blocks: { "10.0.0.0/26": 1 }, deleted: false } })],
  },
  "hgc-004": {
    reason: TOO_MUCH,
    steps: { 0: { handles: { h: { blocks: { "10.0.0.0/26": 50 }, deleted: false } } } },
    further: [meetsLimit({ h: { blocks: { "10.0.0.0/26": 1 }, deleted: false } })],
  },
  "hgc-005": { reason: AT_ONCE, steps: { 0: { handles: {} }, 1: { handles: {} } } },
  "hgc-011": { reason: ITS_ROWS, steps: { 0: { handles: {} } } },
  "hgc-012": { reason: ITS_ROWS, steps: { 0: { handles: {} } } },
};

/** Runs a case; gives what is listed after each step. */
function listedAfter({ given, steps }: LeakCase): Handles[] {
  const { handles, allocations } = given as unknown as {
    handles: Handles;
    allocations: { handle: string; block: string }[];
  };
  const index = new LeakIndex(handles, allocations);
  return steps.map((step) => {
    if (step.op === "meet_limit") index.meetLimit(String(step.handle));
    else if (step.op === "handle_cycles") for (let n = 0; n < Number(step.n); n += 1) index.check();
    else throw new Error(`no such operation of the index: ${step.op}`);
    return index.handles();
  });
}

describe("the cases of the handle index", () => {
  it.each(ofIndex.map((one) => [one.id, one] as const))("%s", (id, one) => {
    const entry = DEVIATIONS[id];
    const steps = [...one.steps, ...(entry?.further ?? [])];
    const wanted = steps.map(({ expect: said }, n) => ({ ...said, ...entry?.steps[n] }).handles);
    const listed = listedAfter({ ...one, steps });
    expect(listed, one.why).toEqual(wanted);
    if (entry === undefined) return;
    const asWritten = one.steps.map(({ expect: said }) => said.handles);
    expect(listed.slice(0, asWritten.length), "the case needs no entry").not.toEqual(asWritten);
  });

  it("are all run", () => {
    expect(ofIndex.length).toBe(9);
    for (const id of Object.keys(DEVIATIONS)) expect(ofIndex.some((one) => one.id === id)).toBe(true);
  });
});

describe("the cases of a guarded release", () => {
  const times = { skewMs: 50, untilMs: 2_000, spentKeyMs: 600_000 };
  const cidr = parsed("10.0.0.0/30");

  function claimed() {
    const draft = new BlockDraft(blockState(undefined, []), cidr, 1_000_000, times);
    const target = { block: "10.0.0.0/30", pool: "p", poolCidr: "10.0.0.0/24", incarnation: 0 };
    claim(draft, { ...target, owner: "cnode", epoch: 1, until: 1_000_000, cooldownMs: 0 });
    return new BlockDraft(applyChanges(blockState(undefined, []), draft.changes()), cidr, 1_000_000, times);
  }

  it.each([
    // Upstream refuses by the number alone; here what was never allocated is free already (its `deviate`).
    ["gc-seq-005", claimed, { kind: "already_free" }],
    [
      "gc-seq-006",
      () => new BlockDraft(blockState(undefined, []), cidr, 1_000_000, times),
      { kind: "already_free" },
    ],
  ] as const)("%s: what is not allocated is free already, and nothing changes", (id, draft, wanted) => {
    const step = cases.find((one) => one.id === id)?.steps[0];
    const [item] = (step?.opts ?? []) as { ip: string; handle: string; seq: number }[];
    if (item === undefined) throw new Error("the case is gone");
    const block = draft();
    const guard = { address: item.ip, handle: item.handle, sequenceNumber: item.seq };
    expect(releaseAddress(block, guard, 0)).toMatchObject({ ...wanted, address: item.ip });
    expect(block.changes().rows ?? []).toEqual([]);
  });
});

function parsed(text: string): Cidr {
  const cidr = parseCidr(text);
  if (!cidr.ok) throw new Error(`no range: ${text}`);
  return cidr.value;
}
