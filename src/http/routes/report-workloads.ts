/** reportWorkloads: a node agent lists what lives on its host, and hears what is not as it should be. */
import { rejection } from "../../core/errors.ts";
import { WORKLOADS_BODY_BYTES_MAX } from "../../core/limits.ts";
import { isKnownHost } from "../known-hosts.ts";
import { present } from "../omit-absent.ts";
import { operation, reply } from "../operation.ts";
import { reportOnWire } from "../present/leak.ts";
import { components } from "../schemas/components.ts";
import { hostParams } from "../schemas/parameters.ts";

export const reportWorkloads = operation(
  {
    id: "reportWorkloads",
    method: "put",
    path: "/v1/hosts/{host}/workloads",
    tag: "hosts",
    summary: "Report the workloads of a host",
    params: hostParams,
    body: components.WorkloadReport,
    bodyBytesMax: WORKLOADS_BODY_BYTES_MAX,
    answers: { 200: components.ReportResult },
    refusals: ["host_not_found", "report_out_of_order", "incarnation_conflict"],
    mutates: true,
  },
  async ({ params: { host }, body }, call) => {
    if (!(await isKnownHost(call, host))) return rejection("host_not_found", { host });
    const taken = await call.ports.host(host).reportWorkloads({ ...present(body), host });
    if (taken.ok) return reply(200, reportOnWire(taken.value));
    return taken.error.code === "host_unknown" ? rejection("host_not_found", { host }) : taken.error;
  },
);
