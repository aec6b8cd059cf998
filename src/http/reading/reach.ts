/**
 * What an agent may see: allocations of its host, or owned by a workload there.
 * May import: core and http.
 */
import type { AddressRecord } from "../../core/allocation.ts";
import { isSeenBy } from "../../core/owners.ts";
import type { Principal } from "../auth.ts";

/** Whether the caller may see an allocation. */
export function isWithinReach(principal: Principal, record: AddressRecord): boolean {
  if (principal.role !== "agent") return true;
  return principal.host !== undefined && isSeenBy(principal.host, record);
}
