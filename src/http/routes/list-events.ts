/** listEvents: what happened lately, newest first: changes by whom, refusals in aggregates. */

import { present } from "../omit-absent.ts";
import { operation, reply } from "../operation.ts";
import { invalidCursor, readPage } from "../paging.ts";
import { eventOnWire } from "../present/event.ts";
import { components } from "../schemas/components.ts";
import { eventsQuery } from "../schemas/parameters.ts";

export const listEvents = operation(
  {
    id: "listEvents",
    method: "get",
    path: "/v1/events",
    tag: "operations",
    summary: "List what happened lately",
    query: eventsQuery,
    answers: { 200: components.EventList },
    refusals: [],
    mutates: false,
  },
  async ({ query }, call) => {
    const page = await readPage("listEvents", query);
    if (!page.ok) return page.error;
    const { after, limit, cursorAfter } = page.value;
    if (after !== undefined && !/^[1-9][0-9]{0,14}$/.test(after)) {
      return invalidCursor("names no event").error;
    }
    const { limit: _limit, cursor: _cursor, ...filter } = query;
    const listed = await call.ports.cluster().listEvents({
      ...present(filter),
      limit,
      ...(after === undefined ? {} : { before: Number(after) }),
    });
    const next = listed.next === undefined ? {} : { nextCursor: cursorAfter(String(listed.next)) };
    return reply(200, { items: listed.events.map(eventOnWire), ...next });
  },
);
