/**
 * How blocks look in the list of what was considered. May import: core, rpc.
 * Rule: the same words for a search and for an explanation.
 */
import type { BlockCounts } from "../src/core/allocation.ts";
import type { Considered } from "../src/core/errors.ts";
import type { Seat } from "./host-attempt-terms.ts";

/** What a block that was asked looks like in an answer: one that gives addresses, or why it does not. */
export function blockConsidered(seat: Seat, host: string, counts: BlockCounts): Considered {
  const { allocated, cooling, free, reserved, available, nextFreeAt } = counts;
  const full = cooling > 0 ? "cooling" : free > 0 && reserved > 0 ? "reserved" : "full";
  const isFull = available === 0;
  return {
    ...named(seat, host),
    outcome: isFull ? "full" : "used",
    rule: isFull ? full : "ok",
    allocated,
    free,
    cooling,
    reserved,
    ...(nextFreeAt === undefined ? {} : { nextFreeAt }),
  };
}

/** A block that gave addresses, or that a rule kept the host from. */
export function blockMet(
  seat: Seat,
  host: string,
  outcome: "used" | "skipped",
  rule: Considered["rule"],
): Considered {
  return { ...named(seat, host), outcome, rule };
}

function named(seat: Seat, host: string) {
  const owner = seat.isOwn ? host : seat.owner;
  const pool = seat.pool.definition.name;
  return { kind: "block", pool, block: seat.block, ...(owner === undefined ? {} : { owner }) } as const;
}
