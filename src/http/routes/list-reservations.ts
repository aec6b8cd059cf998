/** listReservations: reservations by name. */
import { compilePolicy } from "../../core/policy.ts";
import { mapBounded } from "../concurrency.ts";
import { operation, reply } from "../operation.ts";
import { pageOf, readPage } from "../paging.ts";
import { reservationOnWire } from "../present/policy.ts";
import { storedPolicy } from "../reading/policy.ts";
import { countAllocatedInside } from "../reading/reserved-count.ts";
import { components } from "../schemas/components.ts";
import { pageQuery } from "../schemas/parameters.ts";

/** Reservations on one page: each is counted over the blocks that it touches. */
const RESERVATIONS_PER_PAGE_MAX = 32;

export const listReservations = operation(
  {
    id: "listReservations",
    method: "get",
    path: "/v1/reservations",
    tag: "reservations",
    summary: "List reservations",
    query: pageQuery,
    answers: { 200: components.ReservationList },
    refusals: [],
    mutates: false,
  },
  async ({ query }, call) => {
    const page = await readPage("listReservations", query);
    if (!page.ok) return page.error;
    const policy = await storedPolicy(call);
    const compiled = compilePolicy(policy);
    const sorted = policy.reservations.toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const limit = Math.min(page.value.limit, RESERVATIONS_PER_PAGE_MAX);
    const { items, ...next } = pageOf(sorted, { ...page.value, limit }, ({ name }) => name);
    const write = async (reservation: (typeof items)[number]) =>
      reservationOnWire(reservation, await countAllocatedInside(call, compiled, reservation));
    return reply(200, { items: await mapBounded(items, write, 2), ...next });
  },
);
