/** explainAllocation: what allocate would answer to the same body now; nothing is changed. */
import { explainerOf } from "../known-hosts.ts";
import { present } from "../omit-absent.ts";
import { operation, reply } from "../operation.ts";
import { explanationOnWire } from "../present/explanation.ts";
import { components } from "../schemas/components.ts";
import { allocationReview, wishOf } from "../writing/allocating.ts";

export const explainAllocation = operation(
  {
    id: "explainAllocation",
    method: "post",
    path: "/v1/explanations",
    tag: "allocations",
    summary: "Explain what an allocation would get, and why",
    body: components.AllocationRequest,
    answers: { 200: components.Explanation },
    refusals: [],
    mutates: false,
    review: allocationReview,
  },
  async ({ body }, call) => {
    const explainer = await explainerOf(call, body.host);
    const explained = await call.ports.host(explainer).explain(wishOf(present(body), call.principal));
    return explained.ok ? reply(200, explanationOnWire(explained.value)) : explained.error;
  },
);
