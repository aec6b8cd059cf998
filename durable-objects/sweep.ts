/**
 * Sweep: serialises what goes through the whole deployment: checks now, the leak collector's progress later.
 * May import: core, rpc, platform, its storage. Rule: it owns no truth but how far it has come.
 */
import { DurableObject } from "cloudflare:workers";
import type { SweepPort } from "../src/rpc/sweep.ts";
import { CheckRun } from "./check-run.ts";
import { productionRuntime } from "./production.ts";
import type { Runtime } from "./runtime.ts";
import { SWEEP_MIGRATIONS } from "./storage/check-rows.ts";
import { type Counters, Store } from "./storage/store.ts";

/** How soon the alarm looks again when it does not know what is due, ms. */
const ALARM_RETRY_MS = 5_000;

type Request<M extends keyof SweepPort> = Parameters<SweepPort[M]>[0];
type Answer<M extends keyof SweepPort> = ReturnType<SweepPort[M]>;

export class SweepObject extends DurableObject<Env> implements SweepPort {
  readonly #runtime: Runtime;
  readonly #store: Store;
  readonly #check: CheckRun;
  #alarmAt: number | undefined;
  /** The stored alarm is known to be there, or not to be needed. */
  #isSure = false;

  constructor(ctx: DurableObjectState, env: Env, runtime: Runtime = productionRuntime(env)) {
    super(ctx, env);
    this.#runtime = runtime;
    this.#store = new Store(ctx.storage, SWEEP_MIGRATIONS);
    this.#check = new CheckRun(runtime, this.#store, (at) => this.#arm(at));
  }

  /** A trigger from outside; the collector's audits will begin here. */
  async tick(_request: Request<"tick">): Answer<"tick"> {
    this.#begin("tick");
    return { kind: this.#check.isRunning ? "working" : "nothing_to_do" };
  }

  async startCheck(request: Request<"startCheck">): Answer<"startCheck"> {
    this.#begin("startCheck");
    return this.#check.start(request);
  }

  async getCheck(request: Request<"getCheck">): Answer<"getCheck"> {
    this.#begin("getCheck");
    return this.#check.read(request);
  }

  /** One slice of what runs; whatever fails, the alarm lives on. */
  override async alarm(): Promise<void> {
    this.#store.countCall("alarm");
    this.#alarmAt = undefined;
    let pauseMs: number | undefined = ALARM_RETRY_MS;
    try {
      pauseMs = await this.#check.slice();
    } catch {
      // What failed is tried again: nothing of a check is lost but time.
    }
    // If it cannot be set, the platform repeats this alarm.
    if (pauseMs !== undefined) await this.ctx.storage.setAlarm(this.#runtime.now() + pauseMs);
  }

  async counters(): Promise<Counters> {
    return this.#store.counters;
  }

  /** At the first event of an instance, or after a failure: an alarm that was lost for good is set again. */
  #begin(method: keyof SweepPort): void {
    this.#store.countCall(method);
    if (this.#isSure) return;
    this.#isSure = true;
    if (!this.#check.isRunning) return;
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
