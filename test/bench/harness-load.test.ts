/**
 * The load by itself, against a server that answers in every way it may; and the arithmetic of the tables.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SUBJECTS } from "../../bench/compare/compare.ts";
import { distancesOf, layersOf, reachesOf } from "../../bench/compare/limits.ts";
import { type Line, ratio } from "../../bench/compare/line.ts";
import { targetsOf } from "../../bench/compare/targets.ts";
import { allocationsIn, balanced, Ledger } from "../../bench/generator/books.ts";
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
      const text = JSON.stringify({ address: `10.0.0.${number}`, handle: `handle.${number}` });
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
    steps: [{ method: "PUT", path: "/{n}", body: '{"h":{h}}', books: "given" }],
    hosts: 3,
  };
  const measured = await fleet.run({ url, plan, clients: 4, seconds: 30, from: 0, limit: 20 });
  expect(measured).toMatchObject({ operations: 20, failed: 4, next: 20 });
  expect(measured.fault).toMatch(/^PUT \/\{n\} answered 503 busy/);
  const expected = Array.from({ length: 20 }, (_, n) => `PUT /${n} {"h":${n % 3}}`);
  expect(seen.toSorted()).toEqual(expected.toSorted());
  const given = expected.flatMap((_, n) => (n % 5 < 3 ? [`10.0.0.${n} handle.${n}`] : []));
  expect(measured.books.given.toSorted()).toEqual(given.toSorted());
  expect(measured.books.freed).toEqual([]);
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

it("enters what was acknowledged, and finds whatever is stored otherwise", () => {
  const text = JSON.stringify({
    allocations: [1, 2, 3].map((n) => ({ address: `10.0.0.${n}`, host: "h", handle: `of.${n}` })),
  });
  const given = allocationsIn(text);
  expect(given).toEqual(["10.0.0.1 of.1", "10.0.0.2 of.2", "10.0.0.3 of.3"]);
  // An operation that frees what it has been given changes nothing; it must be the same allocation.
  expect(balanced(["10.0.0.9 of.9"], ["10.0.0.9 of.9"])).toEqual({ given: [], freed: [] });
  expect(balanced(["10.0.0.9 of.9"], ["10.0.0.8 of.9"])).toEqual({
    given: ["10.0.0.9 of.9"],
    freed: ["10.0.0.8 of.9"],
  });
  const ledger = new Ledger();
  expect(ledger.enter({ given, freed: [] })).toBeUndefined();
  expect(ledger.enter({ given: [], freed: ["10.0.0.2 of.2"] })).toBeUndefined();
  expect(ledger.size).toBe(2);
  const stored = ["10.0.0.1 of.1", "10.0.0.3 of.3"];
  expect(ledger.faults(stored)).toEqual([]);
  expect(ledger.faults([...stored, "10.0.0.1 of.1"])).toEqual(["1 stored more than once"]);
  expect(ledger.faults(["10.0.0.1 of.1"])).toEqual([
    "1 acknowledged and not released, but not stored (10.0.0.3 of.3)",
  ]);
  expect(ledger.faults([...stored, "10.0.0.2 of.2"])).toEqual([
    "1 stored, but not acknowledged or released (10.0.0.2 of.2)",
  ]);
  // At the right address, for somebody else.
  expect(ledger.faults(["10.0.0.1 of.3", "10.0.0.3 of.3"])).toHaveLength(2);
  expect(ledger.enter({ given: ["10.0.0.1 of.4"], freed: [] })).toBe("10.0.0.1 was given twice");
  expect(ledger.enter({ given: [], freed: ["10.0.0.3 of.4"] })).toMatch(
    /^10\.0\.0\.3 was freed, but not held/,
  );
  expect(ledger.faults(["10.0.0.1 of.4", "10.0.0.3 of.3"])).toHaveLength(2);
});

it("says what answers a request only where that is asked for", () => {
  const step = { method: "GET", path: "/" };
  const plan: Plan = { steps: [] };
  expect(compile({ ...step, variant: "own" }, plan, "host:1")(0, 0)).toBe(
    "GET / HTTP/1.1\r\nHost: host:1\r\nBench-Variant: own\r\n\r\n",
  );
  const own = SUBJECTS.filter(({ plan: of }) => of(1).steps.some(({ variant }) => variant !== undefined));
  expect(own.map(({ id }) => id)).toEqual([
    ...["noop", "write", "write-shared", "no-call", "one-call", "skeleton-1", "skeleton-50"],
    ...["gathered-skeleton-1", "checked-skeleton-1", "checked-skeleton-50"],
  ]);
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

it("says how far an allocation is from each skeleton, and which targets skeletons reach", () => {
  const lines = [
    lineOf("allocate-1", 1, [30]),
    lineOf("skeleton-1", 1, [20]),
    lineOf("write", 1, [10]),
    lineOf("allocate-50", 64, [40, 10]),
    lineOf("skeleton-50", 64, [80, 20]),
    lineOf("checked-skeleton-50", 64, [50, 12.5]),
    lineOf("write", 64, [100, 25]),
    { ...lineOf("skeleton-1", 64, [1]), fault: "lost" },
    lineOf("allocate-1", 64, [1]),
  ];
  const distances = Object.fromEntries(
    distancesOf(lines).map(({ text, p50, rate }) => [text, { p50, rate }]),
  );
  expect(distances).toMatchObject({
    "1 host: to the skeleton": { p50: 1.5, rate: Number.NaN },
    "50 hosts: to the skeleton": { p50: Number.NaN, rate: 0.5 },
    "50 hosts: to it, with checks": { rate: 0.8 },
  });
  const reaches = Object.fromEntries(reachesOf(lines).map(({ text, aim: _aim, ...rest }) => [text, rest]));
  expect(reaches["1 client, 1 host: p50/write"]).toMatchObject({ skeleton: 2, allocate: 3 });
  expect(reaches["64 clients, 50 hosts: rate/write"]).toEqual({
    skeleton: 0.8,
    gathered: Number.NaN,
    checked: 0.5,
    allocate: 0.4,
  });
});

it("says what an allocation is made of, to the no-op and the floor", () => {
  const lines = [
    lineOf("noop", 64, [10, 20]),
    lineOf("gathered-skeleton-1", 64, [20, 40]),
    lineOf("checked-skeleton-1", 64, [30, 60]),
    lineOf("roomy-1", 64, [40, 80]),
    lineOf("allocate-1", 64, [50, 100]),
    lineOf("write", 1, [10]),
    lineOf("allocate-1", 1, [23]),
    lineOf("roomy-50", 64, [100, 200]),
  ].map((line) => ({
    ...line,
    rounds: line.rounds.map((round) => ({ ...round, cpuMicros: 2 * round.perSecond })),
  }));
  const told = layersOf(lines).map(({ cpu }) => cpu);
  expect(told).toEqual([1, 2, 3, 4, 5, Number.NaN, Number.NaN, 10, Number.NaN]);
  expect(layersOf(lines)[4]).toMatchObject({ p50: 2.3, rate: 5 });
});
