/**
 * Runs one case of the leak collector on the pure judgement, and says how it ended.
 * May import: this folder's leak files. Rule: a difference passes only by the table of deviations.
 */
import { isMigrating } from "../../src/core/leak-blocks.ts";
import type { Suspicion } from "../../src/core/leak-ledger.ts";
import { changeWorld } from "./leak-case-steps.ts";
import { LeakCollector, type Pass } from "./leak-collector.ts";
import { continued, type LeakDeviation } from "./leak-deviations.ts";
import type { Expectation, Given, LeakCase, StepGiven } from "./leak-vocabulary.ts";
import { LeakWorld } from "./leak-world.ts";

/** Members that are no answer of the judgement, each with where it is answered. */
export const NOT_COMPARED: Readonly<Record<string, string>> = {
  dirty_nodes: "which hosts are looked at next is the sweep's",
  cold_visited: "free is derived from time: nothing visits what cools",
  dealloc: "free is derived from time: nothing frees what has cooled",
  pool_of: "a block names its pool itself",
};

export type CaseEnd =
  | { readonly kind: "pass" | "differs"; readonly compared: number }
  | { readonly kind: "fail"; readonly text: string };

/** Runs a case as written, or as the table says that it ends here; an entry that is not needed fails. */
export function runLeakCase(one: LeakCase, entry: LeakDeviation | undefined): CaseEnd {
  const asWritten = attempt(one, undefined);
  if (entry === undefined) return ended(one, asWritten, "pass");
  if (asWritten.faults.length === 0) {
    return { kind: "fail", text: `${one.id}: the table has an entry, and the case passes without it` };
  }
  return ended(one, attempt(continued(one, entry), entry), "differs");
}

interface Attempt {
  readonly faults: readonly string[];
  readonly compared: number;
}

function ended(one: LeakCase, { faults, compared }: Attempt, kind: "pass" | "differs"): CaseEnd {
  if (faults.length > 0) return { kind: "fail", text: [one.id, one.why, ...faults].join("\n") };
  return { kind, compared };
}

function attempt(one: LeakCase, entry: LeakDeviation | undefined): Attempt {
  const nothing = { nodes: [], pods: [], vms: [], blocks: [], allocations: [], config: {} };
  const world = new LeakWorld({ ...nothing, ...one.given } as Given);
  const collector = new LeakCollector(world);
  const faults: string[] = [];
  let compared = 0;
  for (const [index, step] of one.steps.entries()) {
    world.now = step.at_seconds * 1000;
    const pass = step.op === "sync" ? collector.pass(step.scan === "dirty" ? "dirty" : "full") : undefined;
    if (pass === undefined) changeWorld(world, step);
    const expect: Expectation = { ...step.expect, ...entry?.steps[index] };
    const given = answers(world, collector.suspicions(), pass, step);
    for (const [name, wanted] of expected(expect)) {
      compared += 1;
      const got = name.startsWith(SUSPECTED)
        ? collector.suspectedOn(name.slice(SUSPECTED.length))
        : given[name];
      if (!isSame(got, wanted)) {
        const at = `step ${index} at ${step.at_seconds} s`;
        faults.push(`  ${at}: ${name} is ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
      }
    }
  }
  return { faults, compared };
}

/** The one series that is a number of the judgement's: suspicions in every state, by host. */
const CANDIDATE_SERIES = /^ipam_allocations_gc_candidates\{.*node="([^"]*)"\}$/;
const SUSPECTED = "suspected on ";

/** What a step asks of the judgement: of the metrics, only the suspicions. */
function expected({ metrics, ...rest }: Expectation): [name: string, wanted: unknown][] {
  const series = Object.entries((metrics ?? {}) as Readonly<Record<string, unknown>>);
  const suspected = series.flatMap(([name, wanted]): [string, unknown][] => {
    const host = CANDIDATE_SERIES.exec(name)?.[1];
    return host === undefined ? [] : [[SUSPECTED + host, wanted]];
  });
  const asked = Object.entries(rest).filter(
    ([name, wanted]) => !(name in NOT_COMPARED) && wanted !== undefined,
  );
  return [...asked, ...suspected];
}

/** Compares lists as sets: the order of addresses, blocks and hosts is nobody's promise. */
export function isSame(got: unknown, wanted: unknown): boolean {
  const form = (value: unknown) => JSON.stringify(Array.isArray(value) ? value.toSorted() : value);
  return got !== undefined && form(got) === form(wanted);
}

/** All that a step can be asked about. */
function answers(
  world: LeakWorld,
  rows: readonly Suspicion[],
  pass: Pass | undefined,
  step: StepGiven,
): Readonly<Record<string, unknown>> {
  const of = (state: string) => rows.filter((row) => row.state === state).map(({ address }) => address);
  const stored = [...world.stored.values()];
  const tracked = stored.map(({ ip, seq }) => [ip, rows.find(({ address }) => address === ip)?.touch ?? seq]);
  return {
    released: pass?.released,
    released_count: pass?.released.length,
    nodes_released: pass?.nodesReleased,
    nodes_failed: pass?.nodesFailed,
    blocks_released: pass?.blocksReleased,
    blocks_released_count: pass?.blocksReleased.length,
    live_pod_reads: pass?.podReads,
    result: pass?.result,
    candidates: of("candidate"),
    confirmed: of("confirmed"),
    allocated: stored.filter(({ handle }) => handle !== null).map(({ ip }) => ip),
    cooling: stored.filter((one) => world.isCooling(one)).map(({ ip }) => ip),
    blocks_left: [...world.blocks.keys()],
    blocks_left_count: world.blocks.size,
    tracked_seq: Object.fromEntries(tracked),
    migrating: isMigrating(world.nodes.get(String(step.node))?.labels ?? {}),
  };
}
