/** putReservation: takes ranges out of automatic allocation; answers when no later allocation takes one (I7). */
import { operation, reply } from "../operation.ts";
import { reservationOnWire } from "../present/policy.ts";
import { storedCompiledPolicy } from "../reading/policy.ts";
import { countAllocatedInside } from "../reading/reserved-count.ts";
import { components } from "../schemas/components.ts";
import { reservationParams } from "../schemas/parameters.ts";
import { guardOf } from "../writing/preconditions.ts";

export const putReservation = operation(
  {
    id: "putReservation",
    method: "put",
    path: "/v1/reservations/{reservation}",
    tag: "reservations",
    summary: "Make or replace a reservation",
    params: reservationParams,
    headers: ["If-Match", "If-None-Match"],
    body: components.ReservationSpec,
    answers: { 200: components.Reservation, 201: components.Reservation },
    refusals: ["revision_mismatch", "already_exists"],
    laterStatuses: [409],
    mutates: true,
  },
  async ({ params, headers, body }, call) => {
    const request = { ...guardOf(headers, call), name: params.reservation, spec: body };
    const written = await call.ports.cluster().putReservation(request);
    if (!written.ok) return written.error;
    const { created, value } = written.value;
    const inside = await countAllocatedInside(call, await storedCompiledPolicy(call), value);
    return reply(created ? 201 : 200, reservationOnWire(value, inside), value.revision);
  },
);
