/**
 * Metrics of addresses and blocks, by pool and by node.
 * May import: core, rpc and http. Rule: every known pool meets every known node; what is gone has no sample.
 */
import { NO_POOL } from "../core/leak-status.ts";
import type { HostPoolFigures } from "../rpc/leaks.ts";
import type { HostFacts, MetricsFacts, PoolFacts } from "./metrics-facts.ts";
import type { MetricFamily, Sample } from "./metrics-text.ts";

/** Stands for the pool of what is in no pool that there is. */
const OUTSIDE = "no_ippool";
/** Stands for the node of blocks that nobody owns. */
const NO_OWNER = "no_affinity";
const NOTHING: HostPoolFigures = { allocated: 0, borrowed: 0, blocks: 0, candidates: 0, reclaimed: 0 };

/** One pool on one node. */
interface Cell {
  readonly ippool: string;
  readonly node: string;
  readonly figures: HostPoolFigures;
}

/** Writes the families; without nodes, the sums of all nodes by pool. */
export function addressFamilies({ pools, hosts }: MetricsFacts, perHost: boolean): MetricFamily[] {
  const cells = hosts.flatMap((host) => cellsOf(host, pools));
  const outside = hosts.map((host) => outsideOf(host, pools));
  const gauge = (name: string, help: string, samples: readonly Sample[]): MetricFamily => {
    return { name, type: "gauge", help, samples };
  };
  const samples = (all: readonly Cell[], field: keyof HostPoolFigures): Sample[] =>
    perHost
      ? all.map(({ ippool, node, figures }) => ({ labels: { ippool, node }, value: figures[field] }))
      : summedByPool(all, pools, field);
  const everywhere = [...cells, ...outside];
  const families = [
    gauge(
      "ipam_allocations_in_use",
      "Addresses in use, by the node that uses them",
      samples(everywhere, "allocated"),
    ),
    gauge(
      "ipam_allocations_borrowed",
      "Addresses in use in blocks of other nodes or of none",
      samples(everywhere, "borrowed"),
    ),
    gauge(
      "ipam_allocations_gc_candidates",
      "Addresses suspected to be leaked, and leaked ones that are not yet released",
      samples(everywhere, "candidates"),
    ),
    gauge("ipam_blocks", "Blocks by the node that owns them", blockSamples(everywhere, pools, perHost)),
    ...poolFamilies(pools),
  ];
  return perHost ? [...families, reclamations(hosts, pools), ...nodeFamilies(hosts, pools)] : families;
}

function cellsOf({ host, figures }: HostFacts, pools: readonly PoolFacts[]): Cell[] {
  return pools.map(({ pool }) => ({
    ippool: pool,
    node: host,
    figures: poolFigures(figures, pool),
  }));
}

function poolFigures(figures: HostFacts["figures"], pool: string): HostPoolFigures {
  if (figures === undefined || !Object.hasOwn(figures.pools, pool)) return NOTHING;
  return figures.pools[pool] ?? NOTHING;
}

/** What a host has beyond those pools: in blocks of pools that are gone. All its addresses are in one or the other. */
function outsideOf(host: HostFacts, pools: readonly PoolFacts[]): Cell {
  const { counts, allocated = 0, pools: told = {} } = host.figures ?? {};
  const inPools = cellsOf(host, pools).map(({ figures }) => figures);
  const known = new Set(pools.map(({ pool }) => pool));
  const left = Object.entries(told).flatMap(([pool, figures]) => (known.has(pool) ? [] : [figures]));
  const rest = (all: number, field: keyof HostPoolFigures) => Math.max(0, all - sum(inPools, field));
  const suspected = counts === undefined ? 0 : counts.candidates + counts.confirmed + counts.held;
  const figures = {
    allocated: rest(allocated, "allocated"),
    borrowed: sum(left, "borrowed"),
    blocks: sum(left, "blocks"),
    candidates: rest(suspected, "candidates"),
    // Those of a pool go with it.
    reclaimed: poolFigures(host.figures, NO_POOL).reclaimed,
  };
  return { ippool: OUTSIDE, node: host.host, figures };
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

/** Blocks of nodes as of their audits; those of nobody as the pool's directory has them. */
function blockSamples(cells: readonly Cell[], pools: readonly PoolFacts[], perHost: boolean): Sample[] {
  if (!perHost) {
    const blocks = pools.map(({ pool, usage }) => ({ labels: { ippool: pool }, value: usage.blocks }));
    const outside = cells.filter(({ ippool }) => ippool === OUTSIDE).map(({ figures }) => figures);
    return [...blocks, { labels: { ippool: OUTSIDE }, value: sum(outside, "blocks") }];
  }
  const owned = cells.map(({ ippool, node, figures }) => ({
    labels: { ippool, node },
    value: figures.blocks,
  }));
  const unowned = pools.map(({ pool, usage }) => ({
    labels: { ippool: pool, node: NO_OWNER },
    value: usage.blocksUnowned,
  }));
  return [...owned, ...unowned];
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
 * Counts what the collector released. Invariant: a sample never falls while its host and pool live.
 * Why: a host that has told nothing has no sample, since one of 0 would be a fall; nor has a sum over hosts.
 */
function reclamations(hosts: readonly HostFacts[], pools: readonly PoolFacts[]): MetricFamily {
  const samples = hosts.flatMap((host) => {
    if (host.figures === undefined) return [];
    return [...cellsOf(host, pools), outsideOf(host, pools)].map(({ ippool, node, figures }) => ({
      labels: { ippool, node },
      value: figures.reclaimed,
    }));
  });
  const help = "Addresses that the collector released";
  return { name: "ipam_allocations_gc_reclamations", type: "counter", help, samples };
}

/** Totals by node, under the names that dashboards from before pools had labels know. */
function nodeFamilies(hosts: readonly HostFacts[], pools: readonly PoolFacts[]): MetricFamily[] {
  const family = (name: string, help: string, value: (host: HostFacts) => number): MetricFamily => {
    const samples = hosts.map((host) => ({ labels: { node: host.host }, value: value(host) }));
    return { name, type: "gauge", help, samples };
  };
  const total = (host: HostFacts, field: keyof HostPoolFigures) =>
    sum(
      [...cellsOf(host, pools), outsideOf(host, pools)].map(({ figures }) => figures),
      field,
    );
  const unowned = pools.reduce((blocks, { usage }) => blocks + usage.blocksUnowned, 0);
  const blocks = family("ipam_blocks_per_node", "Blocks that the node owns", (host) => total(host, "blocks"));
  return [
    family(
      "ipam_allocations_per_node",
      "Addresses in use on the node",
      ({ figures }) => figures?.allocated ?? 0,
    ),
    family("ipam_allocations_borrowed_per_node", "Addresses that the node borrows", (host) =>
      total(host, "borrowed"),
    ),
    { ...blocks, samples: [...blocks.samples, { labels: { node: NO_OWNER }, value: unowned }] },
  ];
}
