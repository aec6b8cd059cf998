/**
 * Schemas of configuration, pools and reservations.
 * May import: core limits and the schema library. No field of a request has a default.
 */
import * as limits from "../../core/limits.ts";
import { addressOut, cidrOut, counter, decimalCount, family, openSet, time, whole } from "./answer-fields.ts";
import { addressAsGiven, cidrAsGiven, freeText, integer, reservedCidrIn } from "./fields.ts";
import { z } from "./zod.ts";

export const Config = z
  .object({
    strictAffinity: z.boolean(),
    autoAllocateBlocks: z.boolean(),
    maxBlocksPerHost: whole(),
    effectiveMaxBlocksPerHost: whole().openapi({ description: "20 where maxBlocksPerHost is 0" }),
    kubeVirtVMAddressPersistence: openSet("Enabled", "Disabled"),
    ipCooldownSeconds: whole(),
    maintenance: z.boolean(),
    maintenanceReason: z.string().optional(),
    leakGraceSeconds: whole().openapi({ description: "900 unless set" }).optional(),
    staleReportSeconds: whole().openapi({ description: "300 unless set" }).optional(),
    revision: counter(),
    updatedAt: time(),
    updatedBy: z.string().optional(),
  })
  .openapi("Config");

export const ConfigPatch = z
  .strictObject({
    strictAffinity: z.boolean().optional(),
    autoAllocateBlocks: z.boolean().optional(),
    maxBlocksPerHost: integer(0, limits.BLOCKS_PER_HOST_MAX).optional(),
    kubeVirtVMAddressPersistence: z.enum(["Enabled", "Disabled"]).optional(),
    ipCooldownSeconds: integer(0, limits.COOLDOWN_SECONDS_MAX).optional(),
    maintenance: z.boolean().optional(),
    maintenanceReason: freeText(limits.FREE_TEXT_MAX).optional(),
    leakGraceSeconds: integer(limits.LEAK_GRACE_SECONDS_MIN, limits.LEAK_GRACE_SECONDS_MAX).optional(),
    staleReportSeconds: integer(limits.STALE_REPORT_SECONDS_MIN, limits.STALE_REPORT_SECONDS_MAX).optional(),
  })
  .openapi("ConfigPatch");

const mode = () => z.enum(["Never", "Always", "CrossSubnet"]);
const allowedUses = () =>
  z.array(z.enum(["Workload", "Tunnel", "LoadBalancer"])).max(limits.ALLOWED_USES_MAX);
const selector = () => freeText(limits.SELECTOR_TEXT_MAX);
const warnAtPercent = () => integer(limits.WARN_AT_PERCENT_MIN, limits.WARN_AT_PERCENT_MAX);
const absentMeans = (text: string) => ({ description: `Absent means ${text}.` });

export const PoolSpec = z
  .strictObject({
    cidr: cidrAsGiven(),
    blockSize: integer(0, 128).optional(),
    disabled: z.boolean().openapi(absentMeans("False")).optional(),
    assignmentMode: z.enum(["Automatic", "Manual"]).openapi(absentMeans("'Automatic'")).optional(),
    allowedUses: allowedUses().optional(),
    nodeSelector: selector().openapi(absentMeans("'all()'")).optional(),
    namespaceSelector: selector().openapi(absentMeans("''")).optional(),
    ipipMode: mode().openapi(absentMeans("'Never'")).optional(),
    vxlanMode: mode().openapi(absentMeans("'Never'")).optional(),
    natOutgoing: z.boolean().openapi(absentMeans("False")).optional(),
    disableBGPExport: z.boolean().openapi(absentMeans("False")).optional(),
    gateway: addressAsGiven().optional(),
    answerPrefix: z.enum(["block", "pool", "host"]).openapi(absentMeans("'block'")).optional(),
    warnAtPercent: warnAtPercent().openapi(absentMeans("90")).optional(),
    description: freeText(limits.FREE_TEXT_MAX).optional(),
  })
  .openapi("PoolSpec");

export const PoolPatch = z
  .strictObject({
    disabled: z.boolean().optional(),
    assignmentMode: z.enum(["Automatic", "Manual"]).optional(),
    allowedUses: allowedUses().optional(),
    nodeSelector: selector().optional(),
    namespaceSelector: selector().optional(),
    ipipMode: mode().optional(),
    vxlanMode: mode().optional(),
    natOutgoing: z.boolean().optional(),
    disableBGPExport: z.boolean().optional(),
    gateway: addressAsGiven().optional(),
    answerPrefix: z.enum(["block", "pool", "host"]).optional(),
    warnAtPercent: warnAtPercent().optional(),
    description: freeText(limits.FREE_TEXT_MAX).optional(),
    draining: z.boolean().openapi({ description: "false cancels a drain" }).optional(),
  })
  .openapi("PoolPatch");

export const Drain = z
  .object({
    startedAt: time(),
    allocated: whole(),
    cooling: whole(),
    blocks: whole(),
    lastFreeAt: time().optional(),
  })
  .openapi("Drain");

export const PoolUsage = z
  .object({
    pool: z.string(),
    cidr: cidrOut(),
    family: family(),
    capacity: decimalCount(),
    allocated: decimalCount(),
    cooling: decimalCount(),
    reserved: decimalCount(),
    available: decimalCount(),
    usedPercent: z.number().min(0).max(100).openapi({
      description: "100 x (capacity - available) / capacity, rounded down to two decimals",
    }),
    blocks: whole(),
    blocksFull: whole(),
    blocksUnowned: whole(),
    nextFreeAt: time().optional(),
    asOf: time(),
    exact: z.boolean().openapi({
      description: "false: from the pool's directory, at most a few seconds old",
    }),
  })
  .openapi("PoolUsage");

export const Pool = z
  .object({
    name: z.string(),
    cidr: cidrOut(),
    family: family(),
    blockSize: whole(),
    disabled: z.boolean(),
    assignmentMode: openSet("Automatic", "Manual"),
    allowedUses: z.array(z.string()),
    nodeSelector: z.string(),
    namespaceSelector: z.string(),
    ipipMode: z.string(),
    vxlanMode: z.string(),
    natOutgoing: z.boolean(),
    disableBGPExport: z.boolean(),
    gateway: addressOut().optional(),
    answerPrefix: openSet("block", "pool", "host").optional(),
    warnAtPercent: whole(),
    description: z.string().optional(),
    state: openSet("active", "disabled", "draining", "deleted"),
    drain: Drain.optional(),
    usage: PoolUsage,
    revision: counter(),
    createdAt: time(),
    updatedAt: time(),
    updatedBy: z.string().optional(),
  })
  .openapi("Pool");

export const Utilization = z
  .object({ items: z.array(PoolUsage), nextCursor: z.string().optional(), asOf: time() })
  .openapi("Utilization");

export const PoolList = z
  .object({ items: z.array(Pool), nextCursor: z.string().optional() })
  .openapi("PoolList");

export const SplitRequest = z
  .strictObject({ parts: integer(limits.SPLIT_PARTS_MIN, limits.SPLIT_PARTS_MAX) })
  .openapi("SplitRequest");

export const ReservationSpec = z
  .strictObject({
    reservedCIDRs: z.array(reservedCidrIn()).max(limits.RESERVED_CIDRS_MAX),
    reason: freeText(limits.FREE_TEXT_MAX).optional(),
  })
  .openapi("ReservationSpec");

export const Reservation = z
  .object({
    name: z.string(),
    reservedCIDRs: z.array(cidrOut()),
    reason: z.string().optional(),
    addressesAllocatedInside: whole().openapi({ description: "allocated before the reservation; they stay" }),
    revision: counter(),
    createdAt: time(),
    updatedAt: time(),
    updatedBy: z.string().optional(),
  })
  .openapi("Reservation");

export const ReservationList = z
  .object({ items: z.array(Reservation), nextCursor: z.string().optional() })
  .openapi("ReservationList");
