/** getHealth: says that the process answers; asks no object. */
import { operation, reply } from "../operation.ts";
import { components } from "../schemas/components.ts";

export const getHealth = operation(
  {
    id: "getHealth",
    method: "get",
    path: "/healthz",
    tag: "system",
    summary: "Whether the process answers",
    answers: { 200: components.Health },
    refusals: [],
    mutates: false,
  },
  async () => reply(200, { ok: true }),
);
