/** release: frees what handles hold, and single addresses; each is judged by itself. */
import type { FieldFault } from "../../core/errors.ts";
import { mapBounded } from "../concurrency.ts";
import { present } from "../omit-absent.ts";
import { operation, reply } from "../operation.ts";
import { releaseOnWire, releaseResultOnWire } from "../present/allocation.ts";
import { leasedPolicy } from "../reading/policy.ts";
import { components } from "../schemas/components.ts";
import { checkGuards, releaseAddresses } from "../writing/release-by-address.ts";
import { releaseByHandle } from "../writing/release-by-handle.ts";

/** Handles that one request releases at a time. */
const HANDLES_AT_ONCE = 8;

/** A release that names nothing is a mistake of its caller. */
function review(body: Record<string, unknown>, faulty: ReadonlySet<string>): FieldFault[] {
  if (["handles", "addresses"].some((name) => Object.hasOwn(body, name) || faulty.has(name))) return [];
  return [{ pointer: "", code: "nothing_requested", message: "must have handles, addresses, or both" }];
}

export const release = operation(
  {
    id: "release",
    method: "post",
    path: "/v1/releases",
    tag: "allocations",
    summary: "Release handles and addresses",
    headers: ["X-Request-Timeout-Ms"],
    body: components.ReleaseRequest,
    answers: { 200: components.ReleaseResult },
    refusals: ["guard_required"],
    mutates: true,
    review,
  },
  async ({ body }, call) => {
    const { handles = [], addresses = [], force = false } = body;
    const items = addresses.map((item) => present(item));
    const refusal = checkGuards(items, force, call.principal);
    if (refusal !== undefined) return refusal;
    const policy = await leasedPolicy(call);
    if (!policy.ok) return policy.error;
    const byHandle = await mapBounded(
      [...new Set(handles)],
      (handle) => releaseByHandle(call, policy.value, handle),
      HANDLES_AT_ONCE,
    );
    const byAddress = await releaseAddresses(call, policy.value, items, force);
    const results = byHandle.flatMap((one) => (one.ok ? one.value : []));
    const failed = byHandle.find((one) => !one.ok);
    if (failed !== undefined && !failed.ok) return failed.error;
    return reply(200, releaseResultOnWire([...results, ...byAddress.map(releaseOnWire)]));
  },
);
