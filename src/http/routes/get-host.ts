/** getHost: one host as it sees itself. */
import { rejection } from "../../core/errors.ts";
import { isKnownHost } from "../known-hosts.ts";
import { operation, reply } from "../operation.ts";
import { hostOnWire } from "../present/host.ts";
import { components } from "../schemas/components.ts";
import { hostParams } from "../schemas/parameters.ts";

export const getHost = operation(
  {
    id: "getHost",
    method: "get",
    path: "/v1/hosts/{host}",
    tag: "hosts",
    summary: "Read a host",
    params: hostParams,
    answers: { 200: components.Host },
    refusals: ["host_not_found"],
    mutates: false,
  },
  async ({ params: { host } }, call) => {
    if (!(await isKnownHost(call, host))) return rejection("host_not_found", { host });
    const { view } = await call.ports.host(host).describe({ host });
    if (view === undefined) return rejection("host_not_found", { host });
    return reply(200, hostOnWire(view), view.revision);
  },
);
