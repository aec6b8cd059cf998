/** acknowledgeBreaker: an operator has looked, and lets pass what was due when the breaker opened. */
import { operation, reply } from "../operation.ts";
import { gcOnWire } from "../present/gc.ts";
import { components } from "../schemas/components.ts";
import { authorOf } from "../writing/preconditions.ts";

export const acknowledgeBreaker = operation(
  {
    id: "acknowledgeBreaker",
    method: "post",
    path: "/v1/gc/acknowledgements",
    tag: "gc",
    summary: "Close the breaker of the leak collector",
    body: components.GcAcknowledgement,
    answers: { 200: components.GcStatus },
    refusals: ["breaker_not_open"],
    mutates: true,
  },
  async ({ body }, call) => {
    const closed = await call.ports.sweep().acknowledge({ ...body, ...authorOf(call) });
    return closed.ok ? reply(200, gcOnWire(closed.value)) : closed.error;
  },
);
