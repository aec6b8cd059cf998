/** Free space against rows: any damage is found exactly, and mended into what the rows leave. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { mendedSpace, spaceFaults } from "../../src/core/check-space.ts";
import type { Extent, ExtentChange } from "../../src/core/extents.ts";

const POSITIONS = 40;

function positions(extents: readonly Extent[]): Set<number> {
  const all = new Set<number>();
  for (const { first, last } of extents) for (let at = first; at <= last; at += 1n) all.add(Number(at));
  return all;
}

function meeting(extents: readonly Extent[], first: bigint, last: bigint): Extent[] {
  return extents.filter((extent) => extent.first <= last && extent.last >= first);
}

/** As the table does it: by the last position. */
function apply(extents: readonly Extent[], changes: readonly ExtentChange[]): Extent[] {
  const byLast = new Map(extents.map((extent) => [extent.last, extent]));
  for (const change of changes) {
    if (change.kind === "remove") byLast.delete(change.last);
    else byLast.set(change.extent.last, change.extent);
  }
  return [...byLast.values()].toSorted((a, b) => (a.last < b.last ? -1 : 1));
}

/** Runs of positions, as stored: one per last position, not always disjoint. */
const stored = fc.array(fc.tuple(fc.nat(POSITIONS - 1), fc.nat(6)), { maxLength: 8 }).map((runs) =>
  apply(
    [],
    runs.map(([first, length]): ExtentChange => {
      const last = BigInt(Math.min(first + length, POSITIONS - 1));
      return { kind: "put", extent: { first: BigInt(first), last } };
    }),
  ),
);
const rows = fc
  .uniqueArray(fc.nat(POSITIONS - 1), { maxLength: 20 })
  .map((all) => all.toSorted((a, b) => a - b));
const stretches = fc
  .tuple(fc.nat(POSITIONS - 1), fc.nat(POSITIONS - 1))
  .map(([one, other]) => ({ first: BigInt(Math.min(one, other)), last: BigInt(Math.max(one, other)) }));

it("names each position that is offered though used, and each run that is neither", () => {
  fc.assert(
    fc.property(stored, rows, stretches, (extents, all, { first, last }) => {
      const within = all.map(BigInt).filter((at) => at >= first && at <= last);
      const faults = spaceFaults({ first, last, used: within, extents: meeting(extents, first, last) });
      const free = positions(extents);
      expect(faults.offered.map(Number)).toEqual(within.map(Number).filter((at) => free.has(at)));
      const lost = [...positions(faults.lost)];
      const expected = Array.from({ length: Number(last - first) + 1 }, (_, at) => Number(first) + at);
      expect(lost).toEqual(expected.filter((at) => !free.has(at) && !all.includes(at)));
    }),
  );
});

it("mends a stretch, leaves the rest as it was, and leaves runs that do not touch", () => {
  fc.assert(
    fc.property(stored, rows, stretches, (extents, all, { first, last }) => {
      const within = all.map(BigInt).filter((at) => at >= first && at <= last);
      const near = meeting(extents, first - 1n, last + 1n);
      const mended = apply(extents, mendedSpace({ first, last, used: within, extents: near }));
      const free = positions(mended);
      for (let at = 0; at < POSITIONS; at += 1) {
        const isInside = BigInt(at) >= first && BigInt(at) <= last;
        const isFree = isInside ? !all.includes(at) : positions(extents).has(at);
        expect(free.has(at), `position ${at}`).toBe(isFree);
      }
      const again = spaceFaults({ first, last, used: within, extents: meeting(mended, first, last) });
      expect(again).toEqual({ offered: [], lost: [] });
      const inside = meeting(mended, first, last);
      for (const [index, { first: begin }] of inside.slice(1).entries())
        expect(begin).toBeGreaterThan((inside[index]?.last ?? 0n) + 1n);
    }),
  );
});
