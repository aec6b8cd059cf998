/**
 * What is asked of a block and what it answers. Types only; the decisions are in block-*.ts.
 * Rule: every message that may create something carries `until`; fields are only added, optional.
 */
import type {
  AddressRecord,
  Attributes,
  BlockCounts,
  LeakCollection,
  OrdinalRanges,
  Use,
} from "./allocation.ts";
import type { LeakKind } from "./leak-subject.ts";
import type { OwnerRef } from "./owners.ts";

/** Which block is meant; an object cannot know its own name, so every message says it. */
export interface BlockTarget {
  /** Canonical CIDR. */
  readonly block: string;
  /** Incarnation of the pool: the floor of epochs and sequence numbers. */
  readonly incarnation: number;
  readonly pool: string;
  readonly poolCidr: string;
}

/** The caller's leased policy, as far as one block needs it. */
export interface BlockPolicy {
  readonly reserved: OrdinalRanges;
  readonly cooldownMs: number;
}

export interface ClaimRequest extends BlockTarget {
  readonly owner: string;
  readonly epoch: number;
  readonly until: number;
  readonly cooldownMs: number;
  /** Ordinals at both ends that are never handed out, from the block's birth. */
  readonly hostReserved?: {
    readonly start: number;
    readonly end: number;
    readonly handle?: string;
    readonly note?: string;
  };
}

export type ClaimAnswer =
  | { readonly kind: "accepted"; readonly counts: BlockCounts }
  | { readonly kind: "refused"; readonly owner?: string; readonly epoch: number }
  | { readonly kind: "late" };

export interface ReleaseAffinityRequest extends BlockTarget {
  readonly owner: string;
  readonly epoch: number;
  readonly mustBeEmpty: boolean;
  readonly cooldownMs: number;
}

export type ReleaseAffinityAnswer =
  | { readonly kind: "closed" | "draining" }
  | { readonly kind: "stale" | "not_owner"; readonly owner?: string; readonly epoch: number }
  | { readonly kind: "block_not_empty"; readonly allocated: number; readonly cooling: number };

/** One request's wish for addresses of this block. */
export interface AllocateItem {
  readonly handle: string;
  readonly key: string;
  /** Which attempt of the key asks: its own message, repeated, is answered as the first copy was. */
  readonly attempt?: string;
  readonly host: string;
  readonly use: Use;
  readonly attributes: Attributes;
  readonly leakCollection: LeakCollection;
  /** How many; with `ordinal`, 1. */
  readonly count: number;
  /** An exact assignment: this ordinal, reserved or not. */
  readonly ordinal?: number;
  /** Only what the key holds already is answered; nothing is created. */
  readonly replayOnly?: boolean;
  /** The block must have this owner, else affinity_lost. */
  readonly owner?: string;
  /** Strict affinity: only the block's own host may take addresses. */
  readonly strict: boolean;
  readonly policy: BlockPolicy;
  readonly until: number;
  /** Latest `until` of earlier attempts with this key; a "no" before it + ε is not final. */
  readonly finalAfter?: number;
}

export type AllocateOutcome =
  | { readonly kind: "created"; readonly records: readonly AddressRecord[]; readonly counts: BlockCounts }
  | {
      /** The key holds these already; `granted` is how many it got at first. */
      readonly kind: "found";
      readonly records: readonly AddressRecord[];
      readonly granted: number;
      readonly counts: BlockCounts;
    }
  | { /** The key's addresses here were released. */ readonly kind: "spent"; readonly counts: BlockCounts }
  | { readonly kind: "full"; readonly final: boolean; readonly counts: BlockCounts }
  | {
      /** Exact assignment: the ordinal is not free. */
      readonly kind: "taken";
      readonly state: "allocated" | "cooling" | "host_reserved";
      readonly record?: AddressRecord;
      readonly freeAt?: number;
      readonly final: boolean;
      readonly counts: BlockCounts;
    }
  | { readonly kind: "late" }
  | { readonly kind: "affinity_lost"; readonly owner?: string; readonly final: boolean }
  /** The element contradicts itself or the block; a defect of the caller, its neighbours are not touched. */
  | { readonly kind: "failed"; readonly message: string };

export interface AllocateRequest extends BlockTarget {
  readonly items: readonly AllocateItem[];
}

/** Undo of what one attempt was told it created. */
export interface UndoItem {
  readonly handle: string;
  readonly key: string;
  readonly addresses: readonly { readonly address: string; readonly touch: number }[];
}

export interface UndoAnswer {
  /** Addresses put back as they were. */
  readonly undone: readonly string[];
}

/** Asks whether keys are held; the answer is final for those whose time has passed. */
export interface HoldsRequest {
  readonly block: string;
  readonly keys: readonly { readonly handle: string; readonly key: string; readonly finalAfter: number }[];
}

export interface HoldsAnswer {
  /** `released`: the key held addresses here and was spent by a release. */
  readonly held: readonly ("held" | "released" | "not_held" | "not_final")[];
  /** How many addresses each key holds. */
  readonly counts: readonly number[];
}

/** Hands out again what keys of a handle hold already; all of `take` or nothing. */
/** `own_active`: active, but only of an address that is of this host, or owned by a workload there. */
export type OwnerSlot = "active" | "own_active" | "alternate";

export interface ReuseRequest {
  readonly block: string;
  readonly handle: string;
  readonly keys: readonly string[];
  readonly take: number;
  /** Where the attributes are written; absent: they are not. */
  readonly ownerSlot?: OwnerSlot;
  readonly attributes: Attributes;
  /** The host that asks; it need not be the one that holds the address. */
  readonly host?: string;
  readonly until: number;
  readonly cooldownMs: number;
}

export type ReuseAnswer =
  | { readonly kind: "reused"; readonly records: readonly AddressRecord[] }
  /** The keys hold fewer by now. */
  | { readonly kind: "fewer"; readonly held: number }
  | { readonly kind: "late" };

export interface ReleaseHandleRequest {
  readonly block: string;
  readonly handle: string;
  readonly keys: readonly { readonly key: string; readonly finalAfter: number }[];
  readonly cooldownMs: number;
  /** What is no room for others; absent: nothing is reserved. */
  readonly reserved?: OrdinalRanges;
  /** An agent's reach: only addresses of this host, or of the one owner that is left, on this host. */
  readonly onlyHost?: string;
}

/** Without what its owners are: a message of many of them would be too large for one answer. */
export type ReleasedRecord = Omit<AddressRecord, "attributes" | "alternateAttributes">;

export interface KeyRelease {
  readonly key: string;
  /** `released`: the key holds nothing here any more. `kept`: outside the caller's reach. */
  readonly outcome: "released" | "absent" | "not_final" | "kept";
  readonly records: readonly ReleasedRecord[];
}

export interface ReleaseHandleAnswer {
  readonly keys: readonly KeyRelease[];
}

export interface AddressRelease {
  readonly address: string;
  readonly handle?: string;
  readonly sequenceNumber?: number;
  /** Neither guard is needed. */
  readonly force?: boolean;
  readonly onlyHost?: string;
}

export type AddressReleaseOutcome =
  | {
      readonly kind: "released";
      readonly address: string;
      readonly handle: string;
      readonly freeAt: number;
      readonly sequenceNumber: number;
    }
  | { readonly kind: "already_free"; readonly address: string; readonly freeAt?: number }
  | { readonly kind: "not_in_any_block"; readonly address: string }
  | {
      readonly kind: "rejected";
      readonly address: string;
      readonly code: "sequence_mismatch" | "handle_mismatch" | "host_mismatch" | "address_taken";
      readonly sequenceNumber: number;
    };

export interface ReleaseAddressesRequest {
  readonly block: string;
  readonly items: readonly AddressRelease[];
  readonly cooldownMs: number;
  /** What is no room for others; absent: nothing is reserved. */
  readonly reserved?: OrdinalRanges;
}

export interface ReleaseAddressesAnswer {
  readonly outcomes: readonly AddressReleaseOutcome[];
}

/** Replaces owners of one address; an empty map clears one, an absent one stays as it is. */
export interface UpdateOwnersRequest {
  readonly block: string;
  readonly address: string;
  readonly handle: string;
  readonly set: { readonly active?: Attributes; readonly alternate?: Attributes };
  /** Who must own the address before, judged for the owners that are replaced. */
  readonly expect: { readonly active?: OwnerRef; readonly alternate?: OwnerRef };
  /** An agent's reach: it sees addresses and owners of this host, and replaces only those owners. */
  readonly onlyHost?: string;
  readonly until: number;
  readonly cooldownMs: number;
}

export type UpdateOwnersAnswer =
  | { readonly kind: "updated"; readonly record: AddressRecord }
  | {
      readonly kind: "not_allocated";
      readonly state: "free" | "cooling" | "host_reserved";
      readonly freeAt?: number;
    }
  | { readonly kind: "handle_mismatch"; readonly sequenceNumber: number }
  | { readonly kind: "owner_mismatch" | "out_of_reach" | "late" };

/** Promotes or clears an owner on all addresses that keys of a handle hold in one block. */
export interface ChangeOwnerRequest {
  readonly block: string;
  readonly handle: string;
  readonly keys: readonly { readonly key: string; readonly finalAfter: number }[];
  readonly change: "promote" | "clear";
  readonly owner: OwnerRef;
  /** An address that is left without any owner is released. */
  readonly releaseWhenUnowned: boolean;
  /** Only tells whether it would be refused. */
  readonly isTrial: boolean;
  /** An agent's reach: it sees addresses and owners of this host, and moves only those owners. */
  readonly onlyHost?: string;
  readonly until: number;
  readonly cooldownMs: number;
  /** What is no room for others; absent: nothing is reserved. */
  readonly reserved?: OrdinalRanges;
}

export interface OwnerOutcome {
  readonly outcome: "changed" | "unchanged" | "released";
  readonly record: AddressRecord;
}

export type ChangeOwnerAnswer =
  | {
      readonly kind: "changed";
      readonly outcomes: readonly OwnerOutcome[];
      /** Addresses within the caller's reach. */
      readonly seen: number;
      readonly keys: readonly {
        readonly key: string;
        readonly state: "held" | "released" | "absent" | "not_final";
      }[];
    }
  | {
      readonly kind: "alternate_owner_empty" | "alternate_owner_mismatch" | "out_of_reach" | "late";
    };

/** Asks for all that the block knows of one address. */
export interface InspectRequest {
  readonly block: string;
  readonly address: string;
  readonly policy: BlockPolicy;
}

/** One time in the hands of a handle. Older ones have lost their attributes. */
export interface PastTenure {
  readonly host: string;
  readonly handle: string;
  readonly attributes: Attributes;
  readonly allocatedAt: number;
  readonly releasedAt: number;
  /** Absent: a caller, or a tenure that ended before this was noted. */
  readonly releasedBy?: "collector";
  readonly sequenceNumber: number;
}

export interface AddressInspection {
  readonly state: "free" | "allocated" | "cooling" | "host_reserved";
  readonly owner?: string;
  /** Present while it is allocated. */
  readonly record?: AddressRecord;
  readonly freeAt?: number;
  /** Newest first. */
  readonly tenures: readonly PastTenure[];
  /** The block remembers every tenure that this address ever had in it. */
  readonly isComplete: boolean;
}

export interface DescribeRequest {
  readonly block: string;
  readonly policy: BlockPolicy;
  /** Records too: all, or of one handle, or of one address. */
  readonly records?: "all" | { readonly handle: string } | { readonly address: string };
  /**
   * A part of these, by address: those after one, as many as have so many characters, one at least.
   * Absent: all of them; with the largest attributes that may be more than one message takes.
   */
  readonly part?: { readonly after?: string; readonly characters: number };
  /** Records without what their owners are; for who counts them. */
  readonly bare?: boolean;
  /** One character per ordinal: . free, # allocated, b borrowed, c cooling, r reserved, w host-reserved. */
  readonly map?: boolean;
}

export interface BlockView {
  /** False for a block that was never claimed or has retired. */
  readonly exists: boolean;
  readonly owner?: string;
  readonly claimedAt?: number;
  readonly epoch: number;
  readonly sequenceNumber: number;
  readonly counts: BlockCounts;
  readonly records: readonly AddressRecord[];
  /** Of each of the bare records, what it is to the leak collector. */
  readonly kinds?: readonly LeakKind[];
  /** The last address of a part that has others after it. */
  readonly next?: string;
  readonly map?: string;
}
