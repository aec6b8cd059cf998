/**
 * Where the leak collector ends a case otherwise than upstream, on purpose: the one table.
 * May import: nothing of the judgement. Rule: an entry that a case does not need fails that case.
 */
import type { Expectation, LeakCase, StepGiven } from "./leak-vocabulary.ts";

export interface LeakDeviation {
  readonly reason: string;
  /** What single steps (from 0) are expected to give here; `undefined` where a step is not asked about. */
  readonly steps: Readonly<Record<number, Expectation>>;
  /** What the case goes on with here, where it ends before what it is about has come. */
  readonly further?: readonly StepGiven[];
}

/** The case with what it goes on with here. */
export function continued(one: LeakCase, entry: LeakDeviation | undefined): LeakCase {
  return { ...one, steps: [...one.steps, ...(entry?.further ?? [])] };
}

export const LEAK_DEVIATIONS: Readonly<Record<string, LeakDeviation>> = {
  "gc-valid-006": {
    reason: "a matching reported address wins over a node that differs (recommended by the case)",
    steps: { 0: { candidates: [] }, 1: { released: [] } },
  },
  "gc-class-004": {
    reason: "there are no allocations without a handle: the case begins without one",
    steps: { 1: { allocated: [] } },
  },
  "gc-grace-011": {
    reason: "an allocation touched less than 120 s before the evidence was taken is unknown (design 3.8)",
    steps: { 3: { candidates: [] }, 4: { candidates: ["10.0.0.1"], released: [] } },
    further: [
      { at_seconds: 2704, op: "sync", scan: "full", expect: { candidates: ["10.0.0.1"], released: [] } },
      { at_seconds: 2705, op: "sync", scan: "full", expect: { released: ["10.0.0.1"], result: "ok" } },
    ],
  },
  "gc-seq-003": {
    reason: "the block answers for each address; the others are released (recommended by the case)",
    steps: { 2: { released: ["10.0.0.2", "10.0.0.5"], allocated: ["10.0.0.1"], result: "ok" } },
  },
  "gc-tunnel-004": {
    reason: "whether a host exists is one fact: a record that is left of it is no second life (design 3.8)",
    steps: {
      0: { released: ["10.0.0.0"], nodes_failed: [], nodes_released: ["calinode"], result: "ok" },
      2: { released: [], nodes_released: [] },
    },
  },
  "gc-node-011": {
    reason:
      "a block that lent addresses loses its owner and goes with its last address (recommended by the case)",
    steps: {
      0: { nodes_failed: [], nodes_released: ["node-b"], result: "ok" },
      2: { nodes_released: [] },
    },
  },
  "gc-node-013": {
    reason: "what failed is taken up again at the next pass (recommended by the case)",
    steps: { 3: { nodes_released: ["dead"], blocks_left: [] }, 4: { nodes_released: [] } },
  },
  "gc-node-016": {
    reason: "what is told of a node marks the host that it is here (recommended by the case)",
    steps: { 2: { candidates: ["10.0.0.1"], nodes_released: [] } },
  },
  "gc-block-009": {
    reason: "one block of each family stays with a host (issue: keep one per host and family)",
    steps: { 1: { blocks_released_count: 0, blocks_left_count: 2 } },
  },
  "gc-cold-004": {
    reason: "free is derived from time: there is no phase that could fail (design 3.4)",
    steps: { 1: { nodes_released: ["n1", "n2"], result: "ok" } },
  },
};

/** Cases that are marked as to be done otherwise, and end as written all the same: what was decided. */
export const ENDS_AS_WRITTEN: Readonly<Record<string, string>> = {
  "gc-class-008":
    "a block gives up its owner only when nothing in it is held; what is reserved goes with its host",
  "gc-valid-011": "a look-up that failed freezes a suspicion; here there is none yet",
  "gc-valid-012": "a replacement freezes where its uid differs; the pods of this case have none",
  "gc-class-005": "what belongs to no host is never judged",
  "gc-class-006": "the handle is held with a reason, and looked at again by the next audit",
  "gc-vm-004": "the grace says how long, not whether: pausing the collector is what covers machines too",
  "gc-vm-005": "the grace says how long, not whether: pausing the collector is what covers machines too",
};

/** Cases that are not the collector's judgement of a host, by the start of their names, and who answers them. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  "gc-seq-005": "what a block answers to a guarded release: leak-index-cases.test.ts, and over HTTP",
  "gc-seq-006": "what a block answers to a guarded release: leak-index-cases.test.ts, and over HTTP",
  "gc-metric-001": "series are made of what hosts told: over HTTP",
  "gc-pool-001": "a block names its pool itself, and drains with it: gc-metric-006 over HTTP",
  "gc-retry-001": "the one alarm of a Host goes on with what is left, at fixed times: host-budget.test.ts",
  "lb-": "nobody here: no operation of this service assigns addresses to services by itself",
  "hgc-": "the handle index is mended from the blocks: leak-index-cases.test.ts",
  "rec-": "an empty block that another host takes: over HTTP",
  "fl-claim-": "nobody here: a program that moves a cluster from another network",
  "fl-order-": "nobody here: a program that moves a cluster from another network",
  "fl-blocksize-": "nobody here: a program that moves a cluster from another network",
};
