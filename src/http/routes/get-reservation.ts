/** getReservation: one reservation, with what was allocated inside before it. */
import { rejection } from "../../core/errors.ts";
import { compilePolicy } from "../../core/policy.ts";
import { operation, reply } from "../operation.ts";
import { reservationOnWire } from "../present/policy.ts";
import { storedPolicy } from "../reading/policy.ts";
import { countAllocatedInside } from "../reading/reserved-count.ts";
import { components } from "../schemas/components.ts";
import { reservationParams } from "../schemas/parameters.ts";

export const getReservation = operation(
  {
    id: "getReservation",
    method: "get",
    path: "/v1/reservations/{reservation}",
    tag: "reservations",
    summary: "Read a reservation",
    params: reservationParams,
    answers: { 200: components.Reservation },
    refusals: ["reservation_not_found"],
    mutates: false,
  },
  async ({ params }, call) => {
    const policy = await storedPolicy(call);
    const found = policy.reservations.find(({ name }) => name === params.reservation);
    if (found === undefined) return rejection("reservation_not_found", { field: params.reservation });
    const inside = await countAllocatedInside(call, compilePolicy(policy), found);
    return reply(200, reservationOnWire(found, inside), found.revision);
  },
);
