/**
 * ADD: one call to the service, and what its answer means to the runtime.
 * May import: core, client, cni. Only a key of the past is followed by the next; the runtime repeats the rest.
 */

import type { Client } from "../client/client.ts";
import type { CallFailure } from "../client/transport.ts";
import type { Allocation, AllocationRequest } from "../client/wire.ts";
import { err, ok, type Result } from "../core/result.ts";
import { renderResult } from "./cni-result.ts";
import type { Attachment } from "./environment.ts";
import { CNI, cniNumberOf } from "./error-codes.ts";
import { type Failure, failure, failureOfCall } from "./failure.ts";
import { type Identity, identify } from "./identity.ts";
import { connect, hostOf, type Machine } from "./machine.ts";
import type { Netconf } from "./netconf.ts";

/**
 * Gets the attachment's addresses and renders them.
 *
 * Invariant: a repeated ADD sends the same keys and body, so it gets the same addresses (I13).
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
  const host = hostOf(netconf, machine);
  if (!host.ok) return host;
  const allocations = await allocate(netconf, identity.value, host.value, machine);
  if (!allocations.ok) return allocations;
  const short = (["ipv4", "ipv6"] as const).filter(
    (name) =>
      netconf.families[name] !== undefined &&
      !allocations.value.some((allocation) => allocation.family === (name === "ipv4" ? 4 : 6)),
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
  return ok(renderResult(netconf, allocations.value));
}

/**
 * Asks under the first key that no DEL has ended, within one time limit for all.
 *
 * Why: a DEL spends the key, and CNI allows an ADD after it. The keys are the same for every ADD: one whose
 * answer was lost meets the same spent keys again and then finds what it got.
 */
async function allocate(
  netconf: Netconf,
  identity: Identity,
  host: string,
  machine: Machine,
): Promise<Result<Allocation[], Failure>> {
  const request = requestOf(netconf, identity, host);
  const startedAt = performance.now();
  let leftMs = netconf.timeoutMs;
  for (const key of identity.idempotencyKeys) {
    const client = await connect(netconf, machine, leftMs);
    if (!client.ok) return client;
    const answer = await client.value.allocate(request, key);
    if (answer.ok) return ok(answer.value.allocations);
    if (!(await isEnded(answer.error, client.value, identity.handle))) {
      return err(failureOfCall(answer.error, netconf.server));
    }
    leftMs = Math.max(1, netconf.timeoutMs - Math.ceil(performance.now() - startedAt));
  }
  return err(allSpent(identity));
}

/**
 * Says whether a DEL has ended what this key stood for.
 *
 * Why: after a change of the configuration a spent key is refused as one with another body, and so is one
 * that is still held: only a handle that holds nothing may go on to the next key.
 */
async function isEnded(call: CallFailure, client: Client, handle: string): Promise<boolean> {
  if (call.kind !== "refused") return false;
  if (call.problem.code === "idempotency_key_released") return true;
  if (call.problem.code !== "idempotency_key_reused") return false;
  const held = await client.getHandle(handle);
  return held.ok && held.value.items.length === 0 && held.value.nextCursor === undefined;
}

function allSpent({ handle, idempotencyKeys }: Identity): Failure {
  const number = cniNumberOf("idempotency_key_released", 409, "no");
  return failure(
    number,
    `idempotency_key_released (${number}): ${handle} was added and deleted ${idempotencyKeys.length} times ` +
      "within the time for which the service remembers a key. " +
      "Next: wait ten minutes, or use a new container ID.",
  );
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
