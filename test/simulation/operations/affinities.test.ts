/** Blocks for hosts through the HTTP face: made sure of, claimed, given up; late, lost and cut-off steps. */
import { beforeEach, describe, expect, test } from "vitest";
import { hostObjectName } from "../../../src/core/ids.ts";
import { blockObject } from "../../support/simulation/deployment.ts";
import { type Caller, Face } from "./face.ts";

const POOL = "10.0.0.0/26";
const BLOCKS = ["10.0.0.0/28", "10.0.0.16/28", "10.0.0.32/28", "10.0.0.48/28"];

let face: Face;

beforeEach(async () => {
  face = await Face.open(["a", "b"]);
  await face.must("PUT", "/v1/pools/four", { cidr: POOL, blockSize: 28 });
});

const code = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];

function ensure(host: string, body: object = { families: [4] }, caller: Caller = "admin") {
  return face.send("POST", `/v1/hosts/${host}/blocks`, body, caller);
}

const claim = (host: string, cidr: string) => face.send("POST", "/v1/affinity-claims", { host, cidr });
const release = (body: object) => face.send("POST", "/v1/affinity-releases", body);

/** Outcomes in short: `10.0.0.0/28 skipped block_not_empty`. */
function told({ body }: { body: { results: { block: string; outcome: string; code?: string }[] } }) {
  return body.results.map(({ block, outcome, code: why }) => [block, outcome, why].filter(Boolean).join(" "));
}

/** Who owns what, by the blocks themselves; the rows of the Hosts must say the same. */
async function owned(): Promise<Record<string, string[]>> {
  const byOwner: Record<string, string[]> = {};
  for (const { cidr, affinity } of (await face.must("GET", "/v1/blocks?limit=1000")).items) {
    if (affinity === undefined) continue;
    expect(affinity.state, cidr).toBe("confirmed");
    byOwner[affinity.name] = [...(byOwner[affinity.name] ?? []), cidr];
  }
  for (const host of ["a", "b"]) {
    const { rows } = await face.settle(face.deployed.ports.host(host).affinities({ host }));
    const blocks = rows.filter(({ state }) => state === "confirmed").map(({ block }) => block);
    expect(blocks.toSorted(), `I6: rows of ${host}`).toEqual((byOwner[host] ?? []).toSorted());
  }
  return byOwner;
}

function assign(host: string, address: string, handle: string) {
  return face.must("PUT", `/v1/allocations/${address}`, { host, handle });
}

describe("ensureBlocks", () => {
  test("claims a block of each family with what is set aside for the host, once", async () => {
    await face.must("PUT", "/v1/pools/six", { cidr: "fd00::/120", blockSize: 124 });
    const body = { families: [6, 4], hostReserved: { ipv4: { start: 3, end: 1 } } };
    const first = await ensure("a", body, "agent:a");
    expect(first.status).toBe(200);
    expect(first.body.ipv4).toMatchObject({ capacity: 16, hostReserved: 4, available: 12, allocated: 0 });
    expect(first.body.ipv4.affinity).toMatchObject({ type: "host", name: "a", state: "confirmed" });
    expect(first.body.ipv6).toMatchObject({ family: 6, hostReserved: 0 });
    const again = await ensure("a", body, "agent:a");
    expect([again.body.ipv4.cidr, again.body.ipv6.cidr]).toEqual([
      first.body.ipv4.cidr,
      first.body.ipv6.cidr,
    ]);
    expect((await owned()).a).toHaveLength(2);
  });

  test("an own block that is full is enough; one that is wholly reserved is not", async () => {
    await claim("a", BLOCKS[1] ?? "");
    for (let number = 16; number < 32; number += 1) await assign("a", `10.0.0.${number}`, `h${number}`);
    expect((await ensure("a")).body.ipv4.cidr).toBe(BLOCKS[1]);
    await face.must("PUT", "/v1/reservations/all", { reservedCIDRs: [BLOCKS[1]] });
    const other = (await ensure("a")).body.ipv4.cidr;
    expect(BLOCKS.filter((block) => block !== BLOCKS[1])).toContain(other);
  });

  test("refuses as an allocation would: cap, switches, pools, host, and only families that are asked for", async () => {
    expect(code(await ensure("nobody"))).toEqual([404, "host_not_found"]);
    expect(code(await ensure("a", { families: [4] }, "agent:b"))).toEqual([403, "host_mismatch"]);
    const set = { families: [4], hostReserved: { ipv6: { start: 1, end: 0 } } };
    expect((await ensure("a", set)).body.errors).toMatchObject([
      { pointer: "/hostReserved/ipv6", code: "conflicting_fields" },
    ]);
    expect(code(await ensure("a", { families: [] }))).toEqual([400, "invalid_request"]);
    expect(code(await ensure("a", { families: [4, 6] }))).toEqual([409, "no_qualified_pool"]);
    expect(await owned(), "IPv4 came first and stays").toMatchObject({ a: [expect.any(String)] });
    await face.must("PATCH", "/v1/config", { autoAllocateBlocks: false, strictAffinity: true });
    expect(code(await ensure("b"))).toEqual([409, "auto_allocate_disabled"]);
    await face.must("PATCH", "/v1/config", { autoAllocateBlocks: true, maintenance: true });
    expect(code(await ensure("b"))).toEqual([503, "maintenance"]);
    await face.must("PATCH", "/v1/config", { maintenance: false, strictAffinity: true, maxBlocksPerHost: 1 });
    const { cidr } = (await ensure("a")).body.ipv4;
    await face.must("PUT", "/v1/reservations/own", { reservedCIDRs: [cidr] });
    const capped = await ensure("a");
    expect(code(capped)).toEqual([409, "block_limit_reached"]);
    expect(capped.body.evidence).toMatchObject({ host: "a", owned: 1, limit: 1 });
    await face.must("PATCH", "/v1/pools/four", { nodeSelector: "gpu == 'true'" });
    const none = await ensure("b");
    expect(code(none)).toEqual([409, "no_pool_selects_host"]);
    expect(none.body.evidence.shortfall[0].considered).toMatchObject([
      { pool: "four", rule: "node_selector" },
    ]);
  });

  test("a pool without a block to claim is exhausted", async () => {
    await claim("b", POOL);
    expect(code(await ensure("a"))).toEqual([409, "pool_exhausted"]);
  });

  test.each([
    ["the Pool's offer", "PoolObject"],
    ["the block's word", "BlockObject"],
  ])("I10: a claim that lost %s is found again; no second block is claimed", async (_what, from) => {
    const match = { fromClass: from, toClass: "HostObject", method: "claim", kind: "answer" } as const;
    face.world.drop(match, { loss: "silent" });
    expect(code(await ensure("a"))).toEqual([503, "overloaded"]);
    const second = await ensure("a");
    expect(second.status).toBe(200);
    expect(await owned()).toEqual({ a: [second.body.ipv4.cidr] });
    const { entries } = await face.settle(
      face.deployed.ports
        .pool("four", 0)
        .list({ pool: "four", incarnation: 0, cidr: POOL, blockSize: 28, limit: 9 }),
    );
    expect(entries.map(({ owner }) => owner)).toEqual(["a"]);
  });
});

describe("claimAffinities", () => {
  test("claims each block of a range by itself; what is owned already is success", async () => {
    await claim("b", BLOCKS[1] ?? "");
    const answer = await claim("a", POOL);
    expect(told(answer)).toEqual([
      "10.0.0.0/28 claimed",
      "10.0.0.16/28 skipped block_owned_by_other",
      "10.0.0.32/28 claimed",
      "10.0.0.48/28 claimed",
    ]);
    expect(answer.body.results[1].owner).toBe("b");
    expect(told(await claim("a", "10.0.0.32/27"))).toEqual([
      "10.0.0.32/28 already_owned",
      "10.0.0.48/28 already_owned",
    ]);
    expect(await owned()).toEqual({ a: [BLOCKS[0], BLOCKS[2], BLOCKS[3]], b: [BLOCKS[1]] });
  });

  test("a single block that is not to be had is refused as a whole", async () => {
    await claim("b", BLOCKS[0] ?? "");
    const other = await claim("a", BLOCKS[0] ?? "");
    expect(code(other)).toEqual([409, "block_owned_by_other"]);
    expect(other.body.evidence).toEqual({ block: BLOCKS[0], host: "b" });
    await assign("b", "10.0.0.1", "tenant");
    await release({ host: "b", mustBeEmpty: false });
    const tenants = await claim("a", BLOCKS[0] ?? "");
    expect(code(tenants)).toEqual([409, "block_not_empty"]);
    expect(tenants.body.evidence).toEqual({ block: BLOCKS[0], allocated: 1 });
    expect(await owned()).toEqual({});
  });

  test("ranges must be whole blocks of one open pool, and not too many", async () => {
    await face.must("PUT", "/v1/pools/wide", { cidr: "10.1.0.0/16", blockSize: 32 });
    expect(code(await claim("a", "10.0.0.0/25"))).toEqual([409, "cidr_not_in_pool"]);
    expect(code(await claim("a", "192.0.2.0/28"))).toEqual([409, "cidr_not_in_pool"]);
    expect((await claim("a", "10.0.0.0/29")).body.errors).toMatchObject([
      { pointer: "/cidr", code: "block_size" },
    ]);
    expect((await claim("a", "10.0.0.1/28")).body.errors).toMatchObject([
      { pointer: "/cidr", code: "host_bits_set" },
    ]);
    const large = await claim("a", "10.1.0.0/23");
    expect([...code(large), large.body.evidence]).toEqual([400, "range_too_large", { limit: 256 }]);
    await face.must("PATCH", "/v1/pools/four", { disabled: true });
    expect(code(await claim("a", BLOCKS[0] ?? ""))).toEqual([409, "cidr_not_in_pool"]);
    expect(face.world.objectNames).not.toContain(blockObject(BLOCKS[0] ?? ""));
  });

  test("I10: no cap refuses an explicit claim, and every cap counts it", async () => {
    await face.must("PATCH", "/v1/config", { strictAffinity: true, maxBlocksPerHost: 2 });
    expect(told(await claim("a", "10.0.0.0/27"))).toHaveLength(2);
    expect(told(await claim("a", "10.0.0.32/28"))).toEqual(["10.0.0.32/28 claimed"]);
    await face.must("PUT", "/v1/reservations/own", { reservedCIDRs: ["10.0.0.0/27", "10.0.0.32/28"] });
    const wish = { host: "a", handle: "h", ipv4: { count: 1 } };
    expect(code(await face.send("POST", "/v1/allocations", wish))).toEqual([409, "block_limit_reached"]);
  });

  test("neither registration nor selectors matter, and virtual owners are others than hosts", async () => {
    await face.must("PATCH", "/v1/pools/four", { nodeSelector: "gpu == 'true'" });
    expect(told(await claim("ghost", BLOCKS[0] ?? ""))).toEqual(["10.0.0.0/28 claimed"]);
    expect(told(await claim("virtual:ghost", BLOCKS[1] ?? ""))).toEqual(["10.0.0.16/28 claimed"]);
    expect(told(await release({ host: "virtual:ghost" }))).toEqual(["10.0.0.16/28 released"]);
    const { affinity } = await face.must("GET", "/v1/blocks/10.0.0.0-28");
    expect(affinity).toMatchObject({ type: "host", name: "ghost", state: "confirmed" });
  });

  test("I6: a claim that got no answer is made again under a fresh epoch, or settled by the same request", async () => {
    const lost = { toClass: "BlockObject", method: "claim", kind: "request" } as const;
    face.world.drop(lost, { loss: "silent" });
    expect(told(await claim("a", BLOCKS[1] ?? ""))).toEqual(["10.0.0.16/28 claimed"]);
    face.world.drop(lost, { times: 2, loss: "silent" });
    expect(code(await claim("a", BLOCKS[0] ?? ""))).toEqual([503, "in_progress"]);
    expect(told(await claim("a", BLOCKS[0] ?? ""))).toEqual(["10.0.0.0/28 claimed"]);
    expect(await owned()).toEqual({ a: [BLOCKS[0], BLOCKS[1]] });
  });

  test("only administrators claim and release", async () => {
    const send = (path: string, json: object) => face.send("POST", path, json, "agent:a");
    expect(code(await send("/v1/affinity-claims", { host: "a", cidr: POOL }))).toEqual([
      403,
      "role_insufficient",
    ]);
    expect(code(await send("/v1/affinity-releases", { host: "a" }))).toEqual([403, "role_insufficient"]);
  });
});

describe("releaseAffinities", () => {
  test("by range, host, pool or block; blocks in use stay, unless they may lose their owner", async () => {
    await claim("a", "10.0.0.0/27");
    await claim("b", "10.0.0.32/27");
    await assign("a", "10.0.0.1", "tenant");
    const busy = await release({ cidr: BLOCKS[0] });
    expect(code(busy)).toEqual([409, "block_not_empty"]);
    expect(busy.body.evidence).toEqual({ block: BLOCKS[0], allocated: 1 });
    expect(told(await release({ host: "a" }))).toEqual([
      "10.0.0.0/28 skipped block_not_empty",
      "10.0.0.16/28 released",
    ]);
    expect(await owned()).toEqual({ a: [BLOCKS[0]], b: [BLOCKS[2], BLOCKS[3]] });
    const range = await release({ host: "a", cidr: POOL, mustBeEmpty: false });
    expect(told(range)).toEqual([
      "10.0.0.0/28 released",
      "10.0.0.32/28 skipped block_owned_by_other",
      "10.0.0.48/28 skipped block_owned_by_other",
    ]);
    expect(told(await release({ pool: "four" }))).toEqual(["10.0.0.32/28 released", "10.0.0.48/28 released"]);
    expect(await owned()).toEqual({});
    expect(told(await release({ pool: "four" })), "nothing is left to be released").toEqual([]);
    const { items } = await face.must("GET", "/v1/blocks");
    expect(items).toMatchObject([{ cidr: BLOCKS[0], allocated: 1 }]);
  });

  test("a range need not be a pool; a host's range must, and a block of another is refused", async () => {
    await claim("a", BLOCKS[0] ?? "");
    expect(told(await release({ cidr: "10.0.0.0/16" }))).toEqual(["10.0.0.0/28 released"]);
    expect(code(await release({ host: "a", cidr: "10.0.0.0/16" }))).toEqual([409, "cidr_not_in_pool"]);
    expect(code(await release({ cidr: "10.0.0.0/29" }))).toEqual([400, "invalid_request"]);
    await claim("b", BLOCKS[1] ?? "");
    const other = await release({ host: "a", cidr: BLOCKS[1] });
    expect([...code(other), other.body.evidence]).toEqual([
      409,
      "block_owned_by_other",
      { block: BLOCKS[1], host: "b" },
    ]);
    expect((await release({})).body.errors).toMatchObject([{ code: "nothing_requested" }]);
    expect((await release({ pool: "none" })).body.errors).toMatchObject([{ pointer: "/pool" }]);
    expect(await owned()).toEqual({ b: [BLOCKS[1]] });
  });

  test("what is set aside for the host keeps no block; what cools does", async () => {
    await face.must("PATCH", "/v1/config", { ipCooldownSeconds: 60 });
    await ensure("a", { families: [4], hostReserved: { ipv4: { start: 2, end: 0 } } });
    expect(told(await release({ host: "a" }))).toEqual([expect.stringMatching(/ released$/)]);
    await assign("a", "10.0.0.1", "h");
    await face.must("DELETE", "/v1/handles/h");
    expect(code(await release({ cidr: BLOCKS[0] }))).toEqual([409, "block_not_empty"]);
    await face.world.advance(60_000);
    expect(told(await release({ cidr: BLOCKS[0] }))).toEqual(["10.0.0.0/28 released"]);
  });

  test("pages of 256 blocks, continued by the cursor, past those that stay", async () => {
    await face.must("PUT", "/v1/pools/wide", { cidr: "10.1.0.0/23", blockSize: 32 });
    await claim("a", "10.1.0.0/24");
    await claim("a", "10.1.1.0/31");
    await assign("a", "10.1.0.0", "first");
    const body = { pool: "wide" };
    const first = await release(body);
    expect(first.body.results).toHaveLength(256);
    expect(told(first)[0]).toBe("10.1.0.0/32 skipped block_not_empty");
    const second = await release({ ...body, cursor: first.body.nextCursor });
    expect(told(second)).toEqual(["10.1.1.0/32 released", "10.1.1.1/32 released"]);
    expect(second.body.nextCursor).toBeUndefined();
    const foreign = await release({ host: "a", cursor: first.body.nextCursor });
    expect(foreign.body.errors).toMatchObject([{ pointer: "/cursor", code: "invalid_cursor" }]);
    expect(await owned()).toEqual({ a: ["10.1.0.0/32"] });
  });

  test.each(["before-commit", "after-commit", "after-send"] as const)(
    "I6: a Host that dies in the release (%s) leaves nothing that the same request does not settle",
    async (point) => {
      await claim("a", BLOCKS[0] ?? "");
      face.world.crash(hostObjectName("a"), point, "releaseBlock");
      await face.send("POST", "/v1/affinity-releases", { host: "a" });
      expect(told(await release({ host: "a" })).every((line) => line.endsWith(" released"))).toBe(true);
      expect(await owned()).toEqual({});
      expect(told(await claim("b", BLOCKS[0] ?? ""))).toEqual(["10.0.0.0/28 claimed"]);
      expect(await owned()).toEqual({ b: [BLOCKS[0]] });
    },
  );

  test("I6: a copy of the release that comes late does not take the block from its next owner", async () => {
    await claim("a", BLOCKS[0] ?? "");
    const held = face.world.hold({ toClass: "BlockObject", method: "releaseAffinity", kind: "request" });
    const early = await release({ cidr: BLOCKS[0] });
    expect(code(early)).toEqual([503, "in_progress"]);
    const late = held.messages.slice();
    expect(late.length).toBeGreaterThan(0);
    held.drop();
    expect(told(await release({ cidr: BLOCKS[0] }))).toEqual(["10.0.0.0/28 released"]);
    expect(told(await claim("b", BLOCKS[0] ?? ""))).toEqual(["10.0.0.0/28 claimed"]);
    for (const message of late) {
      const [request] = message.args as [{ block: string }];
      const stub = face.deployed.ports.block(request.block);
      const answer = await face.settle(stub.releaseAffinity(request as never));
      expect(answer.kind).toBe("stale");
    }
    expect(await owned()).toEqual({ b: [BLOCKS[0]] });
  });

  test("I6: claims and releases that cross end with one owner, whoever wins", async () => {
    for (let round = 0; round < 8; round += 1) {
      const crossing = [
        face.begin("POST", "/v1/affinity-claims", { host: "a", cidr: POOL }),
        face.begin("POST", "/v1/affinity-releases", { pool: "four" }),
        face.begin("POST", "/v1/affinity-claims", { host: "b", cidr: POOL }),
        face.begin("POST", "/v1/affinity-releases", { host: "a" }),
      ];
      const answers = await face.settle(Promise.all(crossing));
      for (const { status } of answers) expect([200, 409, 503]).toContain(status);
      // What was left between two steps is settled by the next request for it.
      for (const host of ["a", "b"]) await claim(host, POOL);
      const all = Object.values(await owned()).flat();
      expect(all.toSorted()).toEqual(BLOCKS.toSorted());
      await release({ pool: "four" });
      expect(await owned()).toEqual({});
    }
  });
});
