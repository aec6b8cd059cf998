/** ensureBlocks: a block of each family for a host to work in, its own or one that is claimed now. */
import { formatCidr, parseCidr } from "../../core/cidr.ts";
import type { Family, FieldFault } from "../../core/errors.ts";
import { rejection } from "../../core/errors.ts";
import { invariant } from "../../core/invariant.ts";
import { IN_PROGRESS_RETRY_AFTER_SECONDS } from "../../core/limits.ts";
import { mayAllocateFor } from "../known-hosts.ts";
import { present } from "../omit-absent.ts";
import { type Call, operation, reply } from "../operation.ts";
import { blockOnWire } from "../present/block.ts";
import { blockPolicyOf, locateBlock, storedCompiledPolicy } from "../reading/policy.ts";
import { components, type Wire } from "../schemas/components.ts";
import { hostParams } from "../schemas/parameters.ts";

/** Addresses set aside in a family that is not asked for are a mistake of the caller. */
function review(body: Record<string, unknown>): FieldFault[] {
  const families = body.families as readonly Family[] | undefined;
  const hostReserved = (body.hostReserved ?? {}) as Record<string, unknown>;
  if (families === undefined) return [];
  return ([4, 6] as const)
    .filter((family) => hostReserved[`ipv${family}`] !== undefined && !families.includes(family))
    .map((family) => ({
      pointer: `/hostReserved/ipv${family}`,
      code: "conflicting_fields",
      message: `needs ${family} among families`,
    }));
}

async function written(call: Call, text: string): Promise<Wire["Block"] | undefined> {
  const parsed = parseCidr(text);
  invariant(parsed.ok, "an object gave a block that cannot be read");
  const policy = await storedCompiledPolicy(call);
  const block = formatCidr(parsed.value);
  const located = await locateBlock(call, policy, parsed.value, block);
  if (located === undefined) return undefined;
  const own = blockPolicyOf(policy, located.pool, located.block);
  return blockOnWire(located, await call.ports.block(block).describe({ block, policy: own }));
}

export const ensureBlocks = operation(
  {
    id: "ensureBlocks",
    method: "post",
    path: "/v1/hosts/{host}/blocks",
    tag: "hosts",
    summary: "Make sure that a host owns a block",
    params: hostParams,
    body: components.EnsureBlocksRequest,
    answers: { 200: components.EnsureBlocksResult },
    refusals: [
      "host_not_found",
      "host_removing",
      "no_qualified_pool",
      "no_pool_selects_host",
      "block_limit_reached",
      "auto_allocate_disabled",
      "pool_exhausted",
    ],
    mutates: true,
    review,
  },
  async ({ params: { host }, body }, call) => {
    const deadline = call.deadlineAt === undefined ? {} : { deadlineAt: call.deadlineAt };
    if (!(await mayAllocateFor(call, host))) return rejection("host_not_found", { host });
    const got = await call.ports.host(host).ensureBlocks({ ...present(body), host, ...deadline });
    if (!got.ok) {
      return got.error.code === "host_unknown" ? rejection("host_not_found", { host }) : got.error;
    }
    const result: Wire["EnsureBlocksResult"] = {};
    for (const { family, block } of got.value.blocks) {
      const one = await written(call, block);
      // Given up again in the meantime: the same request gets another one.
      if (one === undefined) return rejection("in_progress", { host }, IN_PROGRESS_RETRY_AFTER_SECONDS);
      result[family === 4 ? "ipv4" : "ipv6"] = one;
    }
    return reply(200, result);
  },
);
