/**
 * The load by itself, against a server that answers in every way it may; and the arithmetic of the tables.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Line, ratio } from "../../bench/compare/line.ts";
import { targetsOf } from "../../bench/compare/targets.ts";
import { Fleet, median } from "../../bench/generator/fleet.ts";
import { compile, type Plan } from "../../bench/generator/plan.ts";

let server: Server;
let url: string;
const seen: string[] = [];
const fleet = new Fleet(2);

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    request.once("end", () => {
      const number = Number(request.url?.slice(1));
      seen.push(`${request.method} ${request.url} ${body}`);
      const text = JSON.stringify({ address: `10.0.0.${number}` });
      if (number % 5 === 4) response.writeHead(503).end("busy");
      else if (number % 5 === 3) response.writeHead(204).end();
      else if (number % 2 === 0) response.end(text);
      else {
        // In two pieces, and without a length.
        response.write(text.slice(0, 5));
        setTimeout(() => response.end(text.slice(5)), 5);
      }
    });
  });
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  fleet.close();
  server.closeAllConnections();
  server.close();
});

it("takes each number once over all processes and clients, and counts what failed", async () => {
  const plan: Plan = {
    steps: [{ method: "PUT", path: "/{n}", body: '{"h":{h}}' }],
    hosts: 3,
    isCollected: true,
  };
  const measured = await fleet.run({ url, plan, clients: 4, seconds: 30, from: 0, limit: 20 });
  expect(measured).toMatchObject({ operations: 20, failed: 4, next: 20 });
  expect(measured.fault).toMatch(/^PUT \/\{n\} answered 503 busy/);
  const expected = Array.from({ length: 20 }, (_, n) => `PUT /${n} {"h":${n % 3}}`);
  expect(seen.toSorted()).toEqual(expected.toSorted());
  const given = expected.flatMap((_, n) => (n % 5 < 3 ? [`10.0.0.${n}`] : []));
  expect(measured.addresses.toSorted()).toEqual(given.toSorted());
});

it("ends with its time, and says so where there is no server", async () => {
  const plan: Plan = { steps: [{ method: "GET", path: "/0" }] };
  const began = performance.now();
  const { operations, perSecond, p50, p99 } = await fleet.run({
    url,
    plan,
    clients: 2,
    seconds: 0.2,
    from: 0,
  });
  expect(performance.now() - began).toBeGreaterThanOrEqual(200);
  expect(operations).toBeGreaterThan(0);
  expect(perSecond).toBeGreaterThan(0);
  expect(p99).toBeGreaterThanOrEqual(p50);
  const nobody = fleet.run({ url: "http://127.0.0.1:1", plan, clients: 1, seconds: 0.1, from: 0 });
  await expect(nobody).rejects.toThrow(/ECONNREFUSED/);
});

it("writes requests by number and client", () => {
  const plan: Plan = { steps: [], known: 10, addresses: { first: "10.0.0.250", count: 100 } };
  const write = compile({ method: "GET", path: "/{c}/{m}/{ip}" }, plan, "host:1");
  expect(write(17, 3)).toBe("GET /3/7/10.0.1.11 HTTP/1.1\r\nHost: host:1\r\n\r\n");
});

function lineOf(id: string, clients: number, values: readonly number[], alone?: Line["alone"]): Line {
  const rounds = values.map((value) => {
    return { operations: 1, failed: 0, perSecond: value, p50: value, p99: value, share: 0, cpuMicros: 0 };
  });
  return { id, name: id, clients, addresses: 1, rounds, ...(alone && { alone }) };
}

it("compares round by round", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1])).toBe(2.5);
  // The second machine was busy in the second round, and so was the first.
  expect(ratio(lineOf("a", 1, [10, 2, 12]), lineOf("b", 1, [5, 1, 4]), "perSecond")).toBe(2);
  expect(ratio(undefined, lineOf("b", 1, [1]), "p50")).toBeNaN();
});

it("says of each target whether it is met, missed, or was not measured", () => {
  const lines = [
    lineOf("allocate-1", 1, [17, 17], { calls: 3, commits: 3, rows: 2 }),
    lineOf("write", 1, [10, 10]),
    lineOf("allocate-1", 64, [39]),
    lineOf("noop", 64, [100]),
    { ...lineOf("etcd-1", 64, [1]), fault: "lost" },
  ];
  const told = Object.fromEntries(targetsOf(lines).map(({ text, isMet }) => [text, isMet]));
  expect(told).toMatchObject({
    "1 client, 1 host: p50, to the durable write": true,
    "64 clients, 1 host: rate, to the no-op": false,
    "64 clients, 1 host: rate, to etcd": undefined,
    "allocate, by itself: calls": true,
    "allocate, by itself: commits": false,
  });
});
