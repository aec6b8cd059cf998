/** releaseHandle: frees all that a handle holds; never 404, so that it may be repeated. */
import { operation, reply } from "../operation.ts";
import { releaseResultOnWire } from "../present/allocation.ts";
import { leasedPolicy } from "../reading/policy.ts";
import { components } from "../schemas/components.ts";
import { handleParams } from "../schemas/parameters.ts";
import { releaseByHandle } from "../writing/release-by-handle.ts";

export const releaseHandle = operation(
  {
    id: "releaseHandle",
    method: "delete",
    path: "/v1/handles/{handle}",
    tag: "allocations",
    summary: "Release what a handle holds",
    params: handleParams,
    answers: { 200: components.ReleaseResult },
    refusals: [],
    mutates: true,
  },
  async ({ params: { handle } }, call) => {
    const policy = await leasedPolicy(call);
    if (!policy.ok) return policy.error;
    const released = await releaseByHandle(call, policy.value, handle);
    return released.ok ? reply(200, releaseResultOnWire(released.value)) : released.error;
  },
);
