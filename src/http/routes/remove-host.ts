/** removeHost: declares a host gone; its blocks are given back, its addresses stay until they are released. */
import { rejection } from "../../core/errors.ts";
import { isKnownHost } from "../known-hosts.ts";
import { operation, reply } from "../operation.ts";
import { hostOnWire } from "../present/host.ts";
import { components } from "../schemas/components.ts";
import { hostParams } from "../schemas/parameters.ts";
import { authorOf } from "../writing/preconditions.ts";

export const removeHost = operation(
  {
    id: "removeHost",
    method: "delete",
    path: "/v1/hosts/{host}",
    tag: "hosts",
    summary: "Remove a host",
    params: hostParams,
    answers: { 202: components.Host },
    refusals: ["host_not_found"],
    mutates: true,
  },
  async ({ params: { host } }, call) => {
    if (!(await isKnownHost(call, host))) return rejection("host_not_found", { host });
    const { view } = await call.ports.host(host).remove({ host, author: authorOf(call) });
    if (view === undefined) return rejection("host_not_found", { host });
    return reply(202, hostOnWire(view), view.revision);
  },
);
