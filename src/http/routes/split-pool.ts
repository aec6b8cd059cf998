/** splitPool: cuts a pool without blocks into equal parts, all at once or not at all. */
import { operation, reply } from "../operation.ts";
import { poolOnWire } from "../present/policy.ts";
import { storedPolicy } from "../reading/policy.ts";
import { unusedUsage } from "../reading/pool-usage.ts";
import { components } from "../schemas/components.ts";
import { poolParams } from "../schemas/parameters.ts";

export const splitPool = operation(
  {
    id: "splitPool",
    method: "post",
    path: "/v1/pools/{pool}/splits",
    tag: "pools",
    summary: "Split a pool into equal parts",
    params: poolParams,
    headers: ["Idempotency-Key"],
    body: components.SplitRequest,
    answers: { 201: components.PoolList },
    refusals: ["pool_not_found", "pool_draining", "block_not_empty"],
    mutates: true,
  },
  async ({ params, headers, body }, call) => {
    const { idempotencyKey: key } = headers;
    const request = { by: call.principal.subject, name: params.pool, parts: body.parts };
    const split = await call.ports.cluster().splitPool(key === undefined ? request : { ...request, key });
    if (!split.ok) return split.error;
    const policy = await storedPolicy(call);
    const now = call.now();
    const items = split.value.map((part) => poolOnWire(part, unusedUsage(policy, part, now)));
    return reply(201, { items });
  },
);
