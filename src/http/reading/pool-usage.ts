/**
 * Pools with their figures: the definition is Cluster's, the figures are the Pool's.
 * May import: core, rpc and http.
 */
import { blockGrid } from "../../core/block-grid.ts";
import type { Policy, PoolDefinition } from "../../core/policy.ts";
import { poolUsage } from "../../core/pool-usage.ts";
import type { PoolUsageView } from "../../rpc/pool.ts";
import type { Call } from "../operation.ts";
import { poolOnWire } from "../present/policy.ts";
import type { Wire } from "../schemas/components.ts";
import { storedCidr, targetOf } from "./policy.ts";

/** Asks the Pool for its figures, and writes both. */
export async function poolWithUsage(call: Call, policy: Policy, pool: PoolDefinition): Promise<Wire["Pool"]> {
  return poolOnWire(pool, await usageOfPool(call, policy, pool));
}

/** Asks the Pool for its figures: sums of what it was told, at most a few seconds old. */
export async function usageOfPool(call: Call, policy: Policy, pool: PoolDefinition): Promise<PoolUsageView> {
  const reservedCidrs = reservedOfFamily(policy, pool);
  const port = call.ports.pool(pool.name, pool.incarnation);
  return await port.usage({ ...targetOf({ definition: pool }), reservedCidrs });
}

/** The ranges of all reservations of a pool's family. */
export function reservedOfFamily(policy: Policy, pool: PoolDefinition): string[] {
  return policy.reservations
    .flatMap((reservation) => reservation.reservedCIDRs)
    .filter((cidr) => storedCidr(cidr).family === pool.family);
}

/** The figures of a pool that has just been made: nobody need be asked. */
export function unusedUsage(policy: Policy, pool: PoolDefinition, now: number): PoolUsageView {
  const grid = blockGrid(pool.cidr, pool.blockSize);
  const { capacity, reserved, available, ...rest } = poolUsage(grid, reservedOfFamily(policy, pool), [], now);
  const counts = { capacity: String(capacity), reserved: String(reserved), available: String(available) };
  return { ...rest, ...counts, allocated: "0", cooling: "0", exact: false };
}
