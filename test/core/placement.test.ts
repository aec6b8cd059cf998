/** What a policy leaves of blocks and pools, against counting address by address. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { formatAddress } from "../../src/core/address.ts";
import { addressAt, blockOf, parseCidr, size } from "../../src/core/cidr.ts";
import type { Considered } from "../../src/core/errors.ts";
import { inRanges } from "../../src/core/ordinal.ts";
import {
  boundConsidered,
  interfacePrefix,
  isInPool,
  reservedOrdinals,
  reservedPositions,
  type SearchEnd,
  shortageCode,
} from "../../src/core/placement.ts";
import { runs } from "../support/seeds.ts";
import { compiled } from "./policies.ts";

const POOLS = {
  v4: { cidr: "10.0.0.0/25", base: "10.0.0.0", width: 32, blockSize: 28 },
  v6: { cidr: "fd00::/121", base: "fd00::", width: 128, blockSize: 124 },
};
const hostBits = 7;

/** Reservations inside and around the pool, as offset and number of host bits. */
const reservations = fc.array(
  fc.record({ offset: fc.integer({ min: 0, max: 255 }), free: fc.integer({ min: 0, max: 6 }) }),
  { minLength: 1, maxLength: 5 },
);

test("I7: the ordinals held back are exactly those in a reservation, the gateway, or the ends of the pool", () => {
  const pool = fc.constantFrom(POOLS.v4, POOLS.v6);
  fc.assert(
    fc.property(pool, reservations, fc.nat(127), fc.boolean(), (given, held, gatewayAt, isFlat) => {
      const range = parseCidr(given.cidr);
      if (!range.ok) throw new Error(range.error.message);
      const at = (offset: number) => ({
        family: range.value.family,
        value: range.value.base + BigInt(offset),
      });
      const cidrs = held.map(({ offset, free }) => blockOf(at(offset), given.width - free));
      const policy = compiled({
        pools: {
          p: {
            cidr: given.cidr,
            blockSize: given.blockSize,
            gateway: formatAddress(at(gatewayAt)),
            answerPrefix: isFlat ? "pool" : "block",
          },
        },
        reservedCIDRs: cidrs.map(
          (cidr) => `${formatAddress({ family: cidr.family, value: cidr.base })}/${cidr.prefix}`,
        ),
      });
      const [only] = policy.pools;
      if (only === undefined) throw new Error("there is one pool");
      const isHeldBack = (offset: number): boolean => {
        const { value } = at(offset);
        const isReserved = cidrs.some((cidr) => cidr.base <= value && value < cidr.base + size(cidr));
        return isReserved || offset === gatewayAt || (isFlat && (offset === 0 || offset === 127));
      };
      const whole: number[] = [];
      for (let position = 0; position < 2 ** hostBits / 16; position += 1) {
        const block = blockOf(addressAt(range.value, position * 16), given.blockSize);
        const ranges = reservedOrdinals(policy, only, block);
        const inside = Array.from({ length: 16 }, (_, ordinal) => inRanges(ranges, ordinal));
        const expected = inside.map((_, ordinal) => isHeldBack(position * 16 + ordinal));
        expect(inside, `block ${position}`).toEqual(expected);
        if (expected.every(Boolean)) whole.push(position);
      }
      const excluded = reservedPositions(policy, only);
      const positions = Array.from({ length: 8 }, (_, position) => position).filter((position) =>
        excluded.some(([first, last]) => first <= BigInt(position) && BigInt(position) <= last),
      );
      expect(positions, "only blocks without one usable address are left out").toEqual(whole);
    }),
    { numRuns: runs(200) },
  );
});

test("a shortage is named by the first rule that stands in the way", () => {
  const names = ["capReached", "autoAllocateOff", "strict", "othersHaveRoom"] as const;
  for (let mask = 0; mask < 32; mask += 1) {
    const flag = (place: number) => ((mask >> place) & 1) === 1;
    const flags = Object.fromEntries(names.map((name, place) => [name, flag(place)]));
    const end = { ...flags, ...(flag(4) ? { nextFreeAt: 5 } : {}) } as unknown as SearchEnd;
    const code = shortageCode(end);
    const reasons = [
      [end.capReached, "block_limit_reached"],
      [end.autoAllocateOff, "auto_allocate_disabled"],
      [end.strict && end.othersHaveRoom, "strict_affinity"],
      [flag(4), "pool_cooling"],
      [true, "pool_exhausted"],
    ] as const;
    expect(code).toBe(reasons.find(([holds]) => holds)?.[1]);
  }
});

test("an answer carries the prefix that its pool asks for", () => {
  for (const { cidr, blockSize, width } of [POOLS.v4, POOLS.v6]) {
    const prefixOf = (answerPrefix: "block" | "pool" | "host") => {
      const [pool] = compiled({ pools: { p: { cidr, blockSize, answerPrefix } } }).pools;
      return pool === undefined ? undefined : interfacePrefix(pool);
    };
    expect([prefixOf("block"), prefixOf("pool"), prefixOf("host")]).toEqual([
      blockSize,
      width - hostBits,
      width,
    ]);
  }
});

test("a block is in a pool when all of it is", () => {
  const [pool] = compiled({ pools: { p: { cidr: POOLS.v4.cidr } } }).pools;
  const isIn = (text: string) => {
    const block = parseCidr(text);
    return block.ok && pool !== undefined && isInPool(pool, block.value);
  };
  expect(["10.0.0.0/26", "10.0.0.64/26", "10.0.0.0/25"].map(isIn)).toEqual([true, true, true]);
  expect(["10.0.0.128/26", "9.255.255.192/26", "10.0.0.0/24", "fd00::/122"].map(isIn)).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

test("a list of considered rules is cut from its end, and says by how many", () => {
  const all = [1, 2, 3].map((n): Considered => ({ kind: "block", outcome: "full", rule: "full", free: n }));
  expect(boundConsidered(all, 2)).toEqual({ considered: all.slice(0, 2), omitted: 1 });
  expect(boundConsidered(all, 3)).toEqual({ considered: all, omitted: 0 });
});
