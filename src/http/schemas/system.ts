/**
 * Schemas of health, readiness and identity.
 * May import: the schema library.
 */
import { openSet, time } from "./answer-fields.ts";
import { z } from "./zod.ts";

export const Health = z.object({ ok: z.boolean() }).openapi("Health");

export const ReadyCheck = z
  .object({ name: z.string(), ok: z.boolean(), detail: z.string().optional() })
  .openapi("ReadyCheck");

export const Ready = z.object({ ready: z.boolean(), checks: z.array(ReadyCheck) }).openapi("Ready");

export const WhoAmI = z
  .object({
    subject: z.string(),
    role: openSet("admin", "reader", "agent", "anonymous"),
    host: z.string().optional(),
    method: openSet("token", "jwt", "none").optional(),
    expiresAt: time().optional(),
  })
  .openapi("WhoAmI");
