/** getUtilization: figures of pools by name, from their directories or, when asked to, from their blocks. */
import type { PoolUsageView } from "../../rpc/pool.ts";
import { mapBounded, OBJECTS_PER_PAGE_MAX } from "../concurrency.ts";
import { operation, reply } from "../operation.ts";
import { invalidCursor, pageOf, readPage } from "../paging.ts";
import { usageOnWire } from "../present/policy.ts";
import { timeText } from "../problems/row.ts";
import { exactUsages, markText, readMark } from "../reading/exact-usage.ts";
import { storedPolicy } from "../reading/policy.ts";
import { usageOfPool } from "../reading/pool-usage.ts";
import { components } from "../schemas/components.ts";
import { utilizationQuery } from "../schemas/parameters.ts";

export const getUtilization = operation(
  {
    id: "getUtilization",
    method: "get",
    path: "/v1/utilization",
    tag: "pools",
    summary: "How full the pools are",
    query: utilizationQuery,
    answers: { 200: components.Utilization },
    refusals: [],
    mutates: false,
  },
  async ({ query }, call) => {
    const read = await readPage("getUtilization", query);
    if (!read.ok) return read.error;
    const page = { ...read.value, limit: Math.min(read.value.limit, OBJECTS_PER_PAGE_MAX) };
    const policy = await storedPolicy(call);
    const pools = policy.pools
      .filter(({ name }) => query.pool === undefined || name === query.pool)
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const asOf = (usages: readonly PoolUsageView[]) =>
      timeText(Math.min(call.now(), ...usages.map((usage) => usage.asOf)));
    if (query.exact === true) {
      const mark = page.after === undefined ? undefined : readMark(page.after);
      if (page.after !== undefined && mark === undefined) return invalidCursor("names no place").error;
      const { usages, next } = await exactUsages(call, policy, pools, mark, page.limit);
      const items = usages.map(({ pool, usage }) => usageOnWire(pool, usage));
      const after = next === undefined ? {} : { nextCursor: page.cursorAfter(markText(next)) };
      return reply(200, { items, ...after, asOf: asOf(usages.map(({ usage }) => usage)) });
    }
    const { items: shown, ...next } = pageOf(pools, page, ({ name }) => name);
    const usages = await mapBounded(shown, async (pool) => ({
      pool,
      usage: await usageOfPool(call, policy, pool),
    }));
    const items = usages.map(({ pool, usage }) => usageOnWire(pool, usage));
    return reply(200, { items, ...next, asOf: asOf(usages.map(({ usage }) => usage)) });
  },
);
