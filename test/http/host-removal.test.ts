/** The removal of a host on the running service. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Service, startService } from "../support/service.ts";
import { type Client, clientOf, expectStatus } from "./client.ts";

let service: Service;
let call: Client;

beforeAll(async () => {
  service = await startService();
  call = clientOf(service);
  await expectStatus(call("PUT", "/v1/pools/default", { cidr: "10.7.0.0/28", blockSize: 29 }), 201);
}, 60_000);

afterAll(async () => {
  await service.stop();
});

const register = (host: string, incarnation: string) =>
  call("PUT", `/v1/hosts/${host}`, { labels: {}, incarnation });
const allocate = (host: string, handle: string, count: number) =>
  call("POST", "/v1/allocations", { host, handle, ipv4: { count } });

/** Asks until an answer is as wanted. */
async function until(ask: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (await ask()) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("it does not come about");
}

it("answers 202 with what is left, and refuses the host new addresses", async () => {
  await expectStatus(register("node-1", "boot-1"), 201);
  await expectStatus(allocate("node-1", "kept", 3), 201);
  const { body } = await expectStatus(call("DELETE", "/v1/hosts/node-1"), 202);
  expect(body).toMatchObject({ name: "node-1", state: "removing", allocationsLeft: 3 });
  // Nobody but its caller could say whether it is used.
  expect(body).toMatchObject({ allocationsKept: 3, handlesKept: ["kept"] });
  expect(body.removingSince).toMatch(/^\d{4}-.*Z$/);
  expect((await expectStatus(allocate("node-1", "late", 1), 409)).body.code).toBe("host_removing");
  const exact = call("PUT", "/v1/allocations/10.7.0.12", { host: "node-1", handle: "exact" });
  expect((await expectStatus(exact, 409)).body.code).toBe("host_removing");
  await until(async () => (await call("GET", "/v1/blocks?host=node-1")).body.items.length === 0);
  const held = await expectStatus(call("GET", "/v1/handles/kept"), 200);
  expect(held.body.items).toHaveLength(3);
  const listed = await expectStatus(call("GET", "/v1/hosts?state=removing"), 200);
  expect(listed.body.items).toMatchObject([{ name: "node-1", allocationsLeft: 3 }]);
  const readiness = await expectStatus(call("GET", "/v1/hosts/node-1/readiness"), 200);
  expect(readiness.body).toMatchObject({ ready: false, ipv4: { ready: false, code: "host_removing" } });
  const status = await expectStatus(call("GET", "/v1/status"), 200);
  expect(status.body.hosts).toMatchObject({ active: 0, removing: 1 });
  const isBlocked = ({ code, host, hint }: { code: string; host?: string; hint: string }) =>
    code === "host_removing_blocked" && host === "node-1" && hint.includes("kept");
  // The host tells of it once nothing from before its removal can arrive any more.
  await until(async () => (await call("GET", "/v1/status")).body.warnings.some(isBlocked));
  const again = await expectStatus(call("DELETE", "/v1/hosts/node-1"), 202);
  expect(again.body.revision).toBe(body.revision);
}, 60_000);

it("H13: a host that registers again is active, and keeps what it claims", async () => {
  const { body } = await expectStatus(register("node-1", "boot-1"), 200);
  expect(body).toMatchObject({ state: "active", incarnation: "boot-1" });
  expect(body.removingSince).toBeUndefined();
  await expectStatus(allocate("node-1", "new", 2), 201);
  const owned = await expectStatus(call("GET", "/v1/blocks?host=node-1"), 200);
  expect(owned.body.items).toHaveLength(1);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect((await call("GET", "/v1/blocks?host=node-1")).body.items).toMatchObject([
    { name: owned.body.items[0].name },
  ]);
}, 60_000);

it("ends by itself when nothing is left; a host that was never registered is 404", async () => {
  await expectStatus(register("node-2", "boot-1"), 201);
  await expectStatus(call("DELETE", "/v1/hosts/node-2"), 202);
  await until(async () => (await call("GET", "/v1/hosts/node-2")).status === 404);
  await expectStatus(call("DELETE", "/v1/hosts/node-2"), 404);
  expect((await expectStatus(allocate("node-2", "late", 1), 409)).body.code).toBe("host_unknown");
  await expectStatus(register("node-2", "boot-1"), 201);
  await expectStatus(call("DELETE", "/v1/hosts/node-9"), 404);
}, 60_000);
