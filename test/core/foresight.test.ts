/** What a request would get, from facts alone: own blocks, claims under the cap, others. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FamilyGround, type ForeseenClaim, foresee, freshRoom } from "../../src/core/foresight.ts";
import { shortageCode } from "../../src/core/placement.ts";

function claim(block: string, more: Partial<ForeseenClaim> = {}): ForeseenClaim {
  return { block, kind: "free", rank: 0, isGiven: true, available: 4, isUsed: false, ...more };
}

function ground(more: Partial<FamilyGround> = {}): FamilyGround {
  return {
    wanted: 10,
    own: { available: 0 },
    owned: 0,
    cap: 20,
    autoAllocateBlocks: true,
    strict: false,
    claims: [],
    others: { available: 0 },
    ...more,
  };
}

const refused = (name: string) => claim(name, { kind: "reclaim", isGiven: false });
const given = (name: string, rank = 0) => claim(name, { kind: "reclaim", rank });

describe("foresee", () => {
  it("own blocks first, then as many claims as are needed, then others", () => {
    const claims = [[claim("a"), claim("b"), claim("c")]];
    expect(foresee(ground({ wanted: 3, own: { available: 3 }, claims })).claimed).toEqual([]);
    expect(foresee(ground({ wanted: 7, own: { available: 3 }, claims }))).toMatchObject({
      allocated: 7,
      claimed: ["a"],
      owned: 1,
    });
    const others = { available: 5 };
    expect(foresee(ground({ wanted: 16, claims, others })).allocated).toBe(16);
    expect(foresee(ground({ wanted: 18, claims, others })).allocated).toBe(17);
  });

  it("I10: claims stop at the cap, and a capped host borrows nothing", () => {
    const claims = [[claim("a"), claim("b")]];
    const capped = foresee(ground({ claims, cap: 1, others: { available: 99, nextFreeAt: 5 } }));
    expect(capped).toMatchObject({ allocated: 4, claimed: ["a"] });
    expect(capped.end).toMatchObject({ capReached: true, othersHaveRoom: true });
    expect(capped.end.nextFreeAt).toBeUndefined();
    expect(shortageCode(capped.end)).toBe("block_limit_reached");
  });

  it("a host whose blocks fill the cap and suffice is not short", () => {
    const { allocated, end } = foresee(ground({ wanted: 2, own: { available: 2 }, owned: 3, cap: 3 }));
    expect([allocated, end.capReached]).toEqual([2, false]);
  });

  it("I8: strict affinity takes nothing of others, and says that they have room", () => {
    const { allocated, end } = foresee(ground({ strict: true, others: { available: 99 } }));
    expect([allocated, shortageCode(end)]).toEqual([0, "strict_affinity"]);
  });

  it("without automatic claims there is neither a claim nor borrowing", () => {
    const switches = { autoAllocateBlocks: false, strict: true };
    const { allocated, end } = foresee(
      ground({ ...switches, claims: [[claim("a")]], others: { available: 9 } }),
    );
    expect([allocated, shortageCode(end)]).toEqual([0, "auto_allocate_disabled"]);
  });

  it("what cools tells when, where the host may take it", () => {
    const times = { own: { available: 0, nextFreeAt: 7 }, others: { available: 0, nextFreeAt: 5 } };
    expect(foresee(ground(times)).end.nextFreeAt).toBe(5);
    expect(foresee(ground({ ...times, strict: true })).end.nextFreeAt).toBe(7);
  });

  it("a new block without a usable address ends the claims of its pool; one that others filled does not", () => {
    const none = { available: 0 };
    const next = [claim("c")];
    expect(foresee(ground({ claims: [[claim("a", none), claim("b")], next] })).claimed).toEqual(["a", "c"]);
    const filled = claim("a", { ...none, isUsed: true });
    expect(foresee(ground({ claims: [[filled, claim("b")], next] })).claimed).toEqual(["a", "b", "c"]);
  });

  it("of three owners that refuse the third ends the claim; a refusal goes behind its class", () => {
    const three = [refused("a"), refused("b"), refused("c"), given("d")];
    expect(foresee(ground({ claims: [three] })).claimed).toEqual([]);
    const two = [refused("a"), refused("b"), given("c"), given("d"), given("e", 1)];
    // After c the refusals stand behind d; e is of a later class, and they are asked before it.
    expect(foresee(ground({ wanted: 99, claims: [two] })).claimed).toEqual(["c", "d", "e"]);
  });

  it("never gives more than there is, nor claims beyond the cap", () => {
    const anyClaim = fc.record({
      kind: fc.constantFrom("own", "free", "reclaim"),
      rank: fc.integer({ min: 0, max: 3 }),
      isGiven: fc.boolean(),
      available: fc.integer({ min: 0, max: 8 }),
      isUsed: fc.boolean(),
    });
    const anyGround = fc.record({
      wanted: fc.integer({ min: 1, max: 40 }),
      own: fc.record({ available: fc.integer({ min: 0, max: 40 }) }),
      owned: fc.integer({ min: 0, max: 5 }),
      cap: fc.integer({ min: 1, max: 8 }),
      autoAllocateBlocks: fc.boolean(),
      strict: fc.boolean(),
      claims: fc.array(fc.array(anyClaim, { maxLength: 8 }), { maxLength: 3 }),
      others: fc.record({ available: fc.integer({ min: 0, max: 40 }) }),
    });
    fc.assert(
      fc.property(anyGround, ({ claims, ...rest }) => {
        const named = claims.map((pool, at) => pool.map((one, n) => ({ ...one, block: `${at}-${n}` })));
        const { allocated, owned, claimed } = foresee({ ...rest, claims: named } as FamilyGround);
        const room = named.flat().filter(({ block }) => claimed.includes(block));
        const most = room.reduce((sum, { available }) => sum + available, rest.own.available);
        expect(allocated).toBeLessThanOrEqual(Math.min(rest.wanted, most + rest.others.available));
        expect(new Set(claimed).size).toBe(claimed.length);
        expect(room.every(({ isGiven }) => isGiven)).toBe(true);
        expect(owned).toBeLessThanOrEqual(Math.max(rest.owned, rest.cap));
      }),
    );
  });
});

it("I7: a block that is born has neither reserved addresses to give nor those set aside for the host", () => {
  expect(freshRoom(8, [], undefined)).toBe(8);
  expect(freshRoom(8, [[0, 1]], { start: 1, end: 2 })).toBe(4);
  expect(freshRoom(4, [[0, 3]], undefined)).toBe(0);
  expect(freshRoom(4, [], { start: 3, end: 3 })).toBe(0);
});
