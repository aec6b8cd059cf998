/** The running service's metrics: what a leak leaves in them, what goes with its host or pool, what they cost. */
import parse from "parse-prometheus-text-format";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { counters, untilQuiet } from "../support/control.ts";
import { expectStatus } from "./client.ts";
import { type Stage, staged } from "./collector-stage.ts";

let stage: Stage;

beforeAll(async () => {
  // Long, so that nothing is told or looked over while calls are counted.
  stage = await staged({ reportMs: 600_000_000, indexPassMs: 600_000_000 });
});

afterAll(async () => {
  await stage.stop();
});

/** All samples as `name{label=value,…}`. */
async function scrape(): Promise<Record<string, number>> {
  const { text } = await expectStatus(stage.eyes("GET", "/metrics"), 200);
  const samples = parse(text).flatMap(({ name, metrics }) =>
    metrics.map(({ labels = {}, value }) => {
      const pairs = Object.entries(labels).map((pair) => pair.join("="));
      return [`${name}{${pairs}}`, Number(value)] as const;
    }),
  );
  expect(new Set(samples.map(([key]) => key)).size).toBe(samples.length);
  return Object.fromEntries(samples);
}

const on = (name: string, node: string) => `${name}{ippool=default,node=${node}}`;

describe("the metrics of a running service", () => {
  it("are not an agent's", async () => {
    await expectStatus(stage.agent("node-1")("GET", "/metrics"), 403);
  });

  it("begin at 0 for each known pool and node", async () => {
    const samples = await scrape();
    for (const node of ["node-1", "node-2"]) {
      expect(samples[on("ipam_allocations_in_use", node)]).toBe(0);
      expect(samples[on("ipam_allocations_gc_candidates", node)]).toBe(0);
    }
    expect(samples["ipam_ippool_size{ippool=default}"]).toBe(65_536);
  });

  it("show a leak as a candidate, and its release in the counter", async () => {
    await stage.pod("node-1", "stays");
    await stage.pod("node-1", "goes");
    await stage.pod("node-2", "other");
    await stage.pass(180);
    await stage.report("node-1", ["stays"]);
    await stage.report("node-2", ["other"]);
    await stage.sweep();
    const before = await scrape();
    expect(before).toMatchObject({
      [on("ipam_allocations_in_use", "node-1")]: 2,
      [on("ipam_allocations_in_use", "node-2")]: 1,
      [on("ipam_allocations_gc_candidates", "node-1")]: 1,
      [on("ipam_allocations_gc_candidates", "node-2")]: 0,
      [on("ipam_allocations_gc_reclamations", "node-1")]: 0,
      [on("ipam_blocks", "node-1")]: 1,
      "ipam_allocations_per_node{node=node-1}": 2,
      "ipam_gc_hosts_not_audited{}": 0,
    });
    await stage.pass(16 * 60);
    await stage.report("node-1", ["stays"]);
    await stage.pass(60);
    await stage.report("node-1", ["stays"]);
    await stage.report("node-2", ["other"]);
    await stage.sweep();
    expect(await scrape()).toMatchObject({
      [on("ipam_allocations_in_use", "node-1")]: 1,
      [on("ipam_allocations_gc_candidates", "node-1")]: 0,
      [on("ipam_allocations_gc_reclamations", "node-1")]: 1,
      [on("ipam_allocations_gc_reclamations", "node-2")]: 0,
      "ipam_gc_releases_last_hour{}": 1,
      "ipam_gc_breaker_open{}": 0,
    });
  });

  it("ask no host and no block", async () => {
    await untilQuiet(control);
    const before = await counters(control);
    await scrape();
    const after = await counters(control);
    // What was sent, since what arrives is alarms as well.
    const asked = Object.keys(after.sent).filter((name) => after.sent[name] !== before.sent[name]);
    expect(asked.toSorted()).toEqual([
      "cluster.listHosts",
      "cluster.policy",
      "pool.usage",
      "sweep.getGc",
      "sweep.hostFigures",
    ]);
  });

  it("say that the collector is paused", async () => {
    await expectStatus(stage.ops("PATCH", "/v1/gc", { paused: true, reason: "a test" }), 200);
    expect(await scrape()).toMatchObject({ "ipam_gc_paused{}": 1, "ipam_gc_state{state=paused}": 1 });
    await expectStatus(stage.ops("PATCH", "/v1/gc", { paused: false }), 200);
    expect((await scrape())["ipam_gc_paused{}"]).toBe(0);
  });

  it("count a block once at every look, while it loses its owner with an address in it", async () => {
    const at = { ippool: "moving", cidr: "10.12.0.0/26" };
    await expectStatus(stage.ops("PUT", `/v1/pools/${at.ippool}`, { cidr: at.cidr, blockSize: 26 }), 201);
    const held = { host: "node-1", handle: "moving.one" };
    await expectStatus(stage.ops("PUT", "/v1/allocations/10.12.0.5", held), 201);
    // The audit of the host that the metrics know of finds the block to be its own.
    await stage.sweep();
    const blocks = async () => {
      const samples = await scrape();
      const of = Object.entries(samples).filter(([key]) =>
        key.startsWith(`ipam_blocks{ippool=${at.ippool},`),
      );
      return Object.fromEntries(of.filter(([, value]) => value > 0));
    };
    expect(await blocks()).toEqual({ "ipam_blocks{ippool=moving,node=node-1}": 1 });
    const order = { cidr: at.cidr, mustBeEmpty: false };
    await expectStatus(stage.ops("POST", "/v1/affinity-releases", order), 200);
    await stage.until("the directory has it as nobody's", async () => {
      const counted = await blocks();
      expect(Object.values(counted)).toEqual([1]);
      return "ipam_blocks{ippool=moving,node=no_affinity}" in counted;
    });
  });

  it("count what a virtual owner has as that of an unknown node, in blocks that no node owns", async () => {
    const spec = { cidr: "10.13.0.0/26", blockSize: 26, allowedUses: ["LoadBalancer"] };
    await expectStatus(stage.ops("PUT", "/v1/pools/outward", spec), 201);
    const wish = { host: "virtual:lb", handle: "lb.one", use: "LoadBalancer", ipv4: { count: 1 } };
    await expectStatus(stage.ops("POST", "/v1/allocations", wish), 201);
    await stage.sweep();
    const of = (samples: Record<string, number>) => ({
      blocks: samples["ipam_blocks{ippool=outward,node=no_affinity}"],
      inUse: samples["ipam_allocations_in_use{ippool=outward,node=unknown_node}"],
      named: Object.keys(samples).filter((key) => key.includes("virtual")),
    });
    expect(of(await scrape())).toEqual({ blocks: 1, inUse: 1, named: [] });
    await expectStatus(stage.ops("DELETE", "/v1/handles/lb.one"), 200);
    // A reading of a block is good for ten minutes at most.
    await stage.pass(11 * 60);
    await stage.sweep();
    expect(of(await scrape())).toEqual({ blocks: 1, inUse: 0, named: [] });
  });

  it("lose what is of a host or a pool that has gone", async () => {
    const spec = { cidr: "10.11.0.0/24", blockSize: 26 };
    await expectStatus(stage.ops("PUT", "/v1/pools/passing", spec), 201);
    expect(await scrape()).toHaveProperty(["ipam_ippool_size{ippool=passing}"], 256);
    await expectStatus(stage.ops("DELETE", "/v1/pools/passing"), 200, 202);
    await expectStatus(stage.ops("DELETE", "/v1/handles/pods.other"), 200);
    await expectStatus(stage.ops("DELETE", "/v1/hosts/node-2"), 200, 202);
    await stage.until("both have gone", async () => {
      const keys = Object.keys(await scrape());
      await stage.pass(60);
      await stage.sweep();
      return !keys.some((key) => /passing|node-2/.test(key));
    });
    expect((await scrape())[on("ipam_allocations_in_use", "node-1")]).toBe(1);
  });
});

/** The test entry's controls, over the stage's operator. */
const control = {
  must: async (method: string, path: string, body?: unknown) => (await stage.ops(method, path, body)).body,
};
