/**
 * Tells the Pools how full this Host's blocks are: in one call per Pool, soon after a change, and at
 * once when a block turned full or not full, empty or not empty. May import: core, rpc, platform.
 * Rule: what others gain by goes at once; in a burst the rest goes together.
 */
import type { BlockCounts } from "../src/core/allocation.ts";
import type { PoolTarget } from "../src/rpc/pool.ts";
import type { HostConfirmations } from "./host-confirmations.ts";
import type { Runtime } from "./runtime.ts";

/** Blocks whose last stage is remembered; forgetting one costs a report too many. */
const TOLD_MAX = 8_192;
/**
 * A block that got used, or full, waits for others where so many reports went in that time, ms.
 * Why: a burst of claims would keep its Pool busy; who believes meanwhile that there is room has one try too many.
 */
const AT_ONCE_MAX = 4;
const AT_ONCE_MS = 500;

interface Pending {
  readonly target: PoolTarget;
  readonly blocks: Map<string, BlockCounts>;
}

export class HostReports {
  readonly #runtime: Runtime;
  readonly #confirmations: HostConfirmations;
  readonly #pending = new Map<string, Pending>();
  readonly #told = new Map<string, string>();
  /** Which reports are on their way: gains and routes go at once, losses sooner than other changes. */
  readonly #due = { gain: false, loss: false, change: false };
  /** When the last reports went, the latest at the end. */
  readonly #toldAt: number[] = [];

  constructor(runtime: Runtime, confirmations: HostConfirmations) {
    this.#runtime = runtime;
    this.#confirmations = confirmations;
  }

  /**
   * Notes a block's figures for its Pool's directory; `turned`: the block itself says that it turned.
   * Why: another Host may have told the Pool of a turn that this one did not see.
   */
  changed(target: PoolTarget, block: string, counts: BlockCounts, turned = false): void {
    const before = this.#note(target, block, counts);
    const after = stageOf(counts);
    if (!turned && before === after) this.#soon("change", this.#runtime.settings.reportMs);
    else if (!turned && isLoss(before, after)) this.#soon("loss", this.#pause());
    else this.#soon("gain", 0);
  }

  /** Tells of a block that has just been confirmed: at once, since the Pool makes its route of it. */
  confirmed(target: PoolTarget, block: string, counts: BlockCounts): void {
    this.#note(target, block, counts);
    this.#soon("gain", 0);
  }

  /** Returns the stage that was told last. */
  #note(target: PoolTarget, block: string, counts: BlockCounts): string | undefined {
    const key = `${target.pool} ${target.incarnation}`;
    const pending = this.#pending.get(key) ?? { target, blocks: new Map<string, BlockCounts>() };
    this.#pending.set(key, pending);
    pending.blocks.set(block, counts);
    const before = this.#told.get(block);
    if (this.#told.size >= TOLD_MAX) this.#told.clear();
    this.#told.set(block, stageOf(counts));
    return before;
  }

  /** How long a loss waits for others; a clock that went back keeps nothing waiting. */
  #pause(): number {
    const since = this.#runtime.now() - (this.#toldAt.at(-AT_ONCE_MAX) ?? Number.NEGATIVE_INFINITY);
    return since >= 0 && since < AT_ONCE_MS ? AT_ONCE_MS - since : 0;
  }

  /** Losing a report costs a worse guess, never an address: nobody waits for it. */
  #soon(kind: "gain" | "loss" | "change", ms: number): void {
    if (this.#due[kind]) return;
    this.#due[kind] = true;
    const wait = ms === 0 ? Promise.resolve() : this.#runtime.sleep(ms);
    wait.then(
      () => {
        this.#due[kind] = false;
        this.#send();
      },
      () => undefined,
    );
  }

  #send(): void {
    if (this.#pending.size === 0) return;
    this.#toldAt.push(this.#runtime.now());
    if (this.#toldAt.length > AT_ONCE_MAX) this.#toldAt.shift();
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

/** A block that nobody else gains by any more: it got full, or is not empty. */
function isLoss(before: string | undefined, after: string): boolean {
  return after.startsWith("full") || before?.startsWith("room empty") === true;
}

/** What a Pool must hear of at once: a block's turn between full and not full, empty and not empty. */
function stageOf(counts: BlockCounts): string {
  const isFull = counts.available === 0;
  const isEmpty = counts.allocated === 0 && counts.cooling === 0;
  return `${isFull ? "full" : "room"} ${isEmpty ? "empty" : "used"} ${isFull ? (counts.nextFreeAt ?? "") : ""}`;
}
