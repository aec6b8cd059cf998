/** One host's requests through all real objects: caps, affinity, reservations, and what a refusal leaves. */

import { reset } from "cloudflare:test";
import { beforeEach, expect, test } from "vitest";
import type { HostAllocateRequest } from "../../src/rpc/host.ts";
import { evict, ports, stubs } from "../support/objects/deployment.ts";

const POLICY = { reserved: [], cooldownMs: 0 };
const by = "test";
const BLOCKS = ["10.6.0.0/30", "10.6.0.4/30", "10.6.0.8/30", "10.6.0.12/30"];

beforeEach(async () => {
  await reset();
});

/** A pool of four blocks of four; what is decided before the first lease answers at once. */
async function setUp(config: Record<string, unknown> = {}, reservedCIDRs: string[] = []): Promise<number> {
  const cluster = ports.cluster();
  const changed = await cluster.changeConfig({ patch: config, by });
  if (!changed.ok) throw new Error(JSON.stringify(changed.error));
  if (reservedCIDRs.length > 0) await cluster.putReservation({ name: "r", spec: { reservedCIDRs }, by });
  const spec = { cidr: "10.6.0.0/28", blockSize: 30 };
  const pool = await cluster.putPool({ name: "p", spec, by });
  if (!pool.ok) throw new Error(JSON.stringify(pool.error));
  for (const host of ["a", "b"]) await ports.host(host).register({ host, labels: {} });
  return pool.value.value.incarnation;
}

function request(
  host: string,
  handle: string,
  given: Partial<HostAllocateRequest> = {},
): HostAllocateRequest {
  return {
    host,
    handle,
    key: `key-of-${handle}`,
    fingerprint: "f",
    use: "Workload",
    ipv4: { count: 1 },
    attributes: {},
    partial: false,
    ownerSlot: "active",
    leakCollection: "auto",
    ...given,
  };
}

async function allocate(host: string, handle: string, given: Partial<HostAllocateRequest> = {}) {
  const answer = await ports.host(host).allocate(request(host, handle, given));
  if (!answer.ok) return { code: answer.error.code, records: [] };
  return { code: "ok", records: answer.value.addresses.map(({ record }) => record) };
}

/** Every live address, by the blocks themselves. */
async function live() {
  const views = BLOCKS.map((block) => ports.block(block).describe({ block, policy: POLICY, records: "all" }));
  const records = (await Promise.all(views)).flatMap((view) => view.records);
  return records.filter(({ state }) => state === "allocated");
}

test("I1 I5 I6: every address is given once, its block owned by one confirmed row, its key listed in the index", async () => {
  const incarnation = await setUp();
  const asked = Array.from({ length: 18 }, (_, n) => allocate(n % 2 === 0 ? "a" : "b", `h${n}`));
  const answers = await Promise.all(asked);
  expect(answers.map(({ code }) => code).sort()).toEqual([
    ...Array(16).fill("ok"),
    "pool_exhausted",
    "pool_exhausted",
  ]);
  const records = await live();
  expect(new Set(records.map(({ address }) => address)).size).toBe(16);
  const rows = (await Promise.all(["a", "b"].map((host) => ports.host(host).affinities({ host })))).map(
    (answer) => answer.rows,
  );
  const confirmed = rows.flat().filter(({ state }) => state === "confirmed");
  expect(new Set(confirmed.map(({ block }) => block)).size).toBe(confirmed.length);
  for (const [place, host] of ["a", "b"].entries()) {
    for (const { block } of (rows[place] ?? []).filter(({ state }) => state === "confirmed")) {
      expect((await ports.block(block).describe({ block, policy: POLICY })).owner, block).toBe(host);
    }
  }
  const target = { pool: "p", incarnation, cidr: "10.6.0.0/28", blockSize: 30 };
  const listed = await ports.pool("p", incarnation).list({ ...target, limit: 10 });
  expect(listed.entries.map(({ block }) => block).sort()).toEqual([...BLOCKS].sort());
  for (const { handle, block, key } of records) {
    const { rows: keys } = await ports.handleIndex(handle).list({ handle });
    expect(keys, `${handle} in ${block}`).toMatchObject([{ key, block }]);
  }
});

test("I13 I4: a key gives the same address after every object was evicted, and is spent after its release", async () => {
  await setUp();
  const first = await allocate("a", "h");
  const [record] = first.records;
  if (record === undefined) throw new Error(first.code);
  await evict(stubs.host("a"), stubs.index("h"), stubs.block(record.block), stubs.cluster());
  const again = await allocate("a", "h");
  expect(again.records.map(({ address }) => address)).toEqual([record.address]);
  expect((await allocate("a", "h", { fingerprint: "other" })).code).toBe("idempotency_key_reused");
  const guard = { address: record.address, sequenceNumber: record.sequenceNumber };
  const { block } = record;
  await ports.block(block).releaseAddresses({ block, cooldownMs: 0, items: [guard] });
  await evict(stubs.host("a"), stubs.index("h"), stubs.block(block));
  expect((await allocate("a", "h")).code).toBe("idempotency_key_released");
  expect(await live()).toEqual([]);
});

test("I7: no address in a reservation is given automatically; an exact assignment may take it", async () => {
  await setUp({}, ["10.6.0.0/29", "10.6.0.9/32"]);
  const answers = await Promise.all(
    Array.from({ length: 9 }, (_, n) => allocate(n % 2 === 0 ? "a" : "b", `h${n}`)),
  );
  const given = answers.flatMap(({ records }) => records.map(({ address }) => address));
  const usable = ["10.6.0.8", "10.6.0.10", "10.6.0.11", ...[12, 13, 14, 15].map((last) => `10.6.0.${last}`)];
  expect(given.sort()).toEqual(usable.sort());
  const exact = await ports.host("a").assign({
    ...request("a", "exact"),
    address: "10.6.0.9",
  });
  expect(exact).toMatchObject({ ok: true, value: { created: true, address: { reserved: true } } });
});

test.each([
  ["I8: under strict affinity nobody gets an address of another's block", true, "strict_affinity"],
  ["without it a host borrows where no block is left to claim", false, "ok"],
])("%s", async (_name, strictAffinity, code) => {
  await setUp({ strictAffinity });
  for (let n = 0; n < 13; n += 1) expect((await allocate("a", `a${n}`)).code).toBe("ok");
  const answer = await allocate("b", "b0");
  expect(answer.code).toBe(code);
  const foreign = (await live()).filter(({ host, blockOwner }) => host !== blockOwner);
  expect(foreign.map(({ address }) => address)).toEqual(answer.records.map(({ address }) => address));
});

test("I10 I15: a host never owns more blocks than its cap, and a refusal leaves no address", async () => {
  await setUp({ maxBlocksPerHost: 1, strictAffinity: true });
  const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => allocate("a", `h${n}`)));
  const codes = answers.map(({ code }) => code);
  expect(codes.filter((code) => code === "ok").length).toBe(4);
  expect(new Set(codes)).toEqual(new Set(["ok", "block_limit_reached"]));
  expect((await ports.host("a").affinities({ host: "a" })).rows.length).toBe(1);
  const told = answers.flatMap(({ records }) => records.map(({ address }) => address));
  expect((await live()).map(({ address }) => address).sort()).toEqual(told.sort());
  const greedy = await allocate("b", "greedy", { ipv4: { count: 5 } });
  expect(greedy.code).toBe("block_limit_reached");
  expect((await live()).filter(({ host }) => host === "b")).toEqual([]);
});

test("I15: a dual-stack request for which one family has no pool leaves nothing of the other", async () => {
  await setUp();
  const answer = await allocate("a", "both", { ipv6: { count: 1 } });
  expect(answer.code).toBe("no_qualified_pool");
  expect(await live()).toEqual([]);
  const partial = await allocate("a", "some", { ipv6: { count: 1 }, partial: true });
  expect(partial).toMatchObject({ code: "ok", records: [{ family: 4 }] });
});

test("I12: a released address cools; the pool says so, and does not call itself exhausted", async () => {
  await setUp({ ipCooldownSeconds: 60 });
  for (let n = 0; n < 16; n += 1) await allocate("a", `h${n}`);
  const [one] = await live();
  if (one === undefined) throw new Error("the pool is full");
  const { address, sequenceNumber, block } = one;
  await ports
    .block(block)
    .releaseAddresses({ block, cooldownMs: 60_000, items: [{ address, sequenceNumber }] });
  expect((await allocate("a", "late")).code).toBe("pool_cooling");
});
