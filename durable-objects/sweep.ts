/**
 * Sweep: serialises what goes through the whole deployment: checks, and the leak collector's sweeps and brakes.
 * May import: core, rpc, platform, its storage. Rule: it owns no truth but how far it has come, and what an
 * operator or a breaker has stopped.
 */
import { DurableObject } from "cloudflare:workers";
import { ok } from "../src/core/result.ts";
import type { SweepPort } from "../src/rpc/sweep.ts";
import { CheckCalls } from "./check-calls.ts";
import { CheckRun } from "./check-run.ts";
import { productionRuntime } from "./production.ts";
import type { Runtime } from "./runtime.ts";
import { type Counters, Store } from "./storage/store.ts";
import { SWEEP_MIGRATIONS, SweepRows } from "./storage/sweep-rows.ts";
import { SweepBrakes } from "./sweep-brakes.ts";
import { SweepState, type Tick } from "./sweep-state.ts";
import { SweepTour } from "./sweep-tour.ts";
import { type Turn, Turns } from "./sweep-turns.ts";
import { SweepUpkeep } from "./sweep-upkeep.ts";
import { SweepView } from "./sweep-view.ts";

/** How long the alarm waits before it tries again what failed, ms. */
const ALARM_RETRY_MS = 5_000;
/** Events that Cluster takes before they are struck off. */
const NEWS_LOT = 16;
/** An alarm that is so late was lost, ms. */
const ALARM_LOST_MS = 60_000;

type Request<M extends keyof SweepPort> = Parameters<SweepPort[M]>[0];
type Answer<M extends keyof SweepPort> = ReturnType<SweepPort[M]>;

export class SweepObject extends DurableObject<Env> implements SweepPort {
  readonly #runtime: Runtime;
  readonly #store: Store;
  readonly #check: CheckRun;
  readonly #upkeep: SweepUpkeep;
  readonly #state: SweepState;
  readonly #tour: SweepTour;
  readonly #brakes: SweepBrakes;
  readonly #view: SweepView;
  readonly #turns: Turns;
  #alarmAt: number | undefined;
  /** The stored alarm is known to be there, or not to be needed. */
  #isSure = false;

  constructor(ctx: DurableObjectState, env: Env, runtime: Runtime = productionRuntime(env)) {
    super(ctx, env);
    this.#runtime = runtime;
    this.#store = new Store(ctx.storage, SWEEP_MIGRATIONS);
    const rows = new SweepRows(this.#store);
    const state = new SweepState(rows);
    this.#state = state;
    this.#check = new CheckRun(runtime, this.#store, (at) => this.#arm(at));
    this.#upkeep = new SweepUpkeep(runtime, this.#store, (at) => this.#arm(at), {
      since: () => state.read("known")?.since,
      isChecking: () => this.#check.isRunning,
    });
    this.#tour = new SweepTour(runtime, this.#store, rows, state);
    this.#brakes = new SweepBrakes(runtime, this.#store, rows, state);
    this.#view = new SweepView(runtime, rows, state);
    this.#turns = new Turns(this.#ofAlarm());
  }

  async tick({ source = "manual" }: Request<"tick">): Answer<"tick"> {
    this.#begin("tick");
    await this.#ticked(source);
    return { kind: this.#hasWork() ? "working" : "nothing_to_do" };
  }

  async startCheck(request: Request<"startCheck">): Answer<"startCheck"> {
    this.#begin("startCheck");
    return this.#check.start(request);
  }

  async getCheck(request: Request<"getCheck">): Answer<"getCheck"> {
    this.#begin("getCheck");
    return this.#upkeep.isNamed(request.id) ? this.#upkeep.read(request) : this.#check.read(request);
  }

  async weigh(request: Request<"weigh">): Answer<"weigh"> {
    this.#begin("weigh");
    const answer = this.#brakes.weigh(request);
    this.#armForNews();
    return answer;
  }

  async getGc(_request: Request<"getGc">): Answer<"getGc"> {
    this.#begin("getGc");
    return this.#view.gc(this.#runtime.now());
  }

  async changeGc(request: Request<"changeGc">): Answer<"changeGc"> {
    this.#begin("changeGc");
    this.#brakes.change(request);
    this.#armForNews();
    return this.#view.gc(this.#runtime.now());
  }

  async acknowledge(request: Request<"acknowledge">): Answer<"acknowledge"> {
    this.#begin("acknowledge");
    const closed = this.#brakes.acknowledge(request);
    this.#armForNews();
    return closed.ok ? ok(this.#view.gc(this.#runtime.now())) : closed;
  }

  async startSweep(_request: Request<"startSweep">): Answer<"startSweep"> {
    this.#begin("startSweep");
    const now = this.#runtime.now();
    const { number } = this.#store.transaction(() => this.#tour.begin(true, now));
    this.#arm(now);
    return { sweep: number };
  }

  async hostFigures({ after = "", limit }: Request<"hostFigures">): Answer<"hostFigures"> {
    this.#begin("hostFigures");
    return this.#view.hosts(after, limit);
  }

  /** One slice of what is due; whatever fails, the alarm lives on. */
  override async alarm(): Promise<void> {
    this.#store.countCall("alarm");
    // An alarm may come a little early by this clock: what it was set for is due.
    const now = Math.max(this.#runtime.now(), this.#alarmAt ?? 0);
    this.#alarmAt = undefined;
    const next = await this.#turns.take(now, ALARM_RETRY_MS);
    const at = Math.min(next ?? Number.POSITIVE_INFINITY, this.#alarmAt ?? Number.POSITIVE_INFINITY);
    if (at === Number.POSITIVE_INFINITY) return;
    this.#alarmAt = at;
    // If it cannot be set, the platform repeats this alarm.
    await this.ctx.storage.setAlarm(at);
  }

  async counters(): Promise<Counters> {
    return this.#store.counters;
  }

  /** What the alarm does. Shape: one slice per event, each at its turn, since an event has so many calls. */
  #ofAlarm(): readonly Turn[] {
    const now = (): number => this.#runtime.now();
    return [
      {
        isWanted: () => this.#standsIn(),
        dueAt: () => (this.#state.read("tick")?.lastAt ?? 0) + this.#runtime.settings.tickMs,
        slice: async () => await this.#ticked("alarm"),
      },
      { isWanted: () => this.#state.news().length > 0, slice: async () => await this.#sendNews() },
      {
        isWanted: () => this.#state.running() !== undefined,
        slice: async () => await this.#tour.slice(),
      },
      { isWanted: () => this.#check.isRunning, slice: async () => await this.#check.slice() },
      { isWanted: () => this.#upkeep.isDue(now()), slice: async () => await this.#upkeep.slice(now()) },
    ].map((turn) => ({ now, ...turn }));
  }

  /** The alarm stands in for cron from the first time that a trigger called. */
  #standsIn(): boolean {
    return this.#runtime.settings.tickMs > 0 && this.#state.read("tick") !== undefined;
  }

  /** Notes that a trigger called, and begins a sweep that is due. */
  async #ticked(source: Tick["source"]): Promise<undefined> {
    await this.#tour.refreshTimes();
    const now = this.#runtime.now();
    this.#store.transaction(() => {
      this.#state.know(now);
      this.#tellStandstill(now);
      this.#state.put("tick", { lastAt: now, source });
      if (this.#tour.isDue(now)) this.#tour.begin(false, now);
    });
    if (this.#hasWork()) this.#arm(now);
    else if (this.#standsIn()) this.#arm(now + this.#runtime.settings.tickMs);
    return undefined;
  }

  /** A standstill is told once, by the call that finds it. */
  #tellStandstill(now: number): void {
    const known = this.#state.read("known");
    const isStuck = this.#view.isStuck(now);
    if (known === undefined || known.isToldStuck === isStuck) return;
    this.#state.put("known", { ...known, isToldStuck: isStuck });
    if (!isStuck) return;
    const event = { at: now, type: "gc_stuck", severity: "warning" } as const;
    this.#state.tell(`sweep ${this.#runtime.unique()}`, event);
  }

  async #sendNews(): Promise<undefined> {
    const calls = new CheckCalls(this.#runtime);
    const all = this.#state.news();
    for (let begin = 0; begin < all.length; begin += NEWS_LOT) {
      const lot = all.slice(begin, begin + NEWS_LOT);
      for (const news of lot) await calls.must(() => this.#runtime.ports.cluster().noted(news));
      const sent = new Set(lot.map(({ message }) => message));
      this.#store.transaction(() => {
        const waiting = this.#state.news().filter(({ message }) => !sent.has(message));
        this.#state.put("news", { waiting });
      });
    }
    return undefined;
  }

  #hasWork(): boolean {
    const isChecking = this.#check.isRunning || this.#upkeep.isDue(this.#runtime.now());
    return isChecking || this.#state.running() !== undefined || this.#state.news().length > 0;
  }

  #armForNews(): void {
    if (this.#state.news().length > 0) this.#arm(this.#runtime.now());
  }

  /** At the first event of an instance, or after a failure: an alarm that was lost for good is set again. */
  #begin(method: keyof SweepPort): void {
    this.#store.countCall(method);
    if (this.#alarmAt !== undefined && this.#runtime.now() - this.#alarmAt > ALARM_LOST_MS) this.#unsure();
    if (this.#isSure) return;
    this.#isSure = true;
    if (!this.#hasWork() && !this.#standsIn()) return;
    const set = this.ctx.storage.getAlarm().then((at) => {
      return at === null && this.#alarmAt === undefined ? this.#arm(this.#runtime.now()) : undefined;
    });
    set.catch(() => this.#unsure());
  }

  /** One alarm for all that is due: the earliest. */
  #arm(at: number): void {
    if (this.#alarmAt !== undefined && this.#alarmAt <= at) return;
    this.#alarmAt = at;
    this.ctx.storage.setAlarm(at).catch(() => this.#unsure());
  }

  #unsure(): void {
    this.#alarmAt = undefined;
    this.#isSure = false;
  }
}
