/**
 * What the Sweep tells of the collector: its state, its progress, what is suspected, the brakes.
 * May import: core, rpc, storage. Rule: it reads the Sweep's own rows only, and calls nobody.
 */
import {
  type CollectorFacts,
  collectorState,
  isOverdue,
  isStuck,
  sweepPeriodMs,
  TICK_MS,
  type TriggerFacts,
} from "../src/core/leak-status.ts";
import type { GcView, HostLeakFigures } from "../src/rpc/leaks.ts";
import type { Runtime } from "./runtime.ts";
import type { HostSums, SweepRows } from "./storage/sweep-rows.ts";
import type { SweepState } from "./sweep-state.ts";

export class SweepView {
  readonly #everyMs: number;
  readonly #rows: SweepRows;
  readonly #state: SweepState;

  constructor({ settings }: Runtime, rows: SweepRows, state: SweepState) {
    this.#everyMs = settings.tickMs > 0 ? settings.tickMs : TICK_MS;
    this.#rows = rows;
    this.#state = state;
  }

  /** The whole state as of now. */
  gc(now: number): GcView {
    const sums = this.#rows.sums();
    const facts = this.#facts(now, sums);
    const pause = this.#state.read("pause");
    const tour = this.#state.read("tour");
    const fault = this.#state.read("fault");
    const oldest = this.#rows.oldest();
    const { candidates, confirmed, held } = sums;
    return {
      state: collectorState(facts),
      paused: pause !== undefined,
      ...(pause === undefined ? {} : { pausedBy: pause.by }),
      ...(pause?.reason === undefined ? {} : { pauseReason: pause.reason }),
      sweep: tour?.number ?? 0,
      lastSweepAt: tour?.last?.at ?? 0,
      ...(tour?.last === undefined ? {} : { lastSweepMs: tour.last.ms }),
      oldestAuditMs: oldest === undefined ? 0 : Math.max(0, now - oldest.at),
      ...(oldest === undefined ? {} : { oldestAuditHost: oldest.host }),
      backlogHosts: this.#backlog(sums.hosts),
      counts: { candidates, confirmed, held },
      releasedLastHour: this.#rows.releasedSinceHour(now),
      hostsStale: sums.stale,
      hostsNeverReported: sums.neverReported,
      breaker: this.#breaker(),
      tick: this.#tick(now, facts.trigger),
      ...(fault === undefined ? {} : { lastError: fault }),
    };
  }

  /** Whether the collector has come to a standstill. */
  isStuck(now: number): boolean {
    return isStuck(this.#facts(now, this.#rows.sums()));
  }

  /** What each host told last, in the order of names. */
  hosts(
    after: string,
    limit: number,
  ): {
    readonly hosts: readonly { readonly host: string; readonly figures: HostLeakFigures }[];
    readonly next?: string;
  } {
    const found = this.#rows.after(after, limit + 1);
    const page = found.slice(0, limit).flatMap(({ host, figures }) => {
      return figures === undefined ? [] : [{ host, figures }];
    });
    const next = page.at(-1)?.host;
    return found.length <= limit || next === undefined ? { hosts: page } : { hosts: page, next };
  }

  #facts(now: number, { hosts, newestAuditAt }: HostSums): CollectorFacts {
    const tour = this.#state.read("tour");
    const isRunning = tour !== undefined && tour.phase !== "over";
    return {
      now,
      trigger: {
        lastAt: this.#state.read("tick")?.lastAt ?? 0,
        everyMs: this.#everyMs,
        knownSince: this.#state.read("known")?.since ?? 0,
      },
      isPaused: this.#state.read("pause") !== undefined,
      isBreakerOpen: this.#state.read("brakes")?.breaker !== undefined,
      ...(isRunning ? { movedAt: tour.movedAt } : {}),
      lastBegunAt: tour?.startedAt ?? 0,
      periodMs: sweepPeriodMs(this.#state.times().graceMs),
      hosts,
      newestAuditAt,
    };
  }

  /** Hosts that the sweep which runs has still to visit, as far as it has counted them. */
  #backlog(known: number): number {
    const tour = this.#state.running();
    switch (tour?.phase) {
      case undefined:
      case "pools":
      case "over":
        return 0;
      case "count":
        return Math.max(tour.total, known);
      case "nodes":
        return tour.total;
      case "hosts":
        return Math.max(0, tour.total - tour.visited);
      case "again":
        return this.#rows.unfinishedCount();
    }
  }

  #breaker(): GcView["breaker"] {
    const breaker = this.#state.read("brakes")?.breaker;
    return breaker === undefined ? { open: false } : { open: true, ...breaker };
  }

  #tick(now: number, trigger: TriggerFacts): GcView["tick"] {
    const tick = this.#state.read("tick");
    const overdue = isOverdue(now, trigger);
    if (tick === undefined) return { lastAt: 0, overdue };
    return { lastAt: tick.lastAt, nextAt: tick.lastAt + trigger.everyMs, overdue, source: tick.source };
  }
}
