/**
 * The bundled plugin, as a process, against a server that answers as the test says.
 * May import: src, test/cni. Checks stdout to the byte: only CNI documents may appear there.
 */

import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  allocated,
  allocation,
  type FakeService,
  json,
  problem,
  released,
  startFakeService,
} from "./fake-service.ts";
import { failed, invokePlugin, printed, type Run } from "./invocation.ts";
import {
  type BuiltPlugin,
  buildPlugin,
  type Finished,
  PATH_WITH_NODE,
  runProgram,
} from "./plugin-process.ts";

let plugin: BuiltPlugin;
let service: FakeService;

beforeAll(async () => {
  plugin = await buildPlugin();
});
afterAll(() => plugin.remove());
beforeEach(async () => {
  service = await startFakeService();
  return () => service.close();
});

function invoke(run: Run = {}): Promise<Finished> {
  return invokePlugin(plugin.file, service.url, run);
}

describe("ADD", () => {
  test("asks once, with key, handle, limit and host", async () => {
    service.answerWith(allocated(allocation(4)));
    const finished = await invoke({ ipam: { token: "secret-1", timeoutMs: 5000 } });
    expect(finished).toMatchObject({ exitCode: 0, stderr: "" });
    expect(service.asked).toHaveLength(1);
    const [asked] = service.asked;
    expect(asked).toMatchObject({ method: "POST", path: "/v1/allocations" });
    expect(asked?.headers).toMatchObject({
      authorization: "Bearer secret-1",
      "content-type": "application/json",
      "idempotency-key": "net1.abc.eth0",
      "x-request-timeout-ms": "5000",
    });
    expect(asked?.headers["x-request-id"]).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
    expect(asked?.body).toEqual({ host: "node-1", handle: "net1.abc", ipv4: { count: 1 }, attributes: {} });
  });

  test("I13: a repeated ADD sends the same key and the same body", async () => {
    service.answerWith(allocated(allocation(4)));
    const env = { CNI_ARGS: "IgnoreUnknown=1;K8S_POD_NAMESPACE=web;K8S_POD_NAME=api-0" };
    const first = await invoke({ env });
    const second = await invoke({ env });
    expect(second.stdout).toBe(first.stdout);
    const [a, b] = service.asked;
    expect(b?.headers["idempotency-key"]).toBe(a?.headers["idempotency-key"]);
    expect(b?.body).toEqual(a?.body);
  });

  test("the pod's facts become attributes and the namespace", async () => {
    service.answerWith(allocated(allocation(4)));
    await invoke({
      env: {
        CNI_ARGS:
          "IgnoreUnknown=true;K8S_POD_NAMESPACE=web;K8S_POD_NAME=api-0;K8S_POD_UID=u-1;K8S_POD_INFRA_CONTAINER_ID=abc;X=1",
      },
    });
    expect(service.asked[0]?.body).toMatchObject({
      attributes: { namespace: "web", pod: "api-0", uid: "u-1" },
      namespace: { name: "web" },
    });
  });

  test("a pod without its namespace is no pod", async () => {
    service.answerWith(allocated(allocation(4)));
    await invoke({ env: { CNI_ARGS: "K8S_POD_NAME=api-0" } });
    expect(service.asked[0]?.body).toEqual({
      host: "node-1",
      handle: "net1.abc",
      ipv4: { count: 1 },
      attributes: {},
    });
  });

  test("both families go in one request, with their pools, and IPv4 is printed first", async () => {
    service.answerWith(allocated(allocation(6), allocation(4)));
    const finished = await invoke({
      ipam: { ipv6: true, pools: { ipv4: ["a"], ipv6: ["fd00::/64", "b"] } },
    });
    expect(service.asked).toHaveLength(1);
    expect(service.asked[0]?.body).toMatchObject({
      ipv4: { count: 1, pools: ["a"] },
      ipv6: { count: 1, pools: ["fd00::/64", "b"] },
    });
    expect(printed(finished)).toEqual({
      cniVersion: "1.0.0",
      ips: [{ address: "10.244.3.17/32" }, { address: "fd00:10:244::1c0/128" }],
    });
  });

  test("the host is the machine's name in lower case when none is configured", async () => {
    service.answerWith(allocated(allocation(4)));
    await invoke({ ipam: { host: undefined } });
    expect(service.asked[0]?.body).toMatchObject({ host: hostname().trim().toLowerCase() });
  });

  test("a path in the server's URL is a prefix", async () => {
    service.answerWith(allocated(allocation(4)));
    await invoke({ ipam: { server: `${service.url}/ipam/` } });
    expect(service.asked[0]?.path).toBe("/ipam/v1/allocations");
  });

  test("a key that would be too long or too short is replaced by its digest", async () => {
    service.answerWith(allocated(allocation(4)));
    await invoke({ env: { CNI_CONTAINERID: "c".repeat(200) } });
    await invoke({ netconf: { name: "n" }, env: { CNI_CONTAINERID: "c", CNI_IFNAME: "e" } });
    const keys = service.asked.map((asked) => asked.headers["idempotency-key"]);
    expect(keys[0]).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(keys[1]).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(keys[0]).not.toBe(keys[1]);
  });
});

describe("result", () => {
  const ips = [{ address: "10.244.3.17/26", gateway: "10.244.3.1" }, { address: "fd00:10:244::1c0/122" }];
  const routes = [{ dst: "0.0.0.0/0" }, { dst: "10.9.0.0/16", gw: "10.244.3.2" }];
  const bodies: Record<string, unknown> = {
    "0.4.0": {
      cniVersion: "0.4.0",
      ips: [
        { version: "4", ...ips[0] },
        { version: "6", ...ips[1] },
      ],
      routes,
      dns: {},
    },
    "1.0.0": { cniVersion: "1.0.0", ips, routes },
    "1.1.0": { cniVersion: "1.1.0", ips, routes },
  };

  test.each(Object.keys(bodies))("version %s, with prefix, gateway and routes", async (cniVersion) => {
    service.answerWith(allocated(allocation(4, { gateway: "10.244.3.1" }), allocation(6)));
    const finished = await invoke({ cniVersion, ipam: { ipv6: true, prefix: "answer", routes } });
    expect(finished.exitCode).toBe(0);
    expect(finished.stdout).toBe(`${JSON.stringify(bodies[cniVersion], null, 4)}\n`);
  });

  test("without configured routes there is no routes key, and addresses are narrowed", async () => {
    service.answerWith(allocated(allocation(4)));
    const finished = await invoke();
    expect(finished.stdout).toBe(
      `${JSON.stringify({ cniVersion: "1.0.0", ips: [{ address: "10.244.3.17/32" }] }, null, 4)}\n`,
    );
  });
});

describe("DEL", () => {
  test("releases both handles of a pod in one call and prints nothing", async () => {
    service.answerWith(released({ address: "10.244.3.17", handle: "net1.abc", outcome: "released" }));
    const finished = await invoke({
      command: "DEL",
      env: {
        CNI_NETNS: "",
        CNI_ARGS: "IgnoreUnknown=1;K8S_POD_NAMESPACE=web;K8S_POD_NAME=api-0;IP=10.0.0.1",
      },
    });
    expect(finished).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    expect(service.asked).toHaveLength(1);
    expect(service.asked[0]).toMatchObject({
      method: "POST",
      path: "/v1/releases",
      body: { handles: ["net1.abc", "web.api-0"] },
    });
  });

  test("without a pod the second handle is the bare container ID", async () => {
    service.answerWith(released());
    await invoke({ command: "DEL" });
    expect(service.asked[0]?.body).toEqual({ handles: ["net1.abc", "abc"] });
  });

  test("a second handle that cannot exist is left out", async () => {
    service.answerWith(released());
    const CNI_ARGS = `K8S_POD_NAMESPACE=${"n".repeat(63)};K8S_POD_NAME=${"p".repeat(253)}`;
    await invoke({ command: "DEL", env: { CNI_ARGS } });
    expect(service.asked[0]?.body).toEqual({ handles: ["net1.abc"] });
  });

  test.each([
    ["nothing at all", []],
    ["only what was free already", [{ address: "10.244.3.17", outcome: "already_free" }]],
    ["an outcome nobody knows yet", [{ address: "10.244.3.17", outcome: "brand_new" }]],
  ])("succeeds with %s", async (_, results) => {
    service.answerWith(released(...results));
    expect(await invoke({ command: "DEL" })).toEqual({ exitCode: 0, stdout: "", stderr: "" });
  });

  test("fails when an address was not released", async () => {
    service.answerWith(
      released(
        { address: "10.244.3.17", handle: "net1.abc", outcome: "released" },
        { address: "10.244.3.18", handle: "net1.abc", outcome: "rejected", code: "host_mismatch" },
      ),
    );
    const printedFailure = failed(await invoke({ command: "DEL" }));
    expect(printedFailure).toMatchObject({ cniVersion: "1.0.0", code: 110 });
    expect(printedFailure.msg).toMatch(/^host_mismatch \(110\): 10\.244\.3\.18 was not released/);
  });

  test("fails with 11 when the service cannot be reached, so that the runtime repeats it", async () => {
    await service.close();
    expect(failed(await invoke({ command: "DEL" })).code).toBe(11);
  });
});

describe("failures of the service", () => {
  test("a refusal is printed with code, number, next step, hint and request id", async () => {
    service.answerWith(
      problem(409, "block_limit_reached", {
        detail: "No IPv4 address for node-1.",
        retry: "later",
        retryAfterSeconds: 12,
        hint: "Use larger blocks.",
      }),
    );
    expect(failed(await invoke({ cniVersion: "1.1.0" }))).toEqual({
      cniVersion: "1.1.0",
      code: 107,
      msg: "block_limit_reached (107): No IPv4 address for node-1. Next: Use larger blocks.",
      details: "hint: Use larger blocks.; retry after 12 s; request id: request-1",
    });
  });

  test("faults of fields are in the details", async () => {
    service.answerWith(
      problem(400, "invalid_request", {
        errors: [{ pointer: "/ipv4/pools/0", code: "too_long", message: "at most 63 characters" }],
      }),
    );
    const printedFailure = failed(await invoke());
    expect(printedFailure.code).toBe(7);
    expect(printedFailure.details).toContain("/ipv4/pools/0: at most 63 characters");
    expect(printedFailure.msg).toContain("Next: read /docs/errors/invalid_request");
  });

  test.each([
    ["host_unknown", 409, 113],
    ["pool_exhausted", 409, 100],
    ["pool_cooling", 409, 11],
    ["idempotency_key_released", 409, 117],
    ["token_invalid", 401, 110],
    ["outcome_unknown", 503, 11],
    ["auth_not_configured", 503, 50],
    ["route_not_found", 404, 120],
    ["a_code_of_tomorrow", 409, 120],
    ["a_code_of_tomorrow", 503, 11],
    ["constructor", 403, 110],
  ])("%s with status %i becomes %i", async (code, status, number) => {
    service.answerWith(problem(status, code));
    const printedFailure = failed(await invoke());
    expect(printedFailure.code).toBe(number);
    expect(printedFailure.msg).toMatch(new RegExp(`^${code} \\(${number}\\): `));
  });

  test("an HTML 502 of a proxy is said to be one", async () => {
    service.answerWith({
      status: 502,
      contentType: "text/html; charset=utf-8",
      body: "<html>Bad Gateway</html>",
    });
    const printedFailure = failed(await invoke());
    expect(printedFailure.code).toBe(11);
    expect(printedFailure.msg).toContain(
      "HTTP 502 with content type text/html instead of application/problem+json",
    );
    expect(printedFailure.details).toContain("request id: ");
  });

  test.each([
    ["HTML with status 200", { status: 200, contentType: "text/html", body: "<html>log in</html>" }],
    ["no content type", { status: 201, body: "{}" }],
    ["a redirect", { status: 302, headers: { location: "http://127.0.0.1:1/" }, body: "" }],
    [
      "JSON of another shape",
      json(201, { allocations: [{ address: "10.0.0.1" }], replayed: false, reused: false }),
    ],
    ["broken JSON", { status: 201, contentType: "application/json", body: "{" }],
    ["a problem without a code", json(409, { title: "?" }, "application/problem+json")],
    ["null", json(201, null)],
    ["endless", { status: 201, contentType: "application/json", body: " ".repeat(5_000_000) }],
  ])("an answer that is %s is a failure with 11", async (_, answer) => {
    service.answerWith(answer);
    const printedFailure = failed(await invoke());
    expect(printedFailure.code).toBe(11);
    expect(printedFailure.msg).toMatch(/^unexpected_answer \(11\): /);
    expect(service.asked).toHaveLength(1);
  });

  test("an accepted request that lacks a family is a failure", async () => {
    service.answerWith(allocated(allocation(4)));
    const printedFailure = failed(await invoke({ ipam: { ipv6: true } }));
    expect(printedFailure.code).toBe(11);
    expect(printedFailure.msg).toContain("ipv6");
  });

  test("a service that never answers is given up a second after its own limit", async () => {
    service.answerWith("never");
    const startedAt = performance.now();
    const printedFailure = failed(await invoke({ ipam: { timeoutMs: 50 } }));
    expect(performance.now() - startedAt).toBeGreaterThan(1_000);
    expect(printedFailure.code).toBe(11);
    expect(printedFailure.msg).toMatch(/^server_timeout \(11\): .*1050 ms/);
  });

  test("a service that is not there is named", async () => {
    await service.close();
    const printedFailure = failed(await invoke());
    expect(printedFailure.code).toBe(11);
    expect(printedFailure.msg).toMatch(
      /^server_unreachable \(11\): http:\/\/127\.0\.0\.1:\d+ .*ECONNREFUSED/,
    );
  });
});

describe("input", () => {
  test.each<[string, Record<string, unknown>]>([
    ["ipam.server", { server: undefined }],
    ["ipam.server", { server: "ftp://x" }],
    ["ipam.server", { server: "http://user:pass@x/" }],
    ["ipam.token", { token: "se cret" }],
    ["ipam.token", { token: 7 }],
    ["ipam.tokenFile", { tokenFile: "token" }],
    ["ipam.tokenFile", { tokenFile: 7 }],
    ["ipam.token and ipam.tokenFile", { token: "se-cret", tokenFile: "/token" }],
    ["ipam.host", { host: "-x" }],
    ["ipam.host", { host: "x".repeat(254) }],
    ["ipam.ipv4", { ipv4: "true" }],
    ["ipam.ipv6", { ipv6: 1 }],
    ["ipam.ipv4 and ipam.ipv6", { ipv4: false }],
    ["ipam.pools", { pools: ["a"] }],
    ["ipam.pools.ipv4", { pools: { ipv4: "a" } }],
    ["ipam.pools.ipv6", { pools: { ipv6: [1] } }],
    ["ipam.prefix", { prefix: "block" }],
    ["ipam.timeoutMs", { timeoutMs: 0 }],
    ["ipam.timeoutMs", { timeoutMs: 120_001 }],
    ["ipam.timeoutMs", { timeoutMs: 1.5 }],
    ["ipam.routes", { routes: [{ gw: "10.0.0.1" }] }],
  ])("a fault of %s is error 7, names it and asks nothing", async (field, ipam) => {
    const printedFailure = failed(await invoke({ ipam }));
    expect(printedFailure.code).toBe(7);
    expect(printedFailure.msg.startsWith(`invalid configuration: ${field} `)).toBe(true);
    expect(printedFailure.msg).not.toMatch(/pass|se.cret/);
    expect(service.asked).toHaveLength(0);
  });

  test.each([
    ["broken JSON", "{"],
    ["an empty stdin", ""],
    ["a list", "[]"],
    ["null", "null"],
  ])("%s on stdin is error 6", async (_, stdin) => {
    expect(failed(await invoke({ stdin }))).toMatchObject({ cniVersion: "1.1.0", code: 6 });
  });

  test("an endless configuration is error 5", async () => {
    expect(failed(await invoke({ stdin: " ".repeat(1_100_000) })).code).toBe(5);
  });

  test.each(["_net", "", 7])("the network name %j is error 7", async (name) => {
    const printedFailure = failed(await invoke({ netconf: { name } }));
    expect(printedFailure.code).toBe(7);
    expect(printedFailure.msg).toContain("name");
  });

  test.each(["0.3.1", "1.2.0", ""])("version %j is error 1 and both sides are named", async (cniVersion) => {
    const printedFailure = failed(await invoke({ cniVersion }));
    expect(printedFailure).toMatchObject({ code: 1, msg: "incompatible CNI versions" });
    expect(printedFailure.details).toContain(`configuration: ${cniVersion}; plugin: 0.4.0, 1.0.0, 1.1.0`);
  });

  test.each<[string, Record<string, string>]>([
    ["CNI_CONTAINERID, CNI_IFNAME, CNI_NETNS", { CNI_CONTAINERID: "", CNI_IFNAME: "", CNI_NETNS: "" }],
    ["CNI_CONTAINERID", { CNI_CONTAINERID: "-bad" }],
    ["CNI_CONTAINERID", { CNI_CONTAINERID: "c".repeat(300) }],
    ["CNI_IFNAME", { CNI_IFNAME: "abcdefghijklmnop" }],
    ["CNI_IFNAME", { CNI_IFNAME: "eth/0" }],
    ["CNI_IFNAME", { CNI_IFNAME: ".." }],
    ["CNI_ARGS", { CNI_ARGS: ";K8S_POD_NAME=x" }],
    ["CNI_ARGS", { CNI_ARGS: "A=b=c" }],
    ["CNI_ARGS", { CNI_ARGS: "IgnoreUnknown=yes" }],
    ['CNI_ARGS has the unknown key "X"', { CNI_ARGS: "X=1" }],
    ['CNI_ARGS has the unknown key "constructor"', { CNI_ARGS: "constructor=1" }],
    ["ADD, CHECK, DEL, GC, STATUS, VERSION", { CNI_COMMAND: "FETCH" }],
    ["constructor", { CNI_COMMAND: "constructor" }],
    ["CNI_NETNS", { CNI_COMMAND: "CHECK", CNI_NETNS: "" }],
  ])("a fault of the environment is error 4 and names %s", async (name, env) => {
    const printedFailure = failed(await invoke({ env }));
    expect(printedFailure.code).toBe(4);
    expect(printedFailure.msg).toContain(name);
    expect(service.asked).toHaveLength(0);
  });

  test.each<[string, Run]>([
    ["CNI_ARGS", { env: { CNI_ARGS: "IP=10.0.0.1" } }],
    ["runtimeConfig", { netconf: { runtimeConfig: { ips: ["10.0.0.1/24"] } } }],
    ["args.cni", { netconf: { args: { cni: { ips: ["10.0.0.1"] } } } }],
  ])("an exact address in %s is refused, never replaced by another", async (_, run) => {
    expect(failed(await invoke(run)).code).toBe(7);
    expect(service.asked).toHaveLength(0);
  });

  test("VERSION repeats the caller's version and lists ours", async () => {
    const finished = await invoke({ command: "VERSION", stdin: '{"cniVersion":"0.4.0"}' });
    expect(finished).toMatchObject({ exitCode: 0, stderr: "" });
    expect(printed(finished)).toEqual({
      cniVersion: "0.4.0",
      supportedVersions: ["0.4.0", "1.0.0", "1.1.0"],
    });
  });

  test("the bundle also runs where a package.json makes it a module", async () => {
    const folder = await mkdtemp(join(tmpdir(), "edge-ipam-module-"));
    try {
      await writeFile(join(folder, "package.json"), '{"type":"module"}');
      await copyFile(plugin.file, join(folder, "edge-ipam"));
      const finished = await runProgram(join(folder, "edge-ipam"), [], {
        env: { PATH: PATH_WITH_NODE, CNI_COMMAND: "VERSION" },
      });
      expect(finished).toMatchObject({ exitCode: 0, stderr: "" });
      expect(printed(finished)).toMatchObject({ cniVersion: "1.1.0" });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("without a command it says on stderr what it is", async () => {
    const finished = await invoke({ env: { CNI_COMMAND: "" } });
    expect(finished).toMatchObject({ exitCode: 0, stdout: "" });
    expect(finished.stderr).toContain("1.0.0");
  });
});
