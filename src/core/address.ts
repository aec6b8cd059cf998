/**
 * One address of either family: text in, number inside, canonical text out.
 * May import: core only. A text that two readers could take for two addresses is refused.
 */
import type { Family } from "./errors.ts";
import { invariant } from "./invariant.ts";
import { ADDRESS_TEXT_MAX } from "./limits.ts";
import { err, ok, type Result } from "./result.ts";

/** Shape: an address as a number below 2^32 (family 4) or 2^128 (family 6). */
export interface Address {
  readonly family: Family;
  readonly value: bigint;
}

/** Why a text is no address, and what to write instead. */
export interface AddressFault {
  readonly code: "invalid_address";
  readonly message: string;
}

const GROUPS = 8;
const MAPPED_PREFIX = 0xffffn;

function fault(message: string): { readonly ok: false; readonly error: AddressFault } {
  return err({ code: "invalid_address", message });
}

/**
 * Reads an address in any spelling of RFC 4291, or dotted IPv4.
 * Rejects: zones, prefixes, IPv4-mapped addresses, and octal, hexadecimal or short IPv4 forms.
 * Source: RFC 4291 section 2.2, RFC 6943 section 3.1.1 (why the loose IPv4 forms are dangerous).
 */
export function parseAddress(text: string): Result<Address, AddressFault> {
  if (text === "") return fault("An address is missing: write one such as 10.0.0.1 or fd00::1.");
  if (text.length > ADDRESS_TEXT_MAX) {
    return fault(`An address has at most ${ADDRESS_TEXT_MAX} characters.`);
  }
  if (text.trim() !== text) return fault("Remove the white space around the address.");
  if (text.includes("/")) return fault("Remove the prefix length: this is one address, not a range.");
  if (text.includes("%")) return fault("Remove the zone (everything from %): addresses here have none.");
  if (text.startsWith("[")) return fault("Remove the square brackets around the address.");
  const parsed = text.includes(":") ? parseVersion6(text) : parseVersion4(text);
  return parsed.ok ? ok({ family: text.includes(":") ? 6 : 4, value: parsed.value }) : parsed;
}

function parseVersion4(text: string): Result<bigint, AddressFault> {
  if (!/^[0-9A-Za-z.]+$/.test(text)) return fault("This is neither an IPv4 nor an IPv6 address.");
  const octets = text.split(".");
  if (octets.some((octet) => /^0[xX]/.test(octet))) {
    return fault("Write the octets of an IPv4 address in decimal, not in hexadecimal.");
  }
  if (octets.some((octet) => octet === "" || !/^[0-9]+$/.test(octet))) {
    return fault("An IPv4 address is four decimal numbers with dots between them, such as 10.0.0.1.");
  }
  if (octets.length !== 4) {
    return fault(`An IPv4 address has four octets, this has ${octets.length}: write all of them.`);
  }
  let value = 0n;
  for (const octet of octets) {
    if (octet.length > 1 && octet.startsWith("0")) {
      return fault(`Remove the leading zero of octet ${octet}: some readers take it for octal.`);
    }
    if (octet.length > 3 || Number(octet) > 255) return fault(`Octet ${octet} is above 255.`);
    value = (value << 8n) | BigInt(octet);
  }
  return ok(value);
}

/** Reads the groups on one side of `::`; an IPv4 tail counts as two. */
function parseGroups(text: string, mayEndDotted: boolean): Result<bigint[], AddressFault> {
  if (text === "") return ok([]);
  const groups: bigint[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    if (part.includes(".")) {
      if (!mayEndDotted || index !== parts.length - 1) {
        return fault("Dotted IPv4 may stand only at the end of an IPv6 address.");
      }
      const tail = parseVersion4(part);
      if (!tail.ok) return tail;
      groups.push(tail.value >> 16n, tail.value & 0xffffn);
    } else if (part === "") {
      return fault("A single : stands at an end, or three in a row: use :: for one run of zeros.");
    } else if (!/^[0-9A-Fa-f]{1,4}$/.test(part)) {
      return fault("Each group of an IPv6 address is one to four hexadecimal digits.");
    } else {
      groups.push(BigInt(`0x${part}`));
    }
  }
  return ok(groups);
}

function parseVersion6(text: string): Result<bigint, AddressFault> {
  const halves = text.split("::");
  const [before = "", after] = halves;
  if (halves.length > 2) return fault("Use :: once only: twice leaves open how many zeros each means.");
  const head = parseGroups(before, after === undefined);
  if (!head.ok) return head;
  const tail = parseGroups(after ?? "", true);
  if (!tail.ok) return tail;
  const given = head.value.length + tail.value.length;
  if (after === undefined && given !== GROUPS) {
    return fault(`An IPv6 address has ${GROUPS} groups, this has ${given}: use :: for zeros.`);
  }
  if (after !== undefined && given >= GROUPS) {
    return fault(`There is no group left for :: to stand for; an IPv6 address has ${GROUPS}.`);
  }
  const zeros = new Array<bigint>(GROUPS - given).fill(0n);
  const value = [...head.value, ...zeros, ...tail.value].reduce((sum, group) => (sum << 16n) | group, 0n);
  if (value >> 32n === MAPPED_PREFIX) {
    const plain = formatAddress({ family: 4, value: value & 0xffffffffn });
    return fault(`This is an IPv4-mapped address: write ${plain}.`);
  }
  return ok(value);
}

/**
 * Writes an address in its one canonical form.
 * Source: RFC 5952 section 4 (lower case, no leading zeros, the first longest run of zeros as `::`).
 */
export function formatAddress(address: Address): string {
  const { family, value } = address;
  invariant(value >= 0n && value >> BigInt(family === 4 ? 32 : 128) === 0n, "address out of range");
  if (family === 4) {
    return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join(".");
  }
  const groups: bigint[] = [];
  for (let shift = 112n; shift >= 0n; shift -= 16n) groups.push((value >> shift) & 0xffffn);
  const run = longestRunOfZeros(groups);
  const hex = groups.map((group) => group.toString(16));
  if (run.length < 2) return hex.join(":");
  return `${hex.slice(0, run.start).join(":")}::${hex.slice(run.start + run.length).join(":")}`;
}

function longestRunOfZeros(groups: readonly bigint[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  for (const [index, group] of groups.entries()) {
    if (group !== 0n) start = index + 1;
    else if (index + 1 - start > best.length) best = { start, length: index + 1 - start };
  }
  return best;
}

/** Tells whether two addresses are the same one, whatever their text was. */
export function sameAddress(one: Address, other: Address): boolean {
  return one.family === other.family && one.value === other.value;
}
