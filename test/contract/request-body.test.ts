/** How a body is read: by the bytes that arrive, never beyond its bound. May import: src/http. */
import { expect, test } from "vitest";
import { readJsonObject } from "../../src/http/request-body.ts";

const MAX = 64;
const TEXT = '{"cidr":"10.0.0.0/16"}';

interface Body {
  readonly chunks: readonly (string | Uint8Array)[];
  /** The header, where it is not the number of bytes; `chunked`: there is none. */
  readonly announced?: string;
  readonly ends?: "open" | "broken";
}

function request({ chunks, announced, ends }: Body): Request {
  const bytes = chunks.map((chunk) => (typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk));
  const length = bytes.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  const headers = new Headers({ "content-type": "application/json" });
  if (announced !== "chunked") headers.set("content-length", announced ?? String(length));
  const left = [...bytes];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = left.shift();
      if (chunk !== undefined) controller.enqueue(chunk);
      else if (ends === "broken") controller.error(new Error("the connection was lost"));
      else if (ends !== "open") controller.close();
      // One that stays open would be waited for, for ever.
      else return new Promise(() => undefined);
    },
  });
  return new Request("http://service/", { method: "POST", headers, body, duplex: "half" } as RequestInit);
}

const READ: Record<string, Body> = {
  "in one piece": { chunks: [TEXT] },
  "in pieces": { chunks: [TEXT.slice(0, 7), TEXT.slice(7)] },
  "without a length": { chunks: [TEXT.slice(0, 7), TEXT.slice(7)], announced: "chunked" },
  "whose stream does not end after the last byte": { chunks: [TEXT], ends: "open" },
  "with a byte order mark": { chunks: [new Uint8Array([0xef, 0xbb, 0xbf]), TEXT] },
  "of exactly the bound": { chunks: [TEXT.padEnd(MAX)] },
};

test.each(Object.entries(READ))("a body %s is read", async (_which, body) => {
  expect(await readJsonObject(request(body), MAX)).toEqual({ ok: true, value: { cidr: "10.0.0.0/16" } });
});

test("a large body is read to its announced length, though its stream does not end there", async () => {
  const max = 128 * 1024;
  const body: Body = { chunks: [TEXT, " ".repeat(max / 2), " ".repeat(max / 4)], ends: "open" };
  expect(await readJsonObject(request(body), max)).toEqual({ ok: true, value: { cidr: "10.0.0.0/16" } });
});

const REFUSED: Record<string, readonly [string, Body]> = {
  "that is empty": ["malformed_json", { chunks: [] }],
  "of two objects": ["malformed_json", { chunks: [TEXT, "{}"] }],
  "that ends before its announced length": ["malformed_json", { chunks: ['{"a":1'], announced: "40" }],
  "that breaks off": ["malformed_json", { chunks: [TEXT], announced: "40", ends: "broken" }],
  "that is no UTF-8": ["malformed_json", { chunks: [new Uint8Array([0x22, 0xff, 0x22])] }],
  "announced beyond the bound": ["body_too_large", { chunks: [TEXT], announced: "65" }],
  "beyond the bound, announced as less": ["body_too_large", { chunks: [TEXT, TEXT, TEXT], announced: "5" }],
  "beyond the bound, without a length": [
    "body_too_large",
    { chunks: [TEXT, TEXT, TEXT], announced: "chunked" },
  ],
};

test.each(Object.entries(REFUSED))("a body %s is refused", async (_which, [code, body]) => {
  expect(await readJsonObject(request(body), MAX)).toMatchObject({ ok: false, error: { code } });
});

test("a body without an end is given up at the bound, however short it says to be", async () => {
  let given = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      given += 1;
      if (given > 1_000) controller.error(new Error("nobody stops reading"));
      else controller.enqueue(new Uint8Array(MAX / 2).fill(0x20));
    },
  });
  const headers = { "content-type": "application/json", "content-length": "5" };
  const endless = new Request("http://service/", {
    method: "POST",
    headers,
    body,
    duplex: "half",
  } as RequestInit);
  expect(await readJsonObject(endless, MAX)).toMatchObject({ ok: false, error: { code: "body_too_large" } });
  expect(given).toBeLessThan(10);
});
