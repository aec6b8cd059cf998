/**
 * The search for addresses of one family: listed blocks, own blocks, claims, then borrowing.
 * May import: core, rpc, platform. Rule: hints choose the order, only the block decides.
 */
import { parseAddress } from "../src/core/address.ts";
import { type Considered, type Family, rejection, type Shortfall } from "../src/core/errors.ts";
import { CONSIDERED_REFUSAL_MAX } from "../src/core/limits.ts";
import { boundConsidered, earliest, type SearchEnd, shortageCode, toldPools } from "../src/core/placement.ts";
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import { choosePools, type NoPool, type PoolChoice } from "../src/core/pool-choice.ts";
import type { HostAllocateRequest } from "../src/rpc/host.ts";
import type { LeasedPolicy } from "../src/rpc/policy-source.ts";
import type { HostAffinities } from "./host-affinities.ts";
import type { AttemptRefusal, HostAttempt, Seat, SeatResult } from "./host-attempt.ts";
import { HostBorrowing, type OthersResult } from "./host-borrowing.ts";
import { blockConsidered, blockMet } from "./host-considered.ts";
import { type HostContext, poolTarget } from "./host-context.ts";
import type { HostLooks } from "./host-looks.ts";
import { HostSeats, isRowOf } from "./host-seats.ts";
import type { Searcher } from "./host-surrender.ts";
import type { Affinity } from "./storage/host-rows.ts";

/** How a search ended. `short`: definitely not enough; what was created can be undone. */
export type SearchResult =
  | { readonly kind: "complete" }
  | {
      readonly kind: "short";
      readonly shortfall: Shortfall;
      readonly pool?: string;
      readonly end?: SearchEnd & { owned: number; cap: number };
    }
  | { readonly kind: "refused"; readonly refusal: AttemptRefusal };

/** Own blocks whose figures say that they are full are asked in lots of so many. */
const ASK_LOT = 16;
/** Own blocks asked before a refusal at most; bounds the calls of one request. */
const ASK_MAX = 512;
type Unheard = "pool" | "block" | "host";

/** Changes of policy that one request follows. */
const RESTARTS_MAX = 4;

type Step =
  | "complete"
  | "go_on"
  | { readonly kind: "refused"; readonly refusal: AttemptRefusal }
  | { readonly kind: "policy_changed" };

export class HostSearch {
  readonly #host: HostContext;
  readonly #affinities: HostAffinities;
  readonly #borrowing: HostBorrowing;
  readonly #attempt: HostAttempt;
  readonly #request: HostAllocateRequest;
  readonly #family: Family;
  readonly #labels: Readonly<Record<string, string>>;
  readonly #looks: HostLooks;
  #pools: readonly Considered[] = [];
  #blocks: Considered[] = [];
  #asked = new Set<string>();
  readonly #seats: HostSeats;
  #isShut = false;
  /** Somebody who was asked did not answer: then "there is none" is not known. */
  #unheard: Unheard | undefined;

  constructor(
    parts: {
      host: HostContext;
      affinities: HostAffinities;
      enrol: () => Promise<boolean>;
      looks: HostLooks;
    },
    attempt: HostAttempt,
    request: HostAllocateRequest,
    labels: Readonly<Record<string, string>>,
  ) {
    this.#host = parts.host;
    this.#affinities = parts.affinities;
    this.#attempt = attempt;
    this.#request = request;
    this.#family = attempt.wish.family;
    this.#seats = new HostSeats(parts.host, attempt.wish.family);
    this.#labels = labels;
    this.#looks = parts.looks;
    this.#borrowing = new HostBorrowing(parts.host, parts.enrol, attempt, parts.looks);
  }

  /**
   * Searches until the wish is met, or there is definitely no more. `isShut`: nothing may be got, only
   * the reason is told.
   */
  async run(known: CompiledPolicy, isShut = false): Promise<SearchResult> {
    this.#isShut = isShut;
    let policy = known;
    for (let round = 0; round < RESTARTS_MAX; round += 1) {
      this.#blocks = [];
      this.#asked = new Set();
      this.#unheard = undefined;
      const result = await this.#under(policy);
      if (result.kind !== "policy_changed") return result;
      const leased = await this.#lease();
      if (leased === undefined) return { kind: "refused", refusal: this.#noPolicy() };
      policy = leased.policy;
    }
    return { kind: "refused", refusal: this.#noPolicy() };
  }

  /** What the search met, pools first, however it ended. */
  get considered(): readonly Considered[] {
    return [...this.#pools, ...this.#blocks];
  }

  /** Rows of the family in every state, as the cap counts them. */
  get owned(): number {
    return this.#seats.rows();
  }

  async #under(policy: CompiledPolicy): Promise<SearchResult | { readonly kind: "policy_changed" }> {
    if (policy.config.maintenance) return await this.#inMaintenance(policy);
    const choice = choosePools(policy, this.#poolRequest());
    this.#pools = choice.ok ? choice.value.considered : choice.error.considered;
    if (choice.ok) this.#affinities.surrender.begin(this.#searcher(policy, choice.value.pools));
    if (this.#isShut && choice.ok) return await this.#partReplayed(policy, choice.value);
    const told = this.#host.refresh.begin(this.#request.host, choice.ok ? choice.value.pools : [], policy);
    if (told !== undefined) await told;
    const roomy = choice.ok ? this.#seats.roomy(choice.value.pools) : [];
    const hasRoom = roomy.some((seat) => this.#seats.mayHaveRoom(seat));
    if (!hasRoom) {
      // Nothing to reserve at yet; a key that is listed is answered all the same.
      const step = await this.#lookUp(policy);
      if (step !== "go_on") return finish(step);
    }
    if (!choice.ok) return await this.#noPool(policy, choice.error);
    if (this.#isPartReplayed) return await this.#partReplayed(policy, choice.value);
    if (!hasRoom) {
      const step = await this.#meetLimit(policy);
      if (step !== "go_on") return finish(step);
    }
    const { pools, considered } = choice.value;
    for (const seat of roomy) {
      if (!this.#seats.mayHaveRoom(seat)) continue;
      const step = await this.#visit(seat, policy);
      if (step !== "go_on") return finish(step);
      if (this.#isPartReplayed) return await this.#partReplayed(policy, choice.value);
    }
    const leased = await this.#lease();
    if (leased === undefined) return { kind: "refused", refusal: this.#noPolicy() };
    if (leased.policy.version !== policy.version) return { kind: "policy_changed" };
    return await this.#beyondHints(leased, pools, considered);
  }

  /** A partial answer given before stays what it was: nothing is added to what the key holds. */
  get #isPartReplayed(): boolean {
    const isFoundInPart = this.#request.partial && this.#attempt.wasFound && this.#attempt.missing > 0;
    return isFoundInPart || this.#isShut;
  }

  async #partReplayed(policy: CompiledPolicy, { pools, considered }: PoolChoice): Promise<SearchResult> {
    const others = await this.#borrowing.survey(pools, policy);
    const cap = policy.cap(this.#request.maxBlocksPerHost);
    const nextFreeAt = earliest([this.#seats.nextFreeAt(pools), others.nextFreeAt]);
    const end: SearchEnd = {
      capReached: this.#seats.rows() >= cap,
      autoAllocateOff: !policy.config.autoAllocateBlocks,
      strict: policy.config.strictAffinity,
      othersHaveRoom: others.haveRoom,
      ...(nextFreeAt === undefined ? {} : { nextFreeAt }),
    };
    return this.#shortWith(end, cap, considered, others);
  }

  /** Short of addresses in pools that might have served. */
  #shortWith(
    end: SearchEnd,
    cap: number,
    pools: readonly Considered[],
    { considered, roomElsewhere }: OthersResult,
  ): SearchResult {
    const ended = { ...end, owned: this.#seats.rows(), cap };
    const told = toldPools(pools, this.#request.host, ended, roomElsewhere);
    return this.#short(shortageCode(end), [...told, ...this.#blocks, ...considered], ended);
  }

  /** The hints know no more: ask the own blocks, claim, borrow. */
  async #beyondHints(
    leased: LeasedPolicy,
    pools: readonly CompiledPool[],
    considered: readonly Considered[],
  ): Promise<SearchResult | { readonly kind: "policy_changed" }> {
    const { policy } = leased;
    await this.#affinities.surrender.settle(this.#searcher(policy, pools));
    await this.#recoverRows(leased, pools);
    await this.#host.refresh.beforeClaim(pools, policy);
    const heard = await this.#visitRoomy(pools, policy);
    if (heard !== "go_on") return finish(heard);
    const claims = await this.#claimBlocks(leased, pools);
    if (claims.step !== "go_on") return finish(claims.step);
    const askedAll = await this.#askOwn(pools, policy);
    if (askedAll !== "go_on") return finish(askedAll);
    const mayBorrow = !claims.capReached && policy.config.autoAllocateBlocks && !policy.config.strictAffinity;
    const others = mayBorrow
      ? await this.#borrowing.borrow(pools, policy, (seat) => this.#visit(seat, policy))
      : await this.#borrowing.survey(pools, policy);
    if (others.step !== "go_on") return finish(others.step);
    const unheard = this.#unheard ?? (others.isComplete ? undefined : "pool");
    if (unheard !== undefined) {
      return { kind: "refused", refusal: rejection("overloaded", { where: unheard }, 1) };
    }
    const cap = policy.cap(this.#request.maxBlocksPerHost);
    const nextFreeAt = earliest([this.#seats.nextFreeAt(pools), mayBorrow ? others.nextFreeAt : undefined]);
    const end: SearchEnd = {
      capReached: claims.capReached,
      autoAllocateOff: !policy.config.autoAllocateBlocks,
      strict: policy.config.strictAffinity,
      othersHaveRoom: others.haveRoom,
      ...(nextFreeAt === undefined ? {} : { nextFreeAt }),
    };
    return this.#shortWith(end, cap, considered, others);
  }

  /** Refuses only under a lease: what was known before may have ended. */
  async #inMaintenance(policy: CompiledPolicy): Promise<SearchResult | { readonly kind: "policy_changed" }> {
    const leased = await this.#lease();
    if (leased === undefined) return { kind: "refused", refusal: this.#noPolicy() };
    if (leased.policy.version !== policy.version) return { kind: "policy_changed" };
    const { maintenanceReason: reason } = policy.config;
    return { kind: "refused", refusal: rejection("maintenance", reason === undefined ? {} : { reason }) };
  }

  async #lookUp(policy: CompiledPolicy): Promise<Step> {
    const found = await this.#attempt.lookUp();
    return found.kind === "absent" ? "go_on" : await this.#follow(found, policy);
  }

  /** What a handle at its limit holds is the answer, or the refusal, also where there is no room at all. */
  async #meetLimit(policy: CompiledPolicy): Promise<Step> {
    const met = await this.#attempt.meetLimit(policy);
    return met.kind === "absent" ? "go_on" : await this.#follow(met, policy);
  }

  /** A key that is listed in a block of a pool that may not be used any more is only replayed. */
  async #noPool(
    policy: CompiledPolicy,
    no: NoPool,
  ): Promise<SearchResult | { readonly kind: "policy_changed" }> {
    const leased = await this.#lease();
    if (leased === undefined) return { kind: "refused", refusal: this.#noPolicy() };
    if (leased.policy.version !== policy.version) return { kind: "policy_changed" };
    return this.#short(no.code, no.considered, undefined, no.pool);
  }

  async #visit(seat: Seat, policy: CompiledPolicy): Promise<Step> {
    this.#asked.add(seat.block);
    const take = () => this.#attempt.take(seat, policy);
    const result = await this.#host.memory.visiting(seat.block, Math.max(1, this.#attempt.missing), take);
    this.#consider(seat, result);
    if (result.kind === "got" && seat.isOwn) this.#noteServed(seat, policy);
    if (result.kind === "lost" && seat.isOwn) await this.#recoverLost(seat.block);
    return await this.#follow(result, policy);
  }

  /** A burst claims its next block while this one still has room. */
  #noteServed({ pool }: Seat, policy: CompiledPolicy): void {
    if (!policy.config.autoAllocateBlocks || this.#request.hostReserved !== undefined) return;
    const cap = policy.cap(this.#request.maxBlocksPerHost);
    const wish = () => {
      const leased = this.#host.runtime.policy.held(this.#host.runtime.now());
      const isUnder = leased?.policy.version === policy.version && this.#seats.rows() < cap;
      return leased !== undefined && isUnder ? this.#claimWish(leased, pool, cap) : undefined;
    };
    this.#affinities.ahead.served(wish, pool, this.#attempt.wish.count);
  }

  async #follow(result: SeatResult, policy: CompiledPolicy): Promise<Step> {
    switch (result.kind) {
      case "refused":
      case "policy_changed":
        return result;
      case "listed":
        return await this.#visitListed(result.blocks, policy);
      case "got":
      case "full":
      case "lost":
      case "taken":
        return this.#attempt.missing <= 0 ? "complete" : "go_on";
    }
  }

  /** Where the key is listed an earlier attempt may have got something, or may still. */
  async #visitListed(blocks: readonly string[], policy: CompiledPolicy): Promise<Step> {
    const choice = choosePools(policy, this.#poolRequest());
    const allowed = choice.ok ? choice.value.pools : [];
    for (const block of blocks) {
      const pool = poolOfBlock(policy, block);
      if (pool === undefined) {
        const left = await this.#attempt.leaveGone(block);
        if (left.kind === "refused") return left;
        continue;
      }
      const isOwn = this.#host.memory.affinities.get(block)?.state === "confirmed";
      this.#attempt.goToListed(block);
      const seat = { pool, block, isOwn, replayOnly: !allowed.includes(pool) };
      // It may have become another host's since: what is got there is borrowed.
      if (!isOwn) await this.#borrowing.note(seat);
      const step = await this.#visit(seat, policy);
      if (step !== "go_on") return step;
    }
    return "go_on";
  }

  /** Own blocks that turned out to have room since this search began. */
  async #visitRoomy(pools: readonly CompiledPool[], policy: CompiledPolicy): Promise<Step> {
    for (const seat of this.#seats.roomy(pools)) {
      if (this.#asked.has(seat.block) || !this.#seats.mayHaveRoom(seat)) continue;
      const step = await this.#visit(seat, policy);
      if (step !== "go_on") return step;
    }
    return "go_on";
  }

  /** Own blocks that the hints call full are asked before a refusal: it must not rest on what is remembered. */
  async #askOwn(pools: readonly CompiledPool[], policy: CompiledPolicy): Promise<Step> {
    const { memory } = this.#host;
    const seenAt = ({ block }: Seat): number => memory.hint(block)?.seenAt ?? 0;
    const seats = this.#seats.own(pools).filter(({ block }) => !this.#asked.has(block));
    seats.sort((one, other) => seenAt(one) - seenAt(other));
    for (let begin = 0; begin < Math.min(seats.length, ASK_MAX); begin += ASK_LOT) {
      const lot = seats.slice(begin, begin + ASK_LOT);
      const rooms = await Promise.all(lot.map((seat) => this.#room(seat, policy)));
      for (const [index, seat] of lot.entries()) {
        if (rooms[index] !== true) continue;
        const step = await this.#visit(seat, policy);
        if (step !== "go_on") return step;
      }
    }
    return "go_on";
  }

  /** Asks a block for its figures; one that does not answer is left alone. */
  async #room(seat: Seat, policy: CompiledPolicy): Promise<boolean> {
    this.#asked.add(seat.block);
    const { memory, runtime, reports } = this.#host;
    const view = await this.#looks.describe(policy, seat.pool, seat.block);
    if (view === undefined) {
      this.#unheard = "block";
      return false;
    }
    const { counts } = view;
    memory.note(seat.block, counts, runtime.now());
    reports.changed(poolTarget(seat.pool), seat.block, counts);
    if (counts.available > 0) return true;
    this.#blocks.push(blockConsidered(seat, this.#request.host, counts));
    return false;
  }

  async #claimBlocks(
    leased: LeasedPolicy,
    pools: readonly CompiledPool[],
  ): Promise<{ step: Step; capReached: boolean }> {
    const { policy } = leased;
    const cap = policy.cap(this.#request.maxBlocksPerHost);
    const reached = { step: "go_on", capReached: true } as const;
    if (this.#seats.rows() >= cap) return reached;
    if (!policy.config.autoAllocateBlocks) return { step: "go_on", capReached: false };
    for (const pool of pools) {
      // Ends: each round adds a row under the cap, or leaves the pool.
      while (this.#seats.rows() < cap && !this.#looks.isWithoutBlock(policy, pool)) {
        const claimed = await this.#affinities.claim(this.#claimWish(leased, pool, cap));
        if (claimed.kind === "over_cap") return reached;
        // Nobody knows whether this pool has a block: the next pool's turn has not come.
        if (claimed.kind === "unsettled") {
          const refusal = rejection("overloaded", { where: claimed.where }, 1);
          return { step: { kind: "refused", refusal }, capReached: false };
        }
        if (claimed.kind === "none") this.#withoutBlock(policy, pool, claimed.young);
        if (claimed.kind !== "claimed") break;
        const seat: Seat = { pool, block: claimed.block, isOwn: true };
        // Shared with others: those who came first have filled it.
        if (claimed.counts.available > 0 && !this.#seats.mayHaveRoom(seat)) continue;
        const before = this.#attempt.missing;
        const step = await this.#visit(seat, policy);
        if (step !== "go_on") return { step, capReached: false };
        // A new block that has no usable address: more of the same would only be wasted. One that others
        // have filled in the meantime is no reason to stop.
        const counts = this.#host.memory.hint(claimed.block)?.counts;
        const isUnusable = counts === undefined || (counts.allocated === 0 && counts.cooling === 0);
        if (this.#attempt.missing === before && isUnusable) break;
      }
    }
    return this.#seats.rows() >= cap ? reached : { step: "go_on", capReached: false };
  }

  #withoutBlock(
    policy: CompiledPolicy,
    pool: CompiledPool,
    young: readonly { readonly block: string; readonly owner: string }[] = [],
  ): void {
    this.#looks.noteWithoutBlock(policy, pool);
    for (const { block, owner } of young) {
      const seat = { pool, block, owner, isOwn: false };
      this.#blocks.push(blockMet(seat, this.#request.host, "skipped", "reclaim_too_young"));
    }
  }

  #claimWish(leased: LeasedPolicy, pool: CompiledPool, cap: number) {
    const { host, hostReserved, deadlineAt } = this.#request;
    const ends = this.#family === 4 ? hostReserved?.ipv4 : hostReserved?.ipv6;
    return {
      owner: host,
      pool,
      leased,
      cap,
      ...(ends === undefined ? {} : { hostReserved: ends }),
      ...(deadlineAt === undefined ? {} : { deadlineAt }),
    };
  }

  #searcher(policy: CompiledPolicy, pools: readonly CompiledPool[]): Searcher {
    return { owner: this.#request.host, labels: this.#labels, family: this.#family, policy, pools };
  }

  /** Rows that an interrupted claim or release left behind; those of pools that have gone too: caps count them. */
  async #recoverRows(leased: LeasedPolicy, pools: readonly CompiledPool[]): Promise<void> {
    const isOver = (row: Affinity) => !leased.policy.pools.some((pool) => isRowOf(row, pool));
    const left = [...this.#host.memory.affinities.values()].filter(
      (row) => row.state !== "confirmed" && (pools.some((pool) => isRowOf(row, pool)) || isOver(row)),
    );
    await Promise.all(left.map((row) => this.#affinities.recover(row, this.#request.host, leased)));
  }

  async #recoverLost(block: string): Promise<void> {
    const row = this.#affinities.lose(block);
    const leased = await this.#lease();
    if (row === undefined || leased === undefined) return;
    const recovered = await this.#affinities.recover(row, this.#request.host, leased);
    // It is the host's own again, so it is asked again before another one is claimed.
    if (recovered.kind === "claimed") this.#asked.delete(block);
  }

  #consider(seat: Seat, result: SeatResult): void {
    const { host } = this.#request;
    if (result.kind === "got") this.#blocks.push(blockMet(seat, host, "used", "ok"));
    if (result.kind === "full") this.#blocks.push(blockConsidered(seat, host, result.counts));
    if (result.kind !== "lost") return;
    const owner = result.owner === undefined ? {} : { owner: result.owner };
    this.#blocks.push(blockMet({ ...seat, isOwn: false, ...owner }, host, "skipped", "owned_by_other"));
  }

  #short(
    code: Shortfall["code"],
    all: readonly Considered[],
    end?: SearchEnd & { owned: number; cap: number },
    pool?: string,
  ): SearchResult {
    const { considered, omitted } = boundConsidered(all, CONSIDERED_REFUSAL_MAX);
    const { count } = this.#attempt.wish;
    const wait = end?.nextFreeAt === undefined ? undefined : end.nextFreeAt - this.#host.runtime.now();
    const shortfall: Shortfall = {
      family: this.#family,
      requested: count,
      allocated: this.#attempt.got.length,
      code,
      ...(wait === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(wait / 1000)) }),
      considered,
      consideredOmitted: omitted,
    };
    return {
      kind: "short",
      shortfall,
      ...(pool === undefined ? {} : { pool }),
      ...(end === undefined ? {} : { end }),
    };
  }

  #poolRequest() {
    const { use, namespaceLabels, hostReserved } = this.#request;
    const wish = this.#family === 4 ? this.#request.ipv4 : this.#request.ipv6;
    const ends = this.#family === 4 ? hostReserved?.ipv4 : hostReserved?.ipv6;
    const pools = wish?.pools;
    return {
      family: this.#family,
      use,
      hostLabels: this.#labels,
      namespaceLabels,
      pools,
      hostReserved: ends,
    };
  }

  #lease(): Promise<LeasedPolicy | undefined> {
    return this.#host.runtime.policy.current(this.#host.runtime.now());
  }

  #noPolicy(): AttemptRefusal {
    return { code: "policy_unavailable", evidence: {}, retryAfterSeconds: 1 };
  }
}

function finish(step: Exclude<Step, "go_on">): SearchResult | { readonly kind: "policy_changed" } {
  return step === "complete" ? { kind: "complete" } : step;
}

/** The pool that a block belongs to, whatever its state. */
function poolOfBlock(policy: CompiledPolicy, block: string): CompiledPool | undefined {
  const base = parseAddress(block.slice(0, block.indexOf("/")));
  return base.ok ? policy.poolOf(base.value) : undefined;
}
