/**
 * Changing who owns addresses of one block: of one address under conditions, or of all that keys hold.
 * May import: core only. All conditions are judged before any change; a change gives a new touch.
 */
import { parseAddress } from "./address.ts";
import type { Attributes } from "./allocation.ts";
import { type BlockDraft, ordinalState, recordOf } from "./block.ts";
import { deadline } from "./block-affinity.ts";
import { isFinal, traceKey } from "./block-allocate.ts";
import type {
  ChangeOwnerAnswer,
  ChangeOwnerRequest,
  OwnerOutcome,
  UpdateOwnersAnswer,
  UpdateOwnersRequest,
} from "./block-messages.ts";
import { end } from "./block-release.ts";
import { containsAddress, ordinalOf } from "./cidr.ts";
import { invariant } from "./invariant.ts";
import { freeAt, type OrdinalRow, type Tenure } from "./ordinal.ts";
import { isClearedBy, isNobody, isOwner, isSeenBy, type Owners, ownersOf } from "./owners.ts";

/**
 * Replaces or clears owners of one address.
 * Invariant: conditions on owners that are not touched are not judged; a refusal changes nothing.
 * Source: behaviour of owner attributes, docs/architecture.md 3.11.
 */
export function updateOwners(draft: BlockDraft, request: UpdateOwnersRequest): UpdateOwnersAnswer {
  const { onlyHost, expect, set } = request;
  const address = parseAddress(request.address);
  const isHere = address.ok && containsAddress(draft.cidr, address.value);
  invariant(isHere, `${request.address} is no address of this block`);
  const ordinal = ordinalOf(draft.cidr, address.value);
  const row = draft.row(ordinal);
  const tenure = row?.current;
  if (row === undefined || tenure === undefined) return notAllocated(draft, ordinal, request.cooldownMs);
  if (deadline(draft, request.until) === "late") return { kind: "late" };
  if (onlyHost !== undefined && !isSeenBy(onlyHost, tenure)) return { kind: "out_of_reach" };
  if (tenure.handle !== request.handle) {
    return { kind: "handle_mismatch", sequenceNumber: tenure.sequenceNumber };
  }
  const before = ownersOf(tenure);
  const slots = (["active", "alternate"] as const).filter((slot) => set[slot] !== undefined);
  for (const slot of slots) {
    const expected = expect[slot];
    if (expected !== undefined && !isOwner(before[slot], expected)) return { kind: "owner_mismatch" };
  }
  const isAllowed = slots.every((slot) => onlyHost === undefined || isClearedBy(onlyHost, before[slot]));
  if (!isAllowed) return { kind: "out_of_reach" };
  const after = {
    active: stamped(set.active, tenure.host) ?? before.active,
    alternate: stamped(set.alternate, tenure.host) ?? before.alternate,
  };
  const changed = withOwners(draft, row, after);
  const record = recordOf(draft, changed, request.cooldownMs);
  invariant(record !== undefined, "an allocated address has a record");
  return { kind: "updated", record };
}

function notAllocated(draft: BlockDraft, ordinal: number, cooldownMs: number): UpdateOwnersAnswer {
  const state = ordinalState(draft, ordinal, cooldownMs);
  invariant(state !== "allocated", "an address without tenure is not allocated");
  if (state !== "cooling") return { kind: "not_allocated", state };
  return { kind: "not_allocated", state, freeAt: freeAt(draft.row(ordinal), cooldownMs) };
}

/** An owner runs somewhere: where nobody says so, on the address's host. An empty map is no owner. */
function stamped(owner: Attributes | undefined, host: string): Attributes | undefined {
  if (owner === undefined || Object.keys(owner).length === 0) return owner;
  return { ...owner, node: owner.node ?? host };
}

/** Writes owners into a row; the same owners write nothing. */
function withOwners(draft: BlockDraft, row: OrdinalRow, after: Owners): OrdinalRow {
  const tenure = row.current;
  if (tenure === undefined) return row;
  const before = ownersOf(tenure);
  if (sameMap(before.active, after.active) && sameMap(before.alternate, after.alternate)) return row;
  const { alternateAttributes: _before, ...rest } = tenure;
  const alternate = Object.keys(after.alternate).length === 0 ? {} : { alternateAttributes: after.alternate };
  const current: Tenure = { ...rest, attributes: after.active, ...alternate };
  const changed = { ...row, current, number: draft.nextNumber(), at: draft.now };
  draft.put(changed);
  return changed;
}

function sameMap(one: Attributes, other: Attributes): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}

/** What a change makes of the owners of one address. */
type Verdict =
  | { readonly kind: "becomes"; readonly owners: Owners }
  | { readonly kind: "alternate_owner_empty" | "alternate_owner_mismatch" | "out_of_reach" };

/**
 * Promotes or clears an owner on every address that the named keys hold here; repeating completes it.
 * Invariant: one address that refuses leaves all others of the block as they are.
 * Why: keys are named, so that a late message cannot meet a later allocation of the same handle.
 */
export function changeOwner(draft: BlockDraft, request: ChangeOwnerRequest): ChangeOwnerAnswer {
  if (deadline(draft, request.until) === "late") return { kind: "late" };
  const { handle, onlyHost, keys, isTrial } = request;
  const held = keys.flatMap(({ key }) => traceKey(draft, handle, key).held);
  const seen = held.filter((row) => onlyHost === undefined || isSeen(row, onlyHost));
  const verdicts = seen.map((row) => verdictOn(row, request));
  for (const verdict of verdicts) if (verdict.kind !== "becomes") return verdict;
  const outcomes = isTrial ? [] : seen.map((row, index) => apply(draft, row, verdicts[index], request));
  const left = keys.map(({ key, finalAfter }) => {
    const trace = traceKey(draft, handle, key);
    if (trace.held.length > 0) return { key, state: "held" } as const;
    if (trace.wasReleased) return { key, state: "released" } as const;
    return { key, state: isFinal(draft, finalAfter) ? "absent" : "not_final" } as const;
  });
  return { kind: "changed", outcomes, seen: seen.length, keys: left };
}

function isSeen({ current }: OrdinalRow, host: string): boolean {
  return current !== undefined && isSeenBy(host, current);
}

function verdictOn({ current }: OrdinalRow, { change, owner, onlyHost }: ChangeOwnerRequest): Verdict {
  invariant(current !== undefined, "only held addresses are judged");
  const owners = ownersOf(current);
  const { active, alternate } = owners;
  const isMine = (map: Attributes): boolean => onlyHost === undefined || map.node === onlyHost;
  if (change === "promote") {
    if (isOwner(active, owner)) return { kind: "becomes", owners };
    if (isNobody(alternate)) return { kind: "alternate_owner_empty" };
    if (!isOwner(alternate, owner)) return { kind: "alternate_owner_mismatch" };
    if (!isMine(alternate)) return { kind: "out_of_reach" };
    return { kind: "becomes", owners: { active: alternate, alternate: isNobody(active) ? {} : active } };
  }
  const cleared = [active, alternate].filter((map) => isOwner(map, owner));
  if (!cleared.every(isMine)) return { kind: "out_of_reach" };
  const without = (map: Attributes): Attributes => (isOwner(map, owner) ? {} : map);
  return { kind: "becomes", owners: { active: without(active), alternate: without(alternate) } };
}

function apply(
  draft: BlockDraft,
  row: OrdinalRow,
  verdict: Verdict | undefined,
  { releaseWhenUnowned, cooldownMs, onlyHost }: ChangeOwnerRequest,
): OwnerOutcome {
  invariant(verdict?.kind === "becomes" && row.current !== undefined, "a refusal was answered before");
  const { active, alternate } = verdict.owners;
  const isUnowned = isNobody(active) && isNobody(alternate);
  const wasOwned = !Object.values(ownersOf(row.current)).every(isNobody);
  // An address that had no owner before is released for its own host only: nobody else gave it up.
  const mayRelease = wasOwned || onlyHost === undefined || row.current.host === onlyHost;
  if (releaseWhenUnowned && isUnowned && mayRelease) {
    return { outcome: "released", record: mustRecord(draft, end(draft, row), cooldownMs) };
  }
  const changed = withOwners(draft, row, verdict.owners);
  const outcome = changed === row ? "unchanged" : "changed";
  return { outcome, record: mustRecord(draft, changed, cooldownMs) };
}

function mustRecord(draft: BlockDraft, row: OrdinalRow, cooldownMs: number) {
  const record = recordOf(draft, row, cooldownMs);
  invariant(record !== undefined, "an address that was held has a record");
  return record;
}
