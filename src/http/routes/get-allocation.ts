/** getAllocation: who holds an address. */
import { parseAddress } from "../../core/address.ts";
import type { AddressRecord } from "../../core/allocation.ts";
import { blockOf, formatCidr } from "../../core/cidr.ts";
import { rejection } from "../../core/errors.ts";
import { invariant } from "../../core/invariant.ts";
import { operation, reply } from "../operation.ts";
import { allocationOnWire } from "../present/allocation.ts";
import { blockPolicyOf, leasedPolicy, locateBlock, placedByPolicy } from "../reading/policy.ts";
import { isWithinReach } from "../reading/reach.ts";
import { components } from "../schemas/components.ts";
import { addressParams } from "../schemas/parameters.ts";

export const getAllocation = operation(
  {
    id: "getAllocation",
    method: "get",
    path: "/v1/allocations/{address}",
    tag: "allocations",
    summary: "Read the allocation of an address",
    params: addressParams,
    answers: { 200: components.Allocation },
    refusals: ["address_not_allocated"],
    mutates: false,
  },
  async ({ params }, call) => {
    const leased = await leasedPolicy(call);
    if (!leased.ok) return leased.error;
    const policy = leased.value;
    const address = parseAddress(params.address);
    invariant(address.ok, "the schema has read this address");
    const { principal } = call;
    const absent = (state: string, record?: AddressRecord) => {
      // Of what was never its own an agent learns nothing, not even that it is free.
      const isOwn = record !== undefined && isWithinReach(principal, record);
      if (principal.role === "agent" && !isOwn) {
        return rejection("host_mismatch", { host: principal.host ?? "" });
      }
      const freeAt = record?.freeAt === undefined ? {} : { freeAt: record.freeAt };
      return rejection("address_not_allocated", { address: params.address, state, ...freeAt });
    };
    const pool = policy.poolOf(address.value);
    if (pool === undefined) return absent("not_in_any_pool");
    const block = blockOf(address.value, pool.definition.blockSize);
    const text = formatCidr(block);
    if ((await locateBlock(call, policy, block, text)) === undefined) return absent("free");
    const view = await call.ports.block(text).describe({
      block: text,
      policy: blockPolicyOf(policy, pool, block),
      records: { address: params.address },
    });
    const record = view.records[0];
    if (record === undefined) return absent("free");
    if (record.state !== "allocated" || !isWithinReach(principal, record))
      return absent(record.state, record);
    return reply(200, allocationOnWire(placedByPolicy(policy, record)));
  },
);
