/** The Kubernetes source against a fake API server: the pods of a node, and all that goes wrong with a list. */
import { describe, expect, it } from "vitest";
import type { Fault } from "../support/api-server.ts";
import { namesOf, type Stage, stage, withPods } from "./kubernetes-facts.ts";

describe("the pods of a node", () => {
  it("reads all pages at one version, with the addresses of both families", async () => {
    const { api, source, clock } = withPods();
    const startedAt = clock.now();
    const look = await source.podsOn("n");
    expect(look).toMatchObject({ complete: true, requests: 3, takenAt: startedAt });
    expect(look.what).toBeUndefined();
    expect(namesOf(look.pods)).toEqual([0, 1, 2, 3, 4, 5, 6].map((number) => `api-${number}`));
    expect(look.pods[4]).toEqual({
      namespace: "web",
      name: "api-4",
      uid: "uid-web-api-4",
      addresses: ["10.0.0.4", "fd00::4"],
      phase: "Running",
      createdAt: Date.parse("2026-11-01T00:00:00Z"),
    });
    expect(api.requests[0]).toBe("/api/v1/pods?fieldSelector=spec.nodeName%3Dn&limit=3");
    expect(api.requests[1]).toMatch(/&limit=3&continue=/);
    expect(await source.podsOn("nobody")).toMatchObject({ complete: true, pods: [], requests: 1 });
  });

  it("lists one version although pods come and go between the pages", async () => {
    const { api, source } = withPods();
    api.onRequest = () => {
      api.deletePod("web", "api-6");
      api.putPod("web", "aaa", "n", ["10.0.0.99"]);
    };
    const look = await source.podsOn("n");
    expect(look.complete).toBe(true);
    expect(namesOf(look.pods)).toContain("aaa");
    expect(look.pods).toHaveLength(7);
  });

  it("begins anew when the version is gone, and never goes on with the token that comes with 410", async () => {
    const { api, source } = withPods();
    const expireAt = (...counts: number[]) => {
      api.onRequest = () => {
        if (counts.includes(api.requests.length)) api.expire();
      };
    };
    expireAt(1);
    expect(await source.podsOn("n")).toMatchObject({ complete: true, requests: 5 });
    expect(api.requests.filter((path) => !path.includes("continue="))).toHaveLength(2);
    api.requests.length = 0;
    expireAt(1, 3, 5);
    expect(await source.podsOn("n")).toMatchObject({
      complete: false,
      requests: 6,
      what: "the list expired",
    });
  });

  it.each<[string, Fault, string]>([
    ["without items", { edit: (body) => ({ ...body, items: undefined }) }, "no list as expected"],
    ["with null for items", { edit: (body) => ({ ...body, items: null }) }, "no list as expected"],
    ["of another kind", { edit: (body) => ({ ...body, kind: "Status" }) }, "no list as expected"],
    ["without a version", { edit: (body) => ({ ...body, metadata: {} }) }, "no list as expected"],
    [
      "that ends while more remain",
      { edit: (body) => ({ ...body, metadata: { resourceVersion: "1", remainingItemCount: 4 } }) },
      "no list as expected",
    ],
    [
      "with an item that is no pod",
      { edit: (body) => ({ ...body, items: [{}] }) },
      "an item is not as expected",
    ],
    ["cut short", { text: (text) => text.slice(0, -40) }, "no valid JSON"],
    ["that is none", { status: 200 }, "no valid JSON"],
    ["not found", { status: 404 }, "not found"],
    ["redirected", { status: 302, headers: { location: "https://example.com/" } }, "answered 302"],
    ["a bad request", { status: 400 }, "answered 400"],
  ])("a page %s makes it incomplete, at once", async (_, fault, what) => {
    const { api, source, clock } = withPods();
    api.faults = [{ ...fault, on: /continue=/ }];
    const look = await clock.run(source.podsOn("n"));
    expect(look).toMatchObject({ complete: false, what });
    expect(namesOf(look.pods)).toContain("api-0");
  });

  it("begins anew when the version changes between pages, and gives up when it goes on changing", async () => {
    const change: Fault = {
      on: /continue=/,
      edit: (body) => ({ ...body, metadata: { ...(body.metadata as object), resourceVersion: "7" } }),
    };
    const { api, source } = withPods();
    api.faults = [change];
    expect(await source.podsOn("n")).toMatchObject({ complete: true, requests: 5 });
    api.faults = [{ ...change, times: 9 }];
    expect(await source.podsOn("n")).toMatchObject({
      complete: false,
      what: "the version changed between pages",
    });
  });

  it.each<[string, Fault, string]>([
    ["answers 500", { status: 500 }, "answered 500"],
    ["answers 503", { status: 503, headers: { "retry-after": "1" } }, "answered 503"],
    ["is busy", { status: 429, headers: { "retry-after": "2" } }, "rate limited"],
    ["cuts the connection", { cutAt: 10 }, "not reachable"],
    ["does not answer", { hangs: true }, "timed out"],
    ["is too slow", { delayMs: 60_000 }, "timed out"],
  ])("a server that %s is asked once more, and no more", async (_, fault, what) => {
    const { api, source, clock } = withPods();
    api.faults = [{ ...fault, on: /continue=/ }];
    expect(await clock.run(source.podsOn("n"))).toMatchObject({ complete: true, requests: 4 });
    api.faults = [{ ...fault, on: /continue=/, times: 2 }];
    expect(await clock.run(source.podsOn("n"))).toMatchObject({ complete: false, requests: 3, what });
  });

  it("waits as the server says, but not for long", async () => {
    const { api, source, clock } = withPods();
    const waited = async (fault: Fault): Promise<number> => {
      const from = clock.now();
      api.faults = [fault];
      await clock.run(source.podsOn("n"));
      return clock.now() - from;
    };
    expect(await waited({ status: 429, headers: { "retry-after": "3" } })).toBe(3_000);
    const date = new Date(clock.now() + 4_000).toUTCString();
    const untilDate = await waited({ status: 503, headers: { "retry-after": date } });
    expect(untilDate).toBeGreaterThan(3_000);
    expect(untilDate).toBeLessThanOrEqual(4_000);
    expect(await waited({ status: 503 })).toBe(500);
    expect(await waited({ status: 429, headers: { "retry-after": "3600" } })).toBe(0);
  });

  it("ends a look that takes too long in all, though each answer comes in time", async () => {
    const { api, source, clock } = withPods({ limits: { requestMs: 10_000, lookMs: 15_000 } });
    api.faults = [{ delayMs: 9_000, times: 9 }];
    const from = clock.now();
    expect(await clock.run(source.podsOn("n"))).toMatchObject({ complete: false, requests: 2 });
    expect(clock.now() - from).toBe(15_000);
  });

  it.each([
    ["forbidden", "forbidden: needs list pods"],
    ["unauthorized", "unauthorized: the token is not accepted"],
  ])("says what is missing when it is %s, asks no second time and tells no token", async (kind, what) => {
    const { api, source } = withPods({ token: async () => "s3cret-of-mine" });
    if (kind === "forbidden") api.forbidden.add("list pods");
    else api.token = "another";
    const look = await source.podsOn("n");
    expect(look).toMatchObject({ complete: false, pods: [], requests: 1, what });
    expect(JSON.stringify(look)).not.toContain("s3cret");
  });

  it("asks with the token, each look with that of its time, and not at all if it cannot be read", async () => {
    let token: string | undefined = "one";
    const { api, source } = withPods({
      token: async () => {
        if (token === undefined) throw new Error("no file");
        return token;
      },
    });
    api.token = "one";
    expect((await source.podsOn("n")).complete).toBe(true);
    token = api.token = "two";
    expect((await source.podsOn("n")).complete).toBe(true);
    token = undefined;
    expect(await source.podsOn("n")).toMatchObject({
      complete: false,
      requests: 0,
      what: "the token cannot be read",
    });
  });

  it("reads pages that are too large in smaller ones, and stops reading at its limit", async () => {
    const { api, source } = withPods({ limits: { bytesMax: 700 } });
    expect(await source.podsOn("n")).toMatchObject({ complete: true, requests: 5 });
    api.putPod("web", "large", "n", [], { metadata: { annotations: { text: "x".repeat(1_000) } } });
    expect(await source.podsOn("n")).toMatchObject({ complete: false, what: "answer too large" });
  });

  it("gives up a list without an end", async () => {
    const { source } = withPods({ limits: { pagesMax: 2 } });
    expect(await source.podsOn("n")).toMatchObject({ complete: false, requests: 2, what: "too many pages" });
  });

  it("escapes odd names, asks nothing for no name, and does not believe in pods of other nodes", async () => {
    const { api, source } = withPods();
    for (const odd of ["a,b=c", "a\\b", "ü/..&limit=1#", "%2C"]) {
      api.putPod("web", "odd", odd, ["10.0.0.77"]);
      expect(namesOf((await source.podsOn(odd)).pods)).toEqual(["odd"]);
    }
    api.putPod("web", "pending", undefined, []);
    expect(await source.podsOn("")).toMatchObject({ complete: false, pods: [], requests: 0 });
    api.faults = [{ edit: (body) => ({ ...body, items: [{ metadata: { namespace: "a", name: "b" } }] }) }];
    expect(await source.podsOn("m")).toMatchObject({
      complete: false,
      what: "pods of other nodes in the list",
    });
  });

  it("keeps the path of a gateway in front, and takes only safe addresses", async () => {
    const { api, source } = withPods({ url: "https://gate.example/k8s/clusters/c-1/" });
    api.base = "/k8s/clusters/c-1";
    expect((await source.podsOn("n")).complete).toBe(true);
    for (const url of [
      "http://10.96.0.1",
      "http://127.0.0.1.example.org",
      "ftp://10.96.0.1",
      "10.96.0.1:6443",
      "",
      "https://user:word@10.96.0.1",
      "https://10.96.0.1/?x=1",
    ]) {
      expect(() => stage({ url }), url).toThrow(/^the address of the API server /);
    }
    for (const url of ["http://127.0.0.1:8001", "http://localhost:8001", "http://[::1]:8001"]) stage({ url });
  });
});

describe("what a pod says of its addresses", () => {
  it.each<[string, Parameters<Stage["api"]["putPod"]>[4], string[]]>([
    ["on its node's network: the node's", { spec: { hostNetwork: true } }, ["192.0.2.1"]],
    [
      "with further networks: theirs too, without their prefix",
      {
        metadata: {
          annotations: {
            "k8s.v1.cni.cncf.io/networks": "storage",
            "k8s.v1.cni.cncf.io/network-status":
              '[{"name":"a","ips":["192.0.2.1"]},{"name":"b","ips":["10.9.0.5/24","fd09::5"]},{"name":"c"}]',
          },
        },
      },
      ["192.0.2.1", "10.9.0.5", "fd09::5"],
    ],
    [
      "with further networks that it does not tell of yet",
      { metadata: { annotations: { "k8s.v1.cni.cncf.io/networks": "storage" } } },
      ["192.0.2.1", "untold"],
    ],
    ...["storage, backup", '[{"name":"storage"},{"name":"backup"}]', "[{"].map((wanted) => {
      const told = '[{"name":"a","default":true,"ips":["192.0.2.1"]},{"name":"b","ips":["10.9.0.5"]}]';
      const annotations = {
        "k8s.v1.cni.cncf.io/networks": wanted,
        "k8s.v1.cni.cncf.io/network-status": told,
      };
      const addresses = ["192.0.2.1", "10.9.0.5", "untold"];
      return [`that tells of fewer networks than ${wanted}`, { metadata: { annotations } }, addresses] as [
        string,
        object,
        string[],
      ];
    }),
    [
      "that tells of as many networks as it wants",
      {
        metadata: {
          annotations: {
            "k8s.v1.cni.cncf.io/networks": "web/storage@net1",
            "k8s.v1.cni.cncf.io/network-status":
              '[{"name":"a","default":true,"ips":["192.0.2.1"]},{"name":"web/storage","ips":["10.9.0.5"]}]',
          },
        },
      },
      ["192.0.2.1", "10.9.0.5"],
    ],
    [
      "with a word on its networks that nobody can read",
      { metadata: { annotations: { "k8s.v1.cni.cncf.io/network-status": "{" } } },
      ["192.0.2.1", "untold"],
    ],
    [
      "that wants no further network",
      { metadata: { annotations: { "k8s.v1.cni.cncf.io/networks": "[]" } } },
      ["192.0.2.1"],
    ],
    ["with an address that is none", { status: { podIPs: [{ ip: 7 }, {}] } }, ["untold", "192.0.2.1"]],
    ["that is being deleted", { metadata: { deletionTimestamp: "2026-11-30T00:00:00Z" } }, ["192.0.2.1"]],
  ])("a pod %s", async (_, given, addresses) => {
    const { api, source } = stage();
    api.putPod("web", "p", "n", ["192.0.2.1"], given);
    const { pods, complete } = await source.podsOn("n");
    expect(complete).toBe(true);
    expect(pods[0]).toMatchObject({ addresses, phase: "Running" });
  });

  it("has none while it starts", async () => {
    const { api, source } = stage();
    api.putPod("web", "p", "n", [], { status: { phase: "Pending" } });
    expect((await source.podsOn("n")).pods[0]).toMatchObject({ addresses: [], phase: "Pending" });
  });
});
