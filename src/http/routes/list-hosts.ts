/** listHosts: registered hosts by name, each as it sees itself. */
import { mapBounded, OBJECTS_PER_PAGE_MAX } from "../concurrency.ts";
import { operation, reply } from "../operation.ts";
import { readPage } from "../paging.ts";
import { hostOnWire } from "../present/host.ts";
import { components } from "../schemas/components.ts";
import { hostsQuery } from "../schemas/parameters.ts";

export const listHosts = operation(
  {
    id: "listHosts",
    method: "get",
    path: "/v1/hosts",
    tag: "hosts",
    summary: "List hosts",
    query: hostsQuery,
    answers: { 200: components.HostList },
    refusals: [],
    mutates: false,
  },
  async ({ query }, call) => {
    const page = await readPage("listHosts", query);
    if (!page.ok) return page.error;
    const { after, limit, cursorAfter } = page.value;
    const listed = await call.ports.cluster().listHosts({
      limit: Math.min(limit, OBJECTS_PER_PAGE_MAX),
      ...(after === undefined ? {} : { after }),
    });
    const registered = listed.hosts.filter((entry) => entry.registered);
    const answers = await mapBounded(registered, ({ host }) => {
      return call.ports.host(host).describe({ host, asKnown: true });
    });
    const items = answers
      .flatMap(({ view }) => (view === undefined ? [] : [hostOnWire(view)]))
      .filter(({ state }) => query.state === undefined || state === query.state)
      .filter(({ report }) => query.report === undefined || report.state === query.report);
    const next = listed.next === undefined ? {} : { nextCursor: cursorAfter(listed.next) };
    return reply(200, { items, ...next });
  },
);
