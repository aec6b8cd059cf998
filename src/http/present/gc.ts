/**
 * Writes the collector's state as an answer.
 * May import: rpc and http. Times become text and milliseconds seconds here, nowhere earlier.
 */
import type { GcView } from "../../rpc/leaks.ts";
import { timeText } from "../problems/row.ts";
import type { Wire } from "../schemas/components.ts";

/** Writes the state; what has not happened yet stands at 1970. */
export function gcOnWire(view: GcView): Wire["GcStatus"] {
  const { lastSweepAt, lastSweepMs, oldestAuditMs, counts, breaker, tick, lastError, ...rest } = view;
  return {
    ...rest,
    ...counts,
    lastSweepAt: timeText(lastSweepAt),
    ...(lastSweepMs === undefined ? {} : { lastSweepSeconds: lastSweepMs / 1000 }),
    oldestAuditSeconds: secondsOf(oldestAuditMs),
    breaker: breakerOnWire(breaker),
    tick: tickOnWire(tick),
    ...(lastError === undefined ? {} : { lastError: lastError.what, lastErrorAt: timeText(lastError.at) }),
  };
}

function breakerOnWire({ openedAt, ...rest }: GcView["breaker"]): Wire["GcBreaker"] {
  return openedAt === undefined ? rest : { ...rest, openedAt: timeText(openedAt) };
}

function tickOnWire({ lastAt, nextAt, ...rest }: GcView["tick"]): Wire["GcTick"] {
  const next = nextAt === undefined ? {} : { nextAt: timeText(nextAt) };
  return { ...rest, lastAt: timeText(lastAt), ...next };
}

/** Whole seconds that have passed. Units: milliseconds. */
export function secondsOf(ms: number): number {
  return Math.floor(ms / 1000);
}
