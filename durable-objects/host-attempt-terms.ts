/**
 * What an attempt wants, where it may go, and what it ends with.
 * May import: core, rpc, platform. Rule: a refusal is made here and nowhere else, from the wish alone.
 */
import type { BlockCounts } from "../src/core/allocation.ts";
import type { OwnerSlot } from "../src/core/block-messages.ts";
import { type Family, type Rejection, rejection } from "../src/core/errors.ts";
import { IN_PROGRESS_RETRY_AFTER_SECONDS } from "../src/core/limits.ts";
import type { CompiledPool } from "../src/core/policy.ts";
import type { CallOutcome } from "../src/platform/call.ts";
import type { AllocateItem, AllocateOutcome } from "../src/rpc/block.ts";

/** What stays the same through an attempt. */
export interface AttemptWish {
  readonly host: string;
  readonly handle: string;
  /** Scoped to the host: `<host>/<client's key>`. */
  readonly key: string;
  readonly fingerprint: string;
  readonly family: Family;
  readonly count: number;
  readonly item: Pick<AllocateItem, "use" | "attributes" | "leakCollection">;
  /** Addresses of the family that the handle may hold. */
  readonly limit?: number;
  readonly ownerSlot?: OwnerSlot;
  readonly deadlineAt?: number;
}

/** Which block is asked, and as whose. */
export interface Seat {
  readonly pool: CompiledPool;
  readonly block: string;
  /** The block must be the host's own. */
  readonly isOwn: boolean;
  /** Whose it is where it is another's, as far as known. */
  readonly owner?: string;
  /** An exact assignment. */
  readonly ordinal?: number;
  readonly replayOnly?: boolean;
}

/** A refusal that ends the attempt at once. */
export type AttemptRefusal = Rejection<
  | "host_removing"
  | "handle_limit_reached"
  | "idempotency_key_released"
  | "idempotency_key_reused"
  | "in_progress"
  | "maintenance"
  | "outcome_unknown"
  | "policy_unavailable"
  | "deadline_exceeded"
  | "storage_unavailable"
  | "overloaded"
>;

export type SeatResult =
  /** Addresses were got here; the attempt may still be short. */
  | { readonly kind: "got" }
  | { readonly kind: "full"; readonly counts: BlockCounts }
  | { readonly kind: "lost"; readonly owner?: string }
  | Extract<AllocateOutcome, { kind: "taken" }>
  /** The key was listed elsewhere: these blocks come first. */
  | { readonly kind: "listed"; readonly blocks: readonly string[] }
  /** The policy has changed since the seat was chosen. */
  | { readonly kind: "policy_changed" }
  | { readonly kind: "refused"; readonly refusal: AttemptRefusal };

export type Refused = Extract<SeatResult, { kind: "refused" }>;

export function refused(refusal: AttemptRefusal): Refused {
  return { kind: "refused", refusal };
}

export function policyUnavailable(): Refused {
  return refused(rejection("policy_unavailable", {}, 1));
}

/** What the key gave was released, or moved on to nobody. */
export function spent({ handle }: AttemptWish): Refused {
  return refused(rejection("idempotency_key_released", { handle }));
}

export function removing({ host }: AttemptWish): Refused {
  return refused(rejection("host_removing", { host }));
}

/** An earlier attempt is not settled yet. */
export function inProgress({ host, handle }: AttemptWish): Refused {
  return refused(rejection("in_progress", { host, handle }, IN_PROGRESS_RETRY_AFTER_SECONDS));
}

export function unknownOutcome({ host, handle }: AttemptWish): Refused {
  return refused(rejection("outcome_unknown", { host, handle }, IN_PROGRESS_RETRY_AFTER_SECONDS));
}

export function isOver({ deadlineAt }: AttemptWish, now: number): boolean {
  return deadlineAt !== undefined && now >= deadlineAt;
}

/** The index did not answer, so no block was asked: nothing was allocated. */
export function indexSilent(
  outcome: Exclude<CallOutcome<unknown>, { kind: "answered" }>,
  wish: AttemptWish,
  now: number,
): Refused {
  if (outcome.kind === "failed" && outcome.failure === "storage") {
    return refused(rejection("storage_unavailable", {}, 1));
  }
  return refused(
    isOver(wish, now) ? rejection("deadline_exceeded", {}) : rejection("overloaded", { where: "index" }, 1),
  );
}
