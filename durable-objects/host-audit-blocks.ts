/**
 * What an audit does with blocks: empty ones go after the grace, those of a lost host go with it.
 * May import: core, rpc, storage. Rule: fresh epoch first, and a host that is heard of again keeps what it has.
 */
import { type EmptyPlan, isMigrating, type OwnedBlock, planEmptyBlocks } from "../src/core/leak-blocks.ts";
import { RELEASES_PER_RUN_MAX } from "../src/core/leak-brakes.ts";
import { type HostLife, type LostBlock, planTeardown } from "../src/core/leak-host.ts";
import type { HostAudit } from "../src/core/leak-policy.ts";
import type { LeakSubject } from "../src/core/leak-subject.ts";
import type { LeasedPolicy } from "../src/rpc/policy-source.ts";
import type { HostAffinities } from "./host-affinities.ts";
import type { HostHoldings } from "./host-audit-holdings.ts";
import type { Release } from "./host-audit-release.ts";
import { targetOf } from "./host-confirmations.ts";
import { cidrOf, type HostContext, once } from "./host-context.ts";
import { dropBorrowed, readEmptyMarks, saveEmptyMarks } from "./storage/host-leak-rows.ts";
import { type Affinity, readAffinity, readRegistration } from "./storage/host-rows.ts";

/** Blocks given back in one run: each takes three calls. */
const BLOCKS_MAX = 16;
/** Blocks that are read again before a teardown goes on. */
const REREAD_MAX = 100;
/** How long a borrowed-from block must have been without an address of the host, at least, ms. */
const VACANT_MS = 60_000;
/** How long the word on a node is waited for, ms. */
const NODE_MS = 15_000;

/** What the blocks of an audit rest on. */
export interface BlockFacts {
  readonly name: string;
  readonly leased: LeasedPolicy;
  readonly audit: HostAudit;
  readonly graceMs: number;
  /** Every block was read in the audit. */
  readonly isWhole: boolean;
  /** What is known of the host at this moment. */
  readonly life: () => HostLife;
  readonly weigh: Release["weigh"];
}

export class HostBlocks {
  readonly #host: HostContext;
  readonly #affinities: HostAffinities;
  readonly #holdings: HostHoldings;

  constructor(host: HostContext, affinities: HostAffinities, holdings: HostHoldings) {
    this.#host = host;
    this.#affinities = affinities;
    this.#holdings = holdings;
  }

  /** Gives back what may go; returns the calls that it took. */
  async run(facts: BlockFacts): Promise<number> {
    this.#dropVacant(facts);
    const life = facts.life();
    if (life.kind === "unknown") return 0;
    return life.kind === "gone" ? await this.#takeDown(facts, life) : await this.#giveBackEmpty(facts);
  }

  /**
   * A block that was borrowed from is forgotten when nothing is there, and nothing on the way, for a while.
   * Why: what cools there is found by the host's row, too.
   */
  #dropVacant({ name, leased }: BlockFacts): void {
    const { memory, store } = this.#host;
    const vacantMs = Math.max(VACANT_MS, leased.policy.config.ipCooldownSeconds * 1000);
    const vacant = [...memory.borrowed].filter((block) => {
      const { vacantSince, askedAt = 0, answer } = this.#holdings.get(block) ?? {};
      const isLong = vacantSince !== undefined && askedAt - vacantSince >= vacantMs;
      const isOther = answer?.owner !== name && !memory.affinities.has(block);
      return isLong && isOther && this.#holdings.isGood(block);
    });
    if (vacant.length === 0) return;
    store.transaction(() => {
      for (const block of vacant) dropBorrowed(store, block);
    });
    for (const block of vacant) memory.borrowed.delete(block);
  }

  async #giveBackEmpty(facts: BlockFacts): Promise<number> {
    const { name, leased, weigh } = facts;
    const going = this.#plan(facts, false).release.map(({ block }) => block);
    if (going.length === 0) return 0;
    // Readings may be old: what is to go is read now, and planned again.
    const asked = going.slice(0, BLOCKS_MAX);
    const cooldownMs = leased.policy.config.ipCooldownSeconds * 1000;
    const silent = await this.#holdings.read(name, asked, cooldownMs);
    const grant = await weigh(0, 0);
    const isStopped = grant === undefined || grant.stop === "paused" || grant.stop === "breaker_open";
    const read = new Set(asked.filter((block) => !silent.includes(block)));
    const plan = this.#plan(facts, true).release.filter(({ block }) => read.has(block));
    if (isStopped) return asked.length + 1;
    const gone = readRegistration(this.#host.store)?.gone;
    for (const { block, epoch } of plan) {
      const isStill = () => gone === undefined && !this.#isWanted(block) && facts.life().kind === "active";
      await this.#giveUp(name, block, epoch, true, leased, isStill);
    }
    return asked.length + 1 + 3 * plan.length;
  }

  /** Plans by the marks as they are stored, and stores them as they are from now on. */
  #plan({ name, graceMs }: BlockFacts, isLast: boolean): EmptyPlan {
    const { memory, store, runtime } = this.#host;
    const labels = memory.registration?.labels ?? {};
    const owned = [...memory.affinities.values()].flatMap((row) => this.#owned(row, name) ?? []);
    const facts = { host: name, now: runtime.now(), graceMs, isHeld: isMigrating(labels) };
    const marks = readEmptyMarks(store);
    if (marks.length === 0 && owned.every(({ isEmpty }) => !isEmpty)) return { marks, release: [] };
    if (!isLast) {
      const plan = planEmptyBlocks(owned, marks, facts);
      if (plan.release.length > 0) return plan;
    }
    return store.transaction(() => {
      const plan = planEmptyBlocks(owned, readEmptyMarks(store), facts);
      saveEmptyMarks(store, plan.marks);
      return plan;
    });
  }

  #owned(row: Affinity, name: string): OwnedBlock | undefined {
    const answer = this.#holdings.get(row.block)?.answer;
    if (row.state !== "confirmed" || answer?.owner !== name) return undefined;
    const { own, lent, cooling, number } = answer;
    const { block, epoch } = row;
    const isEmpty = own + lent + cooling === 0 && !this.#isWanted(block);
    return { block, family: cidrOf(block).family, epoch, number, isEmpty };
  }

  /**
   * Gives up what a lost host had, once nothing on it lives. The blocks of a removed one go with its removal.
   * Why the node is read once more: what was seen may be minutes old, and blocks do not come back.
   */
  async #takeDown(facts: BlockFacts, life: Extract<HostLife, { kind: "gone" }>): Promise<number> {
    const { name, leased, audit, isWhole } = facts;
    if (!isWhole || audit.hasVeto) return 0;
    const calls = await this.#releaseReserved(facts, life);
    const { cluster } = this.#host.runtime;
    const rows = [...this.#host.memory.affinities.values()];
    if (life.by === "removal" || cluster === undefined || rows.length === 0) return calls;
    const cooldownMs = leased.policy.config.ipCooldownSeconds * 1000;
    // All were read in this audit, but some have changed by it.
    const changed = rows.map(({ block }) => block).filter((block) => !this.#holdings.isGood(block));
    const blocks = changed.slice(0, REREAD_MAX);
    const silent = await this.#holdings.read(name, blocks, cooldownMs);
    const left = new Set([...changed.slice(REREAD_MAX), ...silent]);
    const lost = rows.filter(({ block }) => !left.has(block)).map((row) => this.#lost(row));
    const plan = planTeardown(life, audit.hasVeto, lost);
    if (plan.kind === "vetoed" || plan.blocks.length === 0) return calls + blocks.length;
    const grant = await facts.weigh(0, 0);
    const node = await once(this.#host, () => cluster.readNode(name), NODE_MS);
    const isStopped = grant === undefined || grant.stop === "paused" || grant.stop === "breaker_open";
    if (isStopped || node.kind !== "answered" || node.value !== "not_found") return calls + blocks.length + 2;
    const isStill = (): boolean => {
      const now = facts.life();
      return now.kind === "gone" && now.by === "kubernetes" && now.generation === plan.generation;
    };
    const going = plan.blocks.slice(0, BLOCKS_MAX);
    for (const { block, epoch } of going) {
      const isEmpty = lost.some((one) => one.block === block && one.lent === 0);
      await this.#giveUp(name, block, epoch, isEmpty, leased, isStill);
    }
    return calls + blocks.length + 2 + 3 * going.length;
  }

  #lost({ block, epoch }: Affinity): LostBlock {
    const answer = this.#holdings.get(block)?.answer;
    const { own = 1, lent = 0, cooling = 0 } = answer ?? {};
    return { block, epoch, own, lent, cooling };
  }

  /** What an earlier system set aside on the host goes with its blocks. */
  async #releaseReserved(
    { audit, weigh, leased, life }: BlockFacts,
    { since }: Extract<HostLife, { kind: "gone" }>,
  ): Promise<number> {
    const reserved = [...audit.judged.values()]
      .filter(({ kind, subject }) => kind === "reserved" && subject.touchedAt < since)
      .map(({ subject }) => subject)
      .slice(0, RELEASES_PER_RUN_MAX);
    if (reserved.length === 0) return 0;
    const { runtime } = this.#host;
    const grant = await weigh(reserved.length, reserved.length);
    if (life().kind !== "gone") return 1;
    const granted = reserved.slice(0, grant?.granted ?? 0);
    const cooldownMs = leased.policy.config.ipCooldownSeconds * 1000;
    const byBlock = Map.groupBy<string, LeakSubject>(granted, ({ block }) => block);
    for (const [block, subjects] of byBlock) {
      const items = subjects.map(({ address, handle, touch }) => ({ address, handle, touch }));
      const until = runtime.now() + runtime.settings.untilMs;
      await once(this.#host, () =>
        runtime.ports.block(block).releaseLeaked({ block, items, until, cooldownMs }),
      );
      this.#holdings.touch(block);
    }
    return 1 + byBlock.size;
  }

  /** A fresh epoch, then the row as it was planned with, and only while the plan stands (F31). */
  async #giveUp(
    owner: string,
    block: string,
    planned: number,
    mustBeEmpty: boolean,
    leased: LeasedPolicy,
    isStill: () => boolean,
  ): Promise<void> {
    const { runtime, store, memory } = this.#host;
    const row = memory.affinities.get(block);
    if (row?.epoch !== planned || !isStill()) return;
    const target = targetOf(row);
    const port = () => runtime.ports.pool(target.pool, target.incarnation);
    const fresh = await once(this.#host, () => port().fresh({ ...target, owner, block }));
    if (fresh.kind !== "answered") return;
    if (fresh.value.kind === "other") return this.#affinities.forget(row);
    const onlyIf = () => isStill() && readAffinity(store, block)?.epoch === planned;
    const cooldownMs = leased.policy.config.ipCooldownSeconds * 1000;
    const { epoch } = fresh.value;
    await this.#affinities.release({ owner, target, block, epoch, mustBeEmpty, cooldownMs, onlyIf });
    this.#holdings.touch(block);
  }

  /** Somebody claims the block or is on the way to it. */
  #isWanted(block: string): boolean {
    return this.#affinities.isUnderWay(block) || this.#host.memory.isVisited(block);
  }
}
