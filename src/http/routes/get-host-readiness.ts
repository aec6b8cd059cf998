/** getHostReadiness: whether a host could get an address of each family now; 200 also when it could not. */
import { rejection } from "../../core/errors.ts";
import type { FamilyReadinessView } from "../../rpc/host.ts";
import { isKnownHost } from "../known-hosts.ts";
import { operation, reply } from "../operation.ts";
import { problemBody } from "../problem.ts";
import type { HintContext } from "../problems/row.ts";
import { timeText } from "../problems/row.ts";
import { components, type Wire } from "../schemas/components.ts";
import { hostParams } from "../schemas/parameters.ts";

export const getHostReadiness = operation(
  {
    id: "getHostReadiness",
    method: "get",
    path: "/v1/hosts/{host}/readiness",
    tag: "hosts",
    summary: "Whether a host could get an address now",
    params: hostParams,
    answers: { 200: components.HostReadiness },
    refusals: ["host_not_found"],
    mutates: false,
  },
  async ({ params: { host } }, call) => {
    if (!(await isKnownHost(call, host))) return rejection("host_not_found", { host });
    const { view } = await call.ports.host(host).readiness({ host });
    if (view === undefined) return rejection("host_not_found", { host });
    const strictAffinity = call.policy.peek()?.config.strictAffinity;
    const context = strictAffinity === undefined ? {} : { strictAffinity };
    const { ready, ipv4, ipv6, asOf } = view;
    return reply(200, {
      host,
      ready,
      ipv4: familyOnWire(ipv4, context),
      ipv6: familyOnWire(ipv6, context),
      asOf: timeText(asOf),
    });
  },
);

/** Writes one family; code and hint are those of the refusal that an allocation would meet. */
function familyOnWire(view: FamilyReadinessView, context: HintContext): Wire["FamilyReadiness"] {
  const { refusal, ...rest } = view;
  if (refusal === undefined) return rest;
  const { code, hint } = problemBody(refusal, "", context);
  return { ...rest, code, ...(hint === undefined ? {} : { hint }) };
}
