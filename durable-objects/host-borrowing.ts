/**
 * Single addresses from blocks of others: who may have room, by the Pool's hints, and what they say.
 * May import: core, rpc, platform. Rule: a `borrowed` row is there before the first address is.
 */
import { type Considered, rejection } from "../src/core/errors.ts";
import { earliest } from "../src/core/placement.ts";
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import type { BlockReport } from "../src/rpc/pool.ts";
import type { HostAttempt } from "./host-attempt.ts";
import type { AttemptRefusal, Seat } from "./host-attempt-terms.ts";
import { blockConsidered, blockMet } from "./host-considered.ts";
import type { HostContext } from "./host-context.ts";
import type { HostLooks } from "./host-looks.ts";
import { saveBorrowed } from "./storage/host-rows.ts";

type Step =
  | "complete"
  | "go_on"
  | { readonly kind: "refused"; readonly refusal: AttemptRefusal }
  | { readonly kind: "policy_changed" };

/** What the blocks of others have to give. */
export interface OthersResult {
  readonly step: Step;
  readonly haveRoom: boolean;
  readonly nextFreeAt?: number;
  readonly considered: readonly Considered[];
  /** Pools in which a block of others has room. */
  readonly roomElsewhere: ReadonlySet<string>;
  /** False when a Pool or a block that was asked did not answer. */
  readonly isComplete: boolean;
}

interface Candidate {
  readonly block: string;
  readonly owner?: string;
  readonly known: boolean;
}

/** Questions per pool; bounds the calls of one request. */
export const ROUNDS_MAX = 16;

export class HostBorrowing {
  readonly #host: HostContext;
  readonly #enrol: () => Promise<boolean>;
  readonly #attempt: HostAttempt;
  readonly #looks: HostLooks;

  constructor(host: HostContext, enrol: () => Promise<boolean>, attempt: HostAttempt, looks: HostLooks) {
    this.#host = host;
    this.#enrol = enrol;
    this.#attempt = attempt;
    this.#looks = looks;
  }

  /** Takes what is missing from blocks of others, pool by pool. */
  async borrow(
    pools: readonly CompiledPool[],
    policy: CompiledPolicy,
    visit: (seat: Seat) => Promise<Step>,
  ): Promise<OthersResult> {
    return await this.#search(pools, policy, async (seat) => (await this.note(seat)) ?? (await visit(seat)));
  }

  /** Only looks whether others have room, for the reason of a refusal. */
  async survey(pools: readonly CompiledPool[], policy: CompiledPolicy): Promise<OthersResult> {
    return await this.#search(pools, policy, undefined);
  }

  async #search(
    pools: readonly CompiledPool[],
    policy: CompiledPolicy,
    visit: ((seat: Seat) => Promise<Step>) | undefined,
  ): Promise<OthersResult> {
    const considered: Considered[] = [];
    const roomElsewhere = new Set<string>();
    let nextFreeAt: number | undefined;
    let isComplete = true;
    const soFar = (step: Step): OthersResult => {
      const haveRoom = roomElsewhere.size > 0;
      return { step, haveRoom, considered, roomElsewhere, isComplete, ...at(nextFreeAt) };
    };
    for (const pool of pools) {
      const tried: string[] = [];
      let seen: BlockReport[] = [];
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const offer = await this.#looks.candidates(policy, pool, this.#attempt.wish.host, tried, seen);
        if (offer === undefined) {
          isComplete = false;
          break;
        }
        nextFreeAt = earliest([nextFreeAt, offer.nextFreeAt]);
        if (offer.candidates.length === 0) break;
        seen = [];
        // For a reason the likeliest one is mostly enough.
        const isFirst = visit === undefined && round === 0;
        const offered = offer.candidates.slice(0, isFirst ? 1 : offer.candidates.length);
        const asked = visit === undefined ? offered.map(unknown) : offered;
        const withRoom = await this.#withRoom(pool, policy, asked, seen, considered);
        if (seen.length < asked.filter(({ known }) => !known).length) isComplete = false;
        for (const candidate of withRoom) {
          roomElsewhere.add(pool.definition.name);
          const seat = seatOf(pool, candidate);
          if (visit === undefined) {
            considered.push(this.#barred(seat, policy));
            return soFar("go_on");
          }
          const step = await visit(seat);
          if (step !== "go_on") return soFar(step);
        }
        for (const { counts } of seen) nextFreeAt = earliest([nextFreeAt, counts?.nextFreeAt]);
        tried.push(...offered.map(({ block }) => block));
      }
    }
    return soFar("go_on");
  }

  /** A block with room that the host may not borrow from. */
  #barred(seat: Seat, { config }: CompiledPolicy): Considered {
    const rule = config.strictAffinity ? "strict_affinity" : "owned_by_other";
    return blockMet(seat, this.#attempt.wish.host, "skipped", rule);
  }

  /** Those with room: by the Pool's hints, or, where it has none, by their own word. */
  async #withRoom(
    pool: CompiledPool,
    policy: CompiledPolicy,
    candidates: readonly Candidate[],
    seen: BlockReport[],
    considered: Considered[],
  ): Promise<Candidate[]> {
    const asked = candidates.map(async (candidate) => {
      if (candidate.known) return candidate;
      const view = await this.#looks.describe(policy, pool, candidate.block);
      if (view === undefined) return undefined;
      seen.push({ block: candidate.block, counts: view.counts });
      if (view.counts.available > 0) return candidate;
      considered.push(blockConsidered(seatOf(pool, candidate), this.#attempt.wish.host, view.counts));
      return undefined;
    });
    return (await Promise.all(asked)).filter((candidate) => candidate !== undefined);
  }

  /**
   * The collector finds borrowed addresses by this row, and the Host by Cluster's directory: it has no row
   * before it has entered itself there. Returns the refusal when it could not.
   */
  async note({ pool, block }: Seat): Promise<Exclude<Step, string> | undefined> {
    const { memory, store } = this.#host;
    if (memory.borrowed.has(block)) return undefined;
    if (!(await this.#enrol())) {
      return { kind: "refused", refusal: rejection("overloaded", { where: "cluster" }, 1) };
    }
    const { name, incarnation } = pool.definition;
    store.transaction(() => saveBorrowed(store, block, name, incarnation));
    memory.borrowed.add(block);
    return undefined;
  }
}

function at(nextFreeAt: number | undefined): { nextFreeAt?: number } {
  return nextFreeAt === undefined ? {} : { nextFreeAt };
}

/** A reason is told by the blocks' own word: a hint may be older than a reservation. */
function unknown(candidate: Candidate): Candidate {
  return { ...candidate, known: false };
}

function seatOf(pool: CompiledPool, { block, owner }: Candidate): Seat {
  return { pool, block, isOwn: false, ...(owner === undefined ? {} : { owner }) };
}
