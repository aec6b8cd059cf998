/**
 * What a block tells a check: who owns it, which keys it holds, where its rows contradict each other.
 * May import: core only. Nothing is changed.
 */
import { addressText, type BlockDraft, isHostReserved, ordinalState } from "./block.ts";
import type { ProblemCode } from "./check.ts";
import type { OrdinalRow } from "./ordinal.ts";

/** How far a block's time may be ahead of the clock, ms: more than clocks differ, less than a person notices. */
const TIME_AHEAD_MAX_MS = 60_000;

export interface BlockAuditRequest {
  readonly block: string;
  readonly cooldownMs: number;
}

/** What one key holds in a block. `sequenceNumber`: the lowest of its addresses; tells one holding from a later one. */
export interface HeldKey {
  readonly handle: string;
  readonly key: string;
  readonly count: number;
  readonly sequenceNumber: number;
}

export interface BlockAudit {
  /** Absent: the block was never written. */
  readonly pool?: { readonly name: string; readonly incarnation: number };
  readonly owner?: string;
  readonly epoch: number;
  readonly allocated: number;
  readonly cooling: number;
  readonly keys: readonly HeldKey[];
  /** Hosts that hold addresses here, the owner too. */
  readonly holders: readonly string[];
  readonly faults: readonly {
    readonly problem: Extract<ProblemCode, "rows_contradict" | "time_ahead">;
    readonly address?: string;
  }[];
}

/** Tells what a check compares. Units: `clock` in milliseconds since 1970. */
export function auditBlock(draft: BlockDraft, request: BlockAuditRequest, clock: number): BlockAudit {
  const { header } = draft;
  const tally = { allocated: 0, cooling: 0 };
  const keys = new Map<string, HeldKey>();
  const holders = new Set<string>();
  for (const row of draft.rows()) {
    const state = ordinalState(draft, row.ordinal, request.cooldownMs);
    if (state === "cooling") tally.cooling += 1;
    const { current } = row;
    if (current === undefined) continue;
    tally.allocated += 1;
    holders.add(current.host);
    const { handle, key, sequenceNumber } = current;
    const known = keys.get(`${handle} ${key}`) ?? { handle, key, count: 0, sequenceNumber };
    const lowest = Math.min(known.sequenceNumber, sequenceNumber);
    keys.set(`${handle} ${key}`, { ...known, count: known.count + 1, sequenceNumber: lowest });
  }
  return {
    ...(header === undefined ? {} : { pool: { name: header.pool, incarnation: header.incarnation } }),
    ...(header?.owner === undefined ? {} : { owner: header.owner }),
    epoch: header?.epoch ?? 0,
    ...tally,
    keys: [...keys.values()],
    holders: [...holders],
    faults: [...contradictions(draft), ...timeFaults(draft, clock)],
  };
}

function contradictions(draft: BlockDraft): BlockAudit["faults"][number][] {
  const numbers = new Set<number>();
  const faults: BlockAudit["faults"][number][] = [];
  for (const row of draft.rows()) {
    if (!isSound(draft, row) || numbers.has(row.number)) faults.push(faultAt(draft, row));
    numbers.add(row.number);
  }
  if (draft.header === undefined && numbers.size > 0) faults.push({ problem: "rows_contradict" });
  return faults;
}

/** A row lies in its block, is as new as its address, and is not of an address that is set aside. */
function isSound(draft: BlockDraft, { ordinal, number, current, ended }: OrdinalRow): boolean {
  if (ordinal >= draft.capacity) return false;
  if (current !== undefined && isHostReserved(draft.header, draft.capacity, ordinal)) return false;
  return [current, ...ended].every((tenure) => (tenure?.sequenceNumber ?? 0) <= number);
}

function faultAt(draft: BlockDraft, { ordinal }: OrdinalRow): BlockAudit["faults"][number] {
  if (ordinal >= draft.capacity) return { problem: "rows_contradict" };
  return { problem: "rows_contradict", address: addressText(draft, ordinal) };
}

function timeFaults(draft: BlockDraft, clock: number): BlockAudit["faults"][number][] {
  return draft.now - clock > TIME_AHEAD_MAX_MS ? [{ problem: "time_ahead" }] : [];
}
