/**
 * Schemas of the leak collector as an operator sees and steers it.
 * May import: core limits and the schema library. Requests are strict, answers are open.
 */
import * as limits from "../../core/limits.ts";
import { counter, openSet, time, whole } from "./answer-fields.ts";
import { freeText, timeIn } from "./fields.ts";
import { z } from "./zod.ts";

/** What stands where something has not happened yet, since the contract wants a time there. */
const orNever = { description: "RFC 3339, UTC, milliseconds, ends in Z; 1970-01-01T00:00:00.000Z: never" };

export const GcBreaker = z
  .object({
    open: z.boolean(),
    openedAt: time().optional(),
    scope: z.string().openapi({ description: "a host, or the deployment" }).optional(),
    confirmed: whole().openapi({ description: "addresses that were due at once" }).optional(),
    limitPercent: whole().optional(),
  })
  .openapi("GcBreaker");

export const GcTick = z
  .object({
    lastAt: time().openapi(orNever),
    nextAt: time().optional(),
    overdue: z.boolean(),
    source: openSet("cron", "alarm", "manual").optional(),
  })
  .openapi("GcTick");

export const GcStatus = z
  .object({
    state: openSet("idle", "running", "paused", "stuck", "breaker_open"),
    paused: z.boolean(),
    pausedBy: z.string().optional(),
    pauseReason: z.string().optional(),
    sweep: counter(),
    lastSweepAt: time().openapi(orNever),
    lastSweepSeconds: z.number().optional(),
    oldestAuditSeconds: whole(),
    oldestAuditHost: z.string().optional(),
    backlogHosts: whole(),
    candidates: whole(),
    confirmed: whole(),
    held: whole(),
    releasedLastHour: whole(),
    hostsStale: whole().optional(),
    hostsNeverReported: whole().optional(),
    breaker: GcBreaker,
    tick: GcTick,
    lastError: z.string().optional(),
    lastErrorAt: time().optional(),
  })
  .openapi("GcStatus");

export const GcPatch = z
  .strictObject({
    paused: z.boolean().optional(),
    reason: freeText(limits.FREE_TEXT_MAX).optional(),
  })
  .openapi("GcPatch");

export const GcAcknowledgement = z.strictObject({ breakerOpenedAt: timeIn() }).openapi("GcAcknowledgement");

export const SweepAccepted = z.object({ sweep: counter() }).openapi("SweepAccepted");
