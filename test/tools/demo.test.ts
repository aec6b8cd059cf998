/** The demonstration: it reads well, works twice in a row on one service, and leaves what it says. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
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

interface Playing {
  /** A text in its output at which it is interrupted. */
  readonly until?: string;
  readonly onInterrupt?: () => void;
  readonly folder?: string;
  readonly token?: string;
}

/** Plays it to its end. */
function play(
  arguments_: string[],
  { until = "", onInterrupt, folder = tmpdir(), token = "" }: Playing = {},
): Promise<Played> {
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
      if (!isWaiting || !output.includes(until)) return;
      isWaiting = !child.kill("SIGINT");
      onInterrupt?.();
    });
  }
  return new Promise((settle, fail) => {
    child.once("error", fail);
    child.once("close", (code) => settle({ code, output }));
  });
}

interface Gate {
  readonly url: string;
  open(): void;
  close(): void;
}

/** A way to the service on which further allocations wait, once there were so many, until it is opened. */
async function startGate(allocationsMax: number): Promise<Gate> {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  let allocations = 0;
  const pass = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = "", url: path = "" } = incoming;
    const body = await text(incoming);
    if (method === "POST" && path === "/v1/allocations") allocations += 1;
    if (allocations > allocationsMax) await opened;
    const key = incoming.headers["idempotency-key"];
    const answer = await fetch(`${service.url}${path}`, {
      method,
      headers: {
        ...(body === "" ? {} : { "Content-Type": "application/json" }),
        ...(typeof key === "string" ? { "Idempotency-Key": key } : {}),
      },
      ...(body === "" ? {} : { body }),
    });
    outgoing.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    outgoing.end(await answer.text());
  };
  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, open, close };
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
    // It must not come to its end before it is told, however late that is: 100 of 300 allocations wait.
    const gate = await startGate(200);
    try {
      const playing = { until: "38 of 150", onInterrupt: gate.open };
      const { code, output } = await play(["--url", gate.url], playing);
      expect(code, output).toBe(1);
      expect(output).toContain("ended early: interrupted");
      expect(output).not.toContain("What to notice");
    } finally {
      gate.close();
    }
    await expectTidy();
  });

  it("leaves pools that go by themselves", async () => {
    const names = async () => (await accepted(api.GET("/v1/pools"))).items.map(({ name }) => name);
    await expect.poll(names, { timeout: 120_000, interval: 500 }).toEqual(["operators"]);
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
