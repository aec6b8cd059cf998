/**
 * A sweep: a tour through all hosts in slices, each lot of hosts committed with its place.
 * May import: core, rpc, platform, storage. Rule: a host that does not answer holds nobody up, and no crash
 * loses the place; what was visited twice was audited twice, which is harmless.
 */
import type { EventDraft } from "../src/core/events.ts";
import { leakTimes } from "../src/core/leak-policy.ts";
import { sweepPeriodMs } from "../src/core/leak-status.ts";
import type { HostEntry } from "../src/rpc/cluster.ts";
import type { AuditAnswer, HostLeakPort } from "../src/rpc/leaks.ts";
import { CheckCalls, NoAnswer } from "./check-calls.ts";
import type { Runtime } from "./runtime.ts";
import type { Store } from "./storage/store.ts";
import type { NodeRow, SweepRows, SweptHost } from "./storage/sweep-rows.ts";
import { SweepNews } from "./sweep-news.ts";
import { type NodeFacts, SweepNodes } from "./sweep-nodes.ts";
import { SweepPools } from "./sweep-pools.ts";
import type { SweepState, Tour } from "./sweep-state.ts";

/** Hosts visited at a time, and in one event. */
const LOT = 8;
const HOSTS_PER_EVENT_MAX = 200;
/** No further lot begins beyond so many calls, those of the Hosts included; one event has 900. */
const CALLS_BEFORE_LAST_LOT = 600;
/** No further lot begins after so long, ms: a lot with a host that hangs takes its time. */
const EVENT_MS = 20_000;
/** The longest rest between two steps: one that took long has waited for a host that is silent, ms. */
const REST_MS_MAX = 500;
/** How much longer others have the thread than a step took. */
const REST_SHARE = 14;
/** Calls that a visit may take one after another; it sets its time limit. */
const VISIT_STEPS = 6;
/** How often one host is visited again in a sweep. */
const AGAIN_MAX = 20;
/** Hosts on a page when they are counted. */
const COUNT_PAGE = 1_000;
/** Pauses: between two slices, and after one that failed, ms. */
const NEXT_MS = 1_000;
const RETRY_MS = 5_000;

const UNSEEN: NodeRow = { wasSeen: false, isUnreadable: false };

/** What one event may still do. */
interface Slice {
  readonly calls: CheckCalls;
  readonly until: number;
  visits: number;
  /** Calls that Hosts made for their visits. */
  told: number;
  /** Hosts that come next; read once per event. */
  page: HostEntry[];
  /** The page is the last one. */
  isLastPage: boolean;
}

/** A visit of one host; without an answer where it was silent. */
interface Visit extends NodeFacts {
  readonly host: string;
  readonly kind: SweptHost["kind"];
  readonly answer?: AuditAnswer;
}

export class SweepTour {
  readonly #runtime: Runtime;
  readonly #store: Store;
  readonly #rows: SweepRows;
  readonly #state: SweepState;
  readonly #nodes: SweepNodes;
  readonly #pools: SweepPools;
  readonly #news: SweepNews;

  constructor(runtime: Runtime, store: Store, rows: SweepRows, state: SweepState) {
    this.#runtime = runtime;
    this.#store = store;
    this.#rows = rows;
    this.#state = state;
    this.#nodes = new SweepNodes(runtime, rows, state);
    this.#pools = new SweepPools(runtime, state);
    this.#news = new SweepNews(runtime, rows, state);
  }

  /** Reads the times of the policy anew; without an answer those known last stand. */
  async refreshTimes(): Promise<void> {
    const { version } = this.#state.times();
    const calls = new CheckCalls(this.#runtime);
    const known = version === 0 ? {} : { knownVersion: version };
    const said = await calls.maybe(() => this.#runtime.ports.cluster().policy(known));
    if (said?.policy === undefined) return;
    const times = { version: said.version, ...leakTimes(said.policy.config) };
    this.#store.transaction(() => this.#state.put("times", times));
  }

  /** Whether a sweep is due. A clock that was set back makes it due. */
  isDue(now: number): boolean {
    const tour = this.#state.read("tour");
    if (tour === undefined) return true;
    const isRunning = tour.phase !== "over";
    const period = sweepPeriodMs(this.#state.times().graceMs);
    return !isRunning && (now - tour.startedAt >= period || now < tour.startedAt);
  }

  /** Begins a sweep, or goes on with the one that runs; in a transaction. */
  begin(isManual: boolean, now: number): Tour {
    const running = this.#state.running();
    if (running !== undefined) return running;
    const before = this.#state.read("tour");
    const tour: Tour = {
      number: (before?.number ?? 0) + 1,
      ...{ step: 0, startedAt: now, movedAt: now, phase: "count", isManual },
      ...{ total: 0, visited: 0, silent: 0 },
      ...(before?.last === undefined ? {} : { last: before.last }),
    };
    this.#state.know(now);
    this.#state.put("tour", tour);
    return tour;
  }

  /** Goes on, from the alarm; returns the pause until the next slice, or nothing when there is none. */
  async slice(): Promise<number | undefined> {
    const begun = this.#state.running();
    if (begun === undefined) return undefined;
    const slice: Slice = {
      calls: new CheckCalls(this.#runtime),
      until: this.#runtime.now() + EVENT_MS,
      ...{ visits: 0, told: 0, page: [], isLastPage: false },
    };
    try {
      while (this.#hasRoom(slice)) {
        const tour = this.#state.running();
        if (tour?.number !== begun.number) break;
        const beganAt = this.#runtime.now();
        if (!(await this.#step(tour, slice))) break;
        await this.#rest(this.#runtime.now() - beganAt);
      }
      return this.#state.running() === undefined ? undefined : NEXT_MS;
    } catch (failure) {
      // The place is kept, and the step is tried again.
      const what = failure instanceof NoAnswer ? "Cluster did not answer" : "a step of the sweep failed";
      const at = this.#runtime.now();
      this.#store.transaction(() => this.#state.put("fault", { at, what }));
      return RETRY_MS;
    }
  }

  /** Where all objects share a thread, a sweep takes a fifteenth of it at most, while it need not wait. */
  async #rest(tookMs: number): Promise<void> {
    const { sweepRestMs } = this.#runtime.settings;
    if (sweepRestMs === 0) return;
    await this.#runtime.sleep(Math.min(REST_MS_MAX, Math.max(sweepRestMs, REST_SHARE * tookMs)));
  }

  #hasRoom({ calls, told, visits, until }: Slice): boolean {
    const isWithin = calls.used + told < CALLS_BEFORE_LAST_LOT && visits < HOSTS_PER_EVENT_MAX;
    return isWithin && this.#runtime.now() < until;
  }

  /** One step of any phase; false: the slice is to end. */
  async #step(tour: Tour, slice: Slice): Promise<boolean> {
    switch (tour.phase) {
      case "count":
        return await this.#count(tour, slice);
      case "nodes":
        return await this.#list(tour, slice);
      case "hosts":
        return await this.#visitNext(tour, slice);
      case "again":
        return await this.#visitAgain(tour, slice);
      case "pools":
        return await this.#lookAtPools(tour, slice);
      case "over":
        return false;
    }
  }

  async #count(tour: Tour, { calls }: Slice): Promise<boolean> {
    const { after, ...rest } = tour;
    const place = after === undefined ? {} : { after };
    const page = await calls.must(() =>
      this.#runtime.ports.cluster().listHosts({ ...place, limit: COUNT_PAGE }),
    );
    const phase = this.#runtime.cluster === undefined ? "hosts" : "nodes";
    return this.#commit(tour, () => {
      const counted = { ...rest, total: tour.total + page.hosts.length };
      return page.next === undefined ? { ...counted, phase } : { ...counted, after: page.next };
    });
  }

  async #list(tour: Tour, { calls }: Slice): Promise<boolean> {
    const askedAt = this.#runtime.now();
    const page = await this.#nodes.page(tour, calls);
    return this.#commit(tour, (current) => this.#nodes.keep(current, page, askedAt));
  }

  async #visitNext(tour: Tour, slice: Slice): Promise<boolean> {
    if (slice.page.length === 0 && !slice.isLastPage) await this.#turnPage(tour, slice);
    const { after: _over, ...rest } = tour;
    if (slice.page.length === 0) return this.#commit(tour, () => ({ ...rest, phase: "again" }));
    const lot = slice.page.splice(0, Math.min(LOT, HOSTS_PER_EVENT_MAX - slice.visits));
    const last = lot.at(-1)?.host ?? "";
    const visits = await this.#visits(tour, lot, slice);
    return this.#commit(tour, (current) => {
      return { ...this.#keep(current, visits), after: last, visited: current.visited + lot.length };
    });
  }

  async #turnPage({ after }: Tour, slice: Slice): Promise<void> {
    const place = after === undefined ? {} : { after };
    const limit = HOSTS_PER_EVENT_MAX - slice.visits;
    const page = await slice.calls.must(() => this.#runtime.ports.cluster().listHosts({ ...place, limit }));
    slice.page = [...page.hosts];
    slice.isLastPage = page.next === undefined;
  }

  /** Hosts that had more to do, round after round; the pools come when there are none. */
  async #visitAgain(tour: Tour, slice: Slice): Promise<boolean> {
    const { after = "", ...rest } = tour;
    const lot = this.#rows.unfinished(after, Math.min(LOT, HOSTS_PER_EVENT_MAX - slice.visits));
    const last = lot.at(-1)?.host;
    if (last === undefined) {
      // Those that are still not done are left to the next slice: each has its share.
      if (after !== "") return this.#commit(tour, () => rest) && this.#rows.unfinished("", 1).length === 0;
      return this.#commit(tour, () => ({ ...rest, phase: "pools" }));
    }
    const visits = await this.#visits(tour, lot, slice);
    return this.#commit(tour, (current) => ({ ...this.#keep(current, visits), after: last }));
  }

  /** The pools, some at a time; the sweep is over with the last. */
  async #lookAtPools(tour: Tour, { calls }: Slice): Promise<boolean> {
    const look = await this.#pools.look(tour.after, calls);
    return this.#commit(tour, (current) => {
      const told = this.#news.tell(current, this.#pools.keep(look, this.#runtime.now()));
      return look.next === undefined ? this.#over(told) : { ...told, after: look.next };
    });
  }

  #over(tour: Tour): Tour {
    const at = this.#runtime.now();
    const gone = this.#rows.unmet(tour.number).flatMap((host) => this.#news.ofGone(host, at));
    this.#rows.dropUnmet(tour.number);
    const { after: _after, list: _list, ...rest } = this.#news.end(this.#news.tell(tour, gone), at);
    return { ...rest, phase: "over", last: { at, ms: Math.max(0, at - tour.startedAt) } };
  }

  async #visits(
    tour: Tour,
    lot: readonly { readonly host: string; readonly kind: SweptHost["kind"] }[],
    slice: Slice,
  ): Promise<Visit[]> {
    slice.visits += lot.length;
    const visits = await slice.calls.each(lot, ({ host, kind }) => this.#visit(tour, host, kind, slice));
    slice.told += visits.reduce((sum, { answer }) => sum + (answer?.calls ?? 0), 0);
    return visits;
  }

  async #visit(
    { number, startedAt, isManual, phase }: Tour,
    host: string,
    kind: SweptHost["kind"],
    { calls }: Slice,
  ): Promise<Visit> {
    const node = this.#rows.find(host)?.node ?? UNSEEN;
    const facts = kind === "host" ? await this.#nodes.look(host, node, calls) : { node };
    const sighting = this.#nodes.sighting(facts);
    const sinceStart = Math.max(0, this.#runtime.now() - startedAt);
    const period = sweepPeriodMs(this.#state.times().graceMs);
    const ifOlderThanMs = phase === "again" ? 0 : isManual ? sinceStart : sinceStart + period / 2;
    const request = { host, sweep: number, ifOlderThanMs, ...(sighting === undefined ? {} : { sighting }) };
    const port: HostLeakPort = this.#runtime.ports.host(host);
    const answer = await calls.maybe(() => port.audit(request), VISIT_STEPS);
    return { host, kind, ...facts, ...(answer === undefined ? {} : { answer }) };
  }

  /** Stores what a lot of visits brought, and tells what of it is news. */
  #keep(tour: Tour, visits: readonly Visit[]): Tour {
    const now = this.#runtime.now();
    const events = visits.flatMap((visit) => this.#keepOne(tour.number, visit, now));
    const silent = visits.filter(({ answer }) => answer === undefined);
    const failed = visits.find(({ answer }) => answer?.figures.lastError !== undefined);
    const fault = this.#state.read("fault");
    const error = failed?.answer?.figures.lastError;
    const [first] = silent;
    if (first !== undefined) {
      this.#state.put("fault", { at: now, what: `host ${first.host} did not answer` });
    } else if (failed !== undefined && error !== undefined && error.at > (fault?.at ?? 0)) {
      this.#state.put("fault", { at: error.at, what: `host ${failed.host}: ${error.what}` });
    }
    return this.#news.tell({ ...tour, silent: tour.silent + silent.length }, events);
  }

  #keepOne(met: number, { host, kind, node, answer }: Visit, now: number): readonly EventDraft[] {
    const before = this.#rows.find(host);
    if (answer?.kind === "unknown") {
      this.#rows.drop(host);
      return before === undefined ? [] : this.#news.ofGone(before, now, answer.figures);
    }
    const again = before?.met === met ? before.again : 0;
    const figures = answer?.figures ?? before?.figures;
    const next: SweptHost = {
      ...{ host, kind, met, metAt: before?.metAt ?? now },
      again: answer?.kind === "more" && again < AGAIN_MAX ? again + 1 : 0,
      ...(figures === undefined ? {} : { figures }),
      node,
    };
    return this.#news.ofHost(this.#rows.put(next, now), now);
  }

  /** Stores a step, unless another instance has gone on meanwhile; then the slice ends. */
  #commit(tour: Tour, change: (current: Tour) => Tour): boolean {
    const now = this.#runtime.now();
    try {
      return this.#store.transaction(() => {
        const current = this.#state.running();
        if (current?.number !== tour.number || current.step !== tour.step) return false;
        this.#state.put("tour", { ...change(current), step: tour.step + 1, movedAt: now });
        return true;
      });
    } catch (failure) {
      this.#rows.forget();
      throw failure;
    }
  }
}
