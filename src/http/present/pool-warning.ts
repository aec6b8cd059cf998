/**
 * The sentence about a pool that is full, or nearly.
 * May import: core. Rule: status and events say the same.
 */
import type { PoolWarning } from "../../core/pool-warning.ts";

/** Figures as they are told, e.g. by a pool's usage. */
export interface PoolWarningFigures {
  readonly usedPercent: number | string;
  readonly warnAtPercent: number | string;
  readonly available: string;
  readonly allocated: string;
  readonly cooling: string;
  readonly reserved: string;
}

/** Says what a pool is warned of. */
export function poolWarningText(code: PoolWarning, pool: string, figures: PoolWarningFigures): string {
  const { usedPercent, warnAtPercent, available, allocated, cooling, reserved } = figures;
  return code === "pool_full"
    ? `Pool ${pool} has no address to give: ${allocated} allocated, ${cooling} cooling, ${reserved} reserved.`
    : `Pool ${pool} is ${usedPercent} % used; it warns from ${warnAtPercent} %. ${available} left.`;
}
