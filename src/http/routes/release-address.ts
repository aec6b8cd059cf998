/** releaseAddress: frees one address, guarded by its handle, its sequence number, or an administrator's force. */
import { rejection } from "../../core/errors.ts";
import { present } from "../omit-absent.ts";
import { operation, reply } from "../operation.ts";
import { releaseOnWire } from "../present/allocation.ts";
import { leasedPolicy } from "../reading/policy.ts";
import { components } from "../schemas/components.ts";
import { addressParams, releaseQuery } from "../schemas/parameters.ts";
import { checkGuards, releaseAddresses } from "../writing/release-by-address.ts";

export const releaseAddress = operation(
  {
    id: "releaseAddress",
    method: "delete",
    path: "/v1/allocations/{address}",
    tag: "allocations",
    summary: "Release one address",
    params: addressParams,
    query: releaseQuery,
    answers: { 200: components.ReleaseOutcome },
    refusals: ["guard_required", "sequence_mismatch", "handle_mismatch", "address_taken"],
    mutates: true,
  },
  async ({ params: { address }, query }, call) => {
    const { force = false, ...guards } = query;
    const item = { address, ...present(guards) };
    const refusal = checkGuards([item], force, call.principal);
    if (refusal !== undefined) return refusal;
    const policy = await leasedPolicy(call);
    if (!policy.ok) return policy.error;
    const [outcome] = await releaseAddresses(call, policy.value, [item], force);
    if (outcome?.kind !== "rejected") {
      return reply(200, releaseOnWire(outcome ?? { kind: "not_in_any_block", address }));
    }
    const { code, sequenceNumber } = outcome;
    switch (code) {
      case "host_mismatch":
        return rejection("host_mismatch", { host: call.principal.host ?? "" });
      case "address_taken":
        return rejection("address_taken", { address, state: "host_reserved" });
      case "sequence_mismatch":
      case "handle_mismatch":
        return rejection(code, { address, sequenceNumber });
    }
  },
);
