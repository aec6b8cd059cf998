/** The demonstration: it reads well, works twice in a row on one service, and leaves what it says. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Api, accepted, apiOf } from "../support/api/client.ts";
import { addressesOf } from "../support/api/examples.ts";
import { type Service, startService } from "../support/service.ts";

const TOKENS = `[{"name":"ops","role":"admin","sha256":"${"0".repeat(64)}"}]`;
const demo = resolve(import.meta.dirname, "../../src/tools/demo.ts");

interface Played {
  readonly code: number | null;
  readonly output: string;
}

/** Plays it to its end; `until` interrupts it when its output holds a text. */
function play(arguments_: string[], { until = "", folder = tmpdir(), token = "" } = {}): Promise<Played> {
  const child = spawn(process.execPath, [demo, ...arguments_], {
    env: { ...process.env, TMPDIR: folder, ...(token === "" ? {} : { IPAM_TOKEN: token }) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let isWaiting = until !== "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      // Once: whoever interrupts it twice wants it to end at once.
      if (isWaiting && output.includes(until)) isWaiting = !child.kill("SIGINT");
    });
  }
  return new Promise((settle, fail) => {
    child.once("error", fail);
    child.once("close", (code) => settle({ code, output }));
  });
}

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await startService();
  api = apiOf(service.url);
  const params = { path: { pool: "operators" } };
  await accepted(api.PUT("/v1/pools/{pool}", { params, body: { cidr: "10.0.0.0/24" } }));
  await accepted(api.PATCH("/v1/config", { body: { ipCooldownSeconds: 7 } }));
  const body = { labels: {} };
  await accepted(api.PUT("/v1/hosts/{host}", { params: { path: { host: "node-1" } }, body }));
  const one = { host: "node-1", handle: "operators", ipv4: { count: 1 } };
  await accepted(api.POST("/v1/allocations", { body: one }));
});

afterAll(async () => {
  await service.stop();
});

/** What an operator has and the demonstration must not touch, and what it may not leave. */
async function expectTidy(): Promise<void> {
  for (const host of ["ipam-demo-a", "ipam-demo-b"]) expect(await addressesOf(api, host)).toEqual([]);
  expect(await addressesOf(api, "node-1")).toHaveLength(1);
  expect((await accepted(api.GET("/v1/config"))).ipCooldownSeconds).toBe(7);
  const { items } = await accepted(api.GET("/v1/pools"));
  const left = items.filter(({ state }) => state !== "draining").map(({ name }) => name);
  expect(left).toEqual(["operators"]);
}

describe("the demonstration", () => {
  it("plays on a running service, twice in a row, and leaves only what it says", async () => {
    for (const round of [1, 2]) {
      const { code, output } = await play(["--url", service.url]);
      expect(code, `round ${round}: ${output}`).toBe(0);
      expect(output).toMatch(/300 requests, 600 addresses in [\d.]+ s; 600 differ/);
      expect(output).toMatch(/^ +198\.18\.0\.0\/21 +\d+ +300 /m);
      expect(output).toMatch(/^ +198\.18\.\d+\.\d+\/26 +ipam-demo-[ab] +block$/m);
      expect(output).toContain("replayed: true");
      expect(output).toContain("< 409 block_limit_reached, retry: ");
      expect(output).toContain("the handle holds 0 addresses");
      expect(output).toMatch(/^ +198\.18\.\d+\.\d+ +demo\.\w+\.ipam-demo-b\.1 +\d\d:\d\d:\d\d$/m);
      for (const line of output.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
      await expectTidy();
    }
  });

  it("tidies up when it is interrupted", async () => {
    const { code, output } = await play(["--url", service.url], { until: "38 of 150" });
    expect(code, output).toBe(1);
    expect(output).toContain("ended early: interrupted");
    expect(output).not.toContain("What to notice");
    await expectTidy();
  });

  it("leaves pools that go by themselves", async () => {
    const names = async () => (await accepted(api.GET("/v1/pools"))).items.map(({ name }) => name);
    await expect.poll(names, { timeout: 50_000, interval: 500 }).toEqual(["operators"]);
  });

  it("brings a service of its own, which outlives a power cut and nothing else", async () => {
    const folder = mkdtempSync(join(tmpdir(), "edge-ipam-test-"));
    try {
      const { code, output } = await play([], { folder });
      expect(code, output).toBe(0);
      expect(output).toContain("600 addresses are held, the same ones: true");
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("says where no service is", async () => {
    const { code, output } = await play(["--url", "http://127.0.0.1:9"]);
    expect(code).toBe(1);
    expect(output).toContain("ended early: http://127.0.0.1:9 cannot be reached");
    expect(output).toContain("Does the service run there?");
    for (const line of output.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it("names the variable of the token where the service wants one", async () => {
    const closed = await startService({ tokens: TOKENS });
    try {
      const without = await play(["--url", closed.url]);
      expect(without.code).toBe(1);
      expect(without.output).toContain("not_authenticated");
      const words = without.output.replace(/\s+/g, " ");
      expect(words).toContain("IPAM_TOKEN is not set: it must hold an admin's token.");
      for (const line of without.output.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
      const wrong = await play(["--url", closed.url], { token: "wrong" });
      expect(wrong.output).toContain("token_invalid");
      expect(wrong.output).toContain("IPAM_TOKEN was sent");
      expect(wrong.output).not.toContain("wrong");
    } finally {
      await closed.stop();
    }
  });

  it.each([
    [["--help"], 0, /^npm run demo /m],
    [["-h"], 0, /IPAM_TOKEN/],
    [["--uri", "http://127.0.0.1:9"], 1, /--uri[\s\S]*npm run demo -- --url/],
    [["--url", "127.0.0.1"], 1, /127\.0\.0\.1 is no http URL/],
  ])("explains itself and shows no stack: %j", async (words, code, text) => {
    const played = await play(words);
    expect(played).toMatchObject({ code, output: expect.stringMatching(text) });
    expect(played.output).not.toContain("    at ");
  });
});
