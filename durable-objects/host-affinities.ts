/**
 * How a Host gets blocks and gives them back: claim, recovery, release. May import: core, rpc, platform.
 * Rule: fresh epoch first, row before the block is asked, and a step whose row has moved on stops.
 */

import { RECLAIM_CANDIDATES_MAX } from "../src/core/limits.ts";
import type { CompiledPool } from "../src/core/policy.ts";
import type { ReleaseBlockAnswer } from "../src/rpc/host.ts";
import type { LeasedPolicy } from "../src/rpc/policy-source.ts";
import type { PoolTarget } from "../src/rpc/pool.ts";
import { AffinityRows } from "./host-affinity-rows.ts";
import { HostAhead } from "./host-ahead.ts";
import { type ClaimResult, ClaimSteps, type ClaimWish } from "./host-claim-steps.ts";
import { again, cidrOf, type HostContext, once, poolTarget } from "./host-context.ts";
import { HostOffers } from "./host-offers.ts";
import { HostReturns, type Return } from "./host-returns.ts";
import { HostSurrender } from "./host-surrender.ts";
import type { Affinity } from "./storage/host-rows.ts";

/** Rounds of one claim: lost races and reclaims. Why: a claim must end. */
const ROUNDS_MAX = 8;

export class HostAffinities {
  readonly #host: HostContext;
  readonly #offers: HostOffers;
  readonly #rows: AffinityRows;
  readonly #steps: ClaimSteps;
  readonly #returns: HostReturns;
  /** One claim per pool and one recovery per block at a time; who comes later waits for it. */
  readonly #running = new Map<string, Promise<ClaimResult>>();
  /** What becomes of the blocks of pools that do not select the host. */
  readonly surrender: HostSurrender;
  /** Blocks that a burst will need next. */
  readonly ahead: HostAhead;

  constructor(host: HostContext, enrol: () => Promise<boolean>) {
    this.#host = host;
    this.#offers = new HostOffers(host);
    this.#rows = new AffinityRows(host, this.#offers);
    this.#steps = new ClaimSteps(host, enrol, this.#offers, this.#rows);
    this.#returns = new HostReturns(host, enrol, this.#rows);
    this.surrender = new HostSurrender(host, this);
    this.ahead = new HostAhead(host, this);
  }

  /** Rises with every row that moved: who has looked through the rows knows whether to look again. */
  get moves(): number {
    return this.#rows.moves;
  }

  /** Whether this instance claims or recovers the block just now. */
  isUnderWay(block: string): boolean {
    return this.#steps.of(block) !== undefined || this.#running.has(`block ${block}`);
  }

  /** Whether the block is being claimed ahead just now: who needs one takes the first of those that comes. */
  isAhead(block: string): boolean {
    return this.#steps.isAhead(block);
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
    const claim = await this.#steps.of(row.block);
    if (claim !== undefined) return claim === "lost" ? { kind: "none" } : claim;
    return await this.#single(`block ${row.block}`, async () => {
      const pool = leased.policy.pools.find(
        ({ definition }) => definition.name === row.pool && definition.incarnation === row.incarnation,
      );
      const blockSize = cidrOf(row.block).prefix;
      const target = { pool: row.pool, incarnation: row.incarnation, cidr: row.poolCidr, blockSize };
      if (pool === undefined) {
        // A pool goes only when each of its blocks has said that it has no owner: nothing is behind the row.
        if (row.state !== "confirmed") this.#rows.move(row, "remove");
        return { kind: "terminating" };
      }
      const leaves = row.state === "pendingDeletion";
      return await this.#claimFresh({ owner, pool, leased }, target, row.block, leaves);
    });
  }

  /** Marks a row whose block answered that the owner is another. */
  lose(block: string): Affinity | undefined {
    const row = this.#host.memory.affinities.get(block);
    if (row?.state === "confirmed") this.#rows.move(row, "lose");
    return this.#host.memory.affinities.get(block);
  }

  /** Drops a row that is not confirmed, whose block is another owner's by the Pool's word. */
  forget(row: Affinity): void {
    if (row.state !== "confirmed") this.#rows.move(row, "remove");
  }

  /** Gives a block back under an epoch that its Pool has just issued. */
  release(request: Return): Promise<ReleaseBlockAnswer> {
    return this.#returns.run(request);
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
      const claimed = await this.#steps.all(wish, target, [{ block, epoch }, ...(offer.value.more ?? [])]);
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
    const claimed = await this.#steps.at(wish, target, block, epoch);
    return claimed === "lost" ? { kind: "none" } : claimed;
  }

  async #single(name: string, run: () => Promise<ClaimResult>): Promise<ClaimResult> {
    const running = this.#running.get(name);
    if (running !== undefined) return await running;
    const mine = run().finally(() => this.#running.delete(name));
    this.#running.set(name, mine);
    return await mine;
  }

  #poolPort({ pool, incarnation }: PoolTarget) {
    return this.#host.runtime.ports.pool(pool, incarnation);
  }
}

function claimName(kind: "claim" | "ahead", { definition }: CompiledPool): string {
  return `${kind} ${definition.name} ${definition.incarnation}`;
}
