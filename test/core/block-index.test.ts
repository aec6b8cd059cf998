/** The index of a block says what a scan of the whole block says, whatever happened before. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type BlockDraft, holdsAddress, isEmpty } from "../../src/core/block.ts";
import { chooseFree, traceKey } from "../../src/core/block-allocate.ts";
import { countBlock, countRoom } from "../../src/core/block-counts.ts";
import { BlockIndex } from "../../src/core/block-index.ts";
import type { BlockPolicy } from "../../src/core/block-messages.ts";
import { parseCidr } from "../../src/core/cidr.ts";
import type { EndedTenure, OrdinalRow } from "../../src/core/ordinal.ts";
import { histories } from "../support/block-commands.ts";
import { BlockRun } from "../support/block-run.ts";
import { BlockScan } from "../support/block-scan.ts";
import { runs } from "../support/seeds.ts";

const HANDLES = ["h0", "h1", "h2"];
const KEYS = ["k0", "k1", "k2", "k3"];
const ATTEMPTS = ["t0", "t1"];

function block(prefix: number) {
  const cidr = parseCidr(`10.0.0.0/${prefix}`);
  if (!cidr.ok) throw new Error("no block");
  return cidr.value;
}

/** Asks the index and the scan all there is to ask. */
function compare(draft: BlockDraft, policy: BlockPolicy): void {
  const scan = new BlockScan(draft);
  for (const cooldownMs of [policy.cooldownMs, 0, 100, 10_000, 1_000_000]) {
    for (const reserved of [policy.reserved, []]) {
      const under = { reserved, cooldownMs };
      const counts = countBlock(draft, under);
      expect(counts).toEqual(scan.counts(under));
      expect(counts).toMatchObject(countRoom(draft, under));
      const free = scan.free(under);
      for (const count of [1, 3, 5_000]) {
        expect(chooseFree(draft, under, count), "I12").toEqual(free.slice(0, count));
      }
    }
    expect(isEmpty(draft, cooldownMs)).toBe(scan.isEmpty(cooldownMs));
  }
  expect(holdsAddress(draft)).toBe(scan.holdsAddress());
  for (const handle of HANDLES) {
    for (const key of KEYS) {
      expect(traceKey(draft, handle, key), "I13").toEqual(scan.trace(handle, key));
      for (const attempt of ATTEMPTS) {
        const one = { handle, key, attempt };
        expect([...draft.index.undone(one)].sort()).toEqual(scan.undone(one).sort());
      }
    }
  }
}

describe("histories", () => {
  test("I2 I12 I13 I14: the index is what a scan says, after each command and after each wake", () => {
    const blocks = fc.integer({ min: 26, max: 32 }).map(block);
    fc.assert(
      fc.property(blocks, histories(50), (cidr, history) => {
        new BlockRun(cidr, { afterEach: compare }).run(history);
      }),
      { numRuns: runs(60) },
    );
  });

  test("a decision that is discarded leaves the state as it was", () => {
    const blocks = fc.integer({ min: 28, max: 32 }).map(block);
    fc.assert(
      fc.property(blocks, histories(50), (cidr, history) => {
        new BlockRun(cidr, { afterEach: compare, isRehearsed: true }).run(history);
      }),
      { numRuns: runs(30) },
    );
  });
});

describe("single rows", () => {
  const tenure = (handle: string, key: string, freedAt: number): EndedTenure => ({
    ...{ handle, key, granted: 1, host: "a", use: "Workload", attributes: {}, leakCollection: "auto" },
    ...{ sequenceNumber: freedAt - 1, allocatedAt: 0, releasedAt: 0, freedAt },
  });
  const released = (ordinal: number, ...ended: EndedTenure[]): OrdinalRow => ({
    ...{ ordinal, number: ended[0]?.freedAt ?? 1, at: 0, ended },
  });

  test("two pairs of handle and key that read the same in a row are two", () => {
    const index = new BlockIndex([released(0, tenure("b", "a", 5))]);
    expect([index.hasEnded("b", "a"), index.hasEnded("", "ab"), index.hasEnded("ab", "")]).toEqual([
      ...[true, false, false],
    ]);
  });

  test("a key that a row remembers twice is forgotten when both have gone", () => {
    const index = new BlockIndex([released(0, tenure("h", "k", 9), tenure("h", "k", 5))]);
    index.put(released(0, tenure("h", "x", 12), tenure("h", "k", 9)));
    expect(index.hasEnded("h", "k")).toBe(true);
    index.put(released(0, tenure("h", "y", 15)));
    expect([index.hasEnded("h", "k"), index.hasEnded("h", "x"), index.hasEnded("h", "y")]).toEqual([
      ...[false, false, true],
    ]);
    index.remove(0);
    expect([index.hasEnded("h", "y"), index.size, index.freed.length]).toEqual([false, 0, 0]);
  });

  test("the lowest unused ordinal is found over whole words of used ones", () => {
    const few = fc.array(fc.nat(130), { maxLength: 4 });
    fc.assert(
      fc.property(few, few, fc.nat(140), (holes, gone, from) => {
        const used = Array.from({ length: 130 }, (_, ordinal) => ordinal).filter(
          (one) => !holes.includes(one),
        );
        const index = new BlockIndex(used.map((ordinal) => released(ordinal, tenure("h", "k", ordinal + 1))));
        for (const ordinal of gone) index.remove(ordinal);
        let expected = from;
        while (index.row(expected) !== undefined) expected += 1;
        expect(index.nextUnused(from)).toBe(expected);
      }),
    );
  });
});
