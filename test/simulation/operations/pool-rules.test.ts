/** What a pool lets happen: uses, modes, states and order, on every path by which an address is got. */
import { beforeEach, describe, expect, test } from "vitest";
import { Face } from "./face.ts";

const USES = ["Workload", "Tunnel", "LoadBalancer"];

let face: Face;
let requests = 0;

beforeEach(async () => {
  face = await Face.open(["a", "b"]);
});

const pool = (name: string, spec: object) => face.must("PUT", `/v1/pools/${name}`, spec);
const handle = () => {
  requests += 1;
  return `h${requests}`;
};

/** Asks for one address by itself; the answer in short: the address, or the code. */
async function got(host: string, more: { use?: string; pools?: string[]; count?: number } = {}) {
  const { use, pools, count = 1 } = more;
  const ipv4 = { count, ...(pools === undefined ? {} : { pools }) };
  const body = { host, handle: handle(), ipv4, ...(use === undefined ? {} : { use }) };
  const { status, body: answer } = await face.send("POST", "/v1/allocations", body);
  return status === 201 ? answer.allocations[0].address : answer.code;
}

async function assigned(host: string, address: string, use?: string) {
  const body = { host, handle: handle(), ...(use === undefined ? {} : { use }) };
  const { status, body: answer } = await face.send("PUT", `/v1/allocations/${address}`, body);
  return status === 201 ? answer.address : answer.code;
}

/** The rule that excluded each pool of a refused request. */
async function rules(host: string, more: { use?: string; pools?: string[] } = {}) {
  const { use, pools } = more;
  const ipv4 = { count: 1, ...(pools === undefined ? {} : { pools }) };
  const body = { host, handle: handle(), ipv4, ...(use === undefined ? {} : { use }) };
  const { body: answer } = await face.send("POST", "/v1/allocations", body);
  const { considered } = answer.evidence.shortfall[0];
  return Object.fromEntries(
    considered
      .filter(({ kind }: { kind: string }) => kind === "pool")
      .map((one: { pool: string; rule: string }) => [one.pool, one.rule]),
  );
}

describe("allowedUses", () => {
  test.each(USES)("a pool for %s serves that use alone, on every path", async (allowed) => {
    await pool("only", { cidr: "10.0.0.0/24", allowedUses: [allowed] });
    for (const use of USES) {
      const host = use === "LoadBalancer" ? "virtual:lb" : "a";
      const isServed = use === allowed;
      const given = expect.stringMatching(/^10\.0\.0\./);
      expect(await got(host, { use })).toEqual(isServed ? given : "no_qualified_pool");
      expect(await got(host, { use, pools: ["only"] })).toEqual(isServed ? given : "no_qualified_pool");
      expect(await assigned(host, `10.0.0.${200 + USES.indexOf(use)}`, use)).toEqual(
        isServed ? given : "use_not_allowed",
      );
      if (!isServed) expect(await rules(host, { use })).toEqual({ only: "use_not_allowed" });
    }
  });

  test("without a word a pool is for workloads and tunnels, and a request for a workload", async () => {
    await pool("plain", { cidr: "10.0.0.0/24" });
    const outcomes = [await got("a"), await got("a", { use: "Tunnel" })];
    expect(outcomes).toEqual([expect.stringMatching(/^10\./), expect.stringMatching(/^10\./)]);
    expect(await got("virtual:lb", { use: "LoadBalancer" })).toBe("no_qualified_pool");
    await face.must("PATCH", "/v1/pools/plain", { allowedUses: ["Tunnel"] });
    expect(await got("a")).toBe("no_qualified_pool");
    expect(await assigned("a", "10.0.0.50")).toBe("use_not_allowed");
  });
});

describe("assignmentMode", () => {
  test("a manual pool serves whoever names it, by name or range, or assigns in it", async () => {
    await pool("kept", { cidr: "10.0.0.0/26", assignmentMode: "Manual" });
    expect(await got("a")).toBe("no_pool_selects_host");
    expect(await rules("a")).toEqual({ kept: "manual_only" });
    expect(await got("a", { pools: ["kept"] })).toBe("10.0.0.0");
    expect(await got("a", { pools: ["10.0.0.0/26"] })).toBe("10.0.0.1");
    expect(await assigned("a", "10.0.0.9")).toBe("10.0.0.9");
    await pool("open", { cidr: "10.1.0.0/24" });
    expect(await got("a")).toMatch(/^10\.1\.0\./);
    expect((await face.send("POST", "/v1/hosts/b/blocks", { families: [4] })).body.ipv4).toMatchObject({
      pool: "open",
    });
  });
});

describe("disabled and draining pools", () => {
  beforeEach(async () => {
    await pool("four", { cidr: "10.0.0.0/26", blockSize: 28 });
    await face.must("PUT", "/v1/allocations/10.0.0.1", { host: "a", handle: "held" });
  });

  const close = {
    disabled: () => face.must("PATCH", "/v1/pools/four", { disabled: true }),
    draining: () => face.must("DELETE", "/v1/pools/four"),
  };

  test.each(["disabled", "draining"] as const)("%s: nothing new by any path; releases go on", async (how) => {
    await close[how]();
    expect(await got("a")).toBe("no_qualified_pool");
    expect(await rules("a")).toEqual({ four: `pool_${how}` });
    expect(await got("a", { pools: ["four"] })).toBe("requested_pool_unavailable");
    expect(await assigned("a", "10.0.0.2")).toBe("address_not_in_pool");
    const claim = await face.send("POST", "/v1/affinity-claims", { host: "b", cidr: "10.0.0.16/28" });
    expect(claim.body.code).toBe("cidr_not_in_pool");
    const ensured = await face.send("POST", "/v1/hosts/a/blocks", { families: [4] });
    expect(ensured.body.code).toBe("no_qualified_pool");
    const ready = await face.must("GET", "/v1/hosts/a/readiness");
    expect(ready.ipv4).toMatchObject({ ready: false, code: "no_qualified_pool" });
    const item = { address: "10.0.0.1", handle: "held" };
    expect((await face.must("GET", "/v1/handles/held")).items).toHaveLength(1);
    expect(await face.must("POST", "/v1/releases", { addresses: [item] })).toMatchObject({ released: 1 });
    expect((await face.must("GET", "/v1/handles/held")).items).toEqual([]);
  });

  test("a pool that is enabled again serves from the blocks that its hosts kept", async () => {
    await close.disabled();
    await face.must("PATCH", "/v1/pools/four", { disabled: false });
    expect(await got("a")).toBe("10.0.0.0");
  });
});

describe("pools that a request names", () => {
  beforeEach(async () => {
    await pool("x", { cidr: "10.1.0.0/30", blockSize: 30 });
    await pool("y", { cidr: "10.2.0.0/30", blockSize: 30, nodeSelector: "never == 'so'" });
    await pool("z", { cidr: "10.3.0.0/30", blockSize: 30 });
  });

  test("are used in the caller's order, by name and range, whatever they select", async () => {
    const pools = ["10.3.0.0/30", "y", "x"];
    const order: string[] = [];
    for (let round = 0; round < 12; round += 1) order.push((await got("a", { pools })).split(".")[1]);
    expect(order.join("")).toBe("333322221111");
    expect(await got("a", { pools })).toBe("pool_exhausted");
  });

  test("without a list those that select the host are used by name", async () => {
    const order: string[] = [];
    for (let round = 0; round < 8; round += 1) order.push((await got("a")).split(".")[1]);
    expect(order.join("")).toBe("11113333");
  });

  test("one that is not to be had refuses the request and is named", async () => {
    for (const name of ["nowhere", "10.1.0.0/31", "10.9.0.0/30"]) {
      const body = { host: "a", handle: handle(), ipv4: { count: 1, pools: ["x", name] } };
      const { body: answer } = await face.send("POST", "/v1/allocations", body);
      expect(answer).toMatchObject({ code: "requested_pool_unavailable", evidence: { pool: name } });
    }
  });
});

describe("I10: the cap on blocks", () => {
  test("counts each family by itself, in all pools; the request's own cap can only lower it", async () => {
    await face.must("PATCH", "/v1/config", { strictAffinity: true, maxBlocksPerHost: 2 });
    await pool("p", { cidr: "10.1.0.0/28", blockSize: 32 });
    await pool("q", { cidr: "10.2.0.0/28", blockSize: 32 });
    await pool("six", { cidr: "fd00::/120", blockSize: 128 });
    const ask = (more: object) =>
      face.send("POST", "/v1/allocations", { host: "a", handle: handle(), ...more });
    expect((await ask({ ipv4: { count: 1, pools: ["p"] } })).status).toBe(201);
    expect((await ask({ ipv4: { count: 1, pools: ["q"] }, maxBlocksPerHost: 1 })).body.code).toBe(
      "block_limit_reached",
    );
    expect((await ask({ ipv4: { count: 1, pools: ["q"] }, maxBlocksPerHost: 9 })).status).toBe(201);
    const third = (await ask({ ipv4: { count: 1 }, maxBlocksPerHost: 9 })).body;
    expect(third).toMatchObject({ code: "block_limit_reached", evidence: { owned: 2, limit: 2 } });
    expect((await ask({ ipv6: { count: 2 } })).status).toBe(201);
  });
});
