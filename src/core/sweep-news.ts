/**
 * What a sweep has to tell of its hosts: who has fallen silent, and what was released there.
 * May import: core only. Rule: what was told of a host is kept with it, so that nothing is told twice.
 */
import type { EventDraft, EventType, Severity } from "./events.ts";

/** What was told of a host. Units: milliseconds since 1970. */
export interface HostTold {
  /** When the report was made that the last silence began with. Absent: no silence was told yet. */
  readonly silentSince?: number;
  /** Addresses released, by pool, up to the last event. Absent: the host has said nothing yet. */
  readonly released?: Readonly<Record<string, number>>;
}

/** What a host says of itself. Units: milliseconds since 1970. */
export interface HostFacts {
  readonly report: { readonly state: "fresh" | "stale" | "never"; readonly lastAt?: number };
  readonly pools: Readonly<Record<string, { readonly reclaimed: number }>>;
  /** Lost, or removed: its silence is no news. */
  readonly isGone: boolean;
}

/** Events of a host, and what was told of it with them. */
export interface HostNews {
  readonly events: readonly EventDraft[];
  readonly told: HostTold;
}

/** Of one type: how many events stand for one host or pool, and what is left for the last. */
export interface Digest {
  readonly own: number;
  readonly others: number;
  /** Addresses of the others. */
  readonly count: number;
}

/** What one sweep has told, by type. */
export type Digests = Readonly<Partial<Record<EventType, Digest>>>;

/** Events of one type and one sweep that stand for one host or pool. Why: a bad day must not fill the log. */
export const OWN_EVENTS_MAX = 50;
/** Pools that the event of a host names. */
const POOLS_NAMED_MAX = 16;
const NOTHING: Digest = { own: 0, others: 0, count: 0 };
const SEVERITIES: Readonly<Partial<Record<EventType, Severity>>> = { leak_released: "info" };

/** Where counting begins: what a host had released before it was met is no news. */
export function firstTold(told: HostTold, pools: HostFacts["pools"]): HostTold {
  return told.released === undefined ? { ...told, released: countsOf(pools) } : told;
}

/** Tells that a host's agent has stopped reporting: once per report that no other followed in time. */
export function silenceNews(host: string, told: HostTold, facts: HostFacts, at: number): HostNews {
  const { state, lastAt } = facts.report;
  const isNews = state === "stale" && !facts.isGone && lastAt !== undefined && lastAt !== told.silentSince;
  if (!isNews) return { events: [], told };
  const event: EventDraft = { at, type: "host_silent", severity: "warning", host, firstAt: lastAt };
  return { events: [event], told: { ...told, silentSince: lastAt } };
}

/** Tells how many addresses the collector has released of a host since it was told last. */
export function releaseNews(host: string, told: HostTold, pools: HostFacts["pools"], at: number): HostNews {
  const { released: before = {} } = firstTold(told, pools);
  const risen = Object.entries(countsOf(pools))
    .map(([pool, count]) => ({ pool, count: count - (before[pool] ?? 0) }))
    .filter(({ count }) => count > 0);
  const count = risen.reduce((sum, one) => sum + one.count, 0);
  if (count === 0) return { events: [], told };
  const released = { ...before };
  for (const { pool, count: more } of risen) released[pool] = (before[pool] ?? 0) + more;
  const event: EventDraft = {
    ...{ at, type: "leak_released", severity: "info", host, count },
    ...poolFields(risen),
  };
  return { events: [event], told: { ...told, released } };
}

/** Chooses which events of a sweep are told each by itself; the others are counted. */
export function gather(
  digests: Digests,
  events: readonly EventDraft[],
): { readonly digests: Digests; readonly told: readonly EventDraft[] } {
  const next: Partial<Record<EventType, Digest>> = { ...digests };
  const told = events.filter((event) => {
    const { own, others, count } = next[event.type] ?? NOTHING;
    const isOwn = own < OWN_EVENTS_MAX;
    next[event.type] = isOwn
      ? { own: own + 1, others, count }
      : { own, others: others + 1, count: count + (event.count ?? 0) };
    return isOwn;
  });
  return { digests: next, told };
}

/** The events that stand for all that had none of their own; one per type, without a host or a pool. */
export function remainder(digests: Digests, at: number): EventDraft[] {
  return Object.entries(digests).flatMap(([name, { others, count }]) => {
    if (others === 0) return [];
    const type = name as EventType;
    return {
      ...{ at, type, severity: SEVERITIES[type] ?? "warning" },
      ...(count === 0 ? {} : { count }),
      after: { others: String(others) },
    };
  });
}

function countsOf(pools: HostFacts["pools"]): Record<string, number> {
  const released = Object.entries(pools).filter(([, { reclaimed }]) => reclaimed > 0);
  return Object.fromEntries(released.map(([pool, { reclaimed }]) => [pool, reclaimed]));
}

/** Pools by name: the one there is, or how many addresses of each; those of pools that are gone have none. */
function poolFields(
  risen: readonly { readonly pool: string; readonly count: number }[],
): Pick<EventDraft, "pool" | "after"> {
  const named = risen.filter(({ pool }) => pool !== "");
  const [only] = named;
  if (only === undefined) return {};
  if (risen.length === 1) return { pool: only.pool };
  const most = named.toSorted((one, other) => other.count - one.count).slice(0, POOLS_NAMED_MAX);
  return { after: Object.fromEntries(most.map(({ pool, count }) => [`pool.${pool}`, String(count)])) };
}
