/**
 * Metrics of addresses and blocks, by pool and by node.
 * May import: core, rpc and http. Rule: every known pool meets every known node; what is gone has no sample.
 */
import { NO_POOL } from "../core/leak-status.ts";
import { isVirtualOwner } from "../core/leak-subject.ts";
import type { HostLeakFigures, HostPoolFigures } from "../rpc/leaks.ts";
import type { HostFacts, MetricsFacts, PoolFacts } from "./metrics-facts.ts";
import type { MetricFamily, Sample } from "./metrics-text.ts";

/** Stands for the pool of what is in no pool that there is. */
const OUTSIDE = "no_ippool";
/** Stands for the node of blocks that no node owns: nobody does, or a virtual owner. */
const NO_OWNER = "no_affinity";
/** Stands for the node of addresses that no node uses, but a virtual owner. */
const NO_NODE = "unknown_node";
const NOTHING: HostPoolFigures = { allocated: 0, borrowed: 0, blocks: 0, candidates: 0, reclaimed: 0 };

/** What has one label `node`: a host, or all virtual owners together. */
interface NodeFacts {
  readonly node: string;
  readonly told: readonly HostLeakFigures[];
}

/** One pool on one node. */
interface Cell {
  readonly ippool: string;
  readonly node: string;
  readonly figures: HostPoolFigures;
}

/** Writes the families; without nodes, the sums of all nodes by pool. */
export function addressFamilies({ pools, hosts }: MetricsFacts, perHost: boolean): MetricFamily[] {
  const toldOf = ({ figures }: HostFacts) => (figures === undefined ? [] : [figures]);
  const nodes = hosts
    .filter(({ host }) => !isVirtualOwner(host))
    .map((host): NodeFacts => ({ node: host.host, told: toldOf(host) }));
  const virtual = hosts.filter(({ host }) => isVirtualOwner(host)).flatMap(toldOf);
  const users = [...nodes, { node: NO_NODE, told: virtual }];
  const cells = users.flatMap((user) => cellsOf(user, pools));
  const gauge = (name: string, help: string, samples: readonly Sample[]): MetricFamily => {
    return { name, type: "gauge", help, samples };
  };
  const samples = (all: readonly Cell[], field: keyof HostPoolFigures): Sample[] =>
    perHost
      ? all.map(({ ippool, node, figures }) => ({ labels: { ippool, node }, value: figures[field] }))
      : summedByPool(all, pools, field);
  const blocks = blockCells(cells, pools, nodes);
  const families = [
    gauge(
      "ipam_allocations_in_use",
      "Addresses in use, by the node that uses them",
      samples(cells, "allocated"),
    ),
    gauge(
      "ipam_allocations_borrowed",
      "Addresses in use in blocks of other nodes or of none",
      samples(cells, "borrowed"),
    ),
    gauge(
      "ipam_allocations_gc_candidates",
      "Addresses suspected to be leaked, and leaked ones that are not yet released",
      samples(cells, "candidates"),
    ),
    gauge(
      "ipam_blocks",
      "Blocks by the node that owns them",
      perHost ? samples(blocks, "blocks") : blocksByPool(cells, pools),
    ),
    ...poolFamilies(pools),
  ];
  if (!perHost) return families;
  return [...families, reclamations(nodes, cells), ...nodeFamilies(cells, blocks)];
}

/**
 * A cell for each pool, and one for what hosts found to be in none.
 * Why: what a host told of a pool by its name is void once that is gone, since nothing was left of it then.
 */
function cellsOf({ node, told }: NodeFacts, pools: readonly PoolFacts[]): Cell[] {
  const cells = pools.map(({ pool }) => ({ ippool: pool, node, figures: added(told, pool) }));
  return [...cells, { ippool: OUTSIDE, node, figures: added(told, NO_POOL) }];
}

function added(told: readonly HostLeakFigures[], pool: string): HostPoolFigures {
  const found = told.flatMap(({ pools }) => (Object.hasOwn(pools, pool) ? (pools[pool] ?? []) : []));
  const [first = NOTHING, second] = found;
  if (second === undefined) return first;
  return {
    allocated: sum(found, "allocated"),
    borrowed: sum(found, "borrowed"),
    blocks: sum(found, "blocks"),
    candidates: sum(found, "candidates"),
    reclaimed: sum(found, "reclaimed"),
  };
}

function sum(all: readonly HostPoolFigures[], field: keyof HostPoolFigures): number {
  return all.reduce((total, figures) => total + figures[field], 0);
}

function summedByPool(
  cells: readonly Cell[],
  pools: readonly PoolFacts[],
  field: keyof HostPoolFigures,
): Sample[] {
  const sums = new Map(pools.map(({ pool }) => [pool, 0]));
  for (const { ippool, figures } of cells) sums.set(ippool, (sums.get(ippool) ?? 0) + figures[field]);
  return [...sums].map(([ippool, value]) => ({ labels: { ippool }, value }));
}

/**
 * Blocks by owner as the directories of their pools have them now; those of no pool as audits found them.
 * Why: an audit may be minutes old, and a block that has lost its owner since would be counted twice.
 */
function blockCells(
  cells: readonly Cell[],
  pools: readonly PoolFacts[],
  nodes: readonly NodeFacts[],
): Cell[] {
  const cell = (ippool: string, node: string, blocks: number) => {
    return { ippool, node, figures: { ...NOTHING, blocks } };
  };
  const inPools = pools.flatMap(({ pool, usage: { owners = [], blocksUnowned } }) => {
    const owned = new Map(owners);
    const virtual = owners.reduce((total, [owner, own]) => total + (isVirtualOwner(owner) ? own : 0), 0);
    return [
      ...nodes.map(({ node }) => cell(pool, node, owned.get(node) ?? 0)),
      cell(pool, NO_OWNER, blocksUnowned + virtual),
    ];
  });
  const outside = cells.filter(({ ippool }) => ippool === OUTSIDE);
  const owner = (node: string) => (node === NO_NODE ? NO_OWNER : node);
  return [...inPools, ...outside.map(({ node, figures }) => cell(OUTSIDE, owner(node), figures.blocks))];
}

function blocksByPool(cells: readonly Cell[], pools: readonly PoolFacts[]): Sample[] {
  const outside = cells.filter(({ ippool }) => ippool === OUTSIDE).map(({ figures }) => figures);
  const inPools = pools.map(({ pool, usage }) => ({ labels: { ippool: pool }, value: usage.blocks }));
  return [...inPools, { labels: { ippool: OUTSIDE }, value: sum(outside, "blocks") }];
}

function poolFamilies(pools: readonly PoolFacts[]): MetricFamily[] {
  const family = (name: string, help: string, value: (usage: PoolFacts["usage"]) => string): MetricFamily => {
    const samples = pools.map(({ pool, usage }) => ({ labels: { ippool: pool }, value: value(usage) }));
    return { name, type: "gauge", help, samples };
  };
  return [
    family("ipam_ippool_size", "Addresses of the pool", ({ capacity }) => capacity),
    family(
      "ipam_ippool_reserved",
      "Addresses of the pool that reservations cover",
      ({ reserved }) => reserved,
    ),
    family("ipam_ippool_allocated", "Addresses of the pool that are allocated", ({ allocated }) => allocated),
    family("ipam_ippool_cooling", "Released addresses that may not be used yet", ({ cooling }) => cooling),
    family(
      "ipam_ippool_available",
      "Addresses of the pool that can be had now",
      ({ available }) => available,
    ),
  ];
}

/**
 * Counts what the collector released: of nodes only, since it releases nothing of virtual owners.
 * Invariant: a sample never falls while its host and pool live.
 * Why: a host that has told nothing has no sample, since one of 0 would be a fall; nor has a sum over hosts.
 */
function reclamations(nodes: readonly NodeFacts[], cells: readonly Cell[]): MetricFamily {
  const telling = new Set(nodes.filter(({ told }) => told.length > 0).map(({ node }) => node));
  const samples = cells
    .filter(({ node }) => telling.has(node))
    .map(({ ippool, node, figures }) => ({ labels: { ippool, node }, value: figures.reclaimed }));
  const help = "Addresses that the collector released";
  return { name: "ipam_allocations_gc_reclamations", type: "counter", help, samples };
}

/** Totals by node, under the names that dashboards from before pools had labels know. */
function nodeFamilies(cells: readonly Cell[], blocks: readonly Cell[]): MetricFamily[] {
  const family = (
    name: string,
    help: string,
    all: readonly Cell[],
    field: keyof HostPoolFigures,
  ): MetricFamily => {
    const sums = new Map<string, number>();
    for (const { node, figures } of all) sums.set(node, (sums.get(node) ?? 0) + figures[field]);
    const samples = [...sums].map(([node, value]) => ({ labels: { node }, value }));
    return { name, type: "gauge", help, samples };
  };
  return [
    family("ipam_allocations_per_node", "Addresses in use on the node", cells, "allocated"),
    family("ipam_allocations_borrowed_per_node", "Addresses that the node borrows", cells, "borrowed"),
    family("ipam_blocks_per_node", "Blocks that the node owns", blocks, "blocks"),
  ];
}
