/**
 * The judgement of one audit: what was read, weighed against the evidence of this moment, into the ledger.
 * May import: core, storage. Rule: it is made in the transaction that stores it, however often it was made before.
 */
import type { Evidence } from "../src/core/leak-evidence.ts";
import type { HostLife } from "../src/core/leak-host.ts";
import type { HoldReason, Suspicion } from "../src/core/leak-ledger.ts";
import { auditHost, type HostAudit, type Judged } from "../src/core/leak-policy.ts";
import type { LeakSubject } from "../src/core/leak-subject.ts";
import type { ClusterLooks } from "./host-audit-cluster.ts";
import type { Holding } from "./host-audit-holdings.ts";
import type { LeakRow } from "./storage/host-leak-rows.ts";

/** What an audit rests on. Units: milliseconds. */
export interface Reading {
  readonly holdings: readonly Holding[];
  /** All blocks in which the host has, or may have, an address, read or not. */
  readonly blocks: ReadonlySet<string>;
  /** Blocks that were read in this audit. */
  readonly readNow: ReadonlySet<string>;
  readonly isWhole: boolean;
  readonly graceMs: number;
  readonly staleMs: number;
  readonly looks?: ClusterLooks;
}

/** Reasons that only a plan of releases gives; they stand until the next plan. */
const PLANNED: ReadonlySet<HoldReason> = new Set([
  "handle_partly_alive",
  "paused",
  "breaker_open",
  "release_limit",
]);

const SUSPECTED: ReadonlySet<Judged["standing"]> = new Set(["candidate", "confirmed"]);

/**
 * Judges a host.
 * Invariant: `ready` are only addresses that were read in this audit and, where a cluster is asked, that it
 * called absent in this audit.
 */
export function judge(
  reading: Reading,
  ledger: readonly LeakRow[],
  evidence: readonly Evidence[],
  life: HostLife,
  now: number,
): HostAudit {
  const { holdings, readNow, isWhole, graceMs, staleMs, looks } = reading;
  const blocks = new Map<string, readonly LeakSubject[]>(
    holdings.map(({ block, subjects }) => [block, subjects]),
  );
  const before = ledger.map(({ suspicion }) => suspicion);
  // In a block that is none of the host's it holds nothing.
  for (const { block } of before) if (!reading.blocks.has(block)) blocks.set(block, []);
  const facts = {
    now,
    staleMs,
    graceMs,
    life,
    hasKubernetes: looks !== undefined,
    blocks: [...blocks].map(([block, subjects]) => ({ block, subjects })),
    isWhole,
  };
  const { listed = [], evidence: looked = [] } = looks ?? {};
  const listing = auditHost({ ...facts, evidence: [...evidence, ...listed], ledger: before });
  // What was read by name is a look of its own, later than the list: it may prove what the list confirmed.
  const isReread = looked.length > listed.length;
  const audit = isReread
    ? auditHost({ ...facts, evidence: [...evidence, ...looked], ledger: listing.ledger })
    : listing;
  const judged = [...audit.judged].map(([address, one]): [string, Judged] => {
    const { subject, kind, standing } = one;
    const isProven = readNow.has(subject.block) && (looks?.callsAbsent(subject, kind) ?? true);
    const proven: Judged = standing === "ready" && !isProven ? { ...one, standing: "confirmed" } : one;
    const isOpen = SUSPECTED.has(proven.standing) && looks?.leavesOpen(subject, kind) === true;
    return [address, isOpen ? { ...proven, why: "unreadable" } : proven];
  });
  const result = { ...audit, judged: new Map(judged) };
  return { ...result, ledger: noted(result, before, looks) };
}

/** Keeps what a plan noted, and notes what is kept by others of its handle, or by a cluster without an answer. */
function noted(audit: HostAudit, before: readonly Suspicion[], looks: ClusterLooks | undefined) {
  const known = new Map(before.map((row) => [row.address, row]));
  const kept = new Set(
    [...audit.judged.values()]
      .filter(({ standing }) => standing !== "ready" && standing !== "confirmed")
      .map(({ subject }) => subject.handle),
  );
  return audit.ledger.map((row): Suspicion => {
    if (row.state !== "confirmed") return row;
    if (kept.has(row.handle)) {
      const isUnknown = audit.judged.get(row.address)?.standing === "unknown";
      return isUnknown ? row : { ...row, held: "handle_partly_alive" };
    }
    const held = known.get(row.address)?.held;
    if (held !== undefined && PLANNED.has(held)) return row.held === undefined ? { ...row, held } : row;
    const isReady = audit.judged.get(row.address)?.standing === "ready";
    if (row.held !== undefined || isReady) return row;
    return { ...row, held: looks?.hasFailed === true ? "unreadable" : "awaiting_recheck" };
  });
}

/** Puts suspicions together with what they are about. */
export function rowsOf(
  ledger: readonly Suspicion[],
  audit: HostAudit,
  before: readonly LeakRow[],
  holdings: readonly Holding[],
): LeakRow[] {
  const known = new Map(before.map((row) => [row.suspicion.address, row]));
  const pools = new Map(holdings.map(({ block, answer }) => [block, answer.pool?.name]));
  return ledger.flatMap((suspicion): LeakRow[] => {
    const subject = audit.judged.get(suspicion.address)?.subject ?? known.get(suspicion.address)?.subject;
    if (subject === undefined) return [];
    const pool = pools.get(suspicion.block) ?? known.get(suspicion.address)?.pool;
    return [{ suspicion, subject, ...(pool === undefined ? {} : { pool }) }];
  });
}
