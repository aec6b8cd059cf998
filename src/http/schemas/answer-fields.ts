/**
 * The building blocks of answer schemas: open sets, times, counts.
 * May import: the schema library. Answers never close a set of values.
 */
import * as limits from "../../core/limits.ts";
import { ADDRESS_DESCRIPTION, integer } from "./fields.ts";
import { z } from "./zod.ts";

/** Text from a set that may grow: callers ignore values that they do not know. */
export function openSet(...values: string[]) {
  return z.string().openapi({
    "x-extensible-enum": values,
    description: `open set: ${values.join(", ")}; ignore values you do not know`,
  });
}

/** A time in an answer. */
export function time() {
  return z.string().openapi({
    format: "date-time",
    description: "RFC 3339, UTC, milliseconds, ends in Z",
    example: "2026-11-29T02:51:07.412Z",
  });
}

/** An address in an answer. */
export function addressOut() {
  return z.string().openapi({
    maxLength: limits.ADDRESS_TEXT_MAX,
    example: "10.244.3.17",
    description: ADDRESS_DESCRIPTION,
  });
}

/** A range in an answer. */
export function cidrOut() {
  return z.string().openapi({
    maxLength: limits.CIDR_TEXT_MAX,
    example: "10.244.3.0/26",
    description: "masked CIDR",
  });
}

/** A whole number in an answer, without a bound that the contract would have to keep. */
export function whole() {
  return z.int().openapi({ type: "integer" });
}

/** A number that may grow to what JSON carries exactly. */
export function counter() {
  return integer(0, limits.INTEGER_MAX).openapi({ format: "int64" });
}

/** A count of addresses of a pool: text, because IPv6 exceeds what JSON numbers carry. */
export function decimalCount() {
  return z
    .string()
    .regex(/^[0-9]+$/)
    .openapi({ example: "65536", description: "decimal count; a string because IPv6 counts exceed 2^53" });
}

/** The IP version. */
export function family() {
  return z.union([z.literal(4), z.literal(6)]).openapi({ type: "integer", enum: [4, 6] });
}

/** A map of text to text in an answer. */
export function textMapOut() {
  return z.record(z.string(), z.string());
}
