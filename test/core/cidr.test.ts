/** Ranges: strict and masked reading, names of blocks, and arithmetic between ranges. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addressAt,
  blockName,
  blockOf,
  type Cidr,
  containsAddress,
  containsCidr,
  formatCidr,
  lastAddress,
  ordinalOf,
  overlaps,
  parseBlockName,
  parseCidr,
  parseCidrMasked,
  size,
} from "../../src/core/cidr.ts";
import { addresses, cidrs } from "./arbitraries.ts";

function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed.ok) throw new Error(parsed.error.message);
  return parsed.value;
}

describe("parseCidr", () => {
  it.each([
    ["10.0.0.0/24", "10.0.0.0/24"],
    ["0.0.0.0/0", "0.0.0.0/0"],
    ["10.0.0.1/32", "10.0.0.1/32"],
    ["FD00:0::/64", "fd00::/64"],
    ["::/0", "::/0"],
    ["fd00::1/128", "fd00::1/128"],
  ])("reads %j as %j", (text, canonical) => {
    expect(formatCidr(cidr(text))).toBe(canonical);
  });

  it.each([
    ["", /missing/],
    ["10.0.0.0", /prefix length/],
    ["10.0.0.0/", /prefix length/],
    ["10.0.0.0/33", /0 to 32/],
    ["fd00::/129", /0 to 128/],
    ["10.0.0.0/024", /leading zeros/],
    ["10.0.0.0/-1", /prefix length/],
    ["10.0.0.0/2e1", /prefix length/],
    ["10.0.0.0/24 ", /prefix length/],
    ["10.0.0.0/24/24", /prefix length/],
    ["10.0.0/24", /four octets/],
    ["10.0.0.0/255.255.255.0", /prefix length/],
    ["10.0.0.0-26", /prefix length/],
    ["::ffff:10.0.0.0/104", /write 10\.0\.0\.0/],
    ["fe80::%1/64", /zone/],
    [`${"0".repeat(60)}/1`, /at most 49/],
  ])("refuses %j", (text, message) => {
    const parsed = parseCidr(text);
    expect(parsed).toMatchObject({ ok: false, error: { code: "invalid_cidr" } });
    if (!parsed.ok) expect(parsed.error.message).toMatch(message);
  });

  it("names the masked range where host bits are set", () => {
    expect(parseCidr("10.0.0.1/24")).toMatchObject({
      ok: false,
      error: {
        code: "host_bits_set",
        masked: "10.0.0.0/24",
        message: "Host bits are set: write 10.0.0.0/24.",
      },
    });
  });
});

describe("parseCidrMasked", () => {
  it.each([
    ["10.0.0.77/24", "10.0.0.0/24"],
    ["10.0.0.77", "10.0.0.77/32"],
    ["fd00::77", "fd00::77/128"],
    ["fd00::77/64", "fd00::/64"],
  ])("reads %j as %j", (text, canonical) => {
    const parsed = parseCidrMasked(text);
    expect(parsed.ok && formatCidr(parsed.value)).toBe(canonical);
  });

  it.each(["", "10.0.0.0/", "10.0.0", "x", "10.0.0.1/33"])("refuses %j", (text) => {
    expect(parseCidrMasked(text)).toMatchObject({ ok: false, error: { code: "invalid_cidr" } });
  });
});

describe("parseBlockName", () => {
  it.each(["10.0.0.64-26", "10.0.0.64/26"])("reads %j", (text) => {
    expect(parseBlockName(text)).toEqual({ ok: true, value: cidr("10.0.0.64/26") });
  });

  it.each(["10.0.0.64", "10.0.0.65-26", "10.0.0.64-26-26", "10.0.0.64-26/26", "-26"])(
    "refuses %j",
    (text) => {
      expect(parseBlockName(text).ok).toBe(false);
    },
  );
});

describe("ranges", () => {
  it("text and name are undone by reading them", () => {
    fc.assert(
      fc.property(cidrs(), (range) => {
        expect(parseCidr(formatCidr(range))).toEqual({ ok: true, value: range });
        expect(parseBlockName(blockName(range))).toEqual({ ok: true, value: range });
      }),
    );
  });

  it("any address lies in its block, and ordinals count from the base", () => {
    fc.assert(
      fc.property(addresses(), fc.integer({ min: 0, max: 12 }), (address, hostBits) => {
        const block = blockOf(address, (address.family === 4 ? 32 : 128) - hostBits);
        expect(containsAddress(block, address)).toBe(true);
        const ordinal = ordinalOf(block, address);
        expect(ordinal).toBe(Number(address.value % (1n << BigInt(hostBits))));
        expect(addressAt(block, ordinal)).toEqual(address);
        expect(lastAddress(block) - block.base + 1n).toBe(size(block));
      }),
    );
  });

  it("containment and overlap agree with the ends of the ranges", () => {
    fc.assert(
      fc.property(cidrs(), fc.nat(8), fc.nat(8), cidrs(), (near, up, down, far) => {
        const width = near.family === 4 ? 32 : 128;
        const address = { family: near.family, value: near.base };
        const wider = blockOf(address, Math.max(0, near.prefix - up));
        const narrower = blockOf(address, Math.min(width, near.prefix + down));
        expect(containsCidr(wider, near) && containsCidr(near, narrower)).toBe(true);
        for (const other of [wider, narrower, far]) {
          const inside = near.base <= other.base && lastAddress(other) <= lastAddress(near);
          expect(containsCidr(near, other)).toBe(near.family === other.family && inside);
        }
        const disjoint =
          near.family !== far.family || near.base > lastAddress(far) || far.base > lastAddress(near);
        expect(overlaps(near, far)).toBe(!disjoint);
        expect(overlaps(far, near)).toBe(!disjoint);
      }),
    );
  });

  it("refuses positions and addresses outside", () => {
    expect(() => addressAt(cidr("10.0.0.0/30"), 4)).toThrow("outside");
    expect(() => addressAt(cidr("10.0.0.0/30"), -1)).toThrow("whole number");
    expect(() => addressAt(cidr("10.0.0.0/30"), 0.5)).toThrow("whole number");
    expect(() => ordinalOf(cidr("10.0.0.0/30"), { family: 4, value: 0n })).toThrow("outside");
    expect(() => ordinalOf(cidr("10.0.0.0/30"), { family: 6, value: 10n << 24n })).toThrow("outside");
    expect(() => blockOf({ family: 4, value: 0n }, 33)).toThrow("prefix");
  });
});
