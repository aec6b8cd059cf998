/**
 * Figures and reasons that come from directories keep up with what blocks do.
 * A directory may be late by the report time; what that is on a busy machine is not judged here.
 */
import { afterEach, beforeEach, expect, it } from "vitest";
import { setClock } from "../../support/control.ts";
import { HttpClient } from "../../support/http-client.ts";
import { type Service, startService } from "../../support/service.ts";

const settings = { reportMs: 200 };
/** A bound for what comes by itself. */
const BY_ITSELF = { timeout: 30_000, interval: 50 };

let service: Service;
let client: HttpClient;

beforeEach(async () => {
  const vars = { TEST_SETTINGS: JSON.stringify(settings) };
  service = await startService({ entry: "test/support/entry.ts", vars });
  client = new HttpClient(() => service.url);
  await client.must("PUT", "/v1/pools/one", { cidr: "10.11.0.0/28", blockSize: 28 });
  for (const host of ["owner", "other"]) await client.must("PUT", `/v1/hosts/${host}`, { labels: {} });
});

afterEach(async () => {
  client.close();
  await service.stop();
});

function allocate(host: string, handle: string, count = 1) {
  return client.send("POST", "/v1/allocations", { host, handle, ipv4: { count } });
}

interface Usage {
  readonly allocated: string;
  readonly cooling: string;
  readonly available: string;
}

async function usage(): Promise<Usage> {
  const pool = (await client.must("GET", "/v1/pools/one")) as { usage?: Usage };
  return pool.usage!;
}

it("I14: a release that leaves the block in use reaches the pool's figures", async () => {
  expect((await allocate("owner", "keep", 3)).status).toBe(201);
  expect((await allocate("owner", "gone", 2)).status).toBe(201);
  await expect.poll(usage, BY_ITSELF).toMatchObject({ allocated: "5", available: "11" });
  await client.must("DELETE", "/v1/handles/gone");
  await expect.poll(usage, BY_ITSELF).toMatchObject({ allocated: "3", available: "13" });
});

it("I14: what has cooled is available in the pool's figures", async () => {
  await client.must("PATCH", "/v1/config", { ipCooldownSeconds: 1 });
  expect((await allocate("owner", "keep", 3)).status).toBe(201);
  expect((await allocate("owner", "gone", 2)).status).toBe(201);
  await client.must("DELETE", "/v1/handles/gone");
  await expect.poll(usage, BY_ITSELF).toMatchObject({ allocated: "3", cooling: "0", available: "13" });
});

it("a release in a block that is full but for reserved addresses gives room to others", async () => {
  await client.must("PUT", "/v1/reservations/half", { reservedCIDRs: ["10.11.0.0/29"] });
  expect((await allocate("owner", "keep", 7)).status).toBe(201);
  expect((await allocate("owner", "gone", 1)).status).toBe(201);
  expect((await allocate("other", "none")).body.code).toBe("pool_exhausted");
  await client.must("DELETE", "/v1/handles/gone");
  // What is refused leaves nothing behind, so it may be asked for again.
  await expect.poll(async () => (await allocate("other", "borrows")).status, BY_ITSELF).toBe(201);
});

it("I13: a key that was released by address stays spent, however often its address was used since", async () => {
  const key = { "Idempotency-Key": "old-request-key" };
  const body = { host: "owner", handle: "old", ipv4: { count: 16 } };
  const { allocations = [] } = await client.must("POST", "/v1/allocations", body, key);
  for (const { address, sequenceNumber } of allocations) {
    await client.must("DELETE", `/v1/allocations/${address}?sequenceNumber=${sequenceNumber}`);
  }
  // A block remembers few past tenures of each address.
  for (let turn = 0; turn < 24; turn += 1) {
    // Later than any message that was under way before.
    await setClock(client, turn * 1_000);
    expect((await allocate("owner", `turn.${turn}`, 16)).status).toBe(201);
    await client.must("DELETE", `/v1/handles/turn.${turn}`);
  }
  const again = await client.send("POST", "/v1/allocations", body, key);
  expect(again.body.code).toBe("idempotency_key_released");
  expect((await client.must("GET", "/v1/handles/old")).items).toEqual([]);
});
