/**
 * What a policy write is bound to: the revision it was decided on, and who writes.
 * May import: rpc types and http.
 */
import type { WriteGuard } from "../../rpc/cluster.ts";
import type { Call } from "../operation.ts";
import type { HeaderValues } from "../schemas/headers.ts";

/** Reads If-Match and If-None-Match, and names the caller. */
export function guardOf(
  { ifRevision, mustNotExist }: HeaderValues,
  { principal, requestId }: Call,
): WriteGuard {
  return {
    by: principal.subject,
    requestId,
    ...(ifRevision === undefined ? {} : { ifRevision }),
    ...(mustNotExist === undefined ? {} : { mustNotExist }),
  };
}
