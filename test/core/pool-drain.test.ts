/** What a drain does with a block, and when the last address is free. */
import { describe, expect, it } from "vitest";
import type { BlockCounts } from "../../src/core/allocation.ts";
import { drainStep, lastFreeAt } from "../../src/core/pool-drain.ts";

describe("drainStep", () => {
  it("asks the owner's Host, then waits for the block's own word", () => {
    expect(drainStep({ state: "owned", epoch: 3, closed: 3 })).toBe("ask_host");
    expect(drainStep({ state: "draining", epoch: 3, closed: 3 })).toBe("wait");
  });

  it("F30: a free block is over only by its own word at the epoch of its row", () => {
    expect(drainStep({ state: "free", epoch: 3, closed: undefined })).toBe("ask_block");
    expect(drainStep({ state: "free", epoch: 3, closed: 2 })).toBe("ask_block");
    expect(drainStep({ state: "free", epoch: 3, closed: 3 })).toBe("over");
  });
});

describe("lastFreeAt", () => {
  const counts = (allocated: number, ...times: number[]): { counts: BlockCounts } => {
    const steps = times.map((at) => ({ at, count: 1, open: 1 }));
    const rest = { hostReserved: 0, free: 0, reserved: 0, available: 0, borrowed: 0, asOf: 0 };
    return { counts: { capacity: 8, allocated, cooling: times.length, ...rest, coolingSteps: steps } };
  };

  it("is the latest time of all blocks", () => {
    expect(lastFreeAt([counts(0, 5, 9), counts(0, 7), { counts: undefined }, counts(0)])).toBe(9);
  });

  it("is not known while an address is allocated, and absent when nothing cools", () => {
    expect(lastFreeAt([counts(0, 5), counts(1)])).toBeUndefined();
    expect(lastFreeAt([counts(0)])).toBeUndefined();
  });
});
