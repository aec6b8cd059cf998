/** R13 on the running service: what an agent reaches, and what it learns of the rest. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Service, startService } from "../support/service.ts";
import { type Client, clientOf, expectStatus } from "./client.ts";

const callers = [
  { name: "ops", role: "admin" },
  { name: "one", role: "agent", host: "node-1" },
  { name: "two", role: "agent", host: "node-2" },
];
const tokens = JSON.stringify(
  callers.map((entry) => ({
    ...entry,
    sha256: createHash("sha256").update(`t-${entry.name}`).digest("hex"),
  })),
);

let service: Service;
let admin: Client;
let one: Client;
let two: Client;

beforeAll(async () => {
  service = await startService({ tokens });
  [admin, one, two] = [clientOf(service, "t-ops"), clientOf(service, "t-one"), clientOf(service, "t-two")];
  await expectStatus(admin("PUT", "/v1/pools/default", { cidr: "10.10.0.0/24" }), 201);
  await expectStatus(one("PUT", "/v1/hosts/node-1", { labels: {} }), 201);
  await expectStatus(two("PUT", "/v1/hosts/node-2", { labels: {} }), 201);
}, 60_000);

afterAll(async () => {
  await service.stop();
});

const wish = (host: string, handle: string) => ({ host, handle, ipv4: { count: 1 } });

async function allocated(agent: Client, host: string, handle: string) {
  const { body } = await expectStatus(agent("POST", "/v1/allocations", wish(host, handle)), 201);
  return body.allocations[0] as { address: string; sequenceNumber: number };
}

describe("an agent", () => {
  it("sees and releases what its own host holds", async () => {
    const { address } = await allocated(one, "node-1", "mine");
    expect((await one("GET", "/v1/handles/mine")).body.items).toHaveLength(1);
    expect((await one("GET", `/v1/allocations/${address}`)).status).toBe(200);
    expect((await one("GET", "/v1/allocations?host=node-1")).body.items).toHaveLength(1);
    const released = await expectStatus(one("POST", "/v1/releases", { handles: ["mine"] }), 200);
    expect(released.body.released).toBe(1);
    expect((await one("GET", `/v1/allocations/${address}`)).status).toBe(403);
  });

  it("does not see what another host holds, and cannot tell it from what is free", async () => {
    const { address } = await allocated(one, "node-1", "theirs");
    expect((await two("GET", "/v1/handles/theirs")).body.items).toEqual([]);
    const strip = ({ status, body }: { status: number; body: Record<string, unknown> }) => ({
      status,
      body: { ...body, requestId: "" },
    });
    const taken = strip(await two("GET", `/v1/allocations/${address}`));
    const free = strip(await two("GET", "/v1/allocations/10.10.0.250"));
    const nowhere = strip(await two("GET", "/v1/allocations/192.0.2.1"));
    expect(taken.status).toBe(403);
    expect(taken).toEqual(free);
    expect(taken).toEqual(nowhere);
    const assign = await two("PUT", `/v1/allocations/${address}`, { host: "node-2", handle: "x" });
    expect(assign.body.code).toBe("address_taken");
    expect(assign.body.evidence).toEqual({ address, state: "allocated" });
    const guessed = await two("PUT", `/v1/allocations/${address}`, { host: "node-2", handle: "theirs" });
    expect(guessed.body.code).toBe("address_taken");
    expect(guessed.body.evidence).toEqual({ address, state: "allocated" });
    await expectStatus(admin("DELETE", "/v1/handles/theirs"), 200);
  });

  it("does not release what another host holds, by handle, by address, by guess", async () => {
    const { address, sequenceNumber } = await allocated(one, "node-1", "kept");
    const byHandle = await expectStatus(two("DELETE", "/v1/handles/kept"), 200);
    expect(byHandle.body).toMatchObject({ released: 0, rejected: 0, results: [] });
    const addresses = [{ address, handle: "kept", sequenceNumber }];
    const byAddress = await expectStatus(two("POST", "/v1/releases", { addresses }), 200);
    expect(byAddress.body).toMatchObject({ released: 0, rejected: 1 });
    expect(byAddress.body.results).toEqual([{ address, outcome: "rejected", code: "host_mismatch" }]);
    const guessed = await two("DELETE", `/v1/allocations/${address}?sequenceNumber=${sequenceNumber + 1}`);
    expect(guessed.body).toMatchObject({ status: 403, code: "host_mismatch" });
    expect(guessed.body.evidence).toEqual({ host: "node-2" });
    expect((await admin("GET", `/v1/allocations/${address}`)).body.handle).toBe("kept");
    await expectStatus(one("DELETE", `/v1/allocations/${address}?sequenceNumber=${sequenceNumber}`), 200);
  });

  it("does not replace the active owner of another host's address, nor release it that way", async () => {
    const { address } = await allocated(one, "node-1", "vm");
    const slot = { maxPerHandle: 1, ownerSlot: "active", attributes: { namespace: "x", pod: "y" } };
    await expectStatus(two("POST", "/v1/allocations", { ...wish("node-2", "vm"), ...slot }), 201);
    const owner = { namespace: "x", pod: "y" };
    const clear = { handle: "vm", change: "clear", owner, releaseWhenUnowned: true };
    expect((await expectStatus(two("POST", "/v1/owner-changes", clear), 200)).body.released).toBe(0);
    const { body } = await admin("GET", `/v1/allocations/${address}`);
    expect(body).toMatchObject({ handle: "vm", attributes: { node: "node-1" } });
    await expectStatus(one("POST", "/v1/allocations", { ...wish("node-1", "vm"), ...slot }), 201);
    const own = await admin("GET", `/v1/allocations/${address}`);
    expect(own.body.attributes).toEqual({ namespace: "x", pod: "y", node: "node-1" });
    await expectStatus(one("DELETE", "/v1/handles/vm"), 200);
  });

  it("registers and reads its own host only", async () => {
    expect((await one("GET", "/v1/hosts/node-1")).status).toBe(200);
    for (const path of ["/v1/hosts/node-2", "/v1/hosts/nobody"]) {
      expect((await one("GET", path)).body).toMatchObject({ status: 403, code: "host_mismatch" });
    }
    expect((await one("PUT", "/v1/hosts/node-2", { labels: {} })).status).toBe(403);
  });

  it("stands in no list of policy, and its name in what an administrator wrote does not appear", async () => {
    for (const path of ["/v1/pools", "/v1/config", "/v1/reservations", "/v1/blocks", "/v1/hosts"]) {
      expect((await one("GET", path)).body.code).toBe("role_insufficient");
    }
    expect((await admin("GET", "/v1/pools/default")).body.updatedBy).toBe("token:ops");
  });

  it("keeps its token out of what the service logs", async () => {
    expect(service.log()).not.toMatch(/t-one|t-two|t-ops|kept|theirs/);
  });
});
