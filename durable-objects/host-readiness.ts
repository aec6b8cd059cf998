/**
 * Whether a host could get an address now: by its lease and hints, its own blocks, then the Pools.
 * May import: core, rpc, platform. Rule: nothing is claimed, and nobody is asked beyond what hints leave open.
 */
import type { BlockCounts } from "../src/core/allocation.ts";
import { type Family, rejection } from "../src/core/errors.ts";
import { earliest, reservedPositions, type SearchEnd, shortageCode } from "../src/core/placement.ts";
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import { choosePools, poolsForHost } from "../src/core/pool-choice.ts";
import type { FamilyReadinessView, HostReadinessView, ReadinessRefusal } from "../src/rpc/host.ts";
import { again, blockPolicy, type HostContext, poolTarget } from "./host-context.ts";
import { foreseeSurrender } from "./host-surrender.ts";
import type { Affinity } from "./storage/host-rows.ts";

/** Own blocks asked in one lot; a lot that has room ends the asking. */
const ASK_LOT = 16;
const ASK_MAX = 128;
/** Pools asked for a family at most. */
const POOLS_MAX = 32;
/** Blocks of others that one Pool names. */
const CANDIDATES = 8;

type Labels = Readonly<Record<string, string>>;

/** What one family stands on. */
interface Ground {
  readonly policy: CompiledPolicy;
  readonly family: Family;
  readonly host: string;
  readonly labels: Labels;
  readonly pools: readonly CompiledPool[];
  readonly own: readonly Affinity[];
}

/** What others have; `unheard`: a Pool did not answer. */
interface Beyond {
  readonly mayClaim: boolean;
  readonly haveRoom: boolean;
  readonly unheard: boolean;
  readonly nextFreeAt?: number;
}

export class HostReadiness {
  readonly #host: HostContext;
  /** The policy under which own blocks were last found to have room, by family. */
  readonly #seen = new Map<Family, number>();

  constructor(host: HostContext) {
    this.#host = host;
  }

  async read(host: string, labels: Labels): Promise<HostReadinessView> {
    const { policy: source, now } = this.#host.runtime;
    const leased = await source.current(now());
    const policy = leased?.policy ?? source.peek();
    const of = (family: Family) => this.#family(host, labels, family, policy, leased !== undefined);
    const [ipv4, ipv6] = await Promise.all([of(4), of(6)]);
    const wanted = [ipv4, ipv6].filter((one) => one.wanted);
    return { ready: wanted.length > 0 && wanted.every(({ ready }) => ready), ipv4, ipv6, asOf: now() };
  }

  async #family(
    host: string,
    labels: Labels,
    family: Family,
    policy: CompiledPolicy | undefined,
    isLeased: boolean,
  ): Promise<FamilyReadinessView> {
    if (policy === undefined) return unready(true, rejection("policy_unavailable", {}));
    const pools = poolsForHost(policy, family, labels);
    const none = { host, family, requested: 1, allocated: 0, shortfall: [] };
    if (pools.length === 0) {
      const choice = choosePools(policy, { family, use: "Workload", hostLabels: labels });
      const code = choice.ok ? "no_pool_selects_host" : choice.error.code;
      return unready(false, rejection(code, none) as ReadinessRefusal);
    }
    if (this.#host.memory.isRemoving) return unready(true, rejection("host_removing", { host }));
    if (!isLeased) return unready(true, rejection("policy_unavailable", {}));
    const { maintenance, maintenanceReason: reason } = policy.config;
    if (maintenance) return unready(true, rejection("maintenance", reason === undefined ? {} : { reason }));
    const rows = [...this.#host.memory.affinities.values()];
    const own = rows.filter((row) => row.state === "confirmed" && pools.some((pool) => isOf(row, pool)));
    return await this.#under({ policy, family, host, labels, pools, own });
  }

  async #under(ground: Ground): Promise<FamilyReadinessView> {
    const { policy, family, host } = ground;
    const { autoAllocateBlocks, strictAffinity: strict } = policy.config;
    const cap = policy.cap();
    const rows = [...this.#host.memory.affinities.values()].filter((row) => row.family === family).length;
    const owned = rows < cap ? rows : rows - (await foreseeSurrender(this.#host, { ...ground, owner: host }));
    const capReached = owned >= cap;
    const byRule = autoAllocateBlocks && !capReached;
    const availableInOwnBlocks = await this.#available(ground);
    if (availableInOwnBlocks > 0) {
      const mayBorrow = byRule && !strict;
      return { wanted: true, ready: true, availableInOwnBlocks, canClaim: byRule, canBorrow: mayBorrow };
    }
    const beyond = await this.#beyond(ground, byRule);
    const canClaim = byRule && beyond.mayClaim;
    // Who may claim need not borrow: whether others have room was not asked then.
    const canBorrow = byRule && !strict && (canClaim || beyond.haveRoom);
    if (canClaim || canBorrow) {
      return { wanted: true, ready: true, availableInOwnBlocks, canClaim, canBorrow };
    }
    if (beyond.unheard) return unready(true, rejection("overloaded", { where: "pool" }));
    const mayWait = byRule && !strict ? beyond.nextFreeAt : undefined;
    const nextFreeAt = earliest([...ground.own.map(({ block }) => this.#counts(block)?.nextFreeAt), mayWait]);
    const known = nextFreeAt === undefined ? {} : { nextFreeAt };
    const autoAllocateOff = !autoAllocateBlocks;
    const end: SearchEnd = { capReached, autoAllocateOff, strict, othersHaveRoom: beyond.haveRoom, ...known };
    const evidence = {
      ...{ host, family, requested: 1, allocated: 0, owned, shortfall: [] },
      ...(capReached ? { limit: cap } : {}),
      ...(nextFreeAt === undefined ? {} : { freeAt: nextFreeAt }),
    };
    return unready(true, rejection(shortageCode(end), evidence) as ReadinessRefusal);
  }

  /** What own blocks have, as far as known; they are asked where hints say none, or are of another policy. */
  async #available(ground: Ground): Promise<number> {
    const { policy, family, own } = ground;
    const known = () => own.reduce((sum, { block }) => sum + (this.#counts(block)?.available ?? 0), 0);
    if (this.#seen.get(family) === policy.version && known() > 0) return known();
    const { memory, runtime } = this.#host;
    const likely = (row: Affinity) => Number(memory.mayHaveRoom(row.block, runtime.now()));
    const asked = own.toSorted((one, other) => likely(other) - likely(one)).slice(0, ASK_MAX);
    for (let begin = 0; begin < asked.length; begin += ASK_LOT) {
      const lot = asked.slice(begin, begin + ASK_LOT);
      const counts = await Promise.all(lot.map((row) => this.#ask(ground, row)));
      if (!counts.some((one) => (one?.available ?? 0) > 0)) continue;
      this.#seen.set(family, policy.version);
      return known();
    }
    return 0;
  }

  async #ask({ policy, pools }: Ground, row: Affinity): Promise<BlockCounts | undefined> {
    const pool = pools.find((one) => isOf(row, one));
    if (pool === undefined) return undefined;
    const counts = await this.#describe(policy, pool, row.block);
    if (counts === undefined) return undefined;
    this.#host.memory.note(row.block, counts, this.#host.runtime.now());
    this.#host.reports.changed(poolTarget(pool), row.block, counts);
    return counts;
  }

  async #describe(policy: CompiledPolicy, pool: CompiledPool, block: string) {
    const question = { block, policy: blockPolicy(policy, pool, block) };
    const answer = await again(this.#host, () => this.#host.runtime.ports.block(block).describe(question));
    return answer.kind === "answered" ? answer.value.counts : undefined;
  }

  /** Asks the Pools, one after another, until one can help. */
  async #beyond(ground: Ground, mayClaim: boolean): Promise<Beyond> {
    let nextFreeAt: number | undefined;
    let unheard = false;
    let haveRoom = false;
    for (const pool of ground.pools.slice(0, POOLS_MAX)) {
      const claim = mayClaim ? await this.#mayClaim(ground, pool) : false;
      if (claim === true) return { mayClaim: true, haveRoom, unheard, ...at(nextFreeAt) };
      const others = await this.#others(ground, pool);
      unheard ||= claim === undefined || others === undefined;
      haveRoom ||= others?.haveRoom ?? false;
      nextFreeAt = earliest([nextFreeAt, others?.nextFreeAt]);
    }
    return { mayClaim: false, haveRoom, unheard, ...at(nextFreeAt) };
  }

  async #mayClaim({ policy, host }: Ground, pool: CompiledPool): Promise<boolean | undefined> {
    const target = poolTarget(pool);
    const rows = [...this.#host.memory.affinities.values()].filter((row) => isOf(row, pool));
    const known = rows.map(({ block }) => block);
    const question = { ...target, owner: host, known, excluded: reservedPositions(policy, pool) };
    const port = () => this.#host.runtime.ports.pool(target.pool, target.incarnation);
    const answer = await again(this.#host, () => port().mayClaim(question));
    return answer.kind === "answered" ? answer.value.mayClaim : undefined;
  }

  async #others({ policy, host }: Ground, pool: CompiledPool) {
    const target = poolTarget(pool);
    const question = {
      ...target,
      owner: host,
      limit: CANDIDATES,
      tried: [],
      seen: [],
      policyVersion: policy.version,
    };
    const port = () => this.#host.runtime.ports.pool(target.pool, target.incarnation);
    const answer = await again(this.#host, () => port().borrowCandidates(question));
    if (answer.kind !== "answered") return undefined;
    const { candidates, nextFreeAt } = answer.value;
    if (candidates.some(({ known }) => known)) return { haveRoom: true, ...at(nextFreeAt) };
    const asked = await Promise.all(candidates.map(({ block }) => this.#describe(policy, pool, block)));
    const times = [nextFreeAt, ...asked.map((counts) => counts?.nextFreeAt)];
    return { haveRoom: asked.some((counts) => (counts?.available ?? 0) > 0), ...at(earliest(times)) };
  }

  #counts(block: string): BlockCounts | undefined {
    return this.#host.memory.hint(block)?.counts;
  }
}

function isOf(row: Affinity, { definition }: CompiledPool): boolean {
  return row.pool === definition.name && row.incarnation === definition.incarnation;
}

function at(nextFreeAt: number | undefined): { nextFreeAt?: number } {
  return nextFreeAt === undefined ? {} : { nextFreeAt };
}

function unready(wanted: boolean, refusal: ReadinessRefusal): FamilyReadinessView {
  return { wanted, ready: false, refusal, availableInOwnBlocks: 0, canClaim: false, canBorrow: false };
}
