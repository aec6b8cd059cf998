/**
 * What the in-memory reference remembers, and the plain questions about it.
 * May import: core ranges only. Rule: everything that can be derived is derived, nothing is counted along.
 */
import { type Address, parseAddress } from "../../src/core/address.ts";
import { blockOf, type Cidr, containsAddress, containsCidr, formatCidr } from "../../src/core/cidr.ts";
import type { Family } from "../../src/core/errors.ts";
import { type Clock, ModelBlock, type Tenure } from "./model-block.ts";
import type { ModelPool } from "./model-pools.ts";

export interface ModelConfig {
  strictAffinity: boolean;
  autoAllocateBlocks: boolean;
  maxBlocksPerHost: number;
  ipCooldownSeconds: number;
  kubeVirtVMAddressPersistence: string;
}

export const MODEL_CONFIG: Readonly<ModelConfig> = {
  strictAffinity: false,
  autoAllocateBlocks: true,
  maxBlocksPerHost: 0,
  ipCooldownSeconds: 0,
  kubeVirtVMAddressPersistence: "Enabled",
};

/** What an owner remembers of a block. Invariant: `confirmed` implies that the block names the owner (I6). */
export interface AffinityRow {
  readonly owner: string;
  readonly block: string;
  state: "pending" | "confirmed" | "pendingDeletion";
}

/** One allocated address. */
export interface Held {
  readonly block: ModelBlock;
  readonly ordinal: number;
  readonly tenure: Tenure;
}

/** A released address is remembered at least so long, as the key that it was allocated under is. */
const REMEMBERED_MS = 600_000;
/** The cap on owned blocks where nobody set one. */
const BLOCKS_PER_HOST = 20;

export class ModelState {
  /** Milliseconds. */
  now = 0;
  config: ModelConfig = { ...MODEL_CONFIG };
  isConfigStored = false;
  readonly pools = new Map<string, ModelPool>();
  readonly hosts = new Map<string, Readonly<Record<string, string>>>();
  reservations: readonly Cidr[] = [];
  readonly blocks = new Map<string, ModelBlock>();
  readonly affinities = new Map<string, AffinityRow>();
  /**
   * Blocks and addresses that go first wherever the rules leave a choice: which unclaimed block is claimed,
   * whose empty one is taken over, who lends first, what is given again. Absent ones go by address.
   */
  preferred: readonly string[] = [];
  /** Blocks that are gone: one that comes back goes on from its number (I3), and knows its queue (I12). */
  readonly #retired = new Map<string, ModelBlock>();

  get clock(): Clock {
    return { now: this.now, cooldownMs: this.config.ipCooldownSeconds * 1000 };
  }

  /** The smaller of the global and the request's cap on the blocks of one owner and family. */
  cap(ofRequest = 0): number {
    const caps = [this.config.maxBlocksPerHost, ofRequest].filter((cap) => cap > 0);
    return caps.length === 0 ? BLOCKS_PER_HOST : Math.min(...caps);
  }

  /** The labels of an owner; absent for a host that nobody registered. A virtual owner has none. */
  labelsOf(owner: string): Readonly<Record<string, string>> | undefined {
    return owner.startsWith("virtual:") ? {} : this.hosts.get(owner);
  }

  poolOf(address: Address): ModelPool | undefined {
    return [...this.pools.values()].find(({ range }) => containsAddress(range, address));
  }

  enabledPoolOf(address: Address): ModelPool | undefined {
    const pool = this.poolOf(address);
    return pool === undefined || pool.disabled || pool.terminating ? undefined : pool;
  }

  /** The pool that a whole range lies in, whatever its state. */
  poolAround(range: Cidr): ModelPool | undefined {
    return [...this.pools.values()].find((pool) => containsCidr(pool.range, range));
  }

  poolOfBlock({ range }: ModelBlock): ModelPool | undefined {
    return this.poolOf({ family: range.family, value: range.base });
  }

  /** The block that holds an address, whether or not a pool is left around it. */
  blockOf(address: Address): ModelBlock | undefined {
    return [...this.blocks.values()].find(({ range }) => containsAddress(range, address));
  }

  /** Blocks of a pool, by address. */
  blocksIn({ range }: { readonly range: Cidr }): ModelBlock[] {
    return [...this.blocks.values()]
      .filter((block) => containsCidr(range, block.range))
      .toSorted((one, other) => (one.range.base < other.range.base ? -1 : 1));
  }

  /** What is equal by the rules, that first which is preferred. */
  byPreference<T>(equals: readonly T[], nameOf: (one: T) => string): T[] {
    const rank = (one: T): number => {
      const place = this.preferred.indexOf(nameOf(one));
      return place === -1 ? this.preferred.length : place;
    };
    return equals.toSorted((one, other) => rank(one) - rank(other));
  }

  rangeAround(pool: ModelPool, address: Address): Cidr {
    return blockOf(address, pool.blockSize);
  }

  makeBlock(range: Cidr, owner: string | undefined): ModelBlock {
    const name = formatCidr(range);
    const before = this.#retired.get(name);
    const block = new ModelBlock(range, before?.sequenceNumber ?? 0);
    for (const [ordinal, tenure] of before?.tenures ?? []) block.tenures.set(ordinal, tenure);
    if (owner !== undefined) {
      block.owner = owner;
      block.claimedAt = this.now;
    }
    this.blocks.set(name, block);
    return block;
  }

  /** An old block forgets who had its addresses, and with them their order. */
  removeBlock(block: ModelBlock): void {
    const isOld = ({ releasedAt = 0 }: Tenure): boolean => releasedAt <= this.now - REMEMBERED_MS;
    if ([...block.tenures.values()].every(isOld)) block.tenures.clear();
    this.#retired.set(block.name, block);
    this.blocks.delete(block.name);
  }

  isReserved(address: Address): boolean {
    return this.reservations.some((range) => containsAddress(range, address));
  }

  /** Ordinals that may be given out automatically now, the one free for longest first. */
  available(block: ModelBlock): number[] {
    return block.queue(this.clock).filter((ordinal) => {
      return !this.isReserved({ family: block.range.family, value: block.range.base + BigInt(ordinal) });
    });
  }

  /** What a handle holds, by family and address. */
  heldBy(handle: string, family?: Family): Held[] {
    return this.held().filter(({ block, tenure }) => {
      return tenure.handle === handle && (family === undefined || block.range.family === family);
    });
  }

  /** Every allocated address. */
  held(): Held[] {
    const clock = this.clock;
    return [...this.blocks.values()].flatMap((block) =>
      [...block.tenures]
        .filter(([ordinal]) => block.stateOf(ordinal, clock) === "allocated")
        .toSorted(([one], [other]) => one - other)
        .map(([ordinal, tenure]) => ({ block, ordinal, tenure })),
    );
  }

  rowsOf(owner: string, family?: Family): AffinityRow[] {
    return [...this.affinities.values()].filter((row) => {
      return row.owner === owner && (family === undefined || familyOf(row.block) === family);
    });
  }

  setRow(owner: string, block: string, state: AffinityRow["state"]): void {
    this.affinities.set(`${owner} ${block}`, { owner, block, state });
  }

  dropRow(owner: string, block: string): void {
    this.affinities.delete(`${owner} ${block}`);
  }

  /** What time alone does: ownerless blocks that are empty go, and then pools that have drained. */
  settle(): void {
    for (const block of this.blocks.values()) {
      if (block.owner === undefined && block.isEmpty(this.clock)) this.removeBlock(block);
    }
    for (const pool of this.pools.values()) {
      if (pool.terminating && this.blocksIn(pool).length === 0) this.pools.delete(pool.name);
    }
  }
}

export function familyOf(block: string): Family {
  return block.includes(":") ? 6 : 4;
}

/** Reads an address that was checked before. */
export function addressOf(text: string): Address {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw new Error(`${text}: ${parsed.error.message}`);
  return parsed.value;
}
