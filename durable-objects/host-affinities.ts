/**
 * How a Host gets blocks and gives them back: claim, recovery, release. May import: core, rpc, platform.
 * Rule: fresh epoch first, row before the block is asked, and a step whose row has moved on stops.
 */

import type { AffinityEvent } from "../src/core/affinity.ts";
import type { BlockCounts } from "../src/core/allocation.ts";
import { RECLAIM_CANDIDATES_MAX } from "../src/core/limits.ts";
import type { CompiledPool } from "../src/core/policy.ts";
import type { CallOutcome } from "../src/platform/call.ts";
import type { ClaimAnswer } from "../src/rpc/block.ts";
import type { HostReservation, ReleaseBlockAnswer } from "../src/rpc/host.ts";
import type { LeasedPolicy } from "../src/rpc/policy-source.ts";
import type { BlockOffer, PoolTarget } from "../src/rpc/pool.ts";
import { HostAhead } from "./host-ahead.ts";
import { again, cidrOf, type HostContext, once, poolTarget, untilOf } from "./host-context.ts";
import { HostOffers } from "./host-offers.ts";
import { HostSurrender } from "./host-surrender.ts";
import { firstOf, meeting } from "./meeting.ts";
import {
  type Affinity,
  countAffinities,
  moveAffinity,
  readAffinity,
  readRegistration,
  saveBorrowed,
} from "./storage/host-rows.ts";

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

type Target = Omit<Affinity, "state" | "claimedAt">;

/** Rounds of one claim: lost races and reclaims. Why: a claim must end. */
const ROUNDS_MAX = 8;
/** How long blocks of one claim wait for each other, ms: their rows are confirmed in one commit. */
const PATIENCE_MS = 50;

export class HostAffinities {
  readonly #host: HostContext;
  readonly #enrol: () => Promise<boolean>;
  readonly #offers: HostOffers;
  /** One claim per pool and one recovery per block at a time; who comes later waits for it. */
  readonly #running = new Map<string, Promise<ClaimResult>>();
  /** Claims under way by block: their rows are no leftovers. */
  readonly #claiming = new Map<string, Promise<ClaimResult | "lost">>();
  /** Of these the blocks that nobody waits for yet. */
  readonly #claimingAhead = new Set<string>();
  /** What becomes of the blocks of pools that do not select the host. */
  readonly surrender: HostSurrender;
  /** Blocks that a burst will need next. */
  readonly ahead: HostAhead;
  #moves = 0;

  constructor(host: HostContext, enrol: () => Promise<boolean>) {
    this.#host = host;
    this.#enrol = enrol;
    this.#offers = new HostOffers(host);
    this.surrender = new HostSurrender(host, this);
    this.ahead = new HostAhead(host, this);
  }

  /** Rises with every row that moved: who has looked through the rows knows whether to look again. */
  get moves(): number {
    return this.#moves;
  }

  /** Whether this instance claims or recovers the block just now. */
  isUnderWay(block: string): boolean {
    return this.#claiming.has(block) || this.#running.has(`block ${block}`);
  }

  /** Whether the block is being claimed ahead just now: who needs one takes the first of those that comes. */
  isAhead(block: string): boolean {
    return this.#claimingAhead.has(block);
  }

  /** Gets one more block of a pool for the owner; requests at the same time share the outcome. */
  async claim(wish: ClaimWish): Promise<ClaimResult> {
    const ahead = await this.#running.get(claimName("ahead", wish.pool));
    if (ahead?.kind === "claimed") return ahead;
    return await this.#single(claimName("claim", wish.pool), () => this.#claim(wish));
  }

  /** Claims a block that nobody waits for yet: a free one, none that another owner would have to give back. */
  async claimAhead(wish: ClaimWish): Promise<ClaimResult> {
    return await this.#single(claimName("ahead", wish.pool), () => this.#claim({ ...wish, isAhead: true }));
  }

  /** Whether a block of the pool is being claimed just now. */
  isClaiming(pool: CompiledPool): boolean {
    return this.#running.has(claimName("claim", pool)) || this.#running.has(claimName("ahead", pool));
  }

  /** Claims one named block, as an exact assignment does. */
  async claimExactly(wish: ClaimWish, block: string): Promise<ClaimResult> {
    return await this.#single(`block ${block}`, () => this.#claimFresh(wish, poolTarget(wish.pool), block));
  }

  /**
   * Settles a row that is not confirmed, under a fresh epoch: a claim is made again, an order to leave is
   * carried out. Why: such an order may have made the row beyond the cap, so it must not become a claim (I10).
   * A claim that is under way is waited for: a second one would be lost, and take another block in its place.
   */
  async recover(row: Affinity, owner: string, leased: LeasedPolicy): Promise<ClaimResult> {
    const claim = await this.#claiming.get(row.block);
    if (claim !== undefined) return claim === "lost" ? { kind: "none" } : claim;
    return await this.#single(`block ${row.block}`, async () => {
      const pool = leased.policy.pools.find(
        ({ definition }) => definition.name === row.pool && definition.incarnation === row.incarnation,
      );
      const blockSize = cidrOf(row.block).prefix;
      const target = { pool: row.pool, incarnation: row.incarnation, cidr: row.poolCidr, blockSize };
      if (pool === undefined) {
        // A pool goes only when each of its blocks has said that it has no owner: nothing is behind the row.
        if (row.state !== "confirmed") this.#move(row, "remove");
        return { kind: "terminating" };
      }
      const leaves = row.state === "pendingDeletion";
      return await this.#claimFresh({ owner, pool, leased }, target, row.block, leaves);
    });
  }

  /** Marks a row whose block answered that the owner is another. */
  lose(block: string): Affinity | undefined {
    const row = this.#host.memory.affinities.get(block);
    if (row?.state === "confirmed") this.#move(row, "lose");
    return this.#host.memory.affinities.get(block);
  }

  /** Drops a row that is not confirmed, whose block is another owner's by the Pool's word. */
  forget(row: Affinity): void {
    if (row.state !== "confirmed") this.#move(row, "remove");
  }

  /** Gives a block back under an epoch that its Pool has just issued. */
  async release(request: {
    readonly owner: string;
    readonly target: PoolTarget;
    readonly block: string;
    readonly epoch: number;
    readonly mustBeEmpty: boolean;
    readonly cooldownMs: number;
    /** Asked in the transaction that marks the row; when it says no, nothing is changed. */
    readonly onlyIf?: () => boolean;
  }): Promise<ReleaseBlockAnswer> {
    const { owner, target, block, epoch, mustBeEmpty, cooldownMs } = request;
    const row = rowOf(target, block, epoch);
    const known = this.#host.memory.affinities.get(block);
    if (known === undefined && !(await this.#enrol())) return { kind: "unsettled" };
    if (this.#move(row, "release", request.onlyIf) === "moved_on") return { kind: "stale" };
    const { pool, incarnation, cidr: poolCidr } = target;
    const message = { block, pool, incarnation, poolCidr, owner, epoch, mustBeEmpty, cooldownMs };
    const answer = await again(this.#host, () => this.#port(block).releaseAffinity(message));
    if (answer.kind !== "answered") return { kind: "unsettled" };
    const said = answer.value;
    switch (said.kind) {
      case "stale":
        return { kind: "stale" };
      case "block_not_empty":
        this.#move(row, "keep");
        return { kind: "block_not_empty", allocated: said.allocated, cooling: said.cooling };
      case "draining":
        // Its own addresses stay there: it goes on finding them, as it finds what it has borrowed.
        this.#noteBorrowed(row);
        return await this.#giveBack(row, owner, target, true);
      case "closed":
      case "not_owner":
        return await this.#giveBack(row, owner, target, false);
    }
  }

  #noteBorrowed({ block, pool, incarnation }: Target): void {
    const { memory, store } = this.#host;
    store.transaction(() => saveBorrowed(store, block, pool, incarnation));
    memory.borrowed.add(block);
  }

  async #giveBack(
    row: Target,
    owner: string,
    target: PoolTarget,
    draining: boolean,
  ): Promise<ReleaseBlockAnswer> {
    const message = { ...target, owner, block: row.block, epoch: row.epoch, draining };
    const told = await again(this.#host, () => this.#poolPort(target).release(message));
    if (told.kind !== "answered") return { kind: "unsettled" };
    this.#move(row, "remove");
    return { kind: draining ? "draining" : "released" };
  }

  async #claim(wish: ClaimWish): Promise<ClaimResult> {
    const target = poolTarget(wish.pool);
    const tried: string[] = [];
    const young: { block: string; owner: string }[] = [];
    let isHeard = true;
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const offer = await this.#offers.ask(wish, target, tried);
      if (offer.kind !== "answered") return { kind: "unsettled", where: "pool" };
      if (offer.value.kind === "terminating") return { kind: "terminating" };
      if (offer.value.kind === "none") break;
      const { block, epoch } = offer.value;
      if (offer.value.kind === "reclaim") {
        if (wish.isAhead === true || tried.length >= RECLAIM_CANDIDATES_MAX) break;
        tried.push(block);
        const { owner } = offer.value;
        const said = await this.#askForBlock(owner, target, block, epoch);
        if (said === "too_young") young.push({ block, owner });
        if (said === "unsettled") isHeard = false;
        continue;
      }
      const claimed = await this.#claimAll(wish, target, [{ block, epoch }, ...(offer.value.more ?? [])]);
      if (claimed !== "lost") return claimed;
    }
    // Whether there is a block to be had is not known, as long as an owner has not answered.
    if (!isHeard) return { kind: "unsettled", where: "host", isOthers: true };
    return young.length === 0 ? { kind: "none" } : { kind: "none", young };
  }

  /** Asks the owner's Host to release an empty block. It never waits for its own claims, so two Hosts never wait for each other. */
  async #askForBlock(
    owner: string,
    target: PoolTarget,
    block: string,
    epoch: number,
  ): Promise<ReleaseBlockAnswer["kind"]> {
    const { pool, incarnation } = target;
    const message = { host: owner, block, pool, incarnation, epoch, mustBeEmpty: true, forReclaim: true };
    const answer = await again(this.#host, () => this.#host.runtime.ports.host(owner).releaseBlock(message));
    return answer.kind === "answered" ? answer.value.kind : "unsettled";
  }

  async #claimFresh(
    wish: ClaimWish,
    target: PoolTarget,
    block: string,
    leaves = false,
  ): Promise<ClaimResult> {
    const before = this.#host.memory.affinities.get(block);
    const question = { ...target, owner: wish.owner, block };
    const fresh = await once(this.#host, () => this.#poolPort(target).fresh(question));
    if (fresh.kind !== "answered") {
      this.#offers.lost(target);
      return { kind: "unsettled", where: "pool" };
    }
    if (fresh.value.kind === "other") {
      if (before !== undefined) this.forget(before);
      return { kind: "other", owner: fresh.value.owner };
    }
    const { epoch, terminating } = fresh.value;
    if (terminating || leaves) {
      const cooldownMs = wish.leased.policy.config.ipCooldownSeconds * 1000;
      const mustBeEmpty = !terminating;
      const left = await this.release({ owner: wish.owner, target, block, epoch, mustBeEmpty, cooldownMs });
      if (terminating) return { kind: "terminating" };
      return left.kind === "unsettled" ? { kind: "unsettled", where: "block" } : { kind: "none" };
    }
    const claimed = await this.#claimAt(wish, target, block, epoch);
    return claimed === "lost" ? { kind: "none" } : claimed;
  }

  /** Claims what was offered, side by side; whoever waits takes the first that has become the owner's. */
  async #claimAll(
    wish: ClaimWish,
    target: PoolTarget,
    offers: readonly BlockOffer[],
  ): Promise<ClaimResult | "lost"> {
    const meet = meeting(this.#host.runtime, offers.length, PATIENCE_MS);
    const claims = offers.map(({ block, epoch }) => this.#claimAt(wish, target, block, epoch, meet));
    const claimed = await firstOf(claims, (end) => end !== "lost" && end.kind === "claimed");
    return claimed ?? (await claims[0]) ?? "lost";
  }

  async #claimAt(
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
    const begun = this.#beginClaim(row, wish.cap);
    if (begun === "over_cap") {
      await this.#declineOffer(wish, target, block, epoch);
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
      if (this.#move(row, "confirm") === "moved_on") return "lost";
      const { memory, runtime, reports } = this.#host;
      memory.note(block, said.counts, runtime.now());
      reports.confirmed(target, block, said.counts);
      return { kind: "claimed", block, counts: said.counts };
    }
    this.#move(row, "remove");
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
  async #declineOffer(wish: ClaimWish, target: PoolTarget, block: string, epoch: number): Promise<void> {
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

  /** The cap is checked in the transaction that inserts the row, over rows in every state (I10). */
  #beginClaim(row: Target, cap: number | undefined): "begun" | "over_cap" | "moved_on" | "removing" {
    const { store, memory, runtime } = this.#host;
    const now = runtime.now();
    const outcome = store.transaction(() => {
      const before = readAffinity(store, row.block);
      const isNew = before === undefined;
      // An order to leave may have made its row beyond the cap: what matters are the others.
      const others = countAffinities(store, row.family) - (isNew ? 0 : 1);
      const isChecked = isNew || before.state === "pendingDeletion";
      if (isChecked && cap !== undefined && others >= cap) return "over_cap";
      // A removed host takes nothing: what was offered goes back, as beyond a cap.
      const gone = readRegistration(store)?.gone;
      if (gone !== undefined && gone.isOver !== true) return isNew ? "over_cap" : "removing";
      return moveAffinity(store, row, "claim", now);
    });
    if (outcome === "over_cap" || outcome === "removing") return outcome;
    if (outcome === "moved_on" || outcome === "gone") return "moved_on";
    memory.moved(row.block, outcome);
    this.#moves += 1;
    return "begun";
  }

  #move(row: Target, event: AffinityEvent, onlyIf?: () => boolean): Affinity | "gone" | "moved_on" {
    const { store, memory, runtime } = this.#host;
    const { block, pool, poolCidr, incarnation, family, epoch } = row;
    const target = { block, pool, poolCidr, incarnation, family, epoch };
    const moved = store.transaction(() => {
      if (onlyIf?.() === false) return "moved_on";
      if (event === "confirm") this.#host.confirmations.arm();
      return moveAffinity(store, target, event, runtime.now());
    });
    memory.moved(block, moved);
    if (moved === "gone") this.#offers.lost(row);
    if (moved !== "moved_on") this.#moves += 1;
    return moved;
  }

  async #single(name: string, run: () => Promise<ClaimResult>): Promise<ClaimResult> {
    const running = this.#running.get(name);
    if (running !== undefined) return await running;
    const mine = run().finally(() => this.#running.delete(name));
    this.#running.set(name, mine);
    return await mine;
  }

  #port(block: string) {
    return this.#host.runtime.ports.block(block);
  }

  #poolPort({ pool, incarnation }: PoolTarget) {
    return this.#host.runtime.ports.pool(pool, incarnation);
  }
}

function claimName(kind: "claim" | "ahead", { definition }: CompiledPool): string {
  return `${kind} ${definition.name} ${definition.incarnation}`;
}

function rowOf(target: PoolTarget, block: string, epoch: number): Target {
  const { pool, incarnation, cidr: poolCidr } = target;
  return { block, pool, poolCidr, incarnation, family: cidrOf(block).family, epoch };
}
