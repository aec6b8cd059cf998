/** listRoutes: where packets to each confirmed block and each borrowed address go; may wait for a change. */
import { operation, reply } from "../operation.ts";
import { readPage } from "../paging.ts";
import { timeText } from "../problems/row.ts";
import { readRoutePage, readRouteState, waitForRoutes } from "../reading/route-feed.ts";
import { components } from "../schemas/components.ts";
import { routesQuery } from "../schemas/parameters.ts";

/** Milliseconds before the caller's deadline at which a wait ends, so that the answer still gets there. */
const DEADLINE_MARGIN_MS = 200;

export const listRoutes = operation(
  {
    id: "listRoutes",
    method: "get",
    path: "/v1/routes",
    tag: "blocks",
    summary: "List routes",
    query: routesQuery,
    headers: ["If-None-Match"],
    answers: { 200: components.RouteList, 304: null },
    refusals: [],
    mutates: false,
  },
  async ({ query, headers: { unlessTag } }, call) => {
    const { waitSeconds = 0, ...filters } = query;
    const page = await readPage("listRoutes", filters);
    if (!page.ok) return page.error;
    let state = await readRouteState(call, query, page.value);
    if (!state.ok) return state.error;
    const until = (call.deadlineAt ?? Number.POSITIVE_INFINITY) - DEADLINE_MARGIN_MS;
    const waitMs = Math.min(waitSeconds * 1000, until - call.now());
    if (state.value.etag === unlessTag && waitMs > 0) {
      await waitForRoutes(call, state.value, waitMs);
      state = await readRouteState(call, query, page.value);
      if (!state.ok) return state.error;
    }
    const { etag, revision, asOf } = state.value;
    if (etag === unlessTag) return { status: 304 as const, etag };
    const { items, next } = await readRoutePage(call, state.value, query, page.value);
    const body = {
      items: items.map(({ pool, ...route }) => {
        return { ...route, family: pool.cidr.family, pool: pool.definition.name };
      }),
      revision,
      ...(next === undefined ? {} : { nextCursor: next }),
      asOf: timeText(asOf),
    };
    return { ...reply(200, body), etag };
  },
);
