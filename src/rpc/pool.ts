/**
 * What a Pool answers: the directory of the blocks that may exist, and who may claim each. Types only.
 * Rule: every answer that concerns ownership carries a fresh epoch, stored first.
 */
import type { BlockCounts } from "../core/allocation.ts";
import type { Route } from "../core/routes.ts";

/** Which incarnation of which pool is meant; every message says it. */
export interface PoolTarget {
  readonly pool: string;
  readonly incarnation: number;
  readonly cidr: string;
  readonly blockSize: number;
}

export interface PoolClaimRequest extends PoolTarget {
  readonly owner: string;
  /** Blocks of this pool for which the owner has a row, in whatever state; with `inStep` none is named. */
  readonly known: readonly string[];
  /** This Pool has said so, and the owner has got all that it was offered since. */
  readonly inStep?: boolean;
  /** Free blocks that the owner would take beside the first. */
  readonly more?: number;
  /** Positions (block numbers) that are wholly reserved: never offered. Inclusive, ascending. */
  readonly excluded: readonly (readonly [first: bigint, last: bigint])[];
  /** Blocks already tried for reclaim by this request. */
  readonly tried: readonly string[];
  /** Of the caller's policy: figures of an older one are not believed where they say that there is nothing. */
  readonly policyVersion?: number;
}

export interface BlockOffer {
  readonly block: string;
  readonly epoch: number;
}

export type PoolClaimAnswer =
  | (BlockOffer & {
      readonly kind: "claim";
      /** Further free blocks, where they were asked for and are plenty. */
      readonly more?: readonly BlockOffer[];
      /** With these the owner knows all blocks that are its own in this Pool's directory. */
      readonly inStep?: boolean;
    })
  /** Ask that owner's Host to release this empty block with this epoch, then ask again. */
  | { readonly kind: "reclaim"; readonly block: string; readonly owner: string; readonly epoch: number }
  | { readonly kind: "none" }
  | { readonly kind: "terminating" };

/** A block as a claim would be answered with it, were the ones before it not to be had. */
export interface PlannedClaim {
  readonly kind: "own" | "free" | "reclaim";
  readonly block: string;
  /** It was issued before, so it may be asked. */
  readonly existed: boolean;
  /** Whom a reclaim asks, and in which class it stands; lower ones are asked first. */
  readonly owner?: string;
  readonly rank?: number;
}

export interface BlockReport {
  readonly block: string;
  /** Absent when the block has retired; with `confirmed`: nothing is said of it. */
  readonly counts?: BlockCounts;
  /** The owner's Host says that its row of the block is confirmed; an epoch is issued to one owner only. */
  readonly confirmed?: { readonly epoch: number };
}

/** One page of a pool's routes, in the order of addresses. */
export interface RoutePage {
  readonly routes: readonly Route[];
  /** Where the next page begins; a page may be empty and have it. Absent: the end. */
  readonly next?: string;
  /** Of the page or older. */
  readonly revision: number;
}

/** A block as the directory knows it; counts are hints, absent when nobody reported. */
export interface DirectoryEntry {
  readonly block: string;
  readonly state: "free" | "draining" | "owned";
  readonly owner?: string;
  readonly epoch: number;
  readonly counts?: BlockCounts;
  /** The latest epoch at which the owner's Host said that its row is confirmed; absent: there is no route. */
  readonly confirmed?: number;
}

/** What of the free space contradicts the rows: `space_lost` begins at that block. */
export interface SpaceFault {
  readonly problem: "used_block_offered" | "space_lost";
  readonly block: string;
}

/** Decimal strings: IPv6 counts exceed 2^53. */
export interface PoolUsageView {
  readonly capacity: string;
  readonly allocated: string;
  readonly cooling: string;
  readonly reserved: string;
  readonly available: string;
  /** Rounded down to two decimals. */
  readonly usedPercent: number;
  readonly blocks: number;
  readonly blocksFull: number;
  readonly blocksUnowned: number;
  readonly nextFreeAt?: number;
  /** When the last cooling address is free; present once nothing is allocated. */
  readonly lastFreeAt?: number;
  readonly asOf: number;
  readonly exact: boolean;
  /** How many blocks each owner has, where that was asked for; with those unowned they are all blocks. */
  readonly owners?: readonly (readonly [owner: string, blocks: number])[];
}

/** `closed`: it refuses claims. `draining`: it also gets its blocks back, until none is left. */
export type PoolMode = "open" | "closed" | "draining";

export type PoolOrderAnswer =
  /** No block that was ever issued has an owner or holds an address, by the blocks' own word. */
  | { readonly kind: "empty" }
  /** This block is not known to be over. */
  | { readonly kind: "left"; readonly block: string; readonly allocated: number };

export interface PoolPort {
  claim(request: PoolClaimRequest): Promise<PoolClaimAnswer>;
  /** A fresh epoch for a block that the owner has a row for, or wants exactly; `other` when it is another's. */
  fresh(
    request: PoolTarget & { readonly owner: string; readonly block: string },
  ): Promise<
    | { readonly kind: "claim"; readonly epoch: number; readonly terminating: boolean }
    | { readonly kind: "other"; readonly owner: string }
  >;
  /** The owner gives a block back; applies iff the row has that owner and epoch. */
  release(
    request: PoolTarget & {
      readonly owner: string;
      readonly block: string;
      readonly epoch: number;
      readonly draining: boolean;
    },
  ): Promise<{ readonly applied: boolean }>;
  /** An ownerless block has become empty; applies iff the row has that epoch. */
  retired(
    request: PoolTarget & { readonly block: string; readonly epoch: number },
  ): Promise<{ readonly applied: boolean }>;
  /**
   * Cluster orders what the pool is from now on; an order whose number is not higher than the last
   * changes nothing. Asked to be closed, it asks its free blocks before it answers.
   */
  order(
    request: PoolTarget & {
      readonly number: number;
      readonly revision: number;
      readonly mode: PoolMode;
    },
  ): Promise<PoolOrderAnswer>;
  report(request: PoolTarget & { readonly blocks: readonly BlockReport[] }): Promise<{
    readonly accepted: number;
    /** How many words of owners' Hosts were heard; such a word is not to be repeated. */
    readonly confirmed?: number;
  }>;
  /** A block tells the whole set of addresses that others than its owner hold; an older version changes nothing. */
  borrowed(
    request: PoolTarget & {
      readonly block: string;
      readonly version: number;
      readonly addresses: readonly { readonly address: string; readonly host: string }[];
    },
  ): Promise<{ readonly applied: boolean }>;
  /** Routes after a mark (a destination, or any range); all of them, or those to one host. */
  routes(
    request: PoolTarget & { readonly after?: string; readonly limit: number; readonly host?: string },
  ): Promise<RoutePage>;
  /** The revision of the routes: at once when it is another than the known one, else when it changes or after `waitMs`. */
  routesRevision(
    request: PoolTarget & { readonly known?: number; readonly waitMs?: number },
  ): Promise<{ readonly revision: number }>;
  /** Whether a claim of the owner might be answered with a block now, by the hints; nothing is issued. */
  mayClaim(
    request: PoolTarget & Pick<PoolClaimRequest, "owner" | "known" | "excluded">,
  ): Promise<{ readonly mayClaim: boolean }>;
  /** What claims of the owner would be answered with now, in order; nothing is issued. */
  claimPlan(
    request: PoolTarget & Pick<PoolClaimRequest, "owner" | "known" | "excluded"> & { readonly limit: number },
  ): Promise<{ readonly blocks: readonly PlannedClaim[] }>;
  /** Blocks in which others may have room, best hints first; `after` goes on where the last answer ended. */
  borrowCandidates(
    request: PoolTarget & {
      readonly owner: string;
      readonly limit: number;
      readonly tried: readonly string[];
      /** Of the caller's policy: after a change "full" is not believed until reported again. */
      readonly policyVersion?: number;
      /** What the caller saw of blocks that were candidates before. */
      readonly seen: readonly BlockReport[];
    },
  ): Promise<{
    readonly candidates: readonly {
      readonly block: string;
      readonly owner?: string;
      readonly known: boolean;
    }[];
    /** Earliest time at which a cooling address of any block is free, by the hints. */
    readonly nextFreeAt?: number;
  }>;
  /** Whether the directory has the block, and whose it is. Never touches the block. */
  find(request: PoolTarget & { readonly block: string }): Promise<{ readonly entry?: DirectoryEntry }>;
  /** Blocks in address order. */
  list(
    request: PoolTarget & { readonly after?: string; readonly limit: number; readonly owner?: string },
  ): Promise<{ readonly entries: readonly DirectoryEntry[]; readonly next?: string }>;
  /** Sums of dated block figures; `reservedCidrs` are the CIDRs of all reservations of the family. */
  usage(
    request: PoolTarget & { readonly reservedCidrs: readonly string[]; readonly withOwners?: boolean },
  ): Promise<PoolUsageView>;
  /** Blocks that were ever issued, free ones too, in address order; for a check. */
  issued(
    request: PoolTarget & { readonly after?: string; readonly limit: number },
  ): Promise<{ readonly entries: readonly DirectoryEntry[]; readonly next?: string }>;
  /** How many blocks were ever issued. */
  countIssued(request: PoolTarget): Promise<{ readonly count: number }>;
  /** The entries of some blocks; those that were never issued are left out. */
  entries(request: PoolTarget & { readonly blocks: readonly string[] }): Promise<{
    readonly entries: readonly DirectoryEntry[];
  }>;
  /** Makes a block's row what the block itself says; nothing is changed where the row has moved on meanwhile. */
  restore(
    request: PoolTarget & {
      readonly block: string;
      /** The highest epoch that the block has seen; no lower one is issued any more. */
      readonly seenEpoch: number;
    },
  ): Promise<{ readonly kind: "restored" | "unsettled" }>;
  /** Compares one stretch of the free space with the rows, and mends it if it is asked to. */
  auditSpace(
    request: PoolTarget & { readonly after?: string; readonly limit: number; readonly repair: boolean },
  ): Promise<{ readonly faults: readonly SpaceFault[]; readonly next?: string }>;
}
