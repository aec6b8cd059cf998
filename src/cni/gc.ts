/**
 * GC: tells the service which containers the runtime still has on the network, so that the rest can be collected.
 * May import: core, client, cni. Rule: a list that is not whole is not sent; what it leaves out counts as gone.
 */
import { VALID_HANDLES_MAX } from "../core/limits.ts";
import { err, ok, type Result } from "../core/result.ts";
import { NAME_PATTERN } from "./environment.ts";
import { CNI } from "./error-codes.ts";
import { type Failure, failure, failureOfCall } from "./failure.ts";
import { handleOf } from "./identity.ts";
import { connect, hostOf, type Machine } from "./machine.ts";
import { isFields, type Netconf, VALID_ATTACHMENTS } from "./netconf.ts";

/**
 * Sends the handles of all valid attachments; what the service holds back meanwhile is no failure.
 *
 * Rejects: 7 without the list, with an element that names no container, or with too many containers.
 * Why: nothing goes at once. The service frees a handle when it was left out twice, a grace period apart,
 * and is still left out after that; so a GC may be repeated, and may race with an ADD.
 */
export async function gc(netconf: Netconf, machine: Machine): Promise<Result<string, Failure>> {
  const { network } = netconf;
  const validHandles = handlesOf(netconf);
  if (!validHandles.ok) return validHandles;
  const host = hostOf(netconf, machine);
  if (!host.ok) return host;
  const client = await connect(netconf, machine);
  if (!client.ok) return client;
  const request = { network, validHandles: validHandles.value };
  const answer = await client.value.collectAttachments(host.value, request);
  return answer.ok ? ok("") : err(failureOfCall(answer.error, netconf.server));
}

/** Reads the list. Shape: one handle per container, whatever number of interfaces it has on the network. */
function handlesOf({ network, validAttachments }: Netconf): Result<string[], Failure> {
  if (!Array.isArray(validAttachments)) {
    return invalid("must be a list; without one nothing is collected, as it would mean that none is valid");
  }
  const handles = new Set<string>();
  for (const [index, attachment] of validAttachments.entries()) {
    const containerId = isFields(attachment) ? attachment.containerID : undefined;
    if (typeof containerId !== "string" || !NAME_PATTERN.test(containerId)) {
      return invalid(`must name a container in containerID at index ${index}`);
    }
    const handle = handleOf(network, containerId);
    if (!handle.ok) return handle;
    handles.add(handle.value);
  }
  if (handles.size > VALID_HANDLES_MAX) {
    return invalid(`has ${handles.size} containers, more than ${VALID_HANDLES_MAX}; nothing was collected`);
  }
  return ok([...handles]);
}

function invalid(rule: string): Result<never, Failure> {
  return err(failure(CNI.invalidConfiguration, `invalid configuration: ${VALID_ATTACHMENTS} ${rule}`));
}
