/** assignAddress: gives a handle one exact address, reserved or not. */

import { type Rejection, rejection } from "../../core/errors.ts";
import type { Principal } from "../auth.ts";
import { fingerprintUnder } from "../digest.ts";
import { present } from "../omit-absent.ts";
import { operation, reply } from "../operation.ts";
import { allocationOnWire } from "../present/allocation.ts";
import { isWithinReach } from "../reading/reach.ts";
import { components } from "../schemas/components.ts";
import { addressParams } from "../schemas/parameters.ts";
import { assignReview, keyOf, withHost } from "../writing/allocating.ts";

/** Who holds a taken address is for readers and administrators. */
function withoutHolder<R extends Rejection>(refusal: R, { role }: Principal): R | Rejection<"address_taken"> {
  if (refusal.code !== "address_taken" || role !== "agent") return refusal;
  const { address, state } = refusal.evidence;
  return rejection("address_taken", { address, state });
}

export const assignAddress = operation(
  {
    id: "assignAddress",
    method: "put",
    path: "/v1/allocations/{address}",
    tag: "allocations",
    summary: "Assign one exact address",
    params: addressParams,
    headers: ["Idempotency-Key", "X-Request-Timeout-Ms"],
    body: components.AssignRequest,
    answers: { 200: components.Allocation, 201: components.Allocation },
    refusals: [
      "host_unknown",
      "host_removing",
      "requested_pool_unavailable",
      "no_qualified_pool",
      "no_pool_selects_host",
      "handle_limit_reached",
      "block_limit_reached",
      "auto_allocate_disabled",
      "strict_affinity",
      "pool_cooling",
      "pool_exhausted",
      "idempotency_key_released",
      "idempotency_key_reused",
      "address_taken",
      "address_cooling",
      "address_not_in_pool",
      "use_not_allowed",
      "address_outside_affinity",
    ],
    mutates: true,
    review: assignReview,
  },
  async ({ params: { address }, body, headers }, call) => {
    const assigned = await call.ports.host(body.host).assign({
      ...present(body),
      address,
      key: keyOf(headers, call),
      fingerprint: await fingerprintUnder(headers.idempotencyKey, { ...body, address }),
      use: body.use ?? "Workload",
      attributes: withHost(body.attributes, body.host),
      leakCollection: body.leakCollection ?? "auto",
      ...(call.deadlineAt === undefined ? {} : { deadlineAt: call.deadlineAt }),
    });
    if (!assigned.ok) return withoutHolder(assigned.error, call.principal);
    const { created, replayed, address: placed } = assigned.value;
    // A guessed handle shows an agent nothing of what it does not reach.
    if (!isWithinReach(call.principal, placed.record))
      return rejection("address_taken", { address, state: placed.record.state });
    // A replay gives the first answer again, with its status.
    return reply(created || replayed ? 201 : 200, allocationOnWire(placed));
  },
);
