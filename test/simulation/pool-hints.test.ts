/** The Pool's hints, lists and sums on the simulated platform, and what they cost at scale. */
import { describe, expect, test } from "vitest";
import { claimed, counts, poolWorld } from "./pool-world.ts";

describe("reports", () => {
  test("an older count, and one of a block that does not exist, are ignored", async () => {
    const { claim, report, entry } = poolWorld();
    const { block } = claimed(await claim("a"));
    expect(await report(block, counts({ allocated: 5, asOf: 100 }))).toEqual({ accepted: 1 });
    expect(await report(block, counts({ allocated: 9, asOf: 99 }))).toEqual({ accepted: 0 });
    expect((await entry(block))?.counts?.allocated).toBe(5);
    const { block: other } = claimed(await claim("b"));
    expect(other).not.toBe(block);
    expect(await report("10.9.9.0/26", counts({ asOf: 100 }))).toEqual({ accepted: 0 });
  });

  test("a row is written when a block turns empty or not, not for each count; a wake keeps it", async () => {
    const { claim, report, entry, evict, counters } = poolWorld();
    const { block } = claimed(await claim("a"));
    const before = (await counters()).rowsWritten;
    await report(block, counts({ asOf: 1 }));
    expect((await counters()).rowsWritten).toBe(before);
    await report(block, counts({ allocated: 1, asOf: 2 }));
    expect((await counters()).rowsWritten).toBe(before + 1);
    for (let n = 2; n < 60; n += 1) await report(block, counts({ allocated: n, asOf: n + 1 }));
    expect((await counters()).rowsWritten).toBe(before + 1);
    expect((await entry(block))?.counts?.allocated).toBe(59);
    evict();
    expect((await entry(block))?.counts).toEqual(counts({ allocated: 1, asOf: 2 }));
  });

  test("after a wake a block stored as empty is reclaimed first, one stored as not empty is not", async () => {
    const { world, claim, report, evict } = poolWorld({ cidr: "10.0.0.0/25" });
    const one = claimed(await claim("a"));
    const two = claimed(await claim("b"));
    const { now } = world;
    await report(one.block, counts({ allocated: 3, asOf: now }));
    await report(two.block, counts({ allocated: 3, asOf: now }));
    await report(two.block, counts({ asOf: now + 1 }));
    evict();
    expect(await claim("c")).toMatchObject({ kind: "reclaim", block: two.block, owner: "b" });
    expect((await claim("c", { tried: [two.block] })).kind).toBe("none");
  });

  test("I5: a release forgets the counts of a block", async () => {
    const { claim, ask, report, entry, evict } = poolWorld();
    const { block, epoch } = claimed(await claim("a"));
    await report(block, counts({ allocated: 1, asOf: 1 }));
    await ask("retired", { block, epoch });
    expect(await entry(block)).toEqual({ block, state: "free", epoch });
    evict();
    expect(await entry(block)).toEqual({ block, state: "free", epoch });
    expect(await report(block, counts({ allocated: 1, asOf: 2 }))).toEqual({ accepted: 0 });
  });
});

describe("borrowCandidates", () => {
  test("names blocks of others with room first, never draining ones, and learns what was seen", async () => {
    const { claim, ask, report, borrow } = poolWorld();
    const own = claimed(await claim("a"));
    const roomy = claimed(await claim("b"));
    const unknown = claimed(await claim("c"));
    const draining = claimed(await claim("d"));
    await report(roomy.block, counts({ allocated: 60, asOf: 1 }));
    await report(draining.block, counts({ allocated: 1, asOf: 1 }));
    await ask("release", { owner: "d", block: draining.block, epoch: draining.epoch, draining: true });
    const first = await borrow("a");
    expect(first.candidates).toEqual([
      { block: roomy.block, owner: "b", known: true },
      { block: unknown.block, owner: "c", known: false },
    ]);
    expect((await borrow("a", { tried: [roomy.block], limit: 1 })).candidates).toEqual([first.candidates[1]]);
    const full = (block: string, nextFreeAt: number) => ({
      block,
      counts: counts({ allocated: 63, cooling: 1, nextFreeAt, asOf: 2 }),
    });
    const later = 4e12;
    const seen = [full(roomy.block, later + 5), full(unknown.block, later)];
    expect(await borrow("a", { seen })).toEqual({ candidates: [], nextFreeAt: later });
    expect((await borrow("z")).candidates.map(({ block }) => block)).toEqual([own.block]);
  });

  test("a full block is a candidate again once an address has cooled", async () => {
    const { world, claim, report, borrow } = poolWorld();
    const { block } = claimed(await claim("b"));
    const nextFreeAt = Math.ceil(world.now) + 5_000;
    await report(block, counts({ allocated: 63, cooling: 1, nextFreeAt, asOf: Math.ceil(world.now) }));
    expect(await borrow("a")).toEqual({ candidates: [], nextFreeAt });
    await world.advance(5_001);
    expect((await borrow("a")).candidates).toEqual([{ block, owner: "b", known: true }]);
  });
});

describe("reads", () => {
  test("create no tables", async () => {
    const { world, object, ask, report, borrow } = poolWorld();
    expect(await ask("find", { block: "10.0.0.0/26" })).toEqual({});
    expect(await ask("list", { limit: 5 })).toEqual({ entries: [] });
    expect(await report("10.0.0.0/26", counts({ asOf: 1 }))).toEqual({ accepted: 0 });
    expect(await borrow("a")).toEqual({ candidates: [] });
    const usage = await ask("usage", { reservedCidrs: ["10.0.0.0/28"] });
    expect(usage).toMatchObject({
      capacity: "256",
      reserved: "16",
      available: "240",
      usedPercent: 6.25,
      blocks: 0,
    });
    expect(world.rows(object, "SELECT name FROM sqlite_master")).toEqual([]);
  });

  test("list pages through the blocks that exist in address order, of all or of one owner", async () => {
    const { ask } = poolWorld({ cidr: "fd00::/48", blockSize: 122 });
    const blocks = [
      "fd00::/122",
      "fd00::40/122",
      "fd00::ff00/122",
      "fd00:0:0:1::/122",
      "fd00:0:0:f000::/122",
    ];
    for (const [i, block] of blocks.toReversed().entries()) await ask("fresh", { owner: `o${i % 2}`, block });
    await ask("retired", { block: blocks[1]!, epoch: 4 });
    const pages = async (owner?: string) => {
      const found: string[] = [];
      for (let after: string | undefined, i = 0; i < 9; i += 1) {
        const paging = {
          ...(owner === undefined ? {} : { owner }),
          ...(after === undefined ? {} : { after }),
        };
        const page = await ask("list", { limit: 2, ...paging });
        expect(page.entries.length).toBeLessThanOrEqual(2);
        found.push(...page.entries.map(({ block }) => block));
        after = page.next;
        if (after === undefined) break;
      }
      return found;
    };
    expect(await pages()).toEqual([blocks[0], blocks[2], blocks[3], blocks[4]]);
    expect(await pages("o0")).toEqual([blocks[0], blocks[2], blocks[4]]);
    expect(await pages("o1")).toEqual([blocks[3]]);
    expect(await pages("o2")).toEqual([]);
  });

  test("I14: usage sums dated figures, with decimal strings beyond 2^53", async () => {
    const { claim, report, ask } = poolWorld({ cidr: "fd00::/48", blockSize: 122 });
    const { block } = claimed(await claim("a"));
    await report(block, counts({ allocated: 60, cooling: 4, nextFreeAt: 4e12, asOf: 5 }));
    expect(await ask("usage", { reservedCidrs: ["fd00::/112", "10.0.0.0/8"] })).toEqual({
      capacity: String(1n << 80n),
      allocated: "60",
      cooling: "4",
      reserved: "65536",
      available: String((1n << 80n) - 65536n - 64n),
      usedPercent: 0,
      blocks: 1,
      blocksFull: 1,
      blocksUnowned: 0,
      nextFreeAt: 4e12,
      asOf: 5,
      exact: false,
    });
  });
});

describe("cost", () => {
  test("does not grow with 262,144 blocks at 99 %", async () => {
    const { claim, ask, fill, borrow, counters, evict } = poolWorld({ cidr: "10.0.0.0/10", blockSize: 28 });
    await claim("a");
    await fill(262_144);
    evict();
    await borrow("wake");
    const cost = async (work: () => Promise<unknown>) => {
      const before = await counters();
      await work();
      const after = await counters();
      return { read: after.rowsRead - before.rowsRead, written: after.rowsWritten - before.rowsWritten };
    };
    const claim1 = await cost(() => claim("node-1"));
    expect(claim1.read).toBeLessThanOrEqual(5);
    expect(claim1.written).toBe(3);
    for (let i = 0; i < 50; i += 1) expect((await claim(`other-${i}`)).kind).toBe("claim");
    expect(await cost(() => borrow("node-1"))).toEqual({ read: 1, written: 0 });
    const fresh = await cost(() => ask("fresh", { owner: "filler-5", block: "10.0.0.80/28" }));
    expect(fresh).toEqual({ read: 2, written: 2 });
  });

  test("finds the few blocks that are not excluded among 2^74", async () => {
    const { claim, counters } = poolWorld({ cidr: "fd00::/48", blockSize: 122 });
    const last = (1n << 74n) - 1n;
    const excluded = [
      [0n, 1n << 72n],
      [(1n << 72n) + 2n, last],
    ] as const;
    const { block } = claimed(await claim("a", { excluded }));
    expect(block).toBe("fd00:0:0:4000::40/122");
    const before = (await counters()).rowsRead;
    expect((await claim("a", { excluded, known: [block] })).kind).toBe("none");
    expect((await counters()).rowsRead - before).toBeLessThanOrEqual(8);
    expect(await claim("b", { excluded })).toMatchObject({ kind: "reclaim", block });
  });

  test("of one-address blocks that an owner has in a row is one step", async () => {
    const { claim, counters } = poolWorld({ cidr: "10.0.0.0/20", blockSize: 32 });
    const known: string[] = [];
    for (let i = 0; i < 40; i += 1) known.push(claimed(await claim("a", { known })).block);
    const before = (await counters()).rowsRead;
    await claim("a", { known });
    expect((await counters()).rowsRead - before).toBeLessThanOrEqual(5);
    expect(new Set(known).size).toBe(40);
  });
});
