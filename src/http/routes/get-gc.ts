/** getGc: how the leak collector stands, from the Sweep's own rows. */
import { operation, reply } from "../operation.ts";
import { gcOnWire } from "../present/gc.ts";
import { components } from "../schemas/components.ts";

export const getGc = operation(
  {
    id: "getGc",
    method: "get",
    path: "/v1/gc",
    tag: "gc",
    summary: "Read the state of the leak collector",
    answers: { 200: components.GcStatus },
    refusals: [],
    mutates: false,
  },
  async (_input, call) => reply(200, gcOnWire(await call.ports.sweep().getGc({}))),
);
