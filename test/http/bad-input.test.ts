/**
 * Bad input of every kind: a problem with a code, and nothing left behind; and which of several
 * things that are wrong is named. Shape: every hostile value is wrong for every member it is put into.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PROBLEMS } from "../../src/http/problem.ts";
import { runs } from "../support/seeds.ts";
import { type Service, startService } from "../support/service.ts";
import { type Client, clientOf, expectStatus } from "./client.ts";

let service: Service;
let call: Client;

beforeAll(async () => {
  service = await startService();
  call = clientOf(service);
  await expectStatus(call("PUT", "/v1/pools/default", { cidr: "10.10.0.0/16" }), 201);
  await expectStatus(call("PUT", "/v1/pools/off", { cidr: "10.20.0.0/16", disabled: true }), 201);
  await expectStatus(call("PUT", "/v1/hosts/node-1", { labels: {} }), 201);
  await expectStatus(call("POST", "/v1/allocations", wish), 201);
}, 60_000);

afterAll(async () => {
  await service.stop();
});

const wish = { host: "node-1", handle: "held", ipv4: { count: 1 } };

/** A whole body of each operation that takes one: every member is there to be spoilt. */
const bodies: { method: string; path: string; body: Record<string, unknown> }[] = [
  { method: "POST", path: "/v1/checks", body: { pool: "default", host: "node-1", repair: true } },
  {
    method: "POST",
    path: "/v1/allocations",
    body: {
      ...wish,
      handle: "bad",
      use: "Workload",
      ipv6: { count: 1, pools: ["a"] },
      attributes: { pod: "a" },
      namespace: { name: "n", labels: { a: "b" } },
      maxPerHandle: 3,
      maxBlocksPerHost: 2,
      hostReserved: { ipv4: { start: 1, end: 1, handle: "h", note: "n" } },
      partial: true,
      ownerSlot: "active",
      leakCollection: "auto",
      explain: true,
    },
  },
  {
    method: "PUT",
    path: "/v1/allocations/10.10.1.1",
    body: {
      host: "node-1",
      handle: "bad",
      use: "Tunnel",
      attributes: { a: "b" },
      maxPerHandle: 1,
      leakCollection: "never",
    },
  },
  {
    method: "POST",
    path: "/v1/releases",
    body: {
      handles: ["held"],
      addresses: [{ address: "10.10.0.1", handle: "held", sequenceNumber: 1 }],
      force: false,
    },
  },
  {
    method: "PUT",
    path: "/v1/pools/bad",
    body: {
      cidr: "10.30.0.0/16",
      blockSize: 26,
      disabled: false,
      assignmentMode: "Manual",
      allowedUses: ["Workload"],
      nodeSelector: "all()",
      namespaceSelector: "all()",
      ipipMode: "Never",
      vxlanMode: "Never",
      natOutgoing: false,
      disableBGPExport: false,
      gateway: "10.30.0.1",
      answerPrefix: "pool",
      warnAtPercent: 50,
      description: "d",
    },
  },
  { method: "PATCH", path: "/v1/pools/default", body: { disabled: true, warnAtPercent: 3, draining: false } },
  {
    method: "PATCH",
    path: "/v1/config",
    body: { strictAffinity: true, maxBlocksPerHost: 3, ipCooldownSeconds: 9 },
  },
  { method: "PUT", path: "/v1/reservations/bad", body: { reservedCIDRs: ["10.10.0.0/24"], reason: "r" } },
  { method: "PUT", path: "/v1/hosts/bad", body: { labels: { a: "b" }, incarnation: "i" } },
  {
    method: "PUT",
    path: "/v1/hosts/node-1/workloads",
    body: {
      incarnation: "i",
      sequence: 1,
      ageMs: 10,
      complete: true,
      workloads: [{ handle: "held", namespace: "n", pod: "p", uid: "u", addresses: ["10.10.0.1"] }],
    },
  },
  {
    method: "POST",
    path: "/v1/hosts/node-1/attachment-gc",
    body: { network: "net", validHandles: ["net.a"] },
  },
  { method: "PATCH", path: "/v1/gc", body: { paused: true, reason: "r" } },
  {
    method: "POST",
    path: "/v1/gc/acknowledgements",
    body: { breakerOpenedAt: "2026-11-29T02:51:07.412Z" },
  },
];

/** Values that are wrong wherever they stand. */
const hostile = fc.constantFrom<unknown>(
  null,
  -1,
  1.5,
  1e21,
  [[]],
  [null],
  { unknown: null },
  `\u0000${"x".repeat(5000)}`,
  "\ud800".repeat(2000),
);

/** Every member of a body, nested ones too. */
function membersOf(value: unknown, at: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const path = [...at, Array.isArray(value) ? Number(key) : key];
    return [path, ...membersOf(member, path)];
  });
}

function spoilt(body: Record<string, unknown>, path: readonly (string | number)[], value: unknown) {
  const copy = structuredClone(body);
  // biome-ignore lint/suspicious/noExplicitAny: walks plain JSON
  const parent = path.slice(0, -1).reduce<any>((one, key) => one[key], copy);
  parent[path.at(-1) as string] = value;
  return copy;
}

/** Everything that a caller can see, and how many objects were ever called. */
async function everything() {
  const lists = ["pools?", "reservations?", "hosts?", "allocations?", "blocks?", "utilization?exact=true&"];
  const answers = await Promise.all(
    lists.map((list) => expectStatus(call("GET", `/v1/${list}limit=100`), 200)),
  );
  const config = await expectStatus(call("GET", "/v1/config"), 200);
  const gc = await expectStatus(call("GET", "/v1/gc"), 200);
  const objects = readdirSync(join(service.dataDir, "objects"), { recursive: true })
    .map(String)
    .filter((file) => file.endsWith(".sqlite"));
  // Figures within the list of pools come seconds after what they count; utilization asks the blocks.
  const late = /"asOf":"[^"]*"|"usage":\{[^}]*\}/g;
  const texts = [...answers, config].map(({ text }) => text.replaceAll(late, ""));
  return { texts, isPaused: gc.body.paused as boolean, objects: objects.toSorted() };
}

describe("bad input", () => {
  it("in any member of any body is refused with its place, and changes nothing", async () => {
    const before = await everything();
    expect(before.objects.length).toBeGreaterThan(3);
    const cases = bodies.flatMap((one) => membersOf(one.body).map((path) => ({ ...one, member: path })));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...cases), hostile, async ({ method, path, body, member }, value) => {
        const answer = await call(method, path, spoilt(body, member, value));
        expect(answer.status, answer.text).toBe(400);
        expect(answer.body.code).toBe("invalid_request");
        const places = (answer.body.errors as { pointer?: string }[]).map(({ pointer }) => pointer ?? "");
        const pointer = `/${member[0]}`;
        expect(
          places.some((place) => place.startsWith(pointer)),
          answer.text,
        ).toBe(true);
      }),
      { numRuns: runs(400) },
    );
    expect(await everything()).toEqual(before);
  });

  it("of any shape in path, query, headers and raw bytes has a problem, and changes nothing", async () => {
    const before = await everything();
    const long = "a".repeat(3_000);
    const tries: [string, string, unknown?, Record<string, string>?][] = [
      ...["%00", "%2e%2e", "%ff", "..%2f", long, "{pool}", "*", "a%20b", "\u00e4"].flatMap(
        (text): [string, string][] => [
          ["GET", `/v1/pools/${text}`],
          ["GET", `/v1/hosts/${text}`],
          ["DELETE", `/v1/handles/${text}`],
          ["GET", `/v1/allocations/${text}`],
          ["GET", `/v1/blocks/${text}`],
        ],
      ),
      ...[
        "?limit=",
        "?limit=-1",
        "?limit=1&limit=1",
        "?cursor=%00",
        `?cursor=${long}`,
        "?space=other",
        "?__proto__=1",
      ].map((query): [string, string] => ["GET", `/v1/allocations${query}`]),
      ...[
        "",
        "{",
        "[]",
        "null",
        "\u0000",
        '{"a":',
        `${"[".repeat(20_000)}`,
        `{"a":${"[".repeat(20_000)}`,
      ].map((raw): [string, string, string] => ["POST", "/v1/allocations", raw]),
      [
        "POST",
        "/v1/allocations",
        `{"host":"node-1","handle":"x","ipv4":{"count":1},"attributes":{"__proto__":"x"}}`,
      ],
      [
        "POST",
        "/v1/allocations",
        `{"host":"node-1","handle":"x","ipv4":{"count":1},"deep":${"[".repeat(9_000)}${"]".repeat(9_000)}}`,
      ],
      ["POST", "/v1/allocations", wish, { "idempotency-key": "short" }],
      ["POST", "/v1/allocations", wish, { "x-request-timeout-ms": "soon" }],
      ["POST", "/v1/allocations", wish, { "content-type": "text/json" }],
      ["PUT", "/v1/pools/default", { cidr: "10.10.0.0/16" }, { "if-match": "latest" }],
      [
        "POST",
        "/v1/allocations",
        { ...wish, attributes: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`a${i}`, ""])) },
      ],
      ["POST", "/v1/releases", { handles: Array(65).fill("held") }],
      ["POST", "/v1/releases", { addresses: [{ address: "10.10.0.1" }] }],
    ];
    for (const [method, path, json, headers] of tries) {
      const answer = await call(method, path, json, headers);
      const told = `${method} ${path.slice(0, 60)} ${String(json).slice(0, 60)}: ${answer.status} ${answer.text.slice(0, 300)}`;
      expect([400, 404, 414, 415], told).toContain(answer.status);
      expect(answer.headers.get("content-type"), told).toBe("application/problem+json");
      expect(PROBLEMS, told).toHaveProperty(answer.body.code);
    }
    expect(await everything()).toEqual(before);
  });
});

describe("the order of checks", () => {
  it("path, method, form, host, key, pools: the first that fails is named", async () => {
    const key = { "idempotency-key": "order-of-checks" };
    await expectStatus(call("POST", "/v1/allocations", { ...wish, handle: "ordered" }, key), 201);
    const code = async (method: string, path: string, json?: unknown, headers = {}) =>
      (await call(method, path, json, headers)).body.code;
    expect(await code("POST", "/v1/nothing?x=1", "{")).toBe("route_not_found");
    expect(await code("POST", "/v1/config?x=1", "{")).toBe("method_not_allowed");
    expect(await code("POST", "/v1/allocations?x=1", "{", { "content-type": "a/b" })).toBe(
      "unsupported_media_type",
    );
    expect(await code("POST", "/v1/allocations?x=1", "{")).toBe("malformed_json");
    const bad = { ...wish, host: "nobody", handle: "ordered", ipv4: { count: 1, pools: ["off"] } };
    expect(await code("POST", "/v1/allocations?x=1", bad)).toBe("invalid_request");
    expect(await code("POST", "/v1/allocations", bad, key)).toBe("host_unknown");
    expect(await code("POST", "/v1/allocations", { ...bad, host: "node-1" }, key)).toBe(
      "idempotency_key_reused",
    );
    expect(await code("POST", "/v1/allocations", { ...bad, host: "node-1" })).toBe(
      "requested_pool_unavailable",
    );
    const both = { ...wish, handle: "ordered", ipv6: { count: 1 }, ipv4: { count: 1, pools: ["off"] } };
    expect(await code("POST", "/v1/allocations", both)).toBe("requested_pool_unavailable");
    expect(await code("POST", "/v1/allocations", { ...both, ipv4: { count: 1 } })).toBe("no_qualified_pool");
    await expectStatus(call("DELETE", "/v1/handles/ordered"), 200);
  });
});
