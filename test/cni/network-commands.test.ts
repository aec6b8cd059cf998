/**
 * CHECK, STATUS and GC of the bundled plugin, and the token file, against a server that answers as told.
 * May import: test/cni. Each refusal is checked by number, name and what it names.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type Asked,
  allocated,
  allocation,
  type FakeService,
  json,
  problem,
  released,
  startFakeService,
} from "./fake-service.ts";
import { failed, invokePlugin, type Run, SILENT_SUCCESS } from "./invocation.ts";
import { type BuiltPlugin, buildPlugin, type Finished } from "./plugin-process.ts";

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

function invoke(run: Run): Promise<Finished> {
  return invokePlugin(plugin.file, service.url, run);
}

describe("CHECK", () => {
  const V4 = "10.244.3.17";
  const V6 = "fd00:10:244::1c0";
  const interfaces = [{ name: "br0" }, { name: "eth0", sandbox: "/run/netns/x" }];

  function check(ips: Record<string, unknown>[], run: Run = {}): Promise<Finished> {
    const prevResult = { cniVersion: "1.0.0", interfaces, ips };
    return invoke({ command: "CHECK", ...run, netconf: { prevResult } });
  }

  test("asks once what the handle holds, changes nothing and prints nothing", async () => {
    service.answerWith(json(200, { items: [allocation(4), allocation(6)] }));
    const ips = [
      { address: `${V4}/26`, interface: 1 },
      { address: "FD00:10:244:0::1C0/128", interface: 1 },
    ];
    expect(await check(ips, { ipam: { ipv6: true } })).toEqual(SILENT_SUCCESS);
    expect(service.asked.map(({ method, path }) => [method, path])).toEqual([
      ["GET", "/v1/handles/net1.abc"],
    ]);
  });

  test.each(["0.4.0", "1.0.0", "1.1.0"])("is served at version %s", async (cniVersion) => {
    service.answerWith(json(200, { items: [allocation(4)] }));
    expect(await check([{ version: "4", address: `${V4}/32` }], { cniVersion })).toEqual(SILENT_SUCCESS);
  });

  test.each<[string, Record<string, unknown>[]]>([
    ["nothing", []],
    ["another address", [allocation(4, { address: "10.244.3.18" })]],
    ["it no more", [allocation(4, { state: "cooling" })]],
  ])("fails with 119 and names the address when the handle holds %s", async (_, items) => {
    service.answerWith(json(200, { items }));
    const printedFailure = failed(await check([{ address: `${V4}/26`, interface: 1 }]));
    expect(printedFailure).toMatchObject({ cniVersion: "1.0.0", code: 119 });
    expect(printedFailure.msg).toMatch(
      /^address_not_allocated \(119\): 10\.244\.3\.17 is not held by net1\.abc/,
    );
  });

  test("one family held and the other not is a failure that names the other", async () => {
    service.answerWith(json(200, { items: [allocation(4)] }));
    const ips = [{ address: `${V4}/26` }, { address: `${V6}/122` }];
    expect(failed(await check(ips, { ipam: { ipv6: true } })).msg).toContain(V6);
  });

  test("addresses of a family that is not wanted, or of another interface, are not ours", async () => {
    service.answerWith(json(200, { items: [allocation(4)] }));
    const ips = [
      { address: `${V4}/26`, interface: 1 },
      { address: `${V6}/122`, interface: 1 },
      { address: "10.0.0.1/24", interface: 0 },
    ];
    expect(await check(ips)).toEqual(SILENT_SUCCESS);
  });

  test("a wanted family without an address in prevResult is 119, before anything is asked", async () => {
    const printedFailure = failed(await check([{ address: `${V4}/26` }], { ipam: { ipv6: true } }));
    expect(printedFailure.code).toBe(119);
    expect(printedFailure.msg).toContain("no ipv6 address for eth0");
    expect(service.asked).toHaveLength(0);
  });

  test.each<[string, unknown]>([
    ["prevResult", undefined],
    ["prevResult", []],
    ["prevResult.ips", { ips: {} }],
    ["prevResult.ips", { ips: [{ address: "x/1" }] }],
    ["prevResult.ips", { ips: [{}] }],
    ["prevResult.interfaces", { ips: [], interfaces: ["eth0"] }],
  ])("a fault of %s is error 7", async (field, prevResult) => {
    const printedFailure = failed(await invoke({ command: "CHECK", netconf: { prevResult } }));
    expect(printedFailure.code).toBe(7);
    expect(printedFailure.msg.startsWith(`invalid configuration: ${field} `)).toBe(true);
  });

  test("a service that cannot be asked is 11, not a lost address", async () => {
    await service.close();
    expect(failed(await check([{ address: `${V4}/26` }])).code).toBe(11);
  });
});

describe("STATUS", () => {
  const READY = { wanted: true, ready: true };
  const FULL = { wanted: true, ready: false, code: "block_limit_reached", hint: "Use larger blocks." };
  const UNSELECTED = { wanted: false, ready: false, code: "no_pool_selects_host" };
  const UNQUALIFIED = { wanted: false, ready: false, code: "no_qualified_pool" };

  /** A runtime sends no container, interface or namespace. */
  function status(run: Run = {}): Promise<Finished> {
    const env = { CNI_CONTAINERID: "", CNI_IFNAME: "", CNI_NETNS: "" };
    return invoke({ command: "STATUS", cniVersion: "1.1.0", env, ...run });
  }

  function answer(ipv4: object, ipv6: object) {
    return json(200, { host: "node-1", ready: false, ipv4, ipv6, asOf: "2026-11-29T02:51:08.001Z" });
  }

  test("is silent when every family that the configuration wants is ready", async () => {
    service.answerWith(answer(READY, FULL));
    expect(await status()).toEqual(SILENT_SUCCESS);
    const [asked] = service.asked;
    expect(asked).toMatchObject({ method: "GET", path: "/v1/hosts/node-1/readiness", body: undefined });
    expect(service.asked).toHaveLength(1);
  });

  test("a wanted family that is not ready is 50 with its code and hint", async () => {
    service.answerWith(answer(FULL, READY));
    expect(failed(await status({ ipam: { ipv6: true } }))).toEqual({
      cniVersion: "1.1.0",
      code: 50,
      msg: "block_limit_reached (50): node-1 cannot be given ipv4 addresses now. Next: Use larger blocks.",
      details: "ipv4: block_limit_reached; hint: Use larger blocks.",
    });
  });

  test("both families are named when neither is ready", async () => {
    service.answerWith(answer(FULL, { wanted: true, ready: false }));
    const printedFailure = failed(await status({ ipam: { ipv6: true } }));
    expect(printedFailure.msg).toContain("ipv4 and ipv6");
    expect(printedFailure.details).toMatch(/ipv4: block_limit_reached.*ipv6: not_ready/);
  });

  test("a family that no pool selects is a fault, unless its pools are listed", async () => {
    service.answerWith(answer(UNSELECTED, UNSELECTED));
    expect(failed(await status()).msg).toMatch(/^no_pool_selects_host \(50\): /);
    expect(await status({ ipam: { pools: { ipv4: ["a"] } } })).toEqual(SILENT_SUCCESS);
  });

  test("listed pools help neither where no pool of the family exists, nor where it is full", async () => {
    const ipam = { pools: { ipv4: ["a"] } };
    service.answerWith(answer(UNQUALIFIED, READY));
    expect(failed(await status({ ipam })).msg).toMatch(/^no_qualified_pool \(50\): /);
    service.answerWith(answer(FULL, READY));
    expect(failed(await status({ ipam })).msg).toMatch(/^block_limit_reached \(50\): /);
  });

  test.each([
    ["host_not_found", 404],
    ["token_invalid", 401],
    ["host_mismatch", 403],
    ["auth_not_configured", 503],
    ["overloaded", 503],
  ])("%s is 50: no ADD would be served", async (code, httpStatus) => {
    service.answerWith(problem(httpStatus, code, { hint: "Do this." }));
    const printedFailure = failed(await status());
    expect(printedFailure.code).toBe(50);
    expect(printedFailure.msg).toBe(`${code} (50): What was wrong. Next: Do this.`);
  });

  test("a service that cannot be reached is 50, because running pods keep their addresses", async () => {
    await service.close();
    const printedFailure = failed(await status());
    expect(printedFailure.code).toBe(50);
    expect(printedFailure.msg).toMatch(/^server_unreachable \(50\): .*ECONNREFUSED/);
  });

  test("an answer of another shape is 50", async () => {
    service.answerWith(json(200, { host: "node-1", ready: true }));
    expect(failed(await status()).msg).toMatch(/^unexpected_answer \(50\): /);
  });

  test("a token file that is missing is 50", async () => {
    const printedFailure = failed(await status({ ipam: { tokenFile: "/nowhere/token" } }));
    expect(printedFailure.code).toBe(50);
    expect(printedFailure.msg).toContain("/nowhere/token");
  });
});

describe("GC", () => {
  const VALID = "cni.dev/valid-attachments";
  const NO_ATTACHMENT = { CNI_CONTAINERID: "", CNI_IFNAME: "", CNI_NETNS: "" };
  const COLLECTED = json(200, { released: 0, held: 0, results: [] });

  function gc(netconf: Record<string, unknown>, run: Run = {}): Promise<Finished> {
    return invoke({ command: "GC", cniVersion: "1.1.0", env: NO_ATTACHMENT, ...run, netconf });
  }

  const attachment = (containerID: string, ifname = "eth0") => ({ containerID, ifname });

  test("tells the handles of all valid attachments, one per container, and prints nothing", async () => {
    service.answerWith(COLLECTED);
    const valid = [attachment("abc"), attachment("abc", "net1"), attachment("d.e-f_1")];
    const finished = await gc({ [VALID]: valid, "cni.dev/attachments": [] }, { ipam: { token: "agent-1" } });
    expect(finished).toEqual(SILENT_SUCCESS);
    expect(service.asked).toHaveLength(1);
    expect(service.asked[0]).toMatchObject({
      method: "POST",
      path: "/v1/hosts/node-1/attachment-gc",
      headers: { authorization: "Bearer agent-1", "x-request-timeout-ms": "30000" },
      body: { network: "net1", validHandles: ["net1.abc", "net1.d.e-f_1"] },
    });
  });

  test("of an empty list says that nothing is valid any more", async () => {
    service.answerWith(COLLECTED);
    expect(await gc({ [VALID]: [] })).toEqual(SILENT_SUCCESS);
    expect(service.asked[0]?.body).toEqual({ network: "net1", validHandles: [] });
  });

  test("succeeds whatever the service releases or holds back", async () => {
    const results = [
      { handle: "net1.dead", outcome: "released", addresses: ["10.244.3.20"] },
      { handle: "net1.beef", outcome: "held", reason: "allocated_less_than_120_s_ago" },
      { handle: "net1.cafe", outcome: "of_a_newer_service" },
    ];
    service.answerWith(json(200, { released: 1, held: 1, results }));
    expect(await gc({ [VALID]: [attachment("abc")] })).toEqual(SILENT_SUCCESS);
  });

  test.each<[string, Record<string, unknown>]>([
    ["no list", {}],
    ["null, as of a list that was never made", { [VALID]: null }],
    ["an object", { [VALID]: { containerID: "abc" } }],
    ["only a list of another name", { "cni.dev/attachments": [attachment("abc")] }],
  ])("I11: with %s it is error 7 and nothing is sent: no list never means none valid", async (_, netconf) => {
    const printedFailure = failed(await gc(netconf));
    expect(printedFailure).toMatchObject({ cniVersion: "1.1.0", code: 7 });
    expect(printedFailure.msg).toMatch(/cni\.dev\/valid-attachments must be a list/);
    expect(service.asked).toHaveLength(0);
  });

  test.each<[string, unknown]>([
    ["text", "abc"],
    ["nothing", null],
    ["no container", { ifname: "eth0" }],
    ["an empty container", attachment("")],
    ["a container with a slash", attachment("a/b")],
    ["a container by another name", { containerId: "abc", ifname: "eth0" }],
  ])("I11: one element that is %s fails the whole list, and nothing is sent", async (_, element) => {
    const printedFailure = failed(await gc({ [VALID]: [attachment("abc"), element] }));
    expect(printedFailure.code).toBe(7);
    expect(printedFailure.msg).toMatch(/containerID at index 1$/);
    expect(service.asked).toHaveLength(0);
  });

  test("I11: a container whose handle would be too long fails the whole list", async () => {
    expect(failed(await gc({ [VALID]: [attachment("a".repeat(250))] })).code).toBe(4);
    expect(service.asked).toHaveLength(0);
  });

  test("I11: 4096 containers are sent whole, one more is refused and nothing is sent", async () => {
    service.answerWith(COLLECTED);
    const containers = Array.from({ length: 4096 }, (_, n) => attachment(`c${n}`));
    const interfaces = containers.map(({ containerID }) => attachment(containerID, "net1"));
    expect(await gc({ [VALID]: [...containers, ...interfaces] })).toEqual(SILENT_SUCCESS);
    const [{ body }] = service.asked as [Asked];
    const { validHandles } = body as { validHandles: string[] };
    expect(validHandles).toHaveLength(4096);
    const printedFailure = failed(await gc({ [VALID]: [...containers, attachment("one-more")] }));
    expect(printedFailure.code).toBe(7);
    expect(printedFailure.msg).toMatch(/4097 containers, more than 4096; nothing was collected/);
    expect(service.asked).toHaveLength(1);
  });

  test.each<[string, Parameters<typeof problem>, number]>([
    ["does not know the host", [404, "host_not_found"], 120],
    ["takes no such token", [401, "token_invalid"], 110],
    ["has another host's token", [403, "host_mismatch"], 110],
    ["is overloaded", [503, "overloaded", { retry: "same_request" }], 11],
    ["has no policy", [503, "policy_unavailable", { retry: "same_request" }], 11],
  ])("fails when the service %s", async (_, refusal, code) => {
    service.answerWith(problem(...refusal));
    const printedFailure = failed(await gc({ [VALID]: [] }));
    expect(printedFailure.code).toBe(code);
    expect(printedFailure.msg).toMatch(new RegExp(`^${refusal[1]} \\(${code}\\): `));
  });

  test("of a service that is away is error 11", async () => {
    await service.close();
    expect(failed(await gc({ [VALID]: [] }))).toMatchObject({ code: 11 });
  });

  test("an answer of another shape is error 11", async () => {
    service.answerWith(json(200, { released: 0, held: 0 }));
    expect(failed(await gc({ [VALID]: [] })).msg).toMatch(/^unexpected_answer \(11\): /);
  });

  test.each(["GC", "STATUS"])("%s below version 1.1.0 is error 1", async (command) => {
    const printedFailure = failed(await invoke({ command, cniVersion: "1.0.0" }));
    expect(printedFailure).toMatchObject({
      code: 1,
      details: `configuration: 1.0.0; ${command} needs 1.1.0`,
    });
    expect(service.asked).toHaveLength(0);
  });

  test.each(["GC", "STATUS"])("%s with a faulty configuration is error 7", async (command) => {
    const run = { command, cniVersion: "1.1.0", ipam: { server: "x" } };
    expect(failed(await invoke(run)).code).toBe(7);
  });
});

describe("token file", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "edge-ipam-token-"));
    return () => rm(folder, { recursive: true });
  });

  test("is read at each call, without the line end", async () => {
    const tokenFile = join(folder, "token");
    service.answerWith(allocated(allocation(4)));
    await writeFile(tokenFile, "first-token\n");
    expect((await invoke({ ipam: { tokenFile } })).exitCode).toBe(0);
    await writeFile(tokenFile, "second-token");
    service.answerWith(released());
    expect(await invoke({ command: "DEL", ipam: { tokenFile } })).toEqual(SILENT_SUCCESS);
    expect(service.asked.map((asked) => asked.headers.authorization)).toEqual([
      "Bearer first-token",
      "Bearer second-token",
    ]);
  });

  test.each<[string, string, number]>([
    ["is empty", "\n", 7],
    ["holds two words", "se cret", 7],
    ["holds another alphabet", "sécret", 7],
    ["is endless", "se-cret".repeat(10_000), 5],
  ])("that %s is named, and its content never", async (_, content, code) => {
    const tokenFile = join(folder, "token");
    await writeFile(tokenFile, content);
    const printedFailure = failed(await invoke({ ipam: { tokenFile } }));
    expect(printedFailure.code).toBe(code);
    expect(printedFailure.msg).toContain(tokenFile);
    expect(JSON.stringify(printedFailure)).not.toMatch(/cret/);
    expect(service.asked).toHaveLength(0);
  });

  test.each([
    ["is missing", "none", "ENOENT"],
    ["is a folder", "", "not a file"],
  ])("that %s is error 5 with the path and the reason", async (_, name, reason) => {
    const tokenFile = join(folder, name);
    const printedFailure = failed(await invoke({ ipam: { tokenFile } }));
    expect(printedFailure.code).toBe(5);
    expect(printedFailure.msg).toContain(`${JSON.stringify(tokenFile)} cannot be read (${reason})`);
  });
});
