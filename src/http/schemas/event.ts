/**
 * Schemas of what happened lately.
 * May import: the schema library and the schemas it is made of.
 */
import { openSet, textMapOut, time, whole } from "./answer-fields.ts";
import { Shortfall } from "./problem.ts";
import { z } from "./zod.ts";

const NOT_WRITTEN_YET =
  "open set; ignore values you do not know. Nothing writes host_silent, leak_released, pool_warning and overload yet";

export const Event = z
  .object({
    id: z.string(),
    at: time(),
    type: openSet(
      "refusal",
      "config_changed",
      "pool_changed",
      "pool_draining",
      "pool_gone",
      "reservation_changed",
      "host_registered",
      "host_removed",
      "host_silent",
      "leak_released",
      "breaker_opened",
      "gc_stuck",
      "pool_warning",
      "repair",
      "overload",
    ).openapi({ description: NOT_WRITTEN_YET }),
    severity: openSet("info", "warning", "error").optional(),
    summary: z.string().optional(),
    actor: z.string().optional(),
    requestId: z.string().optional(),
    host: z.string().optional(),
    pool: z.string().optional(),
    address: z.string().optional(),
    code: z.string().optional(),
    count: whole().optional().openapi({ description: "a refusal event stands for this many requests" }),
    firstAt: time().optional(),
    before: textMapOut().optional(),
    after: textMapOut().optional(),
    shortfall: z.array(Shortfall).optional(),
  })
  .openapi("Event");

export const EventList = z
  .object({ items: z.array(Event), nextCursor: z.string().optional() })
  .openapi("EventList");
