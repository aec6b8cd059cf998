/**
 * What a Host asks its Pools for when it wants a block, and whether it has to name the blocks that it knows.
 * May import: core, rpc, platform, storage. Rule: whoever is not sure to know all its blocks names them.
 */
import { BLOCKS_PER_CLAIM_MAX } from "../src/core/limits.ts";
import { reservedPositions } from "../src/core/placement.ts";
import type { CallOutcome } from "../src/platform/call.ts";
import type { PoolClaimAnswer, PoolTarget } from "../src/rpc/pool.ts";
import type { ClaimWish } from "./host-claim-steps.ts";
import { type HostContext, once } from "./host-context.ts";

/** Claims after which all blocks are named once more. Why: a check, or another instance, may have had some too. */
const UNNAMED_MAX = 64;

export class HostOffers {
  readonly #host: HostContext;
  /** Pools that say that this Host knows all its blocks there, and how many claims ago it named them. */
  readonly #inStep = new Map<string, number>();

  constructor(host: HostContext) {
    this.#host = host;
  }

  /** Asks for a block; `tried`: those whose owners did not give them up. */
  async ask(
    wish: ClaimWish,
    target: PoolTarget,
    tried: readonly string[],
  ): Promise<CallOutcome<PoolClaimAnswer>> {
    const { owner, leased, pool } = wish;
    const unnamed = this.#inStep.get(nameOf(target)) ?? UNNAMED_MAX;
    const inStep = unnamed < UNNAMED_MAX;
    const known = inStep ? [] : this.#known(target);
    const excluded = reservedPositions(leased.policy, pool);
    const policyVersion = leased.policy.version;
    const more = this.#more(wish);
    const question = { ...target, owner, known, inStep, more, excluded, tried, policyVersion };
    const { ports } = this.#host.runtime;
    const answer = await once(this.#host, () => ports.pool(target.pool, target.incarnation).claim(question));
    const isInStep = answer.kind === "answered" && answer.value.kind === "claim" && answer.value.inStep;
    if (isInStep === true) this.#inStep.set(nameOf(target), inStep ? unnamed + 1 : 1);
    else this.lost(target);
    return answer;
  }

  /** What was issued did not become this Host's, or nobody knows: it may be named the owner of blocks without a row. */
  lost(target: Pick<PoolTarget, "pool" | "incarnation">): void {
    this.#inStep.delete(nameOf(target));
  }

  /** Blocks beside the first: as many as are wanted, and as the cap leaves room for. */
  #more({ more = 0, cap, pool }: ClaimWish): number {
    const left = (cap ?? 0) - this.#host.memory.countOf(pool.cidr.family);
    return Math.max(0, Math.min(more, BLOCKS_PER_CLAIM_MAX - 1, left - 1));
  }

  #known({ pool, incarnation }: PoolTarget): string[] {
    const rows = [...this.#host.memory.affinities.values()];
    return rows
      .filter((row) => row.pool === pool && row.incarnation === incarnation)
      .map(({ block }) => block);
  }
}

function nameOf({ pool, incarnation }: Pick<PoolTarget, "pool" | "incarnation">): string {
  return `${pool} ${incarnation}`;
}
