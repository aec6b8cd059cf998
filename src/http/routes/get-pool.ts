/** getPool: one pool with its figures. */
import { rejection } from "../../core/errors.ts";
import { operation, reply } from "../operation.ts";
import { storedPolicy } from "../reading/policy.ts";
import { poolWithUsage } from "../reading/pool-usage.ts";
import { components } from "../schemas/components.ts";
import { poolParams } from "../schemas/parameters.ts";

export const getPool = operation(
  {
    id: "getPool",
    method: "get",
    path: "/v1/pools/{pool}",
    tag: "pools",
    summary: "Read a pool",
    params: poolParams,
    answers: { 200: components.Pool },
    refusals: ["pool_not_found"],
    mutates: false,
  },
  async ({ params }, call) => {
    const policy = await storedPolicy(call);
    const pool = policy.pools.find(({ name }) => name === params.pool);
    if (pool === undefined) return rejection("pool_not_found", { pool: params.pool });
    return reply(200, await poolWithUsage(call, policy, pool), pool.revision);
  },
);
