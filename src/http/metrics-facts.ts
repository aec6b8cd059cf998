/**
 * What the metrics are made of: pools from their directories, hosts from Cluster, figures from the Sweep.
 * May import: core, rpc and http. Rule: no Host and no block is asked, however many there are.
 */
import type { Policy, PoolDefinition } from "../core/policy.ts";
import type { HostEntry } from "../rpc/cluster.ts";
import type { GcView, HostLeakFigures } from "../rpc/leaks.ts";
import type { PoolUsageView } from "../rpc/pool.ts";
import { mapBounded } from "./concurrency.ts";
import type { Call } from "./operation.ts";
import { storedPolicy, targetOf } from "./reading/policy.ts";
import { reservedOfFamily } from "./reading/pool-usage.ts";

/** Hosts of one page. Why: the figures of as many fit well into one message, with hundreds of pools too. */
const HOSTS_PER_PAGE = 500;

export interface PoolFacts {
  readonly pool: string;
  readonly usage: PoolUsageView;
}

export interface HostFacts {
  readonly host: string;
  /** As of the host's last audit; absent: it has told nothing yet. A virtual owner is one of these too. */
  readonly figures?: HostLeakFigures;
}

export interface MetricsFacts {
  readonly pools: readonly PoolFacts[];
  readonly hosts: readonly HostFacts[];
  readonly gc: GcView;
}

/** Reads all of it: one call per pool, two per page of hosts, and two more. */
export async function metricsFacts(call: Call): Promise<MetricsFacts> {
  const sweep = call.ports.sweep();
  const cluster = call.ports.cluster();
  const [policy, gc, entries, told] = await Promise.all([
    storedPolicy(call),
    sweep.getGc({}),
    allPages((start) => cluster.listHosts({ ...start, limit: HOSTS_PER_PAGE })),
    allPages((start) => sweep.hostFigures({ ...start, limit: HOSTS_PER_PAGE })),
  ]);
  const sorted = policy.pools.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const pools = await mapBounded(sorted, async (pool) => ({
    pool: pool.name,
    usage: await usageWithOwners(call, policy, pool),
  }));
  const owners = new Set(pools.flatMap(({ usage }) => (usage.owners ?? []).map(([owner]) => owner)));
  return { pools, hosts: knownHosts(entries, told, owners), gc };
}

async function usageWithOwners(call: Call, policy: Policy, pool: PoolDefinition): Promise<PoolUsageView> {
  const reservedCidrs = reservedOfFamily(policy, pool);
  const port = call.ports.pool(pool.name, pool.incarnation);
  return await port.usage({ ...targetOf({ definition: pool }), reservedCidrs, withOwners: true });
}

/** Owners that are registered, on their way out, or still hold something: a block by its pool's directory. */
function knownHosts(
  entries: readonly HostEntry[],
  told: readonly { readonly host: string; readonly figures: HostLeakFigures }[],
  owners: ReadonlySet<string>,
): HostFacts[] {
  const figuresOf = new Map(told.map(({ host, figures }) => [host, figures]));
  const holds = (host: string) => owners.has(host) || (figuresOf.get(host)?.allocated ?? 0) > 0;
  const listed = entries.filter(({ host, registered, removing }) => registered || removing || holds(host));
  const names = new Set([...listed.map(({ host }) => host), ...owners]);
  return [...names].sort().map((host) => {
    const figures = figuresOf.get(host);
    return figures === undefined ? { host } : { host, figures };
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
