/**
 * One attempt of one request in one family: its key's way through the index and the blocks.
 * May import: core, rpc, platform. Rule: an unknown outcome is asked again at the same block, never
 * followed by another block; a row moves only on a final "no".
 */
import type { AddressRecord, BlockCounts } from "../src/core/allocation.ts";
import type { OwnerSlot } from "../src/core/block-messages.ts";
import { type Family, type Rejection, rejection } from "../src/core/errors.ts";
import { InvariantViolation, unreachable } from "../src/core/invariant.ts";
import { IN_PROGRESS_RETRY_AFTER_SECONDS } from "../src/core/limits.ts";
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import type { CallOutcome } from "../src/platform/call.ts";
import type { AllocateItem, AllocateOutcome } from "../src/rpc/block.ts";
import type { ReserveOutcome } from "../src/rpc/handle-index.ts";
import { again, blockPolicy, blockTarget, type HostContext, poolTarget, untilOf } from "./host-context.ts";
import { meetLimit } from "./host-limit.ts";

/** What stays the same through an attempt. */
export interface AttemptWish {
  readonly host: string;
  readonly handle: string;
  /** Scoped to the host: `<host>/<client's key>`. */
  readonly key: string;
  readonly fingerprint: string;
  readonly family: Family;
  readonly count: number;
  readonly item: Pick<AllocateItem, "use" | "attributes" | "leakCollection">;
  /** Addresses of the family that the handle may hold. */
  readonly limit?: number;
  readonly ownerSlot?: OwnerSlot;
  readonly deadlineAt?: number;
}

/** Which block is asked, and as whose. */
export interface Seat {
  readonly pool: CompiledPool;
  readonly block: string;
  /** The block must be the host's own. */
  readonly isOwn: boolean;
  /** Whose it is where it is another's, as far as known. */
  readonly owner?: string;
  /** An exact assignment. */
  readonly ordinal?: number;
  readonly replayOnly?: boolean;
}

/** A refusal that ends the attempt at once. */
export type AttemptRefusal = Rejection<
  | "host_removing"
  | "handle_limit_reached"
  | "idempotency_key_released"
  | "idempotency_key_reused"
  | "in_progress"
  | "maintenance"
  | "outcome_unknown"
  | "policy_unavailable"
  | "deadline_exceeded"
  | "storage_unavailable"
  | "overloaded"
>;

export type SeatResult =
  /** Addresses were got here; the attempt may still be short. */
  | { readonly kind: "got" }
  | { readonly kind: "full"; readonly counts: BlockCounts }
  | { readonly kind: "lost"; readonly owner?: string }
  | Extract<AllocateOutcome, { kind: "taken" }>
  /** The key was listed elsewhere: these blocks come first. */
  | { readonly kind: "listed"; readonly blocks: readonly string[] }
  /** The policy has changed since the seat was chosen. */
  | { readonly kind: "policy_changed" }
  | { readonly kind: "refused"; readonly refusal: AttemptRefusal };

type Refused = Extract<SeatResult, { kind: "refused" }>;

/** Times that one message is repeated while its outcome is unknown, and that a limit is settled. */
const SEND_ROUNDS_MAX = 4;
const LIMIT_ROUNDS_MAX = 4;

interface IndexRow {
  readonly block: string;
  /** The row's `until`, as far as this attempt set it: no message to the block may say more. */
  readonly until: number;
  /** What the row calls this attempt. */
  readonly attempt: string;
  /** Highest `until` of messages about this key that may still arrive there. */
  readonly finalAfter?: number;
  /** The block's "no" was final, or it was never asked. */
  readonly movable: boolean;
}

export class HostAttempt {
  readonly #host: HostContext;
  readonly wish: AttemptWish;
  readonly #attempt: string;
  #moves = 0;
  /** The `until` of the last reservation that left. */
  #reservedUntil = 0;
  /** Addresses got so far, and those that this attempt was told it created. */
  readonly got: AddressRecord[] = [];
  readonly created: AddressRecord[] = [];
  wasFound = false;
  wasReused = false;
  /** The row of the block that is being asked. */
  #row: IndexRow | undefined;
  /** Rows of blocks that finally said no: the next block takes one of them over. */
  readonly #spare: IndexRow[] = [];
  readonly #listed = new Map<string, number>();
  readonly #holding: string[] = [];

  constructor(host: HostContext, wish: AttemptWish) {
    this.#host = host;
    this.wish = wish;
    this.#attempt = host.runtime.unique();
  }

  /** The refusal while an earlier attempt is not settled. */
  get inProgress(): AttemptRefusal {
    return this.#inProgress().refusal;
  }

  get #lacking(): AttemptWish {
    return { ...this.wish, count: this.missing };
  }

  get missing(): number {
    return this.wish.count - this.got.length;
  }

  /** Asks the index where the key is listed, without reserving anything. */
  async lookUp(): Promise<SeatResult | { readonly kind: "absent" }> {
    const reserved = await this.#reserve(undefined);
    if (reserved.kind !== "answered") return this.#noAnswer(reserved);
    if (reserved.value.kind === "absent") return { kind: "absent" };
    // Nothing is reserved by a look-up, so no limit is met.
    if (reserved.value.kind === "limit") return { kind: "absent" };
    return this.#listedOr(reserved.value) ?? { kind: "absent" };
  }

  /**
   * What a limit per handle says before any block is asked; absent: there is room under it, or none is set.
   * Why: what the handle holds is the answer also where no block has room for one more.
   */
  async meetLimit(chosenUnder: CompiledPolicy): Promise<SeatResult | { readonly kind: "absent" }> {
    const { limit, handle, key, family, count } = this.wish;
    if (limit === undefined) return { kind: "absent" };
    for (let round = 0; round < LIMIT_ROUNDS_MAX; round += 1) {
      const listed = await again(this.#host, () => this.#index().list({ handle }));
      if (listed.kind !== "answered") return this.#noAnswer(listed);
      // Where this key is listed was looked at before: it held nothing there, or this would be a replay.
      const rows = listed.value.rows.filter((row) => row.family === family && row.key !== key);
      const held = rows.reduce((sum, row) => sum + row.count, 0);
      if (held + count <= limit) return { kind: "absent" };
      const ended = await this.#unlessUnder(chosenUnder);
      if (ended !== undefined) return ended;
      const met = await meetLimit(this.#host, this.#lacking, rows, false);
      if (met.kind === "refused") return met;
      if (met.kind === "reused") return this.#reuse(met.records);
    }
    return this.#inProgress();
  }

  /** Takes a seat: the index first, then the block. */
  async take(seat: Seat, chosenUnder: CompiledPolicy): Promise<SeatResult> {
    if (this.#host.memory.isRemoving) return this.#refuse(this.#removing());
    return (await this.#arrive(seat, chosenUnder)) ?? (await this.#ask(seat, chosenUnder));
  }

  /**
   * Tells that the pools were chosen under a policy that has ended, or that none is to be had.
   * Why: which pools there are is judged before a limit is, and no block is asked that would refuse (3.5).
   */
  async #unlessUnder(chosenUnder: CompiledPolicy): Promise<SeatResult | undefined> {
    const { policy, now } = this.#host.runtime;
    const leased = await policy.current(now());
    if (leased === undefined) return this.#refuse(rejection("policy_unavailable", {}, 1));
    return leased.policy.version === chosenUnder.version ? undefined : { kind: "policy_changed" };
  }

  /** Brings the key's row to the seat's block. Absent: it is there. */
  async #arrive(seat: Seat, chosenUnder: CompiledPolicy): Promise<SeatResult | undefined> {
    if (this.#row?.block === seat.block) return undefined;
    if (this.#row !== undefined) this.#spare.push(this.#row);
    this.#row = this.#spare.find(({ block }) => block === seat.block);
    if (this.#row !== undefined) {
      this.#spare.splice(this.#spare.indexOf(this.#row), 1);
      return undefined;
    }
    const spare = this.#spare.pop();
    if (spare !== undefined) return await this.#move(spare, seat.block);
    // A lease that is not in hand is asked for while the index call runs.
    const { policy, now } = this.#host.runtime;
    if (policy.held(now()) === undefined) void policy.current(now());
    for (let round = 0; round < LIMIT_ROUNDS_MAX; round += 1) {
      const reserved = await this.#reserve(seat.block);
      if (reserved.kind !== "answered") return this.#noAnswer(reserved);
      if (reserved.value.kind === "reserved") {
        this.#row = { ...this.#told(seat.block), movable: true };
        return undefined;
      }
      if (reserved.value.kind !== "limit") return this.#listedOr(reserved.value);
      const ended = await this.#unlessUnder(chosenUnder);
      if (ended !== undefined) return ended;
      const met = await meetLimit(this.#host, this.#lacking, reserved.value.rows, seat.ordinal !== undefined);
      if (met.kind === "refused") return met;
      if (met.kind === "reused") return this.#reuse(met.records);
    }
    return this.#inProgress();
  }

  #reuse(records: readonly AddressRecord[]): SeatResult {
    this.got.push(...records);
    this.wasReused = true;
    return { kind: "got" };
  }

  #listedOr(outcome: Exclude<ReserveOutcome, { kind: "limit" }>): SeatResult | undefined {
    const { handle } = this.wish;
    switch (outcome.kind) {
      case "reserved":
      case "absent":
        return undefined;
      case "listed": {
        for (const { block, untilBefore } of outcome.rows) this.#listed.set(block, untilBefore);
        return { kind: "listed", blocks: outcome.rows.map(({ block }) => block) };
      }
      case "spent":
        return this.#refuse(rejection("idempotency_key_released", { handle }));
      case "key_reused":
        return this.#refuse(rejection("idempotency_key_reused", { handle }));
      case "late":
        return this.#refuse(rejection("deadline_exceeded", {}));
      default:
        return unreachable(outcome);
    }
  }

  /** Goes to a block where the index lists the key: an earlier attempt may have got something there. */
  goToListed(block: string): void {
    const untilBefore = this.#listed.get(block) ?? 0;
    if (this.#row !== undefined) this.#spare.push(this.#row);
    // A row that this attempt itself has entered there is the same one: it can be moved on once only.
    const known = this.#spare.findIndex((one) => one.block === block);
    if (known !== -1) this.#spare.splice(known, 1);
    const row = { ...this.#told(block), movable: false };
    this.#row = untilBefore === 0 ? row : { ...row, finalAfter: untilBefore };
  }

  /**
   * Leaves a listed block whose pool has gone: its own final word settles the key there, and the row goes
   * along to the next block.
   */
  async leaveGone(block: string): Promise<SeatResult> {
    this.goToListed(block);
    const { handle, key } = this.wish;
    const question = { block, keys: [{ handle, key, finalAfter: this.#row?.finalAfter ?? 0 }] };
    const answer = await again(this.#host, () => this.#host.runtime.ports.block(block).holds(question));
    const word = answer.kind === "answered" ? answer.value.held[0] : undefined;
    if (word === "released") return this.#spent();
    this.#setAside(word === "not_held");
    return word === "not_held" ? { kind: "lost" } : this.#inProgress();
  }

  /**
   * Takes back the rows of blocks that finally gave nothing, before a partial answer leaves; false: the index
   * did not answer. Why: where they stayed, a repeat would go there and be given more (I13).
   */
  async leaveUnused(): Promise<boolean> {
    const { handle, key } = this.wish;
    const unused = this.#spare.filter(({ movable }) => movable);
    if (unused.length === 0) return true;
    const items = unused.map(({ block, until }) => ({
      handle,
      key,
      block,
      until,
      outcome: "absent" as const,
    }));
    return (await again(this.#host, () => this.#index().settle({ items }))).kind === "answered";
  }

  #told(block: string) {
    return { block, until: this.#reservedUntil, attempt: this.#attempt };
  }

  async #move(row: IndexRow, to: string): Promise<SeatResult | undefined> {
    if (!row.movable) return this.#inProgress();
    const { handle, key } = this.wish;
    const until = this.#indexUntil();
    this.#moves += 1;
    const names = { attempt: row.attempt, attemptAfter: `${this.#attempt}/${this.#moves}` };
    const message = { handle, key, from: row.block, to, ...names, until, final: row.movable };
    const moved = await again(this.#host, () => this.#index().move(message));
    if (moved.kind !== "answered") return this.#noAnswer(moved);
    switch (moved.value.kind) {
      case "moved":
        this.#row = { block: to, until, attempt: names.attemptAfter, movable: true };
        return undefined;
      case "in_progress":
      case "gone":
        return this.#inProgress();
      case "late":
        return this.#refuse(rejection("deadline_exceeded", {}));
      default:
        return unreachable(moved.value);
    }
  }

  /** Asks the block; `late` once more under a fresh lease. */
  async #ask(seat: Seat, chosenUnder: CompiledPolicy): Promise<SeatResult> {
    for (let round = 0; round < 2; round += 1) {
      // The row must know until when this attempt may still land.
      const isTold = this.#row !== undefined && this.#host.runtime.now() < this.#row.until;
      const stopped = isTold ? undefined : await this.#prolong(seat);
      if (stopped !== undefined) return stopped;
      const outcome = await this.#send(seat, chosenUnder);
      if (outcome.kind === "refused" || outcome.kind === "policy_changed") return outcome;
      if (outcome.kind !== "late") return this.#settle(seat, outcome);
      if (this.#isOver()) break;
      const fresh = await this.#host.runtime.policy.refresh();
      if (fresh === undefined) break;
      if (fresh.policy.version !== chosenUnder.version) return { kind: "policy_changed" };
      const late = await this.#prolong(seat);
      if (late !== undefined) return late;
    }
    const isOver = this.#isOver();
    return this.#refuse(isOver ? rejection("deadline_exceeded", {}) : rejection("policy_unavailable", {}, 1));
  }

  async #prolong(seat: Seat): Promise<Refused | undefined> {
    const prolonged = await this.#reserve(seat.block);
    if (prolonged.kind !== "answered") return this.#noAnswer(prolonged);
    if (prolonged.value.kind !== "reserved" || this.#row === undefined) return this.#inProgress();
    this.#row = { ...this.#row, until: this.#reservedUntil };
    return undefined;
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
      if (leased === undefined && until === undefined)
        return this.#refuse(rejection("policy_unavailable", {}, 1));
      const lane = lanes.block(blockTarget(seat.pool, seat.block));
      const sent = await lane.push(() => {
        const held = runtime.policy.held(runtime.now());
        if (this.#host.memory.isRemoving) return { skip: "host_removing" };
        if (held === undefined) return { skip: "policy_unavailable" };
        if (held.policy.version !== chosenUnder.version) return { skip: "policy_changed" };
        until ??= Math.min(untilOf(this.#host, held, this.wish.deadlineAt), this.#row?.until ?? 0);
        return { item: this.#item(seat, held.policy, until) };
      });
      if (sent.kind === "answered") return sent.value;
      if (sent.kind === "skipped") {
        // Nothing of this round left; what an earlier round sent stays open.
        if (until !== undefined && sent.skip !== "policy_unavailable") return this.#unknown();
        if (sent.skip === "policy_changed") return { kind: "policy_changed" };
        if (sent.skip === "host_removing") return this.#refuse(this.#removing());
        continue;
      }
      if (sent.kind === "failed" && sent.failure === "overloaded") {
        return this.#refuse(rejection("overloaded", { where: "block" }, 1));
      }
      // It may have landed: what the block says from now on is final only after this message's time.
      if (until !== undefined) this.#mayLand(until);
      if (until === undefined || runtime.now() >= until + runtime.settings.skewMs) break;
    }
    return until === undefined ? this.#refuse(rejection("policy_unavailable", {}, 1)) : this.#unknown();
  }

  #mayLand(until: number): void {
    const row = this.#row;
    if (row === undefined) return;
    this.#row = { ...row, finalAfter: Math.max(row.finalAfter ?? 0, until), movable: false };
  }

  #item(seat: Seat, policy: CompiledPolicy, until: number): AllocateItem {
    const { host, handle, key, item } = this.wish;
    const finalAfter = this.#row?.finalAfter;
    return {
      ...item,
      host,
      handle,
      key,
      attempt: this.#attempt,
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
        if (outcome.kind === "found" && outcome.records.length < outcome.granted) return this.#spent();
        this.#holding.push(block);
        this.#row = undefined;
        return { kind: "got" };
      case "spent":
        return this.#spent();
      case "full":
        this.#setAside(outcome.final);
        return outcome.final ? { kind: "full", counts: outcome.counts } : this.#inProgress();
      case "affinity_lost":
        this.#setAside(outcome.final);
        if (!outcome.final) return this.#inProgress();
        return outcome.owner === undefined ? { kind: "lost" } : { kind: "lost", owner: outcome.owner };
      case "taken":
        this.#setAside(outcome.final);
        return outcome;
      case "failed":
        throw new InvariantViolation(`block ${block}: ${outcome.message}`);
      default:
        return unreachable(outcome);
    }
  }

  /** The block said no: its row may go elsewhere once that is final. */
  #setAside(isFinal: boolean): void {
    if (this.#row !== undefined) this.#spare.push({ ...this.#row, movable: isFinal });
    this.#row = undefined;
  }

  #noteCounts({ pool, block }: Seat, counts: BlockCounts): void {
    const { memory, reports, runtime } = this.#host;
    memory.note(block, counts, runtime.now());
    reports.changed(poolTarget(pool), block, counts);
  }

  #indexUntil(): number {
    const { runtime } = this.#host;
    const { deadlineAt } = this.wish;
    return Math.min(runtime.now() + runtime.settings.untilMs, deadlineAt ?? Number.POSITIVE_INFINITY);
  }

  async #reserve(block: string | undefined): Promise<CallOutcome<ReserveOutcome>> {
    const { handle, key, fingerprint, family, count, limit } = this.wish;
    const attempt = this.#row !== undefined && this.#row.block === block ? this.#row.attempt : this.#attempt;
    const reserved = await this.#host.lanes.index(handle).push(() => {
      this.#reservedUntil = this.#indexUntil();
      const item = {
        handle,
        key,
        fingerprint,
        family,
        count: Math.max(1, Math.min(count, this.missing)),
        attempt,
        until: this.#reservedUntil,
        ...(block === undefined ? {} : { block }),
        ...(this.#holding.length === 0 ? {} : { also: this.#holding }),
        ...(limit === undefined ? {} : { limit }),
      };
      return { item };
    });
    if (reserved.kind === "skipped") throw new InvariantViolation("a reservation always leaves");
    return reserved;
  }

  #index() {
    return this.#host.runtime.ports.handleIndex(this.wish.handle);
  }

  #spent(): Refused {
    return this.#refuse(rejection("idempotency_key_released", { handle: this.wish.handle }));
  }

  #removing(): Rejection<"host_removing"> {
    return rejection("host_removing", { host: this.wish.host });
  }

  #inProgress(): Refused {
    const { host, handle } = this.wish;
    return this.#refuse(rejection("in_progress", { host, handle }, IN_PROGRESS_RETRY_AFTER_SECONDS));
  }

  #unknown(): Refused {
    const { host, handle } = this.wish;
    return this.#refuse(rejection("outcome_unknown", { host, handle }, IN_PROGRESS_RETRY_AFTER_SECONDS));
  }

  /** The index did not answer, so no block was asked: nothing was allocated. */
  #noAnswer(outcome: Exclude<CallOutcome<unknown>, { kind: "answered" }>): Refused {
    if (outcome.kind === "failed" && outcome.failure === "storage") {
      return this.#refuse(rejection("storage_unavailable", {}, 1));
    }
    return this.#refuse(
      this.#isOver() ? rejection("deadline_exceeded", {}) : rejection("overloaded", { where: "index" }, 1),
    );
  }

  #isOver(): boolean {
    const { deadlineAt } = this.wish;
    return deadlineAt !== undefined && this.#host.runtime.now() >= deadlineAt;
  }

  #refuse(refusal: AttemptRefusal): Refused {
    return { kind: "refused", refusal };
  }
}
