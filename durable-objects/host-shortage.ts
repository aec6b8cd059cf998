/**
 * How a search that found too little is told: the code, what was met on the way, when there is more.
 * May import: core, rpc. Rule: says only what the search has found out.
 */
import type { Considered, Shortfall } from "../src/core/errors.ts";
import { CONSIDERED_REFUSAL_MAX } from "../src/core/limits.ts";
import { boundConsidered, earliest, type SearchEnd, shortageCode, toldPools } from "../src/core/placement.ts";
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import type { HostAllocateRequest } from "../src/rpc/host.ts";
import type { HostAttempt } from "./host-attempt.ts";
import type { OthersResult } from "./host-borrowing.ts";
import type { HostContext } from "./host-context.ts";
import type { HostSeats } from "./host-seats.ts";

/** Definitely not enough; what was created can be undone. */
export interface Short {
  readonly kind: "short";
  readonly shortfall: Shortfall;
  readonly pool?: string;
  readonly end?: SearchEnd & { owned: number; cap: number };
}

/** Where a search that ended without enough has been. */
interface Searched {
  readonly policy: CompiledPolicy;
  readonly pools: readonly CompiledPool[];
  /** All pools of the family, the chosen ones as used. */
  readonly considered: readonly Considered[];
  /** Blocks that were met. */
  readonly blocks: readonly Considered[];
  readonly others: OthersResult;
  readonly capReached: boolean;
  /** Whether an address of another host that becomes free would serve. */
  readonly mayBorrow: boolean;
}

export class HostShortage {
  readonly #host: HostContext;
  readonly #attempt: HostAttempt;
  readonly #seats: HostSeats;
  readonly #request: HostAllocateRequest;

  constructor(host: HostContext, attempt: HostAttempt, seats: HostSeats, request: HostAllocateRequest) {
    this.#host = host;
    this.#attempt = attempt;
    this.#seats = seats;
    this.#request = request;
  }

  /** Short of addresses in pools that might have served. */
  searched({ policy, pools, considered, blocks, others, capReached, mayBorrow }: Searched): Short {
    const nextFreeAt = earliest([this.#seats.nextFreeAt(pools), mayBorrow ? others.nextFreeAt : undefined]);
    const end: SearchEnd = {
      capReached,
      autoAllocateOff: !policy.config.autoAllocateBlocks,
      strict: policy.config.strictAffinity,
      othersHaveRoom: others.haveRoom,
      ...(nextFreeAt === undefined ? {} : { nextFreeAt }),
    };
    const cap = policy.cap(this.#request.maxBlocksPerHost);
    const ended = { ...end, owned: this.#seats.rows(), cap };
    const told = toldPools(considered, this.#request.host, ended, others.roomElsewhere);
    return { ...this.#short(shortageCode(end), [...told, ...blocks, ...others.considered], end), end: ended };
  }

  /** No pool might have served; `pool`: the first entry of the request's list that is not to be had. */
  withoutPool(code: Shortfall["code"], considered: readonly Considered[], pool?: string): Short {
    const short = this.#short(code, considered);
    return pool === undefined ? short : { ...short, pool };
  }

  #short(code: Shortfall["code"], all: readonly Considered[], end?: SearchEnd): Short {
    const { considered, omitted } = boundConsidered(all, CONSIDERED_REFUSAL_MAX);
    const { count, family } = this.#attempt.wish;
    const wait = end?.nextFreeAt === undefined ? undefined : end.nextFreeAt - this.#host.runtime.now();
    const shortfall: Shortfall = {
      family,
      requested: count,
      allocated: this.#attempt.got.length,
      code,
      ...(wait === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(wait / 1000)) }),
      considered,
      consideredOmitted: omitted,
    };
    return { kind: "short", shortfall };
  }
}
