/**
 * The lanes of a Host: one per index shard and one per block. May import: core, rpc, platform.
 * Rule: a slow block delays only its own lane; a lane holds no state that must outlive it.
 */
import { shardOf } from "../src/core/ids.ts";
import { callIdempotent, callOnce, type EndSignal } from "../src/platform/call.ts";
import type { AllocateItem, AllocateOutcome, BlockTarget } from "../src/rpc/block.ts";
import type { ReserveItem, ReserveOutcome } from "../src/rpc/handle-index.ts";
import { Lane, type LaneLimits } from "./lane.ts";
import type { Runtime } from "./runtime.ts";

/** Why an element did not leave: the policy it was chosen under is not the leased one, or its host is gone. */
export type Skip = "policy_changed" | "policy_unavailable" | "host_removing";

/** Elements of one message; attributes of each may take 32 KiB, a message 32 MiB. */
const BATCH_MAX = 128;
/** Lanes kept for blocks that are not asked any more; the idle ones go first. */
const LANES_MAX = 256;

/** An element that may have landed before: a "no" is final only when the first copy cannot any more. */
function repeated(item: AllocateItem): AllocateItem {
  return { ...item, finalAfter: Math.max(item.finalAfter ?? 0, item.until) };
}

export class HostLanes {
  readonly #runtime: Runtime;
  readonly #limits: Pick<LaneLimits<unknown>, "inFlightMax" | "batchMax">;
  readonly #index = new Map<number, Lane<ReserveItem, ReserveOutcome>>();
  readonly #blocks = new Map<string, Lane<AllocateItem, AllocateOutcome, Skip>>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#limits = { inFlightMax: runtime.settings.laneBatches, batchMax: BATCH_MAX };
  }

  /** The lane to the shard that arbitrates a handle. */
  index(handle: string): Lane<ReserveItem, ReserveOutcome> {
    const shard = shardOf(handle, this.#runtime.settings.indexShards);
    const known = this.#index.get(shard);
    if (known !== undefined) return known;
    const port = () => this.#runtime.ports.handleIndex(handle);
    const lane = new Lane<ReserveItem, ReserveOutcome>(async (items) => {
      const answer = await callIdempotent(() => port().reserve({ items }), this.#limit());
      return answer.kind === "answered" ? { kind: "answered", value: answer.value.outcomes } : answer;
    }, this.#limits);
    this.#index.set(shard, lane);
    return lane;
  }

  /** The lane to a block. */
  block(target: BlockTarget): Lane<AllocateItem, AllocateOutcome, Skip> {
    const known = this.#blocks.get(target.block);
    if (known !== undefined) return known;
    this.#forgetIdle();
    const port = () => this.#runtime.ports.block(target.block);
    const lane = new Lane<AllocateItem, AllocateOutcome, Skip>(
      async (items) => {
        // Sent once: a repeat must say that the first copy may still land, and its sender knows that.
        const answer = await callOnce(() => port().allocate({ ...target, items }), this.#limit());
        return answer.kind === "answered" ? { kind: "answered", value: answer.value.outcomes } : answer;
      },
      { ...this.#limits, repeated },
    );
    this.#blocks.set(target.block, lane);
    return lane;
  }

  /** Nobody waits longer than any message of the batch may still create something. */
  #limit() {
    const { settings } = this.#runtime;
    return {
      timeoutMs: settings.untilMs + settings.skewMs,
      sleep: (ms: number, signal: EndSignal) => this.#runtime.sleep(ms, signal),
    };
  }

  #forgetIdle(): void {
    if (this.#blocks.size < LANES_MAX) return;
    for (const [block, lane] of this.#blocks) if (lane.isIdle) this.#blocks.delete(block);
  }
}
