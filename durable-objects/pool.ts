/**
 * Serialises the directory of one pool incarnation: which blocks may exist, and who may claim each.
 * May import: core, rpc, platform. Every answer about ownership carries a fresh epoch, stored first.
 */
import { DurableObject } from "cloudflare:workers";
import { type BlockGrid, blockAt, blockGrid, positionOf } from "../src/core/block-grid.ts";
import { nextEpoch } from "../src/core/epoch.ts";
import { returning, taking } from "../src/core/extents.ts";
import { invariant } from "../src/core/invariant.ts";
import type { ClaimWish } from "../src/core/pool-claim.ts";
import { poolUsage } from "../src/core/pool-usage.ts";
import type {
  BlockReport,
  DirectoryEntry,
  PoolClaimAnswer,
  PoolClaimRequest,
  PoolPort,
  PoolTarget,
  PoolUsageView,
} from "../src/rpc/pool.ts";
import { productionRuntime } from "./production.ts";
import type { Runtime } from "./runtime.ts";
import { PoolMemory } from "./storage/pool-memory.ts";
import { type BlockRow, POOL_MIGRATIONS, type PoolRow, PoolRows } from "./storage/pool-rows.ts";
import { type Counters, Store } from "./storage/store.ts";

type Request<M extends keyof PoolPort> = Parameters<PoolPort[M]>[0];
type Answer<M extends keyof PoolPort> = ReturnType<PoolPort[M]>;

/** What a message is about, and when it is handled. */
interface Event {
  readonly grid: BlockGrid;
  readonly now: number;
}

export class PoolObject extends DurableObject<Env> implements PoolPort {
  readonly #runtime: Runtime;
  readonly #store: Store;
  readonly #rows: PoolRows;
  readonly #memory: PoolMemory;

  constructor(ctx: DurableObjectState, env: Env, runtime: Runtime = productionRuntime(env)) {
    super(ctx, env);
    this.#runtime = runtime;
    this.#store = new Store(ctx.storage, POOL_MIGRATIONS);
    this.#rows = new PoolRows(this.#store);
    this.#memory = new PoolMemory(this.#rows);
  }

  counters(): Counters {
    return this.#store.counters;
  }

  async claim(request: PoolClaimRequest): Answer<"claim"> {
    return this.#decide("claim", request, (event, pool): PoolClaimAnswer => {
      if (pool.terminating) return { kind: "terminating" };
      const choice = this.#memory.choose(this.#wish(request, event.grid), event.grid.positions, event.now);
      if (choice.kind === "none") return { kind: "none" };
      if (choice.kind === "free") {
        this.#rows.changeExtents(taking(this.#rows, choice.position));
        return this.#claimed(pool, choice.position, request.owner, event);
      }
      const { position, owner } = choice.block;
      if (choice.kind === "own") return this.#claimed(pool, position, request.owner, event);
      invariant(owner !== undefined, "only an owned block is asked back");
      const claimed = this.#claimed(pool, position, owner, event);
      return { ...claimed, kind: "reclaim", owner };
    });
  }

  async fresh(request: Request<"fresh">): Answer<"fresh"> {
    return this.#decide("fresh", request, (event, pool) => {
      const position = blockPosition(event.grid, request.block);
      const row = this.#rows.block(position);
      if (row?.owner !== undefined && row.owner !== request.owner) return { kind: "other", owner: row.owner };
      if (row === undefined || row.state === "free") {
        this.#rows.changeExtents(taking(this.#rows, position));
      }
      const { epoch } = this.#claimed(pool, position, request.owner, event);
      return { kind: "claim", epoch, terminating: pool.terminating };
    });
  }

  async release(request: Request<"release">): Answer<"release"> {
    return this.#decide("release", request, (event) => {
      const position = blockPosition(event.grid, request.block);
      const row = this.#rows.block(position);
      if (row?.epoch !== request.epoch) return { applied: false };
      // Without an owner at this epoch, an earlier copy of the message has done it.
      if (row.owner === undefined) return { applied: true };
      if (row.owner !== request.owner) return { applied: false };
      if (request.draining) this.#put({ ...row, state: "draining", owner: undefined });
      else this.#free(row);
      return { applied: true };
    });
  }

  async retired(request: Request<"retired">): Answer<"retired"> {
    return this.#decide("retired", request, (event) => {
      const row = this.#rows.block(blockPosition(event.grid, request.block));
      if (row?.epoch !== request.epoch) return { applied: false };
      if (row.state !== "free") this.#free(row);
      return { applied: true };
    });
  }

  async report(request: Request<"report">): Answer<"report"> {
    const event = this.#begin("report", request);
    return { accepted: this.#learn(request.blocks, event) };
  }

  async borrowCandidates(request: Request<"borrowCandidates">): Answer<"borrowCandidates"> {
    const event = this.#begin("borrowCandidates", request);
    const { grid, now } = event;
    if (this.#rows.pool()?.terminating) return { candidates: [] };
    this.#learn(request.seen, event);
    const directory = this.#memory.directory(now);
    const tried = positionsOf(grid, request.tried);
    const found = directory.borrowCandidates(request.owner, tried, request.limit, now);
    const candidates = found.map(({ position, owner, known }) => {
      const block = blockAt(grid, position);
      return owner === undefined ? { block, known } : { block, owner, known };
    });
    const nextFreeAt = directory.nextFreeAt(now);
    return nextFreeAt === undefined ? { candidates } : { candidates, nextFreeAt };
  }

  async find(request: Request<"find">): Answer<"find"> {
    const { grid, now } = this.#begin("find", request);
    const position = positionOf(grid, request.block);
    const row = position === undefined ? undefined : this.#rows.block(position);
    return row === undefined ? {} : { entry: this.#entry(row, grid, now) };
  }

  /** An `after` that is no block of this pool begins at the start. */
  async list(request: Request<"list">): Answer<"list"> {
    const { grid, now } = this.#begin("list", request);
    const after = request.after === undefined ? undefined : positionOf(grid, request.after);
    const found =
      request.owner === undefined
        ? this.#rows.blocksAfter(after, request.limit + 1)
        : this.#memory.ownedAfter(request.owner, after, request.limit + 1, now);
    const entries = found.slice(0, request.limit).map((row) => this.#entry(row, grid, now));
    const next = entries.at(-1)?.block;
    return found.length > request.limit && next !== undefined ? { entries, next } : { entries };
  }

  async usage(request: Request<"usage">): Promise<PoolUsageView> {
    const { grid, now } = this.#begin("usage", request);
    const directory = this.#memory.directory(now);
    const usage = poolUsage(grid, request.reservedCidrs, directory.blocks(), now);
    const nextFreeAt = directory.nextFreeAt(now);
    return {
      ...usage,
      capacity: String(usage.capacity),
      allocated: String(usage.allocated),
      cooling: String(usage.cooling),
      reserved: String(usage.reserved),
      available: String(usage.available),
      ...(nextFreeAt === undefined ? {} : { nextFreeAt }),
      exact: false,
    };
  }

  // The drain adds terminate() here, and an alarm that goes through the directory in slices.

  #begin(method: keyof PoolPort, target: PoolTarget): Event {
    this.#store.countCall(method);
    return { grid: blockGrid(target.cidr, target.blockSize), now: this.#runtime.now() };
  }

  /** Runs one decision in one transaction; what is remembered never outlives a failed one. */
  #decide<T>(method: keyof PoolPort, target: PoolTarget, decision: (event: Event, pool: PoolRow) => T): T {
    const event = this.#begin(method, target);
    return this.#transaction(() => {
      const { cidr, blockSize, incarnation } = target;
      const created = { cidr, blockSize, incarnation };
      const pool = this.#rows.pool() ?? this.#rows.create(created, event.grid.positions);
      const isThisPool =
        pool.cidr === cidr && pool.blockSize === blockSize && pool.incarnation === incarnation;
      invariant(isThisPool, `the message is for ${cidr} ${blockSize} ${incarnation}, another pool`);
      return decision(event, pool);
    });
  }

  #transaction<T>(work: () => T): T {
    try {
      return this.#store.transaction(work);
    } catch (failure) {
      this.#memory.forget();
      throw failure;
    }
  }

  #wish(request: PoolClaimRequest, grid: BlockGrid): ClaimWish {
    const { owner, excluded } = request;
    return {
      owner,
      excluded,
      known: positionsOf(grid, request.known),
      tried: positionsOf(grid, request.tried),
    };
  }

  /** Issues an epoch and stores it with the block's owner. */
  #claimed(pool: PoolRow, position: bigint, owner: string, { grid, now }: Event) {
    const epoch = nextEpoch(pool.incarnation, pool.lastEpoch);
    this.#rows.putLastEpoch(epoch);
    this.#put({ position, state: "owned", owner, epoch, issuedAt: now });
    return { kind: "claim" as const, block: blockAt(grid, position), epoch };
  }

  #put(row: Omit<BlockRow, "counts">): void {
    this.#rows.putBlock(row);
    this.#memory.note(row);
  }

  #free(row: BlockRow): void {
    this.#rows.changeExtents(returning(this.#rows, row.position));
    this.#put({ ...row, state: "free", owner: undefined });
  }

  /** Takes in reports; a row is written only where a block changed its kind. */
  #learn(reports: readonly BlockReport[], { grid, now }: Event): number {
    const { accepted, changed } = this.#memory.learn(reports, grid, now);
    if (changed.length === 0) return accepted;
    this.#transaction(() => {
      for (const { position, counts } of changed) this.#rows.putCounts(position, counts);
    });
    for (const { position, counts } of changed) this.#memory.directory(now).noteStored(position, counts);
    return accepted;
  }

  #entry(row: BlockRow, grid: BlockGrid, now: number): DirectoryEntry {
    const counts = this.#memory.directory(now).get(row.position)?.counts ?? row.counts;
    return {
      block: blockAt(grid, row.position),
      state: row.state,
      epoch: row.epoch,
      ...(row.owner === undefined ? {} : { owner: row.owner }),
      ...(counts === undefined ? {} : { counts }),
    };
  }
}

function blockPosition(grid: BlockGrid, block: string): bigint {
  const position = positionOf(grid, block);
  invariant(position !== undefined, `${block} is no block of this pool`);
  return position;
}

/** Blocks of other pools are passed over. */
function positionsOf(grid: BlockGrid, blocks: readonly string[]): ReadonlySet<bigint> {
  const positions = blocks.map((block) => positionOf(grid, block));
  return new Set(positions.filter((position) => position !== undefined));
}
