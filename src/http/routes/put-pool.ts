/** putPool: makes or replaces a pool; answers when every later allocation obeys. */
import { definePool, type PoolSpec } from "../../core/pool.ts";
import { operation, reply } from "../operation.ts";
import { storedPolicy } from "../reading/policy.ts";
import { poolWithUsage } from "../reading/pool-usage.ts";
import { components } from "../schemas/components.ts";
import { poolParams } from "../schemas/parameters.ts";
import { guardOf } from "../writing/preconditions.ts";

/** Faults that only the pool's own rules know; the object that stores it checks them again. */
function review(body: Record<string, unknown>) {
  if (typeof body.cidr !== "string") return [];
  const trial = { now: 0, by: "", incarnation: 0 };
  const defined = definePool("reviewed", body as unknown as PoolSpec, [], trial);
  if (defined.ok || defined.error.code !== "invalid_request") return [];
  // Without a block size an existing pool keeps its own, which is not known here.
  const isSizeOpen = (body.blockSize ?? 0) === 0;
  return defined.error.evidence.errors.filter(({ code }) => !(isSizeOpen && code === "block_size"));
}

export const putPool = operation(
  {
    id: "putPool",
    method: "put",
    path: "/v1/pools/{pool}",
    tag: "pools",
    summary: "Make or replace a pool",
    params: poolParams,
    headers: ["If-Match", "If-None-Match"],
    body: components.PoolSpec,
    answers: { 200: components.Pool, 201: components.Pool },
    refusals: [
      "pool_overlap",
      "pool_field_immutable",
      "pool_draining",
      "revision_mismatch",
      "already_exists",
    ],
    mutates: true,
    review,
  },
  async ({ params, headers, body }, call) => {
    const request = { ...guardOf(headers, call), name: params.pool, spec: body };
    const written = await call.ports.cluster().putPool(request);
    if (!written.ok) return written.error;
    const { created, value } = written.value;
    const answer = await poolWithUsage(call, await storedPolicy(call), value);
    return reply(created ? 201 : 200, answer, value.revision);
  },
);
