/**
 * docs/node-agents.md, run as it stands: every request of the page in its order, every answer held to
 * what the page says of it. Values written as "…" may be anything; members not shown are not judged.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Service, startService } from "../support/service.ts";
import { clientOf, expectStatus } from "./client.ts";

interface Exchange {
  /** Whose token is shown. */
  readonly as: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: unknown;
  readonly status: number;
  readonly answer: unknown;
}

const page = readFileSync(resolve(import.meta.dirname, "../../docs/node-agents.md"), "utf8");
const blockPattern = /^```http(?: as=(\S+))?\n(.*?)\n\nHTTP (\d{3})\n\n(.*?)\n```$/gms;
const exchanges = [...page.matchAll(blockPattern)].map(
  ([, as = "node-1", request = "", status, answer = ""]): Exchange => {
    const [head = "", body] = request.split("\n\n");
    const [line = "", ...headers] = head.split("\n");
    const [method = "", path = ""] = line.split(" ");
    return {
      as,
      method,
      path,
      headers: Object.fromEntries(headers.map((header) => header.split(": "))),
      body: body === undefined ? undefined : JSON.parse(body),
      status: Number(status),
      answer: expected(JSON.parse(answer)),
    };
  },
);

/** What a shown answer demands: its members and no fewer elements of each list. */
function expected(value: unknown): unknown {
  if (value === "…") return expect.anything();
  if (Array.isArray(value)) return value.map(expected);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, expected(member)]);
  return expect.objectContaining(Object.fromEntries(members));
}

const tokens = JSON.stringify(
  ["ops", "node-1", "node-2"].map((name) => ({
    name,
    ...(name === "ops" ? { role: "admin" } : { role: "agent", host: name }),
    sha256: createHash("sha256").update(`token-of-${name}`).digest("hex"),
  })),
);

let service: Service;

beforeAll(async () => {
  service = await startService({ tokens });
  const ops = clientOf(service, "token-of-ops");
  const pools = { default: ["10.244.0.0/16", 26], "default-v6": ["fd00:10:244::/48", 122] };
  const writing = Object.entries(pools).map(([name, [cidr, blockSize]]) =>
    expectStatus(ops("PUT", `/v1/pools/${name}`, { cidr, blockSize }), 201),
  );
  await Promise.all(writing);
});

afterAll(async () => {
  await service.stop();
});

describe("docs/node-agents.md", () => {
  it("has no exchange that is not understood", () => {
    expect(exchanges).toHaveLength(page.match(/^```http/gm)?.length ?? 0);
    expect(exchanges.length).toBeGreaterThan(15);
  });

  for (const [at, { as, method, path, headers, body, status, answer }] of exchanges.entries()) {
    it(`${at + 1}: ${as} sends ${method} ${path} and is answered ${status}`, async () => {
      const got = await clientOf(service, `token-of-${as}`)(method, path, body, headers);
      expect(got.status, got.text).toBe(status);
      expect(got.body).toEqual(answer);
    });
  }
});
