/**
 * Schemas of what happened lately.
 * May import: the schema library and the schemas it is made of.
 */
import { openSet, textMapOut, time, whole } from "./answer-fields.ts";
import { Shortfall } from "./problem.ts";
import { z } from "./zod.ts";

const TYPES =
  "open set; ignore values you do not know. overload is never written: see refusal with the code overloaded";
const COUNT = "a refusal event stands for this many requests, leak_released for this many addresses";
const FIRST_AT = "RFC 3339, UTC; of a refusal event its first request, of host_silent the host's last report";

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
    ).openapi({ description: TYPES }),
    severity: openSet("info", "warning", "error").optional(),
    summary: z.string().optional(),
    actor: z.string().optional(),
    requestId: z.string().optional(),
    host: z.string().optional(),
    pool: z.string().optional(),
    address: z.string().optional(),
    code: z.string().optional(),
    count: whole().optional().openapi({ description: COUNT }),
    firstAt: time().optional().openapi({ description: FIRST_AT }),
    before: textMapOut().optional(),
    after: textMapOut().optional(),
    shortfall: z.array(Shortfall).optional(),
  })
  .openapi("Event");

export const EventList = z
  .object({ items: z.array(Event), nextCursor: z.string().optional() })
  .openapi("EventList");
