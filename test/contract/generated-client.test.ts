/**
 * The generated client against a server that answers as services, proxies and later releases do;
 * and the page that shows it, whose code must be the code that runs.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, it } from "vitest";
import {
  type Answered,
  type Api,
  accepted,
  apiOf,
  everyItem,
  ForeignAnswer,
  type Problem,
  Refused,
  settle,
  waitBeforeRepeat,
} from "../support/api/client.ts";
import type { components } from "../support/api/types.ts";

const root = resolve(import.meta.dirname, "../..");

type Play = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let api: Api;
let impatient: Api;
let plays: Play[] = [];
let seen: IncomingMessage[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    seen.push(request);
    const play = plays.shift() ?? say(500, {});
    request.resume().once("end", () => play(request, response));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  api = apiOf(url);
  impatient = apiOf(url, { timeoutMs: 50 });
});

beforeEach(() => {
  plays = [];
  seen = [];
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

function say(status: number, body: object | string, type?: string): Play {
  const usual = status < 300 ? "application/json" : "application/problem+json";
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return (_, response) => {
    response.writeHead(status, { "content-type": type ?? usual }).end(text);
  };
}

function problem(status: number, code: string, retry: string, more: Partial<Problem> = {}): Play {
  const words = { type: `/docs/errors/${code}`, title: "No", detail: "No.", requestId: "r-1" };
  return say(status, { ...words, status, code, retry, ...more });
}

const hangUp: Play = (_, response) => response.destroy();
const result = { allocations: [], shortfall: [], replayed: false, reused: false };
const header = { "Idempotency-Key": "pod.eth0.key" };
const body = { host: "node-1", handle: "pod", ipv4: { count: 1 } };
const allocateBy = (client: Api) => client.POST("/v1/allocations", { params: { header }, body });
const allocate = () => allocateBy(api);

describe("the generated types", () => {
  it("are what openapi-typescript makes of openapi.yaml", () => {
    const arguments_ = [join(root, "test/support/api/write-types.ts"), "--check"];
    expect(execFileSync(process.execPath, arguments_, { encoding: "utf8" })).toBe("");
  });

  it("D3, D5: ask for what is required only, and leave words of answers open", () => {
    type Schemas = components["schemas"];
    expectTypeOf<{ host: string; handle: string }>().toExtend<Schemas["AllocationRequest"]>();
    expectTypeOf<{ cidr: string }>().toExtend<Schemas["PoolSpec"]>();
    expectTypeOf<object>().toExtend<Schemas["ConfigPatch"]>();
    expectTypeOf<Schemas["Allocation"]["state"]>().toEqualTypeOf<string>();
    expectTypeOf<Schemas["Problem"]["code"]>().toEqualTypeOf<string>();
    expectTypeOf<Schemas["Problem"]["retry"]>().toEqualTypeOf<string>();
  });
});

describe("what is not the service's answer", () => {
  it("an HTML page is told from a refusal before it is parsed", async () => {
    for (const status of [200, 403, 502, 503, 524]) {
      plays = [say(status, "<html>try later</html>", "text/html; charset=UTF-8")];
      await expect(allocate(), String(status)).rejects.toThrow(ForeignAnswer);
    }
    plays = [say(503, { code: "from a proxy" }, "application/json")];
    await expect(allocate()).rejects.toThrow(ForeignAnswer);
  });

  it("a redirect is not followed", async () => {
    plays = [(_, response) => response.writeHead(302, { location: "/elsewhere" }).end()];
    await expect(allocate()).rejects.toThrow(ForeignAnswer);
    expect(seen).toHaveLength(1);
  });

  it("R10: a server that stays silent is given up, after the time that it was told", async () => {
    plays = [() => undefined];
    await expect(allocateBy(impatient)).rejects.toThrow(/timeout/);
    expect(seen[0]?.headers["x-request-timeout-ms"]).toBe("50");
  });
});

describe("what a later release may add", () => {
  it("R15: unknown members, states, codes and words for retry do no harm", async () => {
    const later = {
      ...result,
      allocations: [{ address: "10.0.0.1", state: "hibernating", new: 1 }],
      more: {},
    };
    plays = [say(201, later), problem(409, "moon_phase", "at_full_moon", { retryAfterSeconds: 1 })];
    expect(await accepted(allocate())).toEqual(later);
    const refused = await settle(allocate, 30_000);
    expect(refused.error).toMatchObject({ code: "moon_phase", retry: "at_full_moon" });
    expect(seen).toHaveLength(2);
  });
});

describe("repeating", () => {
  it("I13: the same key goes out until an answer is final", async () => {
    plays = [
      hangUp,
      say(502, "<html>", "text/html"),
      problem(503, "outcome_unknown", "same_request", { retryAfterSeconds: 0 }),
      problem(503, "in_progress", "same_request"),
      say(201, { ...result, replayed: true }),
    ];
    expect((await accepted(settle(allocate, 30_000))).replayed).toBe(true);
    expect(seen.map(({ headers }) => headers["idempotency-key"])).toEqual(Array(5).fill("pod.eth0.key"));
  });

  it("a refusal that a repeat cannot change is final", async () => {
    for (const retry of ["no", "after_change"]) {
      plays = [problem(409, "pool_exhausted", retry)];
      const refused = settle(allocate, 30_000);
      expect((await refused).error?.code).toBe("pool_exhausted");
      await expect(accepted(refused)).rejects.toThrow(Refused);
    }
    expect(seen).toHaveLength(2);
  });

  it("waits as long as it is told, and not beyond its own time", async () => {
    plays = [problem(409, "pool_cooling", "later", { retryAfterSeconds: 1 }), say(201, result)];
    const begun = performance.now();
    await accepted(settle(allocate, 30_000));
    expect(performance.now() - begun).toBeGreaterThan(950);
    plays = [problem(409, "pool_cooling", "later", { retryAfterSeconds: 600 })];
    expect((await settle(allocate, 30_000)).error?.code).toBe("pool_cooling");
    plays = [hangUp];
    await expect(settle(allocate, 0)).rejects.toThrow(/fetch failed/);
  });

  it("waits longer each time, and never less than it is told", () => {
    const asked = (retryAfterSeconds: number): Answered<unknown> =>
      ({ error: { retry: "same_request", retryAfterSeconds } }) as Answered<unknown>;
    for (let tries = 0; tries < 40; tries += 1) {
      const waitMs = waitBeforeRepeat(undefined, tries) ?? 0;
      const most = Math.min(100 * 2 ** tries, 5_000);
      expect(waitMs).toBeGreaterThanOrEqual(most / 2);
      expect(waitMs).toBeLessThanOrEqual(most * 1.5);
      expect(waitBeforeRepeat(asked(9), tries)).toBeGreaterThanOrEqual(9_000);
    }
  });
});

describe("lists", () => {
  it("R6: an empty page is not the end, a missing cursor is", async () => {
    plays = [
      say(200, { items: [{ name: "a" }], nextCursor: "1" }),
      say(200, { items: [], nextCursor: "2&x" }),
      say(200, { items: [{ name: "b" }] }),
    ];
    const names: string[] = [];
    for await (const { name } of everyItem((from) =>
      api.GET("/v1/pools", { params: { query: { limit: 1, ...from } } }),
    )) {
      names.push(name);
    }
    expect(names).toEqual(["a", "b"]);
    expect(seen.map(({ url }) => url)).toEqual([
      "/v1/pools?limit=1",
      "/v1/pools?limit=1&cursor=1",
      "/v1/pools?limit=1&cursor=2%26x",
    ]);
  });
});

/** Code without what only its width decides: line breaks, indents, a comma before a bracket that closes. */
function onOneLine(code: string): string {
  return code.replace(/\s+/g, "").replace(/[,;](?=[)\]}])/g, "");
}

describe("docs/clients.md", () => {
  it("shows code word for word as it runs", () => {
    const page = readFileSync(join(root, "docs/clients.md"), "utf8");
    const blocks = [...page.matchAll(/^```ts(?: file=(\S+))?\n(.*?)^```$/gms)];
    expect(blocks.length).toBeGreaterThan(3);
    for (const [, file, code = ""] of blocks) {
      expect(file, code).toBeDefined();
      const text = readFileSync(join(root, String(file)), "utf8");
      // A page is narrower than code, and may leave out what stands between; it may not change a word.
      for (const part of code.split(/^…\n/m)) expect(onOneLine(text), file).toContain(onOneLine(part));
    }
  });
});
