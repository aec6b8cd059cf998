/**
 * What the Sweep tells a Host of its node: seen, missing and looked for, or nothing at all.
 * I11: a list that is not complete says nothing, and a host that was never a node is not missing.
 */
import { describe, expect, test } from "vitest";
import { NODE_LOSS_MS } from "../../../src/core/leak-host.ts";
import type { ClusterSource, NodeLook, NodesPage } from "../../../src/rpc/cluster-source.ts";
import { MINUTE, names, SWEEP, SweepStage } from "./sweep-stage.ts";

/** A cluster with these nodes, in pages of three; a test may answer in its place. */
class Cluster implements ClusterSource {
  readonly nodes = new Set<string>();
  readonly read: string[] = [];
  lists = 0;
  page: ((cursor: string | undefined, usual: NodesPage) => NodesPage) | undefined;
  look: ((node: string, usual: NodeLook) => NodeLook) | undefined;

  async listNodes(cursor?: string): Promise<NodesPage> {
    this.lists += 1;
    const all = [...this.nodes].toSorted();
    const from = cursor === undefined ? 0 : Number(cursor);
    const names = all.slice(from, from + 3);
    const isLast = from + 3 >= all.length;
    const usual: NodesPage = { kind: "page", names, ...(isLast ? {} : { next: String(from + 3) }) };
    return this.page?.(cursor, usual) ?? usual;
  }

  async readNode(node: string): Promise<NodeLook> {
    this.read.push(node);
    const usual: NodeLook = this.nodes.has(node) ? "found" : "not_found";
    return this.look?.(node, usual) ?? usual;
  }

  async podsOn(): Promise<never> {
    throw new Error("the Sweep asks for no pods");
  }

  async readPods(): Promise<never> {
    throw new Error("the Sweep asks for no pods");
  }
}

async function staged(...hosts: readonly string[]) {
  const cluster = new Cluster();
  const stage = new SweepStage({ settings: { tickMs: 0 }, cluster });
  for (const host of hosts) cluster.nodes.add(host);
  await stage.enrol(...hosts);
  /** Sweeps once, and returns what each host was told. */
  const swept = async () => {
    const before = stage.visits.length;
    await stage.world.during(stage.sweep.startSweep({ by: "test" }));
    await stage.world.advance(5_000);
    return Object.fromEntries(stage.visits.slice(before).map(({ host, sighting }) => [host, sighting]));
  };
  return { cluster, stage, swept };
}

describe("a node", () => {
  test("is seen at the first visit by a direct look, then by lists alone", async () => {
    const { cluster, stage, swept } = await staged(...names(7));
    const first = await swept();
    expect(first.h0003?.seenAt).toBeLessThanOrEqual(stage.world.now);
    expect(cluster.read).toHaveLength(7);
    expect(cluster.lists).toBe(3);
    const before = stage.world.now;
    const second = await swept();
    expect(cluster.read).toHaveLength(7);
    expect(second.h0003?.seenAt).toBeGreaterThanOrEqual(before);
    expect(second.h0003?.missingSince).toBeUndefined();
  });

  test("that a complete list does not name is missing since then, and looked for directly after a minute", async () => {
    const { cluster, stage, swept } = await staged("a", "b");
    await swept();
    cluster.nodes.delete("a");
    const gone = stage.world.now;
    const first = await swept();
    expect(first.a?.notFoundAt).toBeUndefined();
    expect(first.a?.missingSince).toBeGreaterThanOrEqual(gone);
    await stage.world.advance(NODE_LOSS_MS);
    const second = await swept();
    expect(second.a?.missingSince).toBe(first.a?.missingSince);
    expect((second.a?.notFoundAt ?? 0) - (second.a?.missingSince ?? 0)).toBeGreaterThanOrEqual(NODE_LOSS_MS);
    expect(second.b?.missingSince).toBeUndefined();
  });

  test("that is found directly, or named again, is missing no longer", async () => {
    const { cluster, stage, swept } = await staged("a", "b");
    await swept();
    for (const way of ["direct", "listed"]) {
      cluster.nodes.delete("a");
      await swept();
      await stage.world.advance(2 * MINUTE);
      if (way === "direct") cluster.look = () => "found";
      else cluster.nodes.add("a");
      const again = await swept();
      expect(again.a?.missingSince, way).toBeUndefined();
      expect(again.a?.seenAt, way).toBeGreaterThan(stage.world.now - MINUTE);
      cluster.look = undefined;
    }
  });

  test("that could not be looked for is unreadable, and not found no later than it was", async () => {
    const { cluster, stage, swept } = await staged("a");
    await swept();
    cluster.nodes.delete("a");
    await swept();
    await stage.world.advance(2 * MINUTE);
    const found = (await swept()).a?.notFoundAt;
    cluster.look = () => "unreadable";
    await stage.world.advance(2 * MINUTE);
    expect((await swept()).a).toMatchObject({ isUnreadable: true, notFoundAt: found });
    cluster.look = undefined;
    expect((await swept()).a?.isUnreadable).toBeUndefined();
  });

  test("I11: that was never seen is told nothing of: its host may be no node of this cluster", async () => {
    const { cluster, stage, swept } = await staged("a");
    await stage.enrol("bare-metal", "virtual:load-balancer");
    for (let sweep = 0; sweep < 3; sweep += 1) {
      const told = await swept();
      expect(told["bare-metal"]).toBeUndefined();
      expect(told["virtual:load-balancer"]).toBeUndefined();
      await stage.world.advance(2 * MINUTE);
    }
    cluster.nodes.add("bare-metal");
    expect((await swept())["bare-metal"]?.seenAt).toBeGreaterThan(0);
    expect(cluster.read).not.toContain("virtual:load-balancer");
  });
});

describe("a list of nodes", () => {
  const cut: Record<string, (cursor: string | undefined, usual: NodesPage) => NodesPage> = {
    "cannot be read": () => ({ kind: "unreadable", what: "forbidden: needs list nodes" }),
    "breaks off": (cursor, usual) => (cursor === undefined ? usual : { kind: "unreadable", what: "cut off" }),
    "expires for ever": (cursor, usual) => (cursor === undefined ? usual : { kind: "expired" }),
    "never ends": () => ({ kind: "page", names: ["h0001"], next: "3" }),
    "is larger than a row can be": () => ({ kind: "page", names: Array(10_000).fill("n".repeat(253)) }),
    "goes on at a place that no row can hold": () => ({
      kind: "page",
      names: [],
      next: "p".repeat(3_000_000),
    }),
  };
  for (const [how, page] of Object.entries(cut)) {
    test(`I11: that ${how} makes no node missing, and the sweep goes on`, async () => {
      const { cluster, stage, swept } = await staged(...names(7));
      await swept();
      cluster.page = page;
      // It would have named this one no more.
      cluster.nodes.delete("h0000");
      const told = await swept();
      expect(Object.values(told).filter((sighting) => sighting?.missingSince !== undefined)).toEqual([]);
      expect(Object.keys(told)).toHaveLength(7);
      const { lastError, state } = await stage.gc();
      expect(state).toBe("idle");
      if (how === "cannot be read") expect(lastError?.what).toContain("forbidden: needs list nodes");
      if (how === "never ends") expect(lastError?.what).toContain("too many pages");
      cluster.page = undefined;
      expect((await swept()).h0000?.missingSince).toBeGreaterThan(0);
    });
  }

  test("that expires on the way begins anew, and the names of the first try are not believed", async () => {
    const { cluster, swept } = await staged(...names(7));
    await swept();
    let expired = 0;
    cluster.page = (cursor, usual) => {
      if (cursor !== "3" || expired > 0) return usual;
      expired += 1;
      cluster.nodes.delete("h0000");
      return { kind: "expired" };
    };
    const told = await swept();
    expect(expired).toBe(1);
    expect(told.h0000?.missingSince).toBeGreaterThan(0);
    expect(told.h0006?.missingSince).toBeUndefined();
  });

  test("goes on where it was after a crash between any two pages", async () => {
    for (let nth = 0; nth < 6; nth += 1) {
      for (const point of ["before-commit", "after-commit"] as const) {
        const { cluster, stage, swept } = await staged(...names(10));
        await swept();
        cluster.nodes.delete("h0009");
        const commits = () => stage.world.counters.read().commits[SWEEP] ?? 0;
        const before = commits();
        stage.sweep.startSweep({ by: "test" }).catch(() => {});
        while (commits() < before + nth && (await stage.world.step()));
        stage.world.crash(SWEEP, point);
        await stage.world.advance(5_000);
        const told = Object.fromEntries(stage.visits.slice(10).map((visit) => [visit.host, visit.sighting]));
        const missing = Object.entries(told).filter(([, sighting]) => sighting?.missingSince !== undefined);
        // Where the first commit was lost there is no sweep at all.
        if (nth > 0 || point === "after-commit") expect(missing.map(([host]) => host)).toEqual(["h0009"]);
        stage.world.dispose();
      }
    }
  });
});
