/**
 * One address at a time by compare-and-swap on etcd, with the reads and writes of Calico's library in its
 * order. That it talks to etcd itself flatters it: most clusters put an API server between (README.md).
 * May import: the books, the block. Rule: no document is written but at the revision it was read at.
 */
import {
  addressOf,
  type Block,
  giveBack,
  heldIn,
  hostOf,
  newBlock,
  ownerOf,
  placesOf,
  take,
} from "./calico-block.ts";
import { blocksOf, EtcdBooks, type Handle, type Pool, type Read } from "./etcd-books.ts";
import { EtcdStore } from "./etcd-store.ts";
import type { Allocator, Held } from "./peer.ts";

/** As often as the library begins anew before it gives up. */
const ATTEMPTS = 100;

export function connectEtcd(endpoint: string): Allocator {
  const store = new EtcdStore(endpoint);
  return new EtcdAllocator(store, new EtcdBooks(store));
}

class EtcdAllocator implements Allocator {
  readonly #store: EtcdStore;
  readonly #books: EtcdBooks;
  /** The block of each host that had room last: where the next search begins. */
  readonly #lastUseful = new Map<string, string>();
  /** Who waits for whom on a host. */
  readonly #turns = new Map<string, Promise<unknown>>();
  #retries = 0;

  constructor(store: EtcdStore, books: EtcdBooks) {
    this.#store = store;
    this.#books = books;
  }

  allocate(host: string, handle: string): Promise<string> {
    return this.#inTurn(host, () => this.#allocate(host, handle));
  }

  async #allocate(host: string, handle: string): Promise<string> {
    const pools = await this.#books.rules(host);
    for (const cidr of await this.#ownBlocks(host)) {
      const block = await this.#books.block(cidr);
      if (block?.document.affinity !== ownerOf(host)) continue;
      const address = await this.#takeFrom(block, handle);
      if (address === undefined) continue;
      this.#lastUseful.set(host, cidr);
      return address;
    }
    return this.#attempts(`a block for ${host}`, async () => {
      const claimed = await this.#claim(pools, host);
      const address = claimed === undefined ? undefined : await this.#takeFrom(claimed, handle);
      if (address !== undefined && claimed !== undefined) this.#lastUseful.set(host, claimed.document.cidr);
      return address;
    });
  }

  /** Confirmed blocks in the order of records, but from the one that had room last. */
  async #ownBlocks(host: string): Promise<string[]> {
    const found = await this.#books.affinities(host);
    const own = found.filter(({ document }) => document.state === "confirmed").map(({ cidr }) => cidr);
    const first = Math.max(0, own.indexOf(this.#lastUseful.get(host) ?? ""));
    return [...own.slice(first), ...own.slice(0, first)];
  }

  /** Shape: the address; absent: the block is full. */
  async #takeFrom(first: Read<Block>, handle: string): Promise<string | undefined> {
    let block: Read<Block> | undefined = first;
    for (let attempt = 0; attempt < ATTEMPTS && block !== undefined; attempt += 1) {
      const { document, revision }: Read<Block> = block;
      const address = take(document, handle);
      if (address === undefined) return undefined;
      const held = await this.#count(handle, document.cidr);
      if (held !== undefined) return held;
      if ((await this.#books.saveBlock(document, revision)) !== undefined) return address;
      this.#retries += 1;
      await this.#discount(handle, document.cidr, 1);
      block = await this.#books.block(document.cidr);
    }
    throw new Error(`no address after ${ATTEMPTS} attempts`);
  }

  /** Counts one more under the handle, which may hold one. Shape: what it holds already, or nothing. */
  #count(handle: string, cidr: string): Promise<string | undefined> {
    return this.#attempts<{ address: string | undefined }>(`the handle ${handle}`, async () => {
      const record = await this.#books.handle(handle);
      if (record === undefined) {
        const isSaved = (await this.#books.saveHandle(handle, { [cidr]: 1 }, 0)) !== undefined;
        return isSaved ? { address: undefined } : undefined;
      }
      // Another request for the same handle is under way where nothing is found yet.
      const address = await this.#heldBy(handle, record.document);
      return address === undefined ? undefined : { address };
    }).then(({ address }) => address);
  }

  async #heldBy(handle: string, record: Handle): Promise<string | undefined> {
    for (const cidr of Object.keys(record)) {
      const block = await this.#books.block(cidr);
      const [place] = block === undefined ? [] : placesOf(block.document, handle);
      if (block !== undefined && place !== undefined) return addressOf(block.document, place);
    }
    return undefined;
  }

  /** Counts so many less; the record that was read before is good for the first attempt. */
  async #discount(handle: string, cidr: string, count: number, known?: Read<Handle>): Promise<void> {
    let record = known ?? (await this.#books.handle(handle));
    await this.#attempts(`the handle ${handle}`, async () => {
      if (record === undefined) return true;
      const { [cidr]: before = 0, ...others } = record.document;
      const after = before > count ? { ...others, [cidr]: before - count } : others;
      if ((await this.#books.saveHandle(handle, after, record.revision)) !== undefined) return true;
      record = await this.#books.handle(handle);
      return undefined;
    });
  }

  /** Looks at all blocks for a free place and claims it: affinity, block, affinity. Absent: another was first. */
  async #claim(pools: readonly Pool[], host: string): Promise<Read<Block> | undefined> {
    const blocks = new Map((await this.#books.blocks()).map((block) => [block.cidr, block]));
    const isUsable = (cidr: string): boolean => {
      const block = blocks.get(cidr);
      return block === undefined || (block.affinity === ownerOf(host) && block.unallocated.length > 0);
    };
    for (const pool of pools) {
      const cidr = blocksOf(pool, host).find(isUsable);
      if (cidr !== undefined) return this.#claimBlock(cidr, host);
    }
    throw new Error("no free block");
  }

  async #claimBlock(cidr: string, host: string): Promise<Read<Block> | undefined> {
    const before = await this.#books.affinity(host, cidr);
    let affinityRevision: number | undefined = before?.revision;
    if (before?.document.state !== "confirmed") {
      const pending = { state: "pending" } as const;
      affinityRevision = await this.#books.saveAffinity(host, cidr, pending, before?.revision ?? 0);
    }
    if (affinityRevision === undefined) return undefined;
    const document = newBlock(cidr, host, new Date());
    const revision = await this.#books.saveBlock(document, 0);
    const block = revision === undefined ? await this.#books.block(cidr) : { document, revision };
    if (block?.document.affinity !== ownerOf(host)) {
      await this.#books.dropAffinity(host, cidr, affinityRevision);
      return undefined;
    }
    if (before?.document.state !== "confirmed") {
      const confirmed = { state: "confirmed" } as const;
      const isConfirmed =
        (await this.#books.saveAffinity(host, cidr, confirmed, affinityRevision)) !== undefined;
      const now = isConfirmed ? confirmed : (await this.#books.affinity(host, cidr))?.document;
      if (now?.state !== "confirmed") return undefined;
    }
    return block;
  }

  release(host: string, handle: string): Promise<void> {
    return this.#inTurn(host, () => this.#release(handle));
  }

  async #release(handle: string): Promise<void> {
    const record = await this.#books.handle(handle);
    if (record === undefined) return;
    for (const cidr of Object.keys(record.document)) {
      const freed = await this.#attempts(`the block ${cidr}`, async () => {
        const block = await this.#books.block(cidr);
        const count = block === undefined ? 0 : giveBack(block.document, handle, new Date());
        if (block === undefined || count === 0) return { count };
        return (await this.#books.saveBlock(block.document, block.revision)) === undefined
          ? undefined
          : { count, host: hostOf(block.document) };
      });
      if (freed.count === 0 || freed.host === undefined) continue;
      await this.#discount(handle, cidr, freed.count, record);
      // Does the pool still select the host? Here it always does.
      await this.#books.mustKnow(freed.host);
      await this.#books.enabledPools();
    }
  }

  async list(): Promise<readonly Held[]> {
    const blocks = await this.#books.blocks();
    await this.#books.checkOwners(blocks);
    const handles = await this.#books.handles();
    const held = blocks.flatMap((block) => {
      const host = hostOf(block);
      return heldIn(block).map((one) => ({ ...one, host, cidr: block.cidr }));
    });
    const counted = [...handles.values()].flatMap((record) => Object.values(record));
    const isCounted = held.every(({ handle, cidr }) => handles.get(handle)?.[cidr] === 1);
    if (!isCounted || counted.reduce((sum, count) => sum + count, 0) !== held.length) {
      throw new Error("the counts of handles are not what the blocks hold");
    }
    return held.map(({ address, handle, host }) => ({ address, handle, host }));
  }

  async reset(hosts: readonly string[]): Promise<void> {
    this.#lastUseful.clear();
    await this.#books.reset(hosts);
  }

  retries(): number {
    return this.#retries;
  }

  async close(): Promise<void> {
    this.#store.close();
  }

  /** The plugin on a host holds a lock of that host for as long as the library works. */
  #inTurn<Outcome>(host: string, work: () => Promise<Outcome>): Promise<Outcome> {
    const turn = (this.#turns.get(host) ?? Promise.resolve()).then(work, work);
    this.#turns.set(host, turn);
    return turn;
  }

  /** Until it gives something; each time after the first is a retry. */
  async #attempts<Outcome>(what: string, attempt: () => Promise<Outcome | undefined>): Promise<Outcome> {
    for (let left = ATTEMPTS; left > 0; left -= 1) {
      const outcome = await attempt();
      if (outcome !== undefined) return outcome;
      this.#retries += 1;
    }
    throw new Error(`no success with ${what} after ${ATTEMPTS} attempts`);
  }
}
