/**
 * The building blocks of request and answer schemas: one function per kind of field.
 * May import: core and the schema library. Bounds come from core/limits.ts only.
 */
import { formatAddress, parseAddress } from "../../core/address.ts";
import { blockName, formatCidr, parseBlockName, parseCidr, parseCidrMasked } from "../../core/cidr.ts";
import type { FieldFaultCode } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { z } from "./zod.ts";

/** A fault that only our own parsing can find, carried through the schema library. */
export interface OwnFault {
  fault: FieldFaultCode;
  limit?: number;
}

interface Issues {
  addIssue(issue: { code: "custom"; message: string; params: Record<string, unknown> }): void;
}

/** Reports a fault with our own code, and yields a value that no caller sees. */
export function faulty(ctx: Issues, own: OwnFault, message: string): never {
  ctx.addIssue({ code: "custom", message, params: { ...own } });
  return z.NEVER;
}

/** Refuses text that storage or another language would change: NUL and lone surrogates. */
function wellFormed(text: string): boolean {
  return text.isWellFormed() && !text.includes("\u0000");
}

const illFormed = { params: { fault: "pattern" }, message: "must be well-formed Unicode without NUL" };

/** Free text of a request. */
export function freeText(maxLength: number) {
  return z.string().max(maxLength).refine(wellFormed, illFormed);
}

/** What a host calls this life of it. Why: an empty one would stand for every machine that knows of none. */
export function incarnation() {
  return freeText(limits.INCARNATION_TEXT_MAX).refine((text) => text.trim() !== "", {
    params: { fault: "pattern" },
    message: "must not be empty: give what changes when the machine is re-imaged, e.g. its boot id",
  });
}

/** A name that must match a pattern. */
export function named(pattern: RegExp, maxLength: number, example: string) {
  return z.string().min(1).max(maxLength).regex(pattern).openapi({ example });
}

export const hostName = () => named(limits.HOST_NAME_PATTERN, limits.HOST_NAME_TEXT_MAX, "node-1");
export const handle = () => named(limits.HANDLE_PATTERN, limits.HANDLE_TEXT_MAX, "k8s-pod-network.4f1c");
export const policyName = () => named(limits.NAME_PATTERN, limits.NAME_TEXT_MAX, "default");

/** A whole number of a request. */
export function integer(minimum: number, maximum: number) {
  return z.int().min(minimum).max(maximum).openapi({ type: "integer", minimum, maximum });
}

/** A whole number up to what JSON carries exactly. */
export function bigInteger() {
  return integer(0, limits.INTEGER_MAX).openapi({ format: "int64" });
}

/** A map of text to text of a request. Rejects: too many entries, and keys that are empty, too long or ill-formed. */
export function textMap(entriesMax: number, valueMax: number) {
  return z
    .record(z.string(), freeText(valueMax))
    .superRefine((map, ctx) => {
      const keys = Object.keys(map);
      if (keys.length > entriesMax) {
        faulty(ctx, { fault: "too_many", limit: entriesMax }, `has more than ${entriesMax} entries`);
      }
      const bad = keys.find(
        (key) => key === "" || key.length > limits.LABEL_KEY_TEXT_MAX || !wellFormed(key),
      );
      if (bad !== undefined) {
        const message = `has a key that is empty, ill-formed or longer than ${limits.LABEL_KEY_TEXT_MAX} characters`;
        faulty(ctx, { fault: "pattern", limit: limits.LABEL_KEY_TEXT_MAX }, message);
      }
    })
    .openapi({ maxProperties: entriesMax });
}

export const ADDRESS_DESCRIPTION = "IPv4 or IPv6 address; any RFC 4291 spelling in, RFC 5952 out";

/** An address of a request, in any spelling; comes out in canonical text. */
export function addressIn() {
  return z
    .string()
    .transform((text, ctx) => {
      const parsed = parseAddress(text);
      if (parsed.ok) return formatAddress(parsed.value);
      return faulty(ctx, { fault: "invalid_address" }, parsed.error.message);
    })
    .openapi({
      type: "string",
      maxLength: limits.ADDRESS_TEXT_MAX,
      example: "10.244.3.17",
      description: ADDRESS_DESCRIPTION,
    });
}

/** An address that the core reads, together with the fields that it must agree with. */
export function addressAsGiven() {
  return z.string().max(limits.ADDRESS_TEXT_MAX).openapi({
    example: "10.244.3.17",
    description: ADDRESS_DESCRIPTION,
  });
}

/** A pool's CIDR; the core reads it, and says what is wrong with its host bits. */
export function cidrAsGiven() {
  return z.string().max(limits.CIDR_TEXT_MAX).openapi({
    example: "10.244.3.0/26",
    description: "masked CIDR",
  });
}

/** A range of blocks; comes out in canonical text. Rejects: host bits, with the range that may be meant. */
export function blockRange() {
  return z
    .string()
    .transform((text, ctx) => {
      const parsed = parseCidr(text);
      if (parsed.ok) return formatCidr(parsed.value);
      return faulty(ctx, { fault: parsed.error.code }, parsed.error.message);
    })
    .openapi({
      type: "string",
      maxLength: limits.CIDR_TEXT_MAX,
      example: "10.244.3.0/26",
      description: "masked CIDR",
    });
}

/** A reserved range: a CIDR whose host bits are masked, or a bare address. */
export function reservedCidrIn() {
  return z
    .string()
    .superRefine((text, ctx) => {
      const parsed = parseCidrMasked(text);
      if (!parsed.ok) faulty(ctx, { fault: "invalid_cidr" }, parsed.error.message);
    })
    .openapi({ type: "string", maxLength: limits.CIDR_TEXT_MAX, description: "CIDR or bare address" });
}

/** A block in a path or a query: `10.0.0.0-26` or its CIDR; comes out as its name. */
export function blockIn() {
  return z
    .string()
    .transform((text, ctx) => {
      const parsed = parseBlockName(text);
      if (parsed.ok) return blockName(parsed.value);
      return faulty(ctx, { fault: parsed.error.code }, parsed.error.message);
    })
    .openapi({ type: "string", maxLength: limits.CIDR_TEXT_MAX });
}

/** A whole number in a query: digits only, so that nothing is read loosely. */
export function queryInteger(minimum: number, maximum: number) {
  return z
    .string()
    .transform((text, ctx) => {
      if (!/^(0|[1-9][0-9]{0,15})$/.test(text)) {
        return faulty(ctx, { fault: "wrong_type" }, "must be a whole number in decimal digits");
      }
      const value = Number(text);
      if (value >= minimum && value <= maximum) return value;
      const limit = value < minimum ? minimum : maximum;
      return faulty(ctx, { fault: "out_of_range", limit }, `must be between ${minimum} and ${maximum}`);
    })
    .openapi({ type: "integer", minimum, maximum });
}

/** A switch in a query: true or false, nothing else. */
export function queryBoolean() {
  return z
    .string()
    .transform((text, ctx) => {
      if (text === "true" || text === "false") return text === "true";
      return faulty(ctx, { fault: "wrong_type" }, "must be true or false");
    })
    .openapi({ type: "boolean" });
}

const TIME =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$/;

/** A time of a request, RFC 3339 in any offset; comes out as milliseconds since 1970. */
export function timeIn() {
  return z
    .string()
    .transform((text, ctx) => {
      const at = TIME.test(text) ? Date.parse(text) : Number.NaN;
      return Number.isNaN(at) ? faulty(ctx, { fault: "pattern" }, "must be a time as in RFC 3339") : at;
    })
    .openapi({
      type: "string",
      format: "date-time",
      description: "RFC 3339, UTC, milliseconds, ends in Z",
      example: "2026-11-29T02:51:07.412Z",
    });
}
