/**
 * What a Host answers: it routes the requests of one affinity owner to blocks. Types only.
 * Rule: it owns affinity rows and registration, never the truth about an address.
 */
import type { AddressRecord, Attributes, BlockCounts, LeakCollection, Use } from "../core/allocation.ts";
import type { OwnerSlot } from "../core/block-messages.ts";
import type { Considered, Family, Rejection, Shortfall } from "../core/errors.ts";
import type { Result } from "../core/result.ts";
import type { Author } from "./cluster.ts";
import type { HostLeakPort, LeakCountsView, ReportStateView } from "./leaks.ts";

export interface FamilyWish {
  readonly count: number;
  /** Names or CIDRs, in the caller's order. */
  readonly pools?: readonly string[];
}

export interface HostReservation {
  readonly start: number;
  readonly end: number;
  readonly handle?: string;
  readonly note?: string;
}

export interface HostAllocateRequest {
  readonly host: string;
  readonly handle: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly use: Use;
  readonly ipv4?: FamilyWish;
  readonly ipv6?: FamilyWish;
  readonly attributes: Attributes;
  /** Labels of the namespace; absent when the request names none. */
  readonly namespaceLabels?: Attributes;
  readonly maxPerHandle?: number;
  readonly maxBlocksPerHost?: number;
  readonly hostReserved?: { readonly ipv4?: HostReservation; readonly ipv6?: HostReservation };
  readonly partial: boolean;
  /** Where the attributes of a reused address are written; absent: they are not. */
  readonly ownerSlot?: OwnerSlot;
  readonly leakCollection: LeakCollection;
  /** X-Request-Timeout-Ms counted from arrival; milliseconds since 1970. */
  readonly deadlineAt?: number;
  /** The answer tells what the search met. */
  readonly explain?: boolean;
}

/** A record plus what only the policy knows. */
export interface PlacedAddress {
  readonly record: AddressRecord;
  readonly pool: string;
  /** Prefix length that the pool's answerPrefix asks for. */
  readonly interfacePrefix: number;
  readonly gateway?: string;
  /** Inside a reservation, by the policy of the answer. */
  readonly reserved: boolean;
}

export interface HostAllocateAnswer {
  readonly addresses: readonly PlacedAddress[];
  readonly shortfall: readonly Shortfall[];
  readonly replayed: boolean;
  readonly reused: boolean;
  /** Where the request asked for it: what the search met. */
  readonly explanation?: ExplanationView;
}

/** What a request would get, or got, in one family. */
export interface FamilyExplanationView {
  readonly family: Family;
  readonly requested: number;
  readonly allocated: number;
  /** Absent: everything. */
  readonly code?: AllocateRefusal["code"];
  readonly retryAfterSeconds?: number;
  /** Rows of the family in every state, as the cap counts them. */
  readonly ownedBlocks: number;
  readonly blockCap: number;
  readonly considered: readonly Considered[];
  readonly consideredOmitted: number;
}

export interface ExplanationView {
  readonly wouldSucceed: boolean;
  readonly policyRevision: number;
  readonly hostKnown: boolean;
  readonly hostLabels: Attributes;
  readonly strictAffinity: boolean;
  readonly autoAllocateBlocks: boolean;
  readonly families: readonly FamilyExplanationView[];
  readonly asOf: number;
}

/** An allocation that is only explained has no key, and nobody repeats it. */
export type HostExplainRequest = Omit<HostAllocateRequest, "key" | "fingerprint" | "deadlineAt" | "explain">;

/** What a request for addresses ends in. */
export type HostAllocateOutcome = Result<HostAllocateAnswer, AllocateRefusal>;

/** What became of one of several requests that came in one message, when the first of them were done. */
export type TogetherOutcome =
  | { readonly kind: "done"; readonly outcome: HostAllocateOutcome }
  /** It takes longer, or its answer is large; `allocated` tells its outcome, once. */
  | { readonly kind: "under_way"; readonly ticket: string }
  /** A defect that was its own. */
  | { readonly kind: "failed"; readonly name: string; readonly message: string; readonly stack: string };

/** Many allocations of one host, each with its own key. */
export interface HostAllocateManyRequest {
  readonly host: string;
  readonly items: readonly HostAllocateRequest[];
}

export type AllocateRefusal = Rejection<
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
  | "idempotency_key_released"
  | "idempotency_key_reused"
  | "in_progress"
  | "outcome_unknown"
  | "policy_unavailable"
  | "deadline_exceeded"
  | "storage_unavailable"
  | "overloaded"
  | "maintenance"
>;

export interface HostAssignRequest {
  readonly host: string;
  readonly address: string;
  readonly handle: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly use: Use;
  readonly attributes: Attributes;
  readonly maxPerHandle?: number;
  readonly leakCollection: LeakCollection;
  readonly deadlineAt?: number;
}

export type AssignRefusal =
  | AllocateRefusal
  | Rejection<
      | "address_taken"
      | "address_cooling"
      | "address_not_in_pool"
      | "use_not_allowed"
      | "address_outside_affinity"
    >;

export interface HostAssignAnswer {
  /** False: the handle held the address already. */
  readonly created: boolean;
  readonly replayed: boolean;
  readonly address: PlacedAddress;
}

export interface RegisterRequest {
  readonly host: string;
  readonly labels: Attributes;
  readonly incarnation?: string;
  readonly author?: Author;
}

/** Figures of one family, by the Host's hints. */
export interface HostFamilyView {
  readonly pools: readonly string[];
  readonly owned: number;
  readonly cap: number;
  /** Rows that are not confirmed. */
  readonly pending: number;
  readonly borrowedIn: number;
  readonly borrowedOut: number;
  readonly capacity: number;
  readonly allocated: number;
  readonly cooling: number;
  readonly reserved: number;
  readonly available: number;
}

/** A tunnel address that the host holds. */
export interface TunnelView {
  /** `ipip`, `vxlan`, `wireguard`; `other` where its attributes do not say. */
  readonly kind: string;
  readonly address: string;
  readonly handle: string;
}

/** Addresses with some of their handles. */
export interface Kept {
  readonly addresses: number;
  readonly handles: readonly string[];
}

export interface HostView {
  readonly name: string;
  readonly kind: "host" | "virtual";
  readonly state: "active" | "silent" | "removing";
  readonly labels: Attributes;
  readonly incarnation?: string;
  readonly ipv4: HostFamilyView;
  readonly ipv6: HostFamilyView;
  /** What its agent reported last. */
  readonly report: ReportStateView;
  readonly leaks: LeakCountsView;
  /** As of the last reading of its blocks. */
  readonly tunnels: readonly TunnelView[];
  readonly refusals: { readonly last10Minutes: number; readonly lastCode?: string; readonly lastAt?: number };
  readonly registeredAt: number;
  /** Present while the host is being removed. */
  readonly removingSince?: number;
  readonly allocationsLeft?: number;
  /** Of these, what no collector releases: the removal ends when somebody does. Absent: nothing. */
  readonly kept?: Kept;
  readonly revision: number;
}

/** Why a family is not ready: what an allocation would be refused with now. */
export type ReadinessRefusal = Extract<
  AllocateRefusal,
  Rejection<
    | "host_removing"
    | "no_qualified_pool"
    | "no_pool_selects_host"
    | "block_limit_reached"
    | "auto_allocate_disabled"
    | "strict_affinity"
    | "pool_cooling"
    | "pool_exhausted"
    | "policy_unavailable"
    | "overloaded"
    | "maintenance"
  >
>;

/** Whether a host could get an address of one family now. */
export interface FamilyReadinessView {
  /** A pool of this family selects the host. */
  readonly wanted: boolean;
  readonly ready: boolean;
  readonly refusal?: ReadinessRefusal;
  /** As far as known; the Host stops asking its blocks where one has room. */
  readonly availableInOwnBlocks: number;
  /** By rule; where own blocks have no room, by the Pools' hints too. */
  readonly canClaim: boolean;
  /** By rule; where the host can claim nothing, by what others have too. */
  readonly canBorrow: boolean;
}

export interface HostReadinessView {
  /** Some family is wanted, and each that is wanted is ready. */
  readonly ready: boolean;
  readonly ipv4: FamilyReadinessView;
  readonly ipv6: FamilyReadinessView;
  readonly asOf: number;
}

export interface AffinityRow {
  readonly block: string;
  readonly pool: string;
  readonly incarnation: number;
  readonly family: Family;
  readonly state: "pending" | "confirmed" | "pendingDeletion";
  readonly epoch: number;
  readonly claimedAt: number;
}

export type ReleaseBlockAnswer =
  | { readonly kind: "released" | "draining" }
  /** The row has moved on, or the block has: nothing was changed. */
  | { readonly kind: "stale" }
  | { readonly kind: "too_young" }
  | { readonly kind: "block_not_empty"; readonly allocated: number; readonly cooling: number }
  | { readonly kind: "unsettled" };

/** Asks for a block to work in, of each family. */
export interface EnsureBlocksRequest {
  readonly host: string;
  readonly families: readonly Family[];
  /** Set aside in a block that is claimed now; a block that the host owns already stays as it is. */
  readonly hostReserved?: { readonly ipv4?: HostReservation; readonly ipv6?: HostReservation };
  readonly deadlineAt?: number;
}

export interface EnsuredBlock {
  readonly family: Family;
  readonly block: string;
}

export type EnsureRefusal = Extract<
  AllocateRefusal,
  Rejection<
    | "host_unknown"
    | "host_removing"
    | "no_qualified_pool"
    | "no_pool_selects_host"
    | "block_limit_reached"
    | "auto_allocate_disabled"
    | "pool_exhausted"
    | "policy_unavailable"
    | "overloaded"
    | "maintenance"
  >
>;

/** Claims one block by name, as an operator does. */
export interface ClaimBlockRequest {
  readonly host: string;
  readonly block: string;
  readonly pool: string;
  readonly incarnation: number;
  readonly deadlineAt?: number;
}

export type ClaimBlockAnswer =
  | { readonly kind: "claimed" | "already_owned" }
  | { readonly kind: "owned_by_other"; readonly owner: string }
  /** It has no owner and still holds addresses, or they cool. */
  | { readonly kind: "not_empty"; readonly allocated: number }
  /** The pool takes no claims. */
  | { readonly kind: "closed" | "host_removing" }
  /** A call had no answer, or another claim of the block is under way. */
  | { readonly kind: "unsettled" };

export interface SettleBlockAnswer {
  readonly kind: "settled" | "unsettled";
}

export interface HostPort extends HostLeakPort {
  allocate(request: HostAllocateRequest): Promise<HostAllocateOutcome>;
  /** The outcome of each item, in their order; one search for them all where they meet the same. */
  allocateMany(
    request: HostAllocateManyRequest,
  ): Promise<
    Result<
      { readonly results: readonly Result<HostAllocateAnswer, AllocateRefusal>[] },
      Rejection<"host_unknown" | "host_removing">
    >
  >;
  /** Requests that have nothing to do with each other but their host; each is answered when it is done. */
  allocateTogether(
    request: HostAllocateManyRequest,
  ): Promise<{ readonly outcomes: readonly TogetherOutcome[] }>;
  /** The outcome of a request that was under way; absent: the Host has ended since. */
  allocated(request: {
    readonly host: string;
    readonly ticket: string;
  }): Promise<TogetherOutcome | undefined>;
  /** What `allocate` would answer now; nothing is reserved, claimed, touched or written. */
  explain(
    request: HostExplainRequest,
  ): Promise<Result<ExplanationView, Rejection<"overloaded" | "policy_unavailable">>>;
  assign(request: HostAssignRequest): Promise<Result<HostAssignAnswer, AssignRefusal>>;
  register(
    request: RegisterRequest,
  ): Promise<
    Result<
      { readonly created: boolean; readonly view: HostView },
      Rejection<"incarnation_conflict" | "policy_unavailable">
    >
  >;
  /** Absent when the host was never registered. */
  describe(request: {
    readonly host: string;
    /** No block is asked for tunnels: they are as the last audit found them. For lists. */
    readonly asKnown?: boolean;
  }): Promise<{ readonly view?: HostView }>;
  /** Absent when the host was never registered. */
  readiness(request: { readonly host: string }): Promise<{ readonly view?: HostReadinessView }>;
  /** Declares the host gone: it gets no more, its blocks are given back. Absent: it is not registered. */
  remove(request: { readonly host: string; readonly author?: Author }): Promise<{ readonly view?: HostView }>;
  /** A block of each family that the host owns, or owns from now on. */
  ensureBlocks(
    request: EnsureBlocksRequest,
  ): Promise<Result<{ readonly blocks: readonly EnsuredBlock[] }, EnsureRefusal>>;
  claimBlock(request: ClaimBlockRequest): Promise<ClaimBlockAnswer>;
  /** Gives one block back, fenced by a fresh epoch of the Pool. */
  releaseBlock(request: {
    readonly host: string;
    readonly block: string;
    readonly pool: string;
    readonly incarnation: number;
    readonly epoch: number;
    readonly mustBeEmpty: boolean;
    /** Refuses a block that was claimed less than the reclaim age ago. */
    readonly forReclaim: boolean;
  }): Promise<ReleaseBlockAnswer>;
  /** All rows, or those of some blocks. */
  affinities(request: {
    readonly host: string;
    readonly blocks?: readonly string[];
  }): Promise<{ readonly rows: readonly AffinityRow[]; readonly borrowed: readonly string[] }>;
  /** A block tells its owner that somebody else's release gave it room, or emptied it. */
  blockChanged(request: {
    readonly host: string;
    readonly block: string;
    readonly counts: BlockCounts;
  }): Promise<void>;
  /** Settles the row of one block by what the block says, under a fresh epoch. */
  settleBlock(request: {
    readonly host: string;
    readonly block: string;
    readonly pool: string;
    readonly incarnation: number;
  }): Promise<SettleBlockAnswer>;
  /** Cluster does not list the host: it enters itself again, as it is. */
  enrolAgain(request: { readonly host: string }): Promise<{ readonly enrolled: boolean }>;
  /** The host holds an address in a block that it does not own. */
  noteBorrowed(request: {
    readonly host: string;
    readonly block: string;
    readonly pool: string;
    readonly incarnation: number;
  }): Promise<{ readonly noted: boolean }>;
}
