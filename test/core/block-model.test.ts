/** The block against its naive model: random histories, both families, sizes /32 to /20. */
import fc from "fast-check";
import { test } from "vitest";
import { bits, blockOf, type Cidr } from "../../src/core/cidr.ts";
import type { Family } from "../../src/core/errors.ts";
import { histories } from "../support/block-commands.ts";
import { BlockRun } from "../support/block-run.ts";
import { runs } from "../support/seeds.ts";

const BASES: Readonly<Record<Family, bigint>> = { 4: 0x0a_00_00_00n, 6: 0xfd00n << 112n };

function blocks(hostBitsMin: number, hostBitsMax: number): fc.Arbitrary<Cidr> {
  return fc
    .record({
      family: fc.constantFrom<Family>(4, 6),
      hostBits: fc.integer({ min: hostBitsMin, max: hostBitsMax }),
      place: fc.bigInt(0n, 0xffn),
    })
    .map(({ family, hostBits, place }) => {
      const address = { family, value: BASES[family] + (place << BigInt(hostBits)) };
      return blockOf(address, bits(family) - hostBits);
    });
}

function holdsFor(blocksOf: fc.Arbitrary<Cidr>, maxLength: number, usual: number): void {
  fc.assert(
    fc.property(blocksOf, histories(maxLength), (cidr, history) => {
      new BlockRun(cidr).run(history);
    }),
    { numRuns: runs(usual) },
  );
}

test("I1 I2 I3 I11 I12 I14: a small block is what its model is, whatever happens", () => {
  holdsFor(blocks(0, 4), 60, 400);
});

test("I1 I2 I3 I11 I12 I14: and so is a large one", () => {
  holdsFor(blocks(5, 12), 20, 25);
});
