/** Releases of more than one message between objects may hold, if it told all that is known of each address. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { HttpClient } from "../support/http-client.ts";
import { type Service, startService } from "../support/service.ts";

let service: Service;
let client: HttpClient;

beforeAll(async () => {
  service = await startService();
  client = new HttpClient(() => service.url);
  await client.must("PUT", "/v1/pools/default", { cidr: "10.9.0.0/20", blockSize: 20 });
  await client.must("PUT", "/v1/hosts/node-1", { labels: {} });
}, 60_000);

afterAll(async () => {
  client.close();
  await service.stop();
});

it("I4: 768 addresses with the largest attributes are released by their handle, and each is told", async () => {
  const attributes = Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`k${n}`, "Ж".repeat(1024)]));
  const given: string[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const wanted = { host: "node-1", handle: "large", attributes, ipv4: { count: 256 } };
    const { allocations = [] } = await client.must("POST", "/v1/allocations", wanted);
    given.push(...allocations.map(({ address }) => address));
  }
  // What a block has just written it has once in memory for all addresses of a request; what it reads, for each.
  await service.restart();
  const { status, body } = await client.send("DELETE", "/v1/handles/large");
  expect(status).toBe(200);
  expect(body.results?.map(({ address }) => address).toSorted()).toEqual(given.toSorted());
  expect(service.log()).toBe("");
}, 60_000);
