/** What a sweep has to tell of its hosts: once each, and so many each by itself. */
import { describe, expect, it } from "vitest";
import type { EventDraft } from "../../src/core/events.ts";
import {
  type Digests,
  firstTold,
  gather,
  type HostFacts,
  type HostTold,
  OWN_EVENTS_MAX,
  releaseNews,
  remainder,
  silenceNews,
} from "../../src/core/sweep-news.ts";

function facts(state: "fresh" | "stale" | "never", lastAt?: number, isGone = false): HostFacts {
  return { report: { state, ...(lastAt === undefined ? {} : { lastAt }) }, pools: {}, isGone };
}

function pools(counts: Readonly<Record<string, number>>): HostFacts["pools"] {
  return Object.fromEntries(Object.entries(counts).map(([name, reclaimed]) => [name, { reclaimed }]));
}

describe("a host that falls silent", () => {
  /** How many events a row of visits makes, each with what was told before. */
  function told(...visits: readonly HostFacts[]): number[] {
    let known: HostTold = {};
    return visits.map((visit, at) => {
      const news = silenceNews("a", known, visit, at);
      known = news.told;
      return news.events.length;
    });
  }

  it("is told with the time of its last report", () => {
    const { events } = silenceNews("a", {}, facts("stale", 7), 100);
    expect(events).toEqual([{ at: 100, type: "host_silent", severity: "warning", host: "a", firstAt: 7 }]);
  });

  it("is told once, and again only after a report in between, which no visit need have met", () => {
    expect(told(facts("fresh", 7), facts("stale", 7), facts("stale", 7))).toEqual([0, 1, 0]);
    expect(told(facts("stale", 7), facts("fresh", 9), facts("stale", 9), facts("stale", 9))).toEqual([
      1, 0, 1, 0,
    ]);
    expect(told(facts("stale", 7), facts("stale", 9))).toEqual([1, 1]);
  });

  it("is not told again when only the bound was raised for a while", () => {
    expect(told(facts("stale", 7), facts("fresh", 7), facts("stale", 7))).toEqual([1, 0, 0]);
  });

  it("is no news where it never reported, or is gone", () => {
    expect(told(facts("never"), facts("fresh", 3))).toEqual([0, 0]);
    expect(told(facts("stale", 7, true))).toEqual([0]);
  });
});

describe("what was released of a host", () => {
  it("is one event of all since the last, with the pool where it is one", () => {
    const first = firstTold({}, pools({ blue: 3 }));
    expect(releaseNews("a", first, pools({ blue: 3 }), 9).events).toEqual([]);
    const news = releaseNews("a", first, pools({ blue: 8 }), 9);
    expect(news.events).toEqual([
      { at: 9, type: "leak_released", severity: "info", host: "a", count: 5, pool: "blue" },
    ]);
    expect(releaseNews("a", news.told, pools({ blue: 8 }), 10).events).toEqual([]);
  });

  it("is told by pool where there are several, and what is left of pools that are gone only in the sum", () => {
    const { events } = releaseNews("a", { released: {} }, pools({ blue: 1, red: 4, "": 2 }), 9);
    expect(events).toMatchObject([{ count: 7, after: { "pool.red": "4", "pool.blue": "1" } }]);
    expect(events[0]).not.toHaveProperty("pool");
    const partly = releaseNews("a", { released: {} }, pools({ blue: 1, "": 2 }), 9).events;
    expect(partly).toMatchObject([{ count: 3, after: { "pool.blue": "1" } }]);
    expect(partly[0]).not.toHaveProperty("pool");
    const left = releaseNews("a", { released: {} }, pools({ "": 2 }), 9).events;
    expect(left).toEqual([{ at: 9, type: "leak_released", severity: "info", host: "a", count: 2 }]);
  });

  it("is counted from what a host says first: what it released before is no news", () => {
    expect(releaseNews("a", {}, pools({ blue: 500 }), 9).events).toEqual([]);
    expect(firstTold({ released: { blue: 1 } }, pools({ blue: 500 }))).toEqual({ released: { blue: 1 } });
  });

  it("is not told again when a pool drops out and comes back, or an older answer comes late", () => {
    const { told } = releaseNews("a", { released: {} }, pools({ blue: 4 }), 9);
    expect(releaseNews("a", told, pools({}), 10)).toEqual({ events: [], told });
    expect(releaseNews("a", told, pools({ blue: 2 }), 10)).toEqual({ events: [], told });
    const back = releaseNews("a", told, pools({ blue: 5 }), 11);
    expect(back.events).toMatchObject([{ count: 1 }]);
  });

  it("names the pools with the most of it, however many there are", () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`p${n}`, n + 1]));
    const [event] = releaseNews("a", { released: {} }, pools(many), 9).events;
    expect(event?.count).toBe(5_050);
    const named = Object.keys(event?.after ?? {});
    expect(named.length).toBeLessThan(100);
    expect(named[0]).toBe("pool.p99");
  });
});

describe("a sweep with much to tell", () => {
  const released = (n: number): EventDraft => {
    return { at: 1, type: "leak_released", severity: "info", host: `h${n}`, count: n };
  };

  it("has so many events of hosts, and one for all others, by type", () => {
    let digests: Digests = {};
    const told: EventDraft[] = [];
    for (let n = 1; n <= OWN_EVENTS_MAX + 3; n += 1) {
      const news: EventDraft[] = [released(n)];
      if (n === 1) news.push({ at: 1, type: "host_silent", severity: "warning", host: "h1" });
      const gathered = gather(digests, news);
      digests = gathered.digests;
      told.push(...gathered.told);
    }
    expect(told.filter(({ type }) => type === "leak_released")).toHaveLength(OWN_EVENTS_MAX);
    expect(told.filter(({ type }) => type === "host_silent")).toHaveLength(1);
    const count = 3 * OWN_EVENTS_MAX + 6;
    expect(remainder(digests, 9)).toEqual([
      { at: 9, type: "leak_released", severity: "info", count, after: { others: "3" } },
    ]);
  });

  it("has no event for others where there are none", () => {
    const { digests, told } = gather(
      {},
      Array.from({ length: OWN_EVENTS_MAX }, (_, n) => released(n + 1)),
    );
    expect(told).toHaveLength(OWN_EVENTS_MAX);
    expect(remainder(digests, 9)).toEqual([]);
    expect(remainder({}, 9)).toEqual([]);
  });
});
