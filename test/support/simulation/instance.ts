/**
 * One life of one object: memory, events in progress, messages that wait for the turn's commit.
 * May import: the simulation's own modules. Rule: what depends on a write leaves after its commit.
 */
import { createHash } from "node:crypto";
import type { EndSignal } from "../../../src/platform/call.ts";
import type { ObjectDatabase } from "./database.ts";
import type { Endpoint, Message, Outcome } from "./messages.ts";
import { copied } from "./plain-copy.ts";
import { acrossTheWire, type FaultName, platformFault } from "./platform-fault.ts";
import type { Job, Label, Scheduler } from "./scheduler.ts";
import { SimulatedStorage, type StorageGate } from "./storage.ts";

/** When an instance dies, seen from the commit of its turn. */
export type CrashPoint = "before-commit" | "after-commit" | "after-send";

/** What an instance needs of the world. */
export interface InstanceHost {
  readonly place: Endpoint;
  readonly database: ObjectDatabase;
  readonly scheduler: Scheduler;
  /** Makes the object: its constructor runs in the turn of the first event. */
  construct(instance: Instance, ctx: object): object;
  send(message: Message): void;
  openCall(settle: (outcome: Outcome) => void): number;
  failCall(message: Message, fault: FaultName): void;
  /** Asked at the end of each turn: does the instance die here? */
  crashAt(label: Label, isDirty: boolean): CrashPoint | undefined;
  committed(rows: number): void;
  /** Told when a turn has ended and the instance lives. */
  turnEnded(instance: Instance): void;
  died(instance: Instance): void;
  alarmDone(instance: Instance, failed: boolean): void;
}

type Callable = Record<string, ((...args: unknown[]) => unknown) | undefined>;

const NOT_CALLABLE = new Set(["constructor", "fetch", "alarm", "connect", "then"]);

export class Instance implements StorageGate {
  readonly generation: number;
  state: "live" | "superseded" | "dead" = "live";
  /** Set with `superseded`: the old instance may not touch the storage any more. */
  isFenced = false;
  readonly #host: InstanceHost;
  readonly #events = new Map<Message | "alarm", Message | "alarm">();
  readonly #jobs = new Set<Job>();
  #outbox: { message: Message; isGated: boolean }[] = [];
  #object: Callable | undefined;
  #gate: (() => void)[] | undefined;

  constructor(host: InstanceHost, generation: number) {
    this.#host = host;
    this.generation = generation;
  }

  /** Counts the events that have begun and not answered. */
  get unfinished(): number {
    return this.#events.size;
  }

  get unfinishedEvents(): string[] {
    return [...this.#events.values()].map((event) =>
      event === "alarm" ? "alarm" : `#${event.call} ${event.method} from ${event.from.objectName}`,
    );
  }

  /** Begins the event of a request. */
  request(message: Message): void {
    // A duplicate is an event of its own, so the key is a copy.
    const event = { ...message };
    this.#begin(
      event,
      (object) => callMethod(object, message),
      (outcome) => this.#answer(message, outcome),
    );
  }

  /** Begins the event of an alarm. */
  alarm(retryCount: number): void {
    const run = (object: Callable): unknown => object.alarm?.({ retryCount, isRetry: retryCount > 0 });
    this.#begin("alarm", run, (outcome) => this.#host.alarmDone(this, !outcome.ok));
  }

  /** Sends a call of this object's code to another object. */
  call(to: Endpoint, bound: number | undefined, method: string, args: readonly unknown[]): Promise<unknown> {
    const { place, scheduler } = this.#host;
    if (this.state === "dead") return new Promise(() => {});
    scheduler.enter(this, "a call", place.objectName);
    return new Promise((resolve, reject) => {
      const call = this.#host.openCall((outcome) =>
        this.#wake(() => (outcome.ok ? resolve(outcome.value) : reject(outcome.error))),
      );
      const sender = this.generation;
      const message = { call, kind: "request", from: place, to, method, args: copied(args), sender } as const;
      this.#post(bound === undefined ? message : { ...message, bound });
    });
  }

  /** Settles after virtual milliseconds, by this instance's clock; rejects when the signal says so. */
  sleep(ms: number, signal?: EndSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const job = this.#later(ms, "timer", `timer of ${this.#host.place.objectName}`, resolve);
      const stop = (): void => {
        this.#host.scheduler.cancel(job);
        this.#jobs.delete(job);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", stop, { once: true });
    });
  }

  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#later(0, "sync", `sync of ${this.#host.place.objectName}`, resolve);
    });
  }

  touch(what: string): void {
    const { place, scheduler } = this.#host;
    if (this.state === "dead" || this.isFenced) {
      this.kill("reset");
      throw platformFault("superseded");
    }
    scheduler.enter(this, what, place.objectName);
  }

  /** Ends a turn: commit, then what waited for it leaves; or the instance dies on the way. */
  endTurn(label: Label): void {
    const { database, scheduler } = this.#host;
    const outbox = this.#outbox;
    this.#outbox = [];
    const isAlive = this.state !== "dead";
    const isDirty = database.isDirty && !this.isFenced;
    const crash = isAlive ? this.#host.crashAt(label, isDirty) : undefined;
    const keeps = isAlive && crash !== "before-commit";
    if (isDirty && !keeps) database.rollback();
    if (keeps && !this.isFenced) this.#commit(isDirty);
    const sendsAll = isAlive && (crash === undefined || crash === "after-send");
    for (const { message, isGated } of outbox) {
      if (sendsAll || !isGated) this.#host.send(message);
      else if (message.kind === "answer") this.#host.failCall(message, "reset");
    }
    if (crash === undefined) {
      if (isAlive) this.#host.turnEnded(this);
      return;
    }
    scheduler.note(`crash ${crash} of ${this.#host.place.objectName}`);
    this.kill("reset");
  }

  /** Ends this life: memory and unsent messages are gone, callers learn of it (or never do). */
  kill(fault: FaultName | "silent"): void {
    if (this.state === "dead") return;
    this.state = "dead";
    for (const job of this.#jobs) this.#host.scheduler.cancel(job);
    this.#jobs.clear();
    const events = [...this.#events.values()];
    this.#events.clear();
    for (const event of events) {
      if (event !== "alarm" && fault !== "silent") this.#host.failCall(event, fault);
    }
    this.#host.died(this);
  }

  #begin(
    event: Message | "alarm",
    run: (object: Callable) => unknown,
    done: (outcome: Outcome) => void,
  ): void {
    this.#events.set(event, event);
    this.#host.scheduler.enter(this, "an event");
    const finish = (outcome: Outcome): void => {
      if (!this.#events.delete(event)) return;
      this.#host.scheduler.enter(this, "an answer");
      done(outcome);
    };
    const fail = (thrown: unknown): void => finish({ ok: false, error: acrossTheWire(thrown) });
    const start = (object: Callable): void => {
      if (this.state === "dead") return;
      attempt(() => run(object)).then((value) => finish({ ok: true, value }), fail);
    };
    try {
      const object = this.#constructed();
      if (this.#gate === undefined) start(object);
      else this.#gate.push(() => start(object));
    } catch (thrown) {
      fail(thrown);
    }
  }

  #constructed(): Callable {
    if (this.#object !== undefined) return this.#object;
    const { place } = this.#host;
    const ctx = {
      // Without a name: an object must not rely on knowing its own.
      id: { toString: () => idOf(place), equals: (other: unknown) => String(other) === idOf(place) },
      storage: new SimulatedStorage(this.#host.database, this),
      waitUntil: (promise: Promise<unknown>) => void promise.catch(() => {}),
      blockConcurrencyWhile: <T>(work: () => Promise<T>) => this.#alone(work),
      abort: () => {
        this.#host.database.rollback();
        this.kill("reset");
        throw platformFault("reset");
      },
    };
    this.#object = this.#host.construct(this, ctx) as Callable;
    return this.#object;
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    this.#gate ??= [];
    try {
      return await work();
    } catch (thrown) {
      this.kill("reset");
      throw thrown;
    } finally {
      const waiting = this.#gate ?? [];
      this.#gate = undefined;
      for (const start of waiting) start();
    }
  }

  #answer(request: Message, given: Outcome): void {
    const { call, from, to, method, args } = request;
    const outcome = given.ok ? copiedOutcome(given.value) : given;
    this.#post({ call, kind: "answer", from: to, to: from, method, args, outcome });
  }

  #post(message: Message): void {
    this.#outbox.push({ message, isGated: this.#host.database.isDirty });
  }

  #commit(isDirty: boolean): void {
    const rows = this.#host.database.commit();
    if (isDirty) this.#host.committed(rows);
  }

  #wake(go: () => void): void {
    if (this.state === "dead") return;
    this.#host.scheduler.enter(this, "an answer's arrival");
    go();
  }

  #later(ms: number, kind: "timer" | "sync", sort: string, go: () => void): Job {
    const job = this.#host.scheduler.after(Math.max(0, ms), kind, { sort }, () => {
      this.#jobs.delete(job);
      this.#wake(go);
    });
    this.#jobs.add(job);
    return job;
  }
}

function idOf({ className, objectName }: Endpoint): string {
  return createHash("sha256").update(`${className} ${objectName}`).digest("hex");
}

async function attempt(run: () => unknown): Promise<unknown> {
  return await run();
}

function callMethod(object: Callable, { method, args }: Message): unknown {
  const isHidden = NOT_CALLABLE.has(method) || method in Object.prototype || Object.hasOwn(object, method);
  const found = isHidden ? undefined : object[method];
  if (typeof found !== "function") {
    throw new TypeError(`The RPC receiver does not implement the method "${method}".`);
  }
  return found.apply(object, copied([...args]));
}

function copiedOutcome(value: unknown): Outcome {
  try {
    return { ok: true, value: copied(value) };
  } catch (thrown) {
    return { ok: false, error: acrossTheWire(thrown) };
  }
}
