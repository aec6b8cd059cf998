/**
 * What an address remembers about who holds or held it. Plain data: it crosses
 * storage and object calls as it is. May import: core only.
 */
import type { Family } from "./errors.ts";

export type Use = "Workload" | "Tunnel" | "LoadBalancer";
export type LeakCollection = "auto" | "never";

/** Free text that the caller attaches to an owner; `node` is stamped by the service. */
export type Attributes = Readonly<Record<string, string>>;

/**
 * One address in the hands of a handle, or cooling after it.
 * Units: times in milliseconds since 1970, by the block's clock.
 */
export interface AddressRecord {
  readonly address: string;
  readonly family: Family;
  readonly block: string;
  /** Owner of the block at the time of reading; absent for an ownerless block. */
  readonly blockOwner?: string;
  readonly state: "allocated" | "cooling";
  readonly handle: string;
  readonly key: string;
  readonly host: string;
  readonly use: Use;
  readonly attributes: Attributes;
  readonly alternateAttributes?: Attributes;
  readonly leakCollection: LeakCollection;
  /** Number of the allocation; clients guard releases with it. */
  readonly sequenceNumber: number;
  /** Number of the last hand-out or owner change; undo and the collector guard with it. */
  readonly touch: number;
  readonly allocatedAt: number;
  readonly releasedAt?: number;
  readonly freeAt?: number;
}

/** How large a record is as text. Why: half of what a message takes for it at most, whatever is written in it. */
export function charactersOf(record: AddressRecord): number {
  return JSON.stringify(record).length;
}

/**
 * The figures of a block, all from one function and one snapshot (I14).
 * Invariant: capacity = allocated + cooling + hostReserved + free.
 */
export interface BlockCounts {
  readonly capacity: number;
  readonly allocated: number;
  readonly cooling: number;
  readonly hostReserved: number;
  /** Free ordinals, reserved or not. */
  readonly free: number;
  /** Ordinals inside reservations, whatever their state. */
  readonly reserved: number;
  /** What could be handed out automatically now: free and not reserved. */
  readonly available: number;
  /** Allocated to another host than the owner. */
  readonly borrowed: number;
  /** When the next cooling address is free. */
  readonly nextFreeAt?: number;
  /** When what cools is free, so that a reader can move the figures on; see cooling.ts. */
  readonly coolingSteps?: readonly { readonly at: number; readonly count: number; readonly open: number }[];
  readonly asOf: number;
}

/** Ranges of ordinals, inclusive, ascending, disjoint. */
export type OrdinalRanges = readonly (readonly [first: number, last: number])[];
