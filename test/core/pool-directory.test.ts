/** What a pool remembers: candidates for reclaim and borrowing, by hints; its sums. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BlockCounts } from "../../src/core/allocation.ts";
import { blockGrid } from "../../src/core/block-grid.ts";
import { DueQueue } from "../../src/core/due-queue.ts";
import { chooseBlock, isWorthStoring, planClaims } from "../../src/core/pool-claim.ts";
import { type DirectoryBlock, OCCUPIED_HINT_MS, PoolDirectory } from "../../src/core/pool-directory.ts";
import { poolUsage } from "../../src/core/pool-usage.ts";

const NONE: ReadonlySet<bigint> = new Set();

function block(position: number, owner: string | undefined, issuedAt = 0): DirectoryBlock {
  return { position: BigInt(position), owner, epoch: position + 1, issuedAt, counts: undefined };
}

function counts(given: Partial<BlockCounts>): BlockCounts {
  const { allocated = 0, cooling = 0 } = given;
  const free = 64 - allocated - cooling;
  const rest = { capacity: 64, hostReserved: 0, free, reserved: 0, available: free, borrowed: 0, asOf: 0 };
  return { ...rest, ...given, allocated, cooling };
}

const full = (asOf = 0) => counts({ allocated: 64, asOf });

function reclaim(directory: PoolDirectory, owner: string, now = 0, tried: number[] = []): number | undefined {
  const found = directory.reclaimCandidate(owner, new Set(tried.map(BigInt)), [], now);
  return found && Number(found.position);
}

function borrow(
  directory: PoolDirectory,
  owner: string,
  now = 0,
  tried: number[] = [],
  limit = 99,
): number[] {
  const found = directory.borrowCandidates(owner, new Set(tried.map(BigInt)), limit, now);
  return found.map(({ position }) => Number(position));
}

describe("reclaim candidates", () => {
  it("are empty blocks, longest empty first, then those nobody reported", () => {
    const directory = new PoolDirectory([block(0, "a"), block(1, "a"), block(2, "b"), block(3, "b")], 0);
    directory.learn(2n, counts({ asOf: 10 }), 10);
    directory.learn(1n, counts({ asOf: 20 }), 20);
    directory.learn(2n, counts({ asOf: 30 }), 30);
    directory.learn(0n, full(30), 30);
    expect(reclaim(directory, "c", 30)).toBe(2);
    expect(reclaim(directory, "c", 30, [2])).toBe(1);
    expect(reclaim(directory, "c", 30, [2, 1])).toBe(3);
    expect(reclaim(directory, "c", 30, [2, 1, 3])).toBeUndefined();
  });

  it("are never the owner's own, draining, excluded, or known not to be empty", () => {
    const directory = new PoolDirectory(
      [block(0, "a"), block(1, undefined), block(2, "b"), block(3, "c")],
      0,
    );
    directory.learn(2n, counts({ allocated: 1, asOf: 5 }), 5);
    expect(reclaim(directory, "a", 5)).toBe(3);
    expect(directory.reclaimCandidate("a", NONE, [[3n, 3n]], 5)).toBeUndefined();
    expect(reclaim(directory, "c", 5, [0])).toBeUndefined();
  });

  it("go to the end when tried, so that an owner who never answers does not block the others", () => {
    const directory = new PoolDirectory([block(0, "a"), block(1, "b")], 0);
    directory.learn(0n, counts({ asOf: 1 }), 1);
    directory.learn(1n, counts({ asOf: 2 }), 2);
    expect(reclaim(directory, "c", 3)).toBe(0);
    directory.issued({ ...block(0, "a", 3), epoch: 9 });
    expect(reclaim(directory, "c", 3)).toBe(1);
  });

  it("include a block whose last addresses have cooled since its report", () => {
    const directory = new PoolDirectory([block(0, "a")], 0);
    directory.learn(0n, counts({ cooling: 1, nextFreeAt: 100, asOf: 1 }), 1);
    expect(reclaim(directory, "c", 99)).toBeUndefined();
    expect(reclaim(directory, "c", 100)).toBe(0);
  });

  it("include a block once its report is old: the next report may be lost for ever", () => {
    const directory = new PoolDirectory([block(0, "a")], 0);
    directory.learn(0n, full(1_000), 1_000);
    expect(reclaim(directory, "c", 1_000 + OCCUPIED_HINT_MS - 1)).toBeUndefined();
    expect(reclaim(directory, "c", 1_000 + OCCUPIED_HINT_MS)).toBe(0);
  });
});

describe("borrow candidates", () => {
  it("have most room first; full ones are left out until an address has cooled", () => {
    const stored = [0, 1, 2, 3, 4].map((position) => block(position, "a"));
    const directory = new PoolDirectory(stored, 0);
    directory.learn(0n, counts({ allocated: 62, asOf: 1 }), 1);
    directory.learn(1n, counts({ allocated: 10, asOf: 1 }), 1);
    directory.learn(2n, full(1), 1);
    directory.learn(3n, counts({ allocated: 63, cooling: 1, nextFreeAt: 50, asOf: 1 }), 1);
    expect(borrow(directory, "b", 49)).toEqual([1, 0, 4]);
    expect(directory.nextFreeAt(49)).toBe(50);
    expect(borrow(directory, "b", 50)).toEqual([1, 0, 3, 4]);
    expect(directory.nextFreeAt(50)).toBeUndefined();
    expect(borrow(directory, "b", 50, [1], 2)).toEqual([0, 3]);
  });

  it("are never the owner's own, draining or freed", () => {
    const directory = new PoolDirectory(
      [block(0, "a"), block(1, "b"), block(2, undefined), block(3, "c")],
      0,
    );
    for (const position of [0n, 1n, 2n, 3n]) directory.learn(position, counts({ asOf: 1 }), 1);
    directory.freed(3n);
    expect(borrow(directory, "a")).toEqual([1]);
    directory.issued({ ...block(1, undefined), epoch: 9 });
    expect(borrow(directory, "a")).toEqual([]);
  });

  it("begin at different blocks for different owners", () => {
    const directory = new PoolDirectory(
      Array.from({ length: 50 }, (_, i) => block(i, "owner")),
      0,
    );
    const first = Array.from({ length: 30 }, (_, i) => borrow(directory, `node-${i}`, 0, [], 1)[0]);
    expect(new Set(first).size).toBeGreaterThan(10);
  });

  it("believe a stored 'room' after a wake, but not a stored 'full'", () => {
    const stored = [
      { ...block(0, "a"), counts: full(1) },
      { ...block(1, "a"), counts: counts({ allocated: 1, asOf: 1 }) },
    ];
    const directory = new PoolDirectory(stored, 10);
    expect(directory.borrowCandidates("b", NONE, 9, 10)).toEqual([
      { position: 1n, owner: "a", known: true },
      { position: 0n, owner: "a", known: false },
    ]);
    directory.learn(0n, full(10), 10);
    expect(borrow(directory, "b", 10)).toEqual([1]);
  });
});

describe("the directory's classes", () => {
  const step = fc.record({
    what: fc.constantFrom("learn", "issue", "drain", "free"),
    position: fc.nat(5),
    owner: fc.constantFrom("a", "b"),
    allocated: fc.constantFrom(0, 5, 64),
    asOf: fc.nat(40),
  });

  it("agree with a search through all blocks, after any history", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const directory = new PoolDirectory([], 0);
        const naive = new Map<number, { owner: string | undefined; counts?: BlockCounts }>();
        for (const { what, position, owner, allocated, asOf } of steps) {
          const known = naive.get(position);
          if (what === "free") {
            directory.freed(BigInt(position));
            naive.delete(position);
          } else if (what === "learn") {
            const given = counts({ allocated, asOf });
            const isNews = known !== undefined && (known.counts?.asOf ?? 0) <= asOf;
            expect(directory.learn(BigInt(position), given, 40)).toBe(isNews);
            if (isNews) known.counts = given;
          } else {
            const next = what === "issue" ? owner : undefined;
            directory.issued({ ...block(position, next), epoch: 1 });
            naive.set(position, { ...known, owner: next });
          }
        }
        const others = [...naive].filter(([, b]) => b.owner !== undefined && b.owner !== "a");
        const roomy = others.filter(([, b]) => b.counts === undefined || b.counts.available > 0);
        expect(borrow(directory, "a").toSorted()).toEqual(roomy.map(([position]) => position).toSorted());
        const empty = others.filter(([, b]) => b.counts === undefined || b.counts.allocated === 0);
        const candidate = reclaim(directory, "a");
        expect(candidate === undefined).toBe(empty.length === 0);
        if (candidate !== undefined) expect(empty.map(([position]) => position)).toContain(candidate);
        const own = [...naive].filter(([, b]) => b.owner === "a").map(([position]) => position);
        const listed = [...directory.ownedBy("a")].map(({ position }) => Number(position));
        expect(listed.toSorted()).toEqual(own.toSorted());
      }),
    );
  });

  it("keep due times in order, whatever moves or leaves", () => {
    const change = fc.tuple(fc.nat(8), fc.option(fc.nat(50), { nil: undefined }));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 50 }), (changes) => {
        const queue = new DueQueue<number>();
        const naive = new Map<number, number>();
        for (const [member, at] of changes) {
          queue.set(member, at);
          if (at === undefined) naive.delete(member);
          else naive.set(member, at);
          expect(queue.nextAt).toBe(naive.size === 0 ? undefined : Math.min(...naive.values()));
        }
        for (const at of [...naive.values()].toSorted((a, b) => a - b)) {
          expect(queue.nextAt).toBe(at);
          expect(queue.take(at - 1)).toBeUndefined();
          naive.delete(queue.take(at)!);
        }
        expect(naive.size).toBe(0);
        expect(queue.nextAt).toBeUndefined();
      }),
    );
  });
});

describe("chooseBlock", () => {
  const everything = { endingFrom: (position: bigint) => ({ first: position, last: 63n }) };
  const nothing = { endingFrom: () => undefined };
  const wish = { owner: "a", known: NONE, tried: NONE, excluded: [] };

  it("takes the owner's unknown block, then a free one, then one to reclaim", () => {
    const directory = new PoolDirectory([block(7, "a"), block(8, "b")], 0);
    expect(chooseBlock(directory, everything, 64n, wish, 0)).toMatchObject({
      kind: "own",
      block: { position: 7n },
    });
    const known = { ...wish, known: new Set([7n]) };
    expect(chooseBlock(directory, everything, 64n, known, 0).kind).toBe("free");
    expect(chooseBlock(directory, nothing, 64n, known, 0)).toMatchObject({
      kind: "reclaim",
      block: { position: 8n },
    });
    expect(chooseBlock(directory, nothing, 64n, { ...known, tried: new Set([8n]) }, 0).kind).toBe("none");
  });

  it("I7: offers no block that is wholly reserved, by any of the three ways", () => {
    const directory = new PoolDirectory([block(7, "a"), block(8, "b")], 0);
    const excluded = { ...wish, excluded: [[0n, 63n]] as const };
    expect(chooseBlock(directory, everything, 64n, excluded, 0).kind).toBe("none");
  });
});

describe("isWorthStoring", () => {
  it("writes when a block turns empty or not, at once; full or not, at most every 30 s", () => {
    expect(isWorthStoring(undefined, counts({ asOf: 1 }))).toBe(false);
    expect(isWorthStoring(undefined, counts({ allocated: 1, asOf: 1 }))).toBe(true);
    const stored = counts({ allocated: 1, asOf: 1_000 });
    expect(isWorthStoring(stored, counts({ allocated: 40, asOf: 90_000 }))).toBe(false);
    expect(isWorthStoring(stored, counts({ asOf: 1_001 }))).toBe(true);
    expect(isWorthStoring(stored, full(30_999))).toBe(false);
    expect(isWorthStoring(stored, full(31_000))).toBe(true);
    expect(isWorthStoring(stored, undefined)).toBe(true);
  });
});

describe("poolUsage", () => {
  const grid = blockGrid("10.0.0.0/24", 26);
  const usage = (reservations: string[], blocks: DirectoryBlock[]) =>
    poolUsage(grid, reservations, blocks, 500);

  it("I14: counts a pool without blocks as available, but for its reservations", () => {
    const reservations = [
      "10.0.0.0/25",
      "10.0.0.5",
      "10.0.0.64/26",
      "10.0.0.0/25",
      "fd00::/64",
      "11.0.0.0/8",
    ];
    const empty = usage(reservations, []);
    expect(empty).toMatchObject({
      capacity: 256n,
      reserved: 128n,
      available: 128n,
      usedPercent: 50,
      asOf: 500,
    });
    expect(usage(["0.0.0.0/0"], [])).toMatchObject({ reserved: 256n, available: 0n, usedPercent: 100 });
  });

  it("I14: adds dated figures of blocks to the space outside them", () => {
    const one = { ...block(0, "a"), counts: counts({ allocated: 1, available: 59, reserved: 4, asOf: 80 }) };
    const two = { ...block(1, "b"), counts: counts({ allocated: 61, cooling: 3, asOf: 90 }) };
    const unheard = block(2, "b", 70);
    const summed = usage(["10.0.0.32/30"], [one, two, unheard]);
    expect(summed).toMatchObject({
      allocated: 62n,
      cooling: 3n,
      reserved: 4n,
      available: 59n + 0n + 64n + 64n,
    });
    expect(summed).toMatchObject({
      blocks: 3,
      blocksFull: 1,
      blocksUnowned: 0,
      asOf: 70,
      usedPercent: 26.95,
    });
  });

  it("I14: a draining block has nothing available; figures from before a reservation are cut to it", () => {
    const draining = { ...block(0, undefined), counts: counts({ allocated: 2, asOf: 80 }) };
    expect(usage([], [draining])).toMatchObject({ available: 192n, blocksUnowned: 1 });
    const older = { ...block(0, "a"), counts: counts({ allocated: 2, asOf: 80 }) };
    expect(usage(["10.0.0.0/27"], [older])).toMatchObject({ available: 32n + 192n });
  });

  it("rounds down, and is exact beyond 2^53", () => {
    const large = blockGrid("fd00::/48", 122);
    const used = { ...block(0, "a"), counts: full(1) };
    expect(poolUsage(large, [], [used], 1)).toMatchObject({
      capacity: 1n << 80n,
      available: (1n << 80n) - 64n,
      usedPercent: 0,
    });
  });
});

describe("a plan of claims", () => {
  const EVERYTHING = { endingFrom: () => ({ first: 0n, last: 7n }) };

  it("lists own blocks that the owner does not know, free ones in turn, then those to ask back", () => {
    const taken = [block(2, "a"), block(3, "b"), block(4, "b")];
    const directory = new PoolDirectory(taken, 0);
    directory.learn(3n, counts({ allocated: 1 }), 0);
    directory.learn(4n, counts({}), 0);
    const wish = { owner: "a", known: NONE, tried: NONE, excluded: [[5n, 6n]] as const };
    const extents = {
      endingFrom: (position: bigint) =>
        [
          { first: 0n, last: 1n },
          { first: 5n, last: 7n },
        ].find(({ last }) => last >= position),
    };
    const plan = planClaims(directory, extents, 8n, wish, 10, 0);
    expect(plan[0]).toEqual({ kind: "own", position: 2n });
    const free = plan.filter(({ kind }) => kind === "free").map(({ position }) => position);
    expect(free.toSorted()).toEqual([0n, 1n, 7n]);
    expect(plan.filter(({ kind }) => kind === "reclaim")).toEqual([
      { kind: "reclaim", position: 4n, owner: "b", rank: 0 },
    ]);
  });

  it("begins with what a claim would choose, and takes no more free ones than asked for", () => {
    const directory = new PoolDirectory([], 0);
    for (const owner of ["a", "b", "c", "node-17"]) {
      const wish = { owner, known: NONE, tried: NONE, excluded: [] };
      const chosen = chooseBlock(directory, EVERYTHING, 8n, wish, 0);
      const plan = planClaims(directory, EVERYTHING, 8n, wish, 3, 0);
      expect(plan).toHaveLength(3);
      expect(chosen).toEqual(plan[0]);
    }
  });
});
