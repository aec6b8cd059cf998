/** The rules of the contract for all operations, on the HTTP face alone. */
import { describe, expect, it } from "vitest";
import { rejection } from "../../src/core/errors.ts";
import { BODY_BYTES_MAX } from "../../src/core/limits.ts";
import { err } from "../../src/core/result.ts";
import { canonicalJson, sha256Hex } from "../../src/http/digest.ts";
import { OPERATIONS } from "../../src/http/routes.ts";
import { type Body, type Fake, fake, faultsOf, problemOf } from "./fake-deployment.ts";

const wish = { host: "node-1", handle: "h-1", ipv4: { count: 1 } };
const nothing = () => ({ ok: true, value: { addresses: [], shortfall: [], replayed: false, reused: false } });

function allocating(): Fake {
  return fake({ answers: { "host.allocate": nothing } });
}

describe("R1: bodies", () => {
  it("are declared as JSON, else 415", async () => {
    const service = allocating();
    const send = (headers: Record<string, string>) =>
      service.send("POST", "/v1/allocations", { raw: JSON.stringify(wish), headers });
    expect((await problemOf(await send({ "content-type": "text/plain" }))).code).toBe(
      "unsupported_media_type",
    );
    expect((await send({ "content-type": "application/json; charset=latin1" })).status).toBe(415);
    expect((await send({ "content-type": "application/jsonp" })).status).toBe(415);
    expect((await send({ "content-type": "Application/JSON; charset=utf-8" })).status).toBe(201);
    const bytes = new TextEncoder().encode(JSON.stringify(wish));
    expect((await service.send("POST", "/v1/allocations", { raw: bytes })).status).toBe(415);
  });

  it("are one JSON object, else 400", async () => {
    const service = allocating();
    const headers = { "content-type": "application/json" };
    for (const raw of ["", "{", "[]", "1", "null", '"text"', '{"a":1}}', "{a:1}"]) {
      const answer = await service.send("POST", "/v1/allocations", { raw, headers });
      expect((await problemOf(answer)).code, raw).toBe("malformed_json");
    }
    const bytes = new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    expect((await service.send("POST", "/v1/allocations", { raw: bytes, headers })).status).toBe(400);
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("broke off")) });
    const answer = await service.send("POST", "/v1/allocations", { raw: broken, headers });
    expect((await problemOf(answer)).code, "a body that breaks off").toBe("malformed_json");
    expect(service.asked).toEqual([]);
  });

  it("end at 1 MiB by the bytes that arrive, whatever Content-Length says", async () => {
    const service = allocating();
    const padded = (bytes: number) => `${JSON.stringify(wish)}${" ".repeat(bytes)}`.slice(0, bytes);
    const send = (raw: Body, headers = {}) =>
      service.send("POST", "/v1/allocations", {
        raw,
        headers: { "content-type": "application/json", ...headers },
      });
    expect((await send(padded(BODY_BYTES_MAX))).status).toBe(201);
    const over = await problemOf(await send(padded(BODY_BYTES_MAX + 1)));
    expect(over).toMatchObject({ status: 413, evidence: { limit: BODY_BYTES_MAX } });
    let chunks = 0;
    const endless = new ReadableStream({
      pull(controller) {
        chunks += 1;
        controller.enqueue(new Uint8Array(65_536).fill(32));
      },
    });
    expect((await send(endless, { "content-length": "10" })).status).toBe(413);
    expect(chunks).toBeLessThan(40);
  });
});

describe("R2: what is unknown, repeated, null or out of bounds is refused, all at once", () => {
  it("lists every problem of every part with its place, and asks no object", async () => {
    const service = allocating();
    const answer = await service.send("POST", "/v1/allocations?explain=1&dry=1&dry=2", {
      headers: { "idempotency-key": "short", "x-request-timeout-ms": "0" },
      json: { host: "-bad", ipv4: { count: 257, extra: 1 }, partial: null, use: "Other", more: 1 },
    });
    expect(await faultsOf(answer)).toEqual(
      [
        "dry too_many",
        "dry unknown_parameter",
        "explain unknown_parameter",
        "Idempotency-Key pattern",
        "X-Request-Timeout-Ms out_of_range",
        "/host pattern",
        "/handle required",
        "/ipv4/count out_of_range",
        "/ipv4/extra unknown_field",
        "/partial null_not_allowed",
        "/use out_of_range",
        "/more unknown_field",
      ].toSorted(),
    );
    expect(service.asked).toEqual([]);
  });

  const cases: [string, string, unknown, string[]][] = [
    ["POST", "/v1/allocations", { ...wish, ipv4: { count: 0 } }, [" nothing_requested"]],
    ["POST", "/v1/allocations", { host: "node-1", handle: "h" }, [" nothing_requested"]],
    ["POST", "/v1/allocations", { ...wish, ipv4: { count: "1" } }, ["/ipv4/count wrong_type"]],
    ["POST", "/v1/allocations", { ...wish, ipv4: { count: 1.5 } }, ["/ipv4/count wrong_type"]],
    ["POST", "/v1/allocations", { ...wish, ipv4: { count: null } }, ["/ipv4/count null_not_allowed"]],
    ["POST", "/v1/allocations", { ...wish, ipv4: { count: 2 ** 60 } }, ["/ipv4/count out_of_range"]],
    ["POST", "/v1/allocations", { ...wish, ipv4: { count: -1 } }, ["/ipv4/count out_of_range"]],
    ["POST", "/v1/allocations", { ...wish, handle: "a b" }, ["/handle pattern"]],
    ["POST", "/v1/allocations", { ...wish, handle: "" }, ["/handle pattern"]],
    ["POST", "/v1/allocations", { ...wish, handle: "a".repeat(254) }, ["/handle too_long"]],
    [
      "POST",
      "/v1/allocations",
      { ...wish, attributes: { node: "other" } },
      ["/attributes/node attribute_conflict"],
    ],
    ["POST", "/v1/allocations", { ...wish, attributes: { a: "\ud800" } }, ["/attributes/a pattern"]],
    ["POST", "/v1/allocations", { ...wish, attributes: { a: "x\u0000" } }, ["/attributes/a pattern"]],
    ["POST", "/v1/allocations", { ...wish, attributes: { "": "x" } }, ["/attributes pattern"]],
    [
      "POST",
      "/v1/allocations",
      { ...wish, ipv4: { count: 1, pools: ["fd00::/64"] } },
      ["/ipv4/pools/0 wrong_family"],
    ],
    [
      "POST",
      "/v1/allocations",
      { ...wish, hostReserved: { ipv4: { start: 0, end: 0 } } },
      ["/hostReserved/ipv4 host_reservation"],
    ],
    ["POST", "/v1/allocations", { ...wish, space: "other" }, ["/space out_of_range"]],
    [
      "PUT",
      "/v1/pools/p",
      { cidr: "10.0.0.1/24", bogus: 1 },
      ["/bogus unknown_field", "/cidr host_bits_set"],
    ],
    ["PUT", "/v1/pools/p", { cidr: "10.0.0.0/24", nodeSelector: "a ==" }, ["/nodeSelector invalid_selector"]],
    ["PUT", "/v1/pools/p", { cidr: "10.0.0.0/24", blockSize: 19 }, ["/blockSize block_size"]],
    ["PUT", "/v1/pools/p", {}, ["/cidr required"]],
    ["PUT", "/v1/pools/Upper", { cidr: "10.0.0.0/24" }, ["pool pattern"]],
    ["PATCH", "/v1/config", { ipCooldownSeconds: 1201 }, ["/ipCooldownSeconds out_of_range"]],
    ["PUT", "/v1/reservations/r", { reservedCIDRs: ["10.0.0.0/24", "x"] }, ["/reservedCIDRs/1 invalid_cidr"]],
    [
      "PUT",
      "/v1/reservations/r",
      { reservedCIDRs: Array(257).fill("10.0.0.1") },
      ["/reservedCIDRs too_many"],
    ],
    [
      "PUT",
      "/v1/hosts/h",
      { labels: Object.fromEntries(Array.from({ length: 129 }, (_, i) => [`k${i}`, ""])) },
      ["/labels too_many"],
    ],
    ["PUT", "/v1/hosts/h", { labels: [] }, ["/labels wrong_type"]],
    ["PUT", "/v1/allocations/10.0.0.256", { host: "h", handle: "h" }, ["address invalid_address"]],
    ["POST", "/v1/releases", {}, [" nothing_requested"]],
    [
      "POST",
      "/v1/releases",
      { addresses: [{ address: "010.0.0.1", handle: "h" }] },
      ["/addresses/0/address invalid_address"],
    ],
    ["GET", "/v1/pools?limit=0", undefined, ["limit out_of_range"]],
    ["GET", "/v1/pools?limit=1001", undefined, ["limit out_of_range"]],
    ["GET", "/v1/pools?limit=1e2", undefined, ["limit wrong_type"]],
    ["GET", "/v1/pools?cursor=abc", undefined, ["cursor invalid_cursor"]],
    ["GET", "/v1/blocks?exact=yes", undefined, ["exact wrong_type"]],
    ["GET", "/v1/blocks/10.0.0.1-26", undefined, ["block host_bits_set"]],
    ["GET", "/v1/allocations?state=held", undefined, ["state out_of_range"]],
    ["GET", "/v1/whoami?x=1", undefined, ["x unknown_parameter"]],
  ];
  for (const [method, path, json, faults] of cases) {
    it(`${method} ${path} ${JSON.stringify(json)?.slice(0, 70)}: ${faults}`, async () => {
      const service = fake();
      const answer = await service.send(method, path, json === undefined ? {} : { json });
      expect(await faultsOf(answer)).toEqual(faults);
      expect(service.asked).toEqual([]);
    });
  }

  it("lists at most 256 faults of a body that is nothing but faults, and does not take long", async () => {
    const json = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`k${i}`, 1]));
    const begun = process.cpuUsage();
    const { errors } = await problemOf(await allocating().send("POST", "/v1/allocations", { json }));
    expect(errors).toHaveLength(256);
    const { user, system } = process.cpuUsage(begun);
    expect((user + system) / 1_000, "milliseconds of its own").toBeLessThan(3_000);
  });

  it("refuses a key that JSON libraries drop", async () => {
    const raw = '{"host":"node-1","handle":"h","ipv4":{"count":1},"attributes":{"__proto__":"x"}}';
    const answer = await allocating().send("POST", "/v1/allocations", {
      raw,
      headers: { "content-type": "application/json" },
    });
    expect(await faultsOf(answer)).toEqual(["/attributes/__proto__ unknown_field"]);
  });

  it("takes the one address space that there is by its reserved name", async () => {
    const answer = await allocating().send("POST", "/v1/allocations?space=default", {
      json: { ...wish, space: "default" },
    });
    expect(answer.status).toBe(201);
  });
});

describe("R3, R4: names in paths", () => {
  const path = (text: string) => `/v1/allocations/${text}`;
  const notAllocated = async (text: string) =>
    ((await problemOf(await fake().send("GET", path(text)))).evidence as { address: string }).address;

  it("take any spelling of an address and answer with the canonical one", async () => {
    expect(await notAllocated("FD00:0:0:0:0:0:0:1")).toBe("fd00::1");
    expect(await notAllocated("fd00%3A%3A1")).toBe("fd00::1");
    expect(await notAllocated("10.0.0.1")).toBe("10.0.0.1");
  });

  it("refuse zones, prefixes, mapped addresses and leading zeros", async () => {
    for (const text of ["fe80::1%25eth0", "10.0.0.1%2F32", "::ffff:10.0.0.1", "010.0.0.1", "%ff", "1%20"]) {
      expect(await faultsOf(await fake().send("GET", path(text))), text).toEqual(["address invalid_address"]);
    }
  });

  it("take a block by its name or by its CIDR", async () => {
    for (const text of ["10.244.3.0-26", "10.244.3.0%2F26"]) {
      const problem = await problemOf(await fake().send("GET", `/v1/blocks/${text}`));
      expect(problem).toMatchObject({ code: "block_not_found", evidence: { block: "10.244.3.0/26" } });
    }
  });
});

describe("R9: every answer names its request", () => {
  it("with the caller's id where it is well-formed, else with a new one", async () => {
    for (const target of ["/healthz", "/v1/whoami", "/v1/nothing", "/docs"]) {
      const own = await fake().send("GET", target, { headers: { "x-request-id": "my.id-1" } });
      expect(own.headers.get("x-request-id"), target).toBe("my.id-1");
      const made = await fake().send("GET", target, { headers: { "x-request-id": "a b" } });
      expect(made.headers.get("x-request-id"), target).toMatch(/^unique-\d+$/);
    }
    const body = await problemOf(
      await fake().send("GET", "/v1/nothing", { headers: { "x-request-id": "abc" } }),
    );
    expect(body.requestId).toBe("abc");
  });
});

describe("R14: paths and methods", () => {
  it("answer HEAD wherever GET is answered, without a body", async () => {
    const head = await fake().send("HEAD", "/v1/whoami");
    expect(head.status).toBe(200);
    expect(await head.text()).toBe("");
    expect((await fake().send("HEAD", "/v1/releases")).status).toBe(405);
  });

  it("answer 404 for what is not there, also with a slash at the end", async () => {
    for (const path of [
      "/v1/nothing",
      "/v1/pools/",
      "/v1",
      "/healthz/",
      "/v1/pools/a/b",
      "/docs/errors/nothing",
    ]) {
      expect((await problemOf(await fake().send("GET", path))).code, path).toBe("route_not_found");
    }
  });

  it("answer 405 with Allow for methods that a path does not take", async () => {
    const refused = await fake().send("DELETE", "/v1/config");
    expect((await problemOf(refused)).code).toBe("method_not_allowed");
    expect(refused.headers.get("allow")).toBe("GET, HEAD, PATCH");
    expect((await fake().send("POST", "/v1/blocks/10.0.0.0%2F26")).headers.get("allow")).toBe("GET, HEAD");
    expect((await fake().send("POST", "/docs")).headers.get("allow")).toBe("GET, HEAD");
  });
});

describe("R10: the caller's deadline", () => {
  const endless = () => new Promise(() => undefined);
  const headers = { "x-request-timeout-ms": "5" };

  it("counts from arrival and reaches the object", async () => {
    const service = allocating();
    await service.send("POST", "/v1/allocations", {
      json: wish,
      headers: { "x-request-timeout-ms": "30000" },
    });
    expect(service.asked.at(-1)?.request.deadlineAt).toBe(Date.parse("2026-11-29T02:51:37.412Z"));
  });

  it("ends in outcome_unknown where something may have been done, else in deadline_exceeded", async () => {
    const service = fake({ answers: { "host.allocate": endless, "host.describe": endless } });
    const wrote = await service.send("POST", "/v1/allocations", { json: wish, headers });
    expect((await problemOf(wrote)).code).toBe("outcome_unknown");
    const read = await service.send("GET", "/v1/hosts/a", { headers });
    expect((await problemOf(read)).code).toBe("deadline_exceeded");
  });
});

describe("R11: idempotency keys", () => {
  async function sent(headers: Record<string, string>, json: object = wish) {
    const service = allocating();
    await service.send("POST", "/v1/allocations", { json, headers });
    return service.asked.at(-1)?.request as { key: string; fingerprint: string };
  }

  it("come without their quotes; a request without one gets a key of its own", async () => {
    expect((await sent({ "idempotency-key": '"net.4f1c.eth0"' })).key).toBe("net.4f1c.eth0");
    expect((await sent({ "idempotency-key": "net.4f1c.eth0" })).key).toBe("net.4f1c.eth0");
    const [one, other] = [await sent({}), await sent({})];
    expect(one.key).toMatch(/^unique-/);
    expect(one.fingerprint).toBe(other.fingerprint);
  });

  it("are bound to what the body means: order and explain do not count, everything else does", async () => {
    const key = { "idempotency-key": "request-1" };
    const { fingerprint } = await sent(key);
    expect(fingerprint).toMatch(/^[0-9a-f]{32}$/);
    const turned = { ipv4: { count: 1 }, handle: "h-1", host: "node-1", explain: true };
    expect((await sent(key, turned)).fingerprint).toBe(fingerprint);
    expect((await sent(key, { ...wish, ipv4: { count: 2 } })).fingerprint).not.toBe(fingerprint);
    expect((await sent(key, { ...wish, attributes: { pod: "a" } })).fingerprint).not.toBe(fingerprint);
  });

  it("have no fingerprint where the caller gave no key: nobody can repeat one that was made here", async () => {
    expect((await sent({})).fingerprint).toBe("");
  });

  it("are 8 to 128 visible characters", async () => {
    for (const key of [
      "1234567",
      "a".repeat(129),
      "with space",
      "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4",
    ]) {
      const answer = await allocating().send("POST", "/v1/allocations", {
        json: wish,
        headers: { "idempotency-key": key },
      });
      expect(answer.status, key).toBe(400);
    }
  });
});

describe("R8: preconditions", () => {
  it("reach the object that stores the revision; what is no revision is refused", async () => {
    const refuse = () => err(rejection("revision_mismatch", { revision: 12 }));
    const service = fake({ answers: { "cluster.changeConfig": refuse } });
    const send = (value: string) =>
      service.send("PATCH", "/v1/config", { json: {}, headers: { "if-match": value } });
    const refused = await problemOf(await send('"7"'));
    expect(refused).toMatchObject({ status: 412, evidence: { revision: 12 } });
    expect(service.asked[0]?.request).toMatchObject({ ifRevision: 7, by: "anonymous" });
    await send("7");
    expect(service.asked[1]?.request).toMatchObject({ ifRevision: 7 });
    for (const value of ["*", 'W/"7"', '"a"', '"1", "2"']) {
      expect(await faultsOf(await send(value)), value).toEqual(["If-Match pattern"]);
    }
  });

  it("give the revision as ETag", async () => {
    const answer = await fake().send("GET", "/v1/config");
    expect(answer.headers.get("etag")).toBe('"0"');
    expect(await answer.json()).toMatchObject({ revision: 0, effectiveMaxBlocksPerHost: 20 });
  });
});

describe("a forged cursor", () => {
  it("is refused, and leads to no object that the directory does not know", async () => {
    const service = fake();
    for (const [operation, path, places] of [
      ["listAllocations", "/v1/allocations", ["", "nonsense", "10.0.0.0/24"]],
      ["listBlocks", "/v1/blocks", ["", "nonsense", "10.0.0.0/26"]],
    ] as const) {
      for (const place of places) {
        const bound = await sha256Hex(canonicalJson([operation, {}]), 12);
        const cursor = Buffer.from(JSON.stringify([bound, place])).toString("base64url");
        const answer = await service.send("GET", `${path}?cursor=${cursor}`);
        expect(await faultsOf(answer), place).toEqual(["cursor invalid_cursor"]);
      }
    }
    expect(service.asked.every(({ method }) => method === "cluster.policy")).toBe(true);
  });
});

describe("without a policy", () => {
  it("readyz is not_ready, and nothing is done that needs a lease", async () => {
    const service = fake({ leased: false });
    const ready = await service.send("GET", "/readyz");
    expect(await problemOf(ready)).toMatchObject({ status: 503, code: "not_ready", retry: "later" });
    expect(ready.headers.get("retry-after")).toBe("2");
    const released = await service.send("DELETE", "/v1/handles/h");
    expect((await problemOf(released)).code).toBe("policy_unavailable");
    expect(service.asked).toEqual([]);
    expect((await fake().send("GET", "/readyz")).status).toBe(200);
  });
});

describe("a defect", () => {
  it("is 500 with the request's id, is reported, and says nothing of itself", async () => {
    const service = fake();
    const answer = await service.send("GET", "/v1/hosts/node-1");
    const text = JSON.stringify(await problemOf(answer));
    expect(text).toContain("internal_error");
    expect(text).not.toContain("not expected");
    expect(service.reported).toHaveLength(1);
  });
});

describe("the list of operations", () => {
  it("has no path that differs from another in its parameter's name alone", () => {
    const shapes = OPERATIONS.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`);
    expect(new Set(shapes).size).toBe(shapes.length);
  });
});
