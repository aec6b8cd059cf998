/**
 * The service in memory, written to be read: the reference that the real one is compared with.
 * May import: core ranges and selectors only. It knows no objects, no keys, no leases and no crashes.
 */
import { type Cidr, containsCidr, formatCidr, overlaps, parseCidrMasked, size } from "../../src/core/cidr.ts";
import { rangeSetOf } from "../../src/core/range-set.ts";
import {
  blocksOfRange,
  claim,
  nextBlock,
  type RangeFault,
  recover,
  releaseRow,
  type SetAside,
} from "./model-affinities.ts";
import { type Answer, allocate, type Refusal, type Wish } from "./model-allocate.ts";
import { type AssignWish, assign } from "./model-assign.ts";
import type { ModelBlock } from "./model-block.ts";
import { choosePools, type ModelPool, type PoolText, readPool } from "./model-pools.ts";
import * as releases from "./model-release.ts";
import { type AffinityRow, type Held, type ModelConfig, ModelState } from "./model-state.ts";

/** Figures of a block or a pool, from one snapshot (I14). */
export interface Figures {
  readonly capacity: bigint;
  readonly allocated: bigint;
  readonly cooling: bigint;
  readonly hostReserved: bigint;
  readonly reserved: bigint;
  readonly available: bigint;
}

export interface PoolFigures extends Figures {
  readonly pool: ModelPool;
  readonly blocks: readonly (Figures & { readonly block: ModelBlock })[];
}

export class Model {
  readonly state = new ModelState();

  allocate(wish: Wish): Answer | Refusal {
    return allocate(this.state, wish);
  }

  assign(wish: AssignWish): Held | Refusal {
    return assign(this.state, wish);
  }

  releaseAddresses(items: readonly releases.ReleaseItem[]) {
    return releases.releaseAddresses(this.state, items);
  }

  releaseHandle(handle: string): readonly string[] {
    return releases.releaseHandle(this.state, handle);
  }

  heldBy(handle: string): readonly Held[] {
    this.state.settle();
    return this.state.heldBy(handle);
  }

  holderOf(address: string): Held | "cooling" | undefined {
    return releases.holderOf(this.state, address);
  }

  changeOwners(...[of, change, conditions]: TailOf<typeof releases.changeOwners>) {
    return releases.changeOwners(this.state, of, change, conditions);
  }

  promote(handle: string, target: Readonly<Record<string, string>>) {
    return releases.promote(this.state, handle, target);
  }

  /** Claims every block of a range that is nobody's; says which are and which are not the owner's now. */
  claim(owner: string, range: string): { claimed: string[]; failed: string[] } | RangeFault {
    this.state.settle();
    const blocks = blocksOfRange(this.state, range);
    if (typeof blocks === "string") return blocks;
    const claimed: string[] = [];
    const failed: string[] = [];
    for (const block of blocks) {
      const own = claim(this.state, owner, block);
      if (own === undefined) failed.push(formatCidr(block));
      else claimed.push(own.name);
    }
    return { claimed, failed };
  }

  /** Releases the blocks of a range, of one owner or of all of them; each is judged by itself. */
  releaseRange(
    owner: string | undefined,
    text: string,
    mustBeEmpty: boolean,
  ): { inUse: string[] } | RangeFault {
    this.state.settle();
    const range = read(text);
    const pool = this.state.poolAround(range);
    if (pool === undefined && owner !== undefined) return "cidr_not_in_pool";
    if (pool !== undefined && range.prefix > pool.blockSize) return "range_too_small";
    const rows = [...this.state.affinities.values()].filter((row) => {
      return (owner === undefined || row.owner === owner) && containsCidr(range, read(row.block));
    });
    return this.#releaseRows(rows, mustBeEmpty);
  }

  releaseOwner(owner: string, mustBeEmpty: boolean): { inUse: string[] } {
    this.state.settle();
    return this.#releaseRows(this.state.rowsOf(owner), mustBeEmpty);
  }

  #releaseRows(rows: readonly AffinityRow[], mustBeEmpty: boolean): { inUse: string[] } {
    const inUse = rows.filter((row) => releaseRow(this.state, row, mustBeEmpty) === "not_empty");
    this.state.settle();
    return { inUse: inUse.map(({ block }) => block) };
  }

  /** The host is gone: its blocks are given up, what others still hold in them stays. */
  removeHost(host: string): void {
    this.releaseOwner(host, false);
    this.state.hosts.delete(host);
  }

  /** Sees to it that a host owns a block with an address that is not reserved, full or not. */
  ensureBlock(
    host: string,
    family: 4 | 6,
    setAside: SetAside,
    pools: readonly string[] | undefined,
  ): ModelBlock | Refusal {
    this.state.settle();
    const hostLabels = this.state.labelsOf(host);
    if (hostLabels === undefined) return { code: "host_unknown" };
    const question = { family, use: "Workload", hostLabels, namespaceLabels: undefined, pools };
    const verdict = choosePools(this.state.pools.values(), {
      ...question,
      setAside: setAside.start + setAside.end,
    });
    if ("code" in verdict) {
      const shortage = { family, requested: 0, allocated: 0, searched: [], ...verdict };
      return { code: verdict.code, shortfall: [shortage] };
    }
    recover(this.state, host, verdict.pools);
    const own = verdict.pools
      .flatMap((pool) => this.state.blocksIn(pool))
      .find((block) => block.owner === host && !this.#isWhollyReserved(block));
    if (own !== undefined) return own;
    if (this.state.rowsOf(host, family).length >= this.state.cap()) return { code: "block_limit_reached" };
    if (!this.state.config.autoAllocateBlocks) return { code: "auto_allocate_disabled" };
    return nextBlock(this.state, host, verdict.pools, setAside) ?? { code: "pool_exhausted" };
  }

  #isWhollyReserved({ range }: ModelBlock): boolean {
    return this.countReserved(range) === size(range);
  }

  /** How many addresses of a range are reserved, however the reservations overlap. */
  countReserved(range: Cidr): bigint {
    const ofFamily = this.state.reservations.filter(({ family }) => family === range.family);
    return ofFamily.length === 0 ? 0n : rangeSetOf(ofFamily).countWithin(range);
  }

  /** Changes switches. False: two of them contradict each other. */
  changeConfig(patch: Partial<ModelConfig>): boolean {
    const next = { ...this.state.config, ...patch };
    const isCapped = next.maxBlocksPerHost > 0;
    if (!next.strictAffinity && (isCapped || !next.autoAllocateBlocks)) return false;
    this.state.config = next;
    this.state.isConfigStored = true;
    return true;
  }

  /** Writes a pool as a whole. Absent: it is not sound, or not beside or after what is there. */
  putPool(text: PoolText): ModelPool | undefined {
    this.state.settle();
    const before = this.state.pools.get(text.name);
    const blockSize = text.blockSize ?? before?.blockSize;
    const pool = readPool(blockSize === undefined ? text : { ...text, blockSize });
    if (pool === undefined) return undefined;
    const others = [...this.state.pools.values()].filter(({ name }) => name !== pool.name);
    if (others.some(({ range }) => overlaps(range, pool.range))) return undefined;
    if (before !== undefined) {
      if (before.cidr !== pool.cidr || before.blockSize !== pool.blockSize) return undefined;
      const isLoadBalancer = (one: ModelPool): boolean => one.allowedUses.includes("LoadBalancer");
      if (isLoadBalancer(before) && !isLoadBalancer(pool)) return undefined;
    }
    this.state.pools.set(pool.name, pool);
    return pool;
  }

  /** Tells whether a pool drains: nothing is written to it then. */
  isDraining(name: string): boolean {
    this.state.settle();
    return this.state.pools.get(name)?.terminating === true;
  }

  /** Drains a pool: its owners give up their blocks, and it is gone when the last one has gone. */
  drainPool(name: string): void {
    const pool = this.state.pools.get(name);
    if (pool === undefined) return;
    this.state.pools.set(name, { ...pool, terminating: true });
    this.releaseRange(undefined, pool.cidr, false);
  }

  /** The figures of a pool, with those of its blocks. */
  figuresOf(pool: ModelPool): PoolFigures {
    this.state.settle();
    const blocks = this.state.blocksIn(pool).map((block) => ({ ...this.#figuresOfBlock(block), block }));
    const sum = (pick: (figures: Figures) => bigint): bigint =>
      blocks.reduce((total, figures) => total + pick(figures), 0n);
    const unclaimed = size(pool.range) - sum(({ capacity }) => capacity);
    const reserved = this.countReserved(pool.range);
    return {
      pool,
      blocks,
      capacity: size(pool.range),
      allocated: sum((figures) => figures.allocated),
      cooling: sum((figures) => figures.cooling),
      hostReserved: sum((figures) => figures.hostReserved),
      reserved,
      available: sum((figures) => figures.available) + unclaimed - (reserved - sum((one) => one.reserved)),
    };
  }

  #figuresOfBlock(block: ModelBlock): Figures {
    const { clock } = this.state;
    const count = (state: "allocated" | "cooling" | "host_reserved"): bigint =>
      BigInt(block.ordinals(state, clock).length);
    return {
      capacity: size(block.range),
      allocated: count("allocated"),
      cooling: count("cooling"),
      hostReserved: count("host_reserved"),
      reserved: this.countReserved(block.range),
      // What is on its way out is offered to nobody.
      available: block.owner === undefined ? 0n : BigInt(this.state.available(block).length),
    };
  }
}

type TailOf<F> = F extends (first: never, ...rest: infer R) => unknown ? R : never;

function read(text: string): Cidr {
  const range = parseCidrMasked(text);
  if (!range.ok) throw new Error(`${text}: ${range.error.message}`);
  return range.value;
}
