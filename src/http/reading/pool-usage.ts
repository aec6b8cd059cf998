/**
 * Pools with their figures: the definition is Cluster's, the figures are the Pool's.
 * May import: core, rpc and http.
 */
import type { Policy, PoolDefinition } from "../../core/policy.ts";
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
