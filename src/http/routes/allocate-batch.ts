/** allocateBatch: many allocations of one host in one call, each with its own key and its own outcome. */
import { type Rejection, rejection } from "../../core/errors.ts";
import type { Result } from "../../core/result.ts";
import type { HostAllocateAnswer } from "../../rpc/host.ts";
import { fingerprintOf } from "../digest.ts";
import { mayAllocateFor } from "../known-hosts.ts";
import { present } from "../omit-absent.ts";
import { type Call, operation, reply } from "../operation.ts";
import { allocationOnWire } from "../present/allocation.ts";
import { problemBody } from "../problem.ts";
import { components, type Wire } from "../schemas/components.ts";
import { batchReview, wishOf } from "../writing/allocating.ts";

export const allocateBatch = operation(
  {
    id: "allocateBatch",
    method: "post",
    path: "/v1/allocation-batches",
    tag: "allocations",
    summary: "Allocate addresses for many handles of one host",
    headers: ["X-Request-Timeout-Ms"],
    body: components.BatchRequest,
    answers: { 200: components.BatchResult },
    refusals: ["host_unknown", "host_removing"],
    mutates: true,
    review: batchReview,
  },
  async ({ body }, call) => {
    const { host, use } = body;
    if (!(await mayAllocateFor(call, host))) return rejection("host_unknown", { host });
    const items = await Promise.all(
      body.items.map(async ({ key, ...item }) => {
        // The same as in an allocation of its own, so that either may repeat the other.
        const request = { host, ...(use === undefined ? {} : { use }), ...present(item) };
        return {
          ...wishOf(request, call.principal),
          key,
          fingerprint: await fingerprintOf(request),
          ...(call.deadlineAt === undefined ? {} : { deadlineAt: call.deadlineAt }),
        };
      }),
    );
    const allocated = await call.ports.host(host).allocateMany({ host, items });
    if (!allocated.ok) return allocated.error;
    const results = allocated.value.results.map((result, index) =>
      itemOnWire(body.items[index]?.key ?? "", result, call),
    );
    return reply(200, { results });
  },
);

function itemOnWire(
  key: string,
  result: Result<HostAllocateAnswer, Rejection>,
  call: Call,
): Wire["BatchItemResult"] {
  if (result.ok) {
    const { addresses, replayed } = result.value;
    return { key, status: 201, allocations: addresses.map(allocationOnWire), replayed };
  }
  const config = call.policy.peek()?.config;
  const context = config === undefined ? {} : { strictAffinity: config.strictAffinity };
  const problem = problemBody(result.error, call.requestId, context);
  return { key, status: problem.status, allocations: [], problem };
}
