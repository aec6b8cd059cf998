/**
 * Our answers in the words of the cases: codes as kinds of errors, shortfalls as reasons.
 * May import: the vocabulary. Used by every back end, so that all are held to the same meaning.
 */
import type { Assigned, CaseError, Outcome } from "./vocabulary.ts";

/** The case's word for a code of ours; a code without one keeps its own name. */
const KINDS: Readonly<Record<string, string>> = {
  host_unknown: "notFound",
  host_not_found: "notFound",
  address_not_allocated: "notFound",
  handle_not_allocated: "notFound",
  no_qualified_pool: "noQualifiedPool",
  no_pool_selects_host: "noPoolSelectsHost",
  requested_pool_unavailable: "requestedPoolUnavailable",
  handle_limit_reached: "handleCapReached",
  block_limit_reached: "blockLimit",
  auto_allocate_disabled: "autoAllocateDisabled",
  address_not_in_pool: "ipNotInPool",
  use_not_allowed: "useNotAllowed",
  address_outside_affinity: "strictAffinityViolation",
  address_taken: "alreadyExists",
  address_cooling: "alreadyExists",
  sequence_mismatch: "badSequenceNumber",
  handle_mismatch: "badHandle",
  owner_mismatch: "conflict",
  alternate_owner_empty: "alternateOwnerEmpty",
  alternate_owner_mismatch: "alternateOwnerMismatch",
  block_not_empty: "blockNotEmpty",
  cidr_not_in_pool: "cidrNotInPool",
  range_too_small: "invalidSize",
  config_conflict: "configConflict",
  pool_overlap: "validation",
  pool_field_immutable: "validation",
};

/** The case's word for the member of a request that is at fault. */
const FAULTS: readonly (readonly [pointer: RegExp, kind: string])[] = [
  [/^\/use$/, "useRequired"],
  [/^\/ipv[46]\/pools/, "wrongPoolFamily"],
  [/^\/addresses\/[0-9]+\/address$/, "invalidAddress"],
  [/^\/cidr$/, "invalidSize"],
  [/^\/hostReserved/, "invalidHostReservation"],
  [/^$/, "nothingRequested"],
];

/** A code, or the member that makes a request invalid, as an error of the case. */
export function errorOf(code: string, pointer?: string): CaseError {
  const fault = FAULTS.find(([pattern]) => pointer !== undefined && pattern.test(pointer));
  if (code === "invalid_request") return { kind: fault?.[1] ?? "invalidArgument" };
  return { kind: KINDS[code] ?? code };
}

export function failure(code: string, pointer?: string): Outcome {
  return { error: errorOf(code, pointer) };
}

/** What one family lacks, as every back end can say it. */
export interface ShortText {
  readonly family: 4 | 6;
  readonly requested: number;
  readonly code: string;
  /** CIDRs of the pools that were searched, in that order. */
  readonly searched: readonly string[];
  readonly limit?: number | undefined;
  readonly pool?: string | undefined;
}

/** Found out before a search: upstream gives no result at all for the family then. */
const BEFORE_THE_SEARCH = new Set([
  "requested_pool_unavailable",
  "no_qualified_pool",
  "no_pool_selects_host",
  "handle_limit_reached",
]);

/** No error upstream, only the reason of a short result. */
const SPACE_IS_SHORT = new Set(["strict_affinity", "pool_cooling", "pool_exhausted"]);

/** The outcome of an automatic assignment: per family what was got, and why not more. */
export function assignment(
  requested: Readonly<Record<4 | 6, number>>,
  got: Readonly<Record<4 | 6, Assigned["addresses"]>>,
  shortfall: readonly ShortText[],
): Outcome {
  const result = (family: 4 | 6): Assigned | null => {
    const short = shortfall.find((one) => one.family === family);
    if (requested[family] === 0 || (short !== undefined && BEFORE_THE_SEARCH.has(short.code))) return null;
    const reasons = short === undefined ? [] : reasonsOf(short);
    return { addresses: got[family], requested: requested[family], reasons };
  };
  const outcome = { v4: result(4), v6: result(6) };
  const failed = shortfall.find(({ code }) => !SPACE_IS_SHORT.has(code));
  if (failed === undefined) return outcome;
  const pool = failed.pool === undefined ? {} : { pool: failed.pool };
  return { ...outcome, error: { ...errorOf(failed.code), ...pool } };
}

function reasonsOf({ code, searched, limit }: ShortText): Assigned["reasons"] {
  switch (code) {
    case "block_limit_reached":
      return [{ kind: "blockLimit", limit }];
    case "strict_affinity":
      return [{ kind: "strictAffinity" }];
    case "pool_cooling":
    case "pool_exhausted":
      return [{ kind: "poolsExhausted", pools: searched }];
    default:
      return [];
  }
}

/** How one release ended, as every back end can say it. */
export interface ReleaseText {
  readonly address: string;
  readonly outcome: string;
  readonly code?: string | undefined;
}

/**
 * The outcome of a release by address. `released` is upstream's "processed": also what was free before,
 * but not what lies in no block of any pool.
 */
export function releaseOutcome(results: readonly ReleaseText[]): Outcome {
  const of = (...outcomes: string[]): string[] =>
    results
      .filter(({ outcome }) => outcomes.includes(outcome))
      .map(({ address }) => address)
      .toSorted();
  const lists = {
    released: of("released", "already_free"),
    unallocated: of("already_free", "not_in_any_block"),
  };
  const rejected = results.find(({ outcome }) => outcome === "rejected");
  if (rejected === undefined) return lists;
  // Only host-reserved addresses are held by nobody who could release them.
  const isHostReserved = rejected.code === "address_taken";
  return { ...lists, error: isHostReserved ? { kind: "hostReserved" } : errorOf(rejected.code ?? "") };
}

/** An owner in the words of the cases: the host, which the service stamps on it, makes nobody an owner. */
export function ownerText(owner: Readonly<Record<string, string>> | undefined): object | null {
  const { node: _stamped, ...own } = owner ?? {};
  return owner === undefined || Object.keys(own).length === 0 ? null : owner;
}

/** An affinity owner as the cases write it: `host:<name>` or `virtual:<name>`. */
export function affinityText(owner: string | undefined): string | null {
  if (owner === undefined) return null;
  return owner.startsWith("virtual:") ? owner : `host:${owner}`;
}

/** An affinity owner as we write it. */
export function ownerName(host: string, type: string | undefined): string {
  return type === "virtual" ? `virtual:${host}` : host;
}

/** Owners of load balancers are virtual. */
export function hostFor(host: string, use: string | undefined): string {
  return ownerName(host, use === "LoadBalancer" ? "virtual" : "host");
}

export function isVirtual(owner: string): boolean {
  return owner.startsWith("virtual:");
}

/** Text order, as the cases sort blocks and affinities. */
export function byText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
