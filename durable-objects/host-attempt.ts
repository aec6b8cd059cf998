/**
 * One attempt of one request in one family: its key's way through the index and the blocks.
 * May import: core, rpc, platform. Rule: an unknown outcome is asked again at the same block, never
 * followed by another block.
 */
import type { AddressRecord, BlockCounts } from "../src/core/allocation.ts";
import { rejection } from "../src/core/errors.ts";
import { InvariantViolation, unreachable } from "../src/core/invariant.ts";
import type { CompiledPolicy } from "../src/core/policy.ts";
import type { AllocateItem, AllocateOutcome } from "../src/rpc/block.ts";
import type { KeyRow } from "../src/rpc/handle-index.ts";
import { AttemptRow } from "./host-attempt-row.ts";
import {
  type AttemptRefusal,
  type AttemptWish,
  inProgress,
  isOver,
  policyUnavailable,
  type Refused,
  refused,
  removing,
  type Seat,
  type SeatResult,
  spent,
  unknownOutcome,
} from "./host-attempt-terms.ts";
import { again, blockPolicy, blockTarget, type HostContext, poolTarget, untilOf } from "./host-context.ts";
import { meetLimit } from "./host-limit.ts";

/** Times that one message is repeated while its outcome is unknown, and that a limit is settled. */
const SEND_ROUNDS_MAX = 4;
const LIMIT_ROUNDS_MAX = 4;

export class HostAttempt {
  readonly #host: HostContext;
  readonly wish: AttemptWish;
  readonly #row: AttemptRow;
  /** Addresses got so far, and those that this attempt was told it created. */
  readonly got: AddressRecord[] = [];
  readonly created: AddressRecord[] = [];
  wasFound = false;
  wasReused = false;

  constructor(host: HostContext, wish: AttemptWish) {
    this.#host = host;
    this.wish = wish;
    this.#row = new AttemptRow(host, wish, () => this.missing);
  }

  /** The refusal while an earlier attempt is not settled. */
  get inProgress(): AttemptRefusal {
    return inProgress(this.wish).refusal;
  }

  get missing(): number {
    return this.wish.count - this.got.length;
  }

  /** Asks the index where the key is listed, without reserving anything. */
  lookUp(): Promise<SeatResult | { readonly kind: "absent" }> {
    return this.#row.lookUp();
  }

  /**
   * What a limit per handle says before any block is asked; absent: there is room under it, or none is set.
   * Why: what the handle holds is the answer also where no block has room for one more.
   */
  async meetLimit(chosenUnder: CompiledPolicy): Promise<SeatResult | { readonly kind: "absent" }> {
    const { limit, key, family, count } = this.wish;
    if (limit === undefined) return { kind: "absent" };
    for (let round = 0; round < LIMIT_ROUNDS_MAX; round += 1) {
      const listed = await this.#row.list();
      if ("kind" in listed) return listed;
      // Where this key is listed was looked at before: it held nothing there, or this would be a replay.
      const rows = listed.filter((row) => row.family === family && row.key !== key);
      const held = rows.reduce((sum, row) => sum + row.count, 0);
      if (held + count <= limit) return { kind: "absent" };
      const met = await this.#atLimit(rows, chosenUnder, false);
      if (met !== undefined) return met;
    }
    return inProgress(this.wish);
  }

  /** Takes a seat: the index first, then the block. */
  async take(seat: Seat, chosenUnder: CompiledPolicy): Promise<SeatResult> {
    if (this.#host.memory.isRemoving) return removing(this.wish);
    return (await this.#arrive(seat, chosenUnder)) ?? (await this.#ask(seat, chosenUnder));
  }

  /** Goes to a block where the index lists the key: an earlier attempt may have got something there. */
  goToListed(block: string): void {
    this.#row.goToListed(block);
  }

  /**
   * Leaves a listed block whose pool has gone: its own final word settles the key there, and the row goes
   * along to the next block.
   */
  async leaveGone(block: string): Promise<SeatResult> {
    this.#row.goToListed(block);
    const { handle, key } = this.wish;
    const question = { block, keys: [{ handle, key, finalAfter: this.#row.finalAfter ?? 0 }] };
    const answer = await again(this.#host, () => this.#host.runtime.ports.block(block).holds(question));
    const word = answer.kind === "answered" ? answer.value.held[0] : undefined;
    if (word === "released") return spent(this.wish);
    this.#row.setAside(word === "not_held");
    return word === "not_held" ? { kind: "lost" } : inProgress(this.wish);
  }

  /** Takes back the rows of blocks that finally gave nothing; false: the index did not answer. */
  leaveUnused(): Promise<boolean> {
    return this.#row.leaveUnused();
  }

  /** Brings the key's row to the seat's block. Absent: it is there. */
  async #arrive(seat: Seat, chosenUnder: CompiledPolicy): Promise<SeatResult | undefined> {
    const brought = await this.#row.bring(seat.block);
    if (brought.kind === "there") return undefined;
    if (brought.kind !== "none") return brought;
    // A lease that is not in hand is asked for while the index call runs.
    const { policy, now } = this.#host.runtime;
    if (policy.held(now()) === undefined) void policy.current(now());
    for (let round = 0; round < LIMIT_ROUNDS_MAX; round += 1) {
      const entered = await this.#row.enter(seat.block);
      if (entered.kind === "there") return undefined;
      if (entered.kind !== "limit") return entered;
      const met = await this.#atLimit(entered.rows, chosenUnder, seat.ordinal !== undefined);
      if (met !== undefined) return met;
    }
    return inProgress(this.wish);
  }

  /** What a limit that is reached comes to. Absent: the index knows more now, look again. */
  async #atLimit(
    rows: readonly KeyRow[],
    chosenUnder: CompiledPolicy,
    isExact: boolean,
  ): Promise<SeatResult | undefined> {
    const ended = await this.#unlessUnder(chosenUnder);
    if (ended !== undefined) return ended;
    const lacking = { ...this.wish, count: this.missing };
    const met = await meetLimit(this.#host, lacking, rows, isExact);
    if (met.kind === "refused") return met;
    if (met.kind === "again") return undefined;
    this.got.push(...met.records);
    this.wasReused = true;
    return { kind: "got" };
  }

  /**
   * Tells that the pools were chosen under a policy that has ended, or that none is to be had.
   * Why: which pools there are is judged before a limit is, and no block is asked that would refuse (3.5).
   */
  async #unlessUnder(chosenUnder: CompiledPolicy): Promise<SeatResult | undefined> {
    const { policy, now } = this.#host.runtime;
    const leased = await policy.current(now());
    if (leased === undefined) return policyUnavailable();
    return leased.policy.version === chosenUnder.version ? undefined : { kind: "policy_changed" };
  }

  /** Asks the block; `late` once more under a fresh lease. */
  async #ask(seat: Seat, chosenUnder: CompiledPolicy): Promise<SeatResult> {
    for (let round = 0; round < 2; round += 1) {
      // The row must know until when this attempt may still land.
      const stopped = this.#row.isTold ? undefined : await this.#row.prolong(seat.block);
      if (stopped !== undefined) return stopped;
      const outcome = await this.#send(seat, chosenUnder);
      if (outcome.kind === "refused" || outcome.kind === "policy_changed") return outcome;
      if (outcome.kind !== "late") return this.#settle(seat, outcome);
      if (this.#isOver()) break;
      const fresh = await this.#host.runtime.policy.refresh();
      if (fresh === undefined) break;
      if (fresh.policy.version !== chosenUnder.version) return { kind: "policy_changed" };
      const late = await this.#row.prolong(seat.block);
      if (late !== undefined) return late;
    }
    return this.#isOver() ? refused(rejection("deadline_exceeded", {})) : policyUnavailable();
  }

  /** One message to the block, repeated with the same key and time until `until` + ε. */
  async #send(
    seat: Seat,
    chosenUnder: CompiledPolicy,
  ): Promise<AllocateOutcome | Refused | { readonly kind: "policy_changed" }> {
    const { runtime, lanes } = this.#host;
    let until: number | undefined;
    for (let round = 0; round < SEND_ROUNDS_MAX; round += 1) {
      const leased = await runtime.policy.current(runtime.now());
      if (leased === undefined && until === undefined) return policyUnavailable();
      const lane = lanes.block(blockTarget(seat.pool, seat.block));
      const sent = await lane.push(() => {
        const held = runtime.policy.held(runtime.now());
        if (this.#host.memory.isRemoving) return { skip: "host_removing" };
        if (held === undefined) return { skip: "policy_unavailable" };
        if (held.policy.version !== chosenUnder.version) return { skip: "policy_changed" };
        until ??= Math.min(untilOf(this.#host, held, this.wish.deadlineAt), this.#row.until);
        return { item: this.#item(seat, held.policy, until) };
      });
      if (sent.kind === "answered") return sent.value;
      if (sent.kind === "skipped") {
        // Nothing of this round left; what an earlier round sent stays open.
        if (until !== undefined && sent.skip !== "policy_unavailable") return unknownOutcome(this.wish);
        if (sent.skip === "policy_changed") return { kind: "policy_changed" };
        if (sent.skip === "host_removing") return removing(this.wish);
        continue;
      }
      if (sent.kind === "failed" && sent.failure === "overloaded") {
        return refused(rejection("overloaded", { where: "block" }, 1));
      }
      // It may have landed: what the block says from now on is final only after this message's time.
      if (until !== undefined) this.#row.mayLand(until);
      if (until === undefined || runtime.now() >= until + runtime.settings.skewMs) break;
    }
    return until === undefined ? policyUnavailable() : unknownOutcome(this.wish);
  }

  #item(seat: Seat, policy: CompiledPolicy, until: number): AllocateItem {
    const { host, handle, key, item } = this.wish;
    const { attempt, finalAfter } = this.#row;
    return {
      ...item,
      host,
      handle,
      key,
      attempt,
      count: seat.ordinal === undefined ? this.missing : 1,
      strict: policy.config.strictAffinity,
      policy: blockPolicy(policy, seat.pool, seat.block),
      until,
      ...(seat.isOwn ? { owner: host } : {}),
      ...(seat.ordinal === undefined ? {} : { ordinal: seat.ordinal }),
      ...(seat.replayOnly === true ? { replayOnly: true } : {}),
      ...(finalAfter === undefined ? {} : { finalAfter }),
    };
  }

  #settle(seat: Seat, outcome: Exclude<AllocateOutcome, { kind: "late" }>): SeatResult {
    const { block } = seat;
    if ("counts" in outcome) this.#noteCounts(seat, outcome.counts);
    switch (outcome.kind) {
      case "created":
      case "found":
        this.got.push(...outcome.records);
        if (outcome.kind === "created") this.created.push(...outcome.records);
        else this.wasFound = true;
        if (outcome.kind === "found" && outcome.records.length < outcome.granted) return spent(this.wish);
        this.#row.stay(block);
        return { kind: "got" };
      case "spent":
        return spent(this.wish);
      case "full":
        this.#row.setAside(outcome.final);
        return outcome.final ? { kind: "full", counts: outcome.counts } : inProgress(this.wish);
      case "affinity_lost":
        this.#row.setAside(outcome.final);
        if (!outcome.final) return inProgress(this.wish);
        return outcome.owner === undefined ? { kind: "lost" } : { kind: "lost", owner: outcome.owner };
      case "taken":
        this.#row.setAside(outcome.final);
        return outcome;
      case "failed":
        throw new InvariantViolation(`block ${block}: ${outcome.message}`);
      default:
        return unreachable(outcome);
    }
  }

  #noteCounts({ pool, block }: Seat, counts: BlockCounts): void {
    const { memory, reports, runtime } = this.#host;
    memory.note(block, counts, runtime.now());
    reports.changed(poolTarget(pool), block, counts);
  }

  #isOver(): boolean {
    return isOver(this.wish, this.#host.runtime.now());
  }
}
