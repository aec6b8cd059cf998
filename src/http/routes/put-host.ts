/** putHost: registers a host with its labels, or again. */
import { noteKnownHost } from "../known-hosts.ts";
import { operation, reply } from "../operation.ts";
import { hostOnWire } from "../present/host.ts";
import { components } from "../schemas/components.ts";
import { hostParams } from "../schemas/parameters.ts";
import { authorOf } from "../writing/preconditions.ts";

export const putHost = operation(
  {
    id: "putHost",
    method: "put",
    path: "/v1/hosts/{host}",
    tag: "hosts",
    summary: "Register a host",
    params: hostParams,
    body: components.HostSpec,
    answers: { 200: components.Host, 201: components.Host },
    refusals: ["incarnation_conflict"],
    mutates: true,
  },
  async ({ params: { host }, body }, call) => {
    const { labels, incarnation } = body;
    const author = authorOf(call);
    const request = { host, labels, author, ...(incarnation === undefined ? {} : { incarnation }) };
    const registered = await call.ports.host(host).register(request);
    if (!registered.ok) return registered.error;
    noteKnownHost(call.ports, host);
    const { created, view } = registered.value;
    return reply(created ? 201 : 200, hostOnWire(view), view.revision);
  },
);
