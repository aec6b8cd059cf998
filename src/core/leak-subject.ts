/**
 * What the leak collector judges: one allocated address, as its block tells it, and of which kind it is.
 * May import: core only. Rule: what is not understood is `external`, and that is never collected on a guess.
 */
import { formatAddress, parseAddress } from "./address.ts";
import type { AddressRecord, Attributes } from "./allocation.ts";
import { isNobody, ownersOf } from "./owners.ts";

/**
 * An allocated address.
 * Units: `touchedAt` is when the touch was made, in milliseconds since 1970 by the block's clock.
 */
export type LeakSubject = Pick<
  AddressRecord,
  | "address"
  | "block"
  | "host"
  | "handle"
  | "use"
  | "attributes"
  | "alternateAttributes"
  | "leakCollection"
  | "touch"
> & {
  readonly touchedAt: number;
  /** Another host got the address too: that its own host does not list it does not make it unused. */
  readonly usedOn?: string;
  /** Number of the allocation, with which clients guard a release. */
  readonly sequenceNumber?: number;
};

/** `reserved`: set aside on Windows hosts by an earlier system; it goes with its block. */
export type LeakKind = "workload" | "vm" | "tunnel" | "load_balancer" | "reserved" | "external";

/** One who may own an address, as the attributes name them. */
export interface NamedOwner {
  readonly namespace: string;
  readonly pod: string;
  readonly uid?: string;
  /** The virtual machine whose pod it is. */
  readonly machine?: string;
}

const VIRTUAL_OWNER_PREFIX = "virtual:";
const WINDOWS_RESERVED_HANDLE = "windows-reserved-ipam-handle";
const MACHINE_ATTRIBUTE = "vmi-name";
/** What imported tunnel addresses carry as their `type`. */
const TUNNEL_TYPES: ReadonlySet<string> = new Set([
  "ipipTunnelAddress",
  "vxlanTunnelAddress",
  "vxlanV6TunnelAddress",
  "wireguardTunnelAddress",
  "wireguardV6TunnelAddress",
]);

/** Tells whether an affinity owner is no host: what it holds has a collector of its own. */
export function isVirtualOwner(owner: string): boolean {
  return owner.startsWith(VIRTUAL_OWNER_PREFIX);
}

/** Tells the kind of an allocation. Missing attributes make it external: nobody could say whether it is used. */
export function kindOf(subject: Omit<LeakSubject, "touchedAt">): LeakKind {
  if (subject.handle === WINDOWS_RESERVED_HANDLE) return "reserved";
  if (subject.use === "LoadBalancer" || isVirtualOwner(subject.host)) return "load_balancer";
  if (subject.leakCollection === "never") return "external";
  if (subject.use === "Tunnel" || TUNNEL_TYPES.has(subject.attributes.type ?? "")) return "tunnel";
  const owners = namedOwners(subject);
  if (owners.length === 0) return "external";
  return owners.some(({ machine }) => machine !== undefined) ? "vm" : "workload";
}

/** The owners that the attributes name in full; a slot that names half an owner makes all of it unknown. */
export function namedOwners(subject: Omit<LeakSubject, "touchedAt">): NamedOwner[] {
  const { active, alternate } = ownersOf(subject);
  const slots = [active, alternate].filter((slot) => !isNobody(slot));
  const owners = slots.flatMap((slot) => ownerIn(slot) ?? []);
  return owners.length === slots.length ? owners : [];
}

function ownerIn(slot: Attributes): NamedOwner | undefined {
  const { namespace = "", pod = "", uid } = slot;
  if (namespace === "" || pod === "") return undefined;
  const machine = slot[MACHINE_ATTRIBUTE];
  return {
    namespace,
    pod,
    ...(uid === undefined ? {} : { uid }),
    ...(machine === undefined ? {} : { machine }),
  };
}

/** Names something in a namespace; neither part can hold a slash. */
export function nameIn(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** The one spelling of an address, or undefined for what is none. */
export function canonicalAddress(text: string): string | undefined {
  const parsed = parseAddress(text);
  return parsed.ok ? formatAddress(parsed.value) : undefined;
}
