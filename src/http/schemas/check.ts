/**
 * Schemas of checks of consistency.
 * May import: core and the schema library. Requests are strict, answers are open.
 */
import { PROBLEM_KINDS } from "../../core/check.ts";
import { openSet, time, whole } from "./answer-fields.ts";
import { hostName, policyName } from "./fields.ts";
import { z } from "./zod.ts";

const KINDS = [...new Set<string>(Object.values(PROBLEM_KINDS))];

export const CheckRequest = z
  .strictObject({
    pool: policyName().optional(),
    host: hostName().optional(),
    repair: z.boolean().openapi({ description: "Absent means False." }).optional(),
  })
  .openapi("CheckRequest");

export const CheckFinding = z
  .object({
    kind: openSet(...KINDS),
    problem: z.string(),
    block: z.string().optional(),
    address: z.string().optional(),
    handle: z.string().optional(),
    host: z.string().optional(),
    repaired: z.boolean().optional(),
  })
  .openapi("CheckFinding");

export const Check = z
  .object({
    id: z.string(),
    state: openSet("running", "done", "failed"),
    startedAt: time().optional(),
    finishedAt: time().optional(),
    problems: whole(),
    repaired: whole(),
    blocksChecked: whole(),
    blocksTotal: whole(),
    findings: z.array(CheckFinding),
    nextCursor: z.string().optional(),
  })
  .openapi("Check");
