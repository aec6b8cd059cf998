/** listLeaks over fake objects: how much a page asks, and how each reason is told. */
import { describe, expect, it } from "vitest";
import type { HoldReason } from "../../src/core/leak-ledger.ts";
import { components } from "../../src/http/schemas/components.ts";
import type { HostLeakFigures, ListedLeak } from "../../src/rpc/leaks.ts";
import { type Answers, type Fake, fake, NOW } from "./fake-deployment.ts";

const FIGURES = (suspected: number): HostLeakFigures => ({
  auditedAt: NOW,
  allocated: 10,
  counts: { candidates: suspected, confirmed: 0, held: 0 },
  heldByReason: {},
  unknownBySource: {},
  unauditable: {},
  report: { state: "fresh", workloads: 1 },
  pools: {},
  isGone: false,
});

function leakOf(host: string, n: number, more: Partial<ListedLeak> = {}): ListedLeak {
  return {
    address: `10.0.0.${n}`,
    handle: `pods.${n}`,
    host,
    kind: "workload",
    state: "candidate",
    reason: "grace_period",
    firstAbsentAt: NOW - 1_000,
    lastAbsentAt: NOW,
    releasableAt: NOW + 899_000,
    observations: 1,
    sequenceNumber: n,
    ...more,
  };
}

/** Hosts `host-0000` and on, each with so many leaks; pages of both as the objects give them. */
function deployment(hosts: number, leaksOf: (n: number) => number, more: Answers = {}): Fake {
  const names = Array.from({ length: hosts }, (_, n) => `host-${String(n).padStart(4, "0")}`);
  return fake({
    answers: {
      "sweep.hostFigures": ({ after = "", limit }: { after?: string; limit: number }) => {
        const left = names.filter((name) => name > after);
        const page = left.slice(0, limit);
        const listed = page.map((host) => ({ host, figures: FIGURES(leaksOf(names.indexOf(host))) }));
        return { hosts: listed, ...(left.length > limit ? { next: page.at(-1) } : {}) };
      },
      "host.leaks": ({ host, after, limit }: { host: string; after?: string; limit: number }) => {
        const all = Array.from({ length: leaksOf(names.indexOf(host)) }, (_, n) => leakOf(host, n + 1));
        const from = after === undefined ? 0 : all.findIndex(({ address }) => address === after) + 1;
        const leaks = all.slice(from, from + limit);
        const isMore = from + limit < all.length;
        return { leaks, ...(isMore ? { next: leaks.at(-1)?.address } : {}) };
      },
      ...more,
    },
  });
}

async function pages(service: Fake, query: string): Promise<{ items: string[]; calls: number }[]> {
  const found: { items: string[]; calls: number }[] = [];
  let cursor = "";
  for (let n = 0; n < 200; n += 1) {
    const before = service.asked.length;
    const answer = await service.send("GET", `/v1/leaks?${query}${cursor}`);
    const body = components.LeakList.parse(await answer.json());
    const items = body.items.map(({ host, address }) => `${host} ${address}`);
    found.push({ items, calls: service.asked.length - before });
    if (body.nextCursor === undefined) return found;
    cursor = `&cursor=${body.nextCursor}`;
  }
  throw new Error("the list does not end");
}

describe("listLeaks", () => {
  it("asks only hosts with suspicions, so many per page, and lists each leak once", async () => {
    const service = deployment(5_000, (n) => (n % 10 === 0 ? 3 : 0));
    const found = await pages(service, "limit=1000");
    const items = found.flatMap((page) => page.items);
    expect(items).toHaveLength(1_500);
    expect(new Set(items).size).toBe(1_500);
    expect(items).toEqual(items.toSorted());
    for (const { calls } of found) expect(calls).toBeLessThanOrEqual(8 + 128);
    expect(service.asked.filter(({ method }) => method === "host.leaks")).toHaveLength(500);
  });

  it("ends within its bounds where nobody has any: pages may be empty", async () => {
    const found = await pages(
      deployment(5_000, () => 0),
      "limit=10",
    );
    expect(found.flatMap(({ items }) => items)).toEqual([]);
    expect(found.length).toBeGreaterThan(1);
    for (const { calls } of found) expect(calls).toBeLessThanOrEqual(8);
  });

  it.each([1, 2, 3, 7])("with pages of %i lists each leak once, of one host and of many", async (limit) => {
    const service = deployment(7, (n) => [0, 1, 3, 9][n % 4] ?? 0);
    const all = (await pages(service, "limit=1000")).flatMap(({ items }) => items);
    expect(all).toHaveLength(17);
    const found = await pages(service, `limit=${limit}`);
    expect(found.flatMap(({ items }) => items)).toEqual(all);
    expect(Math.max(...found.map(({ items }) => items.length))).toBeLessThanOrEqual(limit);
    const own = await pages(service, `limit=${limit}&host=host-0003`);
    expect(own.flatMap(({ items }) => items)).toHaveLength(9);
  });

  it("of a host that never was asks no object of its name", async () => {
    const service = deployment(1, () => 1, { "cluster.findHost": () => ({}) });
    expect((await pages(service, "host=ghost"))[0]?.items).toEqual([]);
    expect(service.asked.map(({ method }) => method)).toEqual(["cluster.findHost"]);
  });

  const REASONS: Record<HoldReason | "none", RegExp> = {
    none: /next audit/,
    grace_period: /2026-11-29T03:06:06\.412Z/,
    awaiting_recheck: /newer/,
    handle_partly_alive: /GET \/v1\/handles\/pods\.1\./,
    breaker_open: /POST \/v1\/gc\/acknowledgements/,
    paused: /PATCH \/v1\/gc/,
    release_limit: /per minute/,
    too_young: /120 s/,
    evidence_stale: /host-0000/,
    evidence_never: /host-0000/,
    unreadable: /GET \/v1\/gc/,
  };

  it.each(Object.entries(REASONS))("tells %s in a sentence with what to do", async (reason, words) => {
    const leaks = [leakOf("host-0000", 1, { reason: reason as HoldReason })];
    const service = deployment(1, () => 1, { "host.leaks": () => ({ leaks }) });
    const { items } = components.LeakList.parse(await (await service.send("GET", "/v1/leaks")).json());
    expect(items[0]).toMatchObject({ reason, detail: expect.stringMatching(words) });
    expect(items[0]?.detail).toMatch(/[.]$/);
  });
});
