/**
 * Schemas of the owners of addresses, and of all that is known of one address.
 * May import: core limits and the schema library. Requests are strict, answers are open.
 */
import * as limits from "../../core/limits.ts";
import { Allocation } from "./allocation.ts";
import { addressOut, counter, family, openSet, textMapOut, time, whole } from "./answer-fields.ts";
import { freeText, handle, textMap } from "./fields.ts";
import { Leak } from "./leak.ts";
import { z } from "./zod.ts";

const absentIsFalse = () => z.boolean().openapi({ description: "Absent means False." });
const owner = () => textMap(limits.ATTRIBUTES_MAX, limits.ATTRIBUTE_VALUE_TEXT_MAX);

export const OwnerRef = z
  .strictObject({
    namespace: freeText(limits.NAME_TEXT_MAX),
    pod: freeText(limits.POD_NAME_TEXT_MAX),
  })
  .openapi("OwnerRef");

export const OwnerUpdate = z
  .strictObject({
    handle: handle(),
    setActive: owner().optional(),
    clearActive: absentIsFalse().optional(),
    setAlternate: owner().optional(),
    clearAlternate: absentIsFalse().optional(),
    expectActive: OwnerRef.optional(),
    expectActiveEmpty: absentIsFalse().optional(),
    expectAlternate: OwnerRef.optional(),
    expectAlternateEmpty: absentIsFalse().optional(),
  })
  .openapi("OwnerUpdate");

export const OwnerChangeRequest = z
  .strictObject({
    handle: handle(),
    change: z.enum(["promote", "clear"]),
    owner: OwnerRef,
    releaseWhenUnowned: absentIsFalse().optional(),
  })
  .openapi("OwnerChangeRequest");

export const OwnerChangeResult = z
  .object({
    changed: whole(),
    unchanged: whole(),
    released: whole(),
    allocations: z.array(Allocation).optional(),
  })
  .openapi("OwnerChangeResult");

export const Tenure = z
  .object({
    host: z.string(),
    handle: z.string().optional(),
    attributes: textMapOut().optional(),
    allocatedAt: time(),
    releasedAt: time().optional(),
    releasedBy: openSet("caller", "collector", "drain", "operator").optional(),
    sequenceNumber: counter().optional(),
  })
  .openapi("Tenure");

export const AddressView = z
  .object({
    address: addressOut(),
    family: family(),
    state: openSet("free", "allocated", "cooling", "host_reserved", "no_block", "not_in_any_pool"),
    allocatable: z.boolean().openapi({ description: "could be handed out automatically now" }).optional(),
    reason: z
      .string()
      .openapi({
        description:
          "why not: allocated, cooling, reserved, host_reserved, pool_disabled, pool_draining, manual_only, " +
          "block_draining, no_pool",
      })
      .optional(),
    pool: z.string().optional(),
    block: z.string().optional(),
    blockOwner: z.string().optional(),
    reservations: z.array(z.string()),
    allocation: Allocation.optional(),
    freeAt: time().optional(),
    leak: Leak.optional(),
    tenures: z.array(Tenure),
    tenuresComplete: z.boolean(),
    asOf: time(),
  })
  .openapi("AddressView");
