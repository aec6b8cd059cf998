/** What a block shows of itself in parts: each record once, no part larger than was asked for. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AddressRecord, charactersOf } from "../../src/core/allocation.ts";
import { applyChanges, BlockDraft, blockState } from "../../src/core/block.ts";
import { claim } from "../../src/core/block-affinity.ts";
import { allocate } from "../../src/core/block-allocate.ts";
import type { DescribeRequest } from "../../src/core/block-messages.ts";
import { releaseHandle } from "../../src/core/block-release.ts";
import { viewBlock } from "../../src/core/block-view.ts";
import { parseCidr } from "../../src/core/cidr.ts";
import { runs } from "../support/seeds.ts";

const TIMES = { skewMs: 50, untilMs: 2_000, spentKeyMs: 600_000 };
const NOW = 1_000_000;
const policy = { reserved: [], cooldownMs: 60_000 };
const TARGET = { block: "10.0.0.0/26", pool: "p", poolCidr: "10.0.0.0/24", incarnation: 0 };

/** One address each, in this order; the attribute is as long as it says. */
interface Held {
  readonly handle: string;
  readonly length: number;
  readonly isReleased: boolean;
}

function blockWith(
  held: readonly Held[],
): (request: Partial<DescribeRequest>) => ReturnType<typeof viewBlock> {
  const cidr = parseCidr(TARGET.block);
  if (!cidr.ok) throw new Error("no block");
  let state = blockState(undefined, []);
  const run = (decide: (draft: BlockDraft) => unknown) => {
    const draft = new BlockDraft(state, cidr.value, NOW, TIMES);
    decide(draft);
    state = applyChanges(state, draft.changes());
  };
  run((draft) => claim(draft, { ...TARGET, owner: "a", epoch: 1, until: NOW, cooldownMs: 0 }));
  const item = {
    host: "a",
    use: "Workload",
    leakCollection: "auto",
    count: 1,
    strict: false,
    policy,
  } as const;
  for (const [n, { handle, length }] of held.entries()) {
    const attributes = { note: "x".repeat(length) };
    const alternate = { handle, key: `k${n}`, attributes, until: NOW };
    run((draft) => allocate(draft, { ...item, ...alternate }));
  }
  for (const [n, { handle, isReleased }] of held.entries()) {
    const keys = [{ key: `k${n}`, finalAfter: 0 }];
    const request = { block: TARGET.block, handle, keys, cooldownMs: policy.cooldownMs };
    if (isReleased) run((draft) => releaseHandle(draft, request));
  }
  const draft = new BlockDraft(state, cidr.value, NOW, TIMES);
  return (request) => viewBlock(draft, { block: TARGET.block, policy, ...request });
}

const world = fc.array(
  fc.record({
    handle: fc.constantFrom("h1", "h2"),
    length: fc.constantFrom(0, 10, 1_000),
    isReleased: fc.boolean(),
  }),
  { maxLength: 64 },
);

describe("a block's records in parts", () => {
  test("each is told once, in order, and no part is larger than was asked for but for its only record", () => {
    const wanted = fc.constantFrom("all" as const, { handle: "h1" });
    const sizes = fc.constantFrom(1, 400, 1_500, 5_000, 1_000_000);
    fc.assert(
      fc.property(world, wanted, sizes, fc.boolean(), (held, records, characters, bare) => {
        const view = blockWith(held);
        const told: AddressRecord[] = [];
        let after: string | undefined;
        for (let parts = 0; parts <= held.length; parts += 1) {
          const part = after === undefined ? { characters } : { after, characters };
          const { records: some, next } = view({ records, part, bare });
          const size = some.reduce((sum, record) => sum + charactersOf(record), 0);
          if (some.length > 1) expect(size).toBeLessThanOrEqual(characters);
          told.push(...some);
          after = next;
          if (next === undefined) break;
          expect(next).toBe(some.at(-1)?.address);
        }
        expect(after).toBeUndefined();
        expect(told).toEqual(view({ records, bare }).records);
      }),
      { numRuns: runs(200) },
    );
  });

  test("bare: as many, with all but what their owners are", () => {
    fc.assert(
      fc.property(world, (held) => {
        const view = blockWith(held);
        const whole = view({ records: "all" }).records;
        const { records } = view({ records: "all", bare: true });
        expect(records).toEqual(whole.map((record) => ({ ...record, attributes: {} })));
      }),
      { numRuns: runs(50) },
    );
  });

  test("a place outside the block is before it", () => {
    const view = blockWith([{ handle: "h1", length: 0, isReleased: false }]);
    const part = { after: "10.0.1.0", characters: 1_000 };
    expect(view({ records: "all", part }).records).toHaveLength(1);
  });
});
