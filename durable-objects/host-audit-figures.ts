/**
 * What a Host tells of its audits: counts by state, by reason, by source, by kind, by pool.
 * May import: core, rpc. Rule: made of the last audit and the ledger; nothing is asked for it.
 */
import { leakCounts, leakState } from "../src/core/leak-answers.ts";
import type { HoldReason } from "../src/core/leak-ledger.ts";
import type { Judged } from "../src/core/leak-policy.ts";
import { NO_POOL } from "../src/core/leak-status.ts";
import { isVirtualOwner, type LeakKind } from "../src/core/leak-subject.ts";
import type { HostLeakFigures, HostPoolFigures, ReportStateView } from "../src/rpc/leaks.ts";
import type { Holding } from "./host-audit-holdings.ts";
import type { LeakRow, Place } from "./storage/host-leak-rows.ts";

/** All that figures are made of. */
export interface FigureFacts {
  readonly host: string;
  readonly auditedAt: number;
  readonly holdings: readonly Holding[];
  /** The last judgement, if there was one since the Host woke. */
  readonly judged: readonly Judged[];
  readonly rows: readonly LeakRow[];
  readonly report: ReportStateView;
  readonly hasKubernetes: boolean;
  readonly reclaimed: ReadonlyMap<string, number>;
  /** Names of the pools there are; absent: not known, then none drops out. */
  readonly pools?: ReadonlySet<string>;
  readonly isGone: boolean;
  readonly lastError?: { readonly at: number; readonly what: string };
}

export function figuresOf(facts: FigureFacts): HostLeakFigures {
  const { auditedAt, holdings, judged, rows, report, isGone, lastError } = facts;
  const suspicions = rows.map(({ suspicion }) => suspicion);
  const held = suspicions.filter((row) => leakState(row) === "held");
  const exempt = judged.filter(({ standing }) => standing === "exempt");
  return {
    auditedAt,
    allocated: holdings.reduce((sum, { answer }) => sum + answer.own, 0),
    counts: leakCounts(suspicions),
    heldByReason: tally<HoldReason>(held.flatMap((row) => row.held ?? [])),
    unknownBySource: tally(judged.flatMap((one) => sourceOf(one, facts) ?? [])),
    unauditable: tally<LeakKind>(exempt.map(({ kind }) => kind)),
    report,
    pools: poolsOf(facts),
    isGone,
    ...(lastError === undefined ? {} : { lastError }),
  };
}

/** Tells how the host's agent reports. Units: milliseconds. */
export function reportState(
  last: (Place & { readonly count: number }) | undefined,
  now: number,
  staleMs: number,
  addressesNotAllocated: number | undefined,
): ReportStateView {
  if (last === undefined) return { state: "never", workloads: 0 };
  const { takenAt, sequence, complete, count } = last;
  return {
    state: now - takenAt <= staleMs ? "fresh" : "stale",
    lastAt: takenAt,
    ageMs: Math.max(0, now - takenAt),
    sequence,
    complete,
    workloads: count,
    ...(addressesNotAllocated === undefined ? {} : { addressesNotAllocated }),
  };
}

/** Which source did not say how something is, though it is to; none: it did, or no source could. */
function sourceOf(
  { kind, why }: Judged,
  { hasKubernetes, isGone }: FigureFacts,
): keyof HostLeakFigures["unknownBySource"] | undefined {
  if (why === undefined || why === "too_young") return undefined;
  // It waits for what may live on the lost host beside it.
  if (kind === "tunnel" && isGone) return undefined;
  // Of what is external only a runtime speaks.
  if (kind === "external" && why !== "unreadable") return "attachments";
  // Only a cluster can judge a machine.
  return why === "unreadable" || kind === "vm" || hasKubernetes ? "kubernetes" : "report";
}

function poolsOf({ host, holdings, rows, reclaimed, pools }: FigureFacts): Record<string, HostPoolFigures> {
  const figures = new Map<string, HostPoolFigures>();
  const isGone = (pool: string) => pools?.has(pool) === false;
  const add = (name: string | undefined, more: Partial<HostPoolFigures>): void => {
    const pool = name === undefined || isGone(name) ? NO_POOL : name;
    const sum = figures.get(pool) ?? { allocated: 0, borrowed: 0, blocks: 0, candidates: 0, reclaimed: 0 };
    figures.set(pool, {
      allocated: sum.allocated + (more.allocated ?? 0),
      borrowed: sum.borrowed + (more.borrowed ?? 0),
      blocks: sum.blocks + (more.blocks ?? 0),
      candidates: sum.candidates + (more.candidates ?? 0),
      reclaimed: sum.reclaimed + (more.reclaimed ?? 0),
    });
  };
  for (const { answer } of holdings) {
    const { own, owner, pool } = answer;
    const isOwner = owner === host;
    // A virtual owner is on no node, so it borrows of none.
    const isBorrowed = owner === undefined || (!isOwner && !isVirtualOwner(host));
    add(pool?.name, { allocated: own, borrowed: isBorrowed ? own : 0, blocks: isOwner ? 1 : 0 });
  }
  for (const { pool } of rows) add(pool, { candidates: 1 });
  // What a pool counted goes with it: a counter that took over from others would jump.
  const counted = [...reclaimed].filter(([pool]) => pool === NO_POOL || !isGone(pool));
  for (const [pool, addresses] of counted) add(pool, { reclaimed: addresses });
  return Object.fromEntries(figures);
}

function tally<K extends string>(names: readonly K[]): Partial<Record<K, number>> & Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts as Partial<Record<K, number>> & Record<string, number>;
}
