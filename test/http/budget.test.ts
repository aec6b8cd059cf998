/**
 * What each request costs, in calls of objects and rows written, counted by the objects themselves.
 * The figures are those of the design's budget; they do not depend on the machine.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type CountersAnswer, counters, setClock, WITHOUT_ALARMS_MS } from "../support/control.ts";
import { HttpClient } from "../support/http-client.ts";
import { type Service, startService } from "../support/service.ts";

/**
 * Long, so that no lease runs out and no report is due unless a test wants it; and nothing is claimed ahead,
 * which a burst does or does not by its pace.
 */
const settings = {
  leaseMs: 600_000,
  reportMs: 600_000,
  figuresMs: 600_000_000,
  indexPassMs: 600_000_000,
  claimAheadMs: 0,
};
/** What is told to directories when a block turns; it is no part of a request, nobody waits for it. */
const BACKGROUND = ["pool.report", "host.blockChanged"];

let service: Service;
let client: HttpClient;
let clock = WITHOUT_ALARMS_MS;

beforeAll(async () => {
  const vars = { TEST_SETTINGS: JSON.stringify(settings), TEST_CLOCK_MS: String(clock) };
  service = await startService({ entry: "test/support/entry.ts", vars });
  client = new HttpClient(() => service.url);
  await client.must("PUT", "/v1/pools/wide", { cidr: "10.4.0.0/20", blockSize: 26 });
  for (const host of ["one", "two", "three"]) await client.must("PUT", `/v1/hosts/${host}`, { labels: {} });
  await allocate("one", "warm.1");
});

afterAll(async () => {
  client.close();
  await service.stop();
});

interface Cost {
  /** Calls by object and method, and how many. */
  readonly calls: Record<string, number>;
  readonly rows: Record<string, number>;
}

interface CostWithCommits extends Cost {
  readonly commits: Record<string, number>;
}

function difference(before: Record<string, number>, after: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after)
      .map(([name, count]) => [name, count - (before[name] ?? 0)] as const)
      .filter(([name, count]) => count !== 0 && !BACKGROUND.includes(name)),
  );
}

/** What something costs. */
async function costOf(work: () => Promise<unknown>): Promise<Cost> {
  const { calls, rows } = await costWithCommits(work);
  return { calls, rows };
}

/** What something costs; callers and callees must have counted the same calls. */
async function costWithCommits(work: () => Promise<unknown>): Promise<CostWithCommits> {
  const before = await counters(client);
  await work();
  const after: CountersAnswer = await counters(client);
  const calls = difference(before.calls, after.calls);
  expect(difference(before.sent, after.sent)).toEqual(calls);
  return {
    calls,
    rows: difference(before.rowsWritten, after.rowsWritten),
    commits: difference(before.commits, after.commits),
  };
}

function total(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function allocate(host: string, handle: string, key = `${handle}-key`) {
  const body = { host, handle, ipv4: { count: 1 } };
  return client.must("POST", "/v1/allocations", body, { "Idempotency-Key": key });
}

/** Lets every lease run out. */
async function expireLeases(): Promise<void> {
  clock += settings.leaseMs + 1_000;
  await setClock(client, clock);
}

it("allocate, steady: 3 calls, 2 rows", async () => {
  expect(await costOf(() => allocate("one", "steady.1"))).toEqual({
    calls: { "host.allocate": 1, "handleIndex.reserve": 1, "block.allocate": 1 },
    rows: { handleIndex: 1, block: 1 },
  });
});

it("allocate when the lease has run out: one call more", async () => {
  await expireLeases();
  const { calls, rows } = await costOf(() => allocate("one", "steady.2"));
  expect(calls).toEqual({
    "host.allocate": 1,
    "handleIndex.reserve": 1,
    "block.allocate": 1,
    "cluster.lease": 1,
  });
  // The horizon of leases is a row of Cluster's, written once per lease at most.
  expect(rows).toEqual({ handleIndex: 1, block: 1, cluster: 1 });
});

it("I13: a replay: 3 calls, at most 2 rows", async () => {
  await allocate("one", "replay.1");
  const { calls, rows } = await costOf(() => allocate("one", "replay.1"));
  expect(calls).toEqual({ "host.allocate": 1, "handleIndex.reserve": 1, "block.allocate": 1 });
  expect(total(rows)).toBeLessThanOrEqual(2);
});

it("release by handle: 3 calls, 2 rows", async () => {
  await allocate("one", "gone.1");
  expect(await costOf(() => client.must("DELETE", "/v1/handles/gone.1"))).toEqual({
    calls: { "handleIndex.list": 1, "block.releaseHandle": 1, "handleIndex.settle": 1 },
    rows: { handleIndex: 1, block: 1 },
  });
});

it("release by handle that holds nothing: 1 call, no row", async () => {
  expect(await costOf(() => client.must("DELETE", "/v1/handles/never.1"))).toEqual({
    calls: { "handleIndex.list": 1 },
    rows: {},
  });
});

it("release by address: 1 call, 1 row; its repetition writes nothing", async () => {
  const { allocations = [] } = await allocate("one", "gone.2");
  const { address, sequenceNumber } = allocations[0]!;
  const path = `/v1/allocations/${address}?sequenceNumber=${sequenceNumber}`;
  const calls = { "block.releaseAddresses": 1 };
  expect(await costOf(() => client.must("DELETE", path))).toEqual({ calls, rows: { block: 1 } });
  expect(await costOf(() => client.must("DELETE", path))).toEqual({ calls, rows: {} });
});

it("I3: a stale release: 1 call, no row", async () => {
  const { allocations = [] } = await allocate("one", "kept.1");
  const { address, sequenceNumber } = allocations[0]!;
  const stale = `/v1/allocations/${address}?sequenceNumber=${sequenceNumber - 1}`;
  const cost = await costOf(() => client.send("DELETE", stale));
  expect(cost).toEqual({ calls: { "block.releaseAddresses": 1 }, rows: {} });
});

it("the claim of a block: at most 6 calls beyond those of allocate, once per block", async () => {
  const first = await costOf(() => allocate("two", "first.1"));
  const steady = total({ "host.allocate": 1, "handleIndex.reserve": 1, "block.allocate": 1 });
  expect(first.calls["block.claim"]).toBe(1);
  expect(total(first.calls) - steady).toBeLessThanOrEqual(6);
  const next = await costOf(() => allocate("two", "first.2"));
  expect(next.calls).toEqual({ "host.allocate": 1, "handleIndex.reserve": 1, "block.allocate": 1 });
});

it("an exact assignment in an own block, and its replay", async () => {
  const { allocations = [] } = await allocate("one", "near.1");
  const address = allocations[0]!.address.replace(/\d+$/, (last) => `${Number(last) ^ 32}`);
  const assign = () =>
    client.must(
      "PUT",
      `/v1/allocations/${address}`,
      { host: "one", handle: "exact.1" },
      { "Idempotency-Key": "exact.1-key" },
    );
  const { calls, rows } = await costOf(assign);
  expect(calls["block.allocate"]).toBe(1);
  expect(total(calls)).toBeLessThanOrEqual(4);
  expect(rows).toEqual({ handleIndex: 1, block: 1 });
  expect(total((await costOf(assign)).rows)).toBeLessThanOrEqual(2);
});

it("I15: refusals before any block: nothing is written", async () => {
  const refused = async (body: object, headers: Record<string, string> = {}) => {
    let code = "";
    const cost = await costOf(async () => {
      code = (await client.send("POST", "/v1/allocations", body, headers)).body.code ?? "";
    });
    return { code, calls: total(cost.calls), rows: cost.rows };
  };
  const wish = { host: "one", handle: "refused.1", ipv4: { count: 1 } };
  expect(await refused({ ...wish, surprise: 1 })).toEqual({ code: "invalid_request", calls: 0, rows: {} });
  expect(await refused({ ...wish, host: "nobody" })).toEqual({ code: "host_unknown", calls: 1, rows: {} });
  const elsewhere = await refused({ ...wish, ipv4: { count: 1, pools: ["absent"] } });
  expect(elsewhere).toMatchObject({ code: "requested_pool_unavailable", rows: {} });
  expect(elsewhere.calls).toBeLessThanOrEqual(2);
  const other = await refused(
    { ...wish, handle: "steady.1", ipv4: { count: 2 } },
    { "Idempotency-Key": "steady.1-key" },
  );
  expect(other).toEqual({ code: "idempotency_key_reused", calls: 2, rows: {} });
});

it("a spent key: at most 3 calls, no row", async () => {
  let code = "";
  const { calls, rows } = await costOf(async () => {
    const body = { host: "one", handle: "gone.1", ipv4: { count: 1 } };
    code =
      (await client.send("POST", "/v1/allocations", body, { "Idempotency-Key": "gone.1-key" })).body.code ??
      "";
  });
  expect(code).toBe("idempotency_key_released");
  expect(total(calls)).toBeLessThanOrEqual(3);
  expect(rows).toEqual({});
});

it("reads write nothing, and cost a call per object that they ask", async () => {
  const reads: Record<string, number> = {
    "/healthz": 0,
    "/v1/whoami": 0,
    "/v1/handles/steady.1": 2,
    "/v1/hosts?limit=100": 4,
    "/v1/blocks?limit=100": 3 + 3,
    "/v1/allocations?limit=100": 3 + 3,
    "/v1/pools": 3,
    "/v1/pools/wide": 2,
    "/v1/reservations": 1,
    "/v1/config": 1,
  };
  const costs = new Map<string, Cost>();
  for (const path of Object.keys(reads)) costs.set(path, await costOf(() => client.must("GET", path)));
  for (const [path, { calls, rows }] of costs) {
    expect(rows, path).toEqual({});
    expect(total(calls), `${path} ${JSON.stringify(calls)}`).toBeLessThanOrEqual(reads[path]!);
  }
});

it("one host, 64 requests at once: few calls of the Host, one commit per batch, not per request", async () => {
  await allocate("three", "many.0");
  const { calls, rows, commits } = await costWithCommits(() =>
    Promise.all(Array.from({ length: 63 }, (_, number) => allocate("three", `many.${number + 1}`))),
  );
  const { "host.allocate": alone = 0, "host.allocateTogether": together = 0 } = calls;
  expect(calls["host.allocated"]).toBeUndefined();
  expect(together).toBeGreaterThan(0);
  expect(alone + together).toBeLessThan(32);
  expect(rows).toEqual({ handleIndex: 63, block: 63 });
  expect(commits).toEqual({ handleIndex: calls["handleIndex.reserve"], block: calls["block.allocate"] });
  expect(total(commits)).toBeLessThan(63);
});

it("I12: cooling ends by time alone: no call and no row makes an address free again", async () => {
  // With no lease out, a policy write need not wait for one to run out.
  await expireLeases();
  await client.must("PATCH", "/v1/config", { ipCooldownSeconds: 30 });
  await client.must("PUT", "/v1/pools/tiny", {
    cidr: "10.5.0.0/30",
    blockSize: 30,
    assignmentMode: "Manual",
  });
  const wish = { host: "one", ipv4: { count: 4, pools: ["tiny"] } };
  const take = (handle: string) => client.send("POST", "/v1/allocations", { ...wish, handle });
  expect((await take("cool.1")).status).toBe(201);
  await client.must("DELETE", "/v1/handles/cool.1");
  expect((await take("cool.2")).body.code).toBe("pool_cooling");
  clock += 31_000;
  await setClock(client, clock);
  expect((await take("cool.3")).status).toBe(201);
});
