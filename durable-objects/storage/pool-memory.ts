/**
 * What a Pool remembers of its rows between events: loaded once per wake, verified where it is relied on.
 * May import: core, rpc, pool rows. A row always wins: a contradiction makes it load again.
 */
import type { BlockCounts } from "../../src/core/allocation.ts";
import { type BlockGrid, positionOf } from "../../src/core/block-grid.ts";
import { invariant } from "../../src/core/invariant.ts";
import { type ClaimChoice, type ClaimWish, chooseBlock, isWorthStoring } from "../../src/core/pool-claim.ts";
import { PoolDirectory } from "../../src/core/pool-directory.ts";
import type { BlockReport } from "../../src/rpc/pool.ts";
import type { BlockRow, PoolRows } from "./pool-rows.ts";

/** What reports brought: how many were news, and the counts that are worth a row. */
export interface Learned {
  readonly accepted: number;
  readonly changed: readonly { readonly position: bigint; readonly counts: BlockCounts | undefined }[];
}

export class PoolMemory {
  readonly #rows: PoolRows;
  #directory: PoolDirectory | undefined;
  /** Blocks whose figures are newer than their rows. */
  readonly #unstored = new Set<bigint>();

  constructor(rows: PoolRows) {
    this.#rows = rows;
  }

  /** Drops everything; the next event loads it again. */
  forget(): void {
    this.#directory = undefined;
  }

  directory(now: number): PoolDirectory {
    this.#directory ??= new PoolDirectory(this.#rows.allBlocks(), now);
    return this.#directory;
  }

  /** Notes what was written of a block. */
  note(row: Omit<BlockRow, "counts">): void {
    if (row.state === "free") this.#directory?.freed(row.position);
    else this.#directory?.issued(row);
  }

  /** Chooses a block and verifies its row; a contradiction loads the memory again, once. */
  choose(wish: ClaimWish, positions: bigint, now: number): ClaimChoice {
    const choice = chooseBlock(this.directory(now), this.#rows, positions, wish, now);
    if (this.#isCurrent(choice)) return choice;
    this.forget();
    const second = chooseBlock(this.directory(now), this.#rows, positions, wish, now);
    invariant(this.#isCurrent(second), "the directory contradicts its own rows");
    return second;
  }

  #isCurrent(choice: ClaimChoice): boolean {
    if (choice.kind === "none") return true;
    if (choice.kind === "free") {
      const row = this.#rows.block(choice.position);
      return row === undefined || row.state === "free";
    }
    const row = this.#rows.block(choice.block.position);
    return row?.owner === choice.block.owner && row?.epoch === choice.block.epoch;
  }

  /** Takes in reports; those of blocks that do not exist, and older ones, change nothing. */
  learn(reports: readonly BlockReport[], grid: BlockGrid, now: number): Learned {
    const directory = this.directory(now);
    const changed: { position: bigint; counts: BlockCounts | undefined }[] = [];
    let accepted = 0;
    for (const { block, counts } of reports) {
      const position = positionOf(grid, block);
      if (position === undefined || !directory.learn(position, counts, now)) continue;
      accepted += 1;
      this.#unstored.add(position);
      if (!isWorthStoring(directory.stored(position), counts)) continue;
      this.#unstored.delete(position);
      changed.push({ position, counts });
    }
    return { accepted, changed };
  }

  get hasUnstored(): boolean {
    return this.#unstored.size > 0;
  }

  /** Takes the figures that are newer than their rows, to be stored now. */
  takeUnstored(now: number): Learned["changed"] {
    const directory = this.directory(now);
    const taken = [...this.#unstored].flatMap((position) => {
      const block = directory.get(position);
      return block === undefined ? [] : [{ position, counts: block.counts }];
    });
    this.#unstored.clear();
    return taken;
  }

  /** An owner's blocks after a position, in address order, as their rows say. */
  ownedAfter(owner: string, after: bigint | undefined, limit: number, now: number): BlockRow[] {
    const positions = [...this.directory(now).ownedBy(owner)].map((block) => block.position);
    const page = positions
      .filter((position) => after === undefined || position > after)
      .sort((a, b) => (a < b ? -1 : 1))
      .slice(0, limit);
    const rows = page.map((position) => this.#rows.block(position));
    return rows.filter((row): row is BlockRow => row?.owner === owner);
  }
}
