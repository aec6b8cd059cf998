/**
 * Routes of a pool: one per confirmed block, one per address that another host holds in a block.
 * May import: core only. Order: by first address, the wider range first; a mark is a place in it.
 */
import { parseAddress } from "./address.ts";
import { addressAt, bits, type Cidr, formatCidr, lastAddress, ordinalOf, parseCidr } from "./cidr.ts";
import { invariant } from "./invariant.ts";

/** Where packets to a range go. */
export interface Route {
  /** Canonical CIDR. */
  readonly destination: string;
  readonly host: string;
  readonly kind: "block" | "borrowed";
}

/** Addresses of one block that hosts other than its owner hold: ordinal and host, ascending. */
export type BorrowedOrdinals = readonly (readonly [ordinal: number, host: string])[];

/** A block as far as routes go; `owner` only where its Host has confirmed it. */
export interface RoutedBlock {
  readonly range: Cidr;
  readonly owner: string | undefined;
  readonly borrowed: BorrowedOrdinals;
}

/**
 * The routes of one block in order, those after a mark only.
 * Invariant: I6. One route per destination: in a block of one address the holder counts, not the owner.
 */
export function routesOfBlock(block: RoutedBlock, after?: Cidr): Route[] {
  const { range, owner } = block;
  const full = bits(range.family);
  const routes: { range: Cidr; route: Omit<Route, "destination"> }[] = [];
  const others = block.borrowed.filter(([, host]) => host !== owner);
  const isOneAddress = range.prefix === full && others.length > 0;
  if (owner !== undefined && !isOneAddress) routes.push({ range, route: { host: owner, kind: "block" } });
  for (const [ordinal, host] of others) {
    const { value } = addressAt(range, ordinal);
    const single = { family: range.family, base: value, prefix: full };
    routes.push({ range: single, route: { host, kind: "borrowed" } });
  }
  return routes
    .filter((one) => after === undefined || isBefore(after, one.range))
    .map((one) => ({ destination: formatCidr(one.range), ...one.route }));
}

/** Reads a mark, which is the destination of a route; undefined when it is no range. */
export function markOf(text: string): Cidr | undefined {
  const parsed = parseCidr(text);
  return parsed.ok ? parsed.value : undefined;
}

/** The mark behind every route of a block. */
export function markBehind(range: Cidr): string {
  return formatCidr({ family: range.family, base: lastAddress(range), prefix: bits(range.family) });
}

/** Tells whether a range may hold routes after a mark. */
export function reachesBeyond(range: Cidr, mark: Cidr): boolean {
  return range.family === mark.family ? lastAddress(range) > mark.base : range.family > mark.family;
}

function isBefore(one: Cidr, other: Cidr): boolean {
  if (one.family !== other.family) return one.family < other.family;
  return one.base === other.base ? one.prefix < other.prefix : one.base < other.base;
}

/** Reads the addresses that a block names as ordinals, ascending. Rejects: one outside the block. */
export function borrowedOrdinals(
  range: Cidr,
  addresses: readonly { readonly address: string; readonly host: string }[],
): BorrowedOrdinals {
  const ordinals = addresses.map(({ address, host }) => {
    const parsed = parseAddress(address);
    invariant(parsed.ok, `${address} is no address`);
    return [ordinalOf(range, parsed.value), host] as const;
  });
  return ordinals.toSorted(([one], [other]) => one - other);
}

/** The revision after a change of routes: it rises, and tells about when. Units: milliseconds since 1970. */
export function nextRoutesRevision(previous: number, now: number): number {
  return Math.max(previous + 1, now);
}
