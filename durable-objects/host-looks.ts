/**
 * What requests that arrived together read of others: each block and each Pool is asked once for all.
 * May import: core, rpc, platform. Rule: an answer is shared only by requests that began before it.
 */
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import type { BlockView } from "../src/rpc/block.ts";
import type { BlockReport, PoolPort } from "../src/rpc/pool.ts";
import { again, blockPolicy, type HostContext, poolTarget } from "./host-context.ts";

type Offer = Awaited<ReturnType<PoolPort["borrowCandidates"]>>;

/** Blocks of others that one question asks for. */
export const CANDIDATES = 16;

export class HostLooks {
  readonly #host: HostContext;
  readonly #blocks = new Map<string, Promise<BlockView | undefined>>();
  readonly #offers = new Map<string, Promise<Offer | undefined>>();
  /** Pools that had no block to claim, by the policy's version. */
  readonly #withoutBlock = new Set<string>();

  constructor(host: HostContext) {
    this.#host = host;
  }

  /** Asks a block for its figures; undefined: it did not answer. */
  describe(policy: CompiledPolicy, pool: CompiledPool, block: string): Promise<BlockView | undefined> {
    return shared(this.#blocks, `${policy.version} ${block}`, async () => {
      const question = { block, policy: blockPolicy(policy, pool, block) };
      const answer = await again(this.#host, () => this.#host.runtime.ports.block(block).describe(question));
      return answer.kind === "answered" ? answer.value : undefined;
    });
  }

  /** Asks a Pool which blocks of others may have room; undefined: it did not answer. */
  candidates(
    policy: CompiledPolicy,
    pool: CompiledPool,
    owner: string,
    tried: readonly string[],
    seen: readonly BlockReport[],
  ): Promise<Offer | undefined> {
    const target = poolTarget(pool);
    const name = `${policy.version} ${target.pool} ${target.incarnation} ${tried.join(" ")}`;
    return shared(this.#offers, name, async () => {
      const policyVersion = policy.version;
      const question = { ...target, owner, limit: CANDIDATES, tried, seen, policyVersion };
      const port = () => this.#host.runtime.ports.pool(target.pool, target.incarnation);
      const answer = await again(this.#host, () => port().borrowCandidates(question));
      return answer.kind === "answered" ? answer.value : undefined;
    });
  }

  /** A claim found no block in the pool. */
  noteWithoutBlock(policy: CompiledPolicy, { definition }: CompiledPool): void {
    this.#withoutBlock.add(`${policy.version} ${definition.name}`);
  }

  isWithoutBlock(policy: CompiledPolicy, { definition }: CompiledPool): boolean {
    return this.#withoutBlock.has(`${policy.version} ${definition.name}`);
  }
}

function shared<T>(known: Map<string, Promise<T>>, name: string, ask: () => Promise<T>): Promise<T> {
  const before = known.get(name);
  if (before !== undefined) return before;
  const answer = ask();
  known.set(name, answer);
  return answer;
}
