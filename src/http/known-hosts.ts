/**
 * Hosts that this isolate has met: their objects exist. May import: rpc and http.
 * Rule: a hint that only grows; a host that is not here is looked up in Cluster's directory, since any
 * call to the name of a host that never was would make a database for it.
 */
import type { Ports } from "../rpc/ports.ts";
import type { Call } from "./operation.ts";

/** Hosts remembered at most; then all are forgotten and looked up again. */
const KNOWN_MAX = 16_384;
/** The object that answers for hosts which nobody knows; no host can have this name. */
const NOBODY = "-";

const knownOf = new WeakMap<Ports, Set<string>>();

/** Remembers a host that has registered, or that the directory has. */
export function noteKnownHost(ports: Ports, host: string): void {
  const known = knownOf.get(ports) ?? new Set<string>();
  knownOf.set(ports, known);
  if (known.size >= KNOWN_MAX) known.clear();
  known.add(host);
}

/**
 * Tells whether a host ever was, by the directory; one that it does not have has no row of any kind.
 * Why: a host enters itself in the directory before its first row.
 */
export async function isKnownHost({ ports }: Call, host: string): Promise<boolean> {
  if (knownOf.get(ports)?.has(host) === true) return true;
  const { entry } = await ports.cluster().findHost({ host });
  if (entry !== undefined) noteKnownHost(ports, host);
  return entry !== undefined;
}

/** Tells whether a host may get addresses as far as the directory knows; virtual owners need not have been there. */
export async function mayAllocateFor(call: Call, host: string): Promise<boolean> {
  return host.startsWith("virtual:") || (await isKnownHost(call, host));
}

/** Names the object that explains what a host would get: of hosts that never were, all have the same. */
export async function explainerOf(call: Call, host: string): Promise<string> {
  return (await isKnownHost(call, host)) ? host : NOBODY;
}
