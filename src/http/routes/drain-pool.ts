/** drainPool: takes a pool out of use; it goes by itself when its last address has gone and cooled. */
import { operation, reply } from "../operation.ts";
import { storedPolicy } from "../reading/policy.ts";
import { poolWithUsage } from "../reading/pool-usage.ts";
import { components } from "../schemas/components.ts";
import { poolParams } from "../schemas/parameters.ts";
import { guardOf } from "../writing/preconditions.ts";

export const drainPool = operation(
  {
    id: "drainPool",
    method: "delete",
    path: "/v1/pools/{pool}",
    tag: "pools",
    summary: "Drain a pool, and remove it when it is empty",
    params: poolParams,
    headers: ["If-Match"],
    answers: { 202: components.Pool },
    refusals: ["pool_not_found", "revision_mismatch", "already_exists"],
    mutates: true,
  },
  async ({ params, headers }, call) => {
    const request = { ...guardOf(headers, call), name: params.pool };
    const drained = await call.ports.cluster().drainPool(request);
    if (!drained.ok) return drained.error;
    const { value, gone } = drained.value;
    const answer = await poolWithUsage(call, await storedPolicy(call), value);
    return reply(202, gone ? { ...answer, state: "deleted" } : answer, value.revision);
  },
);
