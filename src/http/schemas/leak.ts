/**
 * Schemas of evidence about workloads, and of what is suspected to be leaked.
 * May import: core limits and the schema library. Requests are strict, answers are open.
 */
import * as limits from "../../core/limits.ts";
import { addressOut, counter, openSet, textMapOut, time, whole } from "./answer-fields.ts";
import { addressIn, bigInteger, freeText, handle, incarnation, integer } from "./fields.ts";
import { LeakCounts } from "./host.ts";
import { z } from "./zod.ts";

export const Workload = z
  .strictObject({
    handle: handle().optional(),
    namespace: freeText(limits.NAME_TEXT_MAX).optional(),
    pod: freeText(limits.POD_NAME_TEXT_MAX).optional(),
    uid: freeText(limits.UID_TEXT_MAX).optional(),
    addresses: z
      .array(addressIn())
      .max(limits.ADDRESSES_PER_WORKLOAD_MAX)
      .openapi({ description: "[] where it has none yet: then its namespace and pod count" }),
  })
  .openapi("Workload");

export const WorkloadReport = z
  .strictObject({
    incarnation: incarnation(),
    sequence: bigInteger(),
    ageMs: integer(0, limits.REPORT_AGE_MS_MAX).openapi({
      description: "how long ago the agent began to list, in ms",
    }),
    complete: z.boolean().openapi({
      description: "false: workloads may be missing, so the report can tell of life only",
    }),
    workloads: z.array(Workload).max(limits.WORKLOADS_MAX),
  })
  .openapi("WorkloadReport");

export const UnallocatedUse = z
  .object({
    address: addressOut(),
    state: z.string().openapi({
      description: "open set: free, cooling, allocated, reserved, not_in_any_pool, unknown",
    }),
    handle: z.string().optional(),
    holder: z.string().openapi({ description: "host that the service thinks holds it" }).optional(),
  })
  .openapi("UnallocatedUse");

export const ReportResult = z
  .object({
    observedAt: time(),
    accepted: z.boolean(),
    addressesNotAllocated: z.array(UnallocatedUse),
    leaks: LeakCounts,
    nextReportWithinSeconds: whole(),
  })
  .openapi("ReportResult");

const emptyNetwork = { params: { fault: "pattern" }, message: "must not be empty" };

export const AttachmentGcRequest = z
  .strictObject({
    network: freeText(limits.NETWORK_NAME_TEXT_MAX).refine((name) => name !== "", emptyNetwork),
    validHandles: z.array(handle()).max(limits.VALID_HANDLES_MAX).openapi({
      description: "all of them: a handle of the network that is left out counts as gone",
    }),
  })
  .openapi("AttachmentGcRequest");

export const GcOutcome = z
  .object({
    handle: z.string(),
    outcome: openSet("released", "candidate", "held"),
    reason: z
      .string()
      .openapi({
        description:
          "open set: those of Leak, in_use_by_other_evidence, and for too_young allocated_less_than_120_s_ago",
      })
      .optional(),
    addresses: z.array(addressOut()).optional(),
  })
  .openapi("GcOutcome");

export const AttachmentGcResult = z
  .object({ released: whole(), held: whole(), results: z.array(GcOutcome) })
  .openapi("AttachmentGcResult");

export const Leak = z
  .object({
    address: addressOut(),
    handle: z.string(),
    host: z.string(),
    pool: z.string().optional(),
    kind: openSet("workload", "vm", "tunnel", "load_balancer", "external").optional(),
    state: openSet("candidate", "confirmed", "held", "released"),
    reason: openSet(
      "grace_period",
      "evidence_stale",
      "evidence_never",
      "handle_partly_alive",
      "breaker_open",
      "paused",
      "host_removing",
      "none",
      "awaiting_recheck",
      "too_young",
      "release_limit",
      "unreadable",
    ).optional(),
    detail: z.string().optional(),
    firstAbsentAt: time(),
    lastAbsentAt: time(),
    releasableAt: time().optional(),
    observations: whole(),
    attributes: textMapOut().optional(),
    sequenceNumber: counter(),
  })
  .openapi("Leak");

export const LeakList = z
  .object({ items: z.array(Leak), nextCursor: z.string().optional() })
  .openapi("LeakList");
