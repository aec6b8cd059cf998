/**
 * Schemas of allocations and releases.
 * May import: core limits and the schema library. Requests are strict, answers are open.
 */
import * as limits from "../../core/limits.ts";
import { addressOut, cidrOut, counter, family, openSet, textMapOut, time, whole } from "./answer-fields.ts";
import { addressIn, bigInteger, faulty, freeText, handle, hostName, integer, textMap } from "./fields.ts";
import { Considered, Shortfall } from "./problem.ts";
import { z } from "./zod.ts";

const use = () =>
  z.enum(["Workload", "Tunnel", "LoadBalancer"]).openapi({ description: "Absent means 'Workload'." });
const leakCollection = () => z.enum(["auto", "never"]).openapi({ description: "Absent means 'auto'." });
const absentIsFalse = () => z.boolean().openapi({ description: "Absent means False." });

export const FamilyRequest = z
  .strictObject({
    count: integer(0, limits.ADDRESSES_PER_REQUEST_MAX),
    pools: z
      .array(freeText(limits.NAME_TEXT_MAX).openapi({ description: "pool name or exact CIDR" }))
      .max(limits.REQUESTED_POOLS_MAX)
      .optional(),
  })
  .openapi("FamilyRequest");

export const NamespaceRef = z
  .strictObject({
    name: freeText(limits.NAME_TEXT_MAX),
    labels: textMap(limits.NAMESPACE_LABELS_MAX, limits.LABEL_VALUE_TEXT_MAX).optional(),
  })
  .openapi("NamespaceRef");

export const HostReserved = z
  .strictObject({
    start: integer(0, limits.HOST_RESERVED_MAX),
    end: integer(0, limits.HOST_RESERVED_MAX),
    handle: handle().optional(),
    note: freeText(limits.FREE_TEXT_MAX).optional(),
  })
  .superRefine((value, ctx) => {
    if (value.start + value.end > 0) return;
    faulty(ctx, { fault: "host_reservation" }, "must keep back at least one address: start or end above 0");
  })
  .openapi("HostReserved");

export const HostReservedByFamily = z
  .strictObject({ ipv4: HostReserved.optional(), ipv6: HostReserved.optional() })
  .openapi("HostReservedByFamily");

export const AllocationRequest = z
  .strictObject({
    host: hostName(),
    handle: handle(),
    use: use().optional(),
    ipv4: FamilyRequest.optional(),
    ipv6: FamilyRequest.optional(),
    attributes: textMap(limits.ATTRIBUTES_MAX, limits.ATTRIBUTE_VALUE_TEXT_MAX).optional(),
    namespace: NamespaceRef.optional(),
    maxPerHandle: integer(1, limits.PER_HANDLE_MAX).optional(),
    maxBlocksPerHost: integer(1, limits.BLOCKS_PER_HOST_MAX).optional(),
    hostReserved: HostReservedByFamily.optional(),
    partial: absentIsFalse().optional(),
    ownerSlot: z.enum(["active", "alternate"]).openapi({ description: "Absent means 'active'." }).optional(),
    leakCollection: leakCollection().optional(),
    explain: absentIsFalse().optional(),
  })
  .openapi("AllocationRequest");

export const AssignRequest = z
  .strictObject({
    host: hostName(),
    handle: handle(),
    use: use().optional(),
    attributes: textMap(limits.ATTRIBUTES_MAX, limits.ATTRIBUTE_VALUE_TEXT_MAX).optional(),
    maxPerHandle: integer(1, limits.PER_HANDLE_MAX).optional(),
    leakCollection: leakCollection().optional(),
  })
  .openapi("AssignRequest");

export const Allocation = z
  .object({
    address: addressOut(),
    interfaceAddress: z.string().openapi({
      example: "10.244.3.17/26",
      description: "address with the block's prefix length, for CNI",
    }),
    family: family(),
    pool: z.string(),
    block: cidrOut(),
    host: z.string(),
    handle: z.string().optional(),
    use: openSet("Workload", "Tunnel", "LoadBalancer"),
    state: openSet("allocated", "cooling"),
    attributes: textMapOut(),
    alternateAttributes: textMapOut().optional(),
    sequenceNumber: counter(),
    allocatedAt: time(),
    releasedAt: time().optional(),
    freeAt: time().optional(),
    borrowed: z.boolean(),
    reserved: z.boolean(),
    gateway: addressOut().optional(),
    leakCollection: openSet("auto", "never").optional(),
  })
  .openapi("Allocation");

export const FamilyExplanation = z
  .object({
    family: family(),
    requested: whole(),
    allocated: whole().openapi({ description: "what a request would get now" }),
    code: z.string().optional(),
    retryAfterSeconds: whole().optional(),
    ownedBlocks: whole(),
    blockCap: whole(),
    considered: z.array(Considered).max(limits.CONSIDERED_EXPLANATION_MAX),
    consideredOmitted: whole(),
  })
  .openapi("FamilyExplanation");

export const Explanation = z
  .object({
    wouldSucceed: z.boolean(),
    policyRevision: counter(),
    hostKnown: z.boolean(),
    hostLabels: textMapOut(),
    strictAffinity: z.boolean(),
    autoAllocateBlocks: z.boolean(),
    families: z.array(FamilyExplanation),
    asOf: time(),
  })
  .openapi("Explanation");

export const AllocationResult = z
  .object({
    allocations: z.array(Allocation),
    shortfall: z.array(Shortfall),
    replayed: z.boolean(),
    reused: z.boolean(),
    explanation: Explanation.optional(),
  })
  .openapi("AllocationResult");

export const AllocationList = z
  .object({ items: z.array(Allocation), nextCursor: z.string().optional() })
  .openapi("AllocationList");

export const ReleaseAddress = z
  .strictObject({
    address: addressIn(),
    handle: handle().optional(),
    sequenceNumber: bigInteger().optional(),
  })
  .openapi("ReleaseAddress");

export const ReleaseRequest = z
  .strictObject({
    handles: z.array(handle()).max(limits.RELEASE_HANDLES_MAX).optional(),
    addresses: z.array(ReleaseAddress).max(limits.RELEASE_ADDRESSES_MAX).optional(),
    force: z
      .boolean()
      .openapi({
        description: "admin only: release addresses without handle or sequence number Absent means False.",
      })
      .optional(),
  })
  .openapi("ReleaseRequest");

export const ReleaseOutcome = z
  .object({
    address: addressOut(),
    handle: z.string().optional(),
    outcome: openSet("released", "already_free", "not_in_any_block", "rejected"),
    code: z.string().optional(),
    freeAt: time().optional(),
    sequenceNumber: counter().optional(),
  })
  .openapi("ReleaseOutcome");

export const ReleaseResult = z
  .object({
    released: whole(),
    alreadyFree: whole(),
    rejected: whole(),
    results: z.array(ReleaseOutcome),
  })
  .openapi("ReleaseResult");
