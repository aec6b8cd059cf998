/**
 * The request headers that operations take: how they are documented and how they are read.
 * May import: core limits and the schema library.
 */
import type { FieldFault } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { z } from "./zod.ts";

/** Headers as the document names them. */
export const headerSchemas = {
  "If-Match": z.string().max(40).optional().openapi({
    description: 'revision, as "12" or 12',
  }),
  "If-None-Match": z.string().max(40).optional(),
  "Idempotency-Key": z
    .string()
    .min(limits.IDEMPOTENCY_KEY_TEXT_MIN)
    .max(limits.IDEMPOTENCY_KEY_TEXT_MAX)
    .optional(),
  "X-Request-Timeout-Ms": z
    .string()
    .openapi({
      type: "integer",
      minimum: limits.REQUEST_TIMEOUT_MS_MIN,
      maximum: limits.REQUEST_TIMEOUT_MS_MAX,
    })
    .optional(),
} as const;

export type HeaderName = keyof typeof headerSchemas;

/** Headers after reading. */
export interface HeaderValues {
  readonly ifRevision?: number;
  readonly mustNotExist?: boolean;
  /** Of a read: the answer that the caller has. */
  readonly unlessTag?: string;
  readonly idempotencyKey?: string;
  readonly timeoutMs?: number;
}

type Read = { readonly values: HeaderValues; readonly faults: readonly FieldFault[] };

const readers: Record<HeaderName, (text: string) => HeaderValues | FieldFault> = {
  "If-Match": (text) => {
    const revision = /^(?:"(\d{1,16})"|(\d{1,16}))$/.exec(text.trim());
    const value = Number(revision?.[1] ?? revision?.[2]);
    if (revision === null || !Number.isSafeInteger(value)) {
      return { parameter: "If-Match", code: "pattern", message: 'must be one revision, as "12" or 12' };
    }
    return { ifRevision: value };
  },
  "If-None-Match": (text) => {
    if (text.trim() === "*") return { mustNotExist: true };
    return { parameter: "If-None-Match", code: "pattern", message: "must be *, for a creation" };
  },
  "Idempotency-Key": (text) => {
    const key = /^"(.*)"$/.exec(text.trim())?.[1] ?? text.trim();
    const { IDEMPOTENCY_KEY_TEXT_MIN: min, IDEMPOTENCY_KEY_TEXT_MAX: max } = limits;
    if (/^[\x21-\x7e]*$/.test(key) && key.length >= min && key.length <= max) return { idempotencyKey: key };
    const message = `must be ${min} to ${max} visible ASCII characters`;
    if (key.length > max) return { parameter: "Idempotency-Key", code: "too_long", message, limit: max };
    return { parameter: "Idempotency-Key", code: "pattern", message };
  },
  "X-Request-Timeout-Ms": (text) => {
    const { REQUEST_TIMEOUT_MS_MIN: min, REQUEST_TIMEOUT_MS_MAX: max } = limits;
    const parameter = "X-Request-Timeout-Ms";
    if (!/^\d{1,9}$/.test(text.trim())) {
      return { parameter, code: "wrong_type", message: "must be a whole number of milliseconds" };
    }
    const timeoutMs = Number(text.trim());
    if (timeoutMs >= min && timeoutMs <= max) return { timeoutMs };
    const limit = timeoutMs < min ? min : max;
    return { parameter, code: "out_of_range", message: `must be between ${min} and ${max}`, limit };
  },
};

/** If-None-Match of a read: one entity tag, as an answer gave it. */
function readTag(text: string): HeaderValues | FieldFault {
  const tag = /^(?:(?:W\/)?"([\x21\x23-\x7e]{1,36})"|([\x21\x23-\x29\x2b-\x7e]{1,36}))$/.exec(text.trim());
  const unlessTag = tag?.[1] ?? tag?.[2];
  if (unlessTag !== undefined) return { unlessTag };
  return { parameter: "If-None-Match", code: "pattern", message: "must be the ETag of one answer" };
}

/** Reads the headers that an operation takes; the timeout counts for every operation. */
export function readHeaders(headers: Headers, declared: readonly HeaderName[], isRead = false): Read {
  let values: HeaderValues = {};
  const faults: FieldFault[] = [];
  for (const name of new Set<HeaderName>([...declared, "X-Request-Timeout-Ms"])) {
    const text = headers.get(name);
    if (text === null) continue;
    const read = isRead && name === "If-None-Match" ? readTag(text) : readers[name](text);
    if ("code" in read) faults.push(read);
    else values = { ...values, ...read };
  }
  return { values, faults };
}
