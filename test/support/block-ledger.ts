/**
 * What the callers of a block were told, and what that rules out (I1, I3, I12).
 * May import: types of core only. Rule: it knows neither the block nor its model.
 */
import { expect } from "vitest";
import type { AddressRecord } from "../../src/core/allocation.ts";

/** What callers were told: the only thing that the invariants may rest on. */
export class Ledger {
  readonly #live = new Map<string, Pick<AddressRecord, "handle" | "key" | "sequenceNumber">>();
  readonly #freeFrom = new Map<string, number>();
  #highest = 0;

  created(records: readonly AddressRecord[], cooldownMs: number): void {
    for (const { address, handle, key, sequenceNumber, touch, allocatedAt } of records) {
      const named = { handle, key, sequenceNumber };
      expect(touch).toBe(sequenceNumber);
      if (sequenceNumber <= this.#highest) {
        expect(this.#live.get(address), "I3: numbers only rise, but for a repeated answer").toEqual(named);
        continue;
      }
      expect(this.#live.get(address), `I1: ${address} is live already`).toBeUndefined();
      const releasedAt = this.#freeFrom.get(address) ?? Number.NEGATIVE_INFINITY;
      expect(allocatedAt, `I12: ${address} has not cooled`).toBeGreaterThanOrEqual(releasedAt + cooldownMs);
      this.#highest = sequenceNumber;
      this.#live.set(address, named);
    }
  }

  found(records: readonly AddressRecord[]): void {
    for (const { address, sequenceNumber, touch } of records) {
      expect(sequenceNumber, "a replay keeps the number").toBe(this.#live.get(address)?.sequenceNumber);
      expect(touch, "I3: each hand-out has a new touch").toBeGreaterThan(this.#highest);
      this.#highest = touch;
    }
  }

  released(address: string, releasedAt: number): void {
    expect(this.#live.delete(address), `${address} was live`).toBe(true);
    this.#freeFrom.set(address, releasedAt);
  }

  undone(address: string): void {
    expect(this.#live.delete(address), `${address} was live`).toBe(true);
  }

  retired(): void {
    expect(this.#live.size, "only an empty block retires").toBe(0);
    this.#freeFrom.clear();
  }

  get live(): string[] {
    return [...this.#live.keys()].sort();
  }
}
