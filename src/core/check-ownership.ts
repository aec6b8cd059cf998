/**
 * Who owns a block, by the block, its Pool and the Hosts: where they differ, and who must mend it. Pure.
 * May import: core only. The block's word is the truth; a difference may be a step that is under way.
 */
import type { AffinityMark } from "./affinity.ts";
import type { BlockAudit } from "./block-audit.ts";
import type { ProblemCode } from "./check.ts";

/** A block as its Pool's directory has it. */
export interface EntryFacts {
  readonly state: "free" | "draining" | "owned";
  readonly owner?: string;
  readonly epoch: number;
  /** The epoch at which the owner's Host said that its row is confirmed. */
  readonly confirmed?: number;
}

/** What one Host has of a block. */
export interface HostFacts {
  readonly row?: AffinityMark;
  readonly hasBorrowed: boolean;
}

/** All that is recorded of one block. */
export interface BlockFacts {
  /** The pool that the block lies in, by the policy. */
  readonly pool?: { readonly name: string; readonly incarnation: number };
  /** Absent: the directory never had it. */
  readonly entry?: EntryFacts;
  /** Absent: it did not answer. */
  readonly word?: BlockAudit;
  /** Every Host that any of the others names; undefined: it did not answer. */
  readonly hosts: ReadonlyMap<string, HostFacts | undefined>;
}

/**
 * Who mends: the Pool its row by the block's word; the Host its row under a fresh epoch; the Host gives
 * back what it never took; the Host notes where it has borrowed.
 */
export type OwnershipRepair = "directory" | "host" | "give_back" | "note";

export interface OwnershipProblem {
  readonly problem: ProblemCode;
  readonly address?: string;
  readonly host?: string;
  readonly other?: string;
  /** What the judgement rests on: a step that is under way changes it. */
  readonly mark: string;
  readonly repair?: OwnershipRepair;
}

/** Lists what is wrong with one block, in the order in which it is to be mended. */
export function judgeBlock(facts: BlockFacts): OwnershipProblem[] {
  const { word } = facts;
  if (word === undefined) return [{ problem: "block_no_answer", mark: "" }];
  const inner = word.faults.map((fault) => ({ ...fault, mark: "" }));
  const isHere = word.pool?.name === facts.pool?.name && word.pool?.incarnation === facts.pool?.incarnation;
  if (isInUse(word) && !isHere && word.pool !== undefined) {
    return [...inner, { problem: "wrong_pool", other: word.pool.name, mark: "" }];
  }
  const directory = facts.pool === undefined ? [] : directoryProblems(facts, word);
  return [...inner, ...directory, ...affinityProblems(facts, word)];
}

/** Tells two problems of one block apart. */
export function problemName({ problem, host, address }: OwnershipProblem): string {
  return [problem, host ?? "", address ?? ""].join(" ");
}

function isInUse({ owner, allocated }: BlockAudit): boolean {
  return owner !== undefined || allocated > 0;
}

/** What was issued for a block, as far as anybody has seen. */
export function highestEpoch(hosts: BlockFacts["hosts"], word: BlockAudit): number {
  return Math.max(word.epoch, ...[...hosts.values()].map((facts) => facts?.row?.epoch ?? 0));
}

function directoryProblems({ entry, hosts }: BlockFacts, word: BlockAudit): OwnershipProblem[] {
  const mark = `${entry?.state} ${entry?.owner} ${word.epoch} ${word.owner}`;
  const mended = { mark, repair: "directory" } as const;
  const named = word.owner === undefined ? {} : { other: word.owner };
  if (entry === undefined || entry.state === "free") {
    return isInUse(word) ? [{ problem: "block_not_listed", ...named, ...mended }] : [];
  }
  const host = entry.owner === undefined ? {} : { host: entry.owner };
  if (word.owner !== undefined && word.owner !== entry.owner) {
    return [{ problem: "owner_differs", ...host, ...named, ...mended }];
  }
  if (entry.epoch < highestEpoch(hosts, word)) return [{ problem: "epoch_behind", ...host, ...mended }];
  if (entry.state === "draining") {
    const isOver = word.allocated + word.cooling === 0;
    return isOver ? [{ problem: "drained_block_kept", ...mended }] : [];
  }
  const known = hosts.get(entry.owner ?? "");
  if (known === undefined) return [];
  const { row } = known;
  if (word.owner === undefined) {
    // A row of its own tells that the Host has yet to end what it began.
    const give = { mark: `${entry.epoch} ${word.epoch}`, repair: "give_back" } as const;
    return row === undefined ? [{ problem: "offer_not_taken", ...host, ...give }] : [];
  }
  const isHeard = entry.confirmed !== undefined || row?.state !== "confirmed" || row.epoch !== word.epoch;
  return isHeard ? [] : [{ problem: "route_missing", ...host, mark: `${row.epoch}`, repair: "host" }];
}

function affinityProblems({ hosts }: BlockFacts, word: BlockAudit): OwnershipProblem[] {
  return [...hosts].flatMap(([host, facts]): OwnershipProblem[] => {
    const silent = { problem: "host_no_answer", mark: "" } as const;
    const found = facts === undefined ? silent : rowProblem(host, facts, word);
    return found === undefined ? [] : [{ ...found, host }];
  });
}

function rowProblem(host: string, { row, hasBorrowed }: HostFacts, word: BlockAudit) {
  const { owner, epoch } = word;
  const repair = "host" as const;
  if (row === undefined) {
    if (owner === host) return { problem: "row_missing", mark: `${epoch}`, repair } as const;
    const isKnown = hasBorrowed || !word.holders.includes(host);
    return isKnown ? undefined : ({ problem: "borrowing_unknown", mark: "", repair: "note" } as const);
  }
  if (row.state !== "confirmed") {
    return { problem: "row_unsettled", mark: `${row.state} ${row.epoch}`, repair } as const;
  }
  if (owner !== host) {
    const named = owner === undefined ? {} : { other: owner };
    const mark = `${row.epoch} ${epoch} ${owner}`;
    return { problem: "not_the_owner", ...named, mark, repair } as const;
  }
  return row.epoch === epoch
    ? undefined
    : ({ problem: "epoch_differs", mark: `${row.epoch} ${epoch}`, repair } as const);
}
