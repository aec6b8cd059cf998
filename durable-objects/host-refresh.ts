/**
 * Learns what own blocks have that this Host does not know: after a wake, after a change of policy, and now
 * and then, since the word of a block that has room again may be lost. May import: core, rpc, platform.
 * Rule: what is asked for a request does not grow with the host's blocks, and is shared by all at that time.
 */
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import type { DirectoryEntry } from "../src/rpc/pool.ts";
import { again, blockPolicy, type HostContext, poolTarget } from "./host-context.ts";
import type { HostMemory } from "./host-memory.ts";
import type { HostReports } from "./host-reports.ts";
import { isRowOf } from "./host-seats.ts";
import type { Runtime } from "./runtime.ts";

/** Blocks not heard of since the policy changed that are asked before one claim. */
const ROUND_BLOCKS = 16;
/** Blocks not heard of for so long are asked, too: that many before a claim, and once in that time. */
const OLD_MS = 30_000;
const OLD_BLOCKS = 2;
/** Own blocks in one answer of a Pool, and answers at most. */
const LISTED_BLOCKS = 1_000;
const LISTS_MAX = 8;

type Shared = Pick<HostContext, "memory" | "runtime" | "reports">;

export class HostRefresh {
  readonly #host: Shared;
  readonly #running = new Map<string, Promise<void>>();
  /** Pools that told this instance of the own blocks, or did not need to; or do so now. */
  readonly #told = new Map<string, Promise<void> | undefined>();
  /** When old blocks were asked last, by pool. */
  readonly #askedAt = new Map<string, number>();
  /** Blocks that did not answer, and when: not every claim waits for one that hangs. */
  readonly #silentSince = new Map<string, number>();
  #policyVersion: number | undefined;
  /** What was full under another policy may not be under this one: figures from before are not believed. */
  #policySince = 0;

  constructor(memory: HostMemory, runtime: Runtime, reports: HostReports) {
    this.#host = { memory, runtime, reports };
  }

  /**
   * What a request does first; absent: there is nothing to wait for. Notes the policy, and lets the Pools say,
   * once after a wake, how full the own blocks are.
   * Why: with no figures a request tries one full block after the other, two calls and a row for each.
   */
  begin(
    owner: string,
    pools: readonly CompiledPool[],
    { version }: CompiledPolicy,
  ): Promise<unknown> | undefined {
    if (version !== this.#policyVersion) {
      this.#policySince = this.#policyVersion === undefined ? 0 : this.#host.runtime.now();
      this.#policyVersion = version;
    }
    const lists = pools.flatMap((pool) => this.#toldOf(owner, pool) ?? []);
    return lists.length === 0 ? undefined : Promise.all(lists);
  }

  /** Renews the figures of blocks that may have room unheard; one that does not answer stays as it is. */
  async beforeClaim(pools: readonly CompiledPool[], policy: CompiledPolicy): Promise<void> {
    await Promise.all(pools.map((pool) => this.#round(pool, policy)));
  }

  #toldOf(owner: string, pool: CompiledPool): Promise<void> | undefined {
    const name = nameOf(pool);
    if (this.#told.has(name)) return this.#told.get(name);
    const listed = this.#isInTheDark(pool) ? this.#list(owner, pool) : undefined;
    this.#told.set(name, listed);
    void listed?.finally(() => this.#told.set(name, undefined));
    return listed;
  }

  /** One block without figures is tried at no greater cost than it takes to ask of it. */
  #isInTheDark(pool: CompiledPool): boolean {
    const { memory } = this.#host;
    const own = [...memory.affinities.values()].filter((row) => isRowOf(row, pool));
    return own.filter(({ state, block }) => state === "confirmed" && !memory.hint(block)).length > 1;
  }

  /** A Pool that does not answer leaves the blocks to be tried. */
  async #list(owner: string, pool: CompiledPool): Promise<void> {
    const { memory, runtime } = this.#host;
    const target = poolTarget(pool);
    const port = () => runtime.ports.pool(target.pool, target.incarnation);
    const entries: DirectoryEntry[] = [];
    let after: string | undefined;
    for (let lists = 0; lists < LISTS_MAX; lists += 1) {
      const question = { ...target, owner, limit: LISTED_BLOCKS, ...(after === undefined ? {} : { after }) };
      const answer = await again(this.#host, () => port().list(question));
      if (answer.kind !== "answered") return;
      entries.push(...answer.value.entries);
      after = answer.value.next;
      if (after === undefined) break;
    }
    const known = entries.flatMap(({ block, counts }) => (counts === undefined ? [] : { block, counts }));
    known.sort((one, other) => one.counts.asOf - other.counts.asOf);
    // As old as they are: what is old is asked before long.
    for (const { block, counts } of known) {
      if (memory.affinities.has(block)) memory.note(block, counts, counts.asOf);
    }
  }

  #round(pool: CompiledPool, policy: CompiledPolicy): Promise<void> {
    const name = `${policy.version} ${nameOf(pool)}`;
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
    const now = runtime.now();
    const mayAskOld = now - (this.#askedAt.get(nameOf(pool)) ?? 0) >= OLD_MS;
    const unheard: string[] = [];
    const old: string[] = [];
    for (const { block, seenAt } of memory.longestUnheard()) {
      const isUnheard = seenAt < this.#policySince;
      const isOld = mayAskOld && seenAt < now - OLD_MS;
      // In the order in which they were heard: whoever comes next is younger still.
      if (unheard.length >= ROUND_BLOCKS || !(isUnheard || isOld)) break;
      const row = memory.affinities.get(block);
      if (row?.state !== "confirmed" || !isRowOf(row, pool)) continue;
      if (now - (this.#silentSince.get(block) ?? 0) < OLD_MS) continue;
      if (isUnheard) unheard.push(block);
      else if (old.length < OLD_BLOCKS) old.push(block);
    }
    if (unheard.length > 0) return unheard;
    if (old.length > 0) this.#askedAt.set(nameOf(pool), now);
    return old;
  }

  async #ask(pool: CompiledPool, policy: CompiledPolicy, block: string): Promise<void> {
    const { memory, runtime, reports } = this.#host;
    const question = { block, policy: blockPolicy(policy, pool, block) };
    const answer = await again(this.#host, () => runtime.ports.block(block).describe(question));
    if (answer.kind !== "answered") {
      this.#silentSince.set(block, runtime.now());
      return;
    }
    this.#silentSince.delete(block);
    const { counts } = answer.value;
    memory.note(block, counts, runtime.now());
    reports.changed(poolTarget(pool), block, counts);
  }
}

function nameOf({ definition }: CompiledPool): string {
  return `${definition.name} ${definition.incarnation}`;
}
