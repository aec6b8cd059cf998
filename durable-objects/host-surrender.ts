/**
 * A Host gives up its empty blocks of pools that do not select it any more: as a search begins, and as a
 * block becomes empty. May import: core, rpc, platform. Rule: the block decides whether it is empty.
 */
import type { BlockCounts } from "../src/core/allocation.ts";
import { agedCounts } from "../src/core/cooling.ts";
import type { Family } from "../src/core/errors.ts";
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import { isOpen } from "../src/core/pool-choice.ts";
import { type Labels, matches } from "../src/core/selector.ts";
import type { LeasedPolicy } from "../src/rpc/policy-source.ts";
import type { HostAffinities } from "./host-affinities.ts";
import { targetOf } from "./host-confirmations.ts";
import { again, blockPolicy, type HostContext, once } from "./host-context.ts";
import { isRowOf } from "./host-seats.ts";
import { type Affinity, readRegistration } from "./storage/host-rows.ts";

/** Blocks of one pass; the others come at the next. Bounds what one search sets off. */
const PASS_BLOCKS = 32;
/** How long a search that needs one more block waits for what it may get back by it, ms. */
const PATIENCE_MS = 500;
/** How soon a block that is in use, or did not answer, is asked again, ms. */
const IN_USE_MS = 60_000;
const UNHEARD_MS = 5_000;

/** Who searches, under which policy, and in which pools: these keep their blocks. */
export interface Searcher {
  readonly owner: string;
  readonly labels: Labels;
  readonly family: Family;
  readonly policy: CompiledPolicy;
  readonly pools: readonly CompiledPool[];
}

type Found = Pick<Searcher, "policy" | "labels"> & { readonly moves: number };

export class HostSurrender {
  readonly #host: HostContext;
  readonly #affinities: HostAffinities;
  /** What the last look at the rows rested on: while it stands, there is nothing to find out. */
  #found: Found | undefined;
  /** Blocks of pools that do not select the host, and when each is looked at next. */
  #unselected = new Map<string, number>();
  /** Blocks that are being given up. */
  readonly #leaving = new Set<string>();
  #running: Promise<void> | undefined;

  constructor(host: HostContext, affinities: HostAffinities) {
    this.#host = host;
    this.#affinities = affinities;
  }

  /** Begins to give up what a search finds unselected; nobody waits. Costs nothing where there is nothing. */
  begin(searcher: Searcher): void {
    this.#find(searcher);
    if (this.#unselected.size === 0 || this.#running !== undefined) return;
    const due = this.#due(searcher);
    if (due.length === 0) return;
    this.#running = this.#pass(due, searcher).finally(() => {
      this.#running = undefined;
    });
  }

  /** The same, and waits for it a little: what is given up counts no more against the cap (I10). */
  async settle(searcher: Searcher): Promise<void> {
    this.begin(searcher);
    const running = this.#running;
    if (running !== undefined) await once(this.#host, () => running, PATIENCE_MS);
  }

  /** A block has said that it holds nothing: it is given up if its pool does not select the host. */
  async emptied(owner: string, block: string, labels: Labels): Promise<void> {
    const { runtime, memory } = this.#host;
    const leased = await runtime.policy.current(runtime.now());
    const row = memory.affinities.get(block);
    if (leased === undefined || row === undefined || !isUnselected(row, leased.policy, labels)) return;
    await this.#giveUp(row, owner, leased).catch(() => undefined);
  }

  /** Finds out again which blocks are of pools that do not select the host, when anything has changed. */
  #find({ policy, labels }: Searcher): void {
    const { moves } = this.#affinities;
    const { policy: before, labels: under, moves: after } = this.#found ?? {};
    if (before === policy && under === labels && after === moves) return;
    const looks = before === policy && under === labels ? this.#unselected : new Map<string, number>();
    const unselected = unselectedRows(this.#host, { policy, labels });
    this.#unselected = new Map(unselected.map(({ block }) => [block, looks.get(block) ?? 0]));
    this.#found = { policy, labels, moves };
  }

  #due({ family, pools }: Searcher): Affinity[] {
    const { memory, runtime } = this.#host;
    const now = runtime.now();
    const due: Affinity[] = [];
    for (const [block, at] of this.#unselected) {
      const row = memory.affinities.get(block);
      if (at > now || row?.family !== family || pools.some((pool) => isRowOf(row, pool))) continue;
      due.push(row);
      if (due.length >= PASS_BLOCKS) break;
    }
    return due;
  }

  /** One block's defect does not stop the others; whatever was not given up is looked at again later. */
  async #pass(rows: readonly Affinity[], { owner, labels }: Searcher): Promise<void> {
    const { runtime } = this.#host;
    const leased = await runtime.policy.current(runtime.now());
    if (leased === undefined) return;
    const steps = rows.map(async (row) => {
      const isStill = isUnselected(row, leased.policy, labels);
      const pauseMs = isStill ? await this.#giveUp(row, owner, leased).catch(() => UNHEARD_MS) : 0;
      const isLeft = this.#unselected.has(row.block) && this.#host.memory.affinities.has(row.block);
      if (isLeft) this.#unselected.set(row.block, runtime.now() + pauseMs);
      else this.#unselected.delete(row.block);
    });
    await Promise.all(steps);
  }

  /** Gives one block up, one such order at a time; returns when to look again, ms from now. */
  async #giveUp(row: Affinity, owner: string, leased: LeasedPolicy): Promise<number> {
    if (this.#leaving.has(row.block)) return UNHEARD_MS;
    this.#leaving.add(row.block);
    return await this.#steps(row, owner, leased).finally(() => this.#leaving.delete(row.block));
  }

  /**
   * A fresh epoch, then the release of an empty block.
   * Why: a row that is not confirmed was left by a crash; nobody knows its block, so that is asked itself.
   */
  async #steps(row: Affinity, owner: string, leased: LeasedPolicy): Promise<number> {
    const { runtime, store } = this.#host;
    const { block } = row;
    if (this.#isWanted(block)) return 0;
    if (row.state === "confirmed") {
      const counts = await this.#figures(row, leased.policy);
      if (counts === undefined) return UNHEARD_MS;
      const pauseMs = inUseFor(counts, runtime.now());
      if (pauseMs > 0) return pauseMs;
    }
    const target = targetOf(row);
    const port = () => runtime.ports.pool(target.pool, target.incarnation);
    const fresh = await once(this.#host, () => port().fresh({ ...target, owner, block }));
    if (fresh.kind !== "answered") return UNHEARD_MS;
    if (fresh.value.kind === "other") {
      this.#affinities.forget(row);
      return UNHEARD_MS;
    }
    // A removal gives back its blocks itself.
    const onlyIf = () => !this.#isWanted(block) && readRegistration(store)?.gone === undefined;
    const cooldownMs = leased.policy.config.ipCooldownSeconds * 1000;
    const { epoch } = fresh.value;
    const order = { owner, target, block, epoch, mustBeEmpty: true, cooldownMs, onlyIf };
    const said = await this.#affinities.release(order);
    if (said.kind === "stale") return 0;
    return said.kind === "block_not_empty" ? IN_USE_MS : UNHEARD_MS;
  }

  /** Somebody claims the block or is on the way to it, as a request that names its pool. */
  #isWanted(block: string): boolean {
    return this.#affinities.isUnderWay(block) || this.#host.memory.isVisited(block);
  }

  /** The block's figures: as it told them lately, else its word now. */
  async #figures(row: Affinity, policy: CompiledPolicy): Promise<BlockCounts | undefined> {
    const { memory, runtime } = this.#host;
    const known = memory.hint(row.block);
    const isEmpty = known !== undefined && inUseFor(known.counts, runtime.now()) === 0;
    const pool = policy.pools.find((one) => isRowOf(row, one));
    if (isEmpty || pool === undefined) return known?.counts;
    const question = { block: row.block, policy: blockPolicy(policy, pool, row.block) };
    const answer = await again(this.#host, () => runtime.ports.block(row.block).describe(question));
    if (answer.kind !== "answered") return undefined;
    memory.note(row.block, answer.value.counts, runtime.now());
    return answer.value.counts;
  }
}

/** Counts the blocks that a search would give up, by their own word; it leaves no trace. */
export async function foreseeSurrender(host: HostContext, searcher: Searcher): Promise<number> {
  const { owner, family, policy, pools } = searcher;
  const rows = unselectedRows(host, searcher).filter((row) => {
    return row.family === family && !pools.some((pool) => isRowOf(row, pool));
  });
  const leaves = rows.slice(0, PASS_BLOCKS).map(async ({ block, state, ...row }) => {
    const pool = policy.pools.find(({ definition }) => definition.name === row.pool);
    if (pool === undefined) return false;
    const question = { block, policy: blockPolicy(policy, pool, block) };
    const answer = await again(host, () => host.runtime.ports.block(block).describe(question));
    if (answer.kind !== "answered") return false;
    const isEmpty = answer.value.counts.allocated + answer.value.counts.cooling === 0;
    // A row that a crash has left goes with whatever its block is of others.
    return isEmpty || (state !== "confirmed" && answer.value.owner !== owner);
  });
  return (await Promise.all(leaves)).filter((isLeaving) => isLeaving).length;
}

function unselectedRows(host: HostContext, { policy, labels }: Pick<Searcher, "policy" | "labels">) {
  const pools = host.memory.pools().filter((pool) => isUnselected(pool, policy, labels));
  if (pools.length === 0) return [];
  return [...host.memory.affinities.values()].filter((row) =>
    pools.some(({ pool, incarnation }) => row.pool === pool && row.incarnation === incarnation),
  );
}

/** Whether a row's pool is there, serves, and does not select the host. Nothing else gives a block up. */
function isUnselected(
  row: Pick<Affinity, "pool" | "incarnation">,
  policy: CompiledPolicy,
  labels: Labels,
): boolean {
  const pool = policy.pools.find((one) => isRowOf(row, one));
  return pool !== undefined && isOpen(pool) && !matches(pool.nodeSelector, labels);
}

/** How long a block is in use at least; 0: it is empty. */
function inUseFor(counts: BlockCounts, now: number): number {
  const { allocated, cooling, coolingSteps = [] } = agedCounts(counts, now);
  if (allocated > 0) return IN_USE_MS;
  if (cooling === 0) return 0;
  return Math.max(1, (coolingSteps.at(-1)?.at ?? now + UNHEARD_MS) - now);
}
