/**
 * Schemas of claiming blocks for hosts and of giving them up.
 * May import: core limits and the schema library. Requests are strict, answers are open.
 */
import { HostReservedByFamily } from "./allocation.ts";
import { cidrOut, family, openSet } from "./answer-fields.ts";
import { Block } from "./block.ts";
import { blockRange, hostName, policyName } from "./fields.ts";
import { z } from "./zod.ts";

export const EnsureBlocksRequest = z
  .strictObject({
    families: z.array(family()).min(1).max(2),
    hostReserved: HostReservedByFamily.optional(),
  })
  .openapi("EnsureBlocksRequest");

export const EnsureBlocksResult = z
  .object({ ipv4: Block.optional(), ipv6: Block.optional() })
  .openapi("EnsureBlocksResult");

export const AffinityClaimRequest = z
  .strictObject({ host: hostName(), cidr: blockRange() })
  .openapi("AffinityClaimRequest");

export const AffinityReleaseRequest = z
  .strictObject({
    host: hostName().optional(),
    cidr: blockRange().optional(),
    pool: policyName().optional(),
    mustBeEmpty: z.boolean().openapi({ description: "Absent means True." }).optional(),
    cursor: z.string().max(512).optional(),
  })
  .openapi("AffinityReleaseRequest");

export const AffinityOutcome = z
  .object({
    block: cidrOut(),
    outcome: openSet("claimed", "already_owned", "released", "skipped"),
    code: z.string().optional(),
    owner: z.string().optional(),
  })
  .openapi("AffinityOutcome");

export const AffinityResult = z
  .object({ results: z.array(AffinityOutcome), nextCursor: z.string().optional() })
  .openapi("AffinityResult");
