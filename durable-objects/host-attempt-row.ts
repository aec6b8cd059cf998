/**
 * The row of an attempt's key in the index: entered before a block is asked, moved on after its final "no".
 * May import: core, rpc, platform. Rule: no message to a block says more than its row, and a row moves on
 * only when nothing about its key can land there any more.
 */
import { rejection } from "../src/core/errors.ts";
import { InvariantViolation, unreachable } from "../src/core/invariant.ts";
import type { CallOutcome } from "../src/platform/call.ts";
import type { KeyRow, ReserveOutcome } from "../src/rpc/handle-index.ts";
import {
  type AttemptWish,
  indexSilent,
  inProgress,
  type Refused,
  refused,
  type SeatResult,
  spent,
} from "./host-attempt-terms.ts";
import { again, type HostContext } from "./host-context.ts";

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

/** The row is at the block that was named. */
interface There {
  readonly kind: "there";
}

export class AttemptRow {
  readonly #host: HostContext;
  readonly #wish: AttemptWish;
  /** Addresses that the attempt lacks. */
  readonly #missing: () => number;
  readonly attempt: string;
  #moves = 0;
  /** The `until` of the last reservation that left. */
  #reservedUntil = 0;
  /** The row of the block that is being asked. */
  #row: IndexRow | undefined;
  /** Rows of blocks that finally said no: the next block takes one of them over. */
  readonly #spare: IndexRow[] = [];
  readonly #listed = new Map<string, number>();
  readonly #holding: string[] = [];

  constructor(host: HostContext, wish: AttemptWish, missing: () => number) {
    this.#host = host;
    this.#wish = wish;
    this.#missing = missing;
    this.attempt = host.runtime.unique();
  }

  /** No message to the block may land later than this. */
  get until(): number {
    return this.#row?.until ?? 0;
  }

  get finalAfter(): number | undefined {
    return this.#row?.finalAfter;
  }

  /** Whether the row says until when this attempt may still land. */
  get isTold(): boolean {
    return this.#row !== undefined && this.#host.runtime.now() < this.#row.until;
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

  /** All rows of the handle. */
  async list(): Promise<readonly KeyRow[] | Refused> {
    const { handle } = this.#wish;
    const listed = await again(this.#host, () => this.#index().list({ handle }));
    return listed.kind === "answered" ? listed.value.rows : this.#noAnswer(listed);
  }

  /** Brings a row that the attempt has already to a block; `none`: it has none, and one must be entered. */
  async bring(block: string): Promise<SeatResult | There | { readonly kind: "none" }> {
    if (this.#row?.block === block) return { kind: "there" };
    if (this.#row !== undefined) this.#spare.push(this.#row);
    this.#row = this.#spare.find((one) => one.block === block);
    if (this.#row !== undefined) {
      this.#spare.splice(this.#spare.indexOf(this.#row), 1);
      return { kind: "there" };
    }
    const spare = this.#spare.pop();
    if (spare === undefined) return { kind: "none" };
    return (await this.#move(spare, block)) ?? { kind: "there" };
  }

  /** Enters a row for a block, unless the limit is reached. */
  async enter(block: string): Promise<SeatResult | There | Extract<ReserveOutcome, { kind: "limit" }>> {
    const reserved = await this.#reserve(block);
    if (reserved.kind !== "answered") return this.#noAnswer(reserved);
    if (reserved.value.kind === "limit") return reserved.value;
    if (reserved.value.kind === "reserved") this.#row = { ...this.#told(block), movable: true };
    return this.#listedOr(reserved.value) ?? { kind: "there" };
  }

  /** Lets the row say a later time. Absent: it does. */
  async prolong(block: string): Promise<Refused | undefined> {
    const prolonged = await this.#reserve(block);
    if (prolonged.kind !== "answered") return this.#noAnswer(prolonged);
    if (prolonged.value.kind !== "reserved" || this.#row === undefined) return inProgress(this.#wish);
    this.#row = { ...this.#row, until: this.#reservedUntil };
    return undefined;
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

  /** A message was sent and not answered: what the block says from now on is final only after its time. */
  mayLand(until: number): void {
    const row = this.#row;
    if (row === undefined) return;
    this.#row = { ...row, finalAfter: Math.max(row.finalAfter ?? 0, until), movable: false };
  }

  /** The block gave something: the row stays there. */
  stay(block: string): void {
    this.#holding.push(block);
    this.#row = undefined;
  }

  /** The block said no: its row may go elsewhere once that is final. */
  setAside(isFinal: boolean): void {
    if (this.#row !== undefined) this.#spare.push({ ...this.#row, movable: isFinal });
    this.#row = undefined;
  }

  /**
   * Takes back the rows of blocks that finally gave nothing, before a partial answer leaves; false: the index
   * did not answer. Why: where they stayed, a repeat would go there and be given more (I13).
   */
  async leaveUnused(): Promise<boolean> {
    const { handle, key } = this.#wish;
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

  #listedOr(outcome: Exclude<ReserveOutcome, { kind: "limit" }>): SeatResult | undefined {
    switch (outcome.kind) {
      case "reserved":
      case "absent":
        return undefined;
      case "listed": {
        for (const { block, untilBefore } of outcome.rows) this.#listed.set(block, untilBefore);
        return { kind: "listed", blocks: outcome.rows.map(({ block }) => block) };
      }
      case "spent":
        return spent(this.#wish);
      case "key_reused":
        return refused(rejection("idempotency_key_reused", { handle: this.#wish.handle }));
      case "late":
        return refused(rejection("deadline_exceeded", {}));
      default:
        return unreachable(outcome);
    }
  }

  async #move(row: IndexRow, to: string): Promise<SeatResult | undefined> {
    if (!row.movable) return inProgress(this.#wish);
    const { handle, key } = this.#wish;
    const until = this.#indexUntil();
    this.#moves += 1;
    const names = { attempt: row.attempt, attemptAfter: `${this.attempt}/${this.#moves}` };
    const message = { handle, key, from: row.block, to, ...names, until, final: row.movable };
    const moved = await again(this.#host, () => this.#index().move(message));
    if (moved.kind !== "answered") return this.#noAnswer(moved);
    switch (moved.value.kind) {
      case "moved":
        this.#row = { block: to, until, attempt: names.attemptAfter, movable: true };
        return undefined;
      case "in_progress":
      case "gone":
        return inProgress(this.#wish);
      case "late":
        return refused(rejection("deadline_exceeded", {}));
      default:
        return unreachable(moved.value);
    }
  }

  async #reserve(block: string | undefined): Promise<CallOutcome<ReserveOutcome>> {
    const { handle, key, fingerprint, family, count, limit } = this.#wish;
    const attempt = this.#row !== undefined && this.#row.block === block ? this.#row.attempt : this.attempt;
    const reserved = await this.#host.lanes.index(handle).push(() => {
      this.#reservedUntil = this.#indexUntil();
      const item = {
        handle,
        key,
        fingerprint,
        family,
        count: Math.max(1, Math.min(count, this.#missing())),
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

  #told(block: string) {
    return { block, until: this.#reservedUntil, attempt: this.attempt };
  }

  #indexUntil(): number {
    const { runtime } = this.#host;
    const { deadlineAt } = this.#wish;
    return Math.min(runtime.now() + runtime.settings.untilMs, deadlineAt ?? Number.POSITIVE_INFINITY);
  }

  #index() {
    return this.#host.runtime.ports.handleIndex(this.#wish.handle);
  }

  #noAnswer(outcome: Exclude<CallOutcome<unknown>, { kind: "answered" }>): Refused {
    return indexSilent(outcome, this.#wish, this.#host.runtime.now());
  }
}
