/** R13: who may do what, and what a refusal gives away. */
import { describe, expect, it } from "vitest";
import { ACCESS } from "../../src/http/authorization.ts";
import type { OperationId } from "../../src/http/routes.ts";
import { OPERATIONS } from "../../src/http/routes.ts";
import { bearer, fake, problemOf, tokensOf } from "./fake-deployment.ts";

const tokens = await tokensOf(
  { name: "ops", role: "admin" },
  { name: "eyes", role: "reader" },
  { name: "agent-1", role: "agent", host: "node-1" },
  { name: "lb", role: "agent", host: "virtual:load-balancer" },
);
const body = { host: "node-1", handle: "h", ipv4: { count: 1 } };

/** A path of each operation, about node-1. */
function pathOf(path: string): string {
  return path
    .replace("{pool}", "p")
    .replace("{reservation}", "r")
    .replace("{host}", "node-1")
    .replace("{handle}", "h")
    .replace("{address}", "10.0.0.1")
    .replace("{block}", "10.0.0.0-26");
}

describe("without credentials", () => {
  it.each([
    ["none", undefined],
    ["no JSON", "{"],
    ["no list", "{}"],
    ["an empty list", "[]"],
    ["a short hash", '[{"name":"a","sha256":"00","role":"admin"}]'],
    ["an unknown role", `[{"name":"a","sha256":"${"0".repeat(64)}","role":"root"}]`],
    ["an agent without host", `[{"name":"a","sha256":"${"0".repeat(64)}","role":"agent"}]`],
    ["a reader with host", `[{"name":"a","sha256":"${"0".repeat(64)}","role":"reader","host":"h"}]`],
    ["one bad entry", `${tokens.slice(0, -1)},{"name":"x"}]`],
  ])("configured (%s): every call under /v1 is 503, and nothing of it leaks", async (_why, text) => {
    const service = fake({ auth: text === undefined ? {} : { tokens: text } });
    for (const { method, path } of OPERATIONS.filter(({ path: one }) => one.startsWith("/v1"))) {
      const answer = await service.send(method.toUpperCase(), pathOf(path), { headers: bearer("ops") });
      const problem = await problemOf(answer);
      expect(problem.code).toBe("auth_not_configured");
      if (text !== undefined && text.length > 3)
        expect(JSON.stringify(problem)).not.toContain(text.slice(1, -1));
    }
    expect((await service.send("GET", "/healthz")).status).toBe(200);
    expect((await problemOf(await service.send("GET", "/readyz"))).code).toBe("auth_not_configured");
    expect(service.asked).toEqual([]);
  });

  it("sent: 401, with the header that says how", async () => {
    const service = fake({ auth: { tokens } });
    const answer = await service.send("GET", "/v1/whoami");
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    expect((await problemOf(answer)).code).toBe("not_authenticated");
    for (const authorization of ["Bearer wrong", "Basic abc", "Bearer", "Bearer secret-ops x"]) {
      const refused = await service.send("GET", "/v1/whoami", { headers: { authorization } });
      expect((await problemOf(refused)).code, authorization).toBe("token_invalid");
    }
  });

  it("needed (AUTH_MODE=none): everybody is an anonymous administrator", async () => {
    const answer = await fake().send("GET", "/v1/whoami");
    expect(await answer.json()).toEqual({ subject: "anonymous", role: "anonymous", method: "none" });
  });
});

describe("with credentials", () => {
  it("a caller can ask who it is", async () => {
    const service = fake({ auth: { tokens } });
    const ask = async (name: string) =>
      (await service.send("GET", "/v1/whoami", { headers: bearer(name) })).json();
    expect(await ask("ops")).toEqual({ subject: "token:ops", role: "admin", method: "token" });
    expect(await ask("agent-1")).toEqual({
      subject: "token:agent-1",
      role: "agent",
      host: "node-1",
      method: "token",
    });
  });

  /** Whether the role alone lets a caller pass: then the request ends in anything but role_insufficient. */
  async function passes(name: string, id: OperationId): Promise<boolean> {
    const operation = OPERATIONS.find((one) => one.id === id);
    if (operation === undefined) throw new Error(id);
    const service = fake({ auth: { tokens } });
    const json = operation.method === "get" || operation.method === "delete" ? {} : { json: body };
    const answer = await service.send(operation.method.toUpperCase(), pathOf(operation.path), {
      headers: bearer(name),
      ...json,
    });
    return answer.status !== 403 || ((await answer.json()) as { code: string }).code !== "role_insufficient";
  }

  const roles = {
    readers: `getConfig listPools getPool listReservations getReservation listHosts getHost listAllocations
      getAllocation listBlocks getBlock getStatus getUtilization listRoutes getAddress
      listEvents getCheck getGc listLeaks`,
    agents: `getHost getHostReadiness putHost allocate listAllocations getAllocation assignAddress releaseAddress release getHandle
      releaseHandle ensureBlocks changeOwner updateOwners allocateBatch explainAllocation
      reportWorkloads collectAttachments`,
    all: "getHealth getReady whoAmI",
  };
  const named = (list: string) => list.split(/\s+/);

  for (const id of Object.keys(ACCESS) as OperationId[]) {
    it(`${id} takes exactly the roles of the contract`, async () => {
      expect(await passes("ops", id)).toBe(true);
      expect(await passes("eyes", id)).toBe(named(roles.readers).concat(named(roles.all)).includes(id));
      expect(await passes("agent-1", id)).toBe(named(roles.agents).concat(named(roles.all)).includes(id));
    });
  }

  it("the role is judged before anything of the request is read", async () => {
    const service = fake({ auth: { tokens } });
    const answer = await service.send("PATCH", "/v1/config", { raw: "{", headers: bearer("eyes") });
    const problem = await problemOf(answer);
    expect(problem).toMatchObject({
      code: "role_insufficient",
      evidence: { role: "reader", requiredRole: "admin" },
    });
  });

  it("an agent acts for its own host only, whatever the place of the host", async () => {
    const service = fake({ auth: { tokens } });
    const headers = bearer("agent-1");
    const refused = [
      await service.send("GET", "/v1/hosts/node-2", { headers }),
      await service.send("PUT", "/v1/hosts/node-2", { headers, json: { labels: {} } }),
      await service.send("POST", "/v1/allocations", { headers, json: { ...body, host: "node-2" } }),
      await service.send("POST", "/v1/allocations", {
        headers,
        json: { ...body, host: "virtual:load-balancer" },
      }),
      await service.send("PUT", "/v1/allocations/10.0.0.1", {
        headers,
        json: { host: "NODE-1", handle: "h" },
      }),
      await service.send("GET", "/v1/allocations", { headers }),
      await service.send("GET", "/v1/allocations?host=node-2", { headers }),
      await service.send("PUT", "/v1/hosts/node-1", { headers: bearer("lb"), json: { labels: {} } }),
    ];
    for (const answer of refused) expect((await problemOf(answer)).code).toBe("host_mismatch");
    expect(service.asked).toEqual([]);
  });

  it("an agent learns nothing of addresses that are not its own, not even that they are free", async () => {
    const service = fake({ auth: { tokens } });
    const answer = await service.send("GET", "/v1/allocations/10.0.0.1", { headers: bearer("agent-1") });
    expect(await problemOf(answer)).toMatchObject({ code: "host_mismatch", evidence: { host: "node-1" } });
  });

  it("force is for administrators, and a release without guard is refused whole", async () => {
    const service = fake({ auth: { tokens } });
    const address = "/v1/allocations/10.0.0.1";
    const forced = await service.send("DELETE", `${address}?force=true`, { headers: bearer("agent-1") });
    expect(await problemOf(forced)).toMatchObject({
      code: "role_insufficient",
      evidence: { requiredRole: "admin" },
    });
    const bare = await service.send("DELETE", address, { headers: bearer("ops") });
    expect(await problemOf(bare)).toMatchObject({
      code: "guard_required",
      evidence: { address: "10.0.0.1" },
    });
    const addresses = [{ address: "10.0.0.1", handle: "h" }, { address: "10.0.0.2" }];
    const list = await service.send("POST", "/v1/releases", { headers: bearer("ops"), json: { addresses } });
    expect(await problemOf(list)).toMatchObject({
      code: "guard_required",
      evidence: { address: "10.0.0.2" },
    });
    expect(service.asked).toEqual([]);
  });
});
