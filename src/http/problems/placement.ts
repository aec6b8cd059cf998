/**
 * Problem rows for allocations that found no address, and the words they share.
 * May import: core types and row.ts.
 */
import type { EvidenceByCode } from "../../core/errors.ts";
import type { HintContext, ProblemRows } from "./row.ts";
import { timeText } from "./row.ts";

type PlacementCode =
  | "host_unknown"
  | "host_removing"
  | "requested_pool_unavailable"
  | "no_qualified_pool"
  | "no_pool_selects_host"
  | "handle_limit_reached"
  | "block_limit_reached"
  | "auto_allocate_disabled"
  | "strict_affinity"
  | "pool_cooling"
  | "pool_exhausted"
  | "idempotency_key_released";

type Shortage = EvidenceByCode["pool_exhausted"];

const shortageEvidence = [
  "host",
  "family",
  "requested",
  "allocated",
  "owned",
  "limit",
  "freeAt",
  "pool",
  "shortfall",
] as const;

/** Begins the sentence that every shortage starts with. */
function noAddress(shortage: Shortage): string {
  const got = shortage.allocated > 0 ? `Only ${shortage.allocated} of ${shortage.requested}` : "No";
  return `${got} IPv${shortage.family} ${shortage.allocated > 1 ? "addresses" : "address"} for ${shortage.host}`;
}

/** Counts the cooling addresses of the blocks that were looked at. */
function coolingSeen(shortage: Shortage): number {
  let cooling = 0;
  for (const family of shortage.shortfall) {
    if (family.family !== shortage.family) continue;
    for (const row of family.considered) if (row.kind === "block") cooling += row.cooling ?? 0;
  }
  return cooling;
}

/** Says how many addresses cool, or nothing. */
function coolingClause(shortage: Shortage): string {
  const cooling = coolingSeen(shortage);
  if (cooling === 0) return "";
  return `; ${cooling} ${cooling === 1 ? "address is" : "addresses are"} cooling`;
}

/** Says from when an address will be free, or nothing. */
function freeClause(shortage: Shortage): string {
  return shortage.freeAt === undefined ? "" : ` An address becomes free at ${timeText(shortage.freeAt)}.`;
}

/** Names the first rule that excluded a pool, or nothing. */
function firstExclusion(shortage: Shortage): string {
  for (const family of shortage.shortfall) {
    if (family.family !== shortage.family) continue;
    const row = family.considered.find((one) => one.kind === "pool" && one.outcome !== "used");
    if (row === undefined) continue;
    return ` Pool ${row.pool ?? "?"}: ${row.detail ?? row.rule}.`;
  }
  return "";
}

/** Names maxBlocksPerHost only where the configuration may hold it: with strict affinity on. */
function capHint(shortage: Shortage, context: HintContext): string {
  const own = context.requestedMaxBlocksPerHost;
  const first =
    own !== undefined && own === shortage.limit
      ? "Raise the request's own maxBlocksPerHost, or use larger blocks."
      : context.strictAffinity === true
        ? "Raise maxBlocksPerHost (PATCH /v1/config), or use larger blocks."
        : "Use larger blocks, or look for leaked addresses on this host.";
  return first + freeClause(shortage);
}

export const placementProblems: ProblemRows<PlacementCode> = {
  host_unknown: {
    status: 409,
    title: "The host is not registered",
    retry: "after_change",
    cni: 113,
    meaning: "The request names a host that was never registered.",
    next: "Register the host with PUT /v1/hosts/{host}, then repeat the request.",
    evidence: ["host"],
    detail: ({ host }) => `${host} is not registered.`,
    hint: ({ host }) =>
      `Register it: PUT /v1/hosts/${host} with its labels. The node agent does this at start.`,
  },
  host_removing: {
    status: 409,
    title: "The host was declared gone",
    retry: "after_change",
    cni: 113,
    meaning: "The host was removed, and gets no new addresses until it is registered again.",
    next: "Register the host again with PUT /v1/hosts/{host}.",
    evidence: ["host"],
    detail: ({ host }) => `${host} was declared gone and gets no new addresses.`,
    hint: ({ host }) => `If it is back, register it again: PUT /v1/hosts/${host}.`,
  },
  requested_pool_unavailable: {
    status: 409,
    title: "A requested pool cannot be used",
    retry: "after_change",
    cni: 101,
    meaning:
      "The request lists its pools, and one of them is unknown, disabled, draining, only part of a pool, " +
      "or cut into blocks that are too small. Nothing is taken from the others then.",
    next: "Name an enabled pool by its name or its exact CIDR (GET /v1/pools).",
    evidence: shortageEvidence,
    detail: (e) => `${noAddress(e)}: the requested pool ${e.pool ?? ""} cannot be used.`,
  },
  no_qualified_pool: {
    status: 409,
    title: "No pool qualifies",
    retry: "after_change",
    cni: 112,
    meaning: "No enabled pool serves this family, this use, or blocks as large as the request needs.",
    next: "Add or enable a pool of this family, or add the use to a pool's allowedUses.",
    evidence: shortageEvidence,
    detail: (e) => `${noAddress(e)}: no enabled IPv${e.family} pool qualifies.${firstExclusion(e)}`,
    hint: (e) =>
      `Add or enable an IPv${e.family} pool (PUT /v1/pools/{pool}), or add the use to its allowedUses.`,
  },
  no_pool_selects_host: {
    status: 409,
    title: "No pool selects this host",
    retry: "after_change",
    cni: 111,
    meaning: "Pools exist, but their selectors or their assignment mode exclude this host or namespace.",
    next: "Label the host or change the pool's nodeSelector; considered names the selector and the missing label.",
    evidence: shortageEvidence,
    detail: (e) => `${noAddress(e)}: no pool selects it.${firstExclusion(e)}`,
    hint: (e) => `Label ${e.host} (PUT /v1/hosts/${e.host}), or change the pool's selector.`,
  },
  handle_limit_reached: {
    status: 409,
    title: "The handle holds as many addresses as it may",
    retry: "no",
    cni: 105,
    meaning:
      "The request limits the addresses of its handle, and the handle holds fewer than it asks for but too many to add.",
    next: "Release addresses of the handle, or raise maxPerHandle.",
    evidence: ["handle", "limit", "allocated", "family"],
    detail: (e) => `${e.handle} holds ${e.allocated} of at most ${e.limit} addresses.`,
    hint: (e) => `Release addresses of ${e.handle}, or raise maxPerHandle.`,
  },
  block_limit_reached: {
    status: 409,
    title: "The host owns as many blocks as it may",
    retry: "after_change",
    cni: 107,
    meaning:
      "The host owns as many blocks of this family as its cap allows, over all pools, and all are full. " +
      "The search ends here, even where borrowing is allowed.",
    next: "Use larger blocks, look for leaked addresses, or raise the cap (maxBlocksPerHost with strict affinity).",
    evidence: shortageEvidence,
    detail: (e) =>
      `${noAddress(e)}: it owns ${e.owned ?? e.limit ?? "all"} of at most ${e.limit ?? "its"} blocks ` +
      `and they are full${coolingClause(e)}.`,
    hint: capHint,
  },
  auto_allocate_disabled: {
    status: 409,
    title: "Blocks are not claimed automatically",
    retry: "after_change",
    cni: 114,
    meaning: "The host's own blocks are full and autoAllocateBlocks is off.",
    next: "Claim a block for the host, or switch autoAllocateBlocks on (PATCH /v1/config).",
    evidence: shortageEvidence,
    detail: (e) => `${noAddress(e)}: its blocks are full and autoAllocateBlocks is off${coolingClause(e)}.`,
    hint: (e) =>
      `Claim a block for ${e.host}, or switch autoAllocateBlocks on (PATCH /v1/config).${freeClause(e)}`,
  },
  strict_affinity: {
    status: 409,
    title: "Only other hosts' blocks have room",
    retry: "after_change",
    cni: 106,
    meaning:
      "The host's own blocks are full, no block can be claimed, and strict affinity forbids to borrow " +
      "from blocks of others that have room.",
    next: "Add a larger pool, use smaller blocks, or release empty blocks of other hosts.",
    evidence: shortageEvidence,
    detail: (e) =>
      `${noAddress(e)}: only blocks of others have room, and strict affinity is on${coolingClause(e)}.`,
    hint: (e) =>
      `Add a larger pool, use smaller blocks, or release empty blocks of other hosts.${freeClause(e)}`,
  },
  pool_cooling: {
    status: 409,
    title: "All free addresses are still cooling",
    retry: "later",
    cni: 11,
    meaning:
      "Nothing is free where this host may take it, but released addresses are waiting for their cooldown.",
    next: "Wait until freeAt, or shorten ipCooldownSeconds (PATCH /v1/config).",
    evidence: shortageEvidence,
    detail: (e) => `${noAddress(e)}: nothing is free${coolingClause(e)}.`,
    hint: (e) => `Wait, or shorten ipCooldownSeconds (PATCH /v1/config).${freeClause(e)}`,
  },
  pool_exhausted: {
    status: 409,
    title: "The pools are exhausted",
    retry: "after_change",
    cni: 100,
    meaning: "Nothing is free and nothing is cooling in any pool that this host may use.",
    next: "Add a pool, look for leaked addresses, or look at reservations (GET /v1/reservations).",
    evidence: shortageEvidence,
    detail: (e) => `${noAddress(e)}: nothing is free in any pool that it may use.`,
  },
  idempotency_key_released: {
    status: 409,
    title: "The addresses of this key were released",
    retry: "no",
    cni: 117,
    meaning:
      "The request with this key succeeded, and its addresses have been released since. The key is spent.",
    next: "Use a new idempotency key: a new key is a new request.",
    evidence: ["handle"],
    detail: ({ handle }) => `The addresses that ${handle} got with this key were released; the key is spent.`,
  },
};
