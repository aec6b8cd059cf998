/** Bodies as they come over a socket: in pieces, chunked, announced wrongly, without an end. */
import { createConnection } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { HttpClient } from "../support/http-client.ts";
import { type Service, startService } from "../support/service.ts";

let service: Service;
let client: HttpClient;

beforeAll(async () => {
  service = await startService();
  client = new HttpClient(() => service.url);
  await client.must("PUT", "/v1/pools/default", { cidr: "10.9.0.0/20" });
  await client.must("PUT", "/v1/hosts/node-1", { labels: {} });
});

afterAll(async () => {
  client.close();
  await service.stop();
});

const body = (handle: string) => JSON.stringify({ host: "node-1", handle, ipv4: { count: 1 } });
const chunk = (text: string | Buffer) =>
  Buffer.concat([Buffer.from(`${text.length.toString(16)}\r\n`), Buffer.from(text), Buffer.from("\r\n")]);

/** Sends a head and pieces with a pause between them; returns what is answered, at the latest after so long. */
async function exchange(
  headers: readonly string[],
  pieces: readonly (string | Buffer)[],
  { ends = false, forMs = 30_000 } = {},
): Promise<string> {
  const { port, hostname } = new URL(service.url);
  const socket = createConnection(Number(port), hostname);
  let answer = "";
  socket.on("error", () => undefined);
  const over = new Promise<void>((settle) => {
    const timer = setTimeout(settle, forMs);
    const done = () => {
      clearTimeout(timer);
      settle();
    };
    socket.on("close", done).on("data", (data) => {
      answer += data.toString("utf8");
      if (/\r\n\r\n.*\}/s.test(answer)) done();
    });
  });
  const head = [
    "POST /v1/allocations HTTP/1.1",
    `Host: ${hostname}`,
    "Content-Type: application/json",
    ...headers,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  for (const piece of pieces) {
    if (socket.destroyed) break;
    socket.write(piece);
    await new Promise((settle) => setTimeout(settle, 30));
  }
  if (ends) socket.end();
  await over;
  socket.destroy();
  return answer;
}

const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);

it("in pieces, with its length", async () => {
  const text = body("pieces");
  const pieces = [text.slice(0, 9), text.slice(9, 20), text.slice(20)];
  expect(statusOf(await exchange([`Content-Length: ${text.length}`], pieces))).toBe(201);
});

it("in chunks, without a length", async () => {
  const text = body("chunks");
  const pieces = [chunk(text.slice(0, 9)), chunk(text.slice(9)), "0\r\n\r\n"];
  expect(statusOf(await exchange(["Transfer-Encoding: chunked"], pieces))).toBe(201);
});

it.each([
  ["empty", "0", ""],
  ["no UTF-8", "3", Buffer.from([0x22, 0xff, 0x22])],
  ["cut in a character", "2", Buffer.from([0x22, 0xe2])],
  ["shorter than its object", "30", body("short").slice(0, 30)],
])("one that is %s is malformed", async (_which, length, piece) => {
  const answer = await exchange([`Content-Length: ${length}`], [piece]);
  expect(statusOf(answer)).toBe(400);
  expect(answer).toContain("malformed_json");
});

it("what follows the announced length is the next request, and no part of this one", async () => {
  const text = body("first");
  const answer = await exchange(
    [`Content-Length: ${text.length}`],
    [`${text}GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`],
  );
  expect(statusOf(answer)).toBe(201);
});

it("one that breaks off before its length changes nothing", async () => {
  await exchange(["Content-Length: 500"], [body("broken")], { ends: true, forMs: 1_000 });
  expect((await client.must("GET", "/v1/allocations?handle=broken")).items).toEqual([]);
});

it("without an end is refused at the bound, whatever is announced", async () => {
  const piece = chunk(Buffer.alloc(64 * 1024, "x"));
  // No more than it takes: who still sends while the connection is closed may lose the answer.
  const endless = [...Array.from({ length: 16 }, () => piece), chunk("x".repeat(1024))];
  expect(statusOf(await exchange(["Transfer-Encoding: chunked"], endless))).toBe(413);
  const both = await exchange(["Content-Length: 5", "Transfer-Encoding: chunked"], endless);
  expect(statusOf(both)).toBe(413);
  expect((await client.send("GET", "/healthz")).status).toBe(200);
}, 90_000);
