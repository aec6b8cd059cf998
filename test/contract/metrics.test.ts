/** The metrics over fake objects: the format, what is seeded, what goes, what it costs. */
import parse from "parse-prometheus-text-format";
import { describe, expect, it } from "vitest";
import { metricsText } from "../../src/http/metrics-text.ts";
import type { GcView, HostLeakFigures, HostPoolFigures } from "../../src/rpc/leaks.ts";
import { bearer, fake, tokensOf } from "./fake-deployment.ts";

const gc: GcView = {
  state: "breaker_open",
  paused: false,
  sweep: 7,
  lastSweepAt: 1_700_000_000_500,
  lastSweepMs: 2_500,
  oldestAuditMs: 61_500,
  backlogHosts: 3,
  counts: { candidates: 4, confirmed: 2, held: 1 },
  releasedLastHour: 9,
  hostsStale: 1,
  hostsNeverReported: 2,
  breaker: { open: true },
  tick: { lastAt: 1_700_000_001_000, overdue: true },
};

function figures(pools: Record<string, Partial<HostPoolFigures>>, more: Partial<HostLeakFigures> = {}) {
  const none = { allocated: 0, borrowed: 0, blocks: 0, candidates: 0, reclaimed: 0 };
  const entries = Object.entries(pools).map(([name, some]) => [name, { ...none, ...some }] as const);
  const told: HostLeakFigures = {
    auditedAt: 1,
    allocated: entries.reduce((sum, [, { allocated }]) => sum + allocated, 0),
    counts: { candidates: 0, confirmed: 0, held: 0 },
    heldByReason: {},
    unknownBySource: {},
    unauditable: {},
    report: { state: "fresh", workloads: 0 },
    pools: Object.fromEntries(entries),
    isGone: false,
    ...more,
  };
  return told;
}

interface World {
  readonly pools: readonly string[];
  /** Blocks by owner in the directory of each pool. */
  readonly owners?: Readonly<Record<string, readonly (readonly [owner: string, blocks: number])[]>>;
  readonly hosts: readonly {
    readonly host: string;
    readonly registered?: boolean;
    readonly figures?: HostLeakFigures;
  }[];
  readonly auth?: { readonly tokens: string };
}

/** Pages of two, so that there are several. */
function page<T extends { host: string }>(all: readonly T[], { after = "" }: { after?: string }) {
  const rest = all.filter(({ host }) => host > after);
  const hosts = rest.slice(0, 2);
  const last = hosts.at(-1)?.host;
  return rest.length > 2 && last !== undefined ? { hosts, next: last } : { hosts };
}

function service({ pools, hosts, auth, owners = {} }: World) {
  const definitions = pools.map((name, place) => ({
    name,
    incarnation: place + 1,
    cidr: `10.${place}.0.0/16`,
    family: 4,
    blockSize: 26,
    nodeSelector: "all()",
    namespaceSelector: "",
  }));
  const told = hosts.flatMap(({ host, figures }) => (figures === undefined ? [] : [{ host, figures }]));
  return fake({
    policy: { pools: definitions as never },
    ...(auth === undefined ? {} : { auth }),
    answers: {
      "cluster.listHosts": (request) =>
        page(
          hosts.map(({ host, registered = true }) => ({ host, registered, removing: false })),
          request,
        ),
      "sweep.hostFigures": (request) => page(told, request),
      "sweep.getGc": () => gc,
      "pool.usage": ({ pool, withOwners }) => ({
        capacity: "340282366920938463463374607431768211456",
        allocated: "5",
        cooling: "1",
        reserved: "2",
        available: "3",
        blocks: 4,
        blocksUnowned: 1,
        ...(withOwners === true ? { owners: owners[pool] ?? [] } : {}),
      }),
    },
  });
}

/** All samples as `name{label=value,…}`, read by a parser that is not ours. */
async function scrape(world: World, query = ""): Promise<Record<string, string>> {
  const answer = await service(world).send("GET", `/metrics${query}`);
  expect(answer.status).toBe(200);
  return samplesOf(await answer.text());
}

function samplesOf(text: string): Record<string, string> {
  const samples: Record<string, string> = {};
  for (const { name, metrics } of parse(text)) {
    for (const { labels = {}, value } of metrics) {
      const key = `${name}{${Object.entries(labels).map((pair) => pair.join("="))}}`;
      expect(samples).not.toHaveProperty([key]);
      samples[key] = value;
    }
  }
  return samples;
}

const world: World = {
  pools: ["blue", "red"],
  owners: { blue: [["a", 3]], red: [["b", 1]] },
  hosts: [
    {
      host: "a",
      figures: figures({ blue: { allocated: 3, borrowed: 1, blocks: 2, candidates: 1, reclaimed: 8 } }),
    },
    { host: "b", figures: figures({ red: { allocated: 4, blocks: 1 }, "": { allocated: 2 } }) },
    { host: "c" },
  ],
};

describe("the metrics", () => {
  it("are text of the format's version 0.0.4, for readers and not for agents", async () => {
    const tokens = await tokensOf(
      { name: "eyes", role: "reader" },
      { name: "agent", role: "agent", host: "a" },
    );
    const served = service({ ...world, auth: { tokens } });
    const answer = await served.send("GET", "/metrics", { headers: bearer("eyes") });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect((await served.send("GET", "/metrics")).status).toBe(401);
    expect((await served.send("GET", "/metrics", { headers: bearer("agent") })).status).toBe(403);
    expect((await served.send("POST", "/metrics", { headers: bearer("eyes") })).headers.get("allow")).toBe(
      "GET, HEAD",
    );
  });

  it("have a sample for every known pool on every known node, 0 where nothing is", async () => {
    const samples = await scrape(world);
    for (const name of [
      "ipam_allocations_in_use",
      "ipam_allocations_borrowed",
      "ipam_allocations_gc_candidates",
    ]) {
      for (const node of ["a", "b", "c"]) {
        for (const ippool of ["blue", "red"]) {
          expect(samples).toHaveProperty([`${name}{ippool=${ippool},node=${node}}`]);
        }
      }
    }
    expect(samples["ipam_allocations_in_use{ippool=blue,node=a}"]).toBe("3");
    expect(samples["ipam_allocations_in_use{ippool=red,node=a}"]).toBe("0");
    expect(samples["ipam_allocations_in_use{ippool=red,node=c}"]).toBe("0");
    expect(samples["ipam_allocations_borrowed{ippool=blue,node=a}"]).toBe("1");
    expect(samples["ipam_allocations_gc_candidates{ippool=blue,node=a}"]).toBe("1");
    expect(samples["ipam_blocks{ippool=blue,node=no_affinity}"]).toBe("1");
    expect(samples["ipam_allocations_per_node{node=b}"]).toBe("6");
    expect(samples["ipam_allocations_borrowed_per_node{node=a}"]).toBe("1");
    expect(samples["ipam_blocks_per_node{node=no_affinity}"]).toBe("2");
    expect(samples["ipam_gc_hosts_not_audited{}"]).toBe("1");
  });

  it("count blocks by owner as the pool has them now, whatever an audit saw before", async () => {
    const samples = await scrape({
      ...world,
      owners: { blue: [["b", 2]], red: [["virtual:lb", 3]] },
    });
    const blocks = (ippool: string, node: string) => samples[`ipam_blocks{ippool=${ippool},node=${node}}`];
    // The audit of a saw two blocks of blue; one of them has lost its owner since, and is nobody's.
    expect(blocks("blue", "a")).toBe("0");
    expect(blocks("blue", "b")).toBe("2");
    expect(blocks("blue", "no_affinity")).toBe("1");
    expect(blocks("red", "b")).toBe("0");
    expect(samples["ipam_blocks_per_node{node=a}"]).toBe("0");
    expect(samples["ipam_blocks_per_node{node=b}"]).toBe("2");
  });

  it("count blocks of virtual owners as nobody's, and their addresses as those of an unknown node", async () => {
    const samples = await scrape({
      pools: ["blue", "red"],
      owners: { red: [["virtual:lb", 3]] },
      hosts: [
        { host: "a", figures: figures({ blue: { allocated: 1 } }) },
        { host: "virtual:lb", figures: figures({ red: { allocated: 4, borrowed: 1, blocks: 3 } }) },
        { host: "virtual:other", figures: figures({ red: { allocated: 2, blocks: 1 }, "": { blocks: 1 } }) },
      ],
    });
    expect(Object.keys(samples).filter((key) => key.includes("virtual:"))).toEqual([]);
    expect(samples).toMatchObject({
      "ipam_allocations_in_use{ippool=red,node=unknown_node}": "6",
      "ipam_allocations_in_use{ippool=blue,node=unknown_node}": "0",
      "ipam_allocations_borrowed{ippool=red,node=unknown_node}": "1",
      "ipam_allocations_gc_candidates{ippool=red,node=unknown_node}": "0",
      "ipam_allocations_per_node{node=unknown_node}": "6",
      "ipam_blocks{ippool=red,node=no_affinity}": "4",
      "ipam_blocks{ippool=blue,node=no_affinity}": "1",
      "ipam_blocks{ippool=no_ippool,node=no_affinity}": "1",
      "ipam_blocks_per_node{node=no_affinity}": "6",
    });
    expect(Object.keys(samples).filter((key) => /reclamations.*unknown_node/.test(key))).toEqual([]);
  });

  it("know an owner that no list of hosts names and that has told nothing", async () => {
    const hosts = [{ host: "left", registered: false }];
    const samples = await scrape({
      pools: ["blue"],
      owners: {
        blue: [
          ["left", 2],
          ["lost", 1],
        ],
      },
      hosts,
    });
    for (const [node, blocks] of [
      ["left", "2"],
      ["lost", "1"],
    ]) {
      expect(samples[`ipam_blocks{ippool=blue,node=${node}}`]).toBe(blocks);
      expect(samples[`ipam_allocations_in_use{ippool=blue,node=${node}}`]).toBe("0");
    }
  });

  it("have every gauge for nobody and for no pool, at 0 where nothing is", async () => {
    const samples = await scrape({ pools: ["blue"], hosts: [] });
    for (const ippool of ["blue", "no_ippool"]) {
      for (const name of ["in_use", "borrowed", "gc_candidates"]) {
        expect(samples[`ipam_allocations_${name}{ippool=${ippool},node=unknown_node}`]).toBe("0");
      }
    }
    expect(samples["ipam_blocks{ippool=no_ippool,node=no_affinity}"]).toBe("0");
    expect(samples["ipam_allocations_per_node{node=unknown_node}"]).toBe("0");
  });

  it("count addresses that are in no pool as those of no_ippool, and 0 once there are none", async () => {
    const samples = await scrape(world);
    expect(samples["ipam_allocations_in_use{ippool=no_ippool,node=b}"]).toBe("2");
    expect(samples["ipam_allocations_in_use{ippool=no_ippool,node=a}"]).toBe("0");
  });

  it("tell what a host found in blocks without a pool, and nothing that it told before its pool went", async () => {
    const before = { allocated: 7, borrowed: 7, blocks: 7, candidates: 7, reclaimed: 7 };
    const left = { allocated: 2, borrowed: 1, blocks: 3, candidates: 4, reclaimed: 5 };
    const hosts = [{ host: "a", figures: figures({ blue: { blocks: 1 }, gone: before, "": left }) }];
    const samples = await scrape({ pools: ["blue"], hosts });
    const at = (name: string, node = "a") => samples[`${name}{ippool=no_ippool,node=${node}}`];
    expect(at("ipam_allocations_in_use")).toBe("2");
    expect(at("ipam_allocations_borrowed")).toBe("1");
    expect(at("ipam_allocations_gc_candidates")).toBe("4");
    expect(at("ipam_blocks")).toBe("3");
    // The counter of a pool goes with it, and moves to no other.
    expect(at("ipam_allocations_gc_reclamations")).toBe("5");
    expect(samples["ipam_allocations_per_node{node=a}"]).toBe("2");
    expect(samples["ipam_blocks_per_node{node=a}"]).toBe("3");
    expect(samples["ipam_allocations_borrowed_per_node{node=a}"]).toBe("1");
    const sums = await scrape({ pools: ["blue"], hosts }, "?perHost=false");
    expect(sums["ipam_blocks{ippool=no_ippool}"]).toBe("3");
  });

  it("are 0 for what is in no pool, everywhere", async () => {
    const samples = await scrape(world);
    for (const name of ["allocations_borrowed", "allocations_gc_candidates", "blocks"]) {
      for (const node of ["a", "b", "c"]) {
        expect(samples[`ipam_${name}{ippool=no_ippool,node=${node}}`]).toBe("0");
      }
    }
    expect(samples["ipam_allocations_gc_reclamations{ippool=no_ippool,node=a}"]).toBe("0");
  });

  it("lose the samples of a pool and of a host that went", async () => {
    const hosts = world.hosts.map((one) =>
      one.host === "a" ? { host: "a", registered: false, figures: figures({}) } : one,
    );
    const keys = Object.keys(await scrape({ pools: ["red"], hosts }));
    expect(keys.filter((key) => key.includes("blue") || key.includes("node=a"))).toEqual([]);
    expect(keys).toContain("ipam_allocations_in_use{ippool=red,node=b}");
  });

  it("keep a host that is not registered while it holds something", async () => {
    const hosts = world.hosts.map((one) => ({ ...one, registered: false }));
    const samples = await scrape({ ...world, hosts });
    expect(samples["ipam_allocations_in_use{ippool=blue,node=a}"]).toBe("3");
    expect(samples).not.toHaveProperty(["ipam_allocations_in_use{ippool=blue,node=c}"]);
  });

  it("count reclamations where a host told of them, and never as 0 where it did not tell", async () => {
    const samples = await scrape(world);
    expect(samples["ipam_allocations_gc_reclamations{ippool=blue,node=a}"]).toBe("8");
    expect(samples["ipam_allocations_gc_reclamations{ippool=red,node=a}"]).toBe("0");
    expect(samples).not.toHaveProperty(["ipam_allocations_gc_reclamations{ippool=blue,node=c}"]);
  });

  it("tell counts of any size in full", async () => {
    const answer = await service(world).send("GET", "/metrics");
    expect(await answer.text()).toContain(
      'ipam_ippool_size{ippool="blue"} 340282366920938463463374607431768211456\n',
    );
  });

  it("have the same sums by pool without nodes, and then no counter", async () => {
    const samples = await scrape(world, "?perHost=false");
    expect(Object.keys(samples).filter((key) => key.includes("node="))).toEqual([]);
    expect(samples["ipam_allocations_in_use{ippool=blue}"]).toBe("3");
    expect(samples["ipam_allocations_in_use{ippool=no_ippool}"]).toBe("2");
    expect(samples["ipam_blocks{ippool=red}"]).toBe("4");
    expect(Object.keys(samples).filter((key) => key.includes("reclamations"))).toEqual([]);
  });

  it("ask pools, Cluster and Sweep alone, two calls for each page of hosts", async () => {
    const served = service(world);
    await served.send("GET", "/metrics");
    const asked = served.asked.map(({ method }) => method).toSorted();
    expect(asked).toEqual([
      "cluster.listHosts",
      "cluster.listHosts",
      "cluster.policy",
      "pool.usage",
      "pool.usage",
      "sweep.getGc",
      "sweep.hostFigures",
    ]);
  });
});

describe("the collector's metrics", () => {
  it("tell its state, its progress and its brakes", async () => {
    const samples = await scrape(world);
    expect(samples).toMatchObject({
      "ipam_gc_state{state=breaker_open}": "1",
      "ipam_gc_state{state=idle}": "0",
      "ipam_gc_leaks{state=candidates}": "4",
      "ipam_gc_leaks{state=held}": "1",
      "ipam_gc_backlog_hosts{}": "3",
      "ipam_gc_oldest_audit_age_seconds{}": "61.5",
      "ipam_gc_breaker_open{}": "1",
      "ipam_gc_paused{}": "0",
      "ipam_gc_sweep{}": "7",
      "ipam_gc_last_sweep_timestamp_seconds{}": "1700000000.5",
      "ipam_gc_tick_overdue{}": "1",
      "ipam_gc_releases_last_hour{}": "9",
      "ipam_gc_hosts_stale{}": "1",
      "ipam_gc_hosts_never_reported{}": "2",
    });
  });

  it("add up what is held, unknown and unauditable over all hosts", async () => {
    const more = {
      heldByReason: { paused: 2 },
      unknownBySource: { report: 3 },
      unauditable: { external: 1 },
    };
    const hosts = ["a", "b", "c"].map((host) => ({ host, figures: figures({}, more) }));
    expect(await scrape({ pools: [], hosts })).toMatchObject({
      "ipam_gc_held{reason=paused}": "6",
      "ipam_gc_held{reason=breaker_open}": "0",
      "ipam_gc_unknown{source=report}": "9",
      "ipam_gc_unknown{source=kubernetes}": "0",
      "ipam_gc_unknown{source=attachments}": "0",
      "ipam_gc_unauditable{kind=external}": "3",
      "ipam_gc_unauditable{kind=tunnel}": "0",
    });
  });
});

describe("the text", () => {
  it("escapes what would end a label or a line", () => {
    const samples = [{ labels: { label: 'a"b\\c\nd' }, value: 1 }];
    const text = metricsText([{ name: "one", type: "gauge", help: "back\\slash\nnew line", samples }]);
    expect(text).toBe(
      '# HELP one back\\\\slash\\nnew line\n# TYPE one gauge\none{label="a\\"b\\\\c\\nd"} 1\n',
    );
    expect(parse(text)[0]?.metrics[0]?.labels).toEqual({ label: 'a"b\\c\nd' });
  });

  it("says nothing of a family without samples", () => {
    expect(metricsText([{ name: "one", type: "counter", help: "", samples: [] }])).toBe("");
  });
});
