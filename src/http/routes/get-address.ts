/** getAddress: everything about any address, also one that is in no pool. */
import { parseAddress } from "../../core/address.ts";
import { invariant } from "../../core/invariant.ts";
import { operation, reply } from "../operation.ts";
import { addressView } from "../reading/address-view.ts";
import { components } from "../schemas/components.ts";
import { addressParams } from "../schemas/parameters.ts";

export const getAddress = operation(
  {
    id: "getAddress",
    method: "get",
    path: "/v1/addresses/{address}",
    tag: "allocations",
    summary: "Read everything about an address",
    params: addressParams,
    answers: { 200: components.AddressView },
    refusals: [],
    mutates: false,
  },
  async ({ params }, call) => {
    const address = parseAddress(params.address);
    invariant(address.ok, "the schema has read this address");
    return reply(200, await addressView(call, address.value));
  },
);
