/**
 * Partial comparison of an outcome with what a case expects, and what a difference looks like.
 * May import: the vocabulary, core ranges. Only keys that the case names are compared.
 */
import { parseAddress } from "../../src/core/address.ts";
import { containsAddress, parseCidr } from "../../src/core/cidr.ts";
import type { Assigned, Outcome } from "./vocabulary.ts";

/** One place where outcome and expectation differ. */
export interface Difference {
  /** Where, e.g. `v4.count`. */
  readonly at: string;
  readonly expected: unknown;
  readonly got: unknown;
}

/** Keys of an assignment that the outcome does not hold as such. */
const DERIVED: Readonly<Record<string, (assigned: Assigned, expected: unknown) => unknown>> = {
  count: ({ addresses }) => addresses.length,
  ips: ({ addresses }) => addresses.map(({ ip }) => ip),
  ipsSet: ({ addresses }, expected) =>
    inOrderOf(
      addresses.map(({ ip }) => ip),
      expected,
    ),
  within: ({ addresses }, expected) =>
    addresses.every(({ ip }) => liesIn(ip, String(expected))) ? expected : addresses.map(({ ip }) => ip),
  prefixLen: ({ addresses }, expected) =>
    addresses.every(({ prefixLength }) => prefixLength === expected)
      ? expected
      : addresses.map(({ prefixLength }) => prefixLength),
  distinct: ({ addresses }) => new Set(addresses.map(({ ip }) => ip)).size === addresses.length,
  partial: ({ addresses, requested }) => addresses.length < requested,
};

/** Keys that look at how upstream stores things; cases marked `internal` may name them. */
const REPRESENTATION = new Set(["numAttributes", "sequence", "blockSequence"]);

/**
 * Compares what a case names. A missing `error` expects success.
 * Shape: lists agree in length and order; objects in the named members only.
 */
export function differences(
  outcome: Outcome,
  expected: Readonly<Record<string, unknown>>,
  isInternal: boolean,
): Difference[] {
  const { error, ...members } = expected;
  const found: Difference[] = [];
  if (error === undefined) {
    if (outcome.error !== undefined) found.push({ at: "error", expected: "success", got: outcome.error });
  } else {
    compare("error", outcome.error, error, false, found);
  }
  for (const [key, value] of Object.entries(members)) {
    if (isInternal && REPRESENTATION.has(key)) continue;
    // The whole map is meant: a handle that is not named must not be there.
    if (key === "handles") whole(key, outcome[key], value, found);
    else compare(key, outcome[key], value, isInternal, found);
  }
  return found;
}

function compare(
  at: string,
  got: unknown,
  expected: unknown,
  isInternal: boolean,
  found: Difference[],
): void {
  if (isRecord(expected) && isRecord(got)) {
    for (const [key, value] of Object.entries(expected)) {
      if (isInternal && REPRESENTATION.has(key)) continue;
      const derive = isAssigned(got) ? DERIVED[key] : undefined;
      const member = derive === undefined ? got[key] : derive(got as unknown as Assigned, value);
      compare(`${at}.${key}`, member, value, isInternal, found);
    }
    return;
  }
  if (Array.isArray(expected) && Array.isArray(got) && expected.length === got.length) {
    for (const [index, value] of expected.entries()) {
      compare(`${at}[${index}]`, got[index], value, isInternal, found);
    }
    return;
  }
  if (!Object.is(got, expected)) found.push({ at, expected, got });
}

function whole(at: string, got: unknown, expected: unknown, found: Difference[]): void {
  if (sorted(got) !== sorted(expected)) found.push({ at, expected, got });
}

function sorted(value: unknown): string {
  if (!isRecord(value)) return JSON.stringify(value) ?? "nothing";
  const keys = Object.keys(value).toSorted();
  return `{${keys.map((key) => `${key}: ${sorted(value[key])}`).join(", ")}}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isAssigned(value: unknown): value is Assigned {
  return isRecord(value) && Array.isArray(value.addresses) && "requested" in value;
}

/** The members of `got` in the order of `expected` where both hold the same, else as they are. */
function inOrderOf(got: readonly string[], expected: unknown): readonly string[] {
  if (!Array.isArray(expected) || got.length !== expected.length) return got;
  return expected.every((ip) => got.includes(ip)) ? expected : got;
}

function liesIn(ip: string, range: string): boolean {
  const address = parseAddress(ip);
  const cidr = parseCidr(range);
  return address.ok && cidr.ok && containsAddress(cidr.value, address.value);
}

/** What a saved outcome is to later steps: an assignment with its addresses as texts. */
export function savedForm(outcome: Outcome): unknown {
  const plain = Object.entries(outcome).map(([key, value]) =>
    isAssigned(value)
      ? [key, { ...value, ips: value.addresses.map(({ ip }) => ip), count: value.addresses.length }]
      : [key, value],
  );
  return Object.fromEntries(plain);
}
