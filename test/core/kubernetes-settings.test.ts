/** The Kubernetes source of a deployment, by its variables and bindings. */
import { describe, expect, it } from "vitest";
import { clusterSourceOf, type KubernetesEnv } from "../../src/gc/kubernetes-settings.ts";
import { ApiServer } from "../support/api-server.ts";
import { fetchFrom } from "../support/api-server-http.ts";
import { Clock } from "./kubernetes-facts.ts";

function deployed(given: KubernetesEnv = {}) {
  const api = new ApiServer();
  const clock = new Clock();
  api.putNode("n");
  const ask = fetchFrom(api, clock.sleep);
  const KUBERNETES = {
    fetch: (url: string, init?: RequestInit) => ask(url, init as Parameters<typeof ask>[1]),
  };
  const env: KubernetesEnv = { KUBERNETES_API_URL: "https://10.96.0.1", KUBERNETES, ...given };
  return { api, clock, source: clusterSourceOf(env, clock)! };
}

describe("the source of a deployment", () => {
  it("is none where no API server is named", () => {
    expect(clusterSourceOf({}, new Clock())).toBeUndefined();
    expect(clusterSourceOf({ KUBERNETES_API_URL: "" }, new Clock())).toBeUndefined();
  });

  it("asks over its binding, with the secret", async () => {
    const { api, source } = deployed({ KUBERNETES_TOKEN: "s3cret\n" });
    api.token = "s3cret";
    expect(await source.readNode("n")).toBe("found");
    expect((await source.podsOn("n")).machines).toBeUndefined();
    api.token = "another";
    expect(await source.readNode("n")).toBe("unreadable");
  });

  it("asks for virtual machines where they are switched on", async () => {
    const { source } = deployed({ KUBERNETES_VIRTUAL_MACHINES: "on" });
    expect((await source.podsOn("n")).machines).toBeDefined();
  });

  it("waits as long as is set", async () => {
    const { api, source, clock } = deployed({ KUBERNETES_TIMEOUT_SECONDS: "2" });
    api.faults = [{ hangs: true, times: 2 }];
    const from = clock.now();
    expect(await clock.run(source.readNode("n"))).toBe("unreadable");
    expect(clock.now() - from).toBe(4_500);
  });

  it("reads a token from its file, again after half a minute, and then asks with the new one", async () => {
    let file: Response | undefined;
    const asked: string[] = [];
    const { api, source, clock } = deployed({
      KUBERNETES_TOKEN_FILE_NAME: "token",
      KUBERNETES_TOKEN_FOLDER: {
        fetch: async (url) => {
          asked.push(url);
          return file?.clone() ?? new Response("", { status: 404 });
        },
      },
    });
    api.token = "first";
    expect(await source.listNodes()).toEqual({ kind: "unreadable", what: "the token cannot be read" });
    file = new Response("first\n");
    expect(await source.readNode("n")).toBe("found");
    file = new Response("second\n");
    clock.advance(30_000);
    expect(await source.readNode("n")).toBe("found");
    expect(asked).toEqual(["http://folder/token", "http://folder/token"]);
    api.token = "second";
    clock.advance(1);
    expect(await source.readNode("n")).toBe("found");
  });

  it.each<[string, KubernetesEnv, string]>([
    [
      "plain http to another machine",
      { KUBERNETES_API_URL: "http://10.96.0.1" },
      "KUBERNETES_API_URL must begin with https://, since the token would be readable on the way",
    ],
    ["no URL", { KUBERNETES_API_URL: "10.96.0.1" }, "KUBERNETES_API_URL is no URL"],
    [
      "a time-out that is no number",
      { KUBERNETES_TIMEOUT_SECONDS: "soon" },
      "KUBERNETES_TIMEOUT_SECONDS must be a number from 1 to 30",
    ],
    [
      "another word for on",
      { KUBERNETES_VIRTUAL_MACHINES: "yes" },
      "KUBERNETES_VIRTUAL_MACHINES must be on or off",
    ],
  ])("I11: with %s it can read nothing, so that nothing is called absent", async (_, given, what) => {
    const { api, source } = deployed(given);
    expect(await source.podsOn("n")).toMatchObject({ complete: false, pods: [], what });
    const { unreadable } = await source.readPods([{ namespace: "web", pod: "p" }]);
    expect([...unreadable]).toEqual(["web/p"]);
    expect(await source.readNode("n")).toBe("unreadable");
    expect(await source.listNodes()).toEqual({ kind: "unreadable", what });
    expect(api.requests).toEqual([]);
  });
});
