/** The rules of the contract for all operations (R1 to R15), on the running service. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OPERATIONS } from "../../src/http/routes.ts";
import { type Service, startService } from "../support/service.ts";
import { type Client, clientOf, expectStatus } from "./client.ts";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let service: Service;
let call: Client;

beforeAll(async () => {
  service = await startService();
  call = clientOf(service);
  const put = (path: string, json: unknown) => expectStatus(call("PUT", path, json), 200, 201);
  await Promise.all([
    put("/v1/pools/default", { cidr: "10.10.0.0/16", blockSize: 29, gateway: "10.10.0.1" }),
    put("/v1/pools/six", { cidr: "fd00:10::/112" }),
    put("/v1/pools/apart", { cidr: "10.20.0.0/24", nodeSelector: "apart == 'yes'" }),
  ]);
  for (const host of ["node-1", "node-2", "node-3"]) await put(`/v1/hosts/${host}`, { labels: {} });
}, 60_000);

afterAll(async () => {
  await service.stop();
});

const wish = (handle: string, count = 1, host = "node-1") => ({ host, handle, ipv4: { count } });
const allocate = (json: unknown, headers = {}) => call("POST", "/v1/allocations", json, headers);

/** Every item of a list, page by page. */
async function all(path: string, limit: number) {
  const items: { address?: string; name?: string }[] = [];
  let pages = 0;
  let cursor: string | undefined;
  do {
    const join = path.includes("?") ? "&" : "?";
    const next = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await expectStatus(call("GET", `${path}${join}limit=${limit}${next}`), 200);
    expect(body.items.length).toBeLessThanOrEqual(limit);
    items.push(...body.items);
    cursor = body.nextCursor;
    pages += 1;
    if (pages > 500) throw new Error("a list without end");
  } while (cursor !== undefined);
  return { items, pages };
}

describe("R1, R9: form", () => {
  it("R1: answers are JSON, refusals are problems, both say which request they answer", async () => {
    const good = await call("GET", "/v1/config", undefined, { "x-request-id": "mine-1" });
    expect(good.headers.get("content-type")).toBe("application/json");
    expect(good.headers.get("x-request-id")).toBe("mine-1");
    const bad = await call("GET", "/v1/config?x=1");
    expect(bad.headers.get("content-type")).toBe("application/problem+json");
    expect(bad.body.requestId).toBe(bad.headers.get("x-request-id"));
  });

  it("R1: a body ends at 1 MiB, also when its length is not said", async () => {
    let left = 64;
    const long = new ReadableStream({
      pull(controller) {
        left -= 1;
        if (left < 0) controller.close();
        else controller.enqueue(new Uint8Array(65_536).fill(32));
      },
    });
    const init = { method: "POST", body: long, duplex: "half" } as RequestInit;
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${service.url}/v1/allocations`, { ...init, headers }).catch(() => undefined);
    // The connection may be cut while the rest is still being sent; what is answered is 413.
    if (answer !== undefined) expect(answer.status).toBe(413);
    expect((await call("GET", "/healthz")).status).toBe(200);
  });
});

describe("R3, R4: spelling", () => {
  it("R3: reservations are masked; addresses come back in canonical text", async () => {
    const json = { reservedCIDRs: ["10.10.200.7/24", "fd00:0010:0::00ff"] };
    const put = await expectStatus(call("PUT", "/v1/reservations/masked", json), 201);
    expect(put.body.reservedCIDRs).toEqual(["10.10.200.0/24", "fd00:10::ff/128"]);
    const assigned = await expectStatus(
      call("PUT", "/v1/allocations/FD00:0010::00AB", { host: "node-1", handle: "spelled" }),
      201,
    );
    expect(assigned.body.address).toBe("fd00:10::ab");
    const read = await expectStatus(call("GET", "/v1/allocations/fd00%3A10%3A%3Aab"), 200);
    expect(read.body).toEqual(assigned.body);
    await expectStatus(call("DELETE", "/v1/handles/spelled"), 200);
  });

  it("R4: a block is found by its name and by its CIDR, with a map of its addresses", async () => {
    const { body } = await expectStatus(allocate(wish("mapped")), 201);
    const { block, address } = body.allocations[0];
    const byName = await expectStatus(call("GET", `/v1/blocks/${block.replace("/", "-")}`), 200);
    const byCidr = await expectStatus(call("GET", `/v1/blocks/${encodeURIComponent(block)}`), 200);
    expect({ ...byName.body, asOf: "" }).toEqual({ ...byCidr.body, asOf: "" });
    expect(byName.body.map).toHaveLength(byName.body.capacity);
    expect(byName.body.map).toContain("#");
    expect(byName.body.affinity).toMatchObject({ type: "host", name: "node-1", state: "confirmed" });
    expect(address.startsWith("10.10.")).toBe(true);
    await expectStatus(call("DELETE", "/v1/handles/mapped"), 200);
  });
});

describe("R5 to R7: values and lists", () => {
  it("R5: times have milliseconds and Z, pool counts are text, nothing is null", async () => {
    const answers = [
      await call("GET", "/v1/pools/default"),
      await call("GET", "/v1/hosts/node-1"),
      await call("GET", "/v1/config"),
    ];
    for (const { text } of answers) expect(text).not.toContain("null");
    const [pool, host, config] = answers;
    expect(pool?.body.usage).toMatchObject({ capacity: "65536", exact: false });
    expect(typeof pool?.body.usage.usedPercent).toBe("number");
    for (const at of [
      pool?.body.createdAt,
      pool?.body.usage.asOf,
      host?.body.registeredAt,
      config?.body.updatedAt,
    ]) {
      expect(at).toMatch(TIME);
    }
  });

  it("R6: lists are in order, and every item that stays appears exactly once", async () => {
    await Promise.all(
      ["node-1", "node-2", "node-3"].map((host) =>
        expectStatus(allocate(wish(`list-${host}`, 20, host)), 201),
      ),
    );
    const whole = await all("/v1/allocations", 1000);
    const addresses = whole.items.map(({ address }) => address as string);
    const number = (text: string) => text.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0);
    expect(addresses.map(number)).toEqual(addresses.map(number).toSorted((a, b) => a - b));
    expect(addresses.length).toBe(60);
    for (const limit of [1, 7, 59, 60]) {
      expect((await all("/v1/allocations", limit)).items).toEqual(whole.items);
    }
    const mine = await all("/v1/allocations?host=node-2", 6);
    expect(mine.items).toHaveLength(20);
    for (const path of [
      "?handle=list-node-3",
      "?host=node-3&pool=default",
      "?host=node-3&handle=list-node-3",
    ]) {
      expect((await all(`/v1/allocations${path}`, 9)).items, path).toHaveLength(20);
    }
    expect((await all("/v1/allocations?pool=apart", 10)).items).toEqual([]);
    expect((await all("/v1/pools", 2)).items.map(({ name }) => name)).toEqual(["apart", "default", "six"]);
    expect((await all("/v1/hosts", 1)).items.map(({ name }) => name)).toEqual(["node-1", "node-2", "node-3"]);
    const blocks = await all("/v1/blocks", 4);
    expect(blocks.items).toEqual(
      (await all("/v1/blocks", 100)).items.map((block) => expect.objectContaining({ name: block.name })),
    );
    expect(blocks.pages).toBeGreaterThan(1);
    expect((await all("/v1/blocks?host=node-2", 2)).items.length).toBeGreaterThanOrEqual(3);
    for (const handle of ["list-node-1", "list-node-2", "list-node-3"]) {
      await expectStatus(call("DELETE", `/v1/handles/${handle}`), 200);
    }
    expect((await all("/v1/allocations", 100)).items).toEqual([]);
  });

  it("R6: a cursor of other filters, another list or nobody is refused", async () => {
    const { body } = await expectStatus(call("GET", "/v1/pools?limit=1"), 200);
    const cursor = encodeURIComponent(body.nextCursor);
    for (const path of [
      `/v1/hosts?cursor=${cursor}`,
      "/v1/pools?cursor=AAAA",
      `/v1/pools?cursor=${cursor}x`,
    ]) {
      const refused = await call("GET", path);
      expect(refused.body.errors, path).toEqual([
        expect.objectContaining({ parameter: "cursor", code: "invalid_cursor" }),
      ]);
    }
    await expectStatus(call("GET", `/v1/pools?limit=2&cursor=${cursor}`), 200);
  });
});

describe("R8: policy writes", () => {
  it("R8: a reservation that was acknowledged is obeyed by the next allocation (I7)", async () => {
    const before = await expectStatus(allocate(wish("reserved", 1)), 201);
    const { address, block } = before.body.allocations[0];
    const put = await expectStatus(call("PUT", "/v1/reservations/block", { reservedCIDRs: [block] }), 201);
    expect(put.body.addressesAllocatedInside).toBe(1);
    const after = await expectStatus(allocate(wish("reserved-2", 8)), 201);
    for (const one of after.body.allocations) expect(one.block).not.toBe(block);
    const read = await expectStatus(call("GET", `/v1/allocations/${address}`), 200);
    expect(read.body.reserved).toBe(true);
    await expectStatus(
      call("DELETE", "/v1/reservations/block", undefined, { "if-match": put.headers.get("etag") ?? "" }),
      204,
    );
    await expectStatus(call("POST", "/v1/releases", { handles: ["reserved", "reserved-2"] }), 200);
  });

  it("R8: revisions guard writes; a write that changes nothing keeps its revision", async () => {
    const read = await expectStatus(call("GET", "/v1/pools/apart"), 200);
    const etag = read.headers.get("etag") ?? "";
    expect(etag).toBe(`"${read.body.revision}"`);
    const patch = { warnAtPercent: 70 };
    const written = await expectStatus(call("PATCH", "/v1/pools/apart", patch, { "if-match": etag }), 200);
    expect(written.body.revision).toBeGreaterThan(read.body.revision);
    const stale = await call("PATCH", "/v1/pools/apart", patch, { "if-match": etag });
    expect(stale.body).toMatchObject({ status: 412, evidence: { revision: written.body.revision } });
    const same = await expectStatus(call("PATCH", "/v1/pools/apart", patch), 200);
    expect(same.body.revision).toBe(written.body.revision);
  });
});

describe("R11, R12: one request, one effect", () => {
  it("R11: 64 clients that repeat one request get one address (I13)", async () => {
    const key = { "idempotency-key": '"sixty-four-at-once"' };
    const answers = await Promise.all(Array.from({ length: 64 }, () => allocate(wish("same"), key)));
    const got = answers.filter(({ status }) => status === 201);
    expect(new Set(got.map(({ body }) => body.allocations[0].address)).size).toBe(1);
    for (const { status, body } of answers)
      if (status !== 201) expect([status, body.code]).toEqual([503, "in_progress"]);
    expect(got.filter(({ body }) => !body.replayed).length).toBeLessThanOrEqual(1);
    expect((await call("GET", "/v1/handles/same")).body.items).toHaveLength(1);
    await expectStatus(call("DELETE", "/v1/handles/same"), 200);
  });

  it("I1: 64 clients of three hosts at once never get one address twice", async () => {
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, i) => allocate(wish(`many-${i}`, 2, `node-${(i % 3) + 1}`))),
    );
    const addresses = answers.flatMap(({ status, body }) => {
      expect(status, JSON.stringify(body)).toBe(201);
      return body.allocations.map((one: { address: string }) => one.address);
    });
    expect(new Set(addresses).size).toBe(128);
    expect(addresses).not.toContain("10.10.0.1");
    const listed = (await all("/v1/allocations?pool=default", 50)).items.map(({ address }) => address);
    expect(listed.toSorted()).toEqual(addresses.toSorted());
    const handles = Array.from({ length: 64 }, (_, i) => `many-${i}`);
    const released = await expectStatus(call("POST", "/v1/releases", { handles }), 200);
    expect(released.body).toMatchObject({ released: 128, rejected: 0 });
    expect((await call("GET", "/v1/allocations")).body.items).toEqual([]);
  });

  it("R12: a refused request leaves no allocation behind (I15)", async () => {
    const both = {
      host: "node-1",
      handle: "refused",
      ipv4: { count: 1, pools: ["apart"] },
      ipv6: { count: 1, pools: ["default"] },
    };
    const refused = await call("POST", "/v1/allocations", both);
    expect(refused.status).toBe(409);
    expect((await call("GET", "/v1/handles/refused")).body.items).toEqual([]);
  });
});

describe("releases", () => {
  it("I3: a stale release changes nothing, and a repeated one is success", async () => {
    const { body } = await expectStatus(allocate(wish("guarded")), 201);
    const { address, sequenceNumber } = body.allocations[0];
    const path = `/v1/allocations/${address}`;
    expect((await call("DELETE", `${path}?sequenceNumber=${sequenceNumber - 1}`)).status).toBe(409);
    expect((await call("DELETE", `${path}?handle=other`)).status).toBe(409);
    expect((await call("GET", path)).body.sequenceNumber).toBe(sequenceNumber);
    const once = await expectStatus(call("DELETE", `${path}?sequenceNumber=${sequenceNumber}`), 200);
    expect(once.body).toMatchObject({ address, handle: "guarded", outcome: "released" });
    const twice = await expectStatus(call("DELETE", `${path}?sequenceNumber=${sequenceNumber}`), 200);
    expect(twice.body.outcome).toBe("already_free");
    const again = await expectStatus(call("DELETE", "/v1/handles/guarded"), 200);
    expect(again.body).toEqual({ released: 0, alreadyFree: 0, rejected: 0, results: [] });
  });

  it("are judged one by one, in the order in which they were sent", async () => {
    const { body } = await expectStatus(allocate(wish("listed", 2)), 201);
    const [one, two] = body.allocations;
    const addresses = [
      { address: "10.99.0.1", handle: "h" },
      { address: one.address, handle: "other" },
      { address: two.address, sequenceNumber: two.sequenceNumber },
      { address: two.address, handle: "listed" },
    ];
    const released = await expectStatus(call("POST", "/v1/releases", { addresses }), 200);
    expect(released.body).toMatchObject({ released: 1, alreadyFree: 2, rejected: 1 });
    expect(released.body.results.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      "not_in_any_block",
      "rejected",
      "released",
      "already_free",
    ]);
    const forced = await expectStatus(call("DELETE", `/v1/allocations/${one.address}?force=true`), 200);
    expect(forced.body.outcome).toBe("released");
  });
});

describe("R14, R15: paths", () => {
  it("R14: every GET answers HEAD with the same headers and no body", async () => {
    for (const path of [
      "/healthz",
      "/v1/config",
      "/v1/pools/default",
      "/v1/blocks",
      "/docs",
      "/v1/pools/nothing",
    ]) {
      const [get, head] = [await call("GET", path), await call("HEAD", path)];
      expect(head.status, path).toBe(get.status);
      expect(head.text).toBe("");
      expect(head.headers.get("content-type")).toBe(get.headers.get("content-type"));
    }
  });

  it("R14: the pages and documents are served without scripts or files from elsewhere", async () => {
    const types = {
      "/": "text/html",
      "/docs": "text/html",
      "/docs/errors": "text/html",
      "/docs/swagger-ui.css": "text/css",
      "/docs/swagger-ui-bundle.js": "text/javascript",
      "/docs/start.js": "text/javascript",
      "/openapi.json": "application/json",
      "/openapi.yaml": "application/yaml",
    };
    for (const [path, type] of Object.entries(types)) {
      const { status, headers, text } = await call("GET", path);
      expect([status, headers.get("content-type")?.split(";")[0]], path).toEqual([200, type]);
      expect(headers.get("content-security-policy")).toContain("default-src 'self'");
      if (type === "text/html") expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
    }
  });

  it("R15: the document that is served has exactly the operations that are", async () => {
    const { body } = await call("GET", "/openapi.json");
    const ids = Object.values(body.paths as Record<string, Record<string, { operationId: string }>>)
      .flatMap((item) => Object.values(item))
      .map(({ operationId }) => operationId);
    expect(ids.toSorted()).toEqual(OPERATIONS.map(({ id }) => id).toSorted());
    expect((await call("PUT", "/v1/load-balancers/web/api", {})).body.code).toBe("route_not_found");
  });
});

describe("R10: the caller's deadline", () => {
  it("R10: no answer comes much later, and the same key finds what was done", async () => {
    const key = { "idempotency-key": "deadline-1234" };
    const late = await allocate(wish("deadline"), { ...key, "x-request-timeout-ms": "1" });
    if (late.status !== 201)
      expect(["deadline_exceeded", "outcome_unknown", "in_progress"]).toContain(late.body.code);
    const begun = Date.now();
    const again = await allocate(wish("deadline"), { ...key, "x-request-timeout-ms": "10000" });
    expect(again.status, again.text).toBe(201);
    // The deadline, and what a slow machine takes beside it.
    expect(Date.now() - begun).toBeLessThan(15_000);
    expect((await call("GET", "/v1/handles/deadline")).body.items).toHaveLength(1);
    await expectStatus(call("DELETE", "/v1/handles/deadline"), 200);
  });
});
