/**
 * Path and query parameters under the names that operations give them.
 * May import: core limits and the schema library.
 */
import * as limits from "../../core/limits.ts";
import {
  addressIn,
  blockIn,
  handle,
  hostName,
  policyName,
  queryBoolean,
  queryInteger,
  timeIn,
} from "./fields.ts";
import { z } from "./zod.ts";

export const poolParams = z.object({ pool: policyName() });
export const reservationParams = z.object({ reservation: policyName() });
export const hostParams = z.object({ host: hostName() });
export const handleParams = z.object({ handle: handle() });
export const checkParams = z.object({ check: z.string().max(limits.CHECK_ID_TEXT_MAX) });
export const addressParams = z.object({ address: addressIn() });
export const blockParams = z.object({ block: blockIn().openapi({ example: "10.244.3.0-26" }) });

/** What every list takes. */
const page = {
  limit: queryInteger(1, limits.PAGE_SIZE_MAX).openapi({ default: limits.PAGE_SIZE_DEFAULT }).optional(),
  cursor: z.string().max(512).optional(),
};

const falseSwitch = () => queryBoolean().openapi({ default: false }).optional();
const filterText = (maxLength: number) => z.string().max(maxLength).optional();

/** One of a closed set, documented as open text: the set may grow. */
function choice(values: readonly string[], maxLength: number) {
  const message = `must be one of ${values.join(", ")}`;
  const isKnown = (text: string) => values.includes(text);
  return z
    .string()
    .max(maxLength)
    .refine(isKnown, { params: { fault: "out_of_range" }, message })
    .optional();
}

export const pageQuery = z.object(page);
export const cursorQuery = z.object({ cursor: page.cursor });

export const hostsQuery = z.object({
  report: choice(["fresh", "stale", "never"], 16),
  state: choice(["active", "silent", "removing"], 32),
  ...page,
});

export const allocationsQuery = z.object({
  host: hostName().optional(),
  pool: policyName().optional(),
  block: blockIn().optional(),
  handle: handle().optional(),
  namespace: filterText(limits.NAME_TEXT_MAX),
  pod: filterText(limits.POD_NAME_TEXT_MAX),
  state: choice(["allocated", "cooling"], 32),
  ...page,
});

export const releaseQuery = z.object({
  handle: handle().optional(),
  sequenceNumber: queryInteger(0, limits.INTEGER_MAX).openapi({ format: "int64" }).optional(),
  force: falseSwitch(),
});

export const utilizationQuery = z.object({
  pool: policyName().optional(),
  exact: falseSwitch(),
  ...page,
});

export const routesQuery = z.object({
  pool: policyName().optional(),
  host: hostName().optional(),
  waitSeconds: queryInteger(0, limits.ROUTES_WAIT_SECONDS_MAX).openapi({ default: 0 }).optional(),
  ...page,
});

export const blocksQuery = z.object({
  pool: policyName().optional(),
  host: hostName().optional(),
  owned: queryBoolean().optional(),
  exact: falseSwitch(),
  map: falseSwitch(),
  ...page,
});

export const leaksQuery = z.object({
  host: hostName().optional(),
  pool: policyName().optional(),
  state: choice(["candidate", "confirmed", "held"], 32),
  ...page,
});

export const eventsQuery = z.object({
  type: filterText(limits.EVENT_TYPE_TEXT_MAX),
  host: hostName().optional(),
  pool: policyName().optional(),
  code: filterText(limits.CODE_TEXT_MAX),
  severity: filterText(limits.SEVERITY_TEXT_MAX),
  since: timeIn().optional(),
  ...page,
});
