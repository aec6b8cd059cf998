/** deleteReservation: gives the ranges back to automatic allocation. */
import { operation } from "../operation.ts";
import { reservationParams } from "../schemas/parameters.ts";
import { guardOf } from "../writing/preconditions.ts";

export const deleteReservation = operation(
  {
    id: "deleteReservation",
    method: "delete",
    path: "/v1/reservations/{reservation}",
    tag: "reservations",
    summary: "Delete a reservation",
    params: reservationParams,
    headers: ["If-Match"],
    answers: { 204: null },
    refusals: ["reservation_not_found", "revision_mismatch", "already_exists"],
    mutates: true,
  },
  async ({ params, headers }, call) => {
    const request = { ...guardOf(headers, call), name: params.reservation };
    const written = await call.ports.cluster().deleteReservation(request);
    return written.ok ? { status: 204 as const } : written.error;
  },
);
