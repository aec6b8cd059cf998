/** getReady: whether the service can do its work now; never depends on pools or hosts. */
import { rejection } from "../../core/errors.ts";
import { operation, reply } from "../operation.ts";
import { leaseSoon } from "../reading/lease.ts";
import { components } from "../schemas/components.ts";

export const getReady = operation(
  {
    id: "getReady",
    method: "get",
    path: "/readyz",
    tag: "system",
    summary: "Whether the service can do its work now",
    answers: { 200: components.Ready },
    refusals: ["not_ready", "auth_not_configured"],
    mutates: false,
  },
  async (_input, call) => {
    if (!call.isAuthConfigured) return rejection("auth_not_configured", {});
    const leased = await leaseSoon(call);
    if (leased === undefined) return rejection("not_ready", { check: "policy_lease" });
    const checks = [
      { name: "credentials", ok: true },
      { name: "policy_lease", ok: true, detail: `policy version ${leased.policy.version}` },
    ];
    return reply(200, { ready: true, checks });
  },
);
