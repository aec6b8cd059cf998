/**
 * What a sweep tells of its hosts and pools as events: so many each by itself, the rest in one at its end.
 * May import: core, storage. Rule: an event is kept in the transaction that notes what it tells of as told.
 */
import type { EventDraft } from "../src/core/events.ts";
import {
  gather,
  type HostNews,
  type HostTold,
  releaseNews,
  remainder,
  silenceNews,
} from "../src/core/sweep-news.ts";
import type { HostLeakFigures } from "../src/rpc/leaks.ts";
import type { Runtime } from "./runtime.ts";
import type { SweepRows, SweptHost } from "./storage/sweep-rows.ts";
import type { SweepState, Tour } from "./sweep-state.ts";

const NOBODY: HostTold = {};

export class SweepNews {
  readonly #runtime: Runtime;
  readonly #rows: SweepRows;
  readonly #state: SweepState;

  constructor(runtime: Runtime, rows: SweepRows, state: SweepState) {
    this.#runtime = runtime;
    this.#rows = rows;
    this.#state = state;
  }

  /** Events of a host as it was stored by a visit; what it still does in this sweep is told with its last. */
  ofHost({ host, kind, again, figures, told = NOBODY }: SweptHost, now: number): readonly EventDraft[] {
    if (figures === undefined) return [];
    const quiet: HostNews = { events: [], told };
    const silence = kind === "host" ? silenceNews(host, told, figures, now) : quiet;
    const release =
      again > 0 ? { events: [], told: silence.told } : releaseNews(host, silence.told, figures.pools, now);
    if (release.told !== told) this.#rows.putTold(host, release.told);
    return [...silence.events, ...release.events];
  }

  /** The last event of a host that is about to be forgotten. */
  ofGone(
    { host, figures, told = NOBODY }: SweptHost,
    now: number,
    last: HostLeakFigures | undefined = figures,
  ): readonly EventDraft[] {
    return last === undefined ? [] : releaseNews(host, told, last.pools, now).events;
  }

  /** Keeps events for Cluster, or counts them where there were many. */
  tell(tour: Tour, events: readonly EventDraft[]): Tour {
    if (events.length === 0) return tour;
    const { digests, told } = gather(tour.digests ?? {}, events);
    this.#keep(told);
    return { ...tour, digests };
  }

  /** Tells what was only counted; the sweep is over. */
  end({ digests = {}, ...rest }: Tour, now: number): Tour {
    this.#keep(remainder(digests, now));
    return rest;
  }

  #keep(events: readonly EventDraft[]): void {
    for (const event of events) this.#state.tell(`sweep ${this.#runtime.unique()}`, event);
  }
}
