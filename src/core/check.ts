/**
 * A check of consistency: what it is asked, what it can find, what stands in its answer.
 * May import: core only. A problem is a word here; sentences are made at the edge.
 */

/** What is to be looked at; nothing named: everything. */
export interface CheckRequest {
  readonly pool?: string;
  readonly host?: string;
  /** Whether what is found is mended. */
  readonly repair: boolean;
  /** Who asked for it, and with which request; stands in the event of a repair. */
  readonly by?: string;
  readonly requestId?: string;
  /** The Sweep's own: what shards would drop by themselves is dropped, and not told of. */
  readonly isUpkeep?: true;
}

/** Which record is wrong. The block is the truth of its addresses and of its owner; the others follow it. */
export type FindingKind = "index" | "directory" | "affinity" | "block" | "leak" | "unallocated_use";

/** Every problem that a check can find, and which record is wrong then. */
export const PROBLEM_KINDS = {
  /** A held key has no row: release by handle does not find it (I5). */
  key_not_listed: "index",
  /** A held key counts as released: release by handle does not find it. */
  key_listed_as_spent: "index",
  /** The row counts fewer addresses than are held: a limit would be passed (I9). */
  key_counted_short: "index",
  /** The row's block finally holds nothing of the key, and the shard has not dropped it in time: harmless. */
  key_not_held: "index",
  /** The block exists, the directory knows nothing of it (I5). */
  block_not_listed: "directory",
  /** The directory names another owner than the block. */
  owner_differs: "directory",
  /** The block, or a Host, has seen a higher epoch than the row: what is issued next is refused as stale. */
  epoch_behind: "directory",
  /** The block is offered to a host that never took it. */
  offer_not_taken: "directory",
  /** The block is over, its row keeps it out of the free space. */
  drained_block_kept: "directory",
  /** The Pool never heard that the owner has confirmed: there is no route. */
  route_missing: "directory",
  /** A block in use stands in the free space. */
  used_block_offered: "directory",
  /** Positions stand neither in the free space nor in use. */
  space_lost: "directory",
  /** A Host counts a block as its own, whose owner is another (I6). */
  not_the_owner: "affinity",
  /** A Host's row and its block are at different epochs. */
  epoch_differs: "affinity",
  /** The block names an owner that has no row of it. */
  row_missing: "affinity",
  /** A claim or a release that was never ended. */
  row_unsettled: "affinity",
  /** A host holds an address in a block of which it knows nothing. */
  borrowing_unknown: "affinity",
  /** Cluster does not list a host that blocks name. */
  host_not_listed: "affinity",
  /** A Host could not be read. */
  host_no_answer: "affinity",
  /** The block says that it belongs to a pool that is not there. */
  wrong_pool: "block",
  /** Rows of a block contradict each other. */
  rows_contradict: "block",
  /** The block's time is far ahead: it refuses everything as late. */
  time_ahead: "block",
  /** The block could not be read. */
  block_no_answer: "block",
  /** Nobody seems to use the address; how far the collector is with it. No check mends it. */
  leak_suspected: "leak",
  leak_confirmed: "leak",
  leak_held: "leak",
  /** Workloads of a host use addresses that it does not hold. No check mends it. */
  used_not_allocated: "unallocated_use",
} as const satisfies Record<string, FindingKind>;

export type ProblemCode = keyof typeof PROBLEM_KINDS;

const REPORTED: ReadonlySet<FindingKind> = new Set(["leak", "unallocated_use"]);

/** Tells whether a problem is only told of: all records agree on it, and the collector sees to it. */
export function isOnlyTold({ problem }: Finding): boolean {
  return REPORTED.has(PROBLEM_KINDS[problem]);
}

/** What was found wrong in one place. */
export interface Finding {
  readonly problem: ProblemCode;
  readonly block?: string;
  readonly address?: string;
  readonly handle?: string;
  readonly host?: string;
  /** Whom or what the truth names instead. */
  readonly other?: string;
}

/** A finding as listed. `repaired` is absent where no repair was asked for, none is over yet, or there is none. */
export interface ListedFinding extends Finding {
  readonly number: number;
  readonly repaired?: boolean;
}

/** Where a check stands. Units: milliseconds since 1970. */
export interface CheckView {
  readonly id: string;
  readonly state: "running" | "done" | "failed";
  readonly startedAt: number;
  readonly finishedAt?: number;
  readonly problems: number;
  readonly repaired: number;
  /** Blocks of the directories, those that are free again with them. */
  readonly blocksChecked: number;
  readonly blocksTotal: number;
}
