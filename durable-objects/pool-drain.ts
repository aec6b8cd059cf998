/**
 * The end of a Pool: blocks are asked back in slices, until each that was ever issued says it is over.
 * May import: core, rpc, platform, storage. Rule: fresh epoch first; a hint never ends a block.
 */
import { type BlockGrid, blockAt, blockGrid } from "../src/core/block-grid.ts";
import { nextEpoch } from "../src/core/epoch.ts";
import { taking } from "../src/core/extents.ts";
import { drainStep } from "../src/core/pool-drain.ts";
import { callIdempotent, type EndSignal } from "../src/platform/call.ts";
import type { ReleaseAffinityAnswer } from "../src/rpc/block.ts";
import type { PoolOrderAnswer, PoolPort, PoolTarget } from "../src/rpc/pool.ts";
import type { Runtime } from "./runtime.ts";
import type { DrainOrder, PoolDrainRows, UnsettledBlock } from "./storage/pool-drain-rows.ts";
import type { BlockRow, PoolRow, PoolRows } from "./storage/pool-rows.ts";

/** Blocks of one slice: each takes two calls at most, and one event has 900. */
const SLICE_BLOCKS = 256;
/** Slices of free blocks that are asked before an order to be closed is answered. */
const FREE_SLICES_MAX = 3;
/** Blocks that are asked at a time. */
const LOT = 16;
/** Pause between two passes while blocks are to be asked, ms. */
const PASS_PAUSE_MS = 5_000;
/** Pause while all that is left waits for its addresses; blocks that forgot to speak are asked then, ms. */
const IDLE_PAUSE_MS = 600_000;
/** How soon the alarm looks again after a block spoke, or after a failure, ms. */
const SOON_MS = 100;
const RETRY_MS = 5_000;
/** No owner has this name: a block that has one says so, and is not changed. */
const NOBODY = "";

type Alarms = Pick<DurableObjectStorage, "getAlarm" | "setAlarm">;
type OrderRequest = Parameters<PoolPort["order"]>[0];

/** What a message is about, and when it is handled. */
export interface Event {
  readonly grid: BlockGrid;
  readonly now: number;
}

/** How the parts of a Pool change its directory: rows, memory and routes together. */
export interface PoolDirectoryWriter {
  /** Runs one decision in one transaction. */
  decide<T>(target: PoolTarget, decision: (event: Event, pool: PoolRow) => T): T;
  /** Issues an epoch and stores it with the block's owner. */
  issue(
    pool: PoolRow,
    position: bigint,
    owner: string,
    event: Event,
    before: BlockRow | undefined,
  ): { readonly block: string; readonly epoch: number };
  put(row: Omit<BlockRow, "counts">, before: BlockRow | undefined, event: Event): void;
  free(row: BlockRow, event: Event): void;
}

export class PoolDrain {
  readonly #runtime: Runtime;
  readonly #alarms: Alarms;
  readonly #rows: PoolRows;
  readonly #drain: PoolDrainRows;
  readonly #directory: PoolDirectoryWriter;
  #alarmAt: number | undefined;
  /** The stored alarm is known to be there, or not to be needed. */
  #isSure = false;
  /** When the blocks that only wait were asked last. */
  #askedWaitingAt: number | undefined;

  constructor(
    runtime: Runtime,
    alarms: Alarms,
    rows: PoolRows,
    drain: PoolDrainRows,
    directory: PoolDirectoryWriter,
  ) {
    this.#runtime = runtime;
    this.#alarms = alarms;
    this.#rows = rows;
    this.#drain = drain;
    this.#directory = directory;
  }

  /** At the first event of an instance, or after a failure: an alarm that was lost for good is set again. */
  wake(): void {
    if (this.#isSure) return;
    this.#isSure = true;
    if (this.#drain.order()?.mode !== "draining") return;
    const set = this.#alarms.getAlarm().then((at) => (at === null ? this.#arm(SOON_MS) : undefined));
    set.catch(() => this.#unsure());
  }

  /** What was armed inside a transaction that failed is not known to be armed. */
  forgetAlarm(): void {
    this.#unsure();
  }

  /** Takes an order; a late or repeated one changes nothing. */
  async order(request: OrderRequest): Promise<PoolOrderAnswer> {
    const { pool: name, number, revision, mode } = request;
    this.#directory.decide(request, () => {
      const known = this.#drain.order();
      if (known === undefined || number > known.number)
        this.#drain.putOrder({ name, number, revision, mode });
      if (this.#drain.order()?.mode === "draining") this.#armSoon();
    });
    if (mode === "closed") await this.#askFree(request);
    const [left] = this.#drain.unsettledAfter(undefined, 1);
    if (left === undefined) return { kind: "empty" };
    const row = this.#rows.block(left.position);
    const block = blockAt(blockGrid(request.cidr, request.blockSize), left.position);
    return { kind: "left", block, allocated: row?.counts?.allocated ?? 0 };
  }

  /** Inside the transaction that heard a block's own word at its row's epoch. */
  heard(position: bigint, epoch: number): void {
    if (this.#rows.pool()?.terminating !== true) return;
    this.#drain.putClosed(position, epoch);
    if (this.#drain.order()?.mode === "draining") this.#armSoon();
  }

  /** One slice; whatever fails, the alarm lives on (F35). */
  async alarm(): Promise<void> {
    this.#alarmAt = undefined;
    let pauseMs: number | undefined = RETRY_MS;
    try {
      pauseMs = await this.#slice();
    } catch {
      // What failed is tried again: nothing of a drain is lost but time.
    }
    // If it cannot be set, the platform repeats this alarm, and the next event looks whether it is there.
    if (pauseMs !== undefined) await this.#arm(pauseMs).catch((failure) => this.#unsure(failure));
  }

  /** Looks at the next blocks; returns the pause until the next slice, or nothing when all is over. */
  async #slice(): Promise<number | undefined> {
    const order = this.#drain.order();
    const pool = this.#rows.pool();
    if (order?.mode !== "draining" || pool === undefined) return undefined;
    const target = targetOf(order, pool);
    const blocks = this.#drain.unsettledAfter(order.place, SLICE_BLOCKS);
    const now = this.#runtime.now();
    if (order.place === undefined) this.#askedWaitingAt ??= now;
    const asksWaiting = now - (this.#askedWaitingAt ?? now) >= IDLE_PAUSE_MS;
    await this.#eachLot(blocks, (block) => this.#step(target, block, asksWaiting));
    const last = blocks.length < SLICE_BLOCKS ? undefined : blocks.at(-1)?.position;
    this.#directory.decide(target, () => {
      if (this.#drain.order()?.number === order.number) this.#drain.putPlace(last);
    });
    if (last !== undefined) return SOON_MS;
    if (asksWaiting) this.#askedWaitingAt = this.#runtime.now();
    return await this.#endPass(target, order);
  }

  /** All that is left waits: patience. None is left: Cluster removes the definition. */
  async #endPass(target: PoolTarget, order: DrainOrder): Promise<number | undefined> {
    const left = this.#drain.unsettledAfter(undefined, SLICE_BLOCKS);
    if (left.some((row) => drainStep(row) !== "wait")) return PASS_PAUSE_MS;
    if (left.length > 0) return IDLE_PAUSE_MS;
    const { pool, incarnation } = target;
    const message = { name: pool, incarnation, revision: order.revision };
    const told = await this.#call(() => this.#runtime.ports.cluster().poolDrained(message));
    if (told.kind !== "answered") return RETRY_MS;
    // Kept: the drain was cancelled, and the order that says so is on its way.
    if (told.value.kind === "kept") return IDLE_PAUSE_MS;
    this.#directory.decide(target, () => this.#drain.putOrder({ ...order, mode: "gone" }));
    return undefined;
  }

  async #step(target: PoolTarget, block: UnsettledBlock, asksWaiting: boolean): Promise<void> {
    const step = drainStep(block);
    if (step === "ask_host") await this.#askHost(target, block.position);
    if (step === "ask_block" || (step === "wait" && asksWaiting)) {
      await this.askBlock(target, block.position, block.epoch);
    }
  }

  /** A fresh epoch, then the owner's Host gives the block back, whatever it holds. */
  async #askHost(target: PoolTarget, position: bigint): Promise<void> {
    const issued = this.#directory.decide(target, (event, pool) => {
      const row = this.#rows.block(position);
      if (row?.owner === undefined) return undefined;
      const { block, epoch } = this.#directory.issue(pool, position, row.owner, event, row);
      return { host: row.owner, block, epoch };
    });
    if (issued === undefined) return;
    const { pool, incarnation } = target;
    const message = { ...issued, pool, incarnation, mustBeEmpty: false, forReclaim: false };
    // Three calls of the Host, one after the other.
    await this.#call(() => this.#runtime.ports.host(issued.host).releaseBlock(message), 3);
    const row = this.#rows.block(position);
    if (row?.state === "free") await this.askBlock(target, position, row.epoch);
  }

  /**
   * A block that has no owner by its row says itself how it is, and the row follows; it takes over the
   * row's epoch, so that no claim lands any more.
   */
  async askBlock(target: PoolTarget, position: bigint, epoch: number): Promise<void> {
    const leased = await this.#runtime.policy.current(this.#runtime.now());
    if (leased === undefined) return;
    const cooldownMs = leased.policy.config.ipCooldownSeconds * 1000;
    const { pool, incarnation, cidr: poolCidr } = target;
    const block = blockAt(blockGrid(target.cidr, target.blockSize), position);
    const rest = { owner: NOBODY, epoch, mustBeEmpty: false, cooldownMs };
    const message = { block, pool, incarnation, poolCidr, ...rest };
    const said = await this.#call(() => this.#runtime.ports.block(block).releaseAffinity(message));
    if (said.kind !== "answered") return;
    this.#directory.decide(target, (event, stored) => {
      const row = this.#rows.block(position);
      if (row?.epoch === epoch && row.owner === undefined) this.#take(said.value, row, event, stored);
    });
  }

  /** Corrects the row by what its block said at the row's epoch. */
  #take(said: ReleaseAffinityAnswer, row: BlockRow, event: Event, pool: PoolRow): void {
    const { position, epoch } = row;
    const isFree = row.state === "free";
    switch (said.kind) {
      case "closed":
        if (!isFree) this.#directory.free(row, event);
        this.#drain.putClosed(position, epoch);
        return;
      case "draining":
      case "block_not_empty":
        if (!isFree) return;
        this.#rows.changeExtents(taking(this.#rows, position));
        this.#directory.put({ ...row, state: "draining" }, row, event);
        return;
      case "not_owner":
        if (said.owner === undefined) return;
        if (isFree) this.#rows.changeExtents(taking(this.#rows, position));
        this.#directory.issue(pool, position, said.owner, event, row);
        return;
      case "stale": {
        const fresh = nextEpoch(pool.incarnation, pool.lastEpoch);
        this.#rows.putLastEpoch(fresh);
        this.#directory.put({ ...row, epoch: fresh, issuedAt: event.now }, row, event);
        return;
      }
    }
  }

  /** Asks all blocks that the directory calls free, as far as one event can. */
  async #askFree(target: PoolTarget): Promise<void> {
    let place: bigint | undefined;
    for (let slice = 0; slice < FREE_SLICES_MAX; slice += 1) {
      const blocks = this.#drain.unsettledAfter(place, SLICE_BLOCKS);
      if (blocks.length === 0 || blocks.some(({ state }) => state !== "free")) return;
      await this.#eachLot(blocks, ({ position, epoch }) => this.askBlock(target, position, epoch));
      place = blocks.at(-1)?.position;
    }
  }

  /** One block's defect does not stop the others; it is met again in the next pass. */
  async #eachLot(blocks: readonly UnsettledBlock[], step: (block: UnsettledBlock) => Promise<void>) {
    for (let begin = 0; begin < blocks.length; begin += LOT) {
      await Promise.allSettled(blocks.slice(begin, begin + LOT).map(step));
    }
  }

  #call<T>(begin: () => Promise<T>, steps = 1) {
    const { untilMs, skewMs } = this.#runtime.settings;
    const sleep = (ms: number, signal: EndSignal) => this.#runtime.sleep(ms, signal);
    return callIdempotent(begin, { timeoutMs: steps * (untilMs + skewMs), sleep });
  }

  #armSoon(): void {
    this.#arm(SOON_MS).catch(() => this.#unsure());
  }

  async #arm(inMs: number): Promise<void> {
    const at = this.#runtime.now() + inMs;
    if (this.#alarmAt !== undefined && this.#alarmAt <= at) return;
    this.#alarmAt = at;
    await this.#alarms.setAlarm(at);
  }

  #unsure(failure?: unknown): void {
    this.#alarmAt = undefined;
    this.#isSure = false;
    if (failure !== undefined) throw failure;
  }
}

function targetOf({ name }: DrainOrder, { cidr, blockSize, incarnation }: PoolRow): PoolTarget {
  return { pool: name, incarnation, cidr, blockSize };
}
