/** Hosts through the HTTP face: whom the service never met, and who registered or removed whom. */
import { beforeEach, describe, expect, test } from "vitest";
import { hostObjectName } from "../../../src/core/ids.ts";
import { type Caller, Face } from "./face.ts";

let face: Face;

beforeEach(async () => {
  face = await Face.open(["a"]);
  await face.must("PUT", "/v1/pools/four", { cidr: "10.0.0.0/24" });
});

const wish = (host: string) => ({ host, handle: "h", ipv4: { count: 1 } });

/** Requests that name a host, and what they answer where nobody knows it. */
const REQUESTS: readonly [string, string, (host: string) => object | undefined, unknown][] = [
  ["GET", "/v1/hosts/HOST", () => undefined, [404, "host_not_found"]],
  ["GET", "/v1/hosts/HOST/readiness", () => undefined, [404, "host_not_found"]],
  ["DELETE", "/v1/hosts/HOST", () => undefined, [404, "host_not_found"]],
  ["POST", "/v1/hosts/HOST/blocks", () => ({ families: [4] }), [404, "host_not_found"]],
  ["POST", "/v1/allocations", wish, [409, "host_unknown"]],
  [
    "POST",
    "/v1/allocation-batches",
    (host) => ({ host, items: [{ key: "key-of-one", handle: "h", ipv4: { count: 1 } }] }),
    [409, "host_unknown"],
  ],
  ["POST", "/v1/explanations", wish, [200, undefined]],
  ["GET", "/v1/allocations?host=HOST", () => undefined, [200, undefined]],
  ["GET", "/v1/blocks?host=HOST", () => undefined, [200, undefined]],
  ["GET", "/v1/routes?host=HOST", () => undefined, [200, undefined]],
  ["GET", "/v1/events?host=HOST", () => undefined, [200, undefined]],
  ["POST", "/v1/affinity-releases", (host) => ({ host }), [200, undefined]],
];

describe("a host that never was", () => {
  test.each(REQUESTS)("%s %s makes no object for it", async (method, path, body, expected) => {
    const { status, body: answer } = await face.send(method, path.replace("HOST", "ghost"), body("ghost"));
    expect([status, answer.code], JSON.stringify(answer)).toEqual(expected);
    expect(face.world.objectNames).not.toContain(hostObjectName("ghost"));
    // The same of one that is there is about that one.
    await face.send(method, path.replace("HOST", "a"), body("a"));
    expect(face.world.objectNames).toContain(hostObjectName("a"));
  });

  test("is explained as unknown, with what it would get if it registered", async () => {
    const told = await face.must("POST", "/v1/explanations", wish("ghost"));
    expect(told).toMatchObject({ hostKnown: false, wouldSucceed: false });
    await face.must("PUT", "/v1/hosts/ghost", { labels: {} });
    expect(await face.must("POST", "/v1/explanations", wish("ghost"))).toMatchObject({ hostKnown: true });
  });

  test("may be claimed for, and is known from then on", async () => {
    await face.must("POST", "/v1/affinity-claims", { host: "ghost", cidr: "10.0.0.0/26" });
    const released = await face.must("POST", "/v1/affinity-releases", { host: "ghost" });
    expect(released.results).toMatchObject([{ block: "10.0.0.0/26", outcome: "released" }]);
  });

  test("a virtual owner need not have been there before", async () => {
    expect((await face.send("POST", "/v1/allocations", wish("virtual:lb"))).status).toBe(201);
    expect((await face.send("GET", "/v1/hosts/virtual:other")).status).toBe(404);
    expect(face.world.objectNames).not.toContain(hostObjectName("virtual:other"));
  });

  test("a host that was met costs no further look into the directory", async () => {
    await face.send("POST", "/v1/allocations", wish("a"));
    const mark = face.world.counters.read();
    for (const handle of ["i", "j"]) {
      expect((await face.send("POST", "/v1/allocations", { ...wish("a"), handle })).status).toBe(201);
    }
    const { callsTotal, calls } = face.world.counters.since(mark);
    expect([callsTotal, calls["client>ClusterObject.findHost"]]).toEqual([6, undefined]);
  });
});

describe("events of hosts say who", () => {
  const events = async (type: string) => (await face.must("GET", `/v1/events?type=${type}&host=n`)).items;
  const put = (labels: object, caller: Caller) => face.must("PUT", "/v1/hosts/n", { labels }, caller);

  test("registered it, changed its labels, or removed it", async () => {
    await put({ zone: "one" }, "admin");
    await put({ zone: "one" }, "admin");
    await put({ zone: "two" }, "admin");
    const [changed, made] = await events("host_registered");
    expect(made).toMatchObject({ actor: "token:admin", after: { zone: "one" } });
    expect(changed).toMatchObject({ actor: "token:admin", before: { zone: "one" }, after: { zone: "two" } });
    expect(changed.requestId).toMatch(/^request-/);
    await face.must("DELETE", "/v1/hosts/n");
    await face.world.advance(10_000);
    expect(await events("host_removed")).toMatchObject([{ actor: "token:admin" }]);
    expect((await events("host_removed"))[0].requestId).toMatch(/^request-/);
  });

  test("an agent registers its own host", async () => {
    await face.must("PUT", "/v1/hosts/a", { labels: { zone: "one" } }, "agent:a");
    const [last] = (await face.must("GET", "/v1/events?type=host_registered&host=a")).items;
    expect(last).toMatchObject({ actor: "token:agent-a", after: { zone: "one" } });
  });
});
