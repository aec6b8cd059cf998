/**
 * Metrics of the leak collector as a whole: its state, its progress, its brakes, what it cannot release or judge.
 * May import: core, rpc and http. Rule: each label's values are a closed list, and all of them are always there.
 */
import type { HoldReason } from "../core/leak-ledger.ts";
import type { LeakKind } from "../core/leak-subject.ts";
import type { EvidenceSource, GcView, HostLeakFigures } from "../rpc/leaks.ts";
import type { HostFacts, MetricsFacts } from "./metrics-facts.ts";
import type { MetricFamily } from "./metrics-text.ts";

const STATES: readonly GcView["state"][] = ["idle", "running", "paused", "stuck", "breaker_open"];

type Tally = Readonly<Record<string, number>>;

/** Writes the collector's families. Units: seconds. */
export function collectorFamilies({ gc, hosts }: MetricsFacts): MetricFamily[] {
  const { counts, breaker, tick, lastSweepMs } = gc;
  const unaudited = hosts.filter(({ figures }) => figures === undefined || figures.auditedAt === 0).length;
  const states = Object.fromEntries(STATES.map((state) => [state, gc.state === state ? 1 : 0]));
  return [
    labelled("ipam_gc_state", "1 for the state that the collector is in", "state", states),
    labelled("ipam_gc_leaks", "Suspected leaks by state", "state", { ...counts }),
    labelled(
      "ipam_gc_held",
      "Confirmed leaks that are held back, by why",
      "reason",
      summed(REASONS, hosts, ({ heldByReason }) => heldByReason),
    ),
    labelled(
      "ipam_gc_unknown",
      "Allocations that are not judged for want of a source's word, suspects too, by that source",
      "source",
      summed(SOURCES, hosts, ({ unknownBySource }) => unknownBySource),
    ),
    labelled(
      "ipam_gc_unauditable",
      "Allocations that nobody can judge, by kind",
      "kind",
      summed(KINDS, hosts, ({ unauditable }) => unauditable),
    ),
    single("ipam_gc_backlog_hosts", "Hosts that the sweep has still to visit", gc.backlogHosts),
    single("ipam_gc_hosts_not_audited", "Hosts without a whole audit so far: their figures are 0", unaudited),
    single("ipam_gc_hosts_stale", "Hosts whose last report is stale", gc.hostsStale),
    single("ipam_gc_hosts_never_reported", "Hosts that never reported", gc.hostsNeverReported),
    single("ipam_gc_oldest_audit_age_seconds", "Age of the oldest audit of a host", gc.oldestAuditMs / 1000),
    single(
      "ipam_gc_releases_last_hour",
      "Addresses that the collector released in the last hour",
      gc.releasedLastHour,
    ),
    single("ipam_gc_breaker_open", "1 while the circuit breaker stops all releases", Number(breaker.open)),
    single("ipam_gc_paused", "1 while an operator has paused the collector", Number(gc.paused)),
    single("ipam_gc_sweep", "Number of the latest sweep", gc.sweep),
    single(
      "ipam_gc_last_sweep_timestamp_seconds",
      "When a sweep last ended; 0: never",
      gc.lastSweepAt / 1000,
    ),
    ...(lastSweepMs === undefined
      ? []
      : [single("ipam_gc_last_sweep_duration_seconds", "How long the last sweep took", lastSweepMs / 1000)]),
    single("ipam_gc_tick_overdue", "1 while the trigger of sweeps is overdue", Number(tick.overdue)),
    single(
      "ipam_gc_last_tick_timestamp_seconds",
      "When the trigger last called; 0: never",
      tick.lastAt / 1000,
    ),
  ];
}

/** Every reason, at nothing. */
const REASONS: Record<HoldReason, number> = {
  grace_period: 0,
  awaiting_recheck: 0,
  handle_partly_alive: 0,
  breaker_open: 0,
  paused: 0,
  release_limit: 0,
  evidence_never: 0,
  evidence_stale: 0,
  too_young: 0,
  unreadable: 0,
};

const SOURCES: Record<EvidenceSource, number> = { report: 0, attachments: 0, kubernetes: 0 };

const KINDS: Record<LeakKind, number> = {
  workload: 0,
  vm: 0,
  tunnel: 0,
  load_balancer: 0,
  reserved: 0,
  external: 0,
};

function single(name: string, help: string, value: number): MetricFamily {
  return { name, type: "gauge", help, samples: [{ labels: {}, value }] };
}

function labelled(name: string, help: string, label: string, values: Tally): MetricFamily {
  const samples = Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }));
  return { name, type: "gauge", help, samples };
}

/** Adds up what all hosts told. */
function summed(
  zeros: Tally,
  hosts: readonly HostFacts[],
  pick: (figures: HostLeakFigures) => Readonly<Partial<Record<string, number>>>,
): Tally {
  const sums: Record<string, number> = { ...zeros };
  for (const { figures } of hosts) {
    if (figures === undefined) continue;
    for (const [key, count] of Object.entries(pick(figures))) sums[key] = (sums[key] ?? 0) + (count ?? 0);
  }
  return sums;
}
