/**
 * Writes events as answers, with a sentence each.
 * May import: core and http. An event is stored without words; they are made here.
 */
import type { ChangedFields, EventType, RecentEvent } from "../../core/events.ts";
import { shortfallOnWire } from "../problem.ts";
import { timeText } from "../problems/row.ts";
import type { Wire } from "../schemas/components.ts";

/** Writes one event. */
export function eventOnWire(event: RecentEvent): Wire["Event"] {
  const { id, at, firstAt, before, after, shortfall, name: _name, ...rest } = event;
  return {
    ...rest,
    id: String(id),
    at: timeText(at),
    summary: SUMMARIES[event.type]?.(event) ?? event.type,
    ...(firstAt === undefined ? {} : { firstAt: timeText(firstAt) }),
    ...(before === undefined ? {} : { before: { ...before } }),
    ...(after === undefined ? {} : { after: { ...after } }),
    ...(shortfall === undefined ? {} : { shortfall: shortfall.map(shortfallOnWire) }),
  };
}

/** The sentence of each type; types that nothing writes yet have none. */
const SUMMARIES: Partial<Record<EventType, (event: RecentEvent) => string>> = {
  refusal: refused,
  config_changed: ({ before, after }) =>
    ofCollector(before, after) ?? `The configuration was changed: ${fieldsOf(before, after)}.`,
  pool_changed: (event) => changed(`Pool ${event.pool}`, event),
  pool_draining: ({ pool }) => `Pool ${pool} drains: nothing new is allocated from it.`,
  pool_gone: ({ pool }) => `Pool ${pool} is gone.`,
  reservation_changed: (event) => changed(`Reservation ${event.name}`, event),
  host_registered: (event) =>
    event.before === undefined ? `Host ${event.host} was registered.` : relabelled(event),
  repair: ({ name, after }) => `Check ${name} mended ${after?.repaired} of ${after?.problems} problems.`,
  breaker_opened: ({ host, after }) =>
    `The collector stopped itself: ${after?.confirmed} leaks of ${host ?? "the whole deployment"} at once ` +
    `are more than the ${after?.limitPercent} % that it believes.`,
  gc_stuck: () => "The collector stood still: no trigger called, or no host was audited, for too long.",
  host_removed: ({ host }) => `Host ${host} was removed.`,
};

function refused({ count = 1, host, code, pool }: RecentEvent): string {
  const requests = count === 1 ? "1 request" : `${count} requests`;
  const where = pool === undefined ? "" : ` (pool ${pool})`;
  return `${requests} for ${host} ${count === 1 ? "was" : "were"} refused: ${code}${where}.`;
}

/** What an operator did to the collector; undefined: it was another part of the configuration. */
function ofCollector(before: ChangedFields = {}, after: ChangedFields = {}): string | undefined {
  if (after["gc.breaker"] !== undefined) {
    const what = before["gc.breaker"]?.replace(/^open: /, "");
    return `The breaker was acknowledged${what === undefined ? "" : `: ${what}`}.`;
  }
  if (after["gc.paused"] === undefined) return undefined;
  if (after["gc.paused"] === "false") return "The leak collector goes on.";
  const reason = after["gc.reason"] === undefined ? "" : `: ${after["gc.reason"]}`;
  return `The leak collector ${before["gc.paused"] === "true" ? "stays" : "was"} paused${reason}.`;
}

function changed(what: string, { before, after }: RecentEvent): string {
  if (before === undefined) return `${what} was made.`;
  if (after === undefined) return `${what} was removed.`;
  return `${what} was changed: ${fieldsOf(before, after)}.`;
}

function relabelled({ host, before, after }: RecentEvent): string {
  return `Host ${host} was registered with other labels: ${fieldsOf(before, after)}.`;
}

function fieldsOf(before: ChangedFields = {}, after: ChangedFields = {}): string {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted().join(", ");
}
