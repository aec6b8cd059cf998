/** startSweep: begins a sweep of all hosts now; while one runs, that one is answered. */
import { operation, reply } from "../operation.ts";
import { components } from "../schemas/components.ts";
import { authorOf } from "../writing/preconditions.ts";

export const startSweep = operation(
  {
    id: "startSweep",
    method: "post",
    path: "/v1/gc/sweeps",
    tag: "gc",
    summary: "Audit all hosts now",
    answers: { 202: components.SweepAccepted },
    refusals: [],
    laterStatuses: [409],
    mutates: true,
  },
  async (_input, call) => reply(202, await call.ports.sweep().startSweep(authorOf(call))),
);
