/**
 * What a block's index answers, found by going through the whole block: slow and obvious.
 * May import: src/core, without its index. Rule: nothing here is optimised; it is the reference.
 */
import type { BlockCounts, OrdinalRanges } from "../../src/core/allocation.ts";
import { type BlockDraft, ordinalState } from "../../src/core/block.ts";
import type { BlockPolicy } from "../../src/core/block-messages.ts";
import { COOLING_STEPS_MAX, type CoolingStep } from "../../src/core/cooling.ts";
import { freeAt, type OrdinalRow, stateOf, type UndoneAttempt } from "../../src/core/ordinal.ts";

export class BlockScan {
  readonly #draft: BlockDraft;
  readonly #rows: readonly OrdinalRow[];

  constructor(draft: BlockDraft) {
    this.#draft = draft;
    this.#rows = [...draft.rows()];
  }

  /** What a key holds, oldest first, and whether a row remembers that it was released. */
  trace(handle: string, key: string) {
    const isOf = (one: { handle: string; key: string } | undefined): boolean =>
      one?.handle === handle && one.key === key;
    const held = this.#rows.filter(({ current }) => isOf(current));
    held.sort((one, other) => (one.current?.sequenceNumber ?? 0) - (other.current?.sequenceNumber ?? 0));
    return { held, wasReleased: this.#rows.some(({ ended }) => ended.some(isOf)) };
  }

  undone({ handle, key, attempt }: Omit<UndoneAttempt, "at">): number[] {
    const isIt = (one: UndoneAttempt): boolean =>
      one.handle === handle && one.key === key && one.attempt === attempt;
    return this.#rows.filter((row) => row.undone?.some(isIt)).map(({ ordinal }) => ordinal);
  }

  /** Never used ones by address, then the one freed first (I12); reserved ones stay where they are. */
  free({ reserved, cooldownMs }: BlockPolicy): number[] {
    const free = this.#ordinals().filter(
      (ordinal) => ordinalState(this.#draft, ordinal, cooldownMs) === "free" && !isIn(reserved, ordinal),
    );
    const freedAt = (ordinal: number) => this.#draft.row(ordinal)?.ended[0]?.freedAt ?? ordinal - 4096;
    return free.sort((one, other) => freedAt(one) - freedAt(other));
  }

  isEmpty(cooldownMs: number): boolean {
    return this.#rows.every((row) => stateOf(row, cooldownMs, this.#draft.now) === "free");
  }

  holdsAddress(): boolean {
    return this.#rows.some(({ current }) => current !== undefined);
  }

  counts({ reserved, cooldownMs }: BlockPolicy): BlockCounts {
    const draft = this.#draft;
    const states = this.#ordinals().map((ordinal) => {
      const row = draft.row(ordinal);
      const state = ordinalState(draft, ordinal, cooldownMs);
      const isBorrowed = state === "allocated" && row?.current?.host !== draft.owner;
      return { state, isBorrowed, isReserved: isIn(reserved, ordinal), at: freeAt(row, cooldownMs) };
    });
    const count = (is: (one: (typeof states)[number]) => boolean): number => states.filter(is).length;
    const cooling = states.filter(({ state }) => state === "cooling");
    const open = cooling.filter(({ isReserved }) => !isReserved).map(({ at }) => at);
    return {
      capacity: draft.capacity,
      allocated: count(({ state }) => state === "allocated"),
      cooling: cooling.length,
      hostReserved: count(({ state }) => state === "host_reserved"),
      free: count(({ state }) => state === "free"),
      reserved: count(({ isReserved }) => isReserved),
      available: count(({ state, isReserved }) => state === "free" && !isReserved),
      borrowed: count(({ isBorrowed }) => isBorrowed),
      ...(open.length > 0 ? { nextFreeAt: Math.min(...open) } : {}),
      ...(cooling.length > 0 ? { coolingSteps: stepsOf(cooling) } : {}),
      asOf: draft.now,
    };
  }

  #ordinals(): number[] {
    return Array.from({ length: this.#draft.capacity }, (_, ordinal) => ordinal);
  }
}

function isIn(ranges: OrdinalRanges, ordinal: number): boolean {
  return ranges.some(([first, last]) => first <= ordinal && ordinal <= last);
}

function stepsOf(times: readonly { readonly at: number; readonly isReserved: boolean }[]): CoolingStep[] {
  const left = times.toSorted((one, other) => one.at - other.at);
  const perStep = Math.ceil(left.length / COOLING_STEPS_MAX);
  const steps: CoolingStep[] = [];
  while (left.length > 0) {
    const part = left.splice(0, perStep);
    while (left[0] !== undefined && left[0].at === part.at(-1)?.at) part.push(...left.splice(0, 1));
    const open = part.filter(({ isReserved }) => !isReserved).length;
    steps.push({ at: part.at(-1)?.at ?? 0, count: part.length, open });
  }
  return steps;
}
