/** What agents and runtimes may send by mistake: it is refused as a whole, told plainly, and changes nothing. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { expectStatus } from "./client.ts";
import { SETTLED, type Stage, staged } from "./collector-stage.ts";

const REPORT = "/v1/hosts/node-1/workloads";
const COLLECTION = "/v1/hosts/node-1/attachment-gc";

let stage: Stage;

beforeAll(async () => {
  stage = await staged();
  await expectStatus(stage.ops("PUT", "/v1/pools/six", { cidr: "fd00:10::/64" }), 201);
}, 60_000);
afterAll(() => stage.stop());

let sequence = 0;

/** A whole report with the next number, but for what a test says. */
function reportWith(given: Readonly<Record<string, unknown>> = {}) {
  sequence += 1;
  return { incarnation: "life-1", sequence, ageMs: 0, complete: true, workloads: [], ...given };
}

async function told(): Promise<unknown> {
  const { ageSeconds: _age, ...report } = (await expectStatus(stage.eyes("GET", "/v1/hosts/node-1"), 200))
    .body.report;
  return report;
}

const listing = (...addresses: unknown[]) => ({ workloads: [{ addresses: ["10.10.0.1"] }, { addresses }] });

it.each<[string, Readonly<Record<string, unknown>>, string]>([
  ["an IPv4-mapped address", listing("::ffff:10.10.0.1"), "write 10.10.0.1"],
  ["an address with a zone", listing("fe80::1%eth0"), "Remove the zone"],
  ["an address with a prefix", listing("10.10.0.1/32"), "Remove the prefix length"],
  ["an octet that may be octal", listing("010.10.0.1"), "Remove the leading zero"],
  ["NUL behind an address", listing("10.10.0.1\u0000"), "neither an IPv4 nor an IPv6 address"],
  ["an emoji for an address", listing("\u{1f600}"), "neither an IPv4 nor an IPv6 address"],
  ["nothing for an address", listing(""), "An address is missing"],
  ["a number for an address", listing(168427521), "must be a text"],
  ["too many addresses", listing(...Array(65).fill("10.10.0.1")), "at most 64 items"],
  ["too many workloads", { workloads: Array(4_097).fill({ addresses: [] }) }, "at most 4096 items"],
  ["a number that JSON cannot carry", { sequence: 2 ** 53 }, "at most 9007199254740991"],
  ["a negative number", { sequence: -1 }, "at least 0"],
  ["a negative age", { ageMs: -1 }, "at least 0"],
  ["an age of more than ten minutes", { ageMs: 600_001 }, "at most 600000"],
  ["an incarnation with NUL", { incarnation: "\u0000" }, "without NUL"],
  ["an empty incarnation", { incarnation: "" }, "must not be empty"],
  ["a blank incarnation", { incarnation: " \t" }, "must not be empty"],
  ["half a character", { incarnation: "\ud83d" }, "well-formed"],
])("a report with %s is refused, and the one before it stands", async (_, given, words) => {
  await expectStatus(stage.agent("node-1")("PUT", REPORT, reportWith(listing("10.10.0.1"))), 200);
  const before = await told();
  const refused = await expectStatus(stage.agent("node-1")("PUT", REPORT, reportWith(given)), 400);
  expect(refused.body).toMatchObject({ code: "invalid_request" });
  expect(refused.body.detail).toContain(words);
  expect(await told()).toEqual(before);
});

it("a registration with an empty incarnation is refused", async () => {
  const refused = await expectStatus(
    stage.ops("PUT", "/v1/hosts/node-1", { labels: {}, incarnation: "" }),
    400,
  );
  expect(refused.body.detail).toContain("must not be empty");
});

it("an attachment list that is wrong is refused", async () => {
  const handles = (count: number) => Array.from({ length: count }, (__, at) => `pods.${at}`);
  for (const [wrong, words] of [
    [{ network: "", validHandles: [] }, "must not be empty"],
    [{ network: "a\u0000", validHandles: [] }, "without NUL"],
    [{ network: "pods", validHandles: [""] }, "/validHandles/0"],
    [{ network: "pods", validHandles: handles(4_097) }, "at most 4096 items"],
    [{ network: "pods" }, "/validHandles"],
    [{ network: "pods", validHandles: null }, "/validHandles"],
  ] as const) {
    const refused = await expectStatus(stage.agent("node-1")("POST", COLLECTION, wrong), 400);
    expect(refused.body.detail).toContain(words);
  }
  const whole = { network: "\u{1f600}", validHandles: [...handles(4_096).slice(1), "pods.1"] };
  expect((await expectStatus(stage.agent("node-1")("POST", COLLECTION, whole), 200)).body).toEqual({
    released: 0,
    held: 0,
    results: [],
  });
});

it("I11: an address that is listed counts in any spelling, twice or once, at any place of a long list", async () => {
  const attributes = { namespace: "web", pod: "six" };
  const wish = { host: "node-1", handle: "pods.six", attributes };
  await expectStatus(stage.ops("PUT", "/v1/allocations/fd00:10::ab", wish), 201);
  const spelt = ["FD00:10::AB", "fd00:0010:0:000:0:0:0:00ab"];
  await stage.pass(SETTLED);
  const others = Array.from({ length: 4_094 }, (__, at) => ({ addresses: [`10.99.${at >> 8}.${at & 255}`] }));
  for (const text of [...spelt, spelt]) {
    const addresses = [text].flat();
    const sent = reportWith({ workloads: [...others, { addresses }, { addresses }] });
    const answer = await expectStatus(stage.agent("node-1")("PUT", REPORT, sent), 200);
    expect(answer.body.leaks).toEqual({ candidates: 0, confirmed: 0, held: 0 });
    // Of so many no more are told than can be read.
    expect(answer.body.addressesNotAllocated).toHaveLength(1_024);
  }
  const without = await expectStatus(stage.agent("node-1")("PUT", REPORT, reportWith()), 200);
  expect(without.body.leaks).toMatchObject({ candidates: 1 });
});
