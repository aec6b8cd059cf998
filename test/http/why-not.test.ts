/** Batches, explanations and events of the running service. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Service, startService } from "../support/service.ts";
import { type Answer, type Client, clientOf, expectStatus } from "./client.ts";

const settings = { leaseMs: 1_000, reportMs: 50, refusalsMs: 500, reclaimAgeMs: 600_000 };

let service: Service;
let client: Client;

beforeAll(async () => {
  const vars = { TEST_SETTINGS: JSON.stringify(settings) };
  service = await startService({ entry: "test/support/entry.ts", vars });
  client = clientOf(service);
  await must("PUT", "/v1/pools/small", { cidr: "10.9.0.0/28", blockSize: 30 });
  await must("PUT", "/v1/pools/gpu", { cidr: "10.9.1.0/28", blockSize: 30, nodeSelector: "gpu == 'true'" });
  await must("PUT", "/v1/hosts/node-1", { labels: { zone: "b" } });
});

afterAll(async () => {
  await service.stop();
});

const must = (method: string, path: string, json?: unknown, headers?: Record<string, string>) =>
  expectStatus(client(method, path, json, headers), 200, 201, 202, 204);

/** Asks until it is so; refusals are told a moment later. */
async function eventually(path: string, isSo: (body: Answer["body"]) => boolean): Promise<Answer["body"]> {
  for (let tries = 0; tries < 600; tries += 1) {
    const { body } = await must("GET", path);
    if (isSo(body)) return body;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${path} did not become so within 30 s`);
}

const batch = (items: object[]) => client("POST", "/v1/allocation-batches", { host: "node-1", items });

describe("allocateBatch", () => {
  it("each item has its own outcome: 200, whatever becomes of them", async () => {
    const items = [
      { key: "one-1", handle: "b.1", ipv4: { count: 1 }, attributes: { pod: "web-1" } },
      { key: "two-1", handle: "b.2", ipv4: { count: 1, pools: ["nowhere"] } },
      { key: "six-1", handle: "b.3", ipv6: { count: 1 } },
    ];
    const first = await batch(items);
    expect(first.status, first.text).toBe(200);
    const [one, two, six] = first.body.results;
    expect(one).toMatchObject({ key: "one-1", status: 201, replayed: false });
    expect(one.allocations[0]).toMatchObject({ handle: "b.1", attributes: { pod: "web-1", node: "node-1" } });
    expect(two).toMatchObject({ key: "two-1", status: 409, allocations: [] });
    expect(two.problem).toMatchObject({ code: "requested_pool_unavailable", status: 409 });
    expect(two.problem.requestId).toBe(first.headers.get("x-request-id"));
    expect(six.problem).toMatchObject({ code: "no_qualified_pool" });
    const again = await batch(items);
    expect(again.body.results[0]).toMatchObject({ replayed: true, allocations: one.allocations });
  });

  it("I13: an item is the same request as an allocation of its own with that key", async () => {
    const item = { handle: "b.4", ipv4: { count: 1 } };
    const many = await batch([{ key: "shared-key", ...item }]);
    const alone = await must(
      "POST",
      "/v1/allocations",
      { host: "node-1", ...item },
      { "idempotency-key": "shared-key" },
    );
    expect(alone.body).toMatchObject({ replayed: true, allocations: many.body.results[0].allocations });
    const other = await batch([{ key: "shared-key", handle: "b.4", ipv4: { count: 2 } }]);
    expect(other.body.results[0]).toMatchObject({ status: 422, problem: { code: "idempotency_key_reused" } });
    await must("POST", "/v1/releases", { handles: ["b.1", "b.4"] });
    const spent = await batch([{ key: "shared-key", ...item }]);
    expect(spent.body.results[0].problem.code).toBe("idempotency_key_released");
  });

  it("an unknown host refuses the whole", async () => {
    const items = [{ key: "k", handle: "x", ipv4: { count: 1 } }];
    const answer = await client("POST", "/v1/allocation-batches", { host: "nobody", items });
    expect(answer.status).toBe(409);
    expect(answer.body.code).toBe("host_unknown");
  });

  it("faults of all items are told at once, each in its place", async () => {
    const answer = await batch([
      { key: "k1", handle: "x", ipv4: { count: 0 } },
      { key: "k2", handle: "x y", ipv4: { count: 1, pools: ["fd00::/64"] } },
      { key: "k3", handle: "x", ipv4: { count: 1 }, attributes: { node: "other" } },
      { key: "", handle: "x", ipv4: { count: 1 }, partial: true },
    ]);
    expect(answer.status).toBe(400);
    const faults = answer.body.errors.map(({ pointer, code }: Record<string, string>) => [pointer, code]);
    expect(faults).toEqual(
      expect.arrayContaining([
        ["/items/0", "nothing_requested"],
        ["/items/1/handle", "pattern"],
        ["/items/1/ipv4/pools/0", "wrong_family"],
        ["/items/2/attributes/node", "attribute_conflict"],
        ["/items/3/key", "pattern"],
        ["/items/3/partial", "unknown_field"],
      ]),
    );
    expect(faults).toHaveLength(6);
    const many = Array.from({ length: 257 }, (_, n) => ({ key: `k${n}`, handle: "x", ipv4: { count: 1 } }));
    expect((await batch(many)).body.errors).toMatchObject([
      { pointer: "/items", code: "too_many", limit: 256 },
    ]);
    expect((await batch([])).status).toBe(400);
  });
});

describe("explainAllocation", () => {
  const wish = (count: number) => ({ host: "node-1", handle: "e.1", ipv4: { count } });

  it("tells what allocate would answer, and changes nothing", async () => {
    const explained = await must("POST", "/v1/explanations", wish(2));
    expect(explained.body).toMatchObject({
      wouldSucceed: true,
      hostKnown: true,
      hostLabels: { zone: "b" },
      strictAffinity: false,
      autoAllocateBlocks: true,
      families: [{ family: 4, requested: 2, allocated: 2, blockCap: 20, consideredOmitted: 0 }],
    });
    const rules = explained.body.families[0].considered.filter(
      ({ kind }: { kind: string }) => kind === "pool",
    );
    expect(rules).toMatchObject([
      { pool: "gpu", outcome: "skipped", rule: "node_selector" },
      { pool: "small", outcome: "used", rule: "ok" },
    ]);
    expect((await must("GET", "/v1/handles/e.1")).body.items).toEqual([]);
    const tooMany = await must("POST", "/v1/explanations", wish(200));
    const refused = await client("POST", "/v1/allocations", wish(200));
    expect(refused.status).toBe(409);
    expect(tooMany.body.wouldSucceed).toBe(false);
    expect(tooMany.body.families[0].code).toBe(refused.body.code);
    const unknown = await must("POST", "/v1/explanations", { ...wish(1), host: "nobody" });
    expect(unknown.body).toMatchObject({ wouldSucceed: false, hostKnown: false, hostLabels: {} });
    expect(unknown.body.families).toMatchObject([{ code: "host_unknown", allocated: 0 }]);
  });

  it("explain: true has the answer tell it; the key does not count it", async () => {
    const key = { "idempotency-key": "explained" };
    const body = { ...wish(1), handle: "e.2" };
    const told = await must("POST", "/v1/allocations", { ...body, explain: true }, key);
    expect(told.body.explanation).toMatchObject({ wouldSucceed: true, families: [{ allocated: 1 }] });
    const plain = await must("POST", "/v1/allocations", body, key);
    expect(plain.body).toMatchObject({ replayed: true, allocations: told.body.allocations });
    expect(plain.body.explanation).toBeUndefined();
  });
});

describe("listEvents", () => {
  it("changes stand there with before, after, who and which request", async () => {
    const headers = { "x-request-id": "change-1" };
    await must("PATCH", "/v1/config", { ipCooldownSeconds: 7 }, headers);
    const { body } = await must("GET", "/v1/events?type=config_changed");
    expect(body.items[0]).toMatchObject({
      type: "config_changed",
      severity: "info",
      actor: "anonymous",
      requestId: "change-1",
      before: { ipCooldownSeconds: "0" },
      after: { ipCooldownSeconds: "7" },
      summary: "The configuration was changed: ipCooldownSeconds.",
    });
    await must("PATCH", "/v1/config", { ipCooldownSeconds: 0 });
    await must("PUT", "/v1/reservations/printers", { reservedCIDRs: ["10.9.0.14"] });
    await must("DELETE", "/v1/reservations/printers");
    const reservations = await must("GET", "/v1/events?type=reservation_changed");
    expect(reservations.body.items.map(({ summary }: { summary: string }) => summary)).toEqual([
      "Reservation printers was removed.",
      "Reservation printers was made.",
    ]);
    expect((await must("GET", "/v1/events?host=node-1&type=host_registered")).body.items).toHaveLength(1);
  });

  it("refusals are gathered: one row for many, counted in the status and by the host", async () => {
    const before = (await must("GET", "/v1/status")).body.refusalsLast10Minutes as number;
    const wish = { host: "node-1", handle: "r.1", ipv4: { count: 100, pools: ["small"] } };
    const refused = await Promise.all(
      Array.from({ length: 20 }, () => client("POST", "/v1/allocations", wish)),
    );
    expect(refused.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 409));
    const path = "/v1/events?type=refusal&host=node-1&pool=small&code=pool_exhausted";
    const count = (body: Answer["body"]) =>
      body.items.reduce((sum: number, one: { count: number }) => sum + one.count, 0);
    const { items } = await eventually(path, (body) => count(body) >= 20);
    expect(items.length).toBeLessThan(20);
    expect(items[0]).toMatchObject({ severity: "warning", code: "pool_exhausted", pool: "small" });
    expect(items[0].shortfall[0].considered[0]).toMatchObject({ kind: "pool" });
    await eventually("/v1/status", (body) => body.refusalsLast10Minutes >= before + 20);
    const { refusals } = (await must("GET", "/v1/hosts/node-1")).body;
    expect(refusals.last10Minutes).toBeGreaterThanOrEqual(20);
    expect(refusals.lastCode).toBe("pool_exhausted");
  });

  it("pages newest first; a cursor is bound to its filters; a time is RFC 3339", async () => {
    const seen: string[] = [];
    let cursor = "";
    let since = "";
    for (let pages = 0; pages < 50; pages += 1) {
      const { body } = await must("GET", `/v1/events?limit=2${cursor}`);
      seen.push(...body.items.map(({ id }: { id: string }) => id));
      since = body.items.at(-1)?.at ?? since;
      if (body.nextCursor === undefined) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.map(Number)).toEqual(seen.map(Number).toSorted((one, other) => other - one));
    expect((await must("GET", `/v1/events?limit=1000&since=${since}`)).body.items.length).toBe(seen.length);
    const later = new Date(Date.now() + 3_600_000).toISOString();
    expect((await must("GET", `/v1/events?since=${later}`)).body).toEqual({ items: [] });
    const mixed = await client("GET", `/v1/events?type=refusal${cursor}`);
    expect(mixed.body.errors).toMatchObject([{ parameter: "cursor", code: "invalid_cursor" }]);
    const wrong = await client("GET", "/v1/events?since=yesterday");
    expect(wrong.body.errors).toMatchObject([{ parameter: "since", code: "pattern" }]);
  });
});
