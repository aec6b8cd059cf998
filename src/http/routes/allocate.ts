/** allocate: gives a handle addresses of each family it asks for, all or none. */

import { rejection } from "../../core/errors.ts";
import { fingerprintUnder } from "../digest.ts";
import { noteKnownBlock } from "../known-blocks.ts";
import { mayAllocateFor } from "../known-hosts.ts";
import { present } from "../omit-absent.ts";
import { operation, reply } from "../operation.ts";
import { allocationOnWire } from "../present/allocation.ts";
import { explanationOnWire } from "../present/explanation.ts";
import { shortfallOnWire } from "../problem.ts";
import { components } from "../schemas/components.ts";
import { allocationReview, keyOf, wishOf } from "../writing/allocating.ts";
import { allocateAt } from "../writing/allocating-at.ts";

export const allocate = operation(
  {
    id: "allocate",
    method: "post",
    path: "/v1/allocations",
    tag: "allocations",
    summary: "Allocate addresses",
    headers: ["Idempotency-Key", "X-Request-Timeout-Ms"],
    body: components.AllocationRequest,
    answers: { 201: components.AllocationResult },
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
    ],
    mutates: true,
    review: allocationReview,
  },
  async ({ body, headers }, call) => {
    if (!(await mayAllocateFor(call, body.host))) return rejection("host_unknown", { host: body.host });
    const request = {
      ...wishOf(present(body), call.principal),
      key: keyOf(headers, call),
      fingerprint: await fingerprintUnder(headers.idempotencyKey, body),
      ...(call.deadlineAt === undefined ? {} : { deadlineAt: call.deadlineAt }),
      ...(body.explain === true ? { explain: true } : {}),
    };
    const allocated = await allocateAt(request, call);
    if (!allocated.ok) return allocated.error;
    const { addresses, shortfall, replayed, reused, explanation } = allocated.value;
    for (const { record } of addresses) noteKnownBlock(call.ports, record.block);
    return reply(201, {
      allocations: addresses.map(allocationOnWire),
      shortfall: shortfall.map(shortfallOnWire),
      replayed,
      reused,
      ...(explanation === undefined ? {} : { explanation: explanationOnWire(explanation) }),
    });
  },
);
