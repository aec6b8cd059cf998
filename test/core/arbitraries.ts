/** Random addresses, ranges and selectors for the property tests of the core. */
import fc from "fast-check";
import type { Address } from "../../src/core/address.ts";
import { bits, blockOf, type Cidr } from "../../src/core/cidr.ts";

const MAPPED = 0xffffn;

/** Any IPv4 address, and any IPv6 address that is not IPv4-mapped; many with runs of zeros. */
export function addresses(): fc.Arbitrary<Address> {
  const group = fc.oneof(fc.constant(0n), fc.bigInt(0n, 0xffffn));
  const sparse = fc
    .array(group, { minLength: 8, maxLength: 8 })
    .map((groups) => groups.reduce((sum, next) => (sum << 16n) | next, 0n))
    .filter((value) => value >> 32n !== MAPPED);
  return fc.oneof(
    fc.bigInt(0n, (1n << 32n) - 1n).map((value): Address => ({ family: 4, value })),
    sparse.map((value): Address => ({ family: 6, value })),
  );
}

/** Any range whose base could have been read from text. */
export function cidrs(): fc.Arbitrary<Cidr> {
  return addresses()
    .chain((address) => fc.nat(bits(address.family)).map((prefix) => blockOf(address, prefix)))
    .filter((cidr) => cidr.family === 4 || cidr.base >> 32n !== MAPPED);
}
