/**
 * Serialises the directory of one pool incarnation: which blocks may exist, and who may claim each.
 * May import: core, rpc, platform. Every answer about ownership carries a fresh epoch, stored first.
 */
import { DurableObject } from "cloudflare:workers";
import { type BlockGrid, blockAt, blockGrid, positionOf, rangeAt } from "../src/core/block-grid.ts";
import { nextEpoch } from "../src/core/epoch.ts";
import { firstFree, returning, taking } from "../src/core/extents.ts";
import { invariant } from "../src/core/invariant.ts";
import { BLOCKS_PER_CLAIM_MAX } from "../src/core/limits.ts";
import { type ClaimWish, isLikelyClaimable, moreFree, planClaims } from "../src/core/pool-claim.ts";
import { lastFreeAt } from "../src/core/pool-drain.ts";
import { blocksByOwner, poolUsage } from "../src/core/pool-usage.ts";
import { borrowedOrdinals } from "../src/core/routes.ts";
import type {
  BlockOffer,
  BlockReport,
  DirectoryEntry,
  PoolClaimAnswer,
  PoolClaimRequest,
  PoolPort,
  PoolTarget,
  PoolUsageView,
} from "../src/rpc/pool.ts";
import { PoolCheck } from "./pool-check.ts";
import { type Event, type PoolDirectoryWriter, PoolDrain } from "./pool-drain.ts";
import { PoolRoutes } from "./pool-routes.ts";
import { productionRuntime } from "./production.ts";
import type { Runtime } from "./runtime.ts";
import { PoolDrainRows } from "./storage/pool-drain-rows.ts";
import { type Learned, PoolMemory } from "./storage/pool-memory.ts";
import { type BlockRow, POOL_MIGRATIONS, type PoolRow, PoolRows } from "./storage/pool-rows.ts";
import { type Counters, Store } from "./storage/store.ts";

type Request<M extends keyof PoolPort> = Parameters<PoolPort[M]>[0];
type Answer<M extends keyof PoolPort> = ReturnType<PoolPort[M]>;

export class PoolObject extends DurableObject<Env> implements PoolPort {
  readonly #runtime: Runtime;
  readonly #store: Store;
  readonly #rows: PoolRows;
  readonly #memory: PoolMemory;
  readonly #routes: PoolRoutes;
  /** Figures are to be stored soon. */
  #isStoring = false;
  readonly #drain: PoolDrain;
  readonly #check: PoolCheck;

  constructor(ctx: DurableObjectState, env: Env, runtime: Runtime = productionRuntime(env)) {
    super(ctx, env);
    this.#runtime = runtime;
    this.#store = new Store(ctx.storage, POOL_MIGRATIONS);
    this.#rows = new PoolRows(this.#store);
    this.#memory = new PoolMemory(this.#rows);
    this.#routes = new PoolRoutes(this.#store, this.#rows);
    const directory: PoolDirectoryWriter = {
      decide: (target, decision) => this.#change(target, decision),
      issue: (...issued) => this.#claimed(...issued),
      put: (...rows) => this.#put(...rows),
      free: (...freed) => this.#free(...freed),
    };
    const drainRows = new PoolDrainRows(this.#store);
    this.#drain = new PoolDrain(runtime, ctx.storage, this.#rows, drainRows, directory);
    this.#check = new PoolCheck(runtime, this.#rows, this.#drain, directory);
  }

  counters(): Counters {
    return this.#store.counters;
  }

  async claim(request: PoolClaimRequest): Answer<"claim"> {
    return this.#decide("claim", request, (event, pool): PoolClaimAnswer => {
      if (pool.terminating) return { kind: "terminating" };
      this.#memory.directory(event.now).heedPolicy(request.policyVersion);
      const choice = this.#memory.choose(this.#wish(request, event.grid), event.grid.positions, event.now);
      if (choice.kind === "none") return { kind: "none" };
      if (choice.kind === "free") {
        const claimed = this.#takeFree(pool, choice.position, request.owner, event);
        return { ...claimed, inStep: true, more: this.#takeMore(request, event) };
      }
      const { position, owner } = choice.block;
      const row = this.#rows.block(position);
      if (choice.kind === "own") return this.#claimed(pool, position, request.owner, event, row);
      invariant(owner !== undefined, "only an owned block is asked back");
      const claimed = this.#claimed(pool, position, owner, event, row);
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
      const { epoch } = this.#claimed(pool, position, request.owner, event, row);
      return { kind: "claim", epoch, terminating: pool.terminating };
    });
  }

  async release(request: Request<"release">): Answer<"release"> {
    return this.#decide("release", request, (event) => {
      const position = blockPosition(event.grid, request.block);
      const row = this.#rows.block(position);
      if (row?.epoch !== request.epoch) {
        this.#endRoute(row, request, event);
        return { applied: false };
      }
      // Without an owner at this epoch, an earlier copy of the message has done it.
      if (row.owner === undefined) return { applied: true };
      if (row.owner !== request.owner) return { applied: false };
      if (request.draining) this.#put({ ...row, ...UNOWNED, state: "draining" }, row, event);
      else this.#free(row, event);
      return { applied: true };
    });
  }

  async retired(request: Request<"retired">): Answer<"retired"> {
    return this.#decide("retired", request, (event) => {
      const row = this.#rows.block(blockPosition(event.grid, request.block));
      if (row?.epoch !== request.epoch) return { applied: false };
      if (row.state !== "free") this.#free(row, event);
      this.#drain.heard(row.position, row.epoch);
      return { applied: true };
    });
  }

  async order(request: Request<"order">): Answer<"order"> {
    this.#begin("order", request);
    return await this.#drain.order(request);
  }

  async report(request: Request<"report">): Answer<"report"> {
    const event = this.#begin("report", request);
    const confirmed = this.#hear(request.blocks, event);
    const figures = request.blocks.filter(
      ({ counts, confirmed: word }) => counts !== undefined || word === undefined,
    );
    const accepted = this.#learn(figures, event);
    return confirmed === 0 ? { accepted } : { accepted, confirmed };
  }

  async borrowed(request: Request<"borrowed">): Answer<"borrowed"> {
    return this.#decide("borrowed", request, ({ grid, now }) => {
      const position = blockPosition(grid, request.block);
      const told = borrowedOrdinals(rangeAt(grid, position), request.addresses);
      const applied = this.#routes.lend(this.#rows.block(position), position, request.version, told, now);
      return { applied };
    });
  }

  async routes(request: Request<"routes">): Answer<"routes"> {
    const { grid } = this.#begin("routes", request);
    return this.#routes.page(grid, request.after, request.limit, request.host);
  }

  async routesRevision(request: Request<"routesRevision">): Answer<"routesRevision"> {
    this.#begin("routesRevision", request);
    const { known, waitMs = 0 } = request;
    if (known === this.#routes.revision && waitMs > 0) {
      await this.#routes.wait(waitMs, (ms, signal) => this.#runtime.sleep(ms, signal));
    }
    return { revision: this.#routes.revision };
  }

  async mayClaim(request: Request<"mayClaim">): Answer<"mayClaim"> {
    const { grid, now } = this.#begin("mayClaim", request);
    const pool = this.#rows.pool();
    if (pool === undefined) {
      const everything = { first: 0n, last: grid.positions - 1n };
      const source = { endingFrom: () => everything };
      return { mayClaim: firstFree(source, grid.positions, 0n, request.excluded) !== undefined };
    }
    if (pool.terminating) return { mayClaim: false };
    const choice = this.#memory.choose(this.#wish({ ...request, tried: [] }, grid), grid.positions, now);
    return { mayClaim: isLikelyClaimable(choice, now, this.#runtime.settings.reclaimAgeMs) };
  }

  async claimPlan(request: Request<"claimPlan">): Answer<"claimPlan"> {
    const { grid, now } = this.#begin("claimPlan", request);
    if (this.#rows.pool()?.terminating) return { blocks: [] };
    const everything = { endingFrom: () => ({ first: 0n, last: grid.positions - 1n }) };
    const extents = this.#rows.pool() === undefined ? everything : this.#rows;
    const wish = this.#wish({ ...request, tried: [] }, grid);
    const directory = this.#memory.directory(now);
    const planned = planClaims(directory, extents, grid.positions, wish, request.limit, now);
    const blocks = planned.map(({ position, ...rest }) => {
      return { ...rest, block: blockAt(grid, position), existed: this.#rows.block(position) !== undefined };
    });
    return { blocks };
  }

  async borrowCandidates(request: Request<"borrowCandidates">): Answer<"borrowCandidates"> {
    const event = this.#begin("borrowCandidates", request);
    const { grid, now } = event;
    if (this.#rows.pool()?.terminating) return { candidates: [] };
    this.#learn(request.seen, event);
    const directory = this.#memory.directory(now);
    directory.heedPolicy(request.policyVersion);
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

  async issued(request: Request<"issued">): Answer<"issued"> {
    const { grid, now } = this.#begin("issued", request);
    const after = request.after === undefined ? undefined : positionOf(grid, request.after);
    const rows = this.#rows.issuedAfter(after, request.limit + 1);
    const entries = rows.slice(0, request.limit).map((row) => this.#entry(row, grid, now));
    const next = entries.at(-1)?.block;
    return rows.length > request.limit && next !== undefined ? { entries, next } : { entries };
  }

  async countIssued(request: Request<"countIssued">): Answer<"countIssued"> {
    this.#begin("countIssued", request);
    return { count: this.#rows.countIssued() };
  }

  async entries(request: Request<"entries">): Answer<"entries"> {
    const { grid, now } = this.#begin("entries", request);
    const rows = [...positionsOf(grid, request.blocks)].map((position) => this.#rows.block(position));
    return { entries: rows.flatMap((row) => (row === undefined ? [] : this.#entry(row, grid, now))) };
  }

  async restore(request: Request<"restore">): Answer<"restore"> {
    this.#begin("restore", request);
    return { kind: await this.#check.restore(request) };
  }

  async auditSpace(request: Request<"auditSpace">): Answer<"auditSpace"> {
    this.#begin("auditSpace", request);
    return this.#check.auditSpace(request);
  }

  async usage(request: Request<"usage">): Promise<PoolUsageView> {
    const { grid, now } = this.#begin("usage", request);
    const directory = this.#memory.directory(now);
    const usage = poolUsage(grid, request.reservedCidrs, directory.blocks(), now);
    const nextFreeAt = directory.nextFreeAt(now);
    const last = lastFreeAt(directory.blocks());
    return {
      ...usage,
      capacity: String(usage.capacity),
      allocated: String(usage.allocated),
      cooling: String(usage.cooling),
      reserved: String(usage.reserved),
      available: String(usage.available),
      ...(nextFreeAt === undefined ? {} : { nextFreeAt }),
      ...(last === undefined || last <= now ? {} : { lastFreeAt: last }),
      exact: false,
      ...(request.withOwners === true ? { owners: blocksByOwner(directory.blocks()) } : {}),
    };
  }

  /** The drain goes on. */
  override async alarm(): Promise<void> {
    this.#store.countCall("alarm");
    await this.#drain.alarm();
  }

  #begin(method: keyof PoolPort, target: PoolTarget): Event {
    this.#store.countCall(method);
    this.#drain.wake();
    return { grid: blockGrid(target.cidr, target.blockSize), now: this.#runtime.now() };
  }

  /** Runs one decision in one transaction; what is remembered never outlives a failed one. */
  #decide<T>(method: keyof PoolPort, target: PoolTarget, decision: (event: Event, pool: PoolRow) => T): T {
    this.#begin(method, target);
    return this.#change(target, decision);
  }

  #change<T>(target: PoolTarget, decision: (event: Event, pool: PoolRow) => T): T {
    const event = { grid: blockGrid(target.cidr, target.blockSize), now: this.#runtime.now() };
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
    let isCommitted = false;
    try {
      const outcome = this.#store.transaction(work);
      isCommitted = true;
      return outcome;
    } catch (failure) {
      this.#memory.forget();
      this.#drain.forgetAlarm();
      throw failure;
    } finally {
      this.#routes.ended(isCommitted);
    }
  }

  #wish(request: PoolClaimRequest, grid: BlockGrid): ClaimWish {
    const { owner, excluded, inStep } = request;
    const tried = positionsOf(grid, request.tried);
    if (inStep === true) return { owner, excluded, tried };
    return { owner, excluded, tried, known: positionsOf(grid, request.known) };
  }

  /** Issues a block out of the free space. */
  #takeFree(pool: PoolRow, position: bigint, owner: string, event: Event) {
    this.#rows.changeExtents(taking(this.#rows, position));
    return this.#claimed(pool, position, owner, event, undefined);
  }

  /** Issues further free blocks, each at its own epoch, as far as they are asked for and plenty. */
  #takeMore(request: PoolClaimRequest, event: Event): BlockOffer[] {
    const wish = this.#wish(request, event.grid);
    const limit = Math.min(request.more ?? 0, BLOCKS_PER_CLAIM_MAX - 1);
    const taken: BlockOffer[] = [];
    while (taken.length < limit) {
      const position = moreFree(this.#rows, event.grid.positions, wish);
      const pool = this.#rows.pool();
      if (position === undefined || pool === undefined) break;
      const { block, epoch } = this.#takeFree(pool, position, request.owner, event);
      taken.push({ block, epoch });
    }
    return taken;
  }

  /**
   * Issues an epoch and stores it with the block's owner.
   * Why: an epoch for the present owner begins no ownership, so a reclaim that fails moves no route.
   */
  #claimed(pool: PoolRow, position: bigint, owner: string, event: Event, before: BlockRow | undefined) {
    const epoch = nextEpoch(pool.incarnation, pool.lastEpoch);
    this.#rows.putLastEpoch(epoch);
    const isSame = before?.owner === owner;
    const ownership = isSame ? before : { began: epoch, confirmed: undefined };
    const { began, confirmed } = ownership;
    const issued = { position, state: "owned", owner, epoch, issuedAt: event.now, began, confirmed } as const;
    this.#put(issued, before, event);
    return { kind: "claim" as const, block: blockAt(event.grid, position), epoch };
  }

  #put(row: Omit<BlockRow, "counts">, before: BlockRow | undefined, { now }: Event): void {
    this.#rows.putBlock(row);
    this.#routes.noteOwnership(before, row, now);
    this.#memory.note(row);
  }

  #free(row: BlockRow, event: Event): void {
    this.#rows.changeExtents(returning(this.#rows, row.position));
    this.#put({ ...row, ...UNOWNED, state: "free" }, row, event);
  }

  /** An owner that gave up at an epoch before the row's owns no more until it says so later. */
  #endRoute(row: BlockRow | undefined, { owner, epoch }: Request<"release">, event: Event): void {
    if (row === undefined || row.owner !== owner || epoch > row.epoch || epoch < row.began) return;
    const isOver = row.confirmed !== undefined && row.confirmed <= epoch;
    const confirmed = isOver ? undefined : row.confirmed;
    this.#put({ ...row, began: epoch + 1, confirmed }, row, event);
  }

  /**
   * Takes in what Hosts say of their own rows; of a former owner, or of a former ownership, nothing.
   * Why: an epoch between the first and the last of an ownership was issued to that owner alone.
   */
  #hear(reports: readonly BlockReport[], event: Event): number {
    const words = reports.filter(({ confirmed }) => confirmed !== undefined);
    if (words.length === 0 || this.#rows.pool() === undefined) return words.length;
    this.#transaction(() => {
      for (const { block, confirmed } of words) {
        const position = positionOf(event.grid, block);
        const row = position === undefined ? undefined : this.#rows.block(position);
        if (row?.owner === undefined || confirmed === undefined) continue;
        const { epoch } = confirmed;
        const isNews = epoch >= row.began && epoch <= row.epoch && epoch > (row.confirmed ?? -1);
        if (isNews) this.#put({ ...row, confirmed: epoch }, row, event);
      }
    });
    return words.length;
  }

  /** Takes in reports; a row is written only where a block changed its kind. */
  #learn(reports: readonly BlockReport[], { grid, now }: Event): number {
    const { accepted, changed } = this.#memory.learn(reports, grid, now);
    this.#storeCounts(changed, now);
    if (this.#memory.hasUnstored) this.#storeSoon();
    return accepted;
  }

  #storeCounts(changed: Learned["changed"], now: number): void {
    if (changed.length === 0) return;
    this.#transaction(() => {
      for (const { position, counts } of changed) this.#rows.putCounts(position, counts);
    });
    for (const { position, counts } of changed) this.#memory.directory(now).noteStored(position, counts);
  }

  /**
   * Stores all figures that are newer than their rows, a while after the first of them was told.
   * Why: a host that does nothing after a restart tells nothing, and its figures would stay those of long ago.
   */
  #storeSoon(): void {
    if (this.#isStoring) return;
    this.#isStoring = true;
    const due = this.#runtime.sleep(this.#runtime.settings.figuresMs).then(() => {
      this.#isStoring = false;
      const now = this.#runtime.now();
      this.#storeCounts(this.#memory.takeUnstored(now), now);
    });
    due.catch(() => {
      this.#isStoring = false;
    });
  }

  #entry(row: BlockRow, grid: BlockGrid, now: number): DirectoryEntry {
    const counts = this.#memory.directory(now).get(row.position)?.counts ?? row.counts;
    return {
      block: blockAt(grid, row.position),
      state: row.state,
      epoch: row.epoch,
      ...(row.owner === undefined ? {} : { owner: row.owner }),
      ...(counts === undefined ? {} : { counts }),
      ...(row.confirmed === undefined ? {} : { confirmed: row.confirmed }),
    };
  }
}

/** What a row is without an owner. */
const UNOWNED = { owner: undefined, confirmed: undefined } as const;

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
