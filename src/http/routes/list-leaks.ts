/** listLeaks: addresses that are suspected to be leaked, each with why it is held and when it may go. */
import { operation, reply } from "../operation.ts";
import { leakPage } from "../reading/leak-listing.ts";
import { components } from "../schemas/components.ts";
import { leaksQuery } from "../schemas/parameters.ts";

export const listLeaks = operation(
  {
    id: "listLeaks",
    method: "get",
    path: "/v1/leaks",
    tag: "gc",
    summary: "List suspected leaks",
    query: leaksQuery,
    answers: { 200: components.LeakList },
    refusals: [],
    mutates: false,
  },
  async ({ query }, call) => {
    const listed = await leakPage(call, query);
    return listed.ok ? reply(200, listed.value) : listed.error;
  },
);
