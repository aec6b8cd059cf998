/**
 * What a policy write is bound to: the revision it was decided on, and who writes.
 * May import: rpc types and http.
 */
import type { Author, WriteGuard } from "../../rpc/cluster.ts";
import type { Call } from "../operation.ts";
import type { HeaderValues } from "../schemas/headers.ts";

/** Names the caller and the request. */
export function authorOf({ principal, requestId }: Call): Required<Author> {
  return { by: principal.subject, requestId };
}

/** Reads If-Match and If-None-Match, and names the caller. */
export function guardOf({ ifRevision, mustNotExist }: HeaderValues, call: Call): WriteGuard {
  return {
    ...authorOf(call),
    ...(ifRevision === undefined ? {} : { ifRevision }),
    ...(mustNotExist === undefined ? {} : { mustNotExist }),
  };
}
