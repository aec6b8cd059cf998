/**
 * Tiny object classes that show the platform's rules one at a time.
 * May import: the stand-in modules and types. Used by the simulator's own tests only.
 */
import type { Runtime } from "../../../durable-objects/runtime.ts";
import type { Policy } from "../../../src/core/policy.ts";
import type { LeaseAnswer } from "../../../src/rpc/cluster.ts";
import { retryable } from "./cloudflare-durable-objects.ts";
import { DurableObject } from "./cloudflare-workers.ts";
import type { Place } from "./objects.ts";
import type { SimulatedStorage } from "./storage.ts";

interface State {
  readonly storage: SimulatedStorage;
  blockConcurrencyWhile<T>(work: () => Promise<T>): Promise<T>;
  abort(reason: string): void;
}

/** Settled by a test, outside any turn: stands for a real timer, digest or file. */
export const somethingReal = Promise.withResolvers<void>();

/** A counter in one row, and a number in memory that an eviction loses. */
export class CounterObject extends DurableObject {
  static {
    retryable(CounterObject.prototype.addAgain);
  }

  #calls = 0;
  readonly #ctx: State;
  readonly #storage: SimulatedStorage;
  readonly #place: Place;

  constructor(ctx: State, env: unknown, place: Place) {
    super(ctx, env);
    this.#ctx = ctx;
    this.#storage = ctx.storage;
    this.#place = place;
  }

  async add(n: number): Promise<number> {
    this.#calls++;
    return this.#storage.transactionSync(() => this.#add(n));
  }

  async addAgain(n: number): Promise<number> {
    return await this.add(n);
  }

  async value(): Promise<number> {
    return this.#read();
  }

  /** Answers from memory alone. */
  async remembered(): Promise<number> {
    return this.#calls;
  }

  async now(): Promise<number> {
    return this.#place.now();
  }

  /** Writes, waits for the commit, writes again. */
  async addTwice(n: number): Promise<number> {
    this.#add(n);
    await this.#storage.sync();
    return this.#add(n);
  }

  async addThenFail(n: number): Promise<void> {
    try {
      this.#storage.transactionSync(() => {
        this.#add(n);
        throw new RangeError("inner");
      });
    } finally {
      this.#storage.sql.exec("CREATE TABLE IF NOT EXISTS seen (n INTEGER PRIMARY KEY) STRICT");
    }
  }

  /** Writes, and ends its own instance before the write is durable. */
  async addAndAbort(n: number): Promise<void> {
    this.#add(n);
    this.#ctx.abort("on purpose");
  }

  async clear(): Promise<void> {
    await this.#storage.deleteAll();
  }

  async remind(at: number): Promise<void> {
    await this.#storage.setAlarm(at);
  }

  async alarm(): Promise<void> {
    this.#calls++;
    await this.#place.sleep(10);
    this.#add(100);
  }

  /** Waits for something that the simulation does not own. */
  async real(): Promise<number> {
    await somethingReal.promise;
    return this.#read();
  }

  #add(n: number): number {
    const { sql } = this.#storage;
    sql.exec("CREATE TABLE IF NOT EXISTS tally (id INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT");
    sql.exec("INSERT INTO tally VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET n = n + ?1", n);
    return this.#read();
  }

  #read(): number {
    const { sql } = this.#storage;
    const known = sql.exec("SELECT name FROM sqlite_master WHERE name = 'tally'").toArray();
    return known.length === 0 ? 0 : Number(sql.exec("SELECT n FROM tally").one().n);
  }
}

/** Calls counters, as a Host calls its blocks. */
export class CallerObject extends DurableObject {
  readonly #storage: SimulatedStorage;
  readonly #place: Place;
  readonly #log: string[] = [];

  constructor(ctx: State, env: unknown, place: Place) {
    super(ctx, env);
    this.#storage = ctx.storage;
    this.#place = place;
  }

  async relay(counter: string, n: number): Promise<number> {
    this.#log.push(`begin ${n}`);
    const value = await this.#counter(counter).add(n);
    this.#log.push(`end ${n}`);
    return value;
  }

  /** Calls one counter, and then another. */
  async chain(first: string, second: string): Promise<void> {
    await this.#counter(first).add(1);
    await this.#counter(second).add(1);
  }

  /** Gives up on a slow counter, as a call with a timeout does. */
  async relayFor(counter: string, n: number, ms: number): Promise<string> {
    const late = this.#place.sleep(ms).then(() => "late");
    return await Promise.race([this.#counter(counter).add(n).then(String), late]);
  }

  /** Calls over one stub twice, then over a new one. */
  async tryTwice(counter: string): Promise<unknown[]> {
    const stub = this.#counter(counter);
    const outcomes: unknown[] = [];
    for (const used of [stub, stub, this.#counter(counter)]) {
      const refused = (thrown: { overloaded?: boolean }): string =>
        thrown.overloaded ? "overloaded" : "other";
      outcomes.push(await used.add(1).catch(refused));
    }
    return outcomes;
  }

  async log(): Promise<string[]> {
    return this.#log;
  }

  /** A call before a write leaves whatever becomes of the write. */
  async callThenWrite(counter: string): Promise<number> {
    const call = this.#counter(counter).add(1);
    this.#write();
    return await call;
  }

  /** A call after a write leaves only once the write is durable. */
  async writeThenCall(counter: string): Promise<number> {
    this.#write();
    return await this.#counter(counter).add(1);
  }

  async written(): Promise<number> {
    return this.#storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'mark'").toArray().length;
  }

  #write(): void {
    this.#storage.sql.exec("CREATE TABLE IF NOT EXISTS mark (id INTEGER PRIMARY KEY) STRICT");
  }

  #counter(objectName: string): Pick<CounterObject, "add"> {
    return this.#place.stub<Pick<CounterObject, "add">>(objectName);
  }
}

/** Reads its beginning behind blockConcurrencyWhile. */
export class SlowStartObject extends DurableObject {
  #start = 0;

  constructor(ctx: State, env: unknown, place: Place) {
    super(ctx, env);
    void ctx.blockConcurrencyWhile(async () => {
      await place.sleep(50);
      this.#start = 7;
    });
  }

  async start(): Promise<number> {
    return this.#start;
  }
}

/** Stands for every class of the product: says what it is called with, and takes the lease. */
export class EchoObject extends DurableObject {
  readonly #runtime: Runtime;

  constructor(ctx: unknown, env: unknown, runtime: Runtime) {
    super(ctx, env);
    this.#runtime = runtime;
  }

  async describe(request: unknown): Promise<unknown> {
    return request;
  }

  /** As a Host: the version of the policy under lease. */
  async leased(): Promise<number | undefined> {
    const lease = await this.#runtime.policy.current(this.#runtime.now());
    return lease?.policy.version;
  }

  /** As Cluster. */
  async lease({ knownVersion }: { knownVersion?: number }): Promise<LeaseAnswer> {
    const granted = {
      version: POLICY.version,
      leaseUntil: this.#runtime.now() + this.#runtime.settings.leaseMs,
    };
    return knownVersion === POLICY.version ? granted : { ...granted, policy: POLICY };
  }
}

const POLICY: Policy = {
  version: 4,
  config: {
    revision: 1,
    updatedAt: 0,
    strictAffinity: false,
    autoAllocateBlocks: true,
    maxBlocksPerHost: 0,
    kubeVirtVMAddressPersistence: "Disabled",
    ipCooldownSeconds: 0,
    maintenance: false,
  },
  pools: [],
  reservations: [],
};
