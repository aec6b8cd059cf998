/**
 * Automatic allocation in the in-memory reference, for both families.
 * May import: core ranges only. Order of checks: the contract's, section 4.
 */
import { parseCidr } from "../../src/core/cidr.ts";
import type { Family } from "../../src/core/errors.ts";
import { giveUpIfDeselected, nextBlock, recover, type SetAside } from "./model-affinities.ts";
import type { ModelBlock, OwnerAttributes, Tenure } from "./model-block.ts";
import { choosePools, type ModelPool } from "./model-pools.ts";
import type { Held, ModelState } from "./model-state.ts";

export interface FamilyWish {
  readonly count: number;
  readonly pools?: readonly string[] | undefined;
  readonly setAside?: SetAside | undefined;
}

export interface Wish {
  /** A host, or `virtual:<name>`. */
  readonly host: string;
  readonly handle?: string | undefined;
  readonly use: string;
  readonly attributes?: OwnerAttributes | undefined;
  readonly families: Readonly<Partial<Record<Family, FamilyWish>>>;
  readonly namespaceLabels?: Readonly<Record<string, string>> | undefined;
  readonly maxBlocksPerHost?: number | undefined;
  readonly maxPerHandle?: number | undefined;
  /** What there is of it is better than nothing. */
  readonly partial?: boolean | undefined;
  /** Where the attributes of reused addresses are written. */
  readonly ownerSlot?: "active" | "alternate" | undefined;
}

export type ShortCode =
  | "requested_pool_unavailable"
  | "no_qualified_pool"
  | "no_pool_selects_host"
  | "handle_limit_reached"
  | "block_limit_reached"
  | "auto_allocate_disabled"
  | "strict_affinity"
  | "pool_cooling"
  | "pool_exhausted";

/** What a family lacks, and why. */
export interface Shortage {
  readonly family: Family;
  readonly requested: number;
  readonly allocated: number;
  readonly code: ShortCode;
  /** CIDRs of the pools that were searched. */
  readonly searched: readonly string[];
  readonly limit?: number;
  /** The entry of the request's list that is not to be had. */
  readonly pool?: string;
}

export interface Given extends Held {
  readonly reused: boolean;
}

export interface Answer {
  readonly given: readonly Given[];
  readonly shortfall: readonly Shortage[];
}

export interface Refusal {
  readonly code: string;
  /** Which member of the request is at fault. */
  readonly pointer?: string;
  readonly shortfall?: readonly Shortage[];
}

const USES = ["Workload", "Tunnel", "LoadBalancer"];

/** Allocates for both families, or for none of them unless part of it is welcome (I15). */
export function allocate(state: ModelState, wish: Wish): Answer | Refusal {
  state.settle();
  const fault = faultOf(wish);
  if (fault !== undefined) return fault;
  const labels = state.labelsOf(wish.host);
  if (labels === undefined) return { code: "host_unknown" };
  const undo: (() => void)[] = [];
  const answers = ([4, 6] as const)
    .filter((family) => (wish.families[family]?.count ?? 0) > 0)
    .map((family) => new FamilySearch(state, wish, family, undo).run(labels));
  const given = answers.flatMap((answer) => answer.given);
  const shortfall = answers.flatMap(({ shortage }) => shortage ?? []);
  // A handle at its limit refuses the request as a whole, whatever else there is.
  const isAtLimit = shortfall.some(({ code }) => code === "handle_limit_reached");
  if (shortfall.length === 0 || (wish.partial === true && given.length > 0 && !isAtLimit)) {
    return { given, shortfall };
  }
  // As if they had never been given: the queue is as it was.
  for (const back of undo.toReversed()) back();
  if (isAtLimit) return { code: "handle_limit_reached" };
  return { code: shortfall[0]?.code ?? "", shortfall };
}

function faultOf({ use, families }: Wish): Refusal | undefined {
  if (!USES.includes(use)) return { code: "invalid_request", pointer: "/use" };
  if ((families[4]?.count ?? 0) + (families[6]?.count ?? 0) === 0) {
    return { code: "invalid_request", pointer: "" };
  }
  for (const family of [4, 6] as const) {
    const wrong = families[family]?.pools?.find((text) => {
      const range = parseCidr(text);
      return range.ok && range.value.family !== family;
    });
    if (wrong !== undefined) return { code: "invalid_request", pointer: `/ipv${family}/pools` };
  }
  return undefined;
}

/** The search of one family. */
class FamilySearch {
  readonly #state: ModelState;
  readonly #wish: Wish;
  readonly #family: Family;
  readonly #undo: (() => void)[];
  readonly #given: Given[] = [];
  readonly #count: number;

  constructor(state: ModelState, wish: Wish, family: Family, undo: (() => void)[]) {
    this.#state = state;
    this.#wish = wish;
    this.#family = family;
    this.#undo = undo;
    this.#count = wish.families[family]?.count ?? 0;
  }

  get #missing(): number {
    return this.#count - this.#given.length;
  }

  run(labels: OwnerAttributes): { given: readonly Given[]; shortage?: Shortage } {
    const { use, namespaceLabels, families } = this.#wish;
    const { pools: named, setAside } = families[this.#family] ?? {};
    const question = { family: this.#family, use, hostLabels: labels, namespaceLabels, pools: named };
    const size = (setAside?.start ?? 0) + (setAside?.end ?? 0);
    const verdict = choosePools(this.#state.pools.values(), { ...question, setAside: size });
    if ("code" in verdict) return this.#short(verdict.code, [], verdict);
    const { pools } = verdict;
    this.#tidy(pools);
    const limited = this.#atLimit();
    if (limited === "reused") return { given: this.#given };
    if (limited === "reached") return this.#short("handle_limit_reached", pools);
    const code = this.#search(pools);
    return code === undefined ? { given: this.#given } : this.#short(code, pools);
  }

  /** Empty blocks of pools that have stopped selecting the host are not kept. */
  #tidy(pools: readonly ModelPool[]): void {
    const { host } = this.#wish;
    for (const row of this.#state.rowsOf(host, this.#family)) {
      const block = this.#state.blocks.get(row.block);
      if (block?.owner !== host) continue;
      const pool = this.#state.poolOfBlock(block);
      if (pool !== undefined && !pools.includes(pool)) giveUpIfDeselected(this.#state, block);
    }
    recover(this.#state, host, pools);
  }

  /** A handle at its limit gets what it holds already, if that is as much as it asks for (I9). */
  #atLimit(): "reused" | "reached" | undefined {
    const { handle, maxPerHandle: limit, ownerSlot, attributes = {}, host } = this.#wish;
    if (limit === undefined) return undefined;
    const held = handle === undefined ? [] : this.#state.heldBy(handle, this.#family);
    if (held.length + this.#count <= limit) return undefined;
    if (held.length < this.#count) return "reached";
    const first = this.#state.byPreference(held, ({ block, ordinal }) => block.address(ordinal));
    for (const one of first.slice(0, this.#count)) {
      if (ownerSlot !== undefined) one.tenure[ownerSlot] = { ...attributes, node: host };
      this.#given.push({ ...one, reused: true });
    }
    return "reused";
  }

  #search(pools: readonly ModelPool[]): ShortCode | undefined {
    const { host, maxBlocksPerHost, families } = this.#wish;
    const { config } = this.#state;
    const blocks = pools.flatMap((pool) => this.#state.blocksIn(pool));
    for (const block of blocks) if (block.owner === host) this.#take(block);
    while (this.#missing > 0) {
      if (this.#state.rowsOf(host, this.#family).length >= this.#state.cap(maxBlocksPerHost)) {
        return "block_limit_reached";
      }
      if (!config.autoAllocateBlocks) return "auto_allocate_disabled";
      const block = nextBlock(this.#state, host, pools, families[this.#family]?.setAside);
      if (block === undefined) break;
      this.#take(block);
    }
    // Blocks without owner are on their way out: nobody borrows from them.
    const others = pools
      .flatMap((pool) => this.#state.blocksIn(pool))
      .filter(({ owner }) => owner !== undefined && owner !== host);
    const lenders = this.#state.byPreference(others, ({ name }) => name);
    if (!config.strictAffinity) for (const block of lenders) this.#take(block);
    return this.#missing === 0 ? undefined : this.#reason(pools, others);
  }

  #reason(pools: readonly ModelPool[], others: readonly ModelBlock[]): ShortCode {
    const { config, clock } = this.#state;
    if (config.strictAffinity && others.some((block) => this.#state.available(block).length > 0)) {
      return "strict_affinity";
    }
    const own = pools
      .flatMap((pool) => this.#state.blocksIn(pool))
      .filter(({ owner }) => owner === this.#wish.host);
    const within = config.strictAffinity ? own : [...own, ...others];
    const cools = within.some((block) => block.ordinals("cooling", clock).length > 0);
    return cools ? "pool_cooling" : "pool_exhausted";
  }

  #take(block: ModelBlock): void {
    for (const ordinal of this.#state.available(block).slice(0, Math.max(0, this.#missing))) {
      const before = block.tenures.get(ordinal);
      const tenure = give(block, ordinal, this.#wish);
      this.#undo.push(() => putBack(block, ordinal, before));
      this.#given.push({ block, ordinal, tenure, reused: false });
    }
  }

  #short(code: ShortCode, pools: readonly ModelPool[], verdict: { readonly pool?: string } = {}) {
    const shortage: Shortage = {
      family: this.#family,
      requested: this.#count,
      allocated: this.#given.length,
      code,
      searched: pools.map(({ cidr }) => cidr),
      ...(code === "block_limit_reached" ? { limit: this.#state.cap(this.#wish.maxBlocksPerHost) } : {}),
      ...(verdict.pool === undefined ? {} : { pool: verdict.pool }),
    };
    return { given: this.#given, shortage };
  }
}

/** Gives an address to the tenant that a wish names; the host is stamped on the owner. */
export function give(
  block: ModelBlock,
  ordinal: number,
  wish: Pick<Wish, "handle" | "host" | "attributes">,
): Tenure {
  const { handle, host, attributes } = wish;
  return block.give(ordinal, { handle, host, active: { ...attributes, node: host } });
}

function putBack(block: ModelBlock, ordinal: number, before: Tenure | undefined): void {
  if (before === undefined) block.tenures.delete(ordinal);
  else block.tenures.set(ordinal, before);
}
