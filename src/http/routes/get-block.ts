/** getBlock: one block with its figures and a map of its addresses. */
import { formatCidr, parseBlockName } from "../../core/cidr.ts";
import { rejection } from "../../core/errors.ts";
import { invariant } from "../../core/invariant.ts";
import { operation, reply } from "../operation.ts";
import { blockOnWire } from "../present/block.ts";
import { blockPolicyOf, locateBlock, storedCompiledPolicy } from "../reading/policy.ts";
import { components } from "../schemas/components.ts";
import { blockParams } from "../schemas/parameters.ts";

export const getBlock = operation(
  {
    id: "getBlock",
    method: "get",
    path: "/v1/blocks/{block}",
    tag: "blocks",
    summary: "Read a block",
    params: blockParams,
    answers: { 200: components.Block },
    refusals: ["block_not_found"],
    mutates: false,
  },
  async ({ params }, call) => {
    const parsed = parseBlockName(params.block);
    invariant(parsed.ok, "the schema has read this block");
    const block = formatCidr(parsed.value);
    const policy = await storedCompiledPolicy(call);
    const located = await locateBlock(call, policy, parsed.value, block);
    if (located === undefined) return rejection("block_not_found", { block });
    const view = await call.ports.block(block).describe({
      block,
      policy: blockPolicyOf(policy, located.pool, located.block),
      map: true,
    });
    if (!view.exists) return rejection("block_not_found", { block });
    return reply(200, blockOnWire(located, view));
  },
);
