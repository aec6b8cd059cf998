/**
 * DEL: frees whatever an attachment holds, in one call.
 * May import: core, client, cni. It never retries: the runtime does, under the same names.
 */

import type { ReleaseOutcome } from "../client/wire.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Attachment } from "./environment.ts";
import { cniNumberOf } from "./error-codes.ts";
import { type Failure, failure, failureOfCall } from "./failure.ts";
import { identify } from "./identity.ts";
import { connect, type Machine } from "./machine.ts";
import type { Netconf } from "./netconf.ts";

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
  const client = await connect(netconf, machine);
  if (!client.ok) return client;
  const answer = await client.value.release({ handles });
  if (!answer.ok) return err(failureOfCall(answer.error, netconf.server));
  const kept = answer.value.results.find((outcome) => outcome.outcome === "rejected");
  return kept === undefined ? ok("") : err(failureOfRelease(kept));
}

function failureOfRelease(kept: ReleaseOutcome): Failure {
  const code = kept.code ?? "rejected";
  const number = cniNumberOf(code, 409, "");
  return failure(
    number,
    `${code} (${number}): ${kept.address} was not released. Next: read /docs/errors/${code} of the service.`,
  );
}
