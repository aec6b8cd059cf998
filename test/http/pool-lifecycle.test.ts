/** The end of pools on the running service: drain, cancellation, split. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Service, startService } from "../support/service.ts";
import { type Client, clientOf, expectStatus } from "./client.ts";

let service: Service;
let call: Client;

beforeAll(async () => {
  service = await startService();
  call = clientOf(service);
  for (const host of ["node-1", "node-2"]) {
    await expectStatus(call("PUT", `/v1/hosts/${host}`, { labels: {} }), 201);
  }
}, 60_000);

afterAll(async () => {
  await service.stop();
});

function put(name: string, cidr: string, blockSize: number, more: object = {}) {
  return call("PUT", `/v1/pools/${name}`, { cidr, blockSize, ...more });
}

function allocate(handle: string, pool: string, count = 1, host = "node-1") {
  return call("POST", "/v1/allocations", { host, handle, ipv4: { count, pools: [pool] } });
}

async function untilGone(pool: string): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const { status } = await call("GET", `/v1/pools/${pool}`);
    if (status === 404) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${pool} does not go`);
}

describe("drainPool", () => {
  it("answers 202 with what is left, refuses new addresses, and lists who holds them", async () => {
    await expectStatus(put("left", "10.1.0.0/24", 28), 201);
    const got = await expectStatus(allocate("left-1", "left", 2), 201);
    const { body, headers } = await expectStatus(call("DELETE", "/v1/pools/left"), 202);
    expect(body).toMatchObject({ state: "draining", drain: { allocated: 2, cooling: 0, blocks: 1 } });
    expect(headers.get("etag")).toBe(`"${body.revision}"`);
    const refused = await expectStatus(allocate("left-2", "left"), 409);
    expect(refused.body.code).toBe("requested_pool_unavailable");
    const holders = await expectStatus(call("GET", "/v1/allocations?pool=left"), 200);
    const addresses = got.body.allocations.map(({ address }: { address: string }) => address);
    expect(holders.body.items.map((item: { address: string }) => item.address)).toEqual(addresses);
    await expect
      .poll(async () => (await call("GET", "/v1/hosts/node-1")).body.ipv4.owned, { timeout: 30_000 })
      .toBe(0);
    const ofHost = await expectStatus(call("GET", "/v1/allocations?host=node-1&pool=left"), 200);
    expect(ofHost.body.items.map((item: { address: string }) => item.address)).toEqual(addresses);
    const again = await expectStatus(call("DELETE", "/v1/pools/left"), 202);
    expect(again.body.revision).toBe(body.revision);
    const late = await expectStatus(put("left", "10.1.0.0/24", 28), 409);
    expect(late.body.code).toBe("pool_draining");
    const overlap = await expectStatus(put("other", "10.1.0.0/25", 26), 409);
    expect(overlap.body).toMatchObject({
      code: "pool_overlap",
      evidence: { pool: "other", otherPool: "left" },
    });
    await expectStatus(call("DELETE", "/v1/handles/left-1"), 200);
    await untilGone("left");
    await expectStatus(put("other", "10.1.0.0/25", 26), 201);
  }, 60_000);

  it("H12 I3: a pool made again with other blocks rejects every old guarded release", async () => {
    await expectStatus(put("again", "10.2.0.0/28", 29), 201);
    const got = await expectStatus(allocate("old", "again", 3), 201);
    const olds: { address: string; sequenceNumber: number }[] = got.body.allocations;
    await expectStatus(call("DELETE", "/v1/pools/again"), 202);
    await expectStatus(call("DELETE", "/v1/handles/old"), 200);
    await untilGone("again");
    await expectStatus(put("again", "10.2.0.0/28", 30), 201);
    for (const { address, sequenceNumber } of olds) {
      await expectStatus(call("PUT", `/v1/allocations/${address}`, { host: "node-2", handle: address }), 201);
      const guard = `?sequenceNumber=${sequenceNumber}`;
      const late = await expectStatus(call("DELETE", `/v1/allocations/${address}${guard}`), 409);
      expect(late.body.code).toBe("sequence_mismatch");
      const held = await expectStatus(call("GET", `/v1/allocations/${address}`), 200);
      expect(held.body.sequenceNumber).toBeGreaterThan(2 ** 36);
    }
  }, 60_000);

  it("is cancelled by PATCH draining: false; true is refused; an unused pool is deleted at once", async () => {
    await expectStatus(put("kept", "10.3.0.0/28", 29), 201);
    await expectStatus(allocate("kept-1", "kept"), 201);
    await expectStatus(call("DELETE", "/v1/pools/kept", undefined, { "if-match": "7" }), 412);
    await expectStatus(call("DELETE", "/v1/pools/kept"), 202);
    const change = await expectStatus(call("PATCH", "/v1/pools/kept", { description: "x" }), 409);
    expect(change.body.code).toBe("pool_draining");
    await expectStatus(call("PATCH", "/v1/pools/kept", { draining: true }), 400);
    const kept = await expectStatus(call("PATCH", "/v1/pools/kept", { draining: false }), 200);
    expect(kept.body.state).toBe("active");
    expect(kept.body.drain).toBeUndefined();
    await expectStatus(allocate("kept-2", "kept", 1, "node-2"), 201);
    await expectStatus(put("unused", "10.4.0.0/28", 29), 201);
    const gone = await expectStatus(call("DELETE", "/v1/pools/unused"), 202);
    expect(gone.body).toMatchObject({ state: "deleted", drain: { allocated: 0, blocks: 0 } });
    await expectStatus(call("DELETE", "/v1/pools/unused"), 404);
    await expectStatus(put("unused", "10.4.0.0/28", 30), 201);
  }, 60_000);
});

describe("splitPool", () => {
  it("cuts a pool into equal parts with its settings; the gateway stays with its part", async () => {
    const more = { nodeSelector: "foo == 'bar'", vxlanMode: "Always", gateway: "10.5.0.65" };
    await expectStatus(put("whole", "10.5.0.0/24", 27, more), 201);
    const key = { "idempotency-key": "split-key-1" };
    const split = () => call("POST", "/v1/pools/whole/splits", { parts: 4 }, key);
    const { body } = await expectStatus(split(), 201);
    const parts = body.items.map((item: { name: string; cidr: string }) => `${item.name} ${item.cidr}`);
    expect(parts).toEqual([
      "split-whole-0 10.5.0.0/26",
      "split-whole-1 10.5.0.64/26",
      "split-whole-2 10.5.0.128/26",
      "split-whole-3 10.5.0.192/26",
    ]);
    for (const item of body.items) {
      expect(item).toMatchObject({ blockSize: 27, vxlanMode: "Always", nodeSelector: "foo == 'bar'" });
      expect(item).toMatchObject({ disabled: false, state: "active", usage: { capacity: "64", blocks: 0 } });
      const read = await expectStatus(call("GET", `/v1/pools/${item.name}`), 200);
      expect({ ...read.body, usage: "" }).toEqual({ ...item, usage: "" });
    }
    expect(body.items.map((item: { gateway?: string }) => item.gateway)).toEqual([
      undefined,
      "10.5.0.65",
      undefined,
      undefined,
    ]);
    await expectStatus(call("GET", "/v1/pools/whole"), 404);
    const again = await expectStatus(split(), 201);
    expect(again.body.items.map((item: { name: string }) => item.name)).toHaveLength(4);
    await expectStatus(call("POST", "/v1/pools/whole/splits", { parts: 4 }), 404);
    const got = await expectStatus(
      call("PUT", "/v1/allocations/10.5.0.130", { host: "node-1", handle: "p" }),
      201,
    );
    expect(got.body.pool).toBe("split-whole-2");
  }, 60_000);

  it("refuses before anything changes: parts, size, blocks in use", async () => {
    await expectStatus(put("whole-2", "10.6.0.0/24", 27), 201);
    const split = (parts: unknown) => call("POST", "/v1/pools/whole-2/splits", { parts });
    for (const parts of [0, 1, 3, -4, 16, 2048]) {
      const refused = await expectStatus(split(parts), 400);
      expect(refused.body.errors, String(parts)).toEqual([
        expect.objectContaining({ pointer: "/parts", code: "out_of_range" }),
      ]);
    }
    await expectStatus(allocate("whole-2", "whole-2"), 201);
    const used = await expectStatus(split(4), 409);
    expect(used.body).toMatchObject({ code: "block_not_empty", evidence: { allocated: 1 } });
    const pool = await expectStatus(call("GET", "/v1/pools/whole-2"), 200);
    expect(pool.body).toMatchObject({ state: "active", revision: 1 });
    await expectStatus(allocate("whole-2-b", "whole-2", 1, "node-2"), 201);
    await expectStatus(call("DELETE", "/v1/pools/whole-2"), 202);
    expect((await expectStatus(split(4), 409)).body.code).toBe("pool_draining");
    await expectStatus(call("POST", "/v1/pools/none/splits", { parts: 2 }), 404);
  }, 60_000);
});
