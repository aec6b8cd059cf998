/**
 * Schemas of hosts: registration, figures per family, reports, tunnels.
 * May import: core limits and the schema library.
 */
import * as limits from "../../core/limits.ts";
import { addressOut, counter, openSet, textMapOut, time, whole } from "./answer-fields.ts";
import { incarnation, textMap } from "./fields.ts";
import { z } from "./zod.ts";

export const HostSpec = z
  .strictObject({
    labels: textMap(limits.HOST_LABELS_MAX, limits.LABEL_VALUE_TEXT_MAX),
    incarnation: incarnation()
      .openapi({ description: "changes when the machine is re-imaged, e.g. the boot or machine id" })
      .optional(),
  })
  .openapi("HostSpec");

export const HostReport = z
  .object({
    state: openSet("fresh", "stale", "never"),
    lastAt: time().optional(),
    ageSeconds: whole().optional(),
    sequence: counter().optional(),
    complete: z.boolean().optional(),
    workloads: whole(),
    addressesNotAllocated: whole().optional(),
  })
  .openapi("HostReport");

export const LeakCounts = z
  .object({ candidates: whole(), confirmed: whole(), held: whole() })
  .openapi("LeakCounts");

export const RefusalCounts = z
  .object({ last10Minutes: whole(), lastCode: z.string().optional(), lastAt: time().optional() })
  .openapi("RefusalCounts");

export const HostFamily = z
  .object({
    pools: z.array(z.string()).openapi({ description: "pools that select this host now" }),
    owned: whole().openapi({ description: "confirmed blocks" }),
    cap: whole(),
    pending: whole(),
    borrowedIn: whole(),
    borrowedOut: whole(),
    capacity: whole(),
    allocated: whole(),
    cooling: whole(),
    reserved: whole(),
    available: whole().openapi({ description: "in own blocks" }),
  })
  .openapi("HostFamily");

export const Tunnel = z
  .object({
    kind: openSet("ipip", "vxlan", "vxlan-v6", "wireguard", "wireguard-v6"),
    address: addressOut(),
    interfaceAddress: z.string().optional(),
    handle: z.string(),
    pool: z.string().optional(),
    action: openSet("kept", "assigned", "replaced", "adopted").optional(),
    sequenceNumber: counter().optional(),
  })
  .openapi("Tunnel");

export const Host = z
  .object({
    name: z.string(),
    kind: openSet("host", "virtual"),
    state: openSet("active", "silent", "removing"),
    labels: textMapOut(),
    incarnation: z.string().optional(),
    report: HostReport,
    ipv4: HostFamily,
    ipv6: HostFamily,
    tunnels: z.array(Tunnel),
    leaks: LeakCounts,
    refusals: RefusalCounts,
    registeredAt: time(),
    removingSince: time().optional(),
    allocationsLeft: whole().optional(),
    allocationsKept: whole()
      .optional()
      .openapi({ description: "of these, what no collector releases: the removal waits for somebody to" }),
    handlesKept: z.array(z.string()).optional().openapi({ description: "some handles of these" }),
    revision: counter(),
  })
  .openapi("Host");

export const FamilyReadiness = z
  .object({
    wanted: z.boolean().openapi({ description: "a pool of this family selects the host" }),
    ready: z.boolean(),
    code: z.string().optional(),
    hint: z.string().optional(),
    availableInOwnBlocks: whole().optional(),
    canClaim: z.boolean().optional(),
    canBorrow: z.boolean().optional(),
  })
  .openapi("FamilyReadiness");

export const HostReadiness = z
  .object({
    host: z.string(),
    ready: z.boolean(),
    ipv4: FamilyReadiness,
    ipv6: FamilyReadiness,
    asOf: time().optional(),
  })
  .openapi("HostReadiness");

export const HostList = z
  .object({ items: z.array(Host), nextCursor: z.string().optional() })
  .openapi("HostList");
