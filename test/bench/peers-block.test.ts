/** The document of a block in the etcd peer: its queue, its slots, and the check of both. */
import { describe, expect, it } from "vitest";
import {
  BLOCK_SIZE,
  type Block,
  giveBack,
  heldIn,
  hostOf,
  newBlock,
  placesOf,
  take,
} from "../../bench/peers/calico-block.ts";
import { blocksOf } from "../../bench/peers/etcd-books.ts";

const NOW = new Date(1_000_000);
const block = () => newBlock("10.64.0.64/26", "host-1", NOW);

describe("a block as one document", () => {
  it("gives each address once, in order, and then none", () => {
    const one = block();
    const taken = Array.from({ length: BLOCK_SIZE }, (_, count) => take(one, `handle-${count}`));
    expect([taken[0], taken[1], taken[63]]).toEqual(["10.64.0.64", "10.64.0.65", "10.64.0.127"]);
    expect(new Set(taken).size).toBe(BLOCK_SIZE);
    expect(take(one, "late")).toBeUndefined();
    expect(heldIn(one)).toHaveLength(BLOCK_SIZE);
    expect(hostOf(one)).toBe("host-1");
  });

  it("puts a released address at the end of the queue and keeps the others' attributes", () => {
    const one = block();
    for (const handle of ["a", "b", "c"]) take(one, handle);
    expect(giveBack(one, "b", NOW)).toBe(1);
    expect(giveBack(one, "b", NOW)).toBe(0);
    expect(one.unallocated.slice(-2)).toEqual([63, 1]);
    expect(one.attributes).toEqual([{ handle_id: "a" }, { handle_id: "c" }]);
    expect(placesOf(one, "c")).toEqual([2]);
    expect(heldIn(one).map(({ handle }) => handle)).toEqual(["a", "c"]);
  });

  it("counts every change, and notes at which one an address was given out", () => {
    const one = block();
    const start = one.sequenceNumber;
    take(one, "a");
    giveBack(one, "a", NOW);
    take(one, "b");
    expect(one.sequenceNumber).toBe(start + 3);
    expect(one.sequenceNumberForAllocation).toEqual({ 1: start + 2 });
  });

  it.each<[string, (one: Block) => unknown]>([
    ["both free and given out", ({ unallocated }) => unallocated.unshift(0)],
    ["neither free nor given out", ({ unallocated }) => unallocated.pop()],
  ])("is refused by the check where an address is %s", (_what, damage) => {
    const one = block();
    take(one, "a");
    expect(heldIn(one)).toHaveLength(1);
    damage(one);
    expect(() => heldIn(one)).toThrow("exactly one");
  });
});

it("walks each block of a pool once, from another one for another host", () => {
  const pool = { cidr: "10.64.0.0/20", blockSize: 26, disabled: false };
  const walks = ["host-1", "host-2"].map((host) => [...blocksOf(pool, host)]);
  for (const walk of walks) {
    expect(new Set(walk).size).toBe(64);
    expect(walk.toSorted()[0]).toBe("10.64.0.0/26");
  }
  expect(walks[0]?.[0]).not.toBe(walks[1]?.[0]);
});
