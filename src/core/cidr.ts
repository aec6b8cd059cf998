/**
 * Ranges written as base and prefix length: pools, blocks and reservations.
 * May import: core only. The base of a Cidr never has host bits set.
 */
import { type Address, formatAddress, parseAddress } from "./address.ts";
import type { Family } from "./errors.ts";
import { invariant } from "./invariant.ts";
import { CIDR_TEXT_MAX } from "./limits.ts";
import { err, ok, type Result } from "./result.ts";

/** Shape: `base` is the first address; its last `bits(family) - prefix` bits are zero. */
export interface Cidr {
  readonly family: Family;
  readonly base: bigint;
  readonly prefix: number;
}

/** Why a text is no range; `masked` is the range it would be without its host bits. */
export interface CidrFault {
  readonly code: "invalid_cidr" | "host_bits_set";
  readonly message: string;
  readonly masked?: string;
}

/** The number of bits of an address. */
export function bits(family: Family): 32 | 128 {
  return family === 4 ? 32 : 128;
}

/** The number of addresses of a range. */
export function size(cidr: Cidr): bigint {
  return 1n << BigInt(bits(cidr.family) - cidr.prefix);
}

function fault(message: string): { readonly ok: false; readonly error: CidrFault } {
  return err({ code: "invalid_cidr", message });
}

/** Reads `<address><separator><prefix>`, host bits allowed. */
function parseParts(
  text: string,
  separator: "/" | "-",
): Result<{ address: Address; prefix: number }, CidrFault> {
  if (text === "") return fault("A range is missing: write one such as 10.0.0.0/24.");
  if (text.length > CIDR_TEXT_MAX) return fault(`A range has at most ${CIDR_TEXT_MAX} characters.`);
  const cut = text.lastIndexOf(separator);
  if (cut < 0) return fault(`Add a prefix length, as in 10.0.0.0${separator}24.`);
  const address = parseAddress(text.slice(0, cut));
  if (!address.ok) return fault(address.error.message);
  const digits = text.slice(cut + 1);
  const most = bits(address.value.family);
  if (!/^(0|[1-9][0-9]{0,2})$/.test(digits) || Number(digits) > most) {
    return fault(`The prefix length is a whole number from 0 to ${most}, without leading zeros.`);
  }
  return ok({ address: address.value, prefix: Number(digits) });
}

function strict(text: string, separator: "/" | "-"): Result<Cidr, CidrFault> {
  const parts = parseParts(text, separator);
  if (!parts.ok) return parts;
  const cidr = blockOf(parts.value.address, parts.value.prefix);
  if (cidr.base === parts.value.address.value) return ok(cidr);
  const masked = formatCidr(cidr);
  return err({ code: "host_bits_set", message: `Host bits are set: write ${masked}.`, masked });
}

/**
 * Reads a range that says exactly where it begins.
 * Rejects: a missing prefix length; host bits, with the masked range that may be meant.
 */
export function parseCidr(text: string): Result<Cidr, CidrFault> {
  return strict(text, "/");
}

/** Reads a range and drops its host bits; a bare address means that address alone. */
export function parseCidrMasked(text: string): Result<Cidr, CidrFault> {
  if (!text.includes("/") && text !== "") {
    const address = parseAddress(text);
    if (!address.ok) return fault(address.error.message);
    return ok(blockOf(address.value, bits(address.value.family)));
  }
  const parts = parseParts(text, "/");
  return parts.ok ? ok(blockOf(parts.value.address, parts.value.prefix)) : parts;
}

/** Reads the name of a block: `10.0.0.0-26`, or its CIDR. Rejects: host bits. */
export function parseBlockName(text: string): Result<Cidr, CidrFault> {
  return strict(text, text.includes("/") ? "/" : "-");
}

/** Writes a range in canonical text. */
export function formatCidr(cidr: Cidr): string {
  return `${formatAddress({ family: cidr.family, value: cidr.base })}/${cidr.prefix}`;
}

/** Writes the name of a block: its canonical text with a hyphen, so that it is one path segment. */
export function blockName(cidr: Cidr): string {
  return `${formatAddress({ family: cidr.family, value: cidr.base })}-${cidr.prefix}`;
}

/** The range of the given prefix length that an address lies in. */
export function blockOf(address: Address, prefix: number): Cidr {
  const width = bits(address.family);
  invariant(Number.isInteger(prefix) && prefix >= 0 && prefix <= width, "prefix length out of range");
  const hostBits = BigInt(width - prefix);
  return { family: address.family, base: (address.value >> hostBits) << hostBits, prefix };
}

/** The last address of a range, as a number. */
export function lastAddress(cidr: Cidr): bigint {
  return cidr.base + size(cidr) - 1n;
}

/** Tells whether an address lies in a range. */
export function containsAddress(cidr: Cidr, address: Address): boolean {
  return cidr.family === address.family && cidr.base <= address.value && address.value <= lastAddress(cidr);
}

/** Tells whether the whole of `inner` lies in `outer`; a range contains itself. */
export function containsCidr(outer: Cidr, inner: Cidr): boolean {
  return outer.prefix <= inner.prefix && containsAddress(outer, { family: inner.family, value: inner.base });
}

/** Tells whether two ranges share an address. Why: two CIDRs are disjoint, or one contains the other. */
export function overlaps(one: Cidr, other: Cidr): boolean {
  return containsCidr(one, other) || containsCidr(other, one);
}

/** The address at a position of a range. Invariant: the position lies in the range. */
export function addressAt(cidr: Cidr, ordinal: number): Address {
  invariant(Number.isSafeInteger(ordinal) && ordinal >= 0, "an ordinal is a whole number");
  invariant(BigInt(ordinal) < size(cidr), "the ordinal lies outside its range");
  return { family: cidr.family, value: cidr.base + BigInt(ordinal) };
}

/** The position of an address in a range, from 0. Invariant: the address lies in the range. */
export function ordinalOf(cidr: Cidr, address: Address): number {
  invariant(containsAddress(cidr, address), "the address lies outside its range");
  const ordinal = Number(address.value - cidr.base);
  invariant(Number.isSafeInteger(ordinal), "the range is too large for ordinals");
  return ordinal;
}
