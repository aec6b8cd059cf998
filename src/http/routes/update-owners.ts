/** updateOwners: replaces or clears owners of one address, under conditions on those that are replaced. */
import { parseAddress } from "../../core/address.ts";
import type { Attributes } from "../../core/allocation.ts";
import { blockOf, formatCidr } from "../../core/cidr.ts";
import { type FieldFault, rejection } from "../../core/errors.ts";
import { invariant } from "../../core/invariant.ts";
import { present } from "../omit-absent.ts";
import { operation, reply } from "../operation.ts";
import { allocationOnWire } from "../present/allocation.ts";
import { cooldownMsOf, locateBlock, placedByPolicy } from "../reading/policy.ts";
import { components, type Wire } from "../schemas/components.ts";
import { addressParams } from "../schemas/parameters.ts";
import { lateBlock, nodeFaults, ownerReview, writeUntil } from "../writing/owners.ts";

/** What the request says of one owner: what it becomes, and who it must be. */
function slot(set: Attributes | undefined, isCleared = false): Attributes | undefined {
  return isCleared ? {} : set;
}

const NOBODY = { namespace: "", pod: "" };

function expected(ref: Wire["OwnerRef"] | undefined, mustBeEmpty = false) {
  return mustBeEmpty ? NOBODY : ref;
}

export const updateOwners = operation(
  {
    id: "updateOwners",
    method: "patch",
    path: "/v1/allocations/{address}/owners",
    tag: "allocations",
    summary: "Change the owners of an address",
    params: addressParams,
    body: components.OwnerUpdate,
    answers: { 200: components.Allocation },
    refusals: ["address_not_allocated", "address_not_in_pool", "handle_mismatch", "owner_mismatch"],
    mutates: true,
    review: ownerReview,
  },
  async ({ params: { address: text }, body }, call) => {
    const faults: FieldFault[] = nodeFaults(body, call.principal);
    if (faults.length > 0) return rejection("invalid_request", { errors: faults });
    const lease = await writeUntil(call);
    if (!lease.ok) return lease.error;
    const { policy, until } = lease.value;
    const { host: onlyHost, role } = call.principal;
    // An agent cannot tell what is not its own from what is free.
    const outOfReach = rejection("host_mismatch", { host: onlyHost ?? "" });
    const address = parseAddress(text);
    invariant(address.ok, "the schema has read this address");
    const pool = policy.poolOf(address.value);
    if (pool === undefined)
      return role === "agent" ? outOfReach : rejection("address_not_in_pool", { address: text });
    const range = blockOf(address.value, pool.definition.blockSize);
    const block = formatCidr(range);
    const absent = (state: string, freeAt?: number) =>
      role === "agent"
        ? outOfReach
        : rejection("address_not_allocated", {
            address: text,
            state,
            ...(freeAt === undefined ? {} : { freeAt }),
          });
    if ((await locateBlock(call, policy, range, block)) === undefined) return absent("free");
    const node = role === "agent" && onlyHost !== undefined ? { node: onlyHost } : {};
    const given = (set: Attributes | undefined) => (set === undefined ? undefined : { ...set, ...node });
    const answer = await call.ports.block(block).updateOwners({
      block,
      address: text,
      handle: body.handle,
      set: present({
        active: slot(given(body.setActive), body.clearActive),
        alternate: slot(given(body.setAlternate), body.clearAlternate),
      }),
      expect: present({
        active: expected(body.expectActive, body.expectActiveEmpty),
        alternate: expected(body.expectAlternate, body.expectAlternateEmpty),
      }),
      ...(onlyHost === undefined ? {} : { onlyHost }),
      until,
      cooldownMs: cooldownMsOf(policy),
    });
    switch (answer.kind) {
      case "updated":
        return reply(200, allocationOnWire(placedByPolicy(policy, answer.record)));
      case "not_allocated":
        return absent(answer.state, answer.freeAt);
      case "handle_mismatch":
        return rejection("handle_mismatch", { address: text, sequenceNumber: answer.sequenceNumber });
      case "owner_mismatch":
        return rejection("owner_mismatch", { address: text });
      case "out_of_reach":
        return outOfReach;
      case "late":
        return lateBlock();
    }
  },
);
