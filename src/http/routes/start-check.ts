/** startCheck: compares blocks, index, directories and hosts, and mends what differs if it is asked to. */
import { rejection } from "../../core/errors.ts";
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
    const { repair = false, pool } = body;
    const { pools } = await storedPolicy(call);
    if (pool !== undefined && !pools.some(({ name }) => name === pool)) {
      const fault = { pointer: "/pool", code: "out_of_range", message: "names no pool" } as const;
      return rejection("invalid_request", { errors: [fault] });
    }
    const started = await call.ports.sweep().startCheck({
      ...present(body),
      repair,
      by: call.principal.subject,
      requestId: call.requestId,
    });
    return started.ok ? reply(202, checkOnWire(started.value, [])) : started.error;
  },
);
