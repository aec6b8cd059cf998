/** The Pool on the simulated platform: epochs, fencing, repeats, evictions, two instances. */
import { describe, expect, test } from "vitest";
import type { PoolClaimAnswer } from "../../src/rpc/pool.ts";
import { noteCases } from "../support/cases.ts";
import { range, seeds } from "../support/seeds.ts";
import { Random } from "../support/simulation/random.ts";
import { claimed, EPOCHS, poolWorld } from "./pool-world.ts";

describe("claim", () => {
  test("gives each owner another block until there is none", async () => {
    const { claim, extents } = poolWorld();
    const blocks = [];
    for (const owner of ["a", "b", "c", "d"]) blocks.push(claimed(await claim(owner)).block);
    expect(blocks.toSorted()).toEqual(["10.0.0.0/26", "10.0.0.128/26", "10.0.0.192/26", "10.0.0.64/26"]);
    expect(extents()).toEqual([]);
    expect((await claim("e", { tried: blocks })).kind).toBe("none");
  });

  test("F9: a block that its owner does not know comes again, with a fresh stored epoch", async () => {
    const { claim, entry } = poolWorld();
    const first = claimed(await claim("a"));
    const again = claimed(await claim("a"));
    expect(again.block).toBe(first.block);
    expect(again.epoch).toBeGreaterThan(first.epoch);
    expect(await entry(first.block)).toMatchObject({ state: "owned", owner: "a", epoch: again.epoch });
    expect(claimed(await claim("a", { known: [first.block] })).block).not.toBe(first.block);
  });

  test("F10: a reclaim stores a fresh epoch and leaves the block to its owner", async () => {
    const { claim, ask, entry } = poolWorld({ cidr: "10.0.0.0/26" });
    const { block, epoch } = claimed(await claim("a"));
    const asked = await claim("b");
    expect(asked).toMatchObject({ kind: "reclaim", block, owner: "a" });
    const fenced = asked.kind === "reclaim" ? asked.epoch : 0;
    expect(fenced).toBeGreaterThan(epoch);
    expect(await entry(block)).toMatchObject({ state: "owned", owner: "a", epoch: fenced });
    expect(await ask("release", { owner: "a", block, epoch, draining: false })).toEqual({ applied: false });
    expect(await ask("release", { owner: "a", block, epoch: fenced, draining: false })).toEqual({
      applied: true,
    });
    expect(claimed(await claim("b")).epoch).toBeGreaterThan(fenced);
  });

  test("I7: excluded positions are not offered, not even to their owner", async () => {
    const { claim } = poolWorld();
    const excluded = [
      [0n, 1n],
      [3n, 3n],
    ] as const;
    expect(claimed(await claim("a", { excluded })).block).toBe("10.0.0.128/26");
    expect((await claim("a", { excluded: [[0n, 3n]] })).kind).toBe("none");
    expect((await claim("b", { excluded: [[0n, 3n]] })).kind).toBe("none");
  });

  test("F19, CE-12: a later incarnation's epochs are higher, whatever the earlier one issued", async () => {
    const { claim } = poolWorld({ incarnation: 7 });
    expect(claimed(await claim("a")).epoch).toBe(7 * EPOCHS + 1);
  });

  test("writes three rows once the free space is cut, two for a block without extents to change", async () => {
    const { claim, counters } = poolWorld({ cidr: "10.0.0.0/16" });
    const first = claimed(await claim("a"));
    const rows = async () => (await counters()).rowsWritten;
    const before = await rows();
    await claim("a", { known: [first.block] });
    expect((await rows()) - before).toBe(3);
    await claim("a");
    expect((await rows()) - before).toBe(5);
  });
});

/** All blocks of an answer. */
function offersOf(answer: PoolClaimAnswer) {
  return answer.kind === "claim" ? [answer, ...(answer.more ?? [])] : [];
}

describe("a claim of several blocks", () => {
  test("F9: gives up to four, each with a fresh stored epoch, in one commit", async () => {
    const { claim, counters, entry } = poolWorld({ cidr: "10.0.0.0/16" });
    await claim("a");
    const before = (await counters()).commits;
    const all = offersOf(await claim("b", { more: 9 }));
    expect((await counters()).commits - before).toBe(1);
    expect(new Set(all.map(({ block }) => block)).size).toBe(4);
    expect(all.map(({ epoch }) => epoch)).toEqual([2, 3, 4, 5]);
    for (const { block, epoch } of all) {
      expect(await entry(block)).toMatchObject({ state: "owned", owner: "b", epoch });
    }
  });

  test("gives one where fewer than 64 would be left beside each other", async () => {
    const { claim } = poolWorld({ cidr: "10.0.0.0/20" });
    expect(await claim("a", { more: 3 })).toMatchObject({ kind: "claim", more: [] });
  });

  test("I7: gives none that is wholly reserved", async () => {
    const { claim } = poolWorld({ cidr: "10.0.0.0/16" });
    const excluded = Array.from({ length: 512 }, (_, n) => [BigInt(2 * n), BigInt(2 * n)] as const);
    const offers = offersOf(await claim("a", { more: 3, excluded }));
    expect(offers).toHaveLength(4);
    for (const { block } of offers) expect(block).toMatch(/\.(64|192)\/26$/);
  });

  test("says that the owner is in step only when it knows all that is its own", async () => {
    const { claim } = poolWorld();
    const first = await claim("a");
    expect(first).toMatchObject({ kind: "claim", inStep: true });
    const unknown = await claim("a");
    expect(claimed(unknown).block).toBe(claimed(first).block);
    expect(unknown).not.toHaveProperty("inStep");
    const second = claimed(await claim("a", { inStep: true }));
    expect(second.block).not.toBe(claimed(first).block);
  });
});

test("a terminating pool refuses claims and lends nothing; fresh says so, so that blocks can be released", async () => {
  const { claim, ask, borrow, setTerminating } = poolWorld();
  const { block, epoch } = claimed(await claim("a"));
  expect((await borrow("b")).candidates.length).toBe(1);
  await setTerminating();
  for (const owner of ["a", "b"]) expect((await claim(owner)).kind).toBe("terminating");
  expect(await borrow("b")).toEqual({ candidates: [] });
  const fresh = await ask("fresh", { owner: "a", block });
  expect(fresh).toEqual({ kind: "claim", epoch: epoch + 1, terminating: true });
  const release = { owner: "a", block, epoch: epoch + 1, draining: false };
  expect(await ask("release", release)).toEqual({ applied: true });
});

describe("release, retired and fresh", () => {
  test("F15: a late release or retirement at an earlier epoch changes nothing", async () => {
    const { claim, ask, entry, extents } = poolWorld();
    const { block, epoch } = claimed(await claim("a"));
    const late = { block, epoch, owner: "a", draining: false };
    const second = claimed(await claim("a"));
    const before = { entry: await entry(block), extents: extents() };
    expect(await ask("release", late)).toEqual({ applied: false });
    expect(await ask("retired", { block, epoch })).toEqual({ applied: false });
    expect(await ask("release", { ...late, owner: "b", epoch: second.epoch })).toEqual({ applied: false });
    expect(await ask("retired", { block, epoch: second.epoch + 1 })).toEqual({ applied: false });
    expect({ entry: await entry(block), extents: extents() }).toEqual(before);
  });

  test("F18, CE-29: a draining block is offered to nobody; it is free when it has retired", async () => {
    const { claim, ask, entry } = poolWorld({ cidr: "10.0.0.0/26" });
    const { block, epoch } = claimed(await claim("a"));
    expect(await ask("release", { owner: "a", block, epoch, draining: true })).toEqual({ applied: true });
    expect(await entry(block)).toEqual({ block, state: "draining", epoch });
    for (const owner of ["a", "b"]) expect((await claim(owner)).kind).toBe("none");
    expect(await ask("retired", { block, epoch })).toEqual({ applied: true });
    expect(await entry(block)).toEqual({ block, state: "free", epoch });
    expect(claimed(await claim("b"))).toMatchObject({ block, epoch: epoch + 1 });
  });

  test("repeats are acknowledged and change nothing, in any order", async () => {
    const { claim, ask, entry, extents } = poolWorld();
    const { block, epoch } = claimed(await claim("a"));
    const release = { owner: "a", block, epoch, draining: true };
    await ask("retired", { block, epoch });
    const after = { entry: await entry(block), extents: extents() };
    expect(await ask("release", release)).toEqual({ applied: true });
    expect(await ask("retired", { block, epoch })).toEqual({ applied: true });
    expect(await ask("release", { ...release, draining: false })).toEqual({ applied: true });
    expect({ entry: await entry(block), extents: extents() }).toEqual(after);
    expect(extents()).toEqual([[0n, 3n]]);
  });

  test("fresh gives the owner a higher epoch for its own, a free and a draining block", async () => {
    const { ask, entry, extents } = poolWorld();
    const block = "10.0.0.64/26";
    const fresh = async (owner: string) => ask("fresh", { owner, block });
    expect(await fresh("a")).toEqual({ kind: "claim", epoch: 1, terminating: false });
    expect(await fresh("a")).toEqual({ kind: "claim", epoch: 2, terminating: false });
    expect(extents()).toEqual([
      [0n, 0n],
      [2n, 3n],
    ]);
    await ask("release", { owner: "a", block, epoch: 2, draining: true });
    expect(await fresh("b")).toEqual({ kind: "claim", epoch: 3, terminating: false });
    expect(await fresh("a")).toEqual({ kind: "other", owner: "b" });
    expect(await entry(block)).toMatchObject({ owner: "b", epoch: 3 });
    await ask("retired", { block, epoch: 3 });
    expect(extents()).toEqual([[0n, 3n]]);
    expect(await fresh("a")).toEqual({ kind: "claim", epoch: 4, terminating: false });
  });

  test("a message for another range is a defect, and leaves nothing behind", async () => {
    const { world, object, target, claim, ask } = poolWorld();
    await claim("a");
    const other = { ...target, cidr: "10.1.0.0/24", owner: "b", known: [], excluded: [], tried: [] };
    await expect(world.ask(object, "claim", other)).rejects.toThrow("another pool");
    await expect(ask("fresh", { owner: "b", block: "10.1.0.0/26" })).rejects.toThrow("no block of this pool");
    expect((await ask("list", { limit: 9 })).entries.length).toBe(1);
  });
});

describe("crashes and old instances", () => {
  test("a claim that was not committed was never made; one that was comes again with a higher epoch", async () => {
    const { world, object, call, claim, entry } = poolWorld();
    const request = { owner: "a", known: [], excluded: [], tried: [] };
    await claim("z");
    world.crash(object, "before-commit", "claim");
    const lost = call("claim", request);
    await world.run();
    expect(lost.state).toBe("failed");
    world.crash(object, "after-commit", "claim");
    const unanswered = call("claim", request);
    await world.run();
    expect(unanswered.state).toBe("failed");
    const { block, epoch } = claimed(await claim("a"));
    expect(epoch).toBe(3);
    expect(await entry(block)).toMatchObject({ owner: "a", epoch: 3 });
  });

  test("two instances on one storage never issue an epoch twice nor give a block to two owners", async () => {
    const { world, object, target, claim } = poolWorld({ cidr: "10.0.0.0/22" });
    await claim("warm");
    const old = world.supersede(object, "shared");
    const seen = new Map<string, string>();
    const epochs = new Set<number>();
    for (let i = 0; i < 14; i += 1) {
      const request = { ...target, owner: `node-${i}`, known: [], excluded: [], tried: [] };
      const call = i % 2 === 0 ? old.call("claim", request) : world.call(object, "claim", request);
      const { block, epoch } = claimed((await world.answerOf(call)) as never);
      expect(seen.get(block)).toBeUndefined();
      seen.set(block, request.owner);
      epochs.add(epoch);
    }
    expect(epochs.size).toBe(14);
    expect(seen.size).toBe(14);
    // The new instance does not remember what the old one claimed; the row says whose it is.
    expect(await claim("node-99", { tried: [] })).toMatchObject({ kind: "claim" });
    const asked = await claim("node-98");
    expect(asked).toMatchObject({ kind: "reclaim" });
    if (asked.kind === "reclaim") expect(seen.get(asked.block) ?? "warm").toBe(asked.owner);
  });

  test("I6: an old instance that remembers an owner believes the row", async () => {
    const { world, object, target, claim, ask, entry } = poolWorld({ cidr: "10.0.0.0/25" });
    const { block, epoch } = claimed(await claim("a"));
    const old = world.supersede(object, "shared");
    await ask("release", { owner: "a", block, epoch, draining: false });
    const passed = await ask("fresh", { owner: "b", block });
    expect(passed.kind).toBe("claim");
    const request = { ...target, owner: "a", known: [], excluded: [], tried: [] };
    const answer = claimed((await world.answerOf(old.call("claim", request))) as never);
    expect(answer.block).not.toBe(block);
    expect(await entry(block)).toMatchObject({ owner: "b" });
    // The same for a reclaim: the owner to ask is the one in the row.
    const other = await world.answerOf(old.call("claim", { ...request, owner: "c", tried: [answer.block] }));
    expect(other).toMatchObject({ kind: "reclaim", block, owner: "b" });
  });

  test.each(seeds(range(1, 6)))(
    "I5, I6: blocks and free space cover the pool once, epochs only rise (seed %i)",
    async (seed) => {
      noteCases(1);
      const { world, target, ask, claim, evict, extents } = poolWorld({ cidr: "10.0.0.0/23" }, seed);
      const random = new Random(seed);
      const owners = ["a", "b", "c"];
      const granted: { block: string; owner: string; epoch: number; at: number }[] = [];
      const holders = new Map<string, { owner: string | undefined; epoch: number }>();
      let last = 0;
      const issued = (block: string, owner: string, epoch: number) => {
        expect(epoch).toBeGreaterThan(last);
        last = epoch;
        holders.set(block, { owner, epoch });
        granted.push({ block, owner, epoch, at: granted.length });
      };
      for (let step = 0; step < 120; step += 1) {
        if (random.chance(0.1)) evict();
        const owner = random.pick(owners);
        const message = granted.length > 0 ? random.pick(granted) : undefined;
        const what = random.below(5);
        if (what < 2 || message === undefined) {
          const own = [...holders].filter(([, holder]) => holder.owner === owner).map(([block]) => block);
          const answer = await claim(owner, { known: random.chance(0.8) ? own : [] });
          if (answer.kind === "claim") {
            const before = holders.get(answer.block);
            expect(before?.owner === undefined || before.owner === owner).toBe(true);
            issued(answer.block, owner, answer.epoch);
          } else if (answer.kind === "reclaim") {
            expect(holders.get(answer.block)?.owner).toBe(answer.owner);
            issued(answer.block, answer.owner, answer.epoch);
          }
          continue;
        }
        const { block, epoch } = message;
        const isCurrent = holders.get(block)?.epoch === epoch;
        if (what === 2) {
          const answer = await ask("fresh", { owner, block });
          const holder = holders.get(block)?.owner;
          expect(answer.kind).toBe(holder === undefined || holder === owner ? "claim" : "other");
          if (answer.kind === "claim") issued(block, owner, answer.epoch);
        } else if (what === 3) {
          const draining = random.chance(0.4);
          const { applied } = await ask("release", { owner: message.owner, block, epoch, draining });
          expect(applied).toBe(isCurrent);
          if (isCurrent) holders.set(block, { owner: undefined, epoch });
        } else {
          expect((await ask("retired", { block, epoch })).applied).toBe(isCurrent);
          if (isCurrent) holders.set(block, { owner: undefined, epoch });
        }
      }
      const { entries } = await ask("list", { limit: 100 });
      for (const { block, owner, epoch } of entries) expect(holders.get(block)).toEqual({ owner, epoch });
      const base = (block: string) =>
        BigInt(Number(block.split(".")[2]) * 4 + Number(block.split(/[./]/)[3]) / 64);
      const covered = entries.map(({ block }) => base(block));
      for (const [first, lastFree] of extents()) for (let p = first; p <= lastFree; p += 1n) covered.push(p);
      expect(covered.toSorted((x, y) => Number(x - y))).toEqual([0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n]);
      expect(world.rows("pool:v1:default:default:0", "SELECT incarnation FROM pool")).toEqual([
        { incarnation: target.incarnation },
      ]);
      expect(granted.length).toBeGreaterThan(20);
    },
  );
});
