/**
 * Cluster: serialises what an operator decides, and lends it out under leases.
 * May import: core, rpc, platform, its storage. Rule: no lease is granted past the stored horizon,
 * and a write answers when every lease that may have gone out before it has run out.
 */
import { DurableObject } from "cloudflare:workers";
import { changeConfig } from "../src/core/config.ts";
import type { Revised, Stamp } from "../src/core/definition.ts";
import { type Rejection, rejection } from "../src/core/errors.ts";
import { type PolicyChange, policyEvent, repairEvent } from "../src/core/events.ts";
import { invariant } from "../src/core/invariant.ts";
import { PAGE_SIZE_MAX, POOLS_MAX, RESERVATIONS_MAX } from "../src/core/limits.ts";
import { changePool, definePool, type PoolSpec, replacePool } from "../src/core/pool.ts";
import { beginDrain } from "../src/core/pool-life.ts";
import { defineReservation, type ReservationSpec } from "../src/core/reservation.ts";
import { err, ok } from "../src/core/result.ts";
import type { ClusterPort, LeaseAnswer, WriteGuard } from "../src/rpc/cluster.ts";
import { ClusterPools } from "./cluster-pools.ts";
import { productionRuntime } from "./production.ts";
import type { Runtime } from "./runtime.ts";
import { EventRows } from "./storage/cluster-events.ts";
import { HostRows } from "./storage/cluster-hosts.ts";
import { type ClusterNumbers, PolicyRows } from "./storage/cluster-policy.ts";
import type { PoolOrder } from "./storage/cluster-pools.ts";
import { CLUSTER_MIGRATIONS } from "./storage/cluster-schema.ts";
import { type Counters, Store } from "./storage/store.ts";

type Answer<M extends keyof ClusterPort> = ReturnType<ClusterPort[M]>;
type Request<M extends keyof ClusterPort> = Parameters<ClusterPort[M]>[0];

/** How long the alarm waits before it tries again what it could not do, ms. */
const ALARM_RETRY_MS = 5_000;

/** What the state of the service counts as lately, ms. */
const REFUSALS_TOLD_MS = 600_000;
/** Hosts that are being removed, of which the status tells by name. */
const HELD_TOLD_MAX = 8;

/** Committed, but nobody can say when all allocations obey it. */
interface Unanswerable {
  readonly ok: false;
  readonly error: Rejection<"policy_unavailable">;
}

export class ClusterObject extends DurableObject<Env> implements ClusterPort {
  readonly #runtime: Runtime;
  readonly #store: Store;
  readonly #policy: PolicyRows;
  readonly #hosts: HostRows;
  readonly #pools: ClusterPools;
  readonly #events: EventRows;
  /** What the transaction that runs has changed; its events are written with it. */
  #changes: PolicyChange[] = [];
  #alarmAt: number | undefined;
  /** The stored alarm is known to be there, or not to be needed. */
  #isSure = false;

  constructor(ctx: DurableObjectState, env: Env, runtime: Runtime = productionRuntime(env)) {
    super(ctx, env);
    this.#runtime = runtime;
    this.#store = new Store(ctx.storage, CLUSTER_MIGRATIONS);
    this.#policy = new PolicyRows(this.#store, (change) => this.#changes.push(change));
    this.#events = new EventRows(this.#store);
    this.#hosts = new HostRows(this.#store);
    this.#pools = new ClusterPools(runtime, this.#store, this.#policy, (at) => this.#arm(at));
  }

  /**
   * Lends the policy until min(now + L, horizon).
   * Why: the horizon is moved when less than half a lease is left before it. Moving it is a write,
   * which an instance that was replaced cannot do; so it grants nothing past the horizon that its
   * successor finds stored and waits for.
   */
  async lease({ knownVersion }: Request<"lease">): Promise<LeaseAnswer> {
    this.#store.countCall("lease");
    this.#wake();
    const now = this.#runtime.now();
    const { leaseMs } = this.#runtime.settings;
    return this.#store.transaction(() => {
      const numbers = this.#policy.numbers(now);
      const { version } = numbers;
      const isShort = numbers.horizon - now < leaseMs / 2;
      const horizon = isShort ? now + leaseMs : numbers.horizon;
      if (isShort) this.#policy.put(numbers, { horizon });
      const granted = { version, leaseUntil: Math.min(now + leaseMs, horizon) };
      return knownVersion === version ? granted : { ...granted, policy: this.#policy.policy(numbers) };
    });
  }

  /** The policy as stored, without a lease. */
  async policy({ knownVersion }: Request<"policy">): Answer<"policy"> {
    this.#store.countCall("policy");
    const numbers = this.#policy.numbers(this.#runtime.now());
    const { version } = numbers;
    return knownVersion === version ? { version } : { version, policy: this.#policy.policy(numbers) };
  }

  async changeConfig(request: Request<"changeConfig">): Answer<"changeConfig"> {
    return await this.#write("changeConfig", request, (numbers, stamp) => {
      const current = this.#policy.config(numbers);
      const refusal = guarded(request, current);
      if (refusal !== undefined) return err(refusal);
      const decided = changeConfig(current, request.patch, stamp);
      if (!decided.ok) return decided;
      return ok(this.#policy.define(numbers, "config", decided.value, current));
    });
  }

  async putPool(request: Request<"putPool">): Answer<"putPool"> {
    const { name } = request;
    const spec = request.spec as unknown as PoolSpec;
    // Whoever still knows a removed pool must not name blocks of its size in the new one.
    if (!(await this.#waitOut(this.#pools.removalHorizon)))
      return err(rejection("policy_unavailable", {}, 1));
    return await this.#write("putPool", request, (numbers, stamp) => {
      const pools = this.#policy.all("pool");
      const current = pools.find((pool) => pool.name === name);
      const refusal = guarded(request, current);
      if (refusal !== undefined) return err(refusal);
      if (current === undefined && pools.length >= POOLS_MAX) return err(tooMany("pool", POOLS_MAX));
      const { incarnation } = numbers;
      const decided =
        current === undefined
          ? definePool(name, spec, pools, { ...stamp, incarnation })
          : replacePool(current, spec, stamp);
      if (!decided.ok) return decided;
      const value = this.#policy.define(numbers, "pool", decided.value, current);
      return ok({ created: current === undefined, value });
    });
  }

  async patchPool(request: Request<"patchPool">): Answer<"patchPool"> {
    const { name } = request;
    let opening: PoolOrder | undefined;
    const written = await this.#write("patchPool", request, (numbers, stamp) => {
      const current = this.#policy.find("pool", name);
      if (current === undefined) return err(rejection("pool_not_found", { pool: name }));
      const refusal = guarded(request, current);
      if (refusal !== undefined) return err(refusal);
      const decided = changePool(current, request.patch, stamp);
      if (!decided.ok) return decided;
      const { terminating } = decided.value;
      if (current.terminating !== undefined && terminating === undefined) {
        opening = this.#pools.order(decided.value, "open");
      }
      return ok(this.#policy.define(numbers, "pool", decided.value, current));
    });
    if (opening !== undefined) await this.#pools.send(opening);
    return written;
  }

  async drainPool(request: Request<"drainPool">): Answer<"drainPool"> {
    const { name } = request;
    let ordered: PoolOrder | undefined;
    const written = await this.#write("drainPool", request, (numbers, stamp) => {
      const current = this.#policy.find("pool", name);
      if (current === undefined) return err(rejection("pool_not_found", { pool: name }));
      const refusal = guarded(request, current);
      if (refusal !== undefined) return err(refusal);
      const value = this.#policy.define(numbers, "pool", beginDrain(current, stamp), current);
      ordered = this.#pools.order(value, "draining");
      return ok(value);
    });
    if (ordered === undefined || !written.ok) return written as Awaited<Answer<"drainPool">>;
    const { value } = written;
    const told = await this.#pools.send(ordered);
    if (told.kind !== "answered" || told.value.kind !== "empty") return ok({ value, gone: false });
    const { incarnation, revision } = value;
    return ok({ value, gone: this.#remove({ name, incarnation, revision }) === "removed" });
  }

  async poolDrained(request: Request<"poolDrained">): Answer<"poolDrained"> {
    this.#store.countCall("poolDrained");
    return { kind: this.#remove(request) };
  }

  async splitPool(request: Request<"splitPool">): Answer<"splitPool"> {
    const closed = await this.#pools.closeForSplit(request);
    if (!closed.ok) return closed;
    const opening = closed.value;
    const written = await this.#write("splitPool", request, (numbers, stamp) =>
      this.#pools.split(request, opening, numbers, stamp),
    );
    if (!written.ok && opening !== undefined) await this.#pools.reopen(opening);
    if (written.ok) await this.#pools.sendPending();
    return written;
  }

  async putReservation(request: Request<"putReservation">): Answer<"putReservation"> {
    const { name } = request;
    const spec = request.spec as unknown as ReservationSpec;
    return await this.#write("putReservation", request, (numbers, stamp) => {
      const current = this.#policy.find("reservation", name);
      const refusal = guarded(request, current);
      if (refusal !== undefined) return err(refusal);
      const isFull = current === undefined && this.#policy.count("reservation") >= RESERVATIONS_MAX;
      if (isFull) return err(tooMany("reservation", RESERVATIONS_MAX));
      const decided = defineReservation(name, spec, stamp, current);
      if (!decided.ok) return decided;
      const value = this.#policy.define(numbers, "reservation", decided.value, current);
      return ok({ created: current === undefined, value });
    });
  }

  async deleteReservation(request: Request<"deleteReservation">): Answer<"deleteReservation"> {
    const { name } = request;
    return await this.#write("deleteReservation", request, (numbers) => {
      const current = this.#policy.find("reservation", name);
      if (current === undefined) return err(rejection("reservation_not_found", { field: name }));
      const refusal = guarded(request, current);
      if (refusal !== undefined) return err(refusal);
      this.#policy.removeReservation(numbers, name);
      return ok({ deleted: true as const });
    });
  }

  async enrol(request: Request<"enrol">): Promise<void> {
    this.#store.countCall("enrol");
    const now = this.#runtime.now();
    this.#store.transaction(() => {
      const event = this.#hosts.enrol(request, now);
      if (event !== undefined) this.#events.append(event);
    });
  }

  /** The id of the deployment is drawn at the first question, and stays. */
  async status(): Answer<"status"> {
    this.#store.countCall("status");
    const { active: hostsActive, removing: hostsRemoving } = this.#hosts.counts();
    const refusalsLast10Minutes = this.#events.refusedSince(this.#runtime.now() - REFUSALS_TOLD_MS);
    const heldRemovals = hostsRemoving === 0 ? [] : this.#hosts.heldRemovals(HELD_TOLD_MAX);
    const figures = { hostsActive, hostsRemoving, heldRemovals, refusalsLast10Minutes };
    const read = () => this.#store.row<{ name: string }>("SELECT name FROM deployment WHERE id = 1")?.name;
    const known = read();
    if (known !== undefined) return { deploymentId: known, ...figures };
    const drawn = this.#runtime.unique();
    const deploymentId = this.#store.transaction(() => {
      this.#store.write("INSERT OR IGNORE INTO deployment (id, name) VALUES (1, ?)", drawn);
      return read() ?? drawn;
    });
    return { deploymentId, ...figures };
  }

  async refusals({ host, message, rows }: Request<"refusals">): Answer<"refusals"> {
    this.#store.countCall("refusals");
    this.#store.transaction(() => this.#events.refusals(host, message, rows));
    return { heard: true };
  }

  async repaired({ message, by, requestId, ...done }: Request<"repaired">): Answer<"repaired"> {
    this.#store.countCall("repaired");
    const event = repairEvent(done, { at: this.#runtime.now(), actor: by, requestId });
    this.#store.transaction(() => this.#events.told(event, message));
    return { heard: true };
  }

  async noted({ event, message }: Request<"noted">): Answer<"noted"> {
    this.#store.countCall("noted");
    this.#store.transaction(() => this.#events.told(event, message));
    return { heard: true };
  }

  async listEvents({ before, limit, ...filter }: Request<"listEvents">): Answer<"listEvents"> {
    this.#store.countCall("listEvents");
    invariant(Number.isInteger(limit) && limit >= 1 && limit <= PAGE_SIZE_MAX, "a page has 1 to 1000 items");
    const found = this.#events.before(before, filter, limit + 1);
    const events = found.slice(0, limit);
    const next = events.at(-1)?.id;
    return found.length <= limit || next === undefined ? { events } : { events, next };
  }

  async findHost({ host }: Request<"findHost">): Answer<"findHost"> {
    this.#store.countCall("findHost");
    const entry = this.#hosts.find(host);
    return entry === undefined ? {} : { entry };
  }

  async unlistedHosts({ hosts }: Request<"unlistedHosts">): Answer<"unlistedHosts"> {
    this.#store.countCall("unlistedHosts");
    return { hosts: hosts.filter((host) => !this.#hosts.has(host)) };
  }

  async listHosts({ after = "", limit }: Request<"listHosts">): Answer<"listHosts"> {
    this.#store.countCall("listHosts");
    invariant(Number.isInteger(limit) && limit >= 1 && limit <= PAGE_SIZE_MAX, "a page has 1 to 1000 items");
    const hosts = this.#hosts.after(after, limit + 1);
    if (hosts.length <= limit) return { hosts };
    const page = hosts.slice(0, limit);
    const next = page.at(-1)?.host;
    invariant(next !== undefined, "a page that goes on has items");
    return { hosts: page, next };
  }

  /** Tells Pools what they have not acknowledged. */
  override async alarm(): Promise<void> {
    this.#store.countCall("alarm");
    this.#alarmAt = undefined;
    try {
      await this.#pools.sendPending();
    } catch {
      // Whatever failed, the alarm must live on: a pool waits to be drained, or to be opened again.
      this.#arm(this.#runtime.now() + ALARM_RETRY_MS);
    }
  }

  /** What this instance did since it woke. */
  counters(): Counters {
    return this.#store.counters;
  }

  /** Writes the events of what this transaction changed. */
  #tell(by: Parameters<typeof policyEvent>[1]): void {
    for (const change of this.#changes) this.#events.append(policyEvent(change, by));
  }

  #transaction<T>(work: () => T): T {
    this.#changes = [];
    try {
      return this.#store.transaction(work);
    } catch (failure) {
      this.#unsure();
      throw failure;
    }
  }

  #remove(drained: Request<"poolDrained">): "removed" | "kept" {
    const now = this.#runtime.now();
    return this.#transaction(() => {
      const removed = this.#pools.remove(this.#policy.numbers(now), drained);
      this.#tell({ at: now });
      return removed;
    });
  }

  /** At the first event of an instance, or after a failure: an alarm that was lost for good is set again. */
  #wake(): void {
    if (this.#isSure) return;
    this.#isSure = true;
    this.#pools.armPending();
  }

  /** One alarm for all that is due: the earliest. */
  #arm(at: number): void {
    if (this.#alarmAt !== undefined && this.#alarmAt <= at) return;
    this.#alarmAt = at;
    this.ctx.storage.setAlarm(at).catch(() => this.#unsure());
  }

  /** What was armed inside a transaction that failed, or could not be armed, is not known to be. */
  #unsure(): void {
    this.#alarmAt = undefined;
    this.#isSure = false;
  }

  /** Commits a decision, then waits out the leases; a refusal changed nothing and waits for nothing. */
  async #write<R extends { readonly ok: boolean }>(
    method: keyof ClusterPort,
    { by, requestId }: WriteGuard,
    decide: (numbers: ClusterNumbers, stamp: Stamp) => R,
  ): Promise<R | Unanswerable> {
    this.#store.countCall(method);
    const now = this.#runtime.now();
    const { horizon, decided } = this.#transaction(() => {
      const numbers = this.#policy.numbers(now);
      const outcome = { horizon: numbers.horizon, decided: decide(numbers, { now, by }) };
      this.#tell({ at: now, actor: by, requestId });
      return outcome;
    });
    if (!decided.ok || (await this.#waitOut(horizon))) return decided;
    return err(rejection("policy_unavailable", {}, 1));
  }

  /**
   * Waits until no lease that ends at the horizon is alive by any clock.
   * Why: a write that changed nothing waits too. It may repeat one whose answer was lost, or that
   * another instance committed, and leases from before that one may still be out. The horizon is the
   * one found at the commit: leases granted since then are under this version or a later one.
   * Rejects: a horizon that lies further ahead than this clock can have put it.
   */
  async #waitOut(horizon: number): Promise<boolean> {
    const { leaseMs, skewMs } = this.#runtime.settings;
    // A block refuses when it is past a lease's end, not at it: one millisecond more.
    const end = horizon + skewMs + 1;
    for (let left = end - this.#runtime.now(); left > 0; left = end - this.#runtime.now()) {
      if (left > leaseMs + 2 * skewMs + 1) return false;
      await this.#runtime.sleep(left);
    }
    return true;
  }
}

/** What the guard of a write says about the thing that it would change. */
function guarded(
  { ifRevision, mustNotExist }: WriteGuard,
  current: Revised | undefined,
): Rejection<"revision_mismatch" | "already_exists"> | undefined {
  const revision = current?.revision ?? 0;
  if (mustNotExist === true && current !== undefined) return rejection("already_exists", { revision });
  if (ifRevision !== undefined && ifRevision !== revision)
    return rejection("revision_mismatch", { revision });
  return undefined;
}

function tooMany(parameter: "pool" | "reservation", limit: number): Rejection<"invalid_request"> {
  const message = `There are ${limit} already, which is the most.`;
  return rejection("invalid_request", { errors: [{ parameter, code: "too_many", message, limit }] });
}
