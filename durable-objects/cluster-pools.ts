/**
 * How pools end in Cluster: orders to their Pools, the removal of what has drained, and splits.
 * May import: core, rpc, platform, its storage. Rule: what a Pool must hear is stored before it is sent.
 */
import type { Stamp } from "../src/core/definition.ts";
import { type Rejection, rejection } from "../src/core/errors.ts";
import { IN_PROGRESS_RETRY_AFTER_SECONDS } from "../src/core/limits.ts";
import type { PoolDefinition } from "../src/core/policy.ts";
import { splitPool } from "../src/core/pool-life.ts";
import { err, ok, type Result } from "../src/core/result.ts";
import { type CallOutcome, callIdempotent, type EndSignal } from "../src/platform/call.ts";
import type { ClusterPort } from "../src/rpc/cluster.ts";
import type { PoolMode, PoolOrderAnswer } from "../src/rpc/pool.ts";
import type { Runtime } from "./runtime.ts";
import type { ClusterNumbers, PolicyRows } from "./storage/cluster-policy.ts";
import { type PoolOrder, PoolOrderRows } from "./storage/cluster-pools.ts";
import type { Store } from "./storage/store.ts";

type SplitRequest = Parameters<ClusterPort["splitPool"]>[0];
type SplitRefusal = Rejection<
  "pool_not_found" | "invalid_request" | "pool_draining" | "block_not_empty" | "in_progress"
>;

/** How soon an order is sent again that no Pool has acknowledged, ms. */
const REPEAT_MS = 5_000;
/** How often a Pool that drains is told so again, ms. */
const WATCH_MS = 600_000;
/** Orders sent in one event. */
const ORDERS_PER_EVENT = 256;
/** How long the order to open a pool again is held while it is split, ms. */
const HOLD_MS = 30_000;
/** How long a split is remembered by its key, ms. */
const SPLIT_KEY_MS = 3_600_000;

export class ClusterPools {
  readonly #runtime: Runtime;
  readonly #store: Store;
  readonly #policy: PolicyRows;
  readonly #orders: PoolOrderRows;
  readonly #setAlarm: (at: number) => void;

  constructor(runtime: Runtime, store: Store, policy: PolicyRows, setAlarm: (at: number) => void) {
    this.#runtime = runtime;
    this.#store = store;
    this.#policy = policy;
    this.#orders = new PoolOrderRows(store);
    this.#setAlarm = setAlarm;
  }

  /** No lease from before the last removal of a pool lives longer. */
  get removalHorizon(): number {
    return this.#orders.removalHorizon;
  }

  /** Stores an order in the transaction that decides it; the alarm sends it if this instance does not. */
  order(definition: PoolDefinition, mode: PoolMode): PoolOrder {
    this.#setAlarm(this.#runtime.now() + REPEAT_MS);
    return this.#orders.put(definition, mode);
  }

  /**
   * Sends an order; one that is acknowledged is over, but a drain is repeated until the pool is gone.
   * Why: the alarm that a Pool drains by may be lost for good, as on a full disk.
   */
  async send(order: PoolOrder): Promise<CallOutcome<PoolOrderAnswer>> {
    const told = await this.#call(order);
    if (told.kind !== "answered") return told;
    const repeatAt = order.mode === "draining" ? this.#runtime.now() + WATCH_MS : undefined;
    this.#store.transaction(() => this.#orders.acknowledged(order, repeatAt));
    if (repeatAt !== undefined) this.#setAlarm(repeatAt);
    return told;
  }

  /** Sends what is due, and arms the alarm for what is left. */
  async sendPending(): Promise<void> {
    const now = this.#runtime.now();
    const due = this.#store.transaction(() => {
      const ripe = this.#orders.pending(ORDERS_PER_EVENT).filter(({ heldUntil = 0 }) => heldUntil <= now);
      return ripe.map((order) => this.#orders.unhold(order));
    });
    await Promise.all(due.map((order) => this.send(order)));
    this.armPending();
  }

  /** Arms the alarm for the orders that are not over; after a wake nobody knows whether it is set. */
  armPending(): void {
    const soon = this.#runtime.now() + REPEAT_MS;
    const times = this.#orders
      .pending(ORDERS_PER_EVENT)
      .map(({ heldUntil = 0 }) => Math.max(heldUntil, soon));
    if (times.length > 0) this.#setAlarm(Math.min(...times));
  }

  /**
   * Removes the definition whose drain is over; inside a transaction.
   * Invariant: only the drain that the Pool finished: one that was cancelled meanwhile has another revision.
   */
  remove(numbers: ClusterNumbers, drained: Parameters<ClusterPort["poolDrained"]>[0]): "removed" | "kept" {
    const { name, incarnation, revision } = drained;
    const current = this.#policy.find("pool", name);
    if (current?.incarnation !== incarnation) return "removed";
    if (current.terminating === undefined || current.revision !== revision) return "kept";
    this.#policy.removePool(numbers, name);
    this.#orders.noteRemoval(numbers.horizon);
    this.#orders.forget(name, incarnation);
    return "removed";
  }

  /**
   * Closes the Pool and hears that it holds no block, so that the split finds nothing to move.
   * Why: an order to open again is stored before the Pool is closed, so whatever happens it is not left shut.
   */
  async closeForSplit(request: SplitRequest): Promise<Result<PoolOrder | undefined, SplitRefusal>> {
    const begun = this.#store.transaction(() => this.#beginSplit(request));
    if (!begun.ok) return begun;
    if (begun.value === undefined) return ok(undefined);
    const { closing, opening } = begun.value;
    const closed = await this.#call(closing, 2);
    if (closed.kind === "answered" && closed.value.kind === "empty") return ok(opening);
    await this.reopen(opening);
    if (closed.kind !== "answered") return err(rejection("in_progress", {}, IN_PROGRESS_RETRY_AFTER_SECONDS));
    const { block, allocated } = closed.value as Extract<PoolOrderAnswer, { kind: "left" }>;
    return err(rejection("block_not_empty", { block, allocated }));
  }

  /** The pool stays as it was: its Pool may give out blocks again. */
  async reopen(opening: PoolOrder): Promise<void> {
    const order = this.#store.transaction(() => {
      const known = this.#orders.find(opening.pool, opening.incarnation);
      return known?.number === opening.number ? this.#orders.unhold(known) : undefined;
    });
    if (order !== undefined) await this.send(order);
  }

  #beginSplit(
    request: SplitRequest,
  ): Result<{ readonly closing: PoolOrder; readonly opening: PoolOrder } | undefined, SplitRefusal> {
    if (this.#isDone(request)) return ok(undefined);
    const now = this.#runtime.now();
    const parent = this.#policy.find("pool", request.name);
    if (parent === undefined) return err(rejection("pool_not_found", { pool: request.name }));
    const tried = this.#parts(parent, request, this.#policy.numbers(now), { now, by: request.by });
    if (!tried.ok) return tried;
    const closing = this.order(parent, "closed");
    const heldUntil = now + HOLD_MS;
    return ok({ closing, opening: this.#orders.put(parent, "open", heldUntil) });
  }

  /**
   * Replaces a closed pool by its parts; inside a transaction.
   * Invariant: the order to open the Pool again has not left, so no block was given out since it said "empty".
   */
  split(
    request: SplitRequest,
    opening: PoolOrder | undefined,
    numbers: ClusterNumbers,
    stamp: Stamp,
  ): Result<readonly PoolDefinition[], SplitRefusal> {
    const { name, parts, key } = request;
    const done = this.#isDone(request);
    if (done) return ok(done.made.flatMap((part) => this.#policy.find("pool", part) ?? []));
    const parent = this.#policy.find("pool", name);
    if (parent === undefined) return err(rejection("pool_not_found", { pool: name }));
    const held = this.#orders.find(name, parent.incarnation);
    const isClosed = held?.heldUntil !== undefined && held.number === opening?.number;
    // Somebody wrote the pool meanwhile, split it too, or it has been opened again.
    if (!isClosed || parent.revision !== opening?.revision) {
      return err(rejection("in_progress", {}, IN_PROGRESS_RETRY_AFTER_SECONDS));
    }
    const after = { ...numbers, incarnation: numbers.incarnation + 1 };
    const made = this.#parts(parent, request, after, stamp);
    if (!made.ok) return made;
    let current = this.#policy.removePool(numbers, name);
    for (const part of made.value) {
      this.#policy.define(current, "pool", part, undefined);
      current = { ...current, version: current.version + 1 };
    }
    this.#orders.noteRemoval(numbers.horizon);
    this.order(parent, "closed");
    const names = made.value.map((part) => part.name);
    if (key === undefined) return made;
    this.#orders.putSplit(key, { pool: name, parts, made: names }, stamp.now, stamp.now - SPLIT_KEY_MS);
    return made;
  }

  #isDone({ key, name, parts }: SplitRequest) {
    const done = key === undefined ? undefined : this.#orders.split(key);
    return done?.pool === name && done.parts === parts ? done : undefined;
  }

  #parts(
    parent: PoolDefinition,
    { parts }: SplitRequest,
    { incarnation }: ClusterNumbers,
    stamp: Stamp,
  ): Result<PoolDefinition[], SplitRefusal> {
    return splitPool(parent, parts, this.#policy.all("pool"), { ...stamp, incarnation });
  }

  async #call(order: PoolOrder, times = 1): Promise<CallOutcome<PoolOrderAnswer>> {
    const { untilMs, skewMs } = this.#runtime.settings;
    const sleep = (ms: number, signal: EndSignal) => this.#runtime.sleep(ms, signal);
    const port = () => this.#runtime.ports.pool(order.pool, order.incarnation);
    return await callIdempotent(() => port().order(order), { timeoutMs: times * (untilMs + skewMs), sleep });
  }
}
