/**
 * Schemas of refusals: the problem, its evidence, what was considered.
 * May import: the schema library. Evidence names only what the contract names.
 */
import * as limits from "../../core/limits.ts";
import { counter, family, openSet, time, whole } from "./answer-fields.ts";
import { z } from "./zod.ts";

export const Considered = z
  .object({
    kind: openSet("host", "pool", "block"),
    pool: z.string().optional(),
    block: z.string().optional(),
    owner: z.string().optional(),
    outcome: openSet("used", "skipped", "full", "refused"),
    rule: openSet(
      "ok",
      "pool_disabled",
      "pool_draining",
      "wrong_family",
      "manual_only",
      "not_requested",
      "node_selector",
      "namespace_selector",
      "use_not_allowed",
      "block_too_small",
      "full",
      "cooling",
      "reserved",
      "owned_by_other",
      "cap_reached",
      "auto_allocate_off",
      "strict_affinity",
      "reclaim_too_young",
      "no_unclaimed_block",
    ),
    detail: z.string().optional(),
    allocated: whole().optional(),
    free: whole().optional(),
    cooling: whole().optional(),
    reserved: whole().optional(),
    nextFreeAt: time().optional(),
  })
  .openapi("Considered");

export const Shortfall = z
  .object({
    family: family(),
    requested: whole(),
    allocated: whole(),
    code: z.string(),
    retryAfterSeconds: whole().optional(),
    considered: z.array(Considered).max(limits.CONSIDERED_REFUSAL_MAX),
    consideredOmitted: whole(),
  })
  .openapi("Shortfall");

export const FieldError = z
  .object({
    pointer: z
      .string()
      .optional()
      .openapi({ description: "JSON pointer into the body", example: "/ipv4/count" }),
    parameter: z.string().optional().openapi({ example: "limit" }),
    code: z.string(),
    message: z.string(),
    limit: whole().optional(),
  })
  .openapi("FieldError");

export const Evidence = z
  .object({
    host: z.string().optional(),
    pool: z.string().optional(),
    otherPool: z.string().optional(),
    block: z.string().optional(),
    address: z.string().optional(),
    handle: z.string().optional(),
    family: whole().optional(),
    state: z.string().optional(),
    requested: whole().optional(),
    allocated: whole().optional(),
    limit: whole().optional(),
    owned: whole().optional(),
    revision: counter().optional(),
    sequenceNumber: counter().optional(),
    freeAt: time().optional(),
    field: z.string().optional(),
    role: z.string().optional(),
    requiredRole: z.string().optional(),
    shortfall: z.array(Shortfall).optional(),
  })
  .openapi("Evidence");

export const Problem = z
  .object({
    type: z.string().openapi({ format: "uri-reference", example: "/docs/errors/pool_exhausted" }),
    title: z.string(),
    status: whole(),
    code: z.string().openapi({ example: "pool_exhausted", description: "open set, table in /docs/errors" }),
    detail: z.string(),
    requestId: z.string(),
    retry: openSet("no", "after_change", "later", "same_request"),
    retryAfterSeconds: z.int().optional().openapi({ type: "integer", minimum: 0 }),
    hint: z.string().optional().openapi({ description: "what to do next" }),
    errors: z.array(FieldError).optional(),
    evidence: Evidence.optional(),
  })
  .openapi("Problem");
