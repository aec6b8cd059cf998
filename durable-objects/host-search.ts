/**
 * The search for addresses of one family: listed blocks, own blocks, claims, then borrowing.
 * May import: core, rpc, platform. Rule: hints choose the order, only the block decides.
 */
import { parseAddress } from "../src/core/address.ts";
import { type Considered, type Family, rejection } from "../src/core/errors.ts";
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import { choosePools, type NoPool, type PoolChoice } from "../src/core/pool-choice.ts";
import type { HostAllocateRequest } from "../src/rpc/host.ts";
import type { LeasedPolicy } from "../src/rpc/policy-source.ts";
import type { HostAffinities } from "./host-affinities.ts";
import type { HostAttempt } from "./host-attempt.ts";
import type { AttemptRefusal, Seat, SeatResult } from "./host-attempt-terms.ts";
import { HostBorrowing } from "./host-borrowing.ts";
import { HostClaims } from "./host-claims.ts";
import { blockConsidered, blockMet } from "./host-considered.ts";
import { type HostContext, poolTarget } from "./host-context.ts";
import type { HostLooks } from "./host-looks.ts";
import { HostSeats } from "./host-seats.ts";
import { HostShortage, type Short } from "./host-shortage.ts";
import type { Searcher } from "./host-surrender.ts";

/** How a search ended. */
export type SearchResult =
  | { readonly kind: "complete" }
  | Short
  | { readonly kind: "refused"; readonly refusal: AttemptRefusal };

/** Own blocks whose figures say that they are full are asked in lots of so many. */
const ASK_LOT = 16;
/** Own blocks asked before a refusal at most; bounds the calls of one request. */
const ASK_MAX = 512;
type Unheard = "pool" | "block" | "host";

/** Changes of policy that one request follows. */
const RESTARTS_MAX = 4;

/** Whether a search goes on after what it has just done. */
export type Step =
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
  readonly #claims: HostClaims;
  readonly #shortage: HostShortage;
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
    this.#claims = new HostClaims(parts, attempt, this.#seats, request);
    this.#shortage = new HostShortage(parts.host, attempt, this.#seats, request);
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
    const capReached = this.#seats.rows() >= policy.cap(this.#request.maxBlocksPerHost);
    const met = { considered, blocks: this.#blocks, others };
    return this.#shortage.searched({ policy, pools, ...met, capReached, mayBorrow: true });
  }

  /** The hints know no more: ask the own blocks, claim, borrow. */
  async #beyondHints(
    leased: LeasedPolicy,
    pools: readonly CompiledPool[],
    considered: readonly Considered[],
  ): Promise<SearchResult | { readonly kind: "policy_changed" }> {
    const { policy } = leased;
    await this.#affinities.surrender.settle(this.#searcher(policy, pools));
    await this.#claims.recoverRows(leased, pools);
    await this.#host.refresh.beforeClaim(pools, policy);
    const heard = await this.#visitRoomy(pools, policy);
    if (heard !== "go_on") return finish(heard);
    const visit = (seat: Seat) => this.#visit(seat, policy);
    const visitOthers = () => this.#visitRoomy(pools, policy);
    const claims = await this.#claims.run(leased, pools, { visit, visitOthers }, (one) =>
      this.#blocks.push(one),
    );
    if (claims.step !== "go_on") return finish(claims.step);
    if (claims.isUnheard === true) this.#unheard = "host";
    const askedAll = await this.#askOwn(pools, policy);
    if (askedAll !== "go_on") return finish(askedAll);
    const mayBorrow = !claims.capReached && policy.config.autoAllocateBlocks && !policy.config.strictAffinity;
    const others = mayBorrow
      ? await this.#borrowing.borrow(pools, policy, visit)
      : await this.#borrowing.survey(pools, policy);
    if (others.step !== "go_on") return finish(others.step);
    const unheard = this.#unheard ?? (others.isComplete ? undefined : "pool");
    if (unheard !== undefined) {
      return { kind: "refused", refusal: rejection("overloaded", { where: unheard }, 1) };
    }
    const met = { considered, blocks: this.#blocks, others };
    return this.#shortage.searched({ policy, pools, ...met, capReached: claims.capReached, mayBorrow });
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
    return this.#shortage.withoutPool(no.code, no.considered, no.pool);
  }

  async #visit(seat: Seat, policy: CompiledPolicy): Promise<Step> {
    this.#asked.add(seat.block);
    const before = this.#attempt.created.length;
    const take = () => this.#attempt.take(seat, policy);
    const result = await this.#host.memory.visiting(seat.block, Math.max(1, this.#attempt.missing), take);
    this.#consider(seat, result);
    if (seat.isOwn) this.#claims.noteServed(seat, policy, this.#attempt.created.length - before);
    // When it is the host's own again it is asked again, before another one is claimed.
    const isBack = result.kind === "lost" && seat.isOwn && (await this.#claims.recoverLost(seat.block));
    if (isBack) this.#asked.delete(seat.block);
    return await this.#follow(result, policy);
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

  /**
   * Where the key is listed an earlier attempt may have got something, or may still.
   * Invariant: of several blocks none gives more before all have said what the key holds (I13).
   */
  async #visitListed(blocks: readonly string[], policy: CompiledPolicy): Promise<Step> {
    const step = await this.#askListed(blocks, policy, blocks.length > 1);
    if (step !== "go_on" || blocks.length === 1 || this.#isPartReplayed) return step;
    const isOpen = (block: string): boolean =>
      poolOfBlock(policy, block) !== undefined && !this.#attempt.got.some((one) => one.block === block);
    return await this.#askListed(blocks.filter(isOpen), policy, false);
  }

  async #askListed(blocks: readonly string[], policy: CompiledPolicy, isReplay: boolean): Promise<Step> {
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
      const seat = { pool, block, isOwn, replayOnly: isReplay || !allowed.includes(pool) };
      // It may have become another host's since: what is got there is borrowed.
      const refused = isOwn ? undefined : await this.#borrowing.note(seat);
      const step = refused ?? (await this.#visit(seat, policy));
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

  #searcher(policy: CompiledPolicy, pools: readonly CompiledPool[]): Searcher {
    return { owner: this.#request.host, labels: this.#labels, family: this.#family, policy, pools };
  }

  #consider(seat: Seat, result: SeatResult): void {
    const { host } = this.#request;
    if (result.kind === "got") this.#blocks.push(blockMet(seat, host, "used", "ok"));
    if (result.kind === "full") this.#blocks.push(blockConsidered(seat, host, result.counts));
    if (result.kind !== "lost") return;
    const owner = result.owner === undefined ? {} : { owner: result.owner };
    this.#blocks.push(blockMet({ ...seat, isOwn: false, ...owner }, host, "skipped", "owned_by_other"));
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
