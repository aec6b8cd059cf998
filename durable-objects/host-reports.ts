/**
 * Tells the Pools how full this Host's blocks are: in one call per Pool, soon after a change, and at
 * once when a block turned full or not full, empty or not empty. May import: core, rpc, platform.
 */
import type { BlockCounts } from "../src/core/allocation.ts";
import type { PoolTarget } from "../src/rpc/pool.ts";
import type { HostConfirmations } from "./host-confirmations.ts";
import type { Runtime } from "./runtime.ts";

/** Blocks whose last stage is remembered; forgetting one costs a report too many. */
const TOLD_MAX = 8_192;

interface Pending {
  readonly target: PoolTarget;
  readonly blocks: Map<string, BlockCounts>;
}

export class HostReports {
  readonly #runtime: Runtime;
  readonly #confirmations: HostConfirmations;
  readonly #pending = new Map<string, Pending>();
  readonly #told = new Map<string, string>();
  #isWaiting = false;
  #isUrgent = false;

  constructor(runtime: Runtime, confirmations: HostConfirmations) {
    this.#runtime = runtime;
    this.#confirmations = confirmations;
  }

  /**
   * Notes a block's figures for its Pool's directory; `turned`: the block itself says that it turned.
   * Why: another Host may have told the Pool of a turn that this one did not see.
   */
  changed(target: PoolTarget, block: string, counts: BlockCounts, turned = false): void {
    const key = `${target.pool} ${target.incarnation}`;
    const pending = this.#pending.get(key) ?? { target, blocks: new Map<string, BlockCounts>() };
    this.#pending.set(key, pending);
    pending.blocks.set(block, counts);
    const stage = stageOf(counts);
    const isTurn = turned || this.#told.get(block) !== stage;
    if (this.#told.size >= TOLD_MAX) this.#told.clear();
    this.#told.set(block, stage);
    if (isTurn) this.#soon(0);
    else if (!this.#isWaiting) this.#soon(this.#runtime.settings.reportMs);
  }

  /** Losing a report costs a worse guess, never an address: nobody waits for it. */
  #soon(ms: number): void {
    if (ms === 0 && this.#isUrgent) return;
    if (ms === 0) this.#isUrgent = true;
    else this.#isWaiting = true;
    const wait = ms === 0 ? Promise.resolve() : this.#runtime.sleep(ms);
    wait.then(
      () => {
        if (ms === 0) this.#isUrgent = false;
        else this.#isWaiting = false;
        this.#send();
      },
      () => undefined,
    );
  }

  #send(): void {
    for (const { target, blocks } of this.#pending.values()) {
      const reports = [...blocks].map(([block, counts]) => {
        return { block, counts, ...this.#confirmations.owed(block) };
      });
      const port = this.#runtime.ports.pool(target.pool, target.incarnation);
      const told = Promise.resolve(port.report({ ...target, blocks: reports }));
      told.then((answer) => this.#confirmations.heard(reports, answer)).catch(() => undefined);
    }
    this.#pending.clear();
  }
}

/** What a Pool must hear of at once: a block's turn between full and not full, empty and not empty. */
function stageOf(counts: BlockCounts): string {
  const isFull = counts.available === 0;
  const isEmpty = counts.allocated === 0 && counts.cooling === 0;
  return `${isFull ? "full" : "room"} ${isEmpty ? "empty" : "used"} ${isFull ? (counts.nextFreeAt ?? "") : ""}`;
}
