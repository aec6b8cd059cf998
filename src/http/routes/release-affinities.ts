/** releaseAffinities: takes blocks from their owners, by host, pool, range or block; each is judged by itself. */
import { formatCidr } from "../../core/cidr.ts";
import { type FieldFault, rejection } from "../../core/errors.ts";
import { operation, reply } from "../operation.ts";
import { invalidCursor, readPage } from "../paging.ts";
import { leasedPolicy, poolOfBlock, storedCidr } from "../reading/policy.ts";
import { components } from "../schemas/components.ts";
import { checkBlocks, checkCover, poolOfRange } from "../writing/affinity-range.ts";
import { releaseBlocks } from "../writing/release-affinities.ts";

/** A release that names nothing is a mistake of its caller. */
function review(body: Record<string, unknown>, faulty: ReadonlySet<string>): FieldFault[] {
  if (["host", "cidr", "pool"].some((name) => Object.hasOwn(body, name) || faulty.has(name))) return [];
  return [{ pointer: "", code: "nothing_requested", message: "must have host, pool, cidr, or several" }];
}

/** The cursor stands in the body here. */
function inBody(refusal: ReturnType<typeof invalidCursor>["error"]) {
  const errors = refusal.evidence.errors.map(({ parameter: _query, ...fault }) => ({
    ...fault,
    pointer: "/cursor",
  }));
  return rejection("invalid_request", { errors });
}

export const releaseAffinities = operation(
  {
    id: "releaseAffinities",
    method: "post",
    path: "/v1/affinity-releases",
    tag: "blocks",
    summary: "Take blocks from their owners",
    body: components.AffinityReleaseRequest,
    answers: { 200: components.AffinityResult },
    refusals: [
      "range_too_large",
      "cidr_not_in_pool",
      "block_owned_by_other",
      "block_not_empty",
      "host_removing",
    ],
    mutates: true,
    review,
  },
  async ({ body }, call) => {
    const { host, cidr, pool: name, mustBeEmpty = true } = body;
    const page = await readPage("releaseAffinities", body);
    if (!page.ok) return inBody(page.error);
    const leased = await leasedPolicy(call);
    if (!leased.ok) return leased.error;
    const policy = leased.value;
    if (name !== undefined && !policy.pools.some(({ definition }) => definition.name === name)) {
      const fault = { pointer: "/pool", code: "out_of_range", message: "names no pool" } as const;
      return rejection("invalid_request", { errors: [fault] });
    }
    const range = cidr === undefined ? undefined : storedCidr(cidr);
    if (range !== undefined) {
      const pool = poolOfRange(policy, range);
      if (host !== undefined && pool === undefined) {
        return rejection("cidr_not_in_pool", { block: formatCidr(range) });
      }
      const refusal = pool === undefined ? checkCover(policy, range) : checkBlocks(range, pool);
      if (refusal !== undefined) return refusal;
    }
    const { after } = page.value;
    if (after !== undefined && !components.AffinityClaimRequest.shape.cidr.safeParse(after).success) {
      return inBody(invalidCursor("names no block").error);
    }
    const filter = {
      ...(host === undefined ? {} : { host }),
      ...(range === undefined ? {} : { range }),
      ...(name === undefined ? {} : { pool: name }),
      ...(after === undefined ? {} : { after: storedCidr(after) }),
    };
    const { judged, last, more } = await releaseBlocks(call, policy, filter, mustBeEmpty);
    // Only a request that names one single block is refused as a whole.
    const isOneBlock = range !== undefined && poolOfBlock(policy, range) !== undefined;
    const refusal = isOneBlock ? judged[0]?.refusal : undefined;
    if (refusal !== undefined) return refusal;
    const results = judged.map(({ outcome }) => outcome);
    const nextCursor = more && last !== undefined ? { nextCursor: page.value.cursorAfter(last) } : {};
    return reply(200, { results, ...nextCursor });
  },
);
