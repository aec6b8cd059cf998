/**
 * What the Sweep remembers of itself: where a sweep stands, who paused it, when a trigger called last.
 * May import: core, rpc, storage. Rule: plain data that is stored; a field is only added.
 */
import type { EventDraft } from "../src/core/events.ts";
import type { Brakes } from "../src/core/leak-brakes.ts";
import { leakTimes } from "../src/core/leak-policy.ts";
import type { PoolWarning } from "../src/core/pool-warning.ts";
import type { Digests } from "../src/core/sweep-news.ts";
import type { GcView } from "../src/rpc/leaks.ts";
import type { SweepRows } from "./storage/sweep-rows.ts";

/**
 * One way through all hosts. Units: milliseconds since 1970.
 * Shape: counts the hosts, lists the nodes, visits the hosts, then those again that had more to do, then looks
 * at the pools.
 */
export interface Tour {
  readonly number: number;
  /** Fences: an instance that was replaced commits nothing. */
  readonly step: number;
  readonly startedAt: number;
  /** When it came on last. */
  readonly movedAt: number;
  readonly phase: "count" | "nodes" | "hosts" | "again" | "pools" | "over";
  /** The last host or pool of this phase, or where the list of nodes goes on. */
  readonly after?: string;
  /** The list of nodes that is under way. */
  readonly list?: { readonly takenAt: number; readonly pages: number; readonly begunAnew: number };
  /** Begun by an operator: what was audited before it is audited again. */
  readonly isManual: boolean;
  readonly total: number;
  readonly visited: number;
  readonly silent: number;
  /** What it has told as events. Absent: nothing. */
  readonly digests?: Digests;
  /** The sweep that ended last. */
  readonly last?: { readonly at: number; readonly ms: number };
}

export interface Pause {
  readonly by: string;
  readonly at: number;
  readonly reason?: string;
}

export interface Tick {
  readonly lastAt: number;
  readonly source: NonNullable<GcView["tick"]["source"]>;
}

/** The times of the policy, as known last. Units: milliseconds. */
export interface Times {
  /** Of the policy; 0: none was read yet. */
  readonly version: number;
  readonly graceMs: number;
  readonly staleMs: number;
}

export interface Fault {
  readonly at: number;
  readonly what: string;
}

/** An event that Cluster has not taken yet. */
export interface News {
  readonly message: string;
  readonly event: EventDraft;
}

interface States {
  readonly tour: Tour;
  readonly pause: Pause;
  readonly brakes: Brakes;
  readonly tick: Tick;
  readonly times: Times;
  readonly fault: Fault;
  readonly news: { readonly waiting: readonly News[] };
  /** When the collector did anything for the first time, and whether its standstill was told. */
  readonly known: { readonly since: number; readonly isToldStuck: boolean };
  /** The last complete list of nodes. */
  readonly nodes: { readonly listedAt: number };
  /** Pools that count as warned of, by name and incarnation. */
  readonly pools: { readonly warned: Readonly<Record<string, PoolWarning>> };
}

/** Events that may wait, more than a sweep and its operators make; more than these are news no longer. */
const NEWS_MAX = 256;

/** Each state is one row, read inside the transaction that rests on it. */
export class SweepState {
  readonly #rows: SweepRows;

  constructor(rows: SweepRows) {
    this.#rows = rows;
  }

  read<K extends keyof States>(name: K): States[K] | undefined {
    return this.#rows.state<States[K]>(name);
  }

  put<K extends keyof States>(name: K, value: States[K]): void {
    this.#rows.putState(name, value);
  }

  drop(name: keyof States): void {
    this.#rows.dropState(name);
  }

  /** The sweep that runs. */
  running(): Tour | undefined {
    const tour = this.read("tour");
    return tour === undefined || tour.phase === "over" ? undefined : tour;
  }

  times(): Times {
    return this.read("times") ?? { version: 0, ...leakTimes({}) };
  }

  /** Notes when the collector began to do anything; in a transaction that writes. */
  know(now: number): void {
    if (this.read("known") === undefined) this.put("known", { since: now, isToldStuck: false });
  }

  /** Keeps an event for Cluster; in the transaction of what it tells of. */
  tell(message: string, event: EventDraft): void {
    const waiting = [...this.news(), { message, event }].slice(-NEWS_MAX);
    this.put("news", { waiting });
  }

  news(): readonly News[] {
    return this.read("news")?.waiting ?? [];
  }
}
