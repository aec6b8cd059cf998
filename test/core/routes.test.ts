/** Routes in pure code: order, marks, pages; which addresses a block lends, and when that has changed. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyChanges, BlockDraft, blockState } from "../../src/core/block.ts";
import { claim, releaseAffinity } from "../../src/core/block-affinity.ts";
import { allocate, undo } from "../../src/core/block-allocate.ts";
import type { AllocateItem } from "../../src/core/block-messages.ts";
import { releaseHandle } from "../../src/core/block-release.ts";
import { borrowedAddresses, noteBorrowed } from "../../src/core/block-routes.ts";
import { type Cidr, parseCidr } from "../../src/core/cidr.ts";
import {
  borrowedOrdinals,
  markBehind,
  markOf,
  nextRoutesRevision,
  reachesBeyond,
  routesOfBlock,
} from "../../src/core/routes.ts";

function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed.ok) throw new Error(text);
  return parsed.value;
}

describe("the routes of a block", () => {
  it("are the block, then each address that another host holds", () => {
    const borrowed = borrowedOrdinals(cidr("10.0.0.0/30"), [
      { address: "10.0.0.3", host: "b" },
      { address: "10.0.0.0", host: "c" },
      { address: "10.0.0.1", host: "a" },
    ]);
    expect(routesOfBlock({ range: cidr("10.0.0.0/30"), owner: "a", borrowed })).toEqual([
      { destination: "10.0.0.0/30", host: "a", kind: "block" },
      { destination: "10.0.0.0/32", host: "c", kind: "borrowed" },
      { destination: "10.0.0.3/32", host: "b", kind: "borrowed" },
    ]);
    expect(routesOfBlock({ range: cidr("10.0.0.0/30"), owner: undefined, borrowed })).toHaveLength(3);
  });

  it("I6: every mark splits them into those before it and those after it, without one twice", () => {
    const blocks = fc.record({
      prefix: fc.constantFrom(28, 30, 31, 32),
      owner: fc.option(fc.constantFrom("a", "b"), { nil: undefined }),
      hosts: fc.array(fc.tuple(fc.nat(15), fc.constantFrom("a", "b", "c")), { maxLength: 8 }),
    });
    fc.assert(
      fc.property(blocks, ({ prefix, owner, hosts }) => {
        const range = cidr(`10.0.0.16/${prefix}`);
        const fitting = new Map(hosts.filter(([ordinal]) => ordinal < 2 ** (32 - prefix)));
        const borrowed = [...fitting].toSorted(([one], [other]) => one - other);
        const all = routesOfBlock({ range, owner, borrowed });
        expect(new Set(all.map(({ destination }) => destination)).size).toBe(all.length);
        for (const [index, { destination }] of all.entries()) {
          const rest = routesOfBlock({ range, owner, borrowed }, markOf(destination));
          expect(rest).toEqual(all.slice(index + 1));
        }
        expect(routesOfBlock({ range, owner, borrowed }, markOf(markBehind(range)))).toEqual([]);
        expect(routesOfBlock({ range, owner, borrowed }, cidr("10.0.0.15/32"))).toEqual(all);
        expect(reachesBeyond(range, cidr(markBehind(range)))).toBe(false);
      }),
    );
  });

  it("IPv4 comes before IPv6", () => {
    expect(reachesBeyond(cidr("fd00::/64"), cidr("255.255.255.255/32"))).toBe(true);
    expect(reachesBeyond(cidr("10.0.0.0/8"), cidr("fd00::/64"))).toBe(false);
    expect(markOf("fd00::1/64")).toBeUndefined();
  });

  it("a revision only rises, and tells about when", () => {
    expect([nextRoutesRevision(0, 500), nextRoutesRevision(900, 500)]).toEqual([500, 901]);
  });
});

describe("what a block lends", () => {
  const target = { block: "10.0.0.0/29", pool: "p", poolCidr: "10.0.0.0/24", incarnation: 0 };
  const times = { skewMs: 50, untilMs: 2_000, spentKeyMs: 600_000 };

  /** A block under `a`, and a way to decide in it: returns whether the set changed, and the set. */
  function block() {
    let state = blockState(undefined, []);
    let now = 1_000;
    const decide = (work: (draft: BlockDraft) => unknown) => {
      now += 10;
      const draft = new BlockDraft(state, cidr(target.block), now, times);
      const answer = work(draft);
      const changed = noteBorrowed(draft);
      state = applyChanges(state, draft.changes());
      return { answer, changed, set: borrowedAddresses(draft), version: draft.header?.borrowedVersion ?? 0 };
    };
    const item = (host: string, handle: string, count = 1): AllocateItem => ({
      ...{ host, handle, key: `${handle}-key`, count, use: "Workload", attributes: {}, strict: false },
      ...{ leakCollection: "auto", policy: { reserved: [], cooldownMs: 0 }, until: now + 500 },
    });
    decide((draft) => claim(draft, { ...target, owner: "a", epoch: 1, until: now + 500, cooldownMs: 0 }));
    return {
      decide,
      item,
      take: (...wish: Parameters<typeof item>) => decide((draft) => allocate(draft, item(...wish))),
    };
  }

  it("is nothing of its own host, and each address of another", () => {
    const { take } = block();
    expect(take("a", "own", 3)).toMatchObject({ changed: false, set: [], version: 0 });
    expect(take("b", "guest")).toMatchObject({ changed: true, set: [{ host: "b" }], version: 1 });
    expect(take("a", "more")).toMatchObject({ changed: false, version: 1 });
    // A repetition gives out the same address again: nothing changes for routes.
    expect(take("b", "guest")).toMatchObject({ changed: false, version: 1 });
  });

  it("changes back by release and by undo, each with a higher version", () => {
    const { decide, take } = block();
    take("b", "guest");
    const keys = [{ key: "guest-key", finalAfter: 0 }];
    const release = { block: target.block, handle: "guest", keys, cooldownMs: 0 };
    expect(decide((draft) => releaseHandle(draft, release))).toMatchObject({
      changed: true,
      set: [],
      version: 2,
    });
    const { answer } = take("c", "other");
    const { records } = answer as { records: { address: string; touch: number }[] };
    const item = { handle: "other", key: "other-key", addresses: records };
    expect(decide((draft) => undo(draft, item))).toMatchObject({ changed: true, set: [], version: 4 });
  });

  it("is every address once the owner has gone, the former owner's too", () => {
    const { decide, take } = block();
    take("a", "own", 2);
    take("b", "guest");
    const request = { ...target, owner: "a", epoch: 2, mustBeEmpty: false, cooldownMs: 0 };
    const { changed, set, version } = decide((draft) => releaseAffinity(draft, request));
    expect({ changed, hosts: set.map(({ host }) => host), version }).toEqual({
      ...{ changed: true, hosts: ["a", "a", "b"], version: 2 },
    });
  });

  it("an empty block that changes hands changes nothing", () => {
    const { decide } = block();
    const request = { ...target, owner: "a", epoch: 2, mustBeEmpty: true, cooldownMs: 0 };
    expect(decide((draft) => releaseAffinity(draft, request))).toMatchObject({ changed: false, version: 0 });
  });
});
