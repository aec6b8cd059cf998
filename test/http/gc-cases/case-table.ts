/**
 * Which cases of the collector are played over HTTP, and why the others are not: the one table.
 * May import: the vocabulary. Rule: an entry that a case does not need fails that case.
 */
import type { LeakDeviation } from "../../core/leak-deviations.ts";
import type { LeakCase } from "../../core/leak-vocabulary.ts";

const OF_NO_HOST = "nothing is allocated to nobody here: every allocation names a host";
const NOT_INJECTED = "a host that is taken out has no phase that could be made to fail";
const UNSET = "a grace that was never set is 900 seconds here";
const LONGER = "an operator cannot set a grace of less than 60 seconds";

/** Cases that are not played over HTTP, by the start of their names, and why. */
export const NOT_PLAYED: Readonly<Record<string, string>> = {
  "gc-class-005": OF_NO_HOST,
  "gc-class-006": OF_NO_HOST,
  "gc-sync-007": OF_NO_HOST,
  "gc-grace-003": UNSET,
  "gc-grace-005": LONGER,
  "gc-block-005": LONGER,
  "gc-seq-007": "a handle has no line break here",
  "gc-vm-004": LONGER,
  "gc-vm-005": UNSET,
  "gc-node-010": NOT_INJECTED,
  "gc-node-013": NOT_INJECTED,
  "gc-block-008": "a block that nobody owns and nobody uses is no more",
  "gc-pool-001": "there is no block without a pool",
  "gc-sync-002": "there is no feed that could lag: blocks are asked",
  "gc-sync-003": "the most that one run releases is no setting",
  "gc-sync-005": "no caller takes a block from under its addresses",
  "gc-retry-001": "when something is tried again nobody can see",
  "lb-": "no operation of this service assigns addresses to services by itself",
  "hgc-": "no caller can make an index that is wrong: leak-index-cases.test.ts",
  "fl-label-": "shown by gc-block-010 and gc-block-011",
  "fl-claim-": "a program that moves a cluster from another network",
  "fl-order-": "a program that moves a cluster from another network",
  "fl-blocksize-": "a program that moves a cluster from another network",
};

/** Cases of what only a cluster can tell: it is asked, and no agent reports. */
export const OF_CLUSTER: ReadonlySet<string> = new Set([
  "gc-valid-006",
  "gc-valid-007",
  "gc-vm-003",
  "gc-vm-007",
  "gc-vm-011",
  "gc-vm-013",
  "gc-tunnel-003",
  "gc-node-003",
  "gc-node-012",
]);

/** Cases that are played slower or faster: how many times, and whether what is configured is so too. */
const PACES: Readonly<Record<string, { readonly times: number; readonly isConfigToo: boolean }>> = {
  // The shortest grace that an operator can set is this many times as long as theirs.
  "gc-metric-003": { times: 12, isConfigToo: true },
  "gc-metric-005": { times: 12, isConfigToo: true },
  "gc-metric-006": { times: 12, isConfigToo: true },
  // Addresses cool for 1,200 seconds at most; the longer the better where a node is lost meanwhile.
  "gc-cold-001": { times: 1 / 6, isConfigToo: true },
  "gc-node-012": { times: 20, isConfigToo: true },
  // A node is lost a minute after a list without it.
  "gc-tunnel-003": { times: 200, isConfigToo: false },
  "gc-node-003": { times: 200, isConfigToo: false },
};

/** The case as it can be played: some with all their times longer or shorter. */
export function paced(one: LeakCase): LeakCase {
  const pace = PACES[one.id];
  if (pace === undefined) return one;
  const { times, isConfigToo } = pace;
  const steps = one.steps.map((step) => ({ ...step, at_seconds: step.at_seconds * times }));
  const { config = {}, allocations = [] } = one.given;
  const { leak_grace_s: grace, cooldown_s: cooldown } = config;
  const set = {
    ...(typeof grace === "number" && isConfigToo ? { leak_grace_s: grace * times } : {}),
    ...(cooldown !== undefined && isConfigToo ? { cooldown_s: cooldown * times } : {}),
  };
  const released = allocations.map((held) =>
    held.released_at === undefined ? held : { ...held, released_at: held.released_at * times },
  );
  const given = { ...one.given, config: { ...config, ...set }, allocations: released };
  return { ...one, given, steps };
}

const AT_ZERO = {
  'ipam_ippool_size{ippool="test-ippool-1"}': 256,
  'ipam_ippool_size{ippool="test-ippool-2"}': 65536,
  'ipam_allocations_in_use{ippool="test-ippool-1",node="node-a"}': 0,
  'ipam_allocations_borrowed{ippool="test-ippool-2",node="node-b"}': 0,
  'ipam_allocations_gc_candidates{ippool="test-ippool-1",node="node-b"}': 0,
  'ipam_blocks{ippool="test-ippool-1",node="node-a"}': 0,
  'ipam_allocations_gc_reclamations{ippool="test-ippool-1",node="node-a"}': 0,
  'ipam_allocations_per_node{node="node-a"}': 0,
};
const DRAINING = {
  'ipam_allocations_in_use{ippool="test-ippool-2",node="node-a"}': 1,
  'ipam_allocations_in_use{ippool="no_ippool",node="node-a"}': 0,
  'ipam_blocks{ippool="test-ippool-2",node="no_affinity"}': 1,
  'ipam_allocations_gc_reclamations{ippool="test-ippool-2",node="node-a"}': 1,
  'ipam_allocations_gc_reclamations{ippool="no_ippool",node="node-a"}': 0,
  'ipam_ippool_size{ippool="test-ippool-2"}': 65536,
};
const NOT_ADOPTED = {
  'ipam_allocations_in_use{ippool="test-ippool-2",node="node-a"}': 1,
  'ipam_allocations_in_use{ippool="test-ippool-2-analogue",node="node-a"}': null,
};
const ONE_SUSPECT = { 'ipam_allocations_gc_candidates{ippool="block-1",node="cnode"}': 1 };

/** Where a case ends otherwise over HTTP than the pure judgement ends it; without steps it ends as written. */
export const HTTP_DEVIATIONS: Readonly<Record<string, LeakDeviation>> = {
  "gc-valid-006": {
    reason: "the pods of the node are listed; those of others are read by name before anything goes",
    steps: { 1: { released: [], candidates: [], confirmed: [] } },
  },
  "gc-seq-001": {
    reason: "the ledger is looked through by the next audit, not by whoever hands out the address",
    steps: { 1: { candidates: ["10.0.0.0"] } },
  },
  "gc-sync-006": {
    reason: "the ledger is looked through by the next audit, not by whoever releases the address",
    steps: { 1: { candidates: ["10.0.0.1"] } },
  },
  "gc-seq-005": {
    reason: "what was never allocated is free already, whatever number guards its release",
    steps: { 0: { error: null } },
  },
  "gc-cold-005": {
    reason: "what a block says may be ten minutes old, so that it is seen empty only at the last step",
    steps: { 4: { blocks_released: [] } },
    further: [{ at_seconds: 2804, op: "sync", scan: "full", expect: { blocks_released: ["10.0.0.4/30"] } }],
  },
  "gc-metric-001": {
    reason: "every series of a known host and pool is there from the start, at zero",
    steps: { 0: { metrics: AT_ZERO } },
  },
  "gc-metric-004": {
    reason: "no block is without a pool: that of the leak was made for it",
    steps: { 0: { metrics: ONE_SUSPECT }, 1: { metrics: ONE_SUSPECT } },
  },
  "gc-metric-006": {
    reason:
      "a pool drains until its last address has gone: no block is ever without one, and none is adopted",
    steps: {
      2: { pool_of: { "172.16.0.0/26": "test-ippool-2" }, metrics: DRAINING },
      3: { pool_of: { "172.16.0.0/26": "test-ippool-2" }, metrics: NOT_ADOPTED },
    },
  },
  "rec-004": {
    reason: "the block is asked, and nobody holds a view of it that could be stale: it is empty, and taken",
    steps: { 1: { got_ip: true, owner: "host:hostB" } },
  },
  "gc-node-002": {
    reason: "the blocks of a host that is taken out go at once, without a sweep",
    steps: { 0: { nodes_released: ["dead-node"], blocks_left: [] }, 1: { nodes_released: [] } },
  },
};
