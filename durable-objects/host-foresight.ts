/**
 * Reads what an explanation stands on: own blocks, what claims would get, what others have.
 * May import: core, rpc, platform. Rule: it asks where the search would ask, and leaves no trace.
 */
import type { BlockCounts } from "../src/core/allocation.ts";
import { lastAddress } from "../src/core/cidr.ts";
import type { Considered, Family } from "../src/core/errors.ts";
import { type FamilyGround, type ForeseenClaim, foresee, freshRoom } from "../src/core/foresight.ts";
import { earliest, reservedOrdinals, reservedPositions } from "../src/core/placement.ts";
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import type { BlockView } from "../src/rpc/block.ts";
import type { HostExplainRequest } from "../src/rpc/host.ts";
import type { PlannedClaim } from "../src/rpc/pool.ts";
import type { Seat } from "./host-attempt-terms.ts";
import { ROUNDS_MAX } from "./host-borrowing.ts";
import { blockConsidered, blockMet } from "./host-considered.ts";
import { again, blockPolicy, cidrOf, type HostContext, poolTarget } from "./host-context.ts";
import { CANDIDATES } from "./host-looks.ts";
import { foreseeSurrender } from "./host-surrender.ts";
import type { Affinity } from "./storage/host-rows.ts";

/** Own blocks asked at most, and in one lot; as a search asks them. */
const OWN_MAX = 512;
const LOT = 16;

/** Somebody who was asked did not answer. */
export class Unheard extends Error {
  readonly where: "pool" | "block" | "host" | "index";

  constructor(where: "pool" | "block" | "host" | "index") {
    super(`no answer of a ${where}`);
    this.where = where;
  }
}

/** What was found. `roomElsewhere`: pools in which blocks of others have room. */
export interface Read {
  readonly ground: FamilyGround;
  readonly blocks: readonly Considered[];
  readonly roomElsewhere: ReadonlySet<string>;
}

export class HostForesight {
  readonly #host: HostContext;
  readonly #request: HostExplainRequest;
  readonly #policy: CompiledPolicy;
  readonly #family: Family;
  readonly #blocks: Considered[] = [];

  constructor(host: HostContext, request: HostExplainRequest, policy: CompiledPolicy, family: Family) {
    this.#host = host;
    this.#request = request;
    this.#policy = policy;
    this.#family = family;
  }

  /** Reads the facts of one family, as far as they are needed. Rejects: throws Unheard. */
  async read(
    pools: readonly CompiledPool[],
    wanted: number,
    labels: Readonly<Record<string, string>>,
  ): Promise<Read> {
    const { maxBlocksPerHost } = this.#request;
    const { autoAllocateBlocks, strictAffinity: strict } = this.#policy.config;
    const cap = this.#policy.cap(maxBlocksPerHost);
    const own = await this.#own(pools, wanted);
    const searcher = { owner: this.#request.host, labels, family: this.#family, policy: this.#policy, pools };
    const owned = this.#rows().length - own.over - (await foreseeSurrender(this.#host, searcher));
    const missing = wanted - own.available;
    const wouldClaim = missing > 0 && autoAllocateBlocks && owned < cap;
    const claims = wouldClaim ? await this.#claims(pools, Math.min(missing, cap - owned)) : [];
    const before = { wanted, own, owned, cap, autoAllocateBlocks, strict, claims };
    const roomElsewhere = new Set<string>();
    // Without others: how far the host gets by itself.
    const alone = { ...before, others: { available: 0 } };
    const { allocated, claimed } = foresee(alone);
    for (const [index, pool] of pools.entries()) {
      const ofPool = claims[index]?.filter(({ block }) => claimed.includes(block)) ?? [];
      for (const { block } of ofPool) {
        this.#blocks.push(blockMet({ pool, block, isOwn: true }, this.#request.host, "used", "ok"));
      }
    }
    if (allocated >= wanted) return { ground: alone, blocks: this.#blocks, roomElsewhere };
    const others = await this.#others(pools, wanted, new Set(claimed), roomElsewhere);
    return { ground: { ...before, others }, blocks: this.#blocks, roomElsewhere };
  }

  #rows(): Affinity[] {
    return [...this.#host.memory.affinities.values()].filter(({ family }) => family === this.#family);
  }

  /** Own blocks by pool, then by address; rows that are not confirmed would be settled first. */
  async #own(
    pools: readonly CompiledPool[],
    wanted: number,
  ): Promise<{ available: number; nextFreeAt?: number; over: number }> {
    const isOpen = (row: Affinity) => this.#policy.pools.some((pool) => isOf(row, pool));
    let over = this.#rows().filter((row) => row.state !== "confirmed" && !isOpen(row)).length;
    const seats = pools.flatMap((pool) => ownSeats(this.#rows(), pool)).slice(0, OWN_MAX);
    let available = 0;
    let nextFreeAt: number | undefined;
    for (let begin = 0; begin < seats.length && available < wanted; begin += LOT) {
      const lot = seats.slice(begin, begin + LOT);
      const views = await Promise.all(lot.map(({ seat }) => this.#describe(seat)));
      for (const [index, { seat, isConfirmed }] of lot.entries()) {
        const view = views[index] as BlockView;
        const { counts } = view;
        const isFresh = view.owner === undefined && counts.allocated + counts.cooling === 0;
        const isLeft = view.owner === undefined ? !isFresh : view.owner !== this.#request.host;
        if (isLeft) over += isConfirmed ? 0 : 1;
        if (isLeft || available >= wanted) continue;
        available += counts.available;
        nextFreeAt = earliest([nextFreeAt, counts.nextFreeAt]);
        this.#told(seat, counts);
      }
    }
    return { available, over, ...(nextFreeAt === undefined ? {} : { nextFreeAt }) };
  }

  async #claims(pools: readonly CompiledPool[], limit: number): Promise<ForeseenClaim[][]> {
    const all: ForeseenClaim[][] = [];
    for (const pool of pools) {
      const target = poolTarget(pool);
      const known = this.#rows()
        .filter((row) => isOf(row, pool))
        .map(({ block }) => block);
      const excluded = reservedPositions(this.#policy, pool);
      const question = { ...target, owner: this.#request.host, known, excluded, limit };
      const port = () => this.#host.runtime.ports.pool(target.pool, target.incarnation);
      const answer = await again(this.#host, () => port().claimPlan(question));
      if (answer.kind !== "answered") throw new Unheard("pool");
      const planned = answer.value.blocks;
      const needed = planned.filter(({ kind }) => kind !== "reclaim").length >= limit;
      const asked = needed ? planned.filter(({ kind }) => kind !== "reclaim") : planned;
      all.push(await Promise.all(asked.map((claim) => this.#foreseen(pool, claim))));
    }
    return all;
  }

  async #foreseen(pool: CompiledPool, planned: PlannedClaim): Promise<ForeseenClaim> {
    const { block, kind, owner, rank = 0 } = planned;
    const room = this.#freshRoom(pool, block);
    const fresh = { block, kind, rank, isGiven: true, available: room, isUsed: false };
    if (!planned.existed) return fresh;
    const seat = { pool, block, isOwn: false, ...(owner === undefined ? {} : { owner }) };
    const { owner: holder, counts } = await this.#describe(seat);
    const isEmpty = counts.allocated + counts.cooling === 0;
    if (kind === "reclaim" && owner !== undefined) {
      const isGiven = isEmpty && (await this.#isOldEnough(owner, block));
      if (isEmpty && !isGiven) this.#skipped(seat, "reclaim_too_young");
      return { ...fresh, isGiven };
    }
    if (holder === this.#request.host) return { ...fresh, available: counts.available, isUsed: !isEmpty };
    return { ...fresh, isGiven: holder === undefined && isEmpty };
  }

  /** A block is given up by a Host whose row of it is old enough. */
  async #isOldEnough(owner: string, block: string): Promise<boolean> {
    const { ports, settings, now } = this.#host.runtime;
    const answer = await again(this.#host, () => ports.host(owner).affinities({ host: owner }));
    if (answer.kind !== "answered") throw new Unheard("host");
    const row = answer.value.rows.find((one) => one.block === block);
    return row === undefined || now() - row.claimedAt >= settings.reclaimAgeMs;
  }

  #freshRoom(pool: CompiledPool, block: string): number {
    const cidr = cidrOf(block);
    const { hostReserved } = this.#request;
    const ends = this.#family === 4 ? hostReserved?.ipv4 : hostReserved?.ipv6;
    const capacity = Number(lastAddress(cidr) - cidr.base) + 1;
    return freshRoom(capacity, reservedOrdinals(this.#policy, pool, cidr), ends);
  }

  /** Blocks of others as a borrower, or a refusal's reason, would find them. */
  async #others(
    pools: readonly CompiledPool[],
    wanted: number,
    claimed: ReadonlySet<string>,
    roomElsewhere: Set<string>,
  ): Promise<{ available: number; nextFreeAt?: number }> {
    let available = 0;
    let nextFreeAt: number | undefined;
    for (const pool of pools) {
      const tried: string[] = [];
      for (let round = 0; round < ROUNDS_MAX && available < wanted; round += 1) {
        const offer = await this.#candidates(pool, tried);
        nextFreeAt = earliest([nextFreeAt, offer.nextFreeAt]);
        if (offer.candidates.length === 0) break;
        const seats = offer.candidates.map(({ block, owner }): Seat => {
          return { pool, block, isOwn: false, ...(owner === undefined ? {} : { owner }) };
        });
        const views = await Promise.all(seats.map((seat) => this.#describe(seat)));
        for (const [index, seat] of seats.entries()) {
          // A block that would be claimed is no other's any more.
          if (claimed.has(seat.block)) continue;
          const { counts } = views[index] as BlockView;
          nextFreeAt = earliest([nextFreeAt, counts.nextFreeAt]);
          if (counts.available > 0) roomElsewhere.add(pool.definition.name);
          if (available < wanted) this.#other(seat, counts);
          available += counts.available;
        }
        tried.push(...offer.candidates.map(({ block }) => block));
      }
    }
    return { available, ...(nextFreeAt === undefined ? {} : { nextFreeAt }) };
  }

  async #candidates(pool: CompiledPool, tried: readonly string[]) {
    const target = poolTarget(pool);
    const policyVersion = this.#policy.version;
    const owner = this.#request.host;
    const question = { ...target, owner, limit: CANDIDATES, tried, seen: [], policyVersion };
    const port = () => this.#host.runtime.ports.pool(target.pool, target.incarnation);
    const answer = await again(this.#host, () => port().borrowCandidates(question));
    if (answer.kind !== "answered") throw new Unheard("pool");
    return answer.value;
  }

  async #describe({ pool, block }: Seat): Promise<BlockView> {
    const question = { block, policy: blockPolicy(this.#policy, pool, block) };
    const answer = await again(this.#host, () => this.#host.runtime.ports.block(block).describe(question));
    if (answer.kind !== "answered") throw new Unheard("block");
    return answer.value;
  }

  #other(seat: Seat, counts: BlockCounts): void {
    const { strictAffinity, autoAllocateBlocks } = this.#policy.config;
    if (counts.available > 0 && strictAffinity) this.#skipped(seat, "strict_affinity");
    else if (counts.available > 0 && !autoAllocateBlocks) this.#skipped(seat, "owned_by_other");
    else this.#told(seat, counts);
  }

  #told(seat: Seat, counts: BlockCounts): void {
    this.#blocks.push(blockConsidered(seat, this.#request.host, counts));
  }

  #skipped(seat: Seat, rule: Considered["rule"]): void {
    this.#blocks.push(blockMet(seat, this.#request.host, "skipped", rule));
  }
}

function isOf(row: Affinity, { definition }: CompiledPool): boolean {
  return row.pool === definition.name && row.incarnation === definition.incarnation;
}

function ownSeats(rows: readonly Affinity[], pool: CompiledPool): { seat: Seat; isConfirmed: boolean }[] {
  return rows
    .filter((row) => isOf(row, pool))
    .map((row) => ({ ...row, base: cidrOf(row.block).base }))
    .sort((one, other) => (one.base < other.base ? -1 : 1))
    .map(({ block, state }) => ({ seat: { pool, block, isOwn: true }, isConfirmed: state === "confirmed" }));
}
