/** startCheck: compares blocks, index, directories and hosts, and mends what differs if it is asked to. */
import { type FieldFault, rejection } from "../../core/errors.ts";
import { isKnownHost } from "../known-hosts.ts";
import { present } from "../omit-absent.ts";
import { operation, reply } from "../operation.ts";
import { checkOnWire } from "../present/check.ts";
import { storedPolicy } from "../reading/policy.ts";
import { components } from "../schemas/components.ts";

export const startCheck = operation(
  {
    id: "startCheck",
    method: "post",
    path: "/v1/checks",
    tag: "operations",
    summary: "Check that all records agree, and repair them",
    body: components.CheckRequest,
    answers: { 202: components.Check },
    refusals: ["check_running"],
    mutates: true,
  },
  async ({ body }, call) => {
    const { repair = false, pool, host } = body;
    const { pools } = await storedPolicy(call);
    const errors: FieldFault[] = [];
    if (pool !== undefined && !pools.some(({ name }) => name === pool)) {
      errors.push({ pointer: "/pool", code: "out_of_range", message: "names no pool" });
    }
    if (host !== undefined && !(await isKnownHost(call, host))) {
      errors.push({ pointer: "/host", code: "out_of_range", message: "names no host that ever was" });
    }
    if (errors.length > 0) return rejection("invalid_request", { errors });
    const started = await call.ports.sweep().startCheck({
      ...present(body),
      repair,
      by: call.principal.subject,
      requestId: call.requestId,
    });
    return started.ok ? reply(202, checkOnWire(started.value, [])) : started.error;
  },
);
