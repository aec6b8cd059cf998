/**
 * STATUS: whether an ADD on this machine could be served now.
 * May import: core, client, cni. What keeps an ADD from being served is error 50, whatever its own number.
 */

import type { FamilyReadiness } from "../client/wire.ts";
import { err, ok, type Result } from "../core/result.ts";
import { CNI } from "./error-codes.ts";
import { type Failure, failure, failureOfCall } from "./failure.ts";
import { connect, hostOf, type Machine } from "./machine.ts";
import type { Netconf } from "./netconf.ts";

/** Pools of the family exist, and none takes this host by itself. */
const UNSELECTED = "no_pool_selects_host";

/**
 * Asks the service for the readiness of this host and judges the wanted families.
 *
 * Rejects: 50 for a wanted family that is not ready, a service that cannot be asked, a token file.
 * Why: never 51, because pods that run keep their addresses while the service is away. Listed pools are
 * taken whatever their selectors say, so for them a family that no pool selects is no fault.
 */
export async function status(netconf: Netconf, machine: Machine): Promise<Result<string, Failure>> {
  const host = hostOf(netconf, machine);
  if (!host.ok) return host;
  const client = await connect(netconf, machine);
  if (!client.ok) return err(failure(CNI.notAvailable, client.error.msg));
  const answer = await client.value.getHostReadiness(host.value);
  if (!answer.ok) return err(failureOfCall(answer.error, netconf.server, CNI.notAvailable));
  const faults = (["ipv4", "ipv6"] as const).flatMap((name) => {
    const pools = netconf.families[name];
    if (pools === undefined) return [];
    const readiness = answer.value[name];
    const fault = faultOf(name, readiness);
    const isListed = pools.length > 0 && !readiness.wanted && fault.code === UNSELECTED;
    return readiness.ready || isListed ? [] : [fault];
  });
  const [first] = faults;
  if (first === undefined) return ok("");
  const names = faults.map(({ name }) => name).join(" and ");
  return err(
    failure(
      CNI.notAvailable,
      `${first.code} (${CNI.notAvailable}): ${host.value} cannot be given ${names} addresses now. Next: ${first.hint}`,
      faults.map(({ name, code, hint }) => `${name}: ${code}; hint: ${hint}`).join("; "),
    ),
  );
}

function faultOf(name: "ipv4" | "ipv6", readiness: FamilyReadiness) {
  const code = readiness.code ?? (readiness.wanted ? "not_ready" : UNSELECTED);
  return { name, code, hint: readiness.hint ?? `read /docs/errors/${code} of the service.` };
}
