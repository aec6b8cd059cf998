/**
 * Asks own blocks that were full when last heard of, before another one is claimed: who releases an address
 * tells this Host, but that word may be lost. May import: core, rpc, platform.
 * Rule: requests that come meanwhile share the answers, so a burst asks once.
 */
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import { again, blockPolicy, type HostContext, poolTarget } from "./host-context.ts";
import type { HostMemory } from "./host-memory.ts";
import type { HostReports } from "./host-reports.ts";
import { isRowOf } from "./host-seats.ts";
import type { Runtime } from "./runtime.ts";

/** Blocks of one round: those not heard of for longest. */
const ROUND_BLOCKS = 16;
/** Figures so young are believed before a claim, though not before a refusal, ms. */
const FRESH_MS = 30_000;

type Shared = Pick<HostContext, "memory" | "runtime" | "reports">;

export class HostRefresh {
  readonly #host: Shared;
  readonly #running = new Map<string, Promise<void>>();
  /** What was full under another policy may not be under this one: figures from before are not believed. */
  #version: number | undefined;
  #since = 0;

  constructor(memory: HostMemory, runtime: Runtime, reports: HostReports) {
    this.#host = { memory, runtime, reports };
  }

  /** Renews the figures of blocks that nobody has heard of for a while; one that does not answer stays as it is. */
  async beforeClaim(pools: readonly CompiledPool[], policy: CompiledPolicy): Promise<void> {
    if (policy.version !== this.#version) {
      this.#version = policy.version;
      this.#since = this.#host.runtime.now();
    }
    await Promise.all(pools.map((pool) => this.#round(pool, policy)));
  }

  #round(pool: CompiledPool, policy: CompiledPolicy): Promise<void> {
    const name = `${policy.version} ${pool.definition.name}`;
    const running = this.#running.get(name);
    if (running !== undefined) return running;
    const due = this.#due(pool);
    if (due.length === 0) return Promise.resolve();
    const round = Promise.all(due.map((block) => this.#ask(pool, policy, block)))
      .then(() => undefined)
      .finally(() => this.#running.delete(name));
    this.#running.set(name, round);
    return round;
  }

  #due(pool: CompiledPool): string[] {
    const { memory, runtime } = this.#host;
    const oldest = Math.max(runtime.now() - FRESH_MS, this.#since);
    const due: string[] = [];
    for (const { block, seenAt } of memory.longestUnheard()) {
      // In the order in which they were heard: whoever comes next is younger still.
      if (seenAt >= oldest || due.length >= ROUND_BLOCKS) break;
      const row = memory.affinities.get(block);
      if (row?.state === "confirmed" && isRowOf(row, pool)) due.push(block);
    }
    return due;
  }

  async #ask(pool: CompiledPool, policy: CompiledPolicy, block: string): Promise<void> {
    const { memory, runtime, reports } = this.#host;
    const question = { block, policy: blockPolicy(policy, pool, block) };
    const answer = await again(this.#host, () => runtime.ports.block(block).describe(question));
    if (answer.kind !== "answered") return;
    const { counts } = answer.value;
    memory.note(block, counts, runtime.now());
    reports.changed(poolTarget(pool), block, counts);
  }
}
