/**
 * Every error code that this release can answer, met on the running service: its status, its page,
 * its hint. A code that is not met stands in a list with the reason.
 */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Code } from "../../src/core/errors.ts";
import { PROBLEMS } from "../../src/http/problem.ts";
import { components } from "../../src/http/schemas/components.ts";
import { type Service, startService } from "../support/service.ts";
import { type Answer, type Client, clientOf, expectStatus } from "./client.ts";

/** Codes that no request to this release can meet, and why. */
const NOT_MET: Partial<Record<Code, string>> = {
  token_expired: "comes with JWTs",
  load_balancer_not_found: "comes with load balancers",
  host_removing: "comes with host removal",
  handle_limit_reached: "comes with limits per handle",
  pool_draining: "comes with draining",
  report_out_of_order: "comes with reports",
  check_running: "needs a check that lasts; test/http/checks.test.ts meets it",
  breaker_not_open: "comes with the collector",
  rate_limited: "comes with shares per token",
  internal_error: "is a defect; the HTTP face alone is tested for it",
  overloaded: "needs a platform under load",
  in_progress: "needs a message that is late; tested on the simulated platform",
  outcome_unknown: "needs an object that does not answer; the HTTP face alone is tested for it",
  policy_unavailable: "needs a Cluster that is away; tested on the simulated platform",
  storage_unavailable: "needs a full disk",
  not_ready: "needs a Cluster that is away; the HTTP face alone is tested for it",
};

const ADMIN = "admin-token";
const tokens = JSON.stringify(
  [
    { name: "ops", role: "admin", token: ADMIN },
    { name: "eyes", role: "reader", token: "reader-token" },
    { name: "agent", role: "agent", host: "node-1", token: "agent-token" },
  ].map(({ token, ...entry }) => ({ ...entry, sha256: createHash("sha256").update(token).digest("hex") })),
);

let service: Service;
let admin: Client;
const met = new Set<string>();

beforeAll(async () => {
  service = await startService({ tokens });
  admin = clientOf(service, ADMIN);
  const put = (path: string, json: unknown) => expectStatus(admin("PUT", path, json), 200, 201);
  await put("/v1/hosts/node-1", { labels: { zone: "a" }, incarnation: "boot-1" });
  await put("/v1/hosts/node-2", { labels: { zone: "b" } });
  // Written together, so that they share one wait.
  await Promise.all([
    put("/v1/pools/small", { cidr: "10.1.0.0/30", blockSize: 30, nodeSelector: "zone == 'a'" }),
    put("/v1/pools/off", { cidr: "10.2.0.0/24", disabled: true }),
    put("/v1/pools/tunnels", { cidr: "10.3.0.0/24", allowedUses: ["Tunnel"], nodeSelector: "zone == 'a'" }),
  ]);
}, 60_000);

afterAll(async () => {
  await service.stop();
});

/** Holds an answer to what the table says of its code. */
async function expectProblem(answer: Promise<Answer>, code: Code): Promise<Answer> {
  const got = await answer;
  met.add(code);
  expect(got.body?.code, got.text).toBe(code);
  expect(got.status).toBe(PROBLEMS[code].status);
  expect(got.headers.get("content-type")).toBe("application/problem+json");
  expect(components.Problem.safeParse(got.body).error).toBeUndefined();
  expect(got.body).toMatchObject({ status: got.status, title: PROBLEMS[code].title });
  expect(got.body.requestId).toBe(got.headers.get("x-request-id"));
  expect(got.body.hint.length).toBeGreaterThan(5);
  expect(got.headers.has("retry-after")).toBe(got.status === 429 || got.status === 503);
  const page = await fetch(`${service.url}${got.body.type}`);
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(await page.text()).toContain(code);
  return got;
}

const wish = (host: string, handle: string, more: object = {}) => ({
  host,
  handle,
  ipv4: { count: 1, ...more },
});
const allocate = (json: unknown, headers = {}) => admin("POST", "/v1/allocations", json, headers);

describe("on the running service", () => {
  it("wrong requests are told apart", async () => {
    await expectProblem(admin("GET", "/v1/pools?x=1"), "invalid_request");
    await expectProblem(allocate("{"), "malformed_json");
    await expectProblem(admin("DELETE", "/v1/allocations/10.1.0.0"), "guard_required");
    await expectProblem(admin("GET", "/v1/other"), "route_not_found");
    const refused = await expectProblem(admin("DELETE", "/v1/config"), "method_not_allowed");
    expect(refused.headers.get("allow")).toBe("GET, HEAD, PATCH");
    await expectProblem(allocate(`{"a":"${"x".repeat(1_100_000)}"}`), "body_too_large");
    await expectProblem(allocate("{}", { "content-type": "text/plain" }), "unsupported_media_type");
    const late = { "x-request-timeout-ms": "1" };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => admin("GET", "/v1/hosts?limit=1", undefined, late)),
    );
    // Whether 1 ms is enough is a matter of the machine; what is refused is refused in the right words.
    for (const one of answers) if (one.status !== 200) expect(one.body.code).toBe("deadline_exceeded");
  });

  it("callers are told apart", async () => {
    await expectProblem(clientOf(service)("GET", "/v1/whoami"), "not_authenticated");
    await expectProblem(clientOf(service, "wrong")("GET", "/v1/whoami"), "token_invalid");
    const reader = clientOf(service, "reader-token");
    await expectProblem(reader("PATCH", "/v1/config", {}), "role_insufficient");
    const agent = clientOf(service, "agent-token");
    await expectProblem(agent("GET", "/v1/hosts/node-2"), "host_mismatch");
  });

  it("what is not there is named", async () => {
    await expectProblem(admin("GET", "/v1/pools/nothing"), "pool_not_found");
    await expectProblem(admin("GET", "/v1/reservations/nothing"), "reservation_not_found");
    await expectProblem(admin("GET", "/v1/hosts/nothing"), "host_not_found");
    await expectProblem(admin("GET", "/v1/blocks/10.1.0.0-30"), "block_not_found");
    await expectProblem(admin("GET", "/v1/allocations/10.1.0.1"), "address_not_allocated");
    await expectProblem(admin("GET", "/v1/checks/999"), "check_not_found");
  });

  it("policy writes are refused with what they contradict", async () => {
    await expectProblem(admin("PUT", "/v1/pools/over", { cidr: "10.1.0.0/16" }), "pool_overlap");
    await expectProblem(admin("PUT", "/v1/pools/small", { cidr: "10.9.0.0/30" }), "pool_field_immutable");
    await expectProblem(admin("PATCH", "/v1/config", { maxBlocksPerHost: 3 }), "config_conflict");
    const stale = { "if-match": '"999"' };
    await expectProblem(admin("PATCH", "/v1/config", {}, stale), "revision_mismatch");
    const create = { "if-none-match": "*" };
    await expectProblem(admin("PUT", "/v1/pools/small", { cidr: "10.1.0.0/30" }, create), "already_exists");
    const labels = { labels: { zone: "a" } };
    await expectStatus(admin("PUT", "/v1/hosts/node-1", { ...labels, incarnation: "boot-2" }), 200);
    const older = admin("PUT", "/v1/hosts/node-1", { ...labels, incarnation: "boot-1" });
    await expectProblem(older, "incarnation_conflict");
  });

  it("allocations are refused in the contract's order, with what was considered", async () => {
    await expectProblem(allocate(wish("unknown", "h")), "host_unknown");
    await expectProblem(allocate(wish("node-1", "h", { pools: ["off"] })), "requested_pool_unavailable");
    const noFamily = { host: "node-1", handle: "h", ipv6: { count: 1 } };
    await expectProblem(allocate(noFamily), "no_qualified_pool");
    const selected = await expectProblem(allocate(wish("node-2", "h")), "no_pool_selects_host");
    const [shortfall] = selected.body.evidence.shortfall;
    expect(shortfall.considered).toContainEqual(
      expect.objectContaining({ pool: "small", rule: "node_selector", outcome: "skipped" }),
    );
    const unfit = { host: "node-1", handle: "h" };
    await expectProblem(
      admin("PUT", "/v1/allocations/10.3.0.1", { ...unfit, use: "Workload" }),
      "use_not_allowed",
    );
    await expectProblem(admin("PUT", "/v1/allocations/10.2.0.1", unfit), "address_not_in_pool");
  });

  it("keys are bound to their request and spent by its release", async () => {
    const key = { "idempotency-key": "key-of-errors-1" };
    const first = await expectStatus(allocate(wish("node-1", "keyed"), key), 201);
    await expectProblem(
      allocate(wish("node-1", "keyed", { pools: ["small"] }), key),
      "idempotency_key_reused",
    );
    const { address, sequenceNumber } = first.body.allocations[0];
    const path = `/v1/allocations/${address}`;
    await expectProblem(admin("PUT", path, { host: "node-1", handle: "other" }), "address_taken");
    await expectProblem(admin("DELETE", `${path}?sequenceNumber=${sequenceNumber + 1}`), "sequence_mismatch");
    await expectProblem(admin("DELETE", `${path}?handle=other`), "handle_mismatch");
    await expectStatus(admin("DELETE", "/v1/handles/keyed"), 200);
    await expectProblem(allocate(wish("node-1", "keyed"), key), "idempotency_key_released");
  });

  it("shortages are told apart, with the time at which they end where it is known", async () => {
    for (const handle of ["a", "b", "c", "d"]) await expectStatus(allocate(wish("node-1", handle)), 201);
    const full = await expectProblem(allocate(wish("node-1", "e")), "pool_exhausted");
    expect(full.body.retry).toBe("after_change");
    await expectStatus(admin("PATCH", "/v1/config", { ipCooldownSeconds: 300 }), 200);
    const released = await expectStatus(admin("DELETE", "/v1/handles/a"), 200);
    const { address } = released.body.results[0];
    const cooling = await expectProblem(allocate(wish("node-1", "e")), "pool_cooling");
    expect(cooling.body).toMatchObject({ retry: "later" });
    expect(cooling.body.retryAfterSeconds).toBeGreaterThan(200);
    expect(cooling.body.evidence.freeAt).toMatch(/^\d{4}-.*\.\d{3}Z$/);
    const assign = admin("PUT", `/v1/allocations/${address}`, { host: "node-1", handle: "e" });
    await expectProblem(assign, "address_cooling");
    await expectStatus(admin("PATCH", "/v1/config", { ipCooldownSeconds: 0 }), 200);
    await expectStatus(allocate(wish("node-1", "e")), 201);
  });

  it("caps and strictness end the search in their own words", async () => {
    await expectStatus(
      admin("PUT", "/v1/pools/tiny", { cidr: "10.4.0.0/31", blockSize: 32, nodeSelector: "has(tiny)" }),
      201,
    );
    await expectStatus(admin("PUT", "/v1/hosts/node-3", { labels: { tiny: "" } }), 201);
    await expectStatus(admin("PUT", "/v1/hosts/node-4", { labels: { tiny: "" } }), 201);
    await expectStatus(allocate({ ...wish("node-3", "x") }), 201);
    const capped = await expectProblem(
      allocate({ ...wish("node-3", "y"), maxBlocksPerHost: 1 }),
      "block_limit_reached",
    );
    expect(capped.body.hint).toContain("request's own");
    await expectStatus(
      admin("PATCH", "/v1/config", { strictAffinity: true, autoAllocateBlocks: false }),
      200,
    );
    await expectProblem(allocate(wish("node-4", "y")), "auto_allocate_disabled");
    const outside = admin("PUT", `/v1/allocations/${await addressOf("x")}`, { host: "node-4", handle: "y" });
    await expectProblem(outside, "address_outside_affinity");
    await expectStatus(admin("PATCH", "/v1/config", { maintenance: true, maintenanceReason: "moving" }), 200);
    const closed = await expectProblem(allocate(wish("node-4", "y")), "maintenance");
    expect(closed.body.detail).toContain("moving");
    await expectStatus(admin("DELETE", "/v1/handles/nothing"), 200);
    await expectStatus(admin("PATCH", "/v1/config", { maintenance: false, autoAllocateBlocks: true }), 200);
  });

  it("strict affinity is named only where borrowing would have helped", async () => {
    await expectStatus(
      admin("PUT", "/v1/pools/pair", { cidr: "10.5.0.0/30", blockSize: 30, nodeSelector: "has(pair)" }),
      201,
    );
    await expectStatus(admin("PUT", "/v1/hosts/node-5", { labels: { pair: "" } }), 201);
    await expectStatus(admin("PUT", "/v1/hosts/node-6", { labels: { pair: "" } }), 201);
    await expectStatus(allocate(wish("node-5", "p")), 201);
    await expectProblem(allocate(wish("node-6", "p")), "strict_affinity");
  });

  it("owners and blocks are refused with who holds them", async () => {
    const spec = { cidr: "10.6.0.0/22", blockSize: 31, nodeSelector: "has(owned)" };
    await expectStatus(admin("PUT", "/v1/pools/owned", spec), 201);
    const claim = (host: string, cidr: string) => admin("POST", "/v1/affinity-claims", { host, cidr });
    await expectProblem(claim("node-1", "10.6.0.0/22"), "range_too_large");
    await expectProblem(claim("node-1", "192.0.2.0/31"), "cidr_not_in_pool");
    await expectStatus(claim("node-1", "10.6.0.0/31"), 200);
    const other = await expectProblem(claim("node-2", "10.6.0.0/31"), "block_owned_by_other");
    expect(other.body.evidence).toEqual({ block: "10.6.0.0/31", host: "node-1" });
    await expectStatus(admin("PUT", "/v1/allocations/10.6.0.1", { host: "node-1", handle: "vm" }), 201);
    const busy = admin("POST", "/v1/affinity-releases", { cidr: "10.6.0.0/31" });
    expect((await expectProblem(busy, "block_not_empty")).body.detail).toContain("holds 1 addresses");
    const promote = (handle: string) =>
      admin("POST", "/v1/owner-changes", { handle, change: "promote", owner: { namespace: "n", pod: "to" } });
    await expectProblem(promote("nothing"), "handle_not_allocated");
    await expectProblem(promote("vm"), "alternate_owner_empty");
    const owners = (json: object) =>
      admin("PATCH", "/v1/allocations/10.6.0.1/owners", { handle: "vm", ...json });
    await expectStatus(owners({ setAlternate: { namespace: "n", pod: "else" } }), 200);
    await expectProblem(promote("vm"), "alternate_owner_mismatch");
    await expectProblem(owners({ clearAlternate: true, expectAlternateEmpty: true }), "owner_mismatch");
  });

  async function addressOf(handle: string): Promise<string> {
    const { body } = await expectStatus(admin("GET", `/v1/handles/${handle}`), 200);
    return body.items[0].address;
  }

  it("a service without credentials answers nobody", async () => {
    const closed = await startService({ tokens: "[]" });
    try {
      await expectProblem(clientOf(closed)("GET", "/v1/whoami"), "auth_not_configured");
    } finally {
      await closed.stop();
    }
  });

  it("every code was met, or has its reason not to be", () => {
    const expected = Object.keys(PROBLEMS).filter(
      (code) => !(code in NOT_MET) && code !== "deadline_exceeded",
    );
    expect([...met].toSorted()).toEqual(expected.toSorted());
  });
});
