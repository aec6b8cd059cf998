/**
 * Turns what the schema library found wrong into field faults of the contract.
 * May import: core types and the schema library. Every issue becomes at least one fault.
 */
import type { FieldFault, FieldFaultCode } from "../core/errors.ts";
import type { OwnFault } from "./schemas/fields.ts";
import type { z } from "./schemas/zod.ts";

/** Where a value came from: a body is addressed by pointer, the rest by name. */
export type Place = "body" | "path" | "query" | "header";

type Issue = z.core.$ZodIssue;

/** Writes a JSON pointer. Source: RFC 6901 section 3. */
export function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Lists the faults of one part of a request; of two alike at one place the narrower bound stays. */
export function faultsOf(error: z.ZodError, place: Place): FieldFault[] {
  const faults = error.issues.flatMap((issue) => faultsOfIssue(issue, place));
  const byPlace = new Map(
    faults.map((fault) => [`${fault.pointer ?? fault.parameter} ${fault.code}`, fault]),
  );
  return [...byPlace.values()];
}

function faultsOfIssue(issue: Issue, place: Place): FieldFault[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => located([...issue.path, key], place, unknownMember(place)));
  }
  return [located(issue.path, place, describe(issue))];
}

type Description = { code: FieldFaultCode; message: string; limit?: number };

function located(path: readonly PropertyKey[], place: Place, fault: Description): FieldFault {
  if (place === "body") return { pointer: pointerOf(path), ...fault };
  return { parameter: String(path[0] ?? ""), ...fault };
}

function unknownMember(place: Place): Description {
  return place === "body"
    ? { code: "unknown_field", message: "is not a field of this request" }
    : { code: "unknown_parameter", message: "is not a parameter of this operation" };
}

function describe(issue: Issue): Description {
  switch (issue.code) {
    case "invalid_type":
      return wrongType(issue);
    case "too_big":
      return tooBig(issue);
    case "too_small":
      return tooSmall(issue);
    case "invalid_format":
      return { code: "pattern", message: `must match ${issue.pattern ?? issue.format}` };
    case "invalid_value":
      return wrongValue(issue);
    case "custom":
      return ownFault(issue);
    case "invalid_key":
    case "invalid_element":
    case "invalid_union":
    case "not_multiple_of":
    case "unrecognized_keys":
      return { code: "wrong_type", message: "is not valid here" };
  }
}

/** Tells absence and null from a value of another type. */
function missingOrNull(input: unknown): Description | undefined {
  if (input === undefined) return { code: "required", message: "is required" };
  if (input === null) return { code: "null_not_allowed", message: "must not be null; leave it out instead" };
  return undefined;
}

function wrongType(issue: Extract<Issue, { code: "invalid_type" }>): Description {
  const absent = missingOrNull(issue.input);
  if (absent !== undefined) return absent;
  const expected: Record<string, string> = {
    string: "a text",
    number: "a number",
    int: "a whole number",
    boolean: "true or false",
    array: "a list",
    object: "an object",
    record: "an object",
  };
  return { code: "wrong_type", message: `must be ${expected[issue.expected] ?? issue.expected}` };
}

function wrongValue(issue: Extract<Issue, { code: "invalid_value" }>): Description {
  const absent = missingOrNull(issue.input);
  if (absent !== undefined) return absent;
  const allowed = issue.values.map(String).join(", ");
  if (typeof issue.input !== "string") return { code: "wrong_type", message: `must be one of ${allowed}` };
  return { code: "out_of_range", message: `must be one of ${allowed}` };
}

function tooBig(issue: Extract<Issue, { code: "too_big" }>): Description {
  const limit = Number(issue.maximum);
  switch (issue.origin) {
    case "string":
      return { code: "too_long", message: `must have at most ${limit} characters`, limit };
    case "array":
      return { code: "too_many", message: `must have at most ${limit} items`, limit };
    default:
      return { code: "out_of_range", message: `must be at most ${limit}`, limit };
  }
}

function tooSmall(issue: Extract<Issue, { code: "too_small" }>): Description {
  const limit = Number(issue.minimum);
  switch (issue.origin) {
    case "string":
      return { code: "pattern", message: `must have at least ${limit} characters`, limit };
    case "array":
      return { code: "out_of_range", message: `must have at least ${limit} items`, limit };
    default:
      return { code: "out_of_range", message: `must be at least ${limit}`, limit };
  }
}

function ownFault(issue: Extract<Issue, { code: "custom" }>): Description {
  const own = issue.params as OwnFault | undefined;
  return {
    code: own?.fault ?? "wrong_type",
    message: issue.message,
    ...(own?.limit === undefined ? {} : { limit: own.limit }),
  };
}
