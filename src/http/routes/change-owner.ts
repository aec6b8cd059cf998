/** changeOwner: promotes or clears one owner on every address of a handle. */
import { operation, reply } from "../operation.ts";
import { components } from "../schemas/components.ts";
import { changeOwnerOf } from "../writing/change-owner.ts";
import { namedOwnerReview } from "../writing/owners.ts";

export const changeOwner = operation(
  {
    id: "changeOwner",
    method: "post",
    path: "/v1/owner-changes",
    tag: "allocations",
    summary: "Change one owner of all addresses of a handle",
    body: components.OwnerChangeRequest,
    answers: { 200: components.OwnerChangeResult },
    refusals: ["handle_not_allocated", "alternate_owner_empty", "alternate_owner_mismatch"],
    mutates: true,
    review: namedOwnerReview,
  },
  async ({ body }, call) => {
    const { releaseWhenUnowned = false, ...change } = body;
    const changed = await changeOwnerOf(call, { ...change, releaseWhenUnowned });
    return changed.ok ? reply(200, changed.value) : changed.error;
  },
);
