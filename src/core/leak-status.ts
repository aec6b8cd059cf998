/**
 * How the collector stands: when a sweep is due, whether a trigger is overdue, whether it is stuck.
 * May import: core only; the clock is a fact. Rule: what answers nobody is told of, never taken for idle.
 */

/** How often a trigger is meant to call, ms. */
export const TICK_MS = 60_000;
/** Calls of the trigger that may be missed in a row. */
const TICKS_MISSED_MAX = 3;
/** How long a sweep may run without visiting a host, ms. */
const STANDSTILL_MS = 600_000;
/** What may come on top of two periods before hosts count as not audited, ms. */
const AUDIT_SLACK_MS = 300_000;
/** From the beginning of a sweep to that of the next where nothing has a grace, ms. */
const PERIOD_WITHOUT_GRACE_MS = 300_000;

/** From the beginning of a sweep to that of the next: each suspicion is looked at twice in its grace. Units: ms. */
export function sweepPeriodMs(graceMs: number): number {
  return graceMs > 0 ? graceMs / 2 : PERIOD_WITHOUT_GRACE_MS;
}

/** What is known of the trigger. Units: milliseconds; times since 1970. */
export interface TriggerFacts {
  /** 0: it has not called yet. */
  readonly lastAt: number;
  readonly everyMs: number;
  /** When the collector did anything for the first time; 0: it has not yet. */
  readonly knownSince: number;
}

/** What is known of the collector's progress. Units: milliseconds; times since 1970. */
export interface CollectorFacts {
  readonly now: number;
  readonly trigger: TriggerFacts;
  readonly isPaused: boolean;
  readonly isBreakerOpen: boolean;
  /** When the sweep that runs visited a host last, or began; absent: none runs. */
  readonly movedAt?: number;
  /** When the last sweep began; 0: none has. */
  readonly lastBegunAt: number;
  readonly periodMs: number;
  readonly hosts: number;
  /** The newest audit of any host; 0: there was none. */
  readonly newestAuditAt: number;
}

export type CollectorState = "idle" | "running" | "paused" | "stuck" | "breaker_open";

/** Tells whether the trigger has missed more calls than it may; one that never called counts from the first event. */
export function isOverdue(now: number, { lastAt, everyMs, knownSince }: TriggerFacts): boolean {
  const since = lastAt > 0 ? lastAt : knownSince;
  return since > 0 && now - since > TICKS_MISSED_MAX * everyMs;
}

/**
 * Tells whether the collector has come to a standstill of its own: no trigger, no step of the sweep that
 * runs, no sweep where one was due, or no audit of any host although there are hosts.
 * Why: a single host that does not answer is no standstill; the age of its audit tells of it.
 */
export function isStuck(facts: CollectorFacts): boolean {
  const { now, trigger, movedAt, lastBegunAt, periodMs, hosts, newestAuditAt } = facts;
  if (isOverdue(now, trigger)) return true;
  if (movedAt !== undefined && now - movedAt > STANDSTILL_MS) return true;
  if (trigger.knownSince === 0) return false;
  const bound = 2 * Math.max(periodMs, trigger.everyMs) + AUDIT_SLACK_MS;
  const sinceSweep = now - Math.max(lastBegunAt, trigger.knownSince);
  if (movedAt === undefined && sinceSweep > bound) return true;
  return hosts > 0 && now - Math.max(newestAuditAt, trigger.knownSince) > bound;
}

/** The one word for it: what waits for an operator comes before what has failed, and that before what runs. */
export function collectorState(facts: CollectorFacts): CollectorState {
  if (facts.isPaused) return "paused";
  if (facts.isBreakerOpen) return "breaker_open";
  if (isStuck(facts)) return "stuck";
  return facts.movedAt === undefined ? "idle" : "running";
}

/** Stands for the pool of blocks whose pool is gone, or was never known, where figures are by pool. */
export const NO_POOL = "";

/** Addresses released by pool. */
type Reclaimed = Readonly<Record<string, { readonly reclaimed: number }>>;

/**
 * Counts what a host released between two of its answers.
 * Why: counts only rise, and answers may come in another order than they were given in; an older one
 * counts nothing.
 */
export function releasedBetween(before: Reclaimed, after: Reclaimed): number {
  const risen = Object.entries(after).map(([pool, { reclaimed }]) =>
    Math.max(0, reclaimed - (before[pool]?.reclaimed ?? 0)),
  );
  return risen.reduce((sum, addresses) => sum + addresses, 0);
}

/** The later answer, with counts that never go back for a pool that both name. */
export function risenOnly<P extends { readonly reclaimed: number }>(
  before: Reclaimed,
  after: Readonly<Record<string, P>>,
): Readonly<Record<string, P>> {
  const raised = Object.entries(after).map(([pool, figures]) => {
    const reclaimed = Math.max(figures.reclaimed, before[pool]?.reclaimed ?? 0);
    return [pool, { ...figures, reclaimed }] as const;
  });
  return Object.fromEntries(raised);
}
