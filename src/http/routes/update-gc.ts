/** updateGc: pauses the leak collector with a reason, or lets it go on. */
import type { FieldFault } from "../../core/errors.ts";
import { present } from "../omit-absent.ts";
import { operation, reply } from "../operation.ts";
import { gcOnWire } from "../present/gc.ts";
import { components } from "../schemas/components.ts";
import { authorOf } from "../writing/preconditions.ts";

/** A reason is kept with the pause, so there must be one. */
function review({ paused, reason }: Record<string, unknown>): FieldFault[] {
  if (paused !== false || reason === undefined) return [];
  return [
    { pointer: "/reason", code: "conflicting_fields", message: "goes with paused: true only; leave it out" },
  ];
}

export const updateGc = operation(
  {
    id: "updateGc",
    method: "patch",
    path: "/v1/gc",
    tag: "gc",
    summary: "Pause the leak collector, or let it go on",
    body: components.GcPatch,
    answers: { 200: components.GcStatus },
    refusals: [],
    mutates: true,
    review,
  },
  async ({ body }, call) =>
    reply(200, gcOnWire(await call.ports.sweep().changeGc({ ...present(body), ...authorOf(call) }))),
);
