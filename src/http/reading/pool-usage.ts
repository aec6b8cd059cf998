/**
 * Pools with their figures: the definition is Cluster's, the figures are the Pool's.
 * May import: core, rpc and http.
 */
import type { Policy, PoolDefinition } from "../../core/policy.ts";
import type { Call } from "../operation.ts";
import { poolOnWire } from "../present/policy.ts";
import type { Wire } from "../schemas/components.ts";
import { storedCidr, targetOf } from "./policy.ts";

/** Asks the Pool for its figures, and writes both. */
export async function poolWithUsage(call: Call, policy: Policy, pool: PoolDefinition): Promise<Wire["Pool"]> {
  const reservedCidrs = policy.reservations
    .flatMap((reservation) => reservation.reservedCIDRs)
    .filter((cidr) => storedCidr(cidr).family === pool.family);
  const usage = await call.ports
    .pool(pool.name, pool.incarnation)
    .usage({ ...targetOf({ definition: pool }), reservedCidrs });
  return poolOnWire(pool, usage);
}
