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

const labelKey = fc.constantFrom("a", "b", "in", "not", "contains", "has", "k8s.io/x-y_z");
const labelValue = fc.constantFrom("", "x", "xy", "yx", "it's", 'a "b"');

/** Labels over the few keys and values that random selectors use. */
export const labelSets = fc.dictionary(labelKey, labelValue, { maxKeys: 4 });

/** Random selector trees, not in normal form: as the text of someone who likes brackets. */
export const selectorTexts: fc.Arbitrary<string> = fc.letrec<{ expression: string; term: string }>((tie) => {
  const literal = labelValue.map((value) => (value.includes("'") ? `"${value}"` : `'${value}'`));
  const operator = fc.constantFrom("==", "!=", " contains ", " startswith", " ends \t with");
  const set = fc.array(literal, { maxLength: 3 }).map((values) => `{${values.join(" ,")}}`);
  const pair = (glue: string) =>
    fc.tuple(tie("expression"), tie("expression")).map(([left, right]) => `${left}${glue}${right}`);
  return {
    term: fc.oneof(
      fc.constantFrom("all()", "global( )"),
      labelKey.map((key) => `has( ${key})`),
      fc.tuple(labelKey, operator, literal).map((parts) => parts.join("")),
      fc.tuple(labelKey, fc.constantFrom(" in", " not in ", " notin"), set).map((parts) => parts.join("")),
    ),
    expression: fc.oneof(
      { maxDepth: 5 },
      tie("term"),
      pair("||"),
      pair(" && "),
      tie("expression").map((inner) => `!(${inner})`),
      tie("expression").map((inner) => `( ${inner} )`),
    ),
  };
}).expression;
