/**
 * Epochs: the numbers that fence every change of a block's ownership.
 * May import: core only. One counter per pool; the incarnation is its high part, so it never goes back.
 */
import { invariant } from "./invariant.ts";

const EPOCHS_PER_INCARNATION = 2 ** 32;
/** Keeps epochs exact as JavaScript numbers, and sequence numbers, which start at incarnation · 2^36. */
const INCARNATIONS_MAX = 2 ** 17;

/** The number below the first epoch of a pool's incarnation. */
export function epochFloor(incarnation: number): number {
  invariant(
    Number.isInteger(incarnation) && incarnation >= 0 && incarnation < INCARNATIONS_MAX,
    "the incarnation is out of range",
  );
  return incarnation * EPOCHS_PER_INCARNATION;
}

/** The epoch after the last one. Invariant: it stays within the incarnation. */
export function nextEpoch(incarnation: number, last: number): number {
  const floor = epochFloor(incarnation);
  const next = last + 1;
  invariant(next > floor && next < floor + EPOCHS_PER_INCARNATION, "the epoch left its incarnation");
  return next;
}
