/**
 * ADD after DEL under one container ID and interface: which keys are sent, and what the service holds then.
 * May import: src/client, test. Lost answers and late duplicates come from a relay to the real service.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Client, createClient } from "../../src/client/client.ts";
import { type Service, startService } from "../support/service.ts";
import { allocated, allocation, type FakeService, json, problem, startFakeService } from "./fake-service.ts";
import { addressesOf, failed, invokePlugin, type Run, SILENT_SUCCESS } from "./invocation.ts";
import { type BuiltPlugin, buildPlugin, type Finished } from "./plugin-process.ts";
import { type Passed, type Relay, startRelay } from "./relay.ts";

const KEYS = ["net1.abc.eth0", ...[2, 3, 4, 5, 6, 7, 8].map((n) => `net1.abc.eth0:${n}`)];
const SPENT = problem(409, "idempotency_key_released");

let plugin: BuiltPlugin;
beforeAll(async () => {
  plugin = await buildPlugin();
});
afterAll(() => plugin.remove());

describe("keys, against a server that answers as told", () => {
  let service: FakeService;
  beforeEach(async () => {
    service = await startFakeService();
    return () => service.close();
  });

  const add = (run: Run = {}): Promise<Finished> => invokePlugin(plugin.file, service.url, run);
  const keysAsked = (): unknown[] => service.asked.map((asked) => asked.headers["idempotency-key"]);

  test("a spent key is followed by the next one with the same body, the same in every run", async () => {
    for (let round = 0; round < 2; round += 1) {
      service.answerWith(SPENT, SPENT, allocated(allocation(4)));
      expect(addressesOf(await add())).toEqual(["10.244.3.17/32"]);
    }
    expect(keysAsked()).toEqual([...KEYS.slice(0, 3), ...KEYS.slice(0, 3)]);
    expect(new Set(service.asked.map((asked) => JSON.stringify(asked.body))).size).toBe(1);
  });

  test("after eight spent keys it is 117 and says what to do", async () => {
    service.answerWith(SPENT);
    const printedFailure = failed(await add());
    expect(printedFailure.code).toBe(117);
    expect(printedFailure.msg).toMatch(/^idempotency_key_released \(117\): net1\.abc .*8 times.* Next: /);
    expect(keysAsked()).toEqual(KEYS);
  });

  test.each([
    ["in_progress", 503],
    ["outcome_unknown", 503],
    ["pool_exhausted", 409],
  ])("%s is never followed by another key: the first may hold something", async (code, status) => {
    service.answerWith(SPENT, problem(status, code));
    expect(failed(await add()).msg).toMatch(new RegExp(`^${code} `));
    expect(keysAsked()).toEqual(KEYS.slice(0, 2));
  });

  test("a key with another body is followed by the next one only if the handle holds nothing", async () => {
    const reused = problem(422, "idempotency_key_reused");
    service.answerWith(reused, json(200, { items: [] }), allocated(allocation(4)));
    expect(addressesOf(await add())).toEqual(["10.244.3.17/32"]);
    expect(keysAsked()).toEqual([KEYS[0], undefined, KEYS[1]]);

    service.answerWith(reused, json(200, { items: [allocation(4)] }));
    expect(failed(await add()).msg).toMatch(/^idempotency_key_reused \(117\)/);
    service.answerWith(reused, problem(503, "overloaded"));
    expect(failed(await add()).msg).toMatch(/^idempotency_key_reused \(117\)/);
    expect(keysAsked().slice(3)).toEqual([KEYS[0], undefined, KEYS[0], undefined]);
    expect(service.asked[1]).toMatchObject({ method: "GET", path: "/v1/handles/net1.abc" });
  });

  test("all keys share one time limit", async () => {
    service.answerWith(SPENT, "never");
    const startedAt = performance.now();
    const printedFailure = failed(await add({ ipam: { timeoutMs: 500 } }));
    expect(printedFailure.msg).toMatch(/^server_timeout \(11\)/);
    const [first, second] = service.asked.map((asked) => Number(asked.headers["x-request-timeout-ms"]));
    expect(first).toBe(500);
    expect(second).toBeLessThan(500);
    expect(performance.now() - startedAt).toBeGreaterThan(1_000);
  });

  test("no two interfaces share a key, also where a name looks like a next key", async () => {
    service.answerWith(SPENT);
    await add({ env: { CNI_IFNAME: "eth0" } });
    await add({ env: { CNI_IFNAME: "eth0.2" } });
    await add({ env: { CNI_CONTAINERID: "c".repeat(112), CNI_IFNAME: "eth0.2" } });
    await add({ env: { CNI_CONTAINERID: "c".repeat(200) } });
    const keys = keysAsked();
    expect(new Set(keys).size).toBe(4 * 8);
    for (const key of keys) expect(key).toMatch(/^[A-Za-z0-9._:@-]{8,128}$/);
  });
});

describe("addresses, on the real service", () => {
  let service: Service;
  let relay: Relay;
  let client: Client;
  let container = 0;

  beforeAll(async () => {
    service = await startService();
    client = createClient({ server: service.url, timeoutMs: 60_000 });
    await put("/v1/hosts/node-1", { labels: {} });
    await put("/v1/pools/v4", { cidr: "10.232.0.0/24", blockSize: 26 });
    await put("/v1/pools/v6", { cidr: "fd00:232::/120", blockSize: 122 });
  });
  afterAll(() => service?.stop());
  beforeEach(async () => {
    container += 1;
    relay = await startRelay(() => service.url);
    return () => relay.close();
  });

  async function put(path: string, body: unknown): Promise<void> {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(`${service.url}${path}`, {
      method: "PUT",
      headers,
      body: JSON.stringify(body),
    });
    expect(response.status, await response.text()).toBe(201);
  }

  function run(command: "ADD" | "DEL", ipam: Record<string, unknown> = {}): Promise<Finished> {
    const env = { CNI_CONTAINERID: `c${container}` };
    return invokePlugin(plugin.file, relay.url, { command, env, ipam });
  }

  async function held(): Promise<string[]> {
    const list = await client.getHandle(`net1.c${container}`);
    if (!list.ok) throw new Error(JSON.stringify(list.error));
    return list.value.items.map((item) => `${item.address}/${item.family === 4 ? 32 : 128}`);
  }

  const allocations = (): Passed[] => relay.passed.filter(({ path }) => path === "/v1/allocations");

  test("I13: each ADD after a DEL gets an address, repeated ADDs get the same, DEL leaves nothing", async () => {
    for (let round = 1; round <= 3; round += 1) {
      const given = addressesOf(await run("ADD"));
      expect(given).toHaveLength(1);
      expect(addressesOf(await run("ADD"))).toEqual(given);
      expect(await held()).toEqual(given);
      expect(await run("DEL")).toEqual(SILENT_SUCCESS);
      expect(await held()).toEqual([]);
    }
    expect(allocations().map(({ status }) => status)).toEqual([
      201, 201, 409, 201, 409, 201, 409, 409, 201, 409, 409, 201,
    ]);
  });

  test("I13: ADD, DEL, ADD whose answer is lost, ADD: the second address is found again", async () => {
    addressesOf(await run("ADD"));
    await run("DEL");
    relay.lose(({ status, path }) => status === 201 && path === "/v1/allocations");
    expect(failed(await run("ADD")).msg).toMatch(/^server_unreachable \(11\)/);
    const got = await held();
    expect(got).toHaveLength(1);
    relay.lose(() => false);
    expect(addressesOf(await run("ADD"))).toEqual(got);
    expect(await held()).toEqual(got);
    expect(await run("DEL")).toEqual(SILENT_SUCCESS);
    expect(await held()).toEqual([]);
  });

  test("I13: a refusal that is lost on the way changes nothing for the ADD after it", async () => {
    addressesOf(await run("ADD"));
    await run("DEL");
    relay.lose(({ status }) => status === 409);
    expect(failed(await run("ADD")).code).toBe(11);
    expect(await held()).toEqual([]);
    relay.lose(() => false);
    expect(addressesOf(await run("ADD"))).toEqual(await held());
    await run("DEL");
  });

  test("I13: a late duplicate of an ADD changes nothing after its DEL, nor after the next ADD", async () => {
    addressesOf(await run("ADD"));
    const [old] = allocations();
    if (old === undefined) throw new Error("nothing was relayed");
    await run("DEL");
    const isSpent = { status: 409, answer: expect.stringContaining('"idempotency_key_released"') };
    expect(await relay.repeat(old)).toMatchObject(isSpent);
    expect(await held()).toEqual([]);

    const given = addressesOf(await run("ADD"));
    expect(await relay.repeat(old)).toMatchObject(isSpent);
    expect(await held()).toEqual(given);
    await run("DEL");
    for (const each of allocations()) expect(await relay.repeat(each)).toMatchObject(isSpent);
    expect(await held()).toEqual([]);
  });

  test("I15: in dual stack both families follow the next key together", async () => {
    const both = { ipv6: true };
    for (let round = 0; round < 2; round += 1) {
      const given = addressesOf(await run("ADD", both));
      expect(given).toEqual([expect.stringMatching(/^10\./), expect.stringMatching(/^fd00:232::/)]);
      expect(addressesOf(await run("ADD", both))).toEqual(given);
      expect((await held()).sort()).toEqual([...given].sort());
      expect(await run("DEL")).toEqual(SILENT_SUCCESS);
      expect(await held()).toEqual([]);
    }
  });

  test("I13: a changed configuration is served after a DEL, and refused while the old addresses are held", async () => {
    const old = addressesOf(await run("ADD"));
    const refused = failed(await run("ADD", { ipv6: true }));
    expect(refused.msg).toMatch(/^idempotency_key_reused \(117\)/);
    expect(await held()).toEqual(old);
    expect(await run("DEL")).toEqual(SILENT_SUCCESS);
    const given = addressesOf(await run("ADD", { ipv6: true }));
    expect(given).toHaveLength(2);
    expect((await held()).sort()).toEqual([...given].sort());
    expect(await run("DEL", { ipv6: true })).toEqual(SILENT_SUCCESS);
    expect(await held()).toEqual([]);
  });

  test("the ninth ADD within ten minutes is 117 and holds nothing", async () => {
    for (let round = 1; round <= 8; round += 1) {
      addressesOf(await run("ADD"));
      await run("DEL");
    }
    expect(failed(await run("ADD")).code).toBe(117);
    expect(await held()).toEqual([]);
    expect(allocations()).toHaveLength(1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 8);
  });
});
