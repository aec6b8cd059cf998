/**
 * Tells the Pools which rows of this Host are confirmed, until each Pool has heard it: routes come of it.
 * May import: core, rpc, platform, storage. Rule: what is not acknowledged is owed, after a wake too.
 */
import { callIdempotent } from "../src/platform/call.ts";
import type { BlockReport, PoolTarget } from "../src/rpc/pool.ts";
import { cidrOf } from "./host-context.ts";
import type { HostMemory } from "./host-memory.ts";
import type { Runtime } from "./runtime.ts";
import type { Affinity } from "./storage/host-rows.ts";

/** How long the alarm waits before it tells what was not acknowledged, ms. */
const REPEAT_MS = 5_000;
/** Blocks of one message. */
const BLOCKS_PER_CALL = 512;

type Word = NonNullable<BlockReport["confirmed"]>;

/** Which pool a row's block belongs to. */
export function targetOf(row: Affinity): PoolTarget {
  const { pool, incarnation, poolCidr: cidr, block } = row;
  return { pool, incarnation, cidr, blockSize: cidrOf(block).prefix };
}

export class HostConfirmations {
  readonly #runtime: Runtime;
  readonly #memory: HostMemory;
  readonly #setAlarm: (at: number) => void;
  /** Epochs that the Pools have heard, by block. */
  readonly #heard = new Map<string, number>();
  #alarmAt: number | undefined;

  constructor(runtime: Runtime, memory: HostMemory, setAlarm: (at: number) => void) {
    this.#runtime = runtime;
    this.#memory = memory;
    this.#setAlarm = setAlarm;
  }

  /** Arms the repetition; called in the transaction that confirms a row, so that neither is lost alone. */
  arm(): void {
    const now = this.#runtime.now();
    if (this.#alarmAt !== undefined && this.#alarmAt > now) return;
    this.#alarmAt = now + REPEAT_MS;
    this.#setAlarm(this.#alarmAt);
  }

  /** What the Pool of a block has not heard of it; goes along with any report of the block. */
  owed(block: string): { readonly confirmed?: Word } {
    const row = this.#memory.affinities.get(block);
    const isOwed = row?.state === "confirmed" && this.#heard.get(block) !== row.epoch;
    return isOwed ? { confirmed: { epoch: row.epoch } } : {};
  }

  /** Notes what a Pool's answer acknowledges. */
  heard(reports: readonly BlockReport[], answer: { readonly confirmed?: number }): void {
    if (answer.confirmed === undefined) return;
    for (const { block, confirmed } of reports) {
      if (confirmed !== undefined) this.#heard.set(block, confirmed.epoch);
    }
    // Only when there are more than rows: an answer must not cost more with every block.
    if (this.#heard.size <= this.#memory.affinities.size) return;
    for (const block of this.#heard.keys())
      if (!this.#memory.affinities.has(block)) this.#heard.delete(block);
  }

  /** The alarm: tells all that is owed, and is armed again where a Pool did not answer. */
  async tellAll(): Promise<void> {
    this.#alarmAt = undefined;
    const owed = new Map<string, { target: PoolTarget; blocks: BlockReport[] }>();
    for (const row of this.#memory.affinities.values()) {
      const word = this.owed(row.block);
      if (word.confirmed === undefined) continue;
      const key = `${row.pool} ${row.incarnation}`;
      const ofPool = owed.get(key) ?? { target: targetOf(row), blocks: [] };
      owed.set(key, ofPool);
      ofPool.blocks.push({ block: row.block, ...word });
    }
    for (const { target, blocks } of owed.values()) {
      for (let begin = 0; begin < blocks.length; begin += BLOCKS_PER_CALL) {
        const isHeard = await this.#tell(target, blocks.slice(begin, begin + BLOCKS_PER_CALL));
        if (!isHeard) this.arm();
      }
    }
  }

  async #tell(target: PoolTarget, blocks: readonly BlockReport[]): Promise<boolean> {
    const { ports, settings } = this.#runtime;
    const port = () => ports.pool(target.pool, target.incarnation);
    const answer = await callIdempotent(() => port().report({ ...target, blocks }), {
      timeoutMs: settings.untilMs + settings.skewMs,
      sleep: (ms, signal) => this.#runtime.sleep(ms, signal),
    });
    if (answer.kind !== "answered") return false;
    this.heard(blocks, answer.value);
    return answer.value.confirmed !== undefined;
  }
}
