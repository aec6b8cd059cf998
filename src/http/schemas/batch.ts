/**
 * Schemas of allocations in batches.
 * May import: core limits, the schema library and the schemas it is made of.
 */
import * as limits from "../../core/limits.ts";
import { Allocation, AllocationRequest } from "./allocation.ts";
import { whole } from "./answer-fields.ts";
import { freeText } from "./fields.ts";
import { Problem } from "./problem.ts";
import { z } from "./zod.ts";

const { host, use, handle, ipv4, ipv6, attributes, namespace, maxPerHandle } = AllocationRequest.shape;

export const BatchItem = z
  .strictObject({
    key: freeText(limits.IDEMPOTENCY_KEY_TEXT_MAX).min(1),
    handle,
    ipv4,
    ipv6,
    attributes,
    namespace,
    maxPerHandle,
  })
  .openapi("BatchItem");

export const BatchRequest = z
  .strictObject({ host, use, items: z.array(BatchItem).min(1).max(limits.BATCH_ITEMS_MAX) })
  .openapi("BatchRequest");

export const BatchItemResult = z
  .object({
    key: z.string(),
    status: whole(),
    allocations: z.array(Allocation),
    replayed: z.boolean().optional(),
    problem: Problem.optional(),
  })
  .openapi("BatchItemResult");

export const BatchResult = z.object({ results: z.array(BatchItemResult) }).openapi("BatchResult");
