/**
 * When a pool is warned of, and when that is news.
 * May import: core only. Rule: status and events agree, since both ask here.
 */
import type { PoolDefinition } from "./policy.ts";

export type PoolWarning = "pool_full" | "pool_nearly_full";

/** How full a pool is. */
export interface PoolFill {
  /** A decimal number. */
  readonly available: string;
  readonly usedPercent: number;
}

/** A pool that is warned of must fall so far below its threshold before it is news again, in points. */
const REARM_POINTS = 5;
/** Of a low threshold it is this share instead. */
const REARM_SHARE = 0.1;

/** What a pool is warned of now; nobody is warned of one that is not to be allocated from. */
export function poolWarning(
  { disabled, terminating, warnAtPercent }: PoolDefinition,
  { available, usedPercent }: PoolFill,
): PoolWarning | undefined {
  if (disabled || terminating !== undefined) return undefined;
  if (available === "0") return "pool_full";
  return usedPercent < warnAtPercent ? undefined : "pool_nearly_full";
}

/**
 * What stands as told of a pool from now on, and what of it is news.
 * Why: a pool about its threshold goes over it with every address; it counts as told until it has fallen
 * well below, and full is news once on the way.
 */
export function poolNews(
  told: PoolWarning | undefined,
  pool: PoolDefinition,
  fill: PoolFill,
): { readonly told?: PoolWarning; readonly news?: PoolWarning } {
  const kept = told === undefined ? {} : { told };
  if (pool.disabled || pool.terminating !== undefined) return kept;
  const now = poolWarning(pool, fill);
  if (now === undefined) {
    const margin = Math.min(REARM_POINTS, pool.warnAtPercent * REARM_SHARE);
    return fill.usedPercent < pool.warnAtPercent - margin ? {} : kept;
  }
  const isNews = told === undefined || (told === "pool_nearly_full" && now === "pool_full");
  return isNews ? { told: now, news: now } : kept;
}
