/**
 * The policy lease in hand, of one object or of all objects of a process; takes and renews it.
 * May import: core, rpc, platform. Rule: a lease is used by its end, never by when it was asked for.
 *
 * The end is by Cluster's clock and is compared with the local one as it is, without a margin. A
 * local clock that is behind uses a lease too long, one that is ahead gives it up too early; neither
 * lets anything be created under an old policy, since each message that creates carries an `until`
 * that is never after the lease's end, the block refuses it by the block's own clock, and a policy
 * write waits until the last lease's end plus what a block's clock may be behind.
 */
import { type CompiledPolicy, compilePolicy } from "../src/core/policy.ts";
import { callIdempotent, callOnce, type Sleep } from "../src/platform/call.ts";
import type { ClusterPort, LeaseAnswer } from "../src/rpc/cluster.ts";
import type { LeasedPolicy, PolicySource } from "../src/rpc/policy-source.ts";

/** What a cache needs from outside. */
export interface PolicyCacheNeeds {
  /** A new stub at each call: a stub belongs to the event that made it. */
  cluster(): Pick<ClusterPort, "lease">;
  now(): number;
  readonly sleep: Sleep;
  /** How long a caller waits for a lease, and how long one under way is taken to be alive, ms. */
  readonly timeoutMs: number;
  /** Keeps the event alive in which a lease call began, so that those who share it get its answer. */
  keep?(pending: Promise<unknown>): void;
}

/** A lease as adopted. `renewAt`: half of what was left of it on arrival. */
interface Held extends LeasedPolicy {
  readonly renewAt: number;
}

/** A lease call under way or about to begin; `startedAt` tells when to stop believing in it. */
interface Request {
  readonly startedAt: number;
  readonly answer: Promise<LeasedPolicy | undefined>;
}

export class PolicyCache implements PolicySource {
  readonly #needs: PolicyCacheNeeds;
  #compiled: CompiledPolicy | undefined;
  #held: Held | undefined;
  #request: Request | undefined;
  #next: Request | undefined;

  constructor(needs: PolicyCacheNeeds) {
    this.#needs = needs;
  }

  /** The last policy seen, leased or not. */
  peek(): CompiledPolicy | undefined {
    return this.#compiled;
  }

  /** The lease in hand now, if any; makes no call. */
  held(now: number): LeasedPolicy | undefined {
    const held = this.#held;
    return held !== undefined && now < held.until ? { policy: held.policy, until: held.until } : undefined;
  }

  /** The lease in hand, renewed in the background from its half on; else one that is taken now. */
  async current(now: number): Promise<LeasedPolicy | undefined> {
    const held = this.held(now);
    if (held === undefined)
      return await this.#patiently((this.#alive(this.#request, now) ?? this.#begin(now)).answer);
    const isDue = this.#held !== undefined && now >= this.#held.renewAt;
    if (isDue && this.#alive(this.#request, now) === undefined) this.#begin(now);
    return held;
  }

  /** A lease whose call begins after this one began; those who wait for the next share it. */
  async refresh(): Promise<LeasedPolicy | undefined> {
    const now = this.#needs.now();
    const before = this.#alive(this.#request, now);
    if (before === undefined) return await this.#patiently(this.#begin(now).answer);
    this.#next = this.#alive(this.#next, now) ?? this.#follow(before, now);
    return await this.#patiently(this.#next.answer);
  }

  /** Begins a call when the one before it has ended, or has taken a quarter of the time there is. */
  #follow(before: Request, now: number): Request {
    const begin = async (): Promise<LeasedPolicy | undefined> => {
      await this.#patiently(before.answer, this.#needs.timeoutMs / 4);
      if (this.#next === next) this.#next = undefined;
      return await this.#begin(this.#needs.now()).answer;
    };
    const next: Request = { startedAt: now, answer: begin() };
    this.#needs.keep?.(next.answer);
    return next;
  }

  /**
   * Why: a call that another event began may never settle, when that event was cut off; so nobody
   * waits for one, or joins one, that is older than its time limit.
   */
  #alive(request: Request | undefined, now: number): Request | undefined {
    const isAlive = request !== undefined && Math.abs(now - request.startedAt) < this.#needs.timeoutMs;
    return isAlive ? request : undefined;
  }

  #begin(now: number): Request {
    const request: Request = { startedAt: now, answer: this.#take() };
    this.#request = request;
    const done = request.answer.finally(() => {
      if (this.#request === request) this.#request = undefined;
    });
    this.#needs.keep?.(done);
    return request;
  }

  /** Asks Cluster; never rejects. */
  async #take(): Promise<LeasedPolicy | undefined> {
    const { cluster, sleep, timeoutMs } = this.#needs;
    const known = this.#compiled?.version;
    const question = known === undefined ? {} : { knownVersion: known };
    const outcome = await callIdempotent(() => cluster().lease(question), { timeoutMs, sleep });
    return outcome.kind === "answered" ? this.#adopt(outcome.value) : undefined;
  }

  /** Takes an answer over; one that is older than what is known, or came too late, gives nothing. */
  #adopt(answer: LeaseAnswer): LeasedPolicy | undefined {
    const now = this.#needs.now();
    const known = this.#compiled;
    if (known !== undefined && answer.version < known.version) return this.held(now);
    const policy = known?.version === answer.version ? known : compiled(answer);
    if (policy === undefined) return undefined;
    this.#compiled = policy;
    const older = this.#held;
    const isNewer = older === undefined || older.policy !== policy || older.until < answer.leaseUntil;
    if (isNewer) {
      const until = answer.leaseUntil;
      this.#held = { policy, until, renewAt: now + (until - now) / 2 };
    }
    return this.held(now);
  }

  /** Waits for an answer that another event may have begun, as long as this event can. */
  async #patiently<T>(answer: Promise<T>, timeoutMs = this.#needs.timeoutMs): Promise<T | undefined> {
    const { sleep } = this.#needs;
    const outcome = await callOnce(() => answer, { timeoutMs, sleep });
    return outcome.kind === "answered" ? outcome.value : undefined;
  }
}

function compiled(answer: LeaseAnswer): CompiledPolicy | undefined {
  return answer.policy === undefined ? undefined : compilePolicy(answer.policy);
}
