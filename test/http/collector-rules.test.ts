/** The collector's operations: who may call them, what is refused, and that nothing is half applied. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, expectStatus } from "./client.ts";
import { GRACE, SETTLED, type Stage, staged } from "./collector-stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await staged();
}, 60_000);
afterAll(() => stage.stop());

const REPORT = { incarnation: "life-1", sequence: 1, ageMs: 0, complete: true, workloads: [] };
const LIST = { network: "pods", validHandles: [] };
const REPORTS = "/v1/hosts/node-1/workloads";
const COLLECTS = "/v1/hosts/node-1/attachment-gc";

const faults = ({ body }: Answer) =>
  body.errors.map((one: { pointer?: string; parameter?: string; code: string }) => {
    return `${one.pointer ?? one.parameter} ${one.code}`;
  });

describe("who may call", () => {
  it("an agent brings evidence of its own host, of no other, and learns of no other", async () => {
    const two = stage.agent("node-2");
    for (const host of ["node-1", "nobody"]) {
      for (const sent of [
        two("PUT", `/v1/hosts/${host}/workloads`, REPORT),
        two("POST", `/v1/hosts/${host}/attachment-gc`, LIST),
      ]) {
        const { body } = await expectStatus(sent, 403);
        expect(body).toMatchObject({ code: "host_mismatch", evidence: { host: "node-2" } });
      }
    }
    const host = (await stage.eyes("GET", "/v1/hosts/node-1")).body;
    expect(host.report).toEqual({ state: "never", workloads: 0 });
  });

  it("a reader sees the collector and steers nothing; an agent does neither", async () => {
    const steering: [string, string, unknown?][] = [
      ["PATCH", "/v1/gc", { paused: true }],
      ["POST", "/v1/gc/sweeps"],
      ["POST", "/v1/gc/acknowledgements", { breakerOpenedAt: "2026-11-29T02:51:07.412Z" }],
    ];
    for (const path of ["/v1/gc", "/v1/leaks"]) {
      await expectStatus(stage.eyes("GET", path), 200);
      await expectStatus(stage.agent("node-1")("GET", path), 403);
    }
    for (const [method, path, body] of steering) {
      expect((await stage.eyes(method, path, body)).body.code).toBe("role_insufficient");
      expect((await stage.agent("node-1")(method, path, body)).body.code).toBe("role_insufficient");
    }
    for (const [method, path, body] of [
      ["PUT", REPORTS, REPORT],
      ["POST", COLLECTS, LIST],
    ] as const) {
      expect((await stage.eyes(method, path, body)).body.code).toBe("role_insufficient");
    }
    expect((await stage.eyes("GET", "/v1/gc")).body).toMatchObject({ paused: false, sweep: 0 });
  });

  it("nobody reports for a host that never was: 404", async () => {
    const report = await expectStatus(stage.ops("PUT", "/v1/hosts/ghost/workloads", REPORT), 404);
    expect(report.body).toMatchObject({ code: "host_not_found", evidence: { host: "ghost" } });
    await expectStatus(stage.ops("POST", "/v1/hosts/ghost/attachment-gc", LIST), 404);
    expect((await stage.eyes("GET", "/v1/leaks?host=ghost")).body).toEqual({ items: [] });
  });
});

describe("a report", () => {
  const report = (more: object) => stage.agent("node-1")("PUT", REPORTS, { ...REPORT, ...more });

  it("with faults is refused whole, with all of them, and none of it counts", async () => {
    const workloads = [
      { addresses: ["10.10.0.1"] },
      { addresses: ["10.10.0.300", "10.10.0.1/32"], handle: "no handle", node: "x" },
      { handle: "pods.a" },
    ];
    const more = { incarnation: "x".repeat(65), sequence: -1, ageMs: 600_001, complete: "yes", workloads };
    const answer = await expectStatus(report(more), 400);
    expect(faults(answer).toSorted()).toEqual([
      "/ageMs out_of_range",
      "/complete wrong_type",
      "/incarnation too_long",
      "/sequence out_of_range",
      "/workloads/1/addresses/0 invalid_address",
      "/workloads/1/addresses/1 invalid_address",
      "/workloads/1/handle pattern",
      "/workloads/1/node unknown_field",
      "/workloads/2/addresses required",
    ]);
    const { body } = await stage.eyes("GET", "/v1/hosts/node-1");
    expect(body.report).toEqual({ state: "never", workloads: 0 });
  });

  it("of 4,096 workloads is taken whole, though it is more than a body of others may be", async () => {
    const workloads = Array.from({ length: 4096 }, (_, n) => ({
      handle: `pods.${n}-${"x".repeat(200)}`,
      namespace: "web",
      pod: `pod-${n}-${"y".repeat(100)}`,
      addresses: [`10.11.${n >> 8}.${n & 255}`],
    }));
    expect(JSON.stringify(workloads).length).toBeGreaterThan(1024 * 1024);
    await expectStatus(report({ workloads }), 200);
    const { body } = await stage.eyes("GET", "/v1/hosts/node-1");
    expect(body.report).toMatchObject({ workloads: 4096, addressesNotAllocated: 1024 });
    const more = await expectStatus(
      report({ sequence: 2, workloads: [...workloads, { addresses: [] }] }),
      400,
    );
    expect(more.body.errors).toMatchObject([{ pointer: "/workloads", code: "too_many", limit: 4096 }]);
    const text = JSON.stringify({ ...REPORT, sequence: 2, workloads: [], more: "z".repeat(4 * 1024 * 1024) });
    const huge = await expectStatus(stage.agent("node-1")("PUT", REPORTS, text), 413);
    expect(huge.body).toMatchObject({ code: "body_too_large", evidence: { limit: 4 * 1024 * 1024 } });
    expect((await stage.eyes("GET", "/v1/hosts/node-1")).body.report.sequence).toBe(1);
  });

  it("that is older than the last, or of a life that was replaced, is refused", async () => {
    await expectStatus(report({ sequence: 10 }), 200);
    const late = await expectStatus(report({ sequence: 9 }), 409);
    expect(late.body).toMatchObject({
      code: "report_out_of_order",
      retry: "no",
      evidence: { host: "node-1", sequenceNumber: 10 },
    });
    await expectStatus(
      stage.agent("node-1")("PUT", "/v1/hosts/node-1", { labels: {}, incarnation: "life-2" }),
      200,
    );
    const old = await expectStatus(report({ sequence: 11 }), 409);
    expect(old.body).toMatchObject({ code: "incarnation_conflict", retry: "no" });
    await expectStatus(report({ incarnation: "life-2", sequence: 1 }), 200);
    expect((await stage.eyes("GET", "/v1/hosts/node-1")).body).toMatchObject({
      incarnation: "life-2",
      report: { state: "fresh", sequence: 1 },
    });
  });
});

describe("a list of attachments", () => {
  const collect = (body: object) => stage.agent("node-1")("POST", COLLECTS, body);

  it("I11: without its handles, or with too many, is refused: no list never means none valid", async () => {
    expect(faults(await expectStatus(collect({ network: "pods" }), 400))).toEqual(["/validHandles required"]);
    expect(faults(await expectStatus(collect({ ...LIST, validHandles: null }), 400))).toEqual([
      "/validHandles null_not_allowed",
    ]);
    const many = { ...LIST, validHandles: Array.from({ length: 4097 }, (_, n) => `pods.${n}`) };
    const answer = await expectStatus(collect(many), 400);
    expect(answer.body.errors).toMatchObject([{ pointer: "/validHandles", code: "too_many", limit: 4096 }]);
  });

  it("names its network, and handles that can be handles", async () => {
    const bad = { network: "", validHandles: ["pods.a", "", "a b"], dryRun: true };
    expect(faults(await expectStatus(collect(bad), 400)).toSorted()).toEqual([
      "/dryRun unknown_field",
      "/network pattern",
      "/validHandles/1 pattern",
      "/validHandles/2 pattern",
    ]);
  });
});

describe("steering", () => {
  it("refuses what it would not do, and changes nothing", async () => {
    const conflict = await expectStatus(stage.ops("PATCH", "/v1/gc", { paused: false, reason: "x" }), 400);
    expect(faults(conflict)).toEqual(["/reason conflicting_fields"]);
    expect(faults(await stage.ops("PATCH", "/v1/gc", { paused: "yes", speed: 2 })).toSorted()).toEqual([
      "/paused wrong_type",
      "/speed unknown_field",
    ]);
    expect(faults(await stage.ops("PATCH", "/v1/gc", { paused: true, reason: "x".repeat(257) }))).toEqual([
      "/reason too_long",
    ]);
    const { body } = await expectStatus(stage.ops("PATCH", "/v1/gc", {}), 200);
    expect(body.paused).toBe(false);
    expect(faults(await stage.ops("POST", "/v1/gc/acknowledgements", { breakerOpenedAt: "now" }))).toEqual([
      "/breakerOpenedAt pattern",
    ]);
  });
});

describe("the list of leaks", () => {
  it("goes over hosts and addresses in pages, each leak once, and keeps to its filters", async () => {
    const wanted: string[] = [];
    for (const host of ["node-1", "node-2"] as const) {
      for (let n = 0; n < 5; n += 1) wanted.push(`${host} ${await stage.pod(host, `leaks-${host}-${n}`)}`);
    }
    await stage.pass(SETTLED);
    await expectStatus(
      stage.agent("node-1")("PUT", REPORTS, { ...REPORT, incarnation: "life-2", sequence: 20 }),
      200,
    );
    await stage.report("node-2", []);
    await stage.sweep();
    const names = (items: Answer["body"][]) => items.map(({ host, address }) => `${host} ${address}`);
    for (const limit of [1, 3, 10, 1000]) {
      const found = names(await stage.all(`/v1/leaks?limit=${limit}`));
      expect(found.toSorted()).toEqual(wanted.toSorted());
      const hosts = found.map((one) => one.split(" ")[0]);
      expect(hosts).toEqual(hosts.toSorted());
    }
    expect(await stage.all("/v1/leaks?limit=3&state=candidate")).toHaveLength(10);
    expect(await stage.all("/v1/leaks?limit=3&state=held")).toEqual([]);
    expect(await stage.all("/v1/leaks?pool=other")).toEqual([]);
    expect(await stage.all("/v1/leaks?host=node-2&pool=default&limit=2")).toHaveLength(5);
    await stage.pass(GRACE);
    await stage.report("node-2", []);
    expect(await stage.all("/v1/leaks?state=confirmed")).toHaveLength(5);
  });

  it("refuses a state that it does not know, naming those it does, and foreign cursors", async () => {
    const answer = await expectStatus(stage.eyes("GET", "/v1/leaks?state=released"), 400);
    expect(answer.body.errors).toEqual([
      { parameter: "state", code: "out_of_range", message: "must be one of candidate, confirmed, held" },
    ]);
    const { body } = await expectStatus(stage.eyes("GET", "/v1/leaks?limit=1"), 200);
    await expectStatus(stage.eyes("GET", `/v1/leaks?limit=1&cursor=${body.nextCursor}`), 200);
    const others = [`host=node-1&cursor=${body.nextCursor}`, "cursor=x", "limit=0", "kind=vm"];
    for (const query of others) await expectStatus(stage.eyes("GET", `/v1/leaks?${query}`), 400);
  });
});
