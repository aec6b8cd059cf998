/**
 * ADD and DEL: one call to the service each, and what its answer means to the runtime.
 * May import: core, client, cni. Neither retries: the runtime does, under the same names.
 */

import { type Client, createClient } from "../client/client.ts";
import type { AllocationRequest, ReleaseOutcome } from "../client/wire.ts";
import { err, ok, type Result } from "../core/result.ts";
import { renderResult } from "./cni-result.ts";
import type { Attachment } from "./environment.ts";
import { CNI, cniNumberOf } from "./error-codes.ts";
import { type Failure, failure, failureOfCall } from "./failure.ts";
import { type Identity, identify } from "./identity.ts";
import { isHostName, type Netconf } from "./netconf.ts";

/** What a command needs of the machine, besides its input. */
export interface Machine {
  readonly hostname: () => string;
  readonly fetch: typeof fetch;
}

/**
 * Gets the attachment's addresses and renders them.
 *
 * Invariant: a repeated ADD sends the same key and body, so it gets the same addresses (I13).
 */
export async function add(
  netconf: Netconf,
  attachment: Attachment,
  machine: Machine,
): Promise<Result<string, Failure>> {
  if (netconf.asksForAddress || attachment.args.ip !== undefined) {
    return err(
      failure(CNI.invalidConfiguration, "an exact address (IP in CNI_ARGS, or ips) cannot be asked for yet"),
    );
  }
  const identity = identify(netconf.network, attachment);
  if (!identity.ok) return identity;
  const host = netconf.host ?? machine.hostname().trim().toLowerCase();
  if (!isHostName(host)) {
    return err(
      failure(
        CNI.invalidConfiguration,
        "invalid configuration: ipam.host is absent and the machine has no name",
      ),
    );
  }
  const answer = await clientOf(netconf, machine).allocate(
    requestOf(netconf, identity.value, host),
    identity.value.idempotencyKey,
  );
  if (!answer.ok) return err(failureOfCall(answer.error, netconf.server));
  const { allocations } = answer.value;
  const short = (["ipv4", "ipv6"] as const).filter(
    (name) =>
      netconf.families[name] !== undefined &&
      !allocations.some((allocation) => allocation.family === (name === "ipv4" ? 4 : 6)),
  );
  if (short.length > 0) {
    return err(
      failure(
        CNI.tryAgainLater,
        `unexpected_answer (${CNI.tryAgainLater}): ${netconf.server} accepted the request without ${short.join(", ")}. ` +
          "Next: delete the attachment, then try again.",
      ),
    );
  }
  return ok(renderResult(netconf, allocations));
}

/**
 * Frees whatever the attachment holds; nothing held is success.
 *
 * Rejects: an address that the service would not release, as its code says.
 * Why: the second handle is the one that imported allocations of the same pod or container carry.
 */
export async function del(
  netconf: Netconf,
  attachment: Attachment,
  machine: Machine,
): Promise<Result<string, Failure>> {
  const identity = identify(netconf.network, attachment);
  if (!identity.ok) return identity;
  const { handle, workloadId } = identity.value;
  const handles = workloadId === undefined ? [handle] : [handle, workloadId];
  const answer = await clientOf(netconf, machine).release({ handles });
  if (!answer.ok) return err(failureOfCall(answer.error, netconf.server));
  const kept = answer.value.results.find((outcome) => outcome.outcome === "rejected");
  return kept === undefined ? ok("") : err(failureOfRelease(kept));
}

function clientOf(netconf: Netconf, machine: Machine): Client {
  const { server, token, timeoutMs } = netconf;
  return createClient({ server, timeoutMs, fetch: machine.fetch, ...(token === undefined ? {} : { token }) });
}

function requestOf(netconf: Netconf, identity: Identity, host: string): AllocationRequest {
  const request: AllocationRequest = {
    host,
    handle: identity.handle,
    attributes: { ...identity.attributes },
  };
  for (const name of ["ipv4", "ipv6"] as const) {
    const pools = netconf.families[name];
    if (pools !== undefined)
      request[name] = { count: 1, ...(pools.length === 0 ? {} : { pools: [...pools] }) };
  }
  if (identity.namespace !== undefined) request.namespace = { name: identity.namespace };
  return request;
}

function failureOfRelease(kept: ReleaseOutcome): Failure {
  const code = kept.code ?? "rejected";
  const number = cniNumberOf(code, 409, "");
  return failure(
    number,
    `${code} (${number}): ${kept.address} was not released. Next: read /docs/errors/${code} of the service.`,
  );
}
