/**
 * What the metrics are made of: pools from their directories, hosts from Cluster, figures from the Sweep.
 * May import: core, rpc and http. Rule: no Host and no block is asked, however many there are.
 */
import type { GcView, HostLeakFigures } from "../rpc/leaks.ts";
import type { PoolUsageView } from "../rpc/pool.ts";
import { mapBounded } from "./concurrency.ts";
import type { Call } from "./operation.ts";
import { storedPolicy } from "./reading/policy.ts";
import { usageOfPool } from "./reading/pool-usage.ts";

/** Hosts of one page. Why: the figures of as many fit well into one message, with hundreds of pools too. */
const HOSTS_PER_PAGE = 500;

export interface PoolFacts {
  readonly pool: string;
  readonly usage: PoolUsageView;
}

export interface HostFacts {
  readonly host: string;
  /** As of the host's last audit; absent: it has told nothing yet. */
  readonly figures?: HostLeakFigures;
}

export interface MetricsFacts {
  readonly pools: readonly PoolFacts[];
  readonly hosts: readonly HostFacts[];
  readonly gc: GcView;
}

/** Reads all of it: one call per pool, two per page of hosts, and two more. */
export async function metricsFacts(call: Call): Promise<MetricsFacts> {
  const [policy, gc, hosts] = await Promise.all([
    storedPolicy(call),
    call.ports.sweep().getGc({}),
    knownHosts(call),
  ]);
  const sorted = policy.pools.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const pools = await mapBounded(sorted, async (pool) => ({
    pool: pool.name,
    usage: await usageOfPool(call, policy, pool),
  }));
  return { pools, hosts, gc };
}

/** Hosts that are registered, on their way out, or still hold something. */
async function knownHosts(call: Call): Promise<HostFacts[]> {
  const cluster = call.ports.cluster();
  const sweep = call.ports.sweep();
  const [entries, told] = await Promise.all([
    allPages((start) => cluster.listHosts({ ...start, limit: HOSTS_PER_PAGE })),
    allPages((start) => sweep.hostFigures({ ...start, limit: HOSTS_PER_PAGE })),
  ]);
  const figuresOf = new Map(told.map(({ host, figures }) => [host, figures]));
  return entries.flatMap(({ host, registered, removing }) => {
    const figures = figuresOf.get(host);
    if (!registered && !removing && !holdsAny(figures)) return [];
    return [figures === undefined ? { host } : { host, figures }];
  });
}

async function allPages<T>(
  read: (start: {
    readonly after?: string;
  }) => Promise<{ readonly hosts: readonly T[]; readonly next?: string }>,
): Promise<T[]> {
  const all: T[] = [];
  let after: string | undefined;
  do {
    const { hosts, next } = await read(after === undefined ? {} : { after });
    all.push(...hosts);
    after = next;
  } while (after !== undefined);
  return all;
}

function holdsAny(figures: HostLeakFigures | undefined): boolean {
  if (figures === undefined) return false;
  return figures.allocated > 0 || Object.values(figures.pools).some(({ blocks }) => blocks > 0);
}
