/**
 * Whether a policy lease is to be had soon: what readiness stands on.
 * May import: rpc and http.
 */
import type { LeasedPolicy } from "../../rpc/policy-source.ts";
import type { Call } from "../operation.ts";

/** Milliseconds within which a lease must be had. */
const LEASE_WITHIN_MS = 2_000;

/**
 * Takes a lease, or gives up after 2 s.
 * Why: a lease needs a horizon that Cluster has stored lately; it shows that the storage takes writes too.
 */
export async function leaseSoon(call: Call): Promise<LeasedPolicy | undefined> {
  const answered = new AbortController();
  const late = call.sleep(LEASE_WITHIN_MS, answered.signal).catch(() => undefined);
  const lease = call.policy.current(call.now()).catch(() => undefined);
  const leased = (await Promise.race([lease, late])) ?? undefined;
  answered.abort();
  return leased;
}
