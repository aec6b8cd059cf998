/**
 * The bare protocol of an allocation, with no decision in it: a Host that asks an index, then a block.
 * May import: the Lane, core. Rule: it has what design and platform force on any allocation, and nothing else.
 */
import { Lane } from "../durable-objects/lane.ts";
import { shardOf } from "../src/core/ids.ts";
import { LOCAL_SETTINGS } from "../src/core/settings.ts";

/** As the Host's lanes have it. */
const BATCH_MAX = 128;
/** Addresses of a /26; there is no second block, so nothing is ever claimed. */
const PER_BLOCK = 64;

export interface SkeletonRequest {
  readonly host: string;
  readonly handle: string;
}

/** What travels to the index and to the block. */
export interface Placed {
  readonly handle: string;
  readonly block: string;
}

/** One answer for each, in their order. */
interface Answers {
  readonly outcomes: number[];
}

/** Another object, as the Host calls it; a new stub for each call. */
export interface Others {
  index(shard: number): { enter(request: { items: readonly Placed[] }): Promise<Answers> };
  block(name: string): { place(request: { items: readonly Placed[] }): Promise<Answers> };
}

/** What the bench's own objects did since the start, as the service's objects count it. */
export const own = { calls: 0, commits: 0, rowsWritten: 0, rowsRead: 0 };

/** What of an object's storage is used. */
interface Storage {
  transactionSync<T>(write: () => T): T;
  sync(): Promise<void>;
  readonly sql: { exec(query: string, ...bindings: (string | number)[]): { readonly rowsWritten: number } };
}

type PlacedLane = Lane<Placed, number>;

/** One for each host: group commit in two lanes, as in a Host, one after the other. */
export class SkeletonHost {
  readonly #others: Others;
  readonly #lanes = new Map<string | number, PlacedLane>();

  constructor(others: Others) {
    this.#others = others;
  }

  async allocate({ host, handle }: SkeletonRequest): Promise<{ ordinal: number }> {
    const item = { handle, block: `skeleton-block-of-${host}` };
    const shard = shardOf(handle, LOCAL_SETTINGS.indexShards);
    await through(
      this.#lane(shard, (items) => this.#others.index(shard).enter({ items })),
      item,
    );
    const block = this.#lane(item.block, (items) => this.#others.block(item.block).place({ items }));
    return { ordinal: await through(block, item) };
  }

  #lane(to: string | number, send: (items: readonly Placed[]) => Promise<Answers>): PlacedLane {
    const known = this.#lanes.get(to);
    if (known !== undefined) return known;
    const limits = { inFlightMax: LOCAL_SETTINGS.laneBatches, batchMax: BATCH_MAX };
    const answered = async (items: readonly Placed[]) => {
      return { kind: "answered", value: (await send(items)).outcomes } as const;
    };
    const lane: PlacedLane = new Lane(answered, limits);
    this.#lanes.set(to, lane);
    return lane;
  }
}

async function through(lane: PlacedLane, item: Placed): Promise<number> {
  const outcome = await lane.push(() => ({ item }));
  if (outcome.kind !== "answered") throw new Error(`a lane of the skeleton ended in ${outcome.kind}`);
  return outcome.value;
}

interface Grouped {
  readonly items: readonly Placed[];
  readonly settle: (answers: Answers) => void;
  readonly fail: (defect: unknown) => void;
}

/** One for each shard, shared by all hosts: what arrives while a commit is under way is committed together. */
export class SkeletonIndex {
  readonly #storage: Storage;
  #group: Grouped[] = [];
  #isCommitting = false;
  #hasTable = false;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  enter(items: readonly Placed[]): Promise<Answers> {
    return new Promise((settle, fail) => {
      this.#group.push({ items, settle, fail });
      if (!this.#isCommitting) void this.#commitGroups();
    });
  }

  async #commitGroups(): Promise<void> {
    this.#isCommitting = true;
    try {
      while (this.#group.length > 0) {
        const group = this.#group.splice(0);
        try {
          this.#write(group.flatMap(({ items }) => items));
          for (const { items, settle } of group) settle({ outcomes: items.map(() => 0) });
          await this.#storage.sync();
        } catch (failure) {
          for (const { fail } of group) fail(failure);
        }
      }
    } finally {
      this.#isCommitting = false;
    }
  }

  #write(items: readonly Placed[]): void {
    const { sql } = this.#storage;
    this.#storage.transactionSync(() => {
      if (!this.#hasTable) {
        sql.exec(`CREATE TABLE IF NOT EXISTS skeleton_keys
          (handle TEXT PRIMARY KEY, block TEXT NOT NULL) STRICT, WITHOUT ROWID`);
      }
      for (const { handle, block } of items) {
        const written = sql.exec("INSERT OR REPLACE INTO skeleton_keys VALUES (?, ?)", handle, block);
        own.rowsWritten += written.rowsWritten;
      }
    });
    own.commits += 1;
    this.#hasTable = true;
  }
}

/** One for each host: gives one ordinal after the other, and begins anew when it has given all. */
export class SkeletonBlock {
  readonly #storage: Storage;
  #next = 0;
  #hasTable = false;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  place(items: readonly Placed[]): Answers {
    const { sql } = this.#storage;
    const outcomes = this.#storage.transactionSync(() => {
      if (!this.#hasTable) {
        sql.exec(`CREATE TABLE IF NOT EXISTS skeleton_addresses
          (ordinal INTEGER PRIMARY KEY, handle TEXT NOT NULL) STRICT`);
      }
      return items.map(({ handle }, index) => {
        const ordinal = (this.#next + index) % PER_BLOCK;
        const written = sql.exec("INSERT OR REPLACE INTO skeleton_addresses VALUES (?, ?)", ordinal, handle);
        own.rowsWritten += written.rowsWritten;
        return ordinal;
      });
    });
    own.commits += 1;
    this.#hasTable = true;
    this.#next += items.length;
    return { outcomes };
  }
}
