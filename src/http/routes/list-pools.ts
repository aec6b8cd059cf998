/** listPools: pools by name, each with its figures. */
import { mapBounded, OBJECTS_PER_PAGE_MAX } from "../concurrency.ts";
import { operation, reply } from "../operation.ts";
import { pageOf, readPage } from "../paging.ts";
import { storedPolicy } from "../reading/policy.ts";
import { poolWithUsage } from "../reading/pool-usage.ts";
import { components } from "../schemas/components.ts";
import { pageQuery } from "../schemas/parameters.ts";

export const listPools = operation(
  {
    id: "listPools",
    method: "get",
    path: "/v1/pools",
    tag: "pools",
    summary: "List pools",
    query: pageQuery,
    answers: { 200: components.PoolList },
    refusals: [],
    mutates: false,
  },
  async ({ query }, call) => {
    const page = await readPage("listPools", query);
    if (!page.ok) return page.error;
    const policy = await storedPolicy(call);
    const sorted = policy.pools.toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const limit = Math.min(page.value.limit, OBJECTS_PER_PAGE_MAX);
    const { items, ...next } = pageOf(sorted, { ...page.value, limit }, (pool) => pool.name);
    return reply(200, {
      items: await mapBounded(items, (pool) => poolWithUsage(call, policy, pool)),
      ...next,
    });
  },
);
