/** The running service's figures and lists, whatever happened before. */
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Service, startService } from "../support/service.ts";
import { type Client, clientOf, expectStatus } from "./client.ts";

/** After so long what a block says of a key is final. */
const FINAL_MS = 2_200;
const LOOK_EVERY_MS = 50;
const LOOKS_MAX = 600;
const HANDLES = ["h0", "h1", "h2", "h3", "h4"];

let service: Service;
let client: Client;

beforeAll(async () => {
  service = await startService();
  client = clientOf(service);
  await expectStatus(client("PATCH", "/v1/config", { ipCooldownSeconds: 1 }), 200);
  await expectStatus(client("PUT", "/v1/reservations/r", { reservedCIDRs: ["10.77.0.9/32"] }), 201);
  await expectStatus(client("PUT", "/v1/pools/p", { cidr: "10.77.0.0/27", blockSize: 29 }), 201);
  for (const host of ["a", "b"]) await expectStatus(client("PUT", `/v1/hosts/${host}`, { labels: {} }), 201);
});

afterAll(async () => {
  await service.stop();
});

it("I2: whatever was given and taken back, each address of a block is in exactly one state", async () => {
  for (let round = 0; round < 20; round += 1) {
    const handle = HANDLES[round % HANDLES.length];
    const host = round % 3 === 0 ? "a" : "b";
    await client("POST", "/v1/allocations", { host, handle, ipv4: { count: 1 + (round % 4) } });
    if (round % 2 === 1) await client("DELETE", `/v1/handles/${HANDLES[(round * 3) % HANDLES.length]}`);
    const { body } = await expectStatus(client("GET", "/v1/blocks?map=true"), 200);
    expect(body.items.length).toBeGreaterThan(0);
    for (const block of body.items) {
      const count = (...marks: string[]) => [...block.map].filter((mark) => marks.includes(mark)).length;
      expect(count("#", "b")).toBe(block.allocated);
      expect(count("c")).toBe(block.cooling);
      expect(count("#", "b", "c", ".", "r")).toBe(block.capacity);
    }
  }
});

it("I5: then directory and index lack nothing that the blocks hold, by the word of a check", async () => {
  await setTimeout(FINAL_MS);
  const { body: started } = await expectStatus(client("POST", "/v1/checks", {}), 202);
  let { body } = await expectStatus(client("GET", `/v1/checks/${started.id}`), 200);
  for (let look = 0; look < LOOKS_MAX && body.state === "running"; look += 1) {
    await setTimeout(LOOK_EVERY_MS);
    ({ body } = await expectStatus(client("GET", `/v1/checks/${started.id}`), 200));
  }
  expect(body).toMatchObject({ state: "done", problems: 0, findings: [] });
  expect(body.blocksChecked).toBeGreaterThan(0);
});
