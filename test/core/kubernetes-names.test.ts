/** The Kubernetes source against a fake API server: pods that are read by name, and nodes. */
import { describe, expect, it } from "vitest";
import type { Fault } from "../support/api-server.ts";
import { namesOf, stage, withPods } from "./kubernetes-facts.ts";

describe("pods by name", () => {
  it("finds them on any node, and knows which are not there", async () => {
    const { api, source } = withPods();
    const look = await source.readPods([
      { namespace: "web", pod: "api-1" },
      { namespace: "web", pod: "other" },
      { namespace: "web", pod: "gone" },
      { namespace: "web", pod: "gone" },
      { namespace: "nowhere", pod: "api-1" },
    ]);
    expect(look).toMatchObject({ complete: true, requests: 4 });
    expect(namesOf(look.pods)).toEqual(["api-1", "other"]);
    expect(look.unreadable.size).toBe(0);
    expect(api.requests[0]).toBe("/api/v1/namespaces/web/pods/api-1");
  });

  it.each<[string, Fault]>([
    ["a proxy's 404", { status: 404 }],
    ["a 404 of another pod", { edit: (body) => ({ ...body, details: { name: "x", kind: "pods" } }) }],
    [
      "a 404 of another kind",
      { edit: (body) => ({ ...body, details: { name: "gone", kind: "namespaces" } }) },
    ],
    ["a 404 for another reason", { edit: (body) => ({ ...body, reason: "Forbidden" }) }],
    ["a 404 without a body", { text: () => "" }],
    ["410", { status: 410 }],
    ["no JSON", { status: 200 }],
    ["a time-out, twice", { hangs: true, times: 2 }],
    ["500, twice", { status: 500, times: 2 }],
  ])("does not take %s for absence", async (_, fault) => {
    const { api, source, clock } = withPods();
    api.faults = [{ ...fault, on: /gone/ }];
    const look = await clock.run(
      source.readPods([
        { namespace: "web", pod: "gone" },
        { namespace: "web", pod: "api-2" },
      ]),
    );
    expect([...look.unreadable]).toEqual(["web/gone"]);
    expect(namesOf(look.pods)).toEqual(["api-2"]);
    expect(look.what).toBeDefined();
  });

  it("does not take another object for the pod", async () => {
    const { api, source } = withPods();
    for (const edit of [
      (body: object) => ({ ...body, kind: "Node" }),
      (body: object) => ({ ...body, metadata: { namespace: "web", name: "api-2" } }),
      () => ({ kind: "Pod" }),
    ]) {
      api.faults = [{ edit }];
      const look = await source.readPods([{ namespace: "web", pod: "api-1" }]);
      expect([...look.unreadable]).toEqual(["web/api-1"]);
    }
  });

  it("asks at most for so many, so many at a time, and does not know the rest", async () => {
    const { api, source, clock } = stage({ limits: { readsMax: 10, readsAtOnce: 3 } });
    api.faults = [{ delayMs: 1_000, times: 100 }];
    const names = Array.from({ length: 12 }, (_, number) => ({ namespace: "web", pod: `p-${number}` }));
    const from = clock.now();
    const look = await clock.run(source.readPods(names));
    expect(look).toMatchObject({ requests: 10, what: "too many pods to read" });
    expect([...look.unreadable]).toEqual(["web/p-10", "web/p-11"]);
    expect(clock.now() - from).toBe(4_000);
  });

  it("stops asking when it may not ask, and asks for no name that is a path", async () => {
    const { api, source } = stage({ limits: { readsAtOnce: 2 } });
    api.forbidden.add("get pods");
    const names = Array.from({ length: 9 }, (_, number) => ({ namespace: "web", pod: `p-${number}` }));
    const look = await source.readPods(names);
    expect(look.requests).toBe(2);
    expect(look.unreadable.size).toBe(9);
    expect(look.what).toBe("forbidden: needs get pods");
    api.forbidden.clear();
    const odd = await source.readPods(["..", ".", ""].map((pod) => ({ namespace: "web", pod })));
    expect(odd).toMatchObject({ requests: 0 });
    expect(odd.unreadable.size).toBe(3);
    const quoted = await source.readPods([{ namespace: "a/b", pod: "c?d" }]);
    expect(quoted).toMatchObject({ requests: 1 });
    expect(api.requests.slice(-1)).toEqual(["/api/v1/namespaces/a%2Fb/pods/c%3Fd"]);
  });
});

describe("nodes", () => {
  it("are found, or not found by the server's own word, or unreadable", async () => {
    const { api, source, clock } = stage();
    api.putNode("n-1");
    expect(await source.readNode("n-1")).toBe("found");
    expect(await source.readNode("n-2")).toBe("not_found");
    for (const fault of [
      { status: 404 },
      { status: 403 },
      { status: 500, times: 2 },
      { hangs: true, times: 2 },
      { edit: (body: object) => ({ ...body, details: { name: "n-1", kind: "nodes" } }) },
    ]) {
      api.faults = [fault];
      expect(await clock.run(source.readNode("n-2"))).toBe("unreadable");
    }
    api.faults = [{ edit: (body) => ({ ...body, metadata: { name: "n-3" } }) }];
    expect(await source.readNode("n-1")).toBe("unreadable");
    expect(await source.readNode("..")).toBe("unreadable");
  });

  it("are listed in pages that can be asked for one by one, without all that a node says of itself", async () => {
    const { api, source } = stage();
    for (let number = 0; number < 5; number += 1) api.putNode(`n-${number}`);
    const first = await source.listNodes();
    expect(first).toMatchObject({ kind: "page", names: ["n-0", "n-1", "n-2"] });
    const next = first.kind === "page" ? first.next : undefined;
    api.putNode("n-00");
    expect(await source.listNodes(next)).toEqual({ kind: "page", names: ["n-3", "n-4"] });
    expect(api.requests[0]).toBe("/api/v1/nodes?limit=3");
    api.expire();
    expect(await source.listNodes(next)).toEqual({ kind: "expired" });
    expect(await source.listNodes("no cursor of ours")).toEqual({ kind: "expired" });
    expect(await source.listNodes("nonsense")).toEqual({ kind: "expired" });
    api.faults = [{ status: 400 }];
    expect(await source.listNodes(next)).toEqual({ kind: "expired" });
  });

  it("are not known from pages that are not as they must be", async () => {
    const { api, source, clock } = stage();
    for (let number = 0; number < 5; number += 1) api.putNode(`n-${number}`);
    const first = await source.listNodes();
    const next = first.kind === "page" ? first.next : undefined;
    api.faults = [{ edit: (body) => ({ ...body, metadata: { resourceVersion: "7" } }) }];
    expect(await source.listNodes(next)).toEqual({ kind: "expired" });
    for (const edit of [
      (body: object) => ({ ...body, items: null }),
      (body: object) => ({ ...body, items: [{}] }),
      (body: object) => ({ ...body, metadata: { resourceVersion: "1", remainingItemCount: 2 } }),
    ]) {
      api.faults = [{ edit }];
      expect(await source.listNodes()).toEqual({ kind: "unreadable", what: "no list as expected" });
    }
    api.faults = [{ hangs: true, times: 2 }];
    expect(await clock.run(source.listNodes())).toEqual({ kind: "unreadable", what: "timed out" });
    api.forbidden.add("list nodes");
    expect(await source.listNodes()).toEqual({ kind: "unreadable", what: "forbidden: needs list nodes" });
  });
});
