/** What the whole path costs in calls and rows, by the objects' own counters (design: budgets). */
import { beforeAll, expect, test } from "vitest";
import { ports, send, spent, stubs } from "../support/objects/deployment.ts";

const HOST = "node-1";
const BLOCK_SIZE = 28;
/** The block that the host claimed; its place in the pool comes from a hash of the host's name. */
let block = "";
let watched: Parameters<typeof spent>[0] = {};

const watchedFor = (handle: string) => ({ ...watched, index: stubs.index(handle) });
const body = (handle: string, count = 1) => ({ host: HOST, handle, ipv4: { count } });
const withKey = (key: string) => ({ "idempotency-key": `key-of-${key}` });

async function allocate(handle: string): Promise<{ address: string; sequenceNumber: number }> {
  const { status, body: answer } = await send("POST", "/v1/allocations", body(handle), withKey(handle));
  expect(status, JSON.stringify(answer)).toBe(201);
  const [first] = answer.allocations as { address: string; sequenceNumber: number; block: string }[];
  if (first === undefined) throw new Error("an answer without an address");
  block = first.block;
  return first;
}

beforeAll(async () => {
  const by = "test";
  const pool = await ports
    .cluster()
    .putPool({ name: "p", spec: { cidr: "10.0.0.0/24", blockSize: BLOCK_SIZE }, by });
  if (!pool.ok) throw new Error(JSON.stringify(pool.error));
  await ports.host(HOST).register({ host: HOST, labels: {} });
  await allocate("first");
  await allocate("second");
  // The Worker takes its own lease with its first release.
  await send("POST", "/v1/releases", { handles: ["nobody"] });
  watched = {
    host: stubs.host(HOST),
    block: stubs.block(block),
    pool: stubs.pool("p", pool.value.value.incarnation),
    cluster: stubs.cluster(),
  };
});

test("a steady allocation is 3 object calls and 2 rows written, none in the Host", async () => {
  const cost = await spent(watchedFor("steady"), () => allocate("steady"));
  expect(cost.calls).toEqual({ "host.allocate": 1, "index.reserve": 1, "block.allocate": 1 });
  expect(cost.rows).toEqual({ host: 0, index: 1, block: 1, pool: 0, cluster: 0 });
});

test("I13: a replay is 3 calls and at most 2 rows, and the same address", async () => {
  const first = await allocate("replayed");
  const cost = await spent(watchedFor("replayed"), async () => {
    expect(await allocate("replayed")).toMatchObject(first);
  });
  expect(cost.total, JSON.stringify(cost.calls)).toBe(3);
  expect(cost.rowsWritten, JSON.stringify(cost.rows)).toBeLessThanOrEqual(2);
});

test("a release by handle is 3 calls and 2 rows", async () => {
  await allocate("leaving");
  const cost = await spent(watchedFor("leaving"), async () => {
    const answer = await send("POST", "/v1/releases", { handles: ["leaving"] });
    expect(answer.body).toMatchObject({ released: 1 });
  });
  expect(cost.calls).toEqual({ "index.list": 1, "block.releaseHandle": 1, "index.settle": 1 });
  expect(cost.rows).toEqual({ host: 0, index: 1, block: 1, pool: 0, cluster: 0 });
});

test("a release by address is 1 call and 1 row", async () => {
  const { address, sequenceNumber } = await allocate("single");
  const cost = await spent(watchedFor("single"), async () => {
    const answer = await send("DELETE", `/v1/allocations/${address}?sequenceNumber=${sequenceNumber}`);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  });
  expect(cost.calls).toEqual({ "block.releaseAddresses": 1 });
  expect(cost.rows).toEqual({ host: 0, index: 0, block: 1, pool: 0, cluster: 0 });
});

test("a claim costs at most 6 calls, once; the next allocation of the host is steady", async () => {
  const host = "node-2";
  await ports.host(host).register({ host, labels: {} });
  const placed = await send("GET", "/v1/blocks?limit=100");
  const known = new Set((placed.body.items as { cidr: string }[]).map(({ cidr }) => cidr));
  const blocks = Array.from({ length: 16 }, (_, place) => `10.0.0.${place * 16}/${BLOCK_SIZE}`);
  const free = blocks.filter((cidr) => !known.has(cidr));
  expect(free.length).toBe(15);
  const all = {
    ...watched,
    host: stubs.host(host),
    index: stubs.index("claiming"),
    ...Object.fromEntries(free.map((cidr) => [cidr, stubs.block(cidr)])),
  };
  const first = await spent(all, () =>
    send("POST", "/v1/allocations", { host, handle: "claiming", ipv4: { count: 1 } }),
  );
  const steady = 3;
  expect(first.total - steady, JSON.stringify(first.calls)).toBeLessThanOrEqual(6);
  expect(first.calls).toMatchObject({ "pool.claim": 1 });
  const second = await spent(all, () =>
    send("POST", "/v1/allocations", { host, handle: "claiming", ipv4: { count: 1 } }),
  );
  expect(second.total, JSON.stringify(second.calls)).toBe(steady);
});
