/** listAllocations: allocations by address, found through a handle, a block, a host or the pools. */
import { operation, reply } from "../operation.ts";
import { listAllocationPage } from "../reading/allocation-listing.ts";
import { components } from "../schemas/components.ts";
import { allocationsQuery } from "../schemas/parameters.ts";

export const listAllocations = operation(
  {
    id: "listAllocations",
    method: "get",
    path: "/v1/allocations",
    tag: "allocations",
    summary: "List allocations",
    query: allocationsQuery,
    answers: { 200: components.AllocationList },
    refusals: [],
    mutates: false,
  },
  async ({ query }, call) => {
    const listed = await listAllocationPage(call, query);
    return listed.ok ? reply(200, listed.value) : listed.error;
  },
);
