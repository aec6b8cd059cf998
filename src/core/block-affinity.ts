/**
 * Who owns a block: claim, release of the affinity, retirement. Pure.
 * May import: core only. A block moves only to a higher epoch, whoever asks.
 */
import { type BlockDraft, holdsAddress, isEmpty } from "./block.ts";
import { countBlock } from "./block-counts.ts";
import type {
  ClaimAnswer,
  ClaimRequest,
  ReleaseAffinityAnswer,
  ReleaseAffinityRequest,
} from "./block-messages.ts";
import { invariant } from "./invariant.ts";
import type { OrdinalRow } from "./ordinal.ts";

const NOTHING_RESERVED = { reserved: [] } as const;

/** Tells whether a message may still create something, and whether it was ever allowed to. */
export function deadline(draft: BlockDraft, until: number): "open" | "late" {
  invariant(Number.isFinite(until), "a message that creates something must say until when");
  const latest = draft.now + draft.times.untilMs + draft.times.skewMs;
  invariant(until <= latest, `until lies ${until - draft.now} ms ahead; more than 2 s + skew is refused`);
  return draft.now > until ? "late" : "open";
}

/**
 * Decides a claim: accepted iff the epoch is higher than the block's and the owner is the same, or
 * there is none and the block is empty.
 * Invariant: a refused claim on an ownerless block still stores the epoch, so that no older one lands.
 */
export function claim(draft: BlockDraft, request: ClaimRequest): ClaimAnswer {
  if (deadline(draft, request.until) === "late") return { kind: "late" };
  const header = draft.header;
  const epoch = header?.epoch ?? 0;
  const owner = header?.owner;
  if (request.epoch <= epoch) return refused(owner, epoch);
  if (owner !== undefined && owner !== request.owner) return refused(owner, epoch);
  const accepted = owner === request.owner || isEmpty(draft, request.cooldownMs);
  const born = owner === undefined && accepted;
  draft.putHeader({
    block: request.block,
    pool: request.pool,
    poolCidr: request.poolCidr,
    incarnation: Math.max(request.incarnation, header?.incarnation ?? 0),
    epoch: request.epoch,
    ...(accepted ? { owner: request.owner } : {}),
    ...(accepted ? { claimedAt: born ? draft.now : (header?.claimedAt ?? draft.now) } : {}),
    ...reservedEnds(draft, request, born),
  });
  if (!accepted) return refused(undefined, request.epoch);
  return {
    kind: "accepted",
    counts: countBlock(draft, { ...NOTHING_RESERVED, cooldownMs: request.cooldownMs }),
  };
}

function refused(owner: string | undefined, epoch: number): ClaimAnswer {
  return owner === undefined ? { kind: "refused", epoch } : { kind: "refused", owner, epoch };
}

/** Addresses are set aside for the host only at a block's birth. */
function reservedEnds(draft: BlockDraft, request: ClaimRequest, born: boolean) {
  const ends = born ? request.hostReserved : draft.header?.hostReserved;
  return ends === undefined ? {} : { hostReserved: ends };
}

/**
 * Decides the release of an affinity.
 * Invariant: without an owner a higher epoch is stored all the same: a claim under way dies.
 */
export function releaseAffinity(draft: BlockDraft, request: ReleaseAffinityRequest): ReleaseAffinityAnswer {
  const header = draft.header;
  const epoch = header?.epoch ?? 0;
  const owner = header?.owner;
  if (request.epoch < epoch) return withOwner("stale", owner, epoch);
  if (owner !== undefined && owner !== request.owner) return withOwner("not_owner", owner, epoch);
  if (header?.keptEpoch === request.epoch) {
    return { kind: "block_not_empty", ...occupancy(draft, request.cooldownMs) };
  }
  const empty = isEmpty(draft, request.cooldownMs);
  const target = {
    block: request.block,
    pool: request.pool,
    poolCidr: request.poolCidr,
    incarnation: Math.max(request.incarnation, header?.incarnation ?? 0),
    epoch: request.epoch,
  };
  // Whoever is left in the block may still use what was set aside beside it.
  const kept = empty || header?.hostReserved === undefined ? {} : { hostReserved: header.hostReserved };
  if (owner !== undefined && request.mustBeEmpty && !empty) {
    const claimedAt = header?.claimedAt === undefined ? {} : { claimedAt: header.claimedAt };
    draft.putHeader({ ...target, owner, ...claimedAt, ...kept, keptEpoch: request.epoch });
    return { kind: "block_not_empty", ...occupancy(draft, request.cooldownMs) };
  }
  if (owner !== undefined || request.epoch > epoch) draft.putHeader({ ...target, ...kept });
  return { kind: empty ? "closed" : "draining" };
}

function withOwner(
  kind: "stale" | "not_owner",
  owner: string | undefined,
  epoch: number,
): ReleaseAffinityAnswer {
  return owner === undefined ? { kind, epoch } : { kind, owner, epoch };
}

function occupancy(draft: BlockDraft, cooldownMs: number): { allocated: number; cooling: number } {
  const { allocated, freed } = draft.index;
  return { allocated, cooling: freed.length - freed.freeCount(cooldownMs, draft.now) };
}

/**
 * When an ownerless block that holds nothing may retire: cooled, and no late message can ask for its
 * rows any more. Absent while there is nothing to do.
 */
export function retireDueAt(draft: BlockDraft, cooldownMs: number): number | undefined {
  const header = draft.header;
  if (header === undefined || header.owner !== undefined || header.retiredEpoch === header.epoch)
    return undefined;
  if (holdsAddress(draft)) return undefined;
  const inFlightMs = draft.times.untilMs + 2 * draft.times.skewMs;
  const waitMs = Math.max(cooldownMs, inFlightMs);
  let due = draft.now;
  for (const row of draft.rows()) {
    const undoneAt = row.undone?.at(-1)?.at ?? 0;
    due = Math.max(due, (row.ended[0]?.releasedAt ?? 0) + waitMs, undoneAt + inFlightMs);
  }
  return due;
}

/**
 * Retires an ownerless block whose time has come: its old rows go, its counter and epoch stay.
 * Returns the epoch to tell the Pool, or undefined when it is not time or all is told.
 */
export function retire(draft: BlockDraft, cooldownMs: number): number | undefined {
  const due = retireDueAt(draft, cooldownMs);
  const header = draft.header;
  if (header === undefined || due === undefined || due > draft.now) return undefined;
  const { counter: _counter, at: _at, hostReserved: _ends, ...rest } = header;
  // A released key stays spent as long as the index may list it here: only what is older is forgotten.
  const forgottenAt = draft.now - draft.times.spentKeyMs;
  const isOld = ({ ended }: OrdinalRow) => (ended[0]?.releasedAt ?? 0) <= forgottenAt;
  const rows = [...draft.rows()];
  const isOver = rows.every(isOld);
  if (isOver) draft.dropRows();
  draft.putHeader(isOver && rows.length > 0 ? { ...rest, hasForgotten: true } : rest);
  return header.epoch;
}

/** Notes that the Pool has acknowledged the retirement at that epoch. */
export function noteRetired(draft: BlockDraft, epoch: number): void {
  const header = draft.header;
  if (header === undefined || header.owner !== undefined || header.epoch !== epoch) return;
  const { counter: _counter, at: _at, ...rest } = header;
  draft.putHeader({ ...rest, retiredEpoch: epoch });
}
