/**
 * Single addresses from blocks of others: who may have room, by the Pool's hints, and what they say.
 * May import: core, rpc, platform. Rule: a `borrowed` row is there before the first address is.
 */
import type { BlockCounts } from "../src/core/allocation.ts";
import type { Considered } from "../src/core/errors.ts";
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import type { BlockReport } from "../src/rpc/pool.ts";
import type { AttemptRefusal, HostAttempt, Seat } from "./host-attempt.ts";
import { again, blockPolicy, type HostContext, poolTarget } from "./host-context.ts";
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
  /** False when a Pool or a block that was asked did not answer. */
  readonly isComplete: boolean;
}

interface Candidate {
  readonly block: string;
  readonly owner?: string;
  readonly known: boolean;
}

/** Candidates per question, and questions per pool; bounds the calls of one request. */
export const CANDIDATES = 16;
export const ROUNDS_MAX = 16;

export class HostBorrowing {
  readonly #host: HostContext;
  readonly #enrol: () => Promise<boolean>;
  readonly #attempt: HostAttempt;

  constructor(host: HostContext, enrol: () => Promise<boolean>, attempt: HostAttempt) {
    this.#host = host;
    this.#enrol = enrol;
    this.#attempt = attempt;
  }

  /** Takes what is missing from blocks of others, pool by pool. */
  async borrow(
    pools: readonly CompiledPool[],
    policy: CompiledPolicy,
    visit: (seat: Seat) => Promise<Step>,
  ): Promise<OthersResult> {
    return await this.#search(pools, policy, async (seat) => {
      await this.#noteBorrowed(seat);
      return await visit(seat);
    });
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
    let nextFreeAt: number | undefined;
    let haveRoom = false;
    let isComplete = true;
    for (const pool of pools) {
      const tried: string[] = [];
      let seen: BlockReport[] = [];
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const offer = await this.#candidates(pool, tried, seen);
        if (offer === undefined) {
          isComplete = false;
          break;
        }
        nextFreeAt = sooner(nextFreeAt, offer.nextFreeAt);
        if (offer.candidates.length === 0) break;
        seen = [];
        const withRoom = await this.#withRoom(pool, policy, offer.candidates, seen);
        if (seen.length < offer.candidates.filter(({ known }) => !known).length) isComplete = false;
        for (const candidate of withRoom) {
          haveRoom = true;
          if (visit === undefined)
            return { step: "go_on", haveRoom, considered, isComplete, ...at(nextFreeAt) };
          const step = await visit({ pool, block: candidate.block, isOwn: false });
          if (step !== "go_on") return { step, haveRoom, considered, isComplete, ...at(nextFreeAt) };
        }
        for (const { counts } of seen) nextFreeAt = sooner(nextFreeAt, counts?.nextFreeAt);
        tried.push(...offer.candidates.map(({ block }) => block));
      }
    }
    return { step: "go_on", haveRoom, considered, isComplete, ...at(nextFreeAt) };
  }

  async #candidates(pool: CompiledPool, tried: readonly string[], seen: readonly BlockReport[]) {
    const target = poolTarget(pool);
    const owner = this.#attempt.wish.host;
    const question = { ...target, owner, limit: CANDIDATES, tried, seen };
    const port = () => this.#host.runtime.ports.pool(target.pool, target.incarnation);
    const answer = await again(this.#host, () => port().borrowCandidates(question));
    return answer.kind === "answered" ? answer.value : undefined;
  }

  /** Those with room: by the Pool's hints, or, where it has none, by their own word. */
  async #withRoom(
    pool: CompiledPool,
    policy: CompiledPolicy,
    candidates: readonly Candidate[],
    seen: BlockReport[],
  ): Promise<Candidate[]> {
    const asked = candidates.map(async (candidate) => {
      if (candidate.known) return candidate;
      const counts = await this.#counts(pool, policy, candidate.block);
      if (counts === undefined) return undefined;
      seen.push({ block: candidate.block, counts });
      return counts.available > 0 ? candidate : undefined;
    });
    return (await Promise.all(asked)).filter((candidate) => candidate !== undefined);
  }

  async #counts(pool: CompiledPool, policy: CompiledPolicy, block: string): Promise<BlockCounts | undefined> {
    const question = { block, policy: blockPolicy(policy, pool, block) };
    const answer = await again(this.#host, () => this.#host.runtime.ports.block(block).describe(question));
    return answer.kind === "answered" ? answer.value.counts : undefined;
  }

  /** The collector finds borrowed addresses by this row. */
  async #noteBorrowed({ pool, block }: Seat): Promise<void> {
    const { memory, store } = this.#host;
    if (memory.borrowed.has(block)) return;
    await this.#enrol();
    const { name, incarnation } = pool.definition;
    store.transaction(() => saveBorrowed(store, block, name, incarnation));
    memory.borrowed.add(block);
  }
}

function at(nextFreeAt: number | undefined): { nextFreeAt?: number } {
  return nextFreeAt === undefined ? {} : { nextFreeAt };
}

function sooner(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}
