/**
 * How full a host's own blocks are, by what the Host was told of them. May import: core, rpc, platform.
 * Rule: hints, moved on by the clock; only blocks that nobody told of are asked.
 */
import { agedCounts } from "../src/core/cooling.ts";
import type { Family } from "../src/core/errors.ts";
import { choosePools } from "../src/core/pool-choice.ts";
import type { HostFamilyView } from "../src/rpc/host.ts";
import { again, blockPolicy, cidrOf, type HostContext, poolTarget } from "./host-context.ts";
import type { Registration } from "./storage/host-rows.ts";

/** Own blocks asked for figures that nobody reported since the Host woke. */
const ASK_MAX = 64;

export class HostFigures {
  readonly #host: HostContext;

  constructor(host: HostContext) {
    this.#host = host;
  }

  /** The figures of one family, and the pools that select the host now. */
  async ofFamily(family: Family, labels: Registration["labels"]): Promise<HostFamilyView> {
    const leased = await this.#host.runtime.policy.current(this.#host.runtime.now());
    const policy = leased?.policy ?? this.#host.runtime.policy.peek();
    const uses = ["Workload", "Tunnel", "LoadBalancer"] as const;
    const names = new Set<string>();
    for (const use of policy === undefined ? [] : uses) {
      const choice =
        policy === undefined ? undefined : choosePools(policy, { family, use, hostLabels: labels });
      if (choice?.ok === true) for (const { definition } of choice.value.pools) names.add(definition.name);
    }
    const rows = [...this.#host.memory.affinities.values()].filter((row) => row.family === family);
    const owned = rows.filter(({ state }) => state === "confirmed");
    const sum = { capacity: 0, allocated: 0, cooling: 0, reserved: 0, available: 0, borrowed: 0 };
    for (const { block } of owned) {
      const known = this.#host.memory.hint(block)?.counts;
      if (known === undefined) continue;
      const counts = agedCounts(known, this.#host.runtime.now());
      for (const name of ["capacity", "allocated", "cooling", "reserved", "available", "borrowed"] as const) {
        sum[name] += counts[name];
      }
    }
    const { borrowed, ...figures } = sum;
    return {
      pools: [...names].sort(),
      owned: owned.length,
      cap: policy?.cap() ?? 0,
      pending: rows.length - owned.length,
      borrowedIn: [...this.#host.memory.borrowed].filter((block) => cidrOf(block).family === family).length,
      borrowedOut: borrowed,
      ...figures,
    };
  }

  /** Figures that nobody told since the Host woke are asked for, so that sums are not too low. */
  async askUnknown(): Promise<void> {
    const now = this.#host.runtime.now();
    const policy = (await this.#host.runtime.policy.current(now))?.policy;
    const unknown = [...this.#host.memory.affinities.values()].filter(
      ({ block }) => this.#host.memory.hint(block) === undefined,
    );
    const asked = unknown.slice(0, ASK_MAX).map(async (row) => {
      const pool = policy?.pools.find(
        ({ definition }) => definition.name === row.pool && definition.incarnation === row.incarnation,
      );
      if (policy === undefined || pool === undefined) return;
      const question = { block: row.block, policy: blockPolicy(policy, pool, row.block) };
      const answer = await again(this.#host, () =>
        this.#host.runtime.ports.block(row.block).describe(question),
      );
      if (answer.kind !== "answered") return;
      this.#host.memory.note(row.block, answer.value.counts, this.#host.runtime.now());
      this.#host.reports.changed(poolTarget(pool), row.block, answer.value.counts);
    });
    await Promise.all(asked);
  }
}
