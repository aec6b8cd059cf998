/**
 * Runs one case of the leak collector on the pure judgement, and says how it ended.
 * May import: this folder's leak files. Rule: a difference passes only by the table of deviations.
 */
import { isMigrating } from "../../src/core/leak-blocks.ts";
import type { Suspicion } from "../../src/core/leak-ledger.ts";
import { nameIn } from "../../src/core/leak-subject.ts";
import { LeakCollector, type Pass } from "./leak-collector.ts";
import type { LeakDeviation } from "./leak-deviations.ts";
import type {
  AllocationGiven,
  BlockGiven,
  Expectation,
  Given,
  LeakCase,
  PodGiven,
  StepGiven,
} from "./leak-vocabulary.ts";
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
  return ended(one, attempt(one, entry), "differs");
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
    const pass = perform(world, collector, step);
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

function isSame(got: unknown, wanted: unknown): boolean {
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

/** What each operation does to the cluster; only a sync is the collector's. */
function perform(world: LeakWorld, collector: LeakCollector, step: StepGiven): Pass | undefined {
  const name = String(step.name);
  switch (step.op) {
    case "sync":
      return collector.pass(step.scan === "dirty" ? "dirty" : "full");
    case "pod_put":
      world.putPod(step.pod as PodGiven, step.views as readonly string[] | undefined);
      return undefined;
    case "pod_delete":
      deletePod(world, nameIn(String(step.ns), name), step.event !== false);
      return undefined;
    case "k8s_node_add":
      world.kubernetesNodes.add(name);
      world.nodes.set(world.hostOf(name) ?? name, {
        k8s: name,
        labels: (step.labels ?? {}) as Readonly<Record<string, string>>,
      });
      return undefined;
    case "k8s_node_delete":
      deleteNode(world, name, step.calico_node_follows === true);
      return undefined;
    case "calico_node_delete":
      world.nodes.delete(name);
      world.lostAt.set(name, world.now);
      return undefined;
    case "block_put":
      world.putBlock(step.block as BlockGiven);
      return undefined;
    case "block_delete":
      world.blocks.delete(String(step.cidr));
      for (const one of [...world.stored.keys()]) if (world.isOrphan(one)) world.dropAllocation(one);
      return undefined;
    case "alloc_put":
      world.putAllocation(step.allocation as AllocationGiven, world.now, step.delivered !== false);
      return undefined;
    case "alloc_delete":
      world.dropAllocation(String(step.ip));
      return undefined;
    case "set_config":
      Object.assign(world.config, step.config);
      return undefined;
    case "fail_lookup":
      failLookup(world, step);
      return undefined;
    case "inject":
      if (step.target === "node_cleanup") world.failing.cleanups.add(String(step.key));
      return undefined;
    case "clear_error":
      world.failing.cleanups.delete(String(step.key));
      return undefined;
    case "is_migrating":
    case "pool_put":
    case "pool_delete":
      return undefined;
    default:
      throw new Error(`no such operation of the judgement: ${step.op}`);
  }
}

function deletePod(world: LeakWorld, name: string, isTold: boolean): void {
  const pod = world.listed.get(name);
  world.listed.delete(name);
  world.live.delete(name);
  if (isTold && pod !== undefined) world.dirty.add(world.hostOf(pod.node) ?? pod.node);
}

function deleteNode(world: LeakWorld, kubernetesName: string, doesFollow: boolean): void {
  const host = world.hostOf(kubernetesName);
  world.kubernetesNodes.delete(kubernetesName);
  world.isFullDue = true;
  if (host === undefined) return;
  world.lostAt.set(host, world.now);
  if (doesFollow) world.nodes.delete(host);
}

function failLookup(world: LeakWorld, { kind, key }: StepGiven): void {
  if (kind === "calico_node") world.failing.nodes.add(String(key));
  else if (kind === "pod") world.failing.pods.add((key as readonly string[]).join("/"));
  else throw new Error(`no such look-up: ${String(kind)}`);
}
