/**
 * Handing out addresses of one block: automatic, exact, replayed; and undo. Pure.
 * May import: core only. The block knows no policy but what the message says.
 */
import type { AddressRecord, BlockCounts, OrdinalRanges } from "./allocation.ts";
import {
  addressText,
  type BlockDraft,
  holdsAddress,
  isHostReserved,
  openOrdinals,
  ordinalState,
  recordOf,
} from "./block.ts";
import { deadline } from "./block-affinity.ts";
import { countBlock } from "./block-counts.ts";
import type {
  AllocateItem,
  AllocateOutcome,
  BlockPolicy,
  ReuseAnswer,
  ReuseRequest,
  UndoItem,
} from "./block-messages.ts";
import { invariant } from "./invariant.ts";
import { freeAt, inRanges, type OrdinalRow, pastOf, recentlyUndone, type Tenure } from "./ordinal.ts";

/** What a block remembers of a key. */
interface KeyTrace {
  readonly held: readonly OrdinalRow[];
  /** An address of the key was released here. */
  readonly wasReleased: boolean;
}

/** Looks up what a key holds or held. */
export function traceKey({ index }: BlockDraft, handle: string, key: string): KeyTrace {
  const held: OrdinalRow[] = [];
  for (const ordinal of index.held(handle, key)) {
    const row = index.row(ordinal);
    if (row !== undefined) held.push(row);
  }
  if (held.length > 1) held.sort(bySequence);
  return { held, wasReleased: index.hasEnded(handle, key) };
}

function bySequence({ current: one }: OrdinalRow, { current: other }: OrdinalRow): number {
  return (one?.sequenceNumber ?? 0) - (other?.sequenceNumber ?? 0);
}

/** Tells whether a "no" is final: every earlier attempt's time has passed. */
export function isFinal(draft: BlockDraft, finalAfter: number | undefined): boolean {
  return finalAfter === undefined || draft.now > finalAfter + draft.times.skewMs;
}

/** An outcome before the block is counted. */
export type Uncounted = AllocateOutcome extends infer O
  ? O extends { counts: unknown }
    ? Omit<O, "counts">
    : O
  : never;

/**
 * Decides one element by itself.
 * Invariant: I1, I7 (automatic), I8, I12, I13.
 */
export function allocate(draft: BlockDraft, item: AllocateItem): AllocateOutcome {
  const [outcome] = allocateAll(draft, [item], (decide) => decide());
  invariant(outcome !== undefined, "an element has an outcome");
  return outcome;
}

/**
 * Decides the elements of a batch, one after the other, and counts the block once, after the last.
 * `guard` runs each decision; what it makes of a defect is that element's outcome alone.
 */
export function allocateAll(
  draft: BlockDraft,
  items: readonly AllocateItem[],
  guard: (decide: () => Uncounted) => Uncounted,
): AllocateOutcome[] {
  const decided = items.map((item) => guard(() => decideOne(draft, item)));
  let last: { readonly policy: BlockPolicy; readonly counts: BlockCounts } | undefined;
  return decided.map((outcome, index): AllocateOutcome => {
    const policy = items[index]?.policy;
    if (policy === undefined || !hasCounts(outcome)) return outcome as AllocateOutcome;
    if (last?.policy !== policy) last = { policy, counts: countBlock(draft, policy) };
    return { ...outcome, counts: last.counts } as AllocateOutcome;
  });
}

function hasCounts({ kind }: Uncounted): boolean {
  return kind !== "late" && kind !== "affinity_lost" && kind !== "failed";
}

/**
 * Same key: what it holds, with a new touch. Else free addresses, the one free for longest first,
 * reserved ones left in their place.
 */
function decideOne(draft: BlockDraft, item: AllocateItem): Uncounted {
  invariant(Number.isInteger(item.count) && item.count >= 1, "a count is at least 1");
  const trace = traceKey(draft, item.handle, item.key);
  if (trace.held.length > 0) return repeated(draft, item, trace.held) ?? found(draft, item, trace.held);
  if (trace.wasReleased) return { kind: "spent" };
  const time = deadline(draft, item.until);
  if (time === "late" || wasUndone(draft, item)) return { kind: "late" };
  const final = isFinal(draft, item.finalAfter);
  if (item.replayOnly === true) return { kind: "full", final };
  if (!accepts(draft, item)) {
    return draft.owner === undefined
      ? { kind: "affinity_lost", final }
      : { kind: "affinity_lost", owner: draft.owner, final };
  }
  if (item.ordinal !== undefined) return assign(draft, item, item.ordinal, final);
  const chosen = chooseFree(draft, item.policy, item.count);
  if (chosen.length === 0) return { kind: "full", final };
  return created(draft, item, chosen);
}

/** A copy of a message whose effect was undone: its request was refused, so it creates nothing (I15). */
function wasUndone(draft: BlockDraft, { handle, key, attempt }: AllocateItem): boolean {
  if (attempt === undefined) return false;
  return draft.index.undone({ handle, key, attempt }).some((ordinal) => {
    const recent = recentlyUndone(draft.row(ordinal), draft.now, inFlightMs(draft));
    return recent.some((one) => one.handle === handle && one.key === key && one.attempt === attempt);
  });
}

/** How long a message may be under way, by clocks that differ. */
function inFlightMs({ times }: BlockDraft): number {
  return times.untilMs + 2 * times.skewMs;
}

/** Only a block that has an owner or holds an address gives any; strict affinity: only to its owner. */
function accepts(draft: BlockDraft, item: AllocateItem): boolean {
  const owner = draft.owner;
  if (item.owner !== undefined && owner !== item.owner) return false;
  if (item.strict && owner !== item.host) return false;
  return owner !== undefined || holdsAddress(draft);
}

/**
 * Hands out again what the keys hold, oldest first, with a new touch; all that is asked or nothing.
 * Why: under a limit per handle the addresses that are there are the answer.
 */
export function reuse(draft: BlockDraft, request: ReuseRequest): ReuseAnswer {
  if (deadline(draft, request.until) === "late") return { kind: "late" };
  const held = request.keys.flatMap((key) => traceKey(draft, request.handle, key).held);
  if (held.length < request.take) return { kind: "fewer", held: held.length };
  held.sort((one, other) => (one.current?.sequenceNumber ?? 0) - (other.current?.sequenceNumber ?? 0));
  const records = held.slice(0, request.take).map((row) => {
    const { current } = row;
    const owned = current === undefined ? {} : { current: usedOn(withOwner(current, request), request.host) };
    const touched = { ...row, ...owned, number: draft.nextNumber(), at: draft.now };
    draft.put(touched);
    return mustRecord(draft, touched, request.cooldownMs);
  });
  return { kind: "reused", records };
}

/** Notes that an address is also used on another host, of which its own host cannot tell. */
function usedOn(tenure: Tenure, host: string | undefined): Tenure {
  return host === undefined || host === tenure.host ? tenure : { ...tenure, usedOn: host };
}

function withOwner(tenure: Tenure, { ownerSlot, attributes }: ReuseRequest): Tenure {
  if (ownerSlot === undefined) return tenure;
  if (ownerSlot === "alternate") return { ...tenure, alternateAttributes: attributes };
  const isOwn = [tenure.host, tenure.attributes.node].includes(attributes.node ?? "");
  return ownerSlot === "active" || isOwn ? { ...tenure, attributes } : tenure;
}

/**
 * The answer of the first copy, when this very attempt created all of it and nobody was told since.
 * Why: what an attempt created it must be able to undo, also where the first answer was lost (I15).
 */
function repeated(draft: BlockDraft, item: AllocateItem, held: readonly OrdinalRow[]): Uncounted | undefined {
  const isUntouched = held.every(({ current, number }) => {
    return current?.attempt === item.attempt && current?.sequenceNumber === number;
  });
  const isWhole = held.length === held[0]?.current?.granted;
  if (item.attempt === undefined || !isUntouched || !isWhole) return undefined;
  const records = held.map((row) => mustRecord(draft, row, item.policy.cooldownMs));
  return { kind: "created", records };
}

function found(draft: BlockDraft, item: AllocateItem, held: readonly OrdinalRow[]): Uncounted {
  const records = held.map((row) => {
    const touched = { ...row, number: draft.nextNumber(), at: draft.now };
    draft.put(touched);
    return mustRecord(draft, touched, item.policy.cooldownMs);
  });
  const granted = held[0]?.current?.granted ?? held.length;
  return { kind: "found", records, granted };
}

/** Chooses free, unreserved ordinals: never used ones ascending, then by when they were freed (I12). */
export function chooseFree(
  draft: BlockDraft,
  { reserved, cooldownMs }: BlockPolicy,
  count: number,
): number[] {
  const { header, capacity, index, now } = draft;
  const [first, end] = openOrdinals(header, capacity);
  const chosen: number[] = [];
  let ordinal = index.nextUnused(first);
  while (ordinal < end && chosen.length < count) {
    const skipped = endOfRange(reserved, ordinal);
    if (skipped === undefined) chosen.push(ordinal);
    ordinal = index.nextUnused((skipped ?? ordinal) + 1);
  }
  // Times of release only rise along the queue: behind one that cools, all cool.
  for (let place = 0; chosen.length < count; place += 1) {
    const row = index.freed.at(place);
    if (row === undefined || freeAt(row, cooldownMs) > now) break;
    const isSetAside = isHostReserved(header, capacity, row.ordinal);
    if (!isSetAside && !inRanges(reserved, row.ordinal)) chosen.push(row.ordinal);
  }
  return chosen;
}

/** The last ordinal of the range that an ordinal lies in, if it lies in one. */
function endOfRange(ranges: OrdinalRanges, ordinal: number): number | undefined {
  return ranges.find(([first, last]) => first <= ordinal && ordinal <= last)?.[1];
}

function assign(draft: BlockDraft, item: AllocateItem, ordinal: number, final: boolean): Uncounted {
  invariant(ordinal >= 0 && ordinal < draft.capacity, "the ordinal lies outside the block");
  const { cooldownMs } = item.policy;
  const state = ordinalState(draft, ordinal, cooldownMs);
  if (state === "free") return created(draft, item, [ordinal]);
  const row = touchedIfOwn(draft, item, ordinal);
  const record = row === undefined ? undefined : recordOf(draft, row, cooldownMs);
  return {
    kind: "taken",
    state,
    ...(record === undefined ? {} : { record }),
    ...(state === "cooling" ? { freeAt: freeAt(row, cooldownMs) } : {}),
    final,
  };
}

/** An address that the handle holds already is handed out again: an undo under way must not meet it. */
function touchedIfOwn(draft: BlockDraft, item: AllocateItem, ordinal: number): OrdinalRow | undefined {
  const row = draft.row(ordinal);
  if (row?.current?.handle !== item.handle) return row;
  const current = usedOn(row.current, item.host);
  const touched = { ...row, current, number: draft.nextNumber(), at: draft.now };
  draft.put(touched);
  return touched;
}

function created(draft: BlockDraft, item: AllocateItem, ordinals: readonly number[]): Uncounted {
  const age = { inFlightMs: inFlightMs(draft), spentKeyMs: draft.times.spentKeyMs };
  const records = ordinals.map((ordinal) => {
    const before = draft.row(ordinal);
    const number = draft.nextNumber();
    const row: OrdinalRow = {
      ordinal,
      number,
      at: draft.now,
      current: {
        handle: item.handle,
        key: item.key,
        ...(item.attempt === undefined ? {} : { attempt: item.attempt }),
        granted: ordinals.length,
        host: item.host,
        use: item.use,
        attributes: item.attributes,
        leakCollection: item.leakCollection,
        sequenceNumber: number,
        allocatedAt: draft.now,
      },
      ...pastOf(before?.ended ?? [], before, draft.now, age),
    };
    draft.put(row);
    return mustRecord(draft, row, item.policy.cooldownMs);
  });
  return { kind: "created", records };
}

/**
 * Puts addresses back as they were before an attempt was told that it created them: old place in the
 * queue, no cooldown. Whatever was handed out again or released meanwhile stays.
 * Invariant: I12; names key and touch, so it never meets another attempt's allocation.
 */
export function undo(draft: BlockDraft, item: UndoItem): string[] {
  const undone: string[] = [];
  const touches = new Map(item.addresses.map(({ address, touch }) => [address, touch]));
  for (const row of traceKey(draft, item.handle, item.key).held) {
    const address = addressText(draft, row.ordinal);
    if (touches.get(address) !== row.number) continue;
    const { current, ...rest } = row;
    const known = recentlyUndone(row, draft.now, inFlightMs(draft));
    const { handle, key } = item;
    const attempt = current?.attempt;
    const attempts = attempt === undefined ? known : [...known, { handle, key, attempt, at: draft.now }];
    draft.put({ ...rest, undone: attempts, number: draft.nextNumber(), at: draft.now });
    undone.push(address);
  }
  return undone;
}

function mustRecord(draft: BlockDraft, row: OrdinalRow, cooldownMs: number): AddressRecord {
  const record = recordOf(draft, row, cooldownMs);
  invariant(record !== undefined, "an allocated address has a record");
  return record;
}
