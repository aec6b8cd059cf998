/**
 * The transitions of a Host's affinity row. May import: core only.
 * A row changes only to a higher epoch, or forward within one; a step whose row has moved on stops.
 */

export type AffinityState = "pending" | "confirmed" | "pendingDeletion";

/**
 * What happens to a row, always at an epoch.
 * `claim` and `release` begin at a fresh epoch; the others end what began at the same one.
 */
export type AffinityEvent = "claim" | "release" | "confirm" | "lose" | "keep" | "remove";

export interface AffinityMark {
  readonly state: AffinityState;
  readonly epoch: number;
}

type Next = AffinityState | "gone" | "moved_on";

/** Forward within one epoch. */
const WITHIN: Readonly<Record<AffinityState, Readonly<Record<AffinityEvent, Next>>>> = {
  pending: {
    claim: "moved_on",
    release: "pendingDeletion",
    confirm: "confirmed",
    lose: "moved_on",
    keep: "moved_on",
    remove: "gone",
  },
  confirmed: {
    claim: "moved_on",
    release: "pendingDeletion",
    confirm: "moved_on",
    // The block answered that the owner is another: the row is no ownership until recovered.
    lose: "pending",
    keep: "moved_on",
    remove: "moved_on",
  },
  pendingDeletion: {
    claim: "moved_on",
    release: "pendingDeletion",
    confirm: "moved_on",
    lose: "moved_on",
    keep: "confirmed",
    remove: "gone",
  },
};

/** What a fresh epoch begins. */
const BEGIN: Readonly<Record<AffinityEvent, Next>> = {
  claim: "pending",
  release: "pendingDeletion",
  confirm: "moved_on",
  lose: "moved_on",
  keep: "moved_on",
  remove: "moved_on",
};

/**
 * Tells what a row becomes. A release makes a row where there is none, so that a claim under way stops.
 * Shape: `moved_on` means that nothing is to be written.
 */
export function affinityAfter(row: AffinityMark | undefined, event: AffinityEvent, epoch: number): Next {
  if (row === undefined || epoch > row.epoch) return BEGIN[event];
  if (epoch < row.epoch) return "moved_on";
  return WITHIN[row.state][event];
}
