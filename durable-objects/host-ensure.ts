/**
 * Blocks without addresses: one for the host to work in, and one that an operator names.
 * May import: core, rpc, platform. Rule: the same claim as for an allocation, nothing of its own.
 */
import { type Considered, type Family, type Rejection, rejection } from "../src/core/errors.ts";
import { CONSIDERED_REFUSAL_MAX } from "../src/core/limits.ts";
import { boundConsidered } from "../src/core/placement.ts";
import type { CompiledPool } from "../src/core/policy.ts";
import { choosePools } from "../src/core/pool-choice.ts";
import { err, ok, type Result } from "../src/core/result.ts";
import type {
  ClaimBlockAnswer,
  ClaimBlockRequest,
  EnsureBlocksRequest,
  EnsuredBlock,
  EnsureRefusal,
} from "../src/rpc/host.ts";
import type { LeasedPolicy } from "../src/rpc/policy-source.ts";
import type { HostAffinities } from "./host-affinities.ts";
import type { ClaimResult } from "./host-claim-steps.ts";
import { again, blockPolicy, cidrOf, type HostContext, poolTarget } from "./host-context.ts";
import type { Affinity } from "./storage/host-rows.ts";

type Labels = Readonly<Record<string, string>>;
type ShortCode = Extract<
  EnsureRefusal["code"],
  "block_limit_reached" | "auto_allocate_disabled" | "pool_exhausted"
>;

export class HostEnsure {
  readonly #host: HostContext;
  readonly #affinities: HostAffinities;

  constructor(host: HostContext, affinities: HostAffinities) {
    this.#host = host;
    this.#affinities = affinities;
  }

  /** A block of each family, IPv4 first; a block that was got before a refusal stays the host's. */
  async ensure(
    request: EnsureBlocksRequest,
    labels: Labels,
  ): Promise<Result<readonly EnsuredBlock[], EnsureRefusal>> {
    const blocks: EnsuredBlock[] = [];
    for (const family of [4, 6] as const) {
      if (!request.families.includes(family)) continue;
      const got = await this.#family(request, labels, family);
      if (!got.ok) return got;
      blocks.push({ family, block: got.value });
    }
    return ok(blocks);
  }

  /** Claims one named block. No cap, selector or registration stands against it, yet caps count it. */
  async claimBlock(request: ClaimBlockRequest): Promise<ClaimBlockAnswer> {
    const { host, block, deadlineAt } = request;
    const { memory, runtime } = this.#host;
    if (memory.isRemoving) return { kind: "host_removing" };
    if (memory.affinities.get(block)?.state === "confirmed") return { kind: "already_owned" };
    const leased = await runtime.policy.current(runtime.now());
    if (leased === undefined) return { kind: "unsettled" };
    const pool = leased.policy.pools.find((one) => isOf(request, one));
    if (pool === undefined || pool.definition.disabled) return { kind: "closed" };
    const deadline = deadlineAt === undefined ? {} : { deadlineAt };
    const claimed = await this.#affinities.claimExactly({ owner: host, pool, leased, ...deadline }, block);
    switch (claimed.kind) {
      case "claimed":
        return { kind: "claimed" };
      case "other":
        return { kind: "owned_by_other", owner: claimed.owner };
      case "terminating":
        return { kind: "closed" };
      case "over_cap":
        // Without a cap only a host that is being removed takes no row.
        return { kind: "host_removing" };
      case "unsettled":
        return { kind: "unsettled" };
      case "none":
        return await this.#whyNone(host, leased, pool, block);
    }
  }

  /** The block refused: it has another owner by now, or none and still holds addresses. */
  async #whyNone(
    host: string,
    { policy }: LeasedPolicy,
    pool: CompiledPool,
    block: string,
  ): Promise<ClaimBlockAnswer> {
    const target = poolTarget(pool);
    const { ports } = this.#host.runtime;
    const port = () => ports.pool(target.pool, target.incarnation);
    const found = await again(this.#host, () => port().find({ ...target, block }));
    const entry = found.kind === "answered" ? found.value.entry : undefined;
    if (entry?.owner !== undefined && entry.owner !== host) {
      return { kind: "owned_by_other", owner: entry.owner };
    }
    if (entry?.state !== "draining") return { kind: "unsettled" };
    const question = { block, policy: blockPolicy(policy, pool, block) };
    const view = await again(this.#host, () => ports.block(block).describe(question));
    if (view.kind !== "answered") return { kind: "unsettled" };
    return { kind: "not_empty", allocated: view.value.counts.allocated };
  }

  async #family(
    request: EnsureBlocksRequest,
    labels: Labels,
    family: Family,
  ): Promise<Result<string, EnsureRefusal>> {
    const { host, hostReserved } = request;
    const { runtime, memory } = this.#host;
    const leased = await runtime.policy.current(runtime.now());
    if (leased === undefined) return err(rejection("policy_unavailable", {}, 1));
    if (memory.isRemoving) return err(rejection("host_removing", { host }));
    const { maintenance, maintenanceReason: reason } = leased.policy.config;
    if (maintenance) return err(rejection("maintenance", reason === undefined ? {} : { reason }));
    const ends = family === 4 ? hostReserved?.ipv4 : hostReserved?.ipv6;
    const choice = choosePools(leased.policy, {
      family,
      use: "Workload",
      hostLabels: labels,
      hostReserved: ends,
    });
    if (!choice.ok) {
      const { code, considered } = choice.error;
      return err(this.#short(code as ShortCode, host, family, considered));
    }
    const { pools, considered } = choice.value;
    const own = this.#own(leased, pools) ?? (await this.#recovered(host, leased, pools));
    if (own !== undefined) return ok(own);
    const deadline = request.deadlineAt === undefined ? {} : { deadlineAt: request.deadlineAt };
    const wish = { owner: host, leased, ...(ends === undefined ? {} : { hostReserved: ends }), ...deadline };
    return await this.#claim(wish, family, pools, considered);
  }

  async #claim(
    wish: Omit<Parameters<HostAffinities["claim"]>[0], "pool" | "cap">,
    family: Family,
    pools: readonly CompiledPool[],
    considered: readonly Considered[],
  ): Promise<Result<string, EnsureRefusal>> {
    const { policy } = wish.leased;
    const { owner: host } = wish;
    const cap = policy.cap();
    const overCap = (): Result<string, EnsureRefusal> =>
      err(this.#short("block_limit_reached", host, family, considered, cap));
    if (this.#owned(family) >= cap) return overCap();
    if (!policy.config.autoAllocateBlocks) {
      return err(this.#short("auto_allocate_disabled", host, family, considered));
    }
    let unheard: Extract<ClaimResult, { kind: "unsettled" }>["where"] | undefined;
    for (const pool of pools) {
      const claimed = await this.#affinities.claim({ ...wish, pool, cap });
      if (claimed.kind === "claimed") return ok(claimed.block);
      if (claimed.kind === "over_cap") return overCap();
      if (claimed.kind === "unsettled") unheard = claimed.where;
    }
    if (unheard !== undefined) return err(rejection("overloaded", { where: unheard }, 1));
    const full = pools.map(({ definition }): Considered => {
      return { kind: "pool", pool: definition.name, outcome: "full", rule: "no_unclaimed_block" };
    });
    return err(this.#short("pool_exhausted", host, family, [...considered, ...full]));
  }

  /** The first own block that has an address which is not reserved, whether it is free or not. */
  #own({ policy }: LeasedPolicy, pools: readonly CompiledPool[]): string | undefined {
    const rows = [...this.#host.memory.affinities.values()].filter(({ state }) => state === "confirmed");
    for (const pool of pools) {
      const blocks = rows
        .filter((row) => isOf(row, pool))
        .map(({ block }) => ({ block, base: cidrOf(block).base }))
        .toSorted((one, other) => (one.base < other.base ? -1 : 1));
      const found = blocks.find(({ block }) => !isWhollyReserved(policy, pool, block));
      if (found !== undefined) return found.block;
    }
    return undefined;
  }

  /** Rows that an interrupted claim or release left behind are settled first. */
  async #recovered(
    host: string,
    leased: LeasedPolicy,
    pools: readonly CompiledPool[],
  ): Promise<string | undefined> {
    const left = [...this.#host.memory.affinities.values()].filter(
      (row) => row.state !== "confirmed" && pools.some((pool) => isOf(row, pool)),
    );
    if (left.length === 0) return undefined;
    await Promise.all(left.map((row) => this.#affinities.recover(row, host, leased)));
    return this.#own(leased, pools);
  }

  #owned(family: Family): number {
    return [...this.#host.memory.affinities.values()].filter((row) => row.family === family).length;
  }

  #short(
    code: ShortCode,
    host: string,
    family: Family,
    all: readonly Considered[],
    limit?: number,
  ): Rejection<ShortCode> {
    const { considered, omitted: consideredOmitted } = boundConsidered(all, CONSIDERED_REFUSAL_MAX);
    const shortfall = { family, requested: 1, allocated: 0, code, considered, consideredOmitted };
    const owned = this.#owned(family);
    const evidence = { host, family, requested: 1, allocated: 0, owned, shortfall: [shortfall] };
    return rejection(code, limit === undefined ? evidence : { ...evidence, limit });
  }
}

function isOf(
  row: Pick<Affinity, "pool" | "incarnation">,
  { definition }: Pick<CompiledPool, "definition">,
): boolean {
  return row.pool === definition.name && row.incarnation === definition.incarnation;
}

function isWhollyReserved(policy: LeasedPolicy["policy"], pool: CompiledPool, block: string): boolean {
  const { reserved } = blockPolicy(policy, pool, block);
  const held = reserved.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  const { family, prefix } = cidrOf(block);
  return held >= 2 ** ((family === 4 ? 32 : 128) - prefix);
}
