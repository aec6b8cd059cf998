/** When the collector counts as overdue, stuck, running; what it released between two answers. */
import { describe, expect, it } from "vitest";
import {
  type CollectorFacts,
  collectorState,
  isOverdue,
  isStuck,
  releasedBetween,
  risenOnly,
  sweepPeriodMs,
} from "../../src/core/leak-status.ts";

const MINUTE = 60_000;
const T = 1_000_000_000;
const well: CollectorFacts = {
  now: T,
  trigger: { lastAt: T - 30_000, everyMs: MINUTE, knownSince: T - 600 * MINUTE },
  isPaused: false,
  isBreakerOpen: false,
  lastBegunAt: T - 5 * MINUTE,
  periodMs: 7.5 * MINUTE,
  hosts: 3,
  newestAuditAt: T - 5 * MINUTE,
};

describe("a sweep", () => {
  it("is due twice in a grace; each five minutes where there is none", () => {
    expect(sweepPeriodMs(900_000)).toBe(450_000);
    expect(sweepPeriodMs(0)).toBe(300_000);
  });
});

describe("a trigger", () => {
  const trigger = { everyMs: MINUTE, knownSince: T - 600 * MINUTE };

  it("is overdue when it missed more than three calls", () => {
    expect(isOverdue(T, { ...trigger, lastAt: T - 3 * MINUTE })).toBe(false);
    expect(isOverdue(T, { ...trigger, lastAt: T - 3 * MINUTE - 1 })).toBe(true);
  });

  it("that never called is overdue from the collector's first event on, not before there was one", () => {
    expect(isOverdue(T, { ...trigger, lastAt: 0 })).toBe(true);
    expect(isOverdue(T, { ...trigger, lastAt: 0, knownSince: T - MINUTE })).toBe(false);
    expect(isOverdue(T, { ...trigger, lastAt: 0, knownSince: 0 })).toBe(false);
  });

  it("is not overdue where the clock was set back", () => {
    expect(isOverdue(T, { ...trigger, lastAt: T + MINUTE })).toBe(false);
  });
});

describe("the collector", () => {
  it("is not stuck between two sweeps, nor while one moves", () => {
    expect(isStuck(well)).toBe(false);
    expect(isStuck({ ...well, movedAt: T - 10 * MINUTE })).toBe(false);
  });

  it("is stuck without a trigger", () => {
    expect(isStuck({ ...well, trigger: { ...well.trigger, lastAt: T - 4 * MINUTE } })).toBe(true);
  });

  it("is stuck when a sweep runs and has visited no host for ten minutes", () => {
    expect(isStuck({ ...well, movedAt: T - 10 * MINUTE - 1 })).toBe(true);
  });

  it("is stuck when no sweep began in two periods and five minutes", () => {
    expect(isStuck({ ...well, lastBegunAt: T - 20 * MINUTE })).toBe(false);
    expect(isStuck({ ...well, lastBegunAt: T - 20 * MINUTE - 1 })).toBe(true);
  });

  it("is stuck when no host at all was audited in that time; without hosts there is nothing to audit", () => {
    const silent = { ...well, newestAuditAt: T - 20 * MINUTE - 1 };
    expect(isStuck(silent)).toBe(true);
    expect(isStuck({ ...silent, hosts: 0 })).toBe(false);
    expect(isStuck({ ...silent, movedAt: T })).toBe(true);
  });

  it("has that time from its first event on", () => {
    const young = { ...well, lastBegunAt: 0, newestAuditAt: 0 };
    const since = (knownSince: number) => ({ ...young, trigger: { ...well.trigger, knownSince } });
    expect(isStuck(since(T - 20 * MINUTE))).toBe(false);
    expect(isStuck(since(T - 20 * MINUTE - 1))).toBe(true);
    expect(isStuck(since(0))).toBe(false);
  });

  it("says what waits for an operator before what failed, and that before what runs", () => {
    const stuck = { ...well, trigger: { ...well.trigger, lastAt: T - 60 * MINUTE } };
    expect(collectorState({ ...stuck, isPaused: true, isBreakerOpen: true })).toBe("paused");
    expect(collectorState({ ...stuck, isBreakerOpen: true })).toBe("breaker_open");
    expect(collectorState(stuck)).toBe("stuck");
    expect(collectorState({ ...well, movedAt: T })).toBe("running");
    expect(collectorState(well)).toBe("idle");
  });
});

describe("what a host released", () => {
  const of = (...counts: readonly number[]) =>
    Object.fromEntries(counts.map((reclaimed, n) => [`p${n}`, { reclaimed }]));

  it("is what its counts have risen by, pool by pool", () => {
    expect(releasedBetween(of(3, 0), of(5, 1))).toBe(3);
    expect(releasedBetween({}, of(2))).toBe(2);
    expect(releasedBetween(of(5, 7), of(5))).toBe(0);
  });

  it("counts nothing for an older answer that comes late, nor for the next one after it", () => {
    const stored = risenOnly(of(5), of(3));
    expect(stored).toEqual(of(5));
    expect(releasedBetween(of(5), of(3))).toBe(0);
    expect(releasedBetween(stored, of(6))).toBe(1);
  });
});
