/**
 * A deployment in one process: the real object classes on a simulated platform.
 * May import: the simulation's own modules. Equal seeds and scripts give equal runs.
 *
 *   const world = new World({ classes: { BlockObject, HostObject }, runtime: (place) => ... });
 *   const claims = world.hold({ method: "claim", kind: "request" });   // late messages
 *   const first = world.call("host:v1:node-1", "allocate", request);   // begins; nothing moves yet
 *   await world.run();                      // all events end, timers of calls fire
 *   first.state;                            // "pending" | "done" | "failed"
 *   claims.release(); await world.run();    // the late claim arrives
 *   world.crash("block:v1:default:10.0.0.0-26", "after-commit", "allocate");
 *   await world.ask("host:v1:node-1", "allocate", request);            // call, run, value or throw
 *   world.rows("block:v1:default:10.0.0.0-26", "SELECT count(*) AS n FROM ordinal");
 */
import { setImmediate } from "node:timers/promises";
import type { EndSignal } from "../../../src/platform/call.ts";
import { Chance } from "./chance.ts";
import { type Call, startCall, stubOf } from "./client.ts";
import { Counters } from "./counters.ts";
import type { SqlValue } from "./database.ts";
import type { CrashPoint } from "./instance.ts";
import type { Endpoint, Match, Message } from "./messages.ts";
import { type Hold, type Loss, Network, type NetworkFaults } from "./network.ts";
import { type Making, Objects } from "./objects.ts";
import type { FaultName } from "./platform-fault.ts";
import { Random } from "./random.ts";
import type { InstanceFaults } from "./record.ts";
import { type Job, type RunLimits, Scheduler, SimulationError } from "./scheduler.ts";
import { effectOf } from "./sql-text.ts";

export type { ObjectClass, Place } from "./objects.ts";

export interface WorldOptions extends Making {
  seed?: number;
  /** Names of the only faults of chance that may happen, e.g. those that an earlier run says happened. */
  onlyFaults?: ReadonlySet<string>;
  /** Without the trace a run is faster; its report and its digest say nothing then. */
  isTraced?: boolean;
  /** Virtual time at the start, milliseconds since 1970. */
  start?: number;
  faults?: Faults;
}

/** All that can go wrong by chance. */
export type Faults = NetworkFaults & InstanceFaults;

const START = Date.UTC(2026, 0, 1);

export class World {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly chance: Chance;
  readonly counters = new Counters();
  readonly network: Network;
  readonly #objects: Objects;
  readonly #outsideTimers = new Set<Job>();

  constructor(options: WorldOptions) {
    const { faults = {}, seed = 1, start = START, isTraced = true, onlyFaults } = options;
    this.scheduler = new Scheduler(start, isTraced);
    this.random = new Random(seed);
    this.chance = new Chance(seed, onlyFaults);
    const delivery = {
      request: (message: Message) => this.#objects.record(message.to.objectName).receive(message),
      isRetryable: (to: Endpoint, method: string) => this.#objects.isRetryable(to, method),
    };
    this.network = new Network(this.scheduler, this.chance, this.counters, delivery, faults);
    const { scheduler, random, chance, counters, network } = this;
    const shared = { scheduler, random, chance, counters, network, instanceFaults: faults };
    this.#objects = new Objects(shared, options);
  }

  /** The present virtual time, milliseconds since 1970. */
  get now(): number {
    return Math.floor(this.scheduler.now);
  }

  /** Replaces all faults of chance; `{}` ends them. */
  set faults(faults: Faults) {
    this.network.faults = faults;
    this.#objects.faults = faults;
  }

  /** Begins a call as a client; nothing moves before the next run, step or advance. */
  call<T = unknown>(objectName: string, method: string, ...args: unknown[]): Call<T> {
    return this.#clientCall(objectName, method, args) as Call<T>;
  }

  /** Calls an object as a client, runs, and returns the value; throws what the call failed with. */
  async ask<T = unknown>(objectName: string, method: string, ...args: unknown[]): Promise<T> {
    return await this.answerOf(this.call<T>(objectName, method, ...args));
  }

  /** Runs, then returns the value of a call. Rejects: a call that failed, or has no answer. */
  async answerOf<T>(call: Call<T>): Promise<T> {
    return await this.during(call.promise);
  }

  /**
   * Runs, then returns what the promise of a client's code gave.
   * Rejects: as the promise does; a promise that is open when nothing is left to do.
   */
  async during<T>(promise: Promise<T>): Promise<T> {
    const open = Symbol("open");
    promise.catch(() => {});
    // Code outside the objects may go on between two runs, e.g. with its next call.
    for (let runs = 0; runs < 100; runs++) {
      await this.run();
      const settled = await Promise.race([promise, setImmediate(open)]);
      if (settled !== open) return settled as T;
      if (!this.#hasWork()) break;
    }
    throw new SimulationError(`no answer:\n${this.report()}`);
  }

  /** Waits as code outside the objects does; a run goes on for it. */
  sleep(ms: number, signal?: EndSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const job = this.scheduler.after(ms, "timer", { sort: "timer of the client" }, () => {
        this.#outsideTimers.delete(job);
        resolve();
      });
      this.#outsideTimers.add(job);
      const stop = (): void => {
        this.scheduler.cancel(job);
        this.#outsideTimers.delete(job);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", stop, { once: true });
    });
  }

  /** Another way to call: an object as a typed stub; each call is a client's. */
  stub<T extends object>(objectName: string): T {
    const send = (method: string, args: unknown[]) => this.#clientCall(objectName, method, args).promise;
    return stubOf<T>(send);
  }

  /** Runs until no message is under way and no event waits for a timer. */
  async run(limits: RunLimits = {}): Promise<void> {
    await this.#runWhile(() => this.#hasWork(), limits);
  }

  /** Delivers what is under way; does not move time on for timers alone. */
  async deliver(limits: RunLimits = {}): Promise<void> {
    await this.#runWhile(() => this.#isMoving(), limits);
  }

  /** Moves time on, with everything that is due on the way, alarms too. */
  async advance(ms: number): Promise<void> {
    const target = this.scheduler.now + ms;
    await this.#runWhile(() => true, { withinMs: ms });
    this.scheduler.now = Math.max(this.scheduler.now, target);
  }

  /** Runs one job; false when there is none. */
  async step(): Promise<boolean> {
    return await this.scheduler.step();
  }

  hold(match: Match): Hold {
    return this.network.hold(match);
  }

  /** Loses the next matching message; `error` lets the caller know of a lost connection. */
  drop(match: Match, { times = 1, loss = "silent" as Loss } = {}): void {
    this.network.drop(match, times, loss);
  }

  delay(match: Match, ms: number, times = 1): void {
    this.network.delay(match, ms, times);
  }

  /** Delivers the next matching message twice, whatever its method: a caller's own repeat. */
  duplicate(match: Match, afterMs: number, times = 1): void {
    this.network.duplicate(match, afterMs, times);
  }

  /** Fails the next matching request with a fault of the platform, undelivered. */
  refuse(match: Match, fault: FaultName, times = 1): void {
    this.network.refuse(match, fault, times);
  }

  /**
   * Plans a crash at the object's next turn that writes (`after-send`: at its next turn).
   * Shape: `during` limits it to a turn whose trace line contains that text, e.g. a method.
   */
  crash(objectName: string, point: CrashPoint, during?: string): void {
    this.#objects.record(objectName).planCrash(during === undefined ? { point } : { point, during });
  }

  /** Loses the object's memory now. Events in progress are cut off; their callers see a reset. */
  evict(objectName: string, callersSee: FaultName | "silent" = "reset"): void {
    this.scheduler.note(`evict ${objectName}`);
    this.#objects.record(objectName).evict(callersSee);
  }

  /** Evicts every object: the process was killed and started again. */
  restart(): void {
    for (const record of this.#objects.all) record.evict("connection_lost");
  }

  /**
   * Puts a new instance in the place of the current one, which goes on with its events and takes
   * the messages sent to it before. `fenced`: it dies at its next touch of the storage; `shared`:
   * both write to one database, as two processes on one folder do.
   */
  supersede(objectName: string, storage: "fenced" | "shared" = "fenced"): OldInstance {
    this.scheduler.note(`supersede ${objectName}`);
    const old = this.#objects.record(objectName).supersede(storage);
    return {
      get isAlive() {
        return old.state !== "dead";
      },
      call: <T>(method: string, ...args: unknown[]) =>
        this.#clientCall(objectName, method, args, old.generation) as Call<T>,
    };
  }

  /** Ends the world; the databases of its objects may serve another. */
  dispose(): void {
    for (const record of this.#objects.all) {
      record.evict("silent");
      record.database.dispose();
    }
  }

  /** The instance of an object that is the current one, if one lives. */
  instanceOf(objectName: string): number | undefined {
    return this.#objects.record(objectName).bound;
  }

  /** The time by an object's clock, milliseconds since 1970. */
  clockOf(objectName: string): number {
    return this.#objects.record(objectName).now();
  }

  setClock(objectName: string, offsetMs: number): void {
    this.#objects.record(objectName).clockOffset = offsetMs;
  }

  /** Makes every write of an object fail as on a full disk, or ends that. */
  setFull(objectName: string, isFull: boolean): void {
    this.#objects.record(objectName).database.full = isFull;
  }

  /** Reads an object's committed rows from outside; creates no instance. */
  rows(objectName: string, query: string, ...bindings: unknown[]): Record<string, SqlValue>[] {
    if (effectOf(query).kind !== "read") throw new SimulationError("rows() only reads");
    const { columns, rows } = this.#objects.record(objectName).database.exec(query, bindings);
    return rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i] ?? null])));
  }

  /** A number that moves on when the object's committed rows may have changed. */
  versionOf(objectName: string): number {
    return this.#objects.record(objectName).database.version;
  }

  /** Changes an object's committed rows behind its back, as a fault or a restored disk does; its memory is lost. */
  damage(objectName: string, query: string, ...bindings: unknown[]): void {
    this.scheduler.note(`damage ${objectName}: ${query}`);
    const record = this.#objects.record(objectName);
    record.evict("silent");
    record.database.exec(query, bindings);
    record.database.commit();
  }

  /** Drops an object's alarm, as the platform does with one that failed too often; its memory is lost. */
  loseAlarm(objectName: string): void {
    this.scheduler.note(`lose the alarm of ${objectName}`);
    this.#objects.record(objectName).loseAlarm();
  }

  alarmOf(objectName: string): number | null {
    return this.#objects.record(objectName).database.alarm;
  }

  isLive(objectName: string): boolean {
    return this.#objects.record(objectName).current !== undefined;
  }

  /** Names of all objects that were ever addressed. */
  get objectNames(): string[] {
    return [...this.#objects.all].map((record) => record.place.objectName);
  }

  /** What is unfinished, and the last lines of the trace. */
  report(lines = 30): string {
    const open = [...this.#objects.all].flatMap((record) =>
      record.unfinishedEvents.map((event) => `  ${record.place.objectName}: ${event}`),
    );
    return ["unfinished:", ...open, "trace:", ...this.scheduler.trace.slice(-lines)].join("\n");
  }

  #isMoving(): boolean {
    return this.scheduler.waiting("message") + this.scheduler.waiting("sync") > 0;
  }

  #hasWork(): boolean {
    if (this.#isMoving()) return true;
    if (this.#outsideTimers.size > 0) return true;
    if (this.scheduler.waiting("timer") === 0) return false;
    return this.#objects.hasUnfinished;
  }

  async #runWhile(goesOn: () => boolean, limits: RunLimits): Promise<void> {
    await this.scheduler.runWhile(goesOn, limits, () => this.report());
  }

  #clientCall(objectName: string, method: string, args: unknown[], generation?: number): Call {
    const { place, bound } = this.#objects.record(objectName);
    return startCall(this.network, () => this.now, place, generation ?? bound, method, args);
  }
}

/** An instance that was superseded. */
export interface OldInstance {
  readonly isAlive: boolean;
  /** Calls the old instance, as a client whose connection still leads there. */
  call<T = unknown>(method: string, ...args: unknown[]): Call<T>;
}
