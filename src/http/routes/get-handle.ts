/** getHandle: what a handle holds; a handle that holds nothing is an empty list. */

import { operation, reply } from "../operation.ts";
import { allocationOnWire } from "../present/allocation.ts";
import { recordsOfHandle } from "../reading/handle-records.ts";
import { leasedPolicy, placedByPolicy } from "../reading/policy.ts";
import { isWithinReach } from "../reading/reach.ts";
import { components } from "../schemas/components.ts";
import { handleParams } from "../schemas/parameters.ts";

export const getHandle = operation(
  {
    id: "getHandle",
    method: "get",
    path: "/v1/handles/{handle}",
    tag: "allocations",
    summary: "Read what a handle holds",
    params: handleParams,
    answers: { 200: components.AllocationList },
    refusals: [],
    mutates: false,
  },
  async ({ params: { handle } }, call) => {
    const policy = await leasedPolicy(call);
    if (!policy.ok) return policy.error;
    const records = await recordsOfHandle(call, policy.value, handle);
    const items = records
      .filter((record) => record.state === "allocated" && isWithinReach(call.principal, record))
      .map((record) => allocationOnWire(placedByPolicy(policy.value, record)));
    return reply(200, { items });
  },
);
