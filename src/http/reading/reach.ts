/**
 * What an agent may see: allocations of its host, or owned by a workload there.
 * May import: core types and http.
 */
import type { AddressRecord } from "../../core/allocation.ts";
import type { Principal } from "../auth.ts";

/** Whether the caller may see an allocation. */
export function isWithinReach(principal: Principal, record: AddressRecord): boolean {
  if (principal.role !== "agent") return true;
  const { host } = principal;
  return [record.host, record.attributes.node, record.alternateAttributes?.node].includes(host);
}
