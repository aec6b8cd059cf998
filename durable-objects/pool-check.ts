/**
 * What a check asks of a Pool: all that was ever issued, rows put right by the block's word, free space.
 * May import: core, rpc, platform, storage. Rule: a row that has moved on meanwhile is left as it is.
 */
import { blockAt, blockGrid, positionOf } from "../src/core/block-grid.ts";
import { mendedSpace, type Stretch, spaceFaults } from "../src/core/check-space.ts";
import { epochFloor, nextEpoch } from "../src/core/epoch.ts";
import { type Extent, isFree, taking } from "../src/core/extents.ts";
import { invariant } from "../src/core/invariant.ts";
import { callIdempotent, type EndSignal } from "../src/platform/call.ts";
import type { PoolPort, PoolTarget, SpaceFault } from "../src/rpc/pool.ts";
import type { Event, PoolDirectoryWriter, PoolDrain } from "./pool-drain.ts";
import type { Runtime } from "./runtime.ts";
import type { BlockRow, PoolRow, PoolRows } from "./storage/pool-rows.ts";

type RestoreRequest = Parameters<PoolPort["restore"]>[0];
type SpaceRequest = Parameters<PoolPort["auditSpace"]>[0];

/** Faults of one stretch that are listed; all of them are mended. */
const FAULTS_LISTED_MAX = 256;

export class PoolCheck {
  readonly #runtime: Runtime;
  readonly #rows: PoolRows;
  readonly #drain: PoolDrain;
  readonly #directory: PoolDirectoryWriter;

  constructor(runtime: Runtime, rows: PoolRows, drain: PoolDrain, directory: PoolDirectoryWriter) {
    this.#runtime = runtime;
    this.#rows = rows;
    this.#drain = drain;
    this.#directory = directory;
  }

  /**
   * Makes the row of a block follow the block: first an epoch above all that the block has seen, then
   * the owner that the block names.
   * Why: while the row stays at that epoch, nobody else can have got the block.
   */
  async restore(request: RestoreRequest): Promise<"restored" | "unsettled"> {
    const position = positionOf(blockGrid(request.cidr, request.blockSize), request.block);
    invariant(position !== undefined, `${request.block} is no block of this pool`);
    const row = this.#directory.decide(request, (event) => {
      this.#raise(request.seenEpoch);
      return this.#renewed(position, request.seenEpoch, event);
    });
    if (row.owner === undefined) {
      await this.#drain.askBlock(request, position, row.epoch);
      return "restored";
    }
    const { block } = request;
    const said = await this.#call(() => this.#runtime.ports.block(block).audit({ block, cooldownMs: 0 }));
    if (said.kind !== "answered") return "unsettled";
    const { owner } = said.value;
    if (owner === undefined || owner === row.owner) return "restored";
    this.#directory.decide(request, (event) => {
      const current = this.#rows.block(position);
      if (current?.epoch !== row.epoch || current.owner !== row.owner) return;
      this.#directory.issue(this.#pool(), position, owner, event, current);
    });
    return "restored";
  }

  /** Judges the free space between the rows of one page; the rest of the pool follows after the last one. */
  auditSpace(request: SpaceRequest): { readonly faults: SpaceFault[]; readonly next?: string } {
    const grid = blockGrid(request.cidr, request.blockSize);
    const after = request.after === undefined ? undefined : positionOf(grid, request.after);
    const first = after === undefined ? 0n : after + 1n;
    // Nothing was ever issued, or the last block has been looked at: there is nothing to contradict.
    if (this.#rows.pool() === undefined || first >= grid.positions) return { faults: [] };
    const judge = (): { stretch: Stretch; faults: SpaceFault[] } => {
      const stretch = this.#stretch(first, grid.positions - 1n, request.limit);
      const { offered, lost } = spaceFaults(stretch);
      const faults = [
        ...offered.map((position) => ({ problem: "used_block_offered" as const, position })),
        ...lost.map((run) => ({ problem: "space_lost" as const, position: run.first })),
      ];
      const listed = faults.slice(0, FAULTS_LISTED_MAX);
      return {
        stretch,
        faults: listed.map(({ problem, position }) => ({ problem, block: blockAt(grid, position) })),
      };
    };
    const { stretch, faults } = request.repair ? this.#mended(request, judge) : judge();
    const isOver = stretch.last >= grid.positions - 1n;
    return isOver ? { faults } : { faults, next: blockAt(grid, stretch.last) };
  }

  #mended<T extends { stretch: Stretch; faults: readonly SpaceFault[] }>(
    target: PoolTarget,
    judge: () => T,
  ): T {
    return this.#directory.decide(target, () => {
      const judged = judge();
      if (judged.faults.length === 0) return judged;
      const { first, last } = judged.stretch;
      const extents = this.#extents(first > 0n ? first - 1n : 0n, last + 1n, Number.POSITIVE_INFINITY);
      this.#rows.changeExtents(mendedSpace({ ...judged.stretch, extents }));
      return judged;
    });
  }

  /** As far as the page of rows and as many extents reach. */
  #stretch(first: bigint, end: bigint, limit: number): Stretch {
    const rows = this.#rows.blocksAfter(first === 0n ? undefined : first - 1n, limit);
    const byRows = rows.length < limit ? end : (rows.at(-1)?.position ?? end);
    const extents = this.#extents(first, byRows, 2 * limit);
    const tail = extents.at(-1)?.last;
    const last = extents.length < 2 * limit || tail === undefined || tail > byRows ? byRows : tail;
    const used = rows.map(({ position }) => position).filter((position) => position <= last);
    return { first, last, used, extents };
  }

  /** Extents that meet a stretch. */
  #extents(first: bigint, last: bigint, limit: number): Extent[] {
    const extents: Extent[] = [];
    let extent = this.#rows.endingFrom(first);
    while (extent !== undefined && extent.first <= last && extents.length < limit) {
      extents.push(extent);
      extent = this.#rows.endingFrom(extent.last + 1n);
    }
    return extents;
  }

  /** A counter that was lost, with a restored disk, must not issue what a block has seen. */
  #raise(seenEpoch: number): void {
    const { incarnation, lastEpoch } = this.#pool();
    const isOfThisPool = seenEpoch > epochFloor(incarnation) && seenEpoch < epochFloor(incarnation + 1);
    if (isOfThisPool && seenEpoch > lastEpoch) this.#rows.putLastEpoch(seenEpoch);
  }

  /** The row, at an epoch above all that the block has seen; one that was missing names nobody. */
  #renewed(position: bigint, seenEpoch: number, event: Event): Omit<BlockRow, "counts"> {
    const row = this.#rows.block(position);
    if (row !== undefined && row.epoch > seenEpoch) return row;
    if (row?.owner !== undefined) {
      const { epoch } = this.#directory.issue(this.#pool(), position, row.owner, event, row);
      return { ...row, epoch };
    }
    const { incarnation, lastEpoch } = this.#pool();
    const epoch = nextEpoch(incarnation, lastEpoch);
    this.#rows.putLastEpoch(epoch);
    if (row === undefined && isFree(this.#rows, position)) {
      this.#rows.changeExtents(taking(this.#rows, position));
    }
    const missing = {
      position,
      state: "draining",
      owner: undefined,
      began: epoch,
      confirmed: undefined,
    } as const;
    const renewed = { ...(row ?? missing), epoch, issuedAt: event.now };
    this.#directory.put(renewed, row, event);
    return renewed;
  }

  #pool(): PoolRow {
    const pool = this.#rows.pool();
    invariant(pool !== undefined, "a pool that decides has its row");
    return pool;
  }

  #call<T>(begin: () => Promise<T>) {
    const { untilMs, skewMs } = this.#runtime.settings;
    const sleep = (ms: number, signal: EndSignal) => this.#runtime.sleep(ms, signal);
    return callIdempotent(begin, { timeoutMs: untilMs + skewMs, sleep });
  }
}
