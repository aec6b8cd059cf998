/**
 * Blocks that this isolate has met: their objects exist. May import: core, rpc.
 * Rule: a hint that only grows; a block that is not here is looked up in its Pool's directory, since any
 * call to the name of a block that never was would make a database for it.
 */
import type { Ports } from "../rpc/ports.ts";

/** Blocks remembered at most; then all are forgotten and looked up again. */
const KNOWN_MAX = 16_384;

const knownOf = new WeakMap<Ports, Set<string>>();

/** Tells whether an object was met before. `block` is a canonical CIDR. */
export function isKnownBlock(ports: Ports, block: string): boolean {
  return knownOf.get(ports)?.has(block) === true;
}

/** Remembers a block that answered, or that its Pool's directory has. */
export function noteKnownBlock(ports: Ports, block: string): void {
  const known = knownOf.get(ports) ?? new Set<string>();
  knownOf.set(ports, known);
  if (known.size >= KNOWN_MAX) known.clear();
  known.add(block);
}
