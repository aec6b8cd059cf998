/**
 * Writes events as answers, with a sentence each.
 * May import: core and http. An event is stored without words; they are made here.
 */
import type { ChangedFields, EventType, RecentEvent } from "../../core/events.ts";
import { shortfallOnWire } from "../problem.ts";
import { timeText } from "../problems/row.ts";
import type { Wire } from "../schemas/components.ts";
import { type PoolWarningFigures, poolWarningText } from "./pool-warning.ts";

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

/** The sentence of each type; one that nothing writes has none. */
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
  host_silent: silent,
  leak_released: released,
  pool_warning: warned,
};

function refused({ count = 1, host, code, pool }: RecentEvent): string {
  const requests = count === 1 ? "1 request" : `${count} requests`;
  const where = pool === undefined ? "" : ` (pool ${pool})`;
  return `${requests} for ${host} ${count === 1 ? "was" : "were"} refused: ${code}${where}.`;
}

function silent({ host, firstAt, after }: RecentEvent): string {
  if (host === undefined) {
    return `${others(after, "host")} stopped reporting: nothing there is released on their word.`;
  }
  const last = firstAt === undefined ? "" : ` Its last report is of ${timeText(firstAt)}.`;
  return `Host ${host} stopped reporting: nothing there is released on its agent's word.${last}`;
}

function released({ host, pool, count = 0, after }: RecentEvent): string {
  const addresses = count === 1 ? "1 leaked address" : `${count} leaked addresses`;
  if (host === undefined) return `The collector released ${addresses} of ${others(after, "host")}.`;
  const where = pool === undefined ? "" : ` (pool ${pool})`;
  return `The collector released ${addresses} of ${host}${where}.`;
}

function warned({ pool, code, after = {} }: RecentEvent): string {
  if (pool === undefined) return `${others(after, "pool")} have few addresses left, or none.`;
  return poolWarningText(code === "pool_full" ? code : "pool_nearly_full", pool, figuresOf(after));
}

function figuresOf(after: ChangedFields): PoolWarningFigures {
  const figure = (name: string) => after[name] ?? "?";
  return {
    ...{ usedPercent: figure("usedPercent"), warnAtPercent: figure("warnAtPercent") },
    ...{ available: figure("available"), allocated: figure("allocated") },
    ...{ cooling: figure("cooling"), reserved: figure("reserved") },
  };
}

/** Those of a sweep that have no event of their own. */
function others({ others: count = "0" }: ChangedFields = {}, what: "host" | "pool"): string {
  return count === "1" ? `1 more ${what}` : `${count} more ${what}s`;
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
