/**
 * Claims a block just before it is needed: a burst of requests then never waits for a claim, which costs as
 * much as dozens of allocations. May import: core, rpc, platform. Rule: never takes a block from anybody.
 */
import { size } from "../src/core/cidr.ts";
import type { CompiledPool } from "../src/core/policy.ts";
import type { HostAffinities } from "./host-affinities.ts";
import type { ClaimWish } from "./host-claim-steps.ts";
import type { HostContext } from "./host-context.ts";

/** Addresses within reach below which nothing is claimed ahead: a host that fills slowly never has a spare block. */
const EXPECTED_MIN = 4;
/** How fast a burst is noticed, and forgotten again, ms. */
const MEMORY_MS = 250;
/** How long a pool that had no block to give is not asked ahead again, ms. */
const PAUSE_MS = 5_000;

interface Pace {
  /** Addresses taken, each counting less the older it is. */
  recent: number;
  at: number;
  /** Until when nothing is claimed ahead: the last time there was nothing to be had. */
  pausedUntil: number;
}

export class HostAhead {
  readonly #host: HostContext;
  readonly #affinities: HostAffinities;
  readonly #paces = new Map<string, Pace>();

  constructor(host: HostContext, affinities: HostAffinities) {
    this.#host = host;
    this.#affinities = affinities;
  }

  /**
   * Notes addresses that were taken from own blocks of a pool, and claims the next block, or the next few,
   * when those that are left would be gone, at this pace, before a claim is done.
   */
  served(wish: () => ClaimWish | undefined, pool: CompiledPool, taken: number): void {
    const { runtime, memory } = this.#host;
    const { claimAheadMs } = runtime.settings;
    if (claimAheadMs === 0) return;
    const now = runtime.now();
    const pace = this.#pace(pool, taken, now);
    const expected = (pace.recent / MEMORY_MS) * claimAheadMs;
    const room = memory.room(pool.definition, now);
    if (expected < EXPECTED_MIN || room >= expected) return;
    if (now < pace.pausedUntil || this.#affinities.isClaiming(pool)) return;
    const asked = wish();
    if (asked === undefined) return;
    // So many at once that the next claim comes after as long again: what blocks cost together is shared.
    const blocks = Math.ceil((2 * expected - room) / addressesOf(pool));
    void this.#claim({ ...asked, more: blocks - 1 }, pace);
  }

  /** Whatever comes of it, the request that needs a block claims it itself. */
  async #claim(wish: ClaimWish, pace: Pace): Promise<void> {
    const claimed = await this.#affinities.claimAhead(wish).catch(() => undefined);
    if (claimed?.kind !== "claimed") pace.pausedUntil = this.#host.runtime.now() + PAUSE_MS;
  }

  #pace({ definition }: CompiledPool, taken: number, now: number): Pace {
    const name = `${definition.name} ${definition.incarnation}`;
    const pace = this.#paces.get(name) ?? { recent: 0, at: now, pausedUntil: 0 };
    pace.recent = pace.recent * Math.exp((pace.at - now) / MEMORY_MS) + taken;
    pace.at = now;
    this.#paces.set(name, pace);
    return pace;
  }
}

/** How many addresses a block of the pool has. */
function addressesOf({ cidr, definition }: CompiledPool): number {
  return Number(size({ ...cidr, prefix: definition.blockSize }));
}
