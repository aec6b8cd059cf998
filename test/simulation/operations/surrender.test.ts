/** Empty blocks of pools that do not select their host any more: given up, by whom, when, and when not. */
import { beforeEach, describe, expect, test } from "vitest";
import { hostObjectName } from "../../../src/core/ids.ts";
import { blockObject } from "../../support/simulation/deployment.ts";
import { Face } from "./face.ts";

const BLUE = "10.0.0.0/26";
const BLUE_BLOCK = "10.0.0.0/26";
const ANY = "10.1.0.0/24";

let face: Face;
let requests = 0;

beforeEach(async () => {
  face = await Face.open([]);
  await host("a", { colour: "blue" });
  await host("b", { colour: "blue" });
  await pool("blue", { cidr: BLUE, nodeSelector: "colour == 'blue'" });
});

const host = (name: string, labels: object) => face.must("PUT", `/v1/hosts/${name}`, { labels });
const pool = (name: string, spec: object) => face.must("PUT", `/v1/pools/${name}`, spec);

function allocate(name: string, more: { pools?: string[]; handle?: string; use?: string } = {}) {
  requests += 1;
  const { pools, handle = `h${requests}`, ...rest } = more;
  const ipv4 = { count: 1, ...(pools === undefined ? {} : { pools }) };
  return face.send("POST", "/v1/allocations", { host: name, handle, ipv4, ...rest });
}

async function got(name: string, more: Parameters<typeof allocate>[1] = {}): Promise<string> {
  const { status, body } = await allocate(name, more);
  expect(status, JSON.stringify(body)).toBe(201);
  return body.allocations[0].address;
}

const free = (handle: string) => face.must("DELETE", `/v1/handles/${handle}`);

/** Rows of a Host as `block state`; blocks that name it must be those that are confirmed (I6). */
async function rowsOf(name: string): Promise<string[]> {
  const { rows } = await face.settle(face.deployed.ports.host(name).affinities({ host: name }));
  const blocks = (await face.must("GET", `/v1/blocks?host=${name}&limit=1000`)).items;
  const owned = blocks.map(({ cidr }: { cidr: string }) => cidr);
  const confirmed = rows.filter(({ state }) => state === "confirmed").map(({ block }) => block);
  expect(owned.toSorted(), `I6: blocks of ${name}`).toEqual(confirmed.toSorted());
  return rows.map(({ block, state }) => `${block} ${state}`).toSorted();
}

/** A block of `blue` that is the host's and holds nothing. */
async function emptyBlue(name = "a"): Promise<void> {
  await got(name, { handle: "first" });
  await free("first");
}

const turnRed = () => pool("blue", { cidr: BLUE, nodeSelector: "colour == 'red'" });

describe("a search gives up what is empty", () => {
  test("before it claims a block elsewhere, and for others at once", async () => {
    await emptyBlue();
    await turnRed();
    await pool("any", { cidr: ANY });
    expect(await got("a")).toBe("10.1.0.0");
    expect(await rowsOf("a")).toEqual(["10.1.0.0/26 confirmed"]);
    await host("r", { colour: "red" });
    // Long before anybody could ask an owner for it.
    expect(await got("r", { pools: ["blue"] })).toBe("10.0.0.1");
  });

  test("when the host's own labels change, too", async () => {
    await pool("any", { cidr: ANY });
    await got("a", { pools: ["any"] });
    await emptyBlue();
    expect((await rowsOf("a")).length).toBe(1);
    await face.must("POST", "/v1/affinity-claims", { host: "a", cidr: BLUE_BLOCK });
    await host("a", { colour: "green" });
    await got("a");
    expect(await rowsOf("a")).toEqual(["10.1.0.0/26 confirmed"]);
  });

  test("I10: it counts no more against the cap of the same request", async () => {
    await face.must("PATCH", "/v1/config", { maxBlocksPerHost: 1, strictAffinity: true });
    await emptyBlue();
    await turnRed();
    await pool("any", { cidr: ANY });
    // Who only asks is told of it, and changes nothing.
    const wish = { host: "a", handle: "h", ipv4: { count: 1 } };
    const told = await face.must("POST", "/v1/explanations", wish);
    expect(told).toMatchObject({ wouldSucceed: true, families: [{ ownedBlocks: 1, blockCap: 1 }] });
    const { ipv4 } = await face.must("GET", "/v1/hosts/a/readiness");
    expect(ipv4).toMatchObject({ ready: true, canClaim: true });
    expect(await rowsOf("a")).toEqual(["10.0.0.0/26 confirmed"]);
    expect(await got("a")).toBe("10.1.0.0");
  });

  test("I10: a block in use counts against the cap, for who only asks too", async () => {
    await face.must("PATCH", "/v1/config", { maxBlocksPerHost: 1, strictAffinity: true });
    await got("a");
    await turnRed();
    await pool("any", { cidr: ANY });
    const wish = { host: "a", handle: "h", ipv4: { count: 1 } };
    const told = await face.must("POST", "/v1/explanations", wish);
    expect(told).toMatchObject({ wouldSucceed: false, families: [{ code: "block_limit_reached" }] });
    const { ipv4 } = await face.must("GET", "/v1/hosts/a/readiness");
    expect(ipv4).toMatchObject({ ready: false, code: "block_limit_reached" });
    expect((await allocate("a")).body.code).toBe("block_limit_reached");
  });

  test("not while an address is in use or cools; the search after that does", async () => {
    await face.must("PATCH", "/v1/config", { ipCooldownSeconds: 300 });
    await got("a", { handle: "kept" });
    await turnRed();
    await pool("any", { cidr: ANY });
    await got("a");
    expect(await rowsOf("a")).toEqual(["10.0.0.0/26 confirmed", "10.1.0.0/26 confirmed"]);
    await free("kept");
    await got("a");
    expect((await rowsOf("a")).length).toBe(2);
    await face.world.advance(301_000);
    await got("a");
    expect(await rowsOf("a")).toEqual(["10.1.0.0/26 confirmed"]);
  });

  test("not of pools that the request names, that are disabled or drain, or of another family", async () => {
    await pool("any", { cidr: ANY });
    await got("a", { pools: ["any"] });
    await face.must("POST", "/v1/affinity-claims", { host: "a", cidr: BLUE_BLOCK });
    await host("a", { colour: "green" });
    await pool("six", { cidr: "fd00::/120" });
    const body = { host: "a", handle: "six", ipv6: { count: 1 } };
    expect((await face.send("POST", "/v1/allocations", body)).status).toBe(201);
    await face.must("PATCH", "/v1/pools/blue", { disabled: true });
    await got("a");
    await face.must("PATCH", "/v1/pools/blue", { disabled: false });
    expect(await rowsOf("a")).toContain("10.0.0.0/26 confirmed");
    expect(await got("a", { pools: ["blue"] })).toBe("10.0.0.0");
  });

  test("a search that finds no pool changes nothing", async () => {
    await emptyBlue();
    await face.must("POST", "/v1/affinity-claims", { host: "a", cidr: BLUE_BLOCK });
    await turnRed();
    expect((await allocate("a")).body.code).toBe("no_pool_selects_host");
    expect(await rowsOf("a")).toEqual(["10.0.0.0/26 confirmed"]);
  });
});

describe("the release that empties a block gives it up", () => {
  test.each(["handle", "address"])("by %s", async (way) => {
    const first = await got("a", { handle: "one" });
    await got("a", { handle: "two" });
    await turnRed();
    await free("two");
    expect(await rowsOf("a")).toEqual(["10.0.0.0/26 confirmed"]);
    if (way === "handle") await free("one");
    else await face.must("POST", "/v1/releases", { addresses: [{ address: first, handle: "one" }] });
    expect(await rowsOf("a")).toEqual([]);
  });

  test("an address that another host borrowed keeps the block of its owner", async () => {
    await got("a", { handle: "own" });
    // The pool has one block, so the other host borrows.
    const lent = await got("b", { handle: "lent" });
    await turnRed();
    await free("own");
    expect(await rowsOf("a")).toEqual(["10.0.0.0/26 confirmed"]);
    expect((await face.must("GET", `/v1/allocations/${lent}`)).host).toBe("b");
    await free("lent");
    expect(await rowsOf("a")).toEqual([]);
  });

  test("not of a virtual owner, nor of a host that is not registered", async () => {
    for (const owner of ["virtual:lb", "stranger"]) {
      await face.must("POST", "/v1/affinity-claims", { host: owner, cidr: BLUE_BLOCK });
      await face.must("PUT", "/v1/allocations/10.0.0.9", { host: owner, handle: `of-${owner}` });
      await free(`of-${owner}`);
      expect(await rowsOf(owner)).toEqual(["10.0.0.0/26 confirmed"]);
      await face.must("POST", "/v1/affinity-releases", { cidr: BLUE_BLOCK });
    }
  });
});

describe("what it costs", () => {
  const callsOf = async (work: () => Promise<unknown>) => {
    const mark = face.world.counters.read();
    await work();
    return face.world.counters.since(mark);
  };

  test("nothing where every pool selects its hosts: three calls, two rows", async () => {
    await got("a");
    const { callsTotal, rowsTotal } = await callsOf(() => got("a"));
    expect([callsTotal, rowsTotal]).toEqual([3, 2]);
  });

  test("a block in use that is not selected any more is looked at once, not with each request", async () => {
    await got("a");
    await turnRed();
    await pool("any", { cidr: ANY });
    await got("a");
    const { callsTotal, rowsTotal } = await callsOf(() => got("a"));
    expect([callsTotal, rowsTotal]).toEqual([3, 2]);
  });

  test("64 requests at once give a block up once", async () => {
    await emptyBlue();
    await face.must("POST", "/v1/affinity-claims", { host: "a", cidr: BLUE_BLOCK });
    await turnRed();
    await pool("any", { cidr: ANY, blockSize: 24 });
    const { calls } = await callsOf(async () => {
      const wish = (n: number) => ({ host: "a", handle: `at-once-${n}`, ipv4: { count: 1 } });
      const all = Array.from({ length: 64 }, (_, n) => face.begin("POST", "/v1/allocations", wish(n)));
      for (const { status } of await face.settle(Promise.all(all))) expect(status).toBe(201);
    });
    expect(calls["HostObject>BlockObject.releaseAffinity"]).toBe(1);
    expect(await rowsOf("a")).toEqual(["10.1.0.0/24 confirmed"]);
  });
});

describe("faults on the way", () => {
  beforeEach(async () => {
    await emptyBlue();
    await face.must("POST", "/v1/affinity-claims", { host: "a", cidr: BLUE_BLOCK });
    await turnRed();
    await pool("any", { cidr: ANY });
  });

  test.each(["before-commit", "after-commit", "after-send"] as const)(
    "I6: a Host that dies on the way (%s) is done with it at a later search",
    async (point) => {
      face.world.crash(hostObjectName("a"), point);
      for (let tries = 0; tries < 4; tries += 1) {
        await allocate("a");
        await face.world.advance(61_000);
      }
      expect(await rowsOf("a")).toEqual(["10.1.0.0/26 confirmed"]);
      await host("r", { colour: "red" });
      expect(await got("r", { pools: ["blue"] })).toBe("10.0.0.1");
    },
  );

  test.each(["fresh", "release", "releaseAffinity"])(
    "a message that is lost (%s) keeps nobody from an address, and is made up for",
    async (method) => {
      await got("a", { pools: ["any"] });
      face.world.drop({ method, kind: "answer" }, { times: 2 });
      const began = face.world.now;
      await got("a");
      expect(face.world.now - began).toBeLessThan(1_000);
      for (let tries = 0; tries < 3; tries += 1) {
        await face.world.advance(61_000);
        await got("a");
      }
      expect(await rowsOf("a")).toEqual(["10.1.0.0/26 confirmed"]);
    },
  );

  test.each([
    ["releaseAffinity", ["any", "blue"]],
    ["allocate", ["blue", "any"]],
  ])("I1: a request that names the pool meanwhile gets an address (%s is late)", async (method, order) => {
    const wish = (name: string) => ({ host: "a", handle: name, ipv4: { count: 1, pools: [name] } });
    await got("a", { pools: ["any"] });
    await face.must("POST", "/v1/affinity-claims", { host: "a", cidr: BLUE_BLOCK });
    const held = face.world.hold({ to: blockObject(BLUE_BLOCK), method, kind: "request" });
    const [first = "", second = ""] = order;
    const one = face.begin("POST", "/v1/allocations", wish(first));
    await face.until(() => held.messages.length > 0);
    const two = face.begin("POST", "/v1/allocations", wish(second));
    let turns = 0;
    await face.until(() => {
      turns += 1;
      return turns > 100;
    });
    held.release();
    const answers = await face.settle(Promise.all([one, two]));
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(await rowsOf("a")).toContain("10.0.0.0/26 confirmed");
    await free("blue");
    expect(await rowsOf("a")).toEqual(["10.1.0.0/26 confirmed"]);
  });
});
