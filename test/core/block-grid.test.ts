/** Positions of blocks in a pool. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blockAt, blockGrid, positionOf, startPosition } from "../../src/core/block-grid.ts";
import { epochFloor, nextEpoch } from "../../src/core/epoch.ts";

const pools: fc.Arbitrary<[string, number]> = fc.constantFrom(
  ["10.0.0.0/16", 26],
  ["10.0.0.0/26", 26],
  ["10.0.0.0/30", 32],
  ["0.0.0.0/0", 20],
  ["fd00::/48", 122],
  ["fd00::/120", 128],
);

describe("BlockGrid", () => {
  it("gives each position one block and each block its position, by CIDR and by name", () => {
    fc.assert(
      fc.property(pools, fc.bigInt(0n, (1n << 74n) - 1n), ([pool, blockSize], any) => {
        const grid = blockGrid(pool, blockSize);
        const position = any % grid.positions;
        const block = blockAt(grid, position);
        expect(positionOf(grid, block)).toBe(position);
        expect(positionOf(grid, block.replace("/", "-"))).toBe(position);
      }),
    );
  });

  it("counts 2^74 blocks of /122 in a /48", () => {
    const grid = blockGrid("fd00::/48", 122);
    expect(grid.positions).toBe(1n << 74n);
    expect(blockAt(grid, grid.positions - 1n)).toBe("fd00::ffff:ffff:ffff:ffff:ffc0/122");
    expect(() => blockAt(grid, grid.positions)).toThrow("outside the pool");
  });

  it("knows no block of another pool, another size or with host bits", () => {
    const grid = blockGrid("10.0.0.0/24", 26);
    for (const block of ["10.0.1.0/26", "10.0.0.0/27", "10.0.0.1/26", "fd00::/26", "nonsense", ""]) {
      expect(positionOf(grid, block)).toBeUndefined();
    }
    expect(() => blockGrid("10.0.0.0/27", 26)).toThrow("no blocks");
  });
});

describe("startPosition", () => {
  it("lies in the pool and is the same each time", () => {
    fc.assert(
      fc.property(fc.string(), fc.bigInt(1n, 1n << 76n), (owner, positions) => {
        const start = startPosition(owner, positions);
        expect(start >= 0n && start < positions).toBe(true);
        expect(startPosition(owner, positions)).toBe(start);
      }),
    );
  });

  it.each([1n << 8n, 1n << 20n, 1n << 74n])("spreads 200 hosts over %s positions", (positions) => {
    const starts = new Set(Array.from({ length: 200 }, (_, i) => startPosition(`node-${i}`, positions)));
    expect(starts.size).toBeGreaterThan(positions === 256n ? 100 : 190);
  });
});

describe("epochs", () => {
  it("of a later incarnation are higher than all of an earlier one", () => {
    expect(nextEpoch(0, epochFloor(0))).toBe(1);
    expect(nextEpoch(3, epochFloor(3))).toBe(3 * 2 ** 32 + 1);
    expect(() => nextEpoch(2, epochFloor(3) - 1)).toThrow("left its incarnation");
    expect(() => nextEpoch(3, 17)).toThrow("left its incarnation");
    expect(() => epochFloor(2 ** 17)).toThrow("out of range");
  });
});
