/**
 * Tells the Pools how full this Host's blocks are: in one call per Pool, soon after a change, and at
 * once when a block turned full or not full, empty or not empty. May import: core, rpc, platform.
 * Rule: turns close behind one another go together, so that a burst does not keep its Pool busy.
 */
import type { BlockCounts } from "../src/core/allocation.ts";
import type { PoolTarget } from "../src/rpc/pool.ts";
import type { HostConfirmations } from "./host-confirmations.ts";
import type { Runtime } from "./runtime.ts";

/** Blocks whose last stage is remembered; forgetting one costs a report too many. */
const TOLD_MAX = 8_192;
/** A turn waits for others where two reports went within this time, ms. Why two: a block is claimed, then used. */
const GATHERED_MS = 250;

interface Pending {
  readonly target: PoolTarget;
  readonly blocks: Map<string, BlockCounts>;
}

export class HostReports {
  readonly #runtime: Runtime;
  readonly #confirmations: HostConfirmations;
  readonly #pending = new Map<string, Pending>();
  readonly #told = new Map<string, string>();
  /** Which reports are on their way: those for a route go at once, those for turns sooner than others. */
  readonly #due = { route: false, turn: false, change: false };
  /** When the last report went, and the one before it. */
  #toldAt: readonly [last: number, before: number] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];

  constructor(runtime: Runtime, confirmations: HostConfirmations) {
    this.#runtime = runtime;
    this.#confirmations = confirmations;
  }

  /**
   * Notes a block's figures for its Pool's directory; `turned`: the block itself says that it turned.
   * Why: another Host may have told the Pool of a turn that this one did not see.
   */
  changed(target: PoolTarget, block: string, counts: BlockCounts, turned = false): void {
    const isTurn = this.#note(target, block, counts) || turned;
    if (isTurn) this.#soon("turn", this.#pause());
    else this.#soon("change", this.#runtime.settings.reportMs);
  }

  /** Tells of a block that has just been confirmed: at once, since the Pool makes its route of it. */
  confirmed(target: PoolTarget, block: string, counts: BlockCounts): void {
    this.#note(target, block, counts);
    this.#soon("route", 0);
  }

  #note(target: PoolTarget, block: string, counts: BlockCounts): boolean {
    const key = `${target.pool} ${target.incarnation}`;
    const pending = this.#pending.get(key) ?? { target, blocks: new Map<string, BlockCounts>() };
    this.#pending.set(key, pending);
    pending.blocks.set(block, counts);
    const stage = stageOf(counts);
    const isTurn = this.#told.get(block) !== stage;
    if (this.#told.size >= TOLD_MAX) this.#told.clear();
    this.#told.set(block, stage);
    return isTurn;
  }

  /** How long a turn waits for others; a clock that went back keeps nothing waiting. */
  #pause(): number {
    const since = this.#runtime.now() - this.#toldAt[1];
    return since >= 0 && since < GATHERED_MS ? GATHERED_MS - since : 0;
  }

  /** Losing a report costs a worse guess, never an address: nobody waits for it. */
  #soon(kind: "route" | "turn" | "change", ms: number): void {
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
    this.#toldAt = [this.#runtime.now(), this.#toldAt[0]];
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
