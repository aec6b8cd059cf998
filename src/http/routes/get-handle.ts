/** getHandle: what a handle holds; a handle that holds nothing is an empty list. */
import { parseAddress } from "../../core/address.ts";
import { operation, reply } from "../operation.ts";
import { invalidCursor, readPage } from "../paging.ts";
import { allocationOnWire } from "../present/allocation.ts";
import { readHandle } from "../reading/handle-records.ts";
import { leasedPolicy, placedByPolicy } from "../reading/policy.ts";
import { components } from "../schemas/components.ts";
import { cursorQuery, handleParams } from "../schemas/parameters.ts";

export const getHandle = operation(
  {
    id: "getHandle",
    method: "get",
    path: "/v1/handles/{handle}",
    tag: "allocations",
    summary: "Read what a handle holds",
    params: handleParams,
    query: cursorQuery,
    answers: { 200: components.AllocationList },
    refusals: [],
    mutates: false,
  },
  async ({ params: { handle }, query }, call) => {
    const page = await readPage("getHandle", { ...query, handle });
    if (!page.ok) return page.error;
    const { after, cursorAfter } = page.value;
    if (after !== undefined && !parseAddress(after).ok) return invalidCursor("names no address").error;
    const policy = await leasedPolicy(call);
    if (!policy.ok) return policy.error;
    const { items, end } = await readHandle(call, policy.value, handle, page.value);
    return reply(200, {
      items: items.map((record) => allocationOnWire(placedByPolicy(policy.value, record))),
      ...(end === undefined ? {} : { nextCursor: cursorAfter(end) }),
    });
  },
);
