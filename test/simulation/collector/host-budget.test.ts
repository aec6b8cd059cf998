/**
 * What reports cost a Host: nothing while nothing changes, a row for each suspicion, a bounded number of calls.
 */
import { describe, expect, test } from "vitest";
import { HOST_A } from "../histories/stage.ts";
import { FakeCluster, MINUTE, type Stage, staged } from "./host-stage.ts";

interface Cost {
  readonly calls: number;
  readonly rows: number;
}

/** What the Host sends, and the rows that it writes, while something is done. */
async function costOf({ world }: Stage, work: () => Promise<unknown>): Promise<Cost> {
  const before = world.counters.read();
  await work();
  const { calls, rows } = world.counters.since(before);
  // The lease of the policy is taken by whatever comes first.
  const own = Object.entries(calls).filter(
    ([what]) => what.startsWith("HostObject>") && !what.endsWith(".lease"),
  );
  return { calls: own.reduce((sum, [, count]) => sum + count, 0), rows: rows[HOST_A] ?? 0 };
}

describe("a host that reports", () => {
  test("costs no row and no call while its report says the same", async () => {
    const stage = await staged();
    for (const pod of ["one", "two", "three"]) await stage.pod("a", pod);
    await stage.reported("a", ["one", "two", "three"]);
    await stage.world.advance(MINUTE);
    await stage.reported("a", ["one", "two", "three"]);
    await stage.world.advance(MINUTE);
    expect(await costOf(stage, () => stage.reported("a", ["three", "one", "two"]))).toEqual({
      calls: 0,
      rows: 0,
    });
  });

  test("stores its place again before it would seem stale after a crash", async () => {
    const stage = await staged();
    await stage.pod("a", "one");
    await stage.reports("a", ["one"], 0, 2 * MINUTE, 2 * MINUTE, 2 * MINUTE, 2 * MINUTE);
    stage.world.evict(HOST_A);
    const { view } = await stage.world.during(stage.scene.deployed.ports.host("a").describe({ host: "a" }));
    expect(view?.report).toMatchObject({ state: "fresh", workloads: 1, complete: true });
  });

  test("of whom one pod is gone costs a few rows and one block", async () => {
    const stage = await staged();
    for (const pod of ["one", "two", "three"]) await stage.pod("a", pod);
    await stage.reports("a", ["one", "two", "three"], 0, MINUTE, MINUTE);
    const cost = await costOf(stage, () => stage.reported("a", ["one", "two"]));
    expect(cost).toEqual({ calls: 1, rows: expect.any(Number) });
    // The body, its place and the suspicion.
    expect(cost.rows).toBeLessThanOrEqual(6);
  });

  test("of whom hundreds of pods are gone stays below 900 calls in one audit, and ends", async () => {
    const stage = await staged({ pools: { default: { cidr: "10.0.0.0/20", blockSize: 30 } } });
    const pods = [...Array(240).keys()].map((at) => `pod-${at}`);
    for (const pod of pods) await stage.pod("a", pod);
    await stage.reports("a", [], 3 * MINUTE, 4 * MINUTE, 4 * MINUTE, 3 * MINUTE);
    await stage.world.advance(MINUTE);
    const cost = await costOf(stage, () => stage.reported("a", []));
    expect(cost.calls).toBeGreaterThan(100);
    expect(cost.calls).toBeLessThan(900);
    for (let count = 0; count < 4; count += 1) await stage.reports("a", [], MINUTE);
    expect(stage.handles()).toEqual(new Set());
    expect(stage.faults()).toEqual([]);
  });

  test("frees what is leaked, however many handles are kept by members elsewhere", async () => {
    const stage = await staged({ pools: { default: { cidr: "10.0.0.0/20", blockSize: 26 } } });
    for (let at = 0; at < 110; at += 1) {
      await stage.pod("a", `gone-${at}`, { handle: `shared-${at}` });
      await stage.pod("b", `lives-${at}`, { handle: `shared-${at}` });
    }
    await stage.pod("a", "own");
    await stage.reports("a", [], 3 * MINUTE, 4 * MINUTE, 4 * MINUTE, 3 * MINUTE, MINUTE, MINUTE, MINUTE);
    expect(stage.handles()).not.toContain("net.own");
    expect(stage.handles().size).toBe(110);
    // They wait for others, not for the brakes: nothing goes round meanwhile.
    expect(await costOf(stage, () => stage.world.advance(3 * MINUTE))).toMatchObject({ calls: 0 });
  });

  test("frees with a cluster what is leaked, however many handles are kept by members elsewhere", async () => {
    const cluster = new FakeCluster();
    const stage = await staged({ cluster, pools: { default: { cidr: "10.0.0.0/20", blockSize: 26 } } });
    for (let at = 0; at < 110; at += 1) {
      await stage.pod("a", `gone-${at}`, { handle: `shared-${at}` });
      const lives = await stage.pod("b", `lives-${at}`, { handle: `shared-${at}` });
      const addresses = lives.kind === "ok" ? lives.addresses.map(({ address }) => address) : [];
      cluster.put(`lives-${at}`, "b", addresses);
    }
    await stage.pod("a", "own");
    for (let visit = 0; visit < 8; visit += 1) {
      await stage.world.advance(4 * MINUTE);
      await stage.audited("a");
    }
    expect(stage.handles()).not.toContain("net.own");
    expect(stage.handles().size).toBe(110);
  });
});
