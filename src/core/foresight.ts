/**
 * What an allocation would get, from facts that were only read: the arithmetic of an explanation.
 * May import: core only. Rule: it follows the search of a Host step by step, and changes nothing.
 */
import type { OrdinalRanges } from "./allocation.ts";
import { RECLAIM_CANDIDATES_MAX } from "./limits.ts";
import { inRanges } from "./ordinal.ts";
import type { SearchEnd } from "./placement.ts";

/** A block that a claim would be answered with, and what its own figures say of it. */
export interface ForeseenClaim {
  readonly block: string;
  /** `reclaim`: its owner would be asked; only where it would agree is there a block. */
  readonly kind: "own" | "free" | "reclaim";
  readonly rank: number;
  /** The block would go to the host. */
  readonly isGiven: boolean;
  /** Addresses that it would have for the host. */
  readonly available: number;
  /** It holds addresses, or some cool: that others have filled it is no reason to stop claiming. */
  readonly isUsed: boolean;
}

/** What is known of one family. Units: milliseconds since 1970. */
export interface FamilyGround {
  readonly wanted: number;
  readonly own: { readonly available: number; readonly nextFreeAt?: number };
  /** Rows of the family in every state. */
  readonly owned: number;
  readonly cap: number;
  readonly autoAllocateBlocks: boolean;
  readonly strict: boolean;
  /** By pool, in the order of the search. */
  readonly claims: readonly (readonly ForeseenClaim[])[];
  readonly others: { readonly available: number; readonly nextFreeAt?: number };
}

export interface Foreseen {
  readonly allocated: number;
  readonly owned: number;
  /** Blocks that would be claimed. */
  readonly claimed: readonly string[];
  readonly end: SearchEnd;
}

/** Foresees what a request would get: own blocks, then claims under the cap, then blocks of others. */
export function foresee(ground: FamilyGround): Foreseen {
  const { wanted, own, cap, autoAllocateBlocks, strict, others } = ground;
  let missing = wanted - own.available;
  let { owned } = ground;
  const claimed: string[] = [];
  const startsCapped = owned >= cap;
  for (const plan of startsCapped || !autoAllocateBlocks ? [] : ground.claims) {
    const order = claimOrder(plan);
    while (missing > 0 && owned < cap) {
      const next = order();
      if (next === undefined) break;
      owned += 1;
      claimed.push(next.block);
      missing -= next.available;
      if (next.available === 0 && !next.isUsed) break;
    }
  }
  const isShort = missing > 0;
  const capReached = isShort && (startsCapped || (autoAllocateBlocks && owned >= cap));
  const mayBorrow = !capReached && autoAllocateBlocks && !strict;
  if (mayBorrow) missing -= others.available;
  const times = [own.nextFreeAt, mayBorrow ? others.nextFreeAt : undefined].filter((at) => at !== undefined);
  const end: SearchEnd = {
    capReached,
    autoAllocateOff: !autoAllocateBlocks,
    strict,
    othersHaveRoom: others.available > 0,
    ...(times.length === 0 ? {} : { nextFreeAt: Math.min(...times) }),
  };
  return { allocated: wanted - Math.max(0, missing), owned, claimed, end };
}

/**
 * Gives the blocks of one pool's claims in turn; undefined: a claim would get none.
 * Why: a claim asks at most three owners; one that refused goes to the end of its class.
 */
function claimOrder(plan: readonly ForeseenClaim[]): () => ForeseenClaim | undefined {
  const free = plan.filter(({ kind, isGiven }) => kind !== "reclaim" && isGiven);
  const back = plan.filter(({ kind }) => kind === "reclaim");
  return () => {
    const first = free.shift();
    if (first !== undefined) return first;
    const tried = new Set<ForeseenClaim>();
    while (tried.size < RECLAIM_CANDIDATES_MAX) {
      const open = back.filter((one) => !tried.has(one));
      const rank = Math.min(...open.map((one) => one.rank));
      const asked = open.find((one) => one.rank === rank);
      if (asked === undefined) return undefined;
      back.splice(back.indexOf(asked), 1);
      if (asked.isGiven) return asked;
      tried.add(asked);
      const end = back.findLastIndex((one) => one.rank === rank);
      back.splice(end === -1 ? 0 : end + 1, 0, asked);
    }
    return undefined;
  };
}

/** What a block that is born for a host has to give: neither reserved nor set aside for the host. */
export function freshRoom(
  capacity: number,
  reserved: OrdinalRanges,
  ends: { readonly start: number; readonly end: number } | undefined,
): number {
  const { start = 0, end = 0 } = ends ?? {};
  let room = 0;
  for (let ordinal = 0; ordinal < capacity; ordinal += 1) {
    const isSetAside = ordinal < start || ordinal >= capacity - end;
    if (!isSetAside && !inRanges(reserved, ordinal)) room += 1;
  }
  return room;
}
