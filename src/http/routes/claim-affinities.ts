/** claimAffinities: gives a host the blocks of a range; each is judged by itself. */
import { formatCidr } from "../../core/cidr.ts";
import { rejection } from "../../core/errors.ts";
import type { CompiledPool } from "../../core/policy.ts";
import { mapBounded } from "../concurrency.ts";
import { type Call, operation, reply } from "../operation.ts";
import { leasedPolicy, storedCidr } from "../reading/policy.ts";
import { components } from "../schemas/components.ts";
import { blocksToClaim, type Judged, skipped, unsettled } from "../writing/affinity-range.ts";

/** Claims under way at a time: each makes a new object, and none may wait for long behind the others. */
const CLAIMS_AT_ONCE = 4;

/** Claims one block; where a step had no answer in time, once more: that settles it. */
async function settled(call: Call, host: string, pool: CompiledPool, block: string): Promise<Judged> {
  const first = await claim(call, host, pool, block);
  return first.refusal?.code === "in_progress" ? await claim(call, host, pool, block) : first;
}

async function claim(call: Call, host: string, pool: CompiledPool, block: string): Promise<Judged> {
  const { name, incarnation } = pool.definition;
  const deadline = call.deadlineAt === undefined ? {} : { deadlineAt: call.deadlineAt };
  const message = { host, block, pool: name, incarnation, ...deadline };
  const answer = await call.ports.host(host).claimBlock(message);
  switch (answer.kind) {
    case "claimed":
    case "already_owned":
      return { outcome: { block, outcome: answer.kind, owner: host } };
    case "owned_by_other":
      return skipped(block, rejection("block_owned_by_other", { block, host: answer.owner }));
    case "not_empty":
      return skipped(block, rejection("block_not_empty", { block, allocated: answer.allocated }));
    case "closed":
      return skipped(block, rejection("cidr_not_in_pool", { block }));
    case "host_removing":
      return skipped(block, rejection("host_removing", { host }));
    case "unsettled":
      return skipped(block, unsettled(host));
  }
}

export const claimAffinities = operation(
  {
    id: "claimAffinities",
    method: "post",
    path: "/v1/affinity-claims",
    tag: "blocks",
    summary: "Claim the blocks of a range for a host",
    body: components.AffinityClaimRequest,
    answers: { 200: components.AffinityResult },
    refusals: [
      "range_too_large",
      "cidr_not_in_pool",
      "block_owned_by_other",
      "block_not_empty",
      "host_removing",
    ],
    mutates: true,
  },
  async ({ body: { host, cidr } }, call) => {
    const policy = await leasedPolicy(call);
    if (!policy.ok) return policy.error;
    const range = blocksToClaim(policy.value, storedCidr(cidr));
    if (!range.ok) return range.error;
    const { pool, blocks } = range.value;
    const texts = blocks.map(formatCidr);
    const judged = await mapBounded(texts, (block) => settled(call, host, pool, block), CLAIMS_AT_ONCE);
    const only = judged.length === 1 ? judged[0]?.refusal : undefined;
    return only ?? reply(200, { results: judged.map(({ outcome }) => outcome) });
  },
);
