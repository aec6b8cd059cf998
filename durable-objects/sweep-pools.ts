/**
 * Pools as a sweep looks at them, at its end: how full each is, and whether that is news.
 * May import: core, rpc, platform, storage. Rule: a pool that does not answer is left to the next sweep.
 */
import type { EventDraft } from "../src/core/events.ts";
import type { Policy, PoolDefinition } from "../src/core/policy.ts";
import { type PoolWarning, poolNews } from "../src/core/pool-warning.ts";
import type { PoolUsageView } from "../src/rpc/pool.ts";
import type { CheckCalls } from "./check-calls.ts";
import type { Runtime } from "./runtime.ts";
import type { SweepState } from "./sweep-state.ts";

/** Pools looked at in one step. */
const LOT = 64;

/** Some pools, in the order of names. */
export interface PoolsLook {
  readonly pools: readonly { readonly pool: PoolDefinition; readonly usage?: PoolUsageView }[];
  /** Keys of the pools there are. Absent: they are not known. */
  readonly all?: ReadonlySet<string>;
  /** The last of them, where there are more. */
  readonly next?: string;
}

export class SweepPools {
  readonly #runtime: Runtime;
  readonly #state: SweepState;
  /** As read last; asked about with its version. */
  #policy: Policy | undefined;

  constructor(runtime: Runtime, state: SweepState) {
    this.#runtime = runtime;
    this.#state = state;
  }

  /** Asks the pools that come after a name. */
  async look(after: string | undefined, calls: CheckCalls): Promise<PoolsLook> {
    const policy = await this.#current(calls);
    if (policy === undefined) return { pools: [] };
    const left = policy.pools
      .filter(({ name }) => after === undefined || name > after)
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const lot = left.slice(0, LOT);
    const asked = lot.filter(({ disabled, terminating }) => !disabled && terminating === undefined);
    const pools = await calls.each(asked, async (pool) => {
      const usage = await calls.maybe(() => this.#usage(policy, pool));
      return usage === undefined ? { pool } : { pool, usage };
    });
    const all = new Set(policy.pools.map(keyOf));
    const next = lot.at(-1)?.name;
    return left.length > lot.length && next !== undefined ? { pools, all, next } : { pools, all };
  }

  /** Notes what is told of pools from now on, and returns what is news; in a transaction. */
  keep({ pools, all }: PoolsLook, at: number): readonly EventDraft[] {
    const { warned = {} } = this.#state.read("pools") ?? {};
    const next = new Map(Object.entries(warned));
    const events = pools.flatMap(({ pool, usage }) => {
      if (usage === undefined) return [];
      const key = keyOf(pool);
      const { told, news } = poolNews(next.get(key), pool, usage);
      if (told === undefined) next.delete(key);
      else next.set(key, told);
      return news === undefined ? [] : warning(pool, usage, news, at);
    });
    for (const key of next.keys()) if (all?.has(key) === false) next.delete(key);
    const isSame =
      next.size === Object.keys(warned).length && [...next].every(([key, it]) => warned[key] === it);
    if (!isSame) this.#state.put("pools", { warned: Object.fromEntries(next) });
    return events;
  }

  async #current(calls: CheckCalls): Promise<Policy | undefined> {
    const known = this.#policy === undefined ? {} : { knownVersion: this.#policy.version };
    const said = await calls.maybe(() => this.#runtime.ports.cluster().policy(known));
    if (said?.policy !== undefined) this.#policy = said.policy;
    return said === undefined ? undefined : this.#policy;
  }

  async #usage({ reservations }: Policy, pool: PoolDefinition): Promise<PoolUsageView> {
    const { name, incarnation, cidr, blockSize } = pool;
    // Reservations of the other family are none to the pool.
    const reservedCidrs = reservations.flatMap((reservation) => reservation.reservedCIDRs);
    const port = this.#runtime.ports.pool(name, incarnation);
    return await port.usage({ pool: name, incarnation, cidr, blockSize, reservedCidrs });
  }
}

/** Names a pool apart from one that had its name before. */
function keyOf({ name, incarnation }: PoolDefinition): string {
  return `${name} ${incarnation}`;
}

function warning(
  { name, warnAtPercent }: PoolDefinition,
  { usedPercent, available, allocated, cooling, reserved }: PoolUsageView,
  code: PoolWarning,
  at: number,
): EventDraft {
  const figures = { usedPercent, warnAtPercent, available, allocated, cooling, reserved };
  const after = Object.fromEntries(Object.entries(figures).map(([key, figure]) => [key, String(figure)]));
  return { at, type: "pool_warning", severity: "warning", pool: name, code, after };
}
