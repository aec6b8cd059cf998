/**
 * One claim of one block: row pending, block asked once with this epoch, row confirmed.
 * May import: core, rpc, platform. Rule: the row stands before the block is asked (I5, I10), and a claim whose row
 * has moved on has lost.
 */
import type { BlockCounts } from "../src/core/allocation.ts";
import type { CompiledPool } from "../src/core/policy.ts";
import type { CallOutcome } from "../src/platform/call.ts";
import type { ClaimAnswer } from "../src/rpc/block.ts";
import type { HostReservation } from "../src/rpc/host.ts";
import type { LeasedPolicy } from "../src/rpc/policy-source.ts";
import type { BlockOffer, PoolTarget } from "../src/rpc/pool.ts";
import { type AffinityRows, rowOf } from "./host-affinity-rows.ts";
import { again, type HostContext, once, untilOf } from "./host-context.ts";
import type { HostOffers } from "./host-offers.ts";
import { firstOf, meeting } from "./meeting.ts";

/** What a claim is made for. */
export interface ClaimWish {
  readonly owner: string;
  readonly pool: CompiledPool;
  readonly leased: LeasedPolicy;
  /** Rows of the family that the owner may have; absent: an explicit claim, which no cap refuses. */
  readonly cap?: number;
  readonly hostReserved?: HostReservation;
  readonly deadlineAt?: number;
  /** Nobody waits for it: it takes no block from another owner. */
  readonly isAhead?: true;
  /** Blocks that are wanted beside the first, where there are plenty. */
  readonly more?: number;
  /** It came to its block too late once. */
  readonly isLate?: true;
}

export type ClaimResult =
  | { readonly kind: "claimed"; readonly block: string; readonly counts: BlockCounts }
  /** `young`: blocks of others that are empty, but were claimed too lately to be asked back. */
  | { readonly kind: "none"; readonly young?: readonly { readonly block: string; readonly owner: string }[] }
  | { readonly kind: "over_cap" | "terminating" }
  | { readonly kind: "other"; readonly owner: string }
  /** A call had no answer; the row stays and is recovered. `isOthers`: that of the owner of an empty block. */
  | { readonly kind: "unsettled"; readonly where: "pool" | "block" | "host"; readonly isOthers?: true };

/** How long blocks of one claim wait for each other, ms: their rows are confirmed in one commit. */
const PATIENCE_MS = 50;

export class ClaimSteps {
  readonly #host: HostContext;
  readonly #enrol: () => Promise<boolean>;
  readonly #offers: HostOffers;
  readonly #rows: AffinityRows;
  /** Claims under way by block: their rows are no leftovers. */
  readonly #claiming = new Map<string, Promise<ClaimResult | "lost">>();
  /** Of these the blocks that nobody waits for yet. */
  readonly #claimingAhead = new Set<string>();

  constructor(host: HostContext, enrol: () => Promise<boolean>, offers: HostOffers, rows: AffinityRows) {
    this.#host = host;
    this.#enrol = enrol;
    this.#offers = offers;
    this.#rows = rows;
  }

  /** The claim of a block that is under way just now. */
  of(block: string): Promise<ClaimResult | "lost"> | undefined {
    return this.#claiming.get(block);
  }

  /** Whether a block is being claimed ahead just now. */
  isAhead(block: string): boolean {
    return this.#claimingAhead.has(block);
  }

  /** Claims what was offered, side by side; whoever waits takes the first that has become the owner's. */
  async all(
    wish: ClaimWish,
    target: PoolTarget,
    offers: readonly BlockOffer[],
  ): Promise<ClaimResult | "lost"> {
    const meet = meeting(this.#host.runtime, offers.length, PATIENCE_MS);
    const claims = offers.map(({ block, epoch }) => this.at(wish, target, block, epoch, meet));
    const claimed = await firstOf(claims, (end) => end !== "lost" && end.kind === "claimed");
    return claimed ?? (await claims[0]) ?? "lost";
  }

  /** Claims one block under an epoch that its Pool has just issued. */
  async at(
    wish: ClaimWish,
    target: PoolTarget,
    block: string,
    epoch: number,
    meet?: () => Promise<void>,
  ): Promise<ClaimResult | "lost"> {
    const claim = this.#stepsOfClaim(wish, target, block, epoch, meet);
    this.#claiming.set(block, claim);
    if (wish.isAhead === true) this.#claimingAhead.add(block);
    let isOwn = false;
    try {
      const claimed = await claim;
      isOwn = claimed !== "lost" && claimed.kind === "claimed";
      return claimed;
    } finally {
      if (!isOwn) this.#offers.lost(target);
      if (this.#claiming.get(block) === claim) {
        this.#claiming.delete(block);
        this.#claimingAhead.delete(block);
      }
    }
  }

  /** Row pending, block asked once with this epoch, row confirmed. */
  async #stepsOfClaim(
    wish: ClaimWish,
    target: PoolTarget,
    block: string,
    epoch: number,
    meet?: () => Promise<void>,
  ): Promise<ClaimResult | "lost"> {
    if (!(await this.#enrol())) return { kind: "unsettled", where: "host" };
    const row = rowOf(target, block, epoch);
    const begun = this.#rows.begin(row, wish.cap);
    if (begun === "over_cap") {
      await this.#decline(wish, target, block, epoch);
      return { kind: "over_cap" };
    }
    if (begun === "moved_on") return "lost";
    // The row stays as it is: the removal gives its block back.
    if (begun === "removing") return { kind: "none" };
    const answer = await this.#askBlock(wish, target, block, epoch);
    await meet?.();
    if (answer.kind !== "answered") return { kind: "unsettled", where: "block" };
    const said = answer.value;
    if (said.kind === "late") return await this.#claimLate(wish, target, block);
    if (said.kind === "accepted") {
      if (this.#rows.move(row, "confirm") === "moved_on") return "lost";
      const { memory, runtime, reports } = this.#host;
      memory.note(block, said.counts, runtime.now());
      reports.confirmed(target, block, said.counts);
      return { kind: "claimed", block, counts: said.counts };
    }
    this.#rows.move(row, "remove");
    const message = { ...target, owner: wish.owner, block, epoch, draining: said.owner === undefined };
    await again(this.#host, () => this.#poolPort(target).release(message));
    return "lost";
  }

  /**
   * The lease ended while a claim was on its way: it is made once more, under another epoch and lease.
   * Under another policy it was perhaps never to be made; then its row is left to the next search.
   */
  async #claimLate(wish: ClaimWish, target: PoolTarget, block: string): Promise<ClaimResult | "lost"> {
    const { policy } = this.#host.runtime;
    const unsettled = { kind: "unsettled", where: "block" } as const;
    if (wish.isLate === true) return unsettled;
    const fresh = await once(this.#host, () =>
      this.#poolPort(target).fresh({ ...target, owner: wish.owner, block }),
    );
    if (fresh.kind !== "answered" || fresh.value.kind !== "claim" || fresh.value.terminating)
      return unsettled;
    // Last, so that all of it is left for the way to the block.
    const leased = await policy.refresh();
    if (leased?.policy.version !== wish.leased.policy.version) return unsettled;
    return await this.#stepsOfClaim({ ...wish, leased, isLate: true }, target, block, fresh.value.epoch);
  }

  /** Never repeated: an epoch is sent in one claim only. */
  async #askBlock(
    wish: ClaimWish,
    target: PoolTarget,
    block: string,
    epoch: number,
  ): Promise<CallOutcome<ClaimAnswer>> {
    const leased = (await this.#host.runtime.policy.current(this.#host.runtime.now())) ?? wish.leased;
    const until = untilOf(this.#host, leased, wish.deadlineAt);
    const { pool, incarnation, cidr: poolCidr } = target;
    const cooldownMs = leased.policy.config.ipCooldownSeconds * 1000;
    const ends = wish.hostReserved === undefined ? {} : { hostReserved: wish.hostReserved };
    const owner = wish.owner;
    const message = { block, pool, incarnation, poolCidr, owner, epoch, until, cooldownMs, ...ends };
    return await once(this.#host, () => this.#port(block).claim(message));
  }

  /**
   * Gives back what the Pool offered. Whether the block is free or drains is the block's word alone: it
   * may have cooling addresses under a cooldown that was raised since.
   */
  async #decline(wish: ClaimWish, target: PoolTarget, block: string, epoch: number): Promise<void> {
    const { owner } = wish;
    const { pool, incarnation, cidr: poolCidr } = target;
    const cooldownMs = wish.leased.policy.config.ipCooldownSeconds * 1000;
    const question = { block, pool, incarnation, poolCidr, owner, epoch, mustBeEmpty: false, cooldownMs };
    const answer = await again(this.#host, () => this.#port(block).releaseAffinity(question));
    // Unanswered: the Pool goes on naming this owner, and offers the block to it again.
    if (answer.kind !== "answered") return;
    const message = { ...target, owner, block, epoch, draining: answer.value.kind === "draining" };
    await again(this.#host, () => this.#poolPort(target).release(message));
  }

  #port(block: string) {
    return this.#host.runtime.ports.block(block);
  }

  #poolPort({ pool, incarnation }: PoolTarget) {
    return this.#host.runtime.ports.pool(pool, incarnation);
  }
}
