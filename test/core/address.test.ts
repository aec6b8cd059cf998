/** Addresses: which spellings are read, which are refused, and the one text that is written. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatAddress, parseAddress, sameAddress } from "../../src/core/address.ts";
import { runs } from "../support/seeds.ts";
import { addresses } from "./arbitraries.ts";

const accepted: readonly (readonly [text: string, canonical: string])[] = [
  ["0.0.0.0", "0.0.0.0"],
  ["10.0.0.1", "10.0.0.1"],
  ["255.255.255.255", "255.255.255.255"],
  ["::", "::"],
  ["::1", "::1"],
  ["1::", "1::"],
  ["0:0:0:0:0:0:0:0", "::"],
  ["0:0:0:0:0:0:0:1", "::1"],
  ["2001:DB8::A", "2001:db8::a"],
  ["2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"],
  ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
  ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
  ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
  ["2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
  ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
  ["::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"],
  ["1:0:0:2:0:0:3:4", "1::2:0:0:3:4"],
  ["fe80::1", "fe80::1"],
  ["64:ff9b::192.0.2.33", "64:ff9b::c000:221"],
  ["::13.1.68.3", "::d01:4403"],
  ["1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"],
  ["ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["::fffe:1.2.3.4", "::fffe:102:304"],
  ["::ffff:0:0:0", "::ffff:0:0:0"],
  ["::1:ffff:1.2.3.4", "::1:ffff:102:304"],
];

const refused: readonly (readonly [text: string, message: RegExp])[] = [
  ["", /missing/],
  [" 10.0.0.1", /white space/],
  ["10.0.0.1\n", /white space/],
  ["10.0.0", /four octets/],
  ["10", /four octets/],
  ["167772161", /four octets/],
  ["10.0.0.0.1", /four octets/],
  ["10.0.0.", /four decimal/],
  [".10.0.0.1", /four decimal/],
  ["10..0.1", /four decimal/],
  ["10.0.0.256", /above 255/],
  ["10.0.0.1000", /above 255/],
  ["010.0.0.1", /leading zero of octet 010/],
  ["10.0.0.00", /leading zero/],
  ["0x0a.0.0.1", /hexadecimal/],
  ["0x0a000001", /hexadecimal/],
  ["-1.0.0.1", /neither/],
  ["+1.0.0.1", /neither/],
  ["1e1.0.0.1", /four decimal/],
  ["10.0.0.1/32", /prefix length/],
  ["fd00::/64", /prefix length/],
  ["fe80::1%eth0", /zone/],
  ["fe80::1%", /zone/],
  ["[fd00::1]", /brackets/],
  ["localhost", /four decimal/],
  ["١٠.0.0.1", /neither/],
  ["::ffff:1.2.3.4", /write 1\.2\.3\.4/],
  ["::ffff:102:304", /write 1\.2\.3\.4/],
  ["0:0:0:0:0:ffff:0:0", /write 0\.0\.0\.0/],
  [":", /single :/],
  [":::", /single :/],
  ["1:", /single :/],
  [":1:2:3:4:5:6:7:8", /single :/],
  ["1:2:3:4:5:6:7:8:", /single :/],
  ["1::2::3", /once only/],
  ["1:2:3:4:5:6:7", /this has 7/],
  ["1:2:3:4:5:6:7:8:9", /this has 9/],
  ["1:2:3:4:5:6:7::8", /no group left/],
  ["1:2:3:4::5:6:7:8", /no group left/],
  ["fd00::00001", /one to four/],
  ["fd00::g", /one to four/],
  ["fd00::0x1", /one to four/],
  ["::-1", /one to four/],
  ["::1.2.3", /four octets/],
  ["::1.2.3.04", /leading zero/],
  ["1.2.3.4::", /only at the end/],
  ["::1.2.3.4:5", /only at the end/],
  ["1:2:3:4:5:6:7:1.2.3.4", /this has 9/],
  ["ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555", /at most 45/],
];

describe("parseAddress", () => {
  it.each(accepted)("reads %j as %j", (text, canonical) => {
    const parsed = parseAddress(text);
    expect(parsed.ok && formatAddress(parsed.value)).toBe(canonical);
  });

  it.each(refused)("refuses %j and says what to do", (text, message) => {
    const parsed = parseAddress(text);
    expect(parsed).toMatchObject({ ok: false, error: { code: "invalid_address" } });
    if (!parsed.ok) expect(parsed.error.message).toMatch(message);
  });

  it("never throws, whatever the text is", () => {
    const near = fc.string({ unit: fc.constantFrom(..."0123456789abcdef:.%/x ") });
    fc.assert(fc.property(fc.oneof(fc.string(), near), (text) => typeof parseAddress(text).ok === "boolean"));
  });

  it("reads only what has one canonical text", () => {
    const near = fc.string({ unit: fc.constantFrom("0", "1", "f", ":", "::", "."), maxLength: 20 });
    fc.assert(
      fc.property(near, (text) => {
        const parsed = parseAddress(text);
        fc.pre(parsed.ok);
        expect(parseAddress(formatAddress(parsed.value))).toEqual(parsed);
      }),
      { numRuns: runs(200) },
    );
  });
});

describe("formatAddress", () => {
  it("is undone by parseAddress", () => {
    fc.assert(
      fc.property(addresses(), (address) => {
        expect(parseAddress(formatAddress(address))).toEqual({ ok: true, value: address });
      }),
    );
  });

  it("refuses a number that is no address", () => {
    expect(() => formatAddress({ family: 4, value: 1n << 32n })).toThrow("out of range");
    expect(() => formatAddress({ family: 6, value: -1n })).toThrow("out of range");
  });
});

describe("sameAddress", () => {
  it("compares numbers within a family", () => {
    expect(sameAddress({ family: 4, value: 1n }, { family: 4, value: 1n })).toBe(true);
    expect(sameAddress({ family: 4, value: 1n }, { family: 6, value: 1n })).toBe(false);
    expect(sameAddress({ family: 4, value: 1n }, { family: 4, value: 2n })).toBe(false);
  });
});
