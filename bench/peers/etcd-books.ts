/**
 * The documents that the peer keeps in etcd, and where: configuration, pools, hosts, blocks, handles.
 * May import: the store, the block. Rule: a read gives the revision that a later write is conditional on.
 */
import { type Block, collect, hostOf, numberOf, textOf } from "./calico-block.ts";
import type { EtcdStore, KeyValue } from "./etcd-store.ts";

const ALL_KEYS = "/bench/";
const RESERVATIONS = `${ALL_KEYS}resources/reservations/`;
const POOLS = `${ALL_KEYS}resources/pools/`;
const HOSTS = `${ALL_KEYS}resources/hosts/`;
const CONFIG = `${ALL_KEYS}ipam/config`;
const AFFINITIES = `${ALL_KEYS}ipam/host/`;
const BLOCKS = `${ALL_KEYS}ipam/block/`;
const HANDLES = `${ALL_KEYS}ipam/handle/`;

const POOL_CIDR = "10.64.0.0/10";
const BLOCK_PREFIX = 26;
const WRITES_AT_ONCE = 64;

/** A document and the revision it was read at. */
export interface Read<Document> {
  readonly document: Document;
  readonly revision: number;
}

/** How many addresses a handle holds, for each block. */
export type Handle = Record<string, number>;

export interface Affinity {
  readonly state: "pending" | "confirmed";
}

export interface Pool {
  readonly cidr: string;
  readonly blockSize: number;
  readonly disabled: boolean;
}

export class EtcdBooks {
  readonly #store: EtcdStore;

  constructor(store: EtcdStore) {
    this.#store = store;
  }

  /** What has to be read before an allocation, one after the other, as the library does. */
  async rules(host: string): Promise<readonly Pool[]> {
    await this.#store.get(CONFIG);
    await this.#store.list(RESERVATIONS);
    await this.mustKnow(host);
    return this.enabledPools();
  }

  async mustKnow(host: string): Promise<void> {
    if ((await this.#store.get(HOSTS + host)) === undefined) throw new Error(`no host ${host}`);
  }

  async enabledPools(): Promise<readonly Pool[]> {
    const pools = (await this.#store.list(POOLS)).map((found) => read<Pool>(found).document);
    return pools.filter(({ disabled }) => !disabled);
  }

  /** The blocks of a host, by their CIDRs, in the order of records. */
  async affinities(host: string): Promise<(Read<Affinity> & { readonly cidr: string })[]> {
    const prefix = `${AFFINITIES}${host}/block/`;
    const found = await this.#store.list(prefix);
    return found.map((one) => ({ ...read<Affinity>(one), cidr: cidrOf(one.key.slice(prefix.length)) }));
  }

  /** Writes or, where there is none, creates; absent: another was first. */
  saveAffinity(
    host: string,
    cidr: string,
    document: Affinity,
    revision: number,
  ): Promise<number | undefined> {
    return this.#store.swap({ key: affinityKey(host, cidr), value: JSON.stringify(document), revision });
  }

  async affinity(host: string, cidr: string): Promise<Read<Affinity> | undefined> {
    return readIfAny(await this.#store.get(affinityKey(host, cidr)));
  }

  dropAffinity(host: string, cidr: string, revision: number): Promise<number | undefined> {
    return this.#store.swap({ key: affinityKey(host, cidr), revision });
  }

  async block(cidr: string): Promise<Read<Block> | undefined> {
    const found = readIfAny<Block>(await this.#store.get(BLOCKS + nameOf(cidr)));
    if (found !== undefined) collect(found.document);
    return found;
  }

  async blocks(): Promise<Block[]> {
    const blocks = (await this.#store.list(BLOCKS)).map((found) => read<Block>(found).document);
    for (const block of blocks) collect(block);
    return blocks;
  }

  saveBlock(document: Block, revision: number): Promise<number | undefined> {
    const key = BLOCKS + nameOf(document.cidr);
    return this.#store.swap({ key, value: JSON.stringify(document), revision });
  }

  async handle(id: string): Promise<Read<Handle> | undefined> {
    return readIfAny(await this.#store.get(HANDLES + id));
  }

  async handles(): Promise<Map<string, Handle>> {
    const found = await this.#store.list(HANDLES);
    return new Map(found.map((one) => [one.key.slice(HANDLES.length), read<Handle>(one).document]));
  }

  /** Writes the counts; without any the record goes. */
  saveHandle(id: string, document: Handle, revision: number): Promise<number | undefined> {
    const value = Object.keys(document).length === 0 ? undefined : JSON.stringify(document);
    return this.#store.swap({ key: HANDLES + id, revision, ...(value === undefined ? {} : { value }) });
  }

  /** One pool, these hosts, and nothing given out. */
  async reset(hosts: readonly string[]): Promise<void> {
    await this.#store.clear(ALL_KEYS);
    const pool: Pool = { cidr: POOL_CIDR, blockSize: BLOCK_PREFIX, disabled: false };
    await this.#store.put(`${POOLS}bench`, JSON.stringify(pool));
    await this.#store.put(CONFIG, JSON.stringify({ strict_affinity: true, auto_allocate_blocks: true }));
    for (let first = 0; first < hosts.length; first += WRITES_AT_ONCE) {
      const some = hosts.slice(first, first + WRITES_AT_ONCE);
      const document = JSON.stringify({ labels: {} });
      await Promise.all(some.map((host) => this.#store.put(HOSTS + host, document)));
    }
  }

  /** Throws where a confirmed affinity and its block do not say the same of each other. */
  async checkOwners(blocks: readonly Block[]): Promise<void> {
    const found = await this.#store.list(AFFINITIES);
    const confirmed = found.filter((one) => read<Affinity>(one).document.state === "confirmed");
    const claimed = new Set(confirmed.map(({ key }) => key));
    const owned = new Set(blocks.map((block) => affinityKey(hostOf(block), block.cidr)));
    if (claimed.symmetricDifference(owned).size > 0) throw new Error("blocks and affinities differ");
  }
}

function read<Document>({ value, revision }: KeyValue): Read<Document> {
  return { document: JSON.parse(value), revision };
}

function readIfAny<Document>(found: KeyValue | undefined): Read<Document> | undefined {
  return found === undefined ? undefined : read(found);
}

function affinityKey(host: string, cidr: string): string {
  return `${AFFINITIES}${host}/block/${nameOf(cidr)}`;
}

function nameOf(cidr: string): string {
  return cidr.replace("/", "-");
}

function cidrOf(name: string): string {
  return name.replace("-", "/");
}

/** The blocks of a pool in the order of addresses, from the one where a host begins, each once. */
export function* blocksOf({ cidr, blockSize }: Pool, host: string): Generator<string> {
  const [base = "", prefix = ""] = cidr.split("/");
  const count = 2 ** (blockSize - Number(prefix));
  const size = 2 ** (32 - blockSize);
  const start = hashOf(host) % count;
  for (let step = 0; step < count; step += 1) {
    yield `${textOf(numberOf(base) + ((start + step) % count) * size)}/${blockSize}`;
  }
}

/** FNV-1 of 32 bits: hosts begin at different places, so that they rarely want the same block. */
function hashOf(text: string): number {
  let hash = 2_166_136_261;
  for (const byte of Buffer.from(text)) hash = (Math.imul(hash, 16_777_619) ^ byte) >>> 0;
  return hash;
}
