/** updatePool: changes fields of a pool; `draining: false` ends a drain. */
import { operation, reply } from "../operation.ts";
import { storedPolicy } from "../reading/policy.ts";
import { poolWithUsage } from "../reading/pool-usage.ts";
import { components } from "../schemas/components.ts";
import { poolParams } from "../schemas/parameters.ts";
import { guardOf } from "../writing/preconditions.ts";

export const updatePool = operation(
  {
    id: "updatePool",
    method: "patch",
    path: "/v1/pools/{pool}",
    tag: "pools",
    summary: "Change a pool",
    params: poolParams,
    headers: ["If-Match"],
    body: components.PoolPatch,
    answers: { 200: components.Pool },
    refusals: [
      "pool_not_found",
      "pool_field_immutable",
      "pool_draining",
      "revision_mismatch",
      "already_exists",
    ],
    mutates: true,
  },
  async ({ params, headers, body }, call) => {
    const request = { ...guardOf(headers, call), name: params.pool, patch: body };
    const written = await call.ports.cluster().patchPool(request);
    if (!written.ok) return written.error;
    const answer = await poolWithUsage(call, await storedPolicy(call), written.value);
    return reply(200, answer, written.value.revision);
  },
);
