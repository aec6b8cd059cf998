/**
 * The claims of one search: rows that were left half-way, blocks claimed under the cap, the next one of a burst.
 * May import: core, rpc, platform. Rule: a claim without an answer ends the search, the next pool waits.
 */
import { type Considered, rejection } from "../src/core/errors.ts";
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import type { HostAllocateRequest } from "../src/rpc/host.ts";
import type { LeasedPolicy } from "../src/rpc/policy-source.ts";
import type { HostAffinities } from "./host-affinities.ts";
import type { HostAttempt } from "./host-attempt.ts";
import type { Seat } from "./host-attempt-terms.ts";
import type { ClaimWish } from "./host-claim-steps.ts";
import { blockMet } from "./host-considered.ts";
import type { HostContext } from "./host-context.ts";
import type { HostLooks } from "./host-looks.ts";
import type { Step } from "./host-search.ts";
import { type HostSeats, isRowOf } from "./host-seats.ts";
import type { Affinity } from "./storage/host-rows.ts";

interface Parts {
  readonly host: HostContext;
  readonly affinities: HostAffinities;
  readonly looks: HostLooks;
}

/** What a search does with a block that was claimed, and with other own ones that have got room meanwhile. */
interface Visits {
  readonly visit: (seat: Seat) => Promise<Step>;
  readonly visitOthers: () => Promise<Step>;
}

/** How the claims of a search ended. */
export interface ClaimsEnd {
  readonly step: Step;
  readonly capReached: boolean;
  /** An owner of an empty block did not answer: there may be more to claim. */
  readonly isUnheard?: true;
}

const GO_ON: ClaimsEnd = { step: "go_on", capReached: false };
const CAP_REACHED: ClaimsEnd = { step: "go_on", capReached: true };

export class HostClaims {
  readonly #host: HostContext;
  readonly #affinities: HostAffinities;
  readonly #looks: HostLooks;
  readonly #attempt: HostAttempt;
  readonly #seats: HostSeats;
  readonly #request: HostAllocateRequest;

  constructor(parts: Parts, attempt: HostAttempt, seats: HostSeats, request: HostAllocateRequest) {
    this.#host = parts.host;
    this.#affinities = parts.affinities;
    this.#looks = parts.looks;
    this.#attempt = attempt;
    this.#seats = seats;
    this.#request = request;
  }

  /** Claims block after block, each of which is visited, until that is enough, or no more is to be had. */
  async run(
    leased: LeasedPolicy,
    pools: readonly CompiledPool[],
    { visit, visitOthers }: Visits,
    met: (considered: Considered) => void,
  ): Promise<ClaimsEnd> {
    const { policy } = leased;
    const cap = policy.cap(this.#request.maxBlocksPerHost);
    if (this.#seats.rows() >= cap) return CAP_REACHED;
    if (!policy.config.autoAllocateBlocks) return GO_ON;
    for (const pool of pools) {
      // Ends: each round adds a row under the cap, or leaves the pool.
      while (this.#seats.rows() < cap && !this.#looks.isWithoutBlock(policy, pool)) {
        const claimed = await this.#affinities.claim(this.#wish(leased, pool, cap));
        if (claimed.kind === "over_cap") return CAP_REACHED;
        // One owner that is silent keeps nobody from what others lend.
        if (claimed.kind === "unsettled" && claimed.isOthers === true) return { ...GO_ON, isUnheard: true };
        // Nobody knows whether this pool has a block: the next pool's turn has not come.
        if (claimed.kind === "unsettled") {
          const refusal = rejection("overloaded", { where: claimed.where }, 1);
          return { step: { kind: "refused", refusal }, capReached: false };
        }
        if (claimed.kind === "none") this.#withoutBlock(policy, pool, claimed.young, met);
        if (claimed.kind !== "claimed") break;
        const seat: Seat = { pool, block: claimed.block, isOwn: true };
        // Shared with others: those who came first have filled it. Some were claimed with it, perhaps.
        if (claimed.counts.available > 0 && !this.#seats.mayHaveRoom(seat)) {
          const step = await visitOthers();
          if (step !== "go_on") return { step, capReached: false };
          continue;
        }
        const before = this.#attempt.missing;
        const step = await visit(seat);
        if (step !== "go_on") return { step, capReached: false };
        // A new block that has no usable address: more of the same would only be wasted. One that others
        // have filled in the meantime is no reason to stop.
        const counts = this.#host.memory.hint(claimed.block)?.counts;
        const isUnusable = counts === undefined || (counts.allocated === 0 && counts.cooling === 0);
        if (this.#attempt.missing === before && isUnusable) break;
      }
    }
    return this.#seats.rows() >= cap ? CAP_REACHED : GO_ON;
  }

  /**
   * A burst claims its next block while the one that has just served still has room. `taken`: addresses that
   * were created; what is only told again needs no block, and its pool may be closed by now.
   */
  noteServed({ pool }: Seat, policy: CompiledPolicy, taken: number): void {
    if (taken === 0) return;
    if (!policy.config.autoAllocateBlocks || this.#request.hostReserved !== undefined) return;
    const cap = policy.cap(this.#request.maxBlocksPerHost);
    const wish = (): ClaimWish | undefined => {
      const leased = this.#host.runtime.policy.held(this.#host.runtime.now());
      const isUnder = leased?.policy.version === policy.version && this.#seats.rows() < cap;
      if (leased === undefined || !isUnder) return undefined;
      // The deadline is that of a request which has been served.
      const { deadlineAt: _over, ...next } = this.#wish(leased, pool, cap);
      return next;
    };
    this.#affinities.ahead.served(wish, pool, taken);
  }

  /** Rows that an interrupted claim or release left behind; those of pools that have gone too: caps count them. */
  async recoverRows(leased: LeasedPolicy, pools: readonly CompiledPool[]): Promise<void> {
    const isOver = (row: Affinity) => !leased.policy.pools.some((pool) => isRowOf(row, pool));
    const left = this.#host.memory.unsettled().filter((row) => {
      return (
        (pools.some((pool) => isRowOf(row, pool)) || isOver(row)) && !this.#affinities.isAhead(row.block)
      );
    });
    await Promise.all(left.map((row) => this.#affinities.recover(row, this.#request.host, leased)));
  }

  /** A block said that it is not the host's. True: it is its own again. */
  async recoverLost(block: string): Promise<boolean> {
    const row = this.#affinities.lose(block);
    const leased = await this.#host.runtime.policy.current(this.#host.runtime.now());
    if (row === undefined || leased === undefined) return false;
    const recovered = await this.#affinities.recover(row, this.#request.host, leased);
    return recovered.kind === "claimed";
  }

  #withoutBlock(
    policy: CompiledPolicy,
    pool: CompiledPool,
    young: readonly { readonly block: string; readonly owner: string }[] = [],
    met: (considered: Considered) => void,
  ): void {
    this.#looks.noteWithoutBlock(policy, pool);
    for (const { block, owner } of young) {
      const seat = { pool, block, owner, isOwn: false };
      met(blockMet(seat, this.#request.host, "skipped", "reclaim_too_young"));
    }
  }

  #wish(leased: LeasedPolicy, pool: CompiledPool, cap: number): ClaimWish {
    const { host, hostReserved, deadlineAt } = this.#request;
    const ends = this.#attempt.wish.family === 4 ? hostReserved?.ipv4 : hostReserved?.ipv6;
    return {
      owner: host,
      pool,
      leased,
      cap,
      ...(ends === undefined ? {} : { hostReserved: ends }),
      ...(deadlineAt === undefined ? {} : { deadlineAt }),
    };
  }
}
