/**
 * A host that is gone: by an operator's word or by the cluster's, and one that comes back before all is done.
 */
import { describe, expect, test } from "vitest";
import type { CrashPoint } from "../../support/simulation/instance.ts";
import { HOST_A, ownerOf, POOL, rowsOf } from "../histories/stage.ts";
import { blockObject, FakeCluster, MINUTE, type Stage, staged } from "./host-stage.ts";

const BLOCK = "10.0.0.0/26";

/** What the Sweep tells of a node that a list missed and a direct read did not find. */
function lost(stage: Stage) {
  const now = stage.world.now;
  return { sighting: { missingSince: now - 2 * MINUTE, notFoundAt: now } };
}

describe("a removed host", () => {
  test("gives up its workloads and its tunnel at once, and is forgotten", async () => {
    const stage = await staged();
    await stage.pod("a", "one", { v4: 2 });
    const tunnel = { handle: "vxlan-tunnel-addr-a", v4: 1, use: "Tunnel" as const };
    await stage.world.during(stage.scene.allocate("a", tunnel));
    await stage.world.advance(10_000);
    await stage.world.during(stage.scene.deployed.ports.host("a").remove({ host: "a" }));
    await stage.world.advance(30_000);
    expect(await stage.held(BLOCK)).toEqual([]);
    expect(stage.brakes.asked.at(-1)).toMatchObject({ isRemoved: true });
    await stage.world.advance(20 * MINUTE);
    const { view } = await stage.world.during(stage.scene.deployed.ports.host("a").describe({ host: "a" }));
    expect(view).toBeUndefined();
    expect(stage.world.rows(HOST_A, "SELECT * FROM leaks")).toEqual([]);
    expect(stage.faults()).toEqual([]);
  });

  test("I11: keeps what its agent goes on to report, and what nobody can look for", async () => {
    const stage = await staged();
    await stage.pod("a", "lives");
    await stage.world.during(stage.scene.allocate("a", { handle: "external", v4: 1 }));
    await stage.reported("a", ["lives"]);
    await stage.world.advance(10_000);
    await stage.world.during(stage.scene.deployed.ports.host("a").remove({ host: "a" }));
    expect(await stage.reported("a", ["lives"])).toMatchObject({ ok: true });
    await stage.world.advance(30_000);
    expect(await stage.held(BLOCK)).toHaveLength(2);
    expect(await stage.reported("a", [], { incarnation: "another", sequence: 1 })).toMatchObject({
      error: { code: "incarnation_conflict" },
    });
  });

  test("I11: who reported first while it was being removed is known once another machine has its name", async () => {
    const stage = await staged();
    const host = stage.scene.deployed.ports.host("a");
    await stage.world.during(stage.scene.allocate("a", { handle: "external", v4: 1 }));
    await stage.world.during(host.remove({ host: "a" }));
    expect(await stage.reported("a", [], { incarnation: "old", sequence: 1 })).toMatchObject({ ok: true });
    const another = { host: "a", labels: {}, incarnation: "new" };
    expect(await stage.world.during(host.register(another))).toMatchObject({ ok: true });
    // A copy that comes late, or an agent that was cut off for a while.
    for (const sequence of [1, 2]) {
      expect(await stage.reported("a", [], { incarnation: "old", sequence })).toMatchObject({
        error: { code: "incarnation_conflict" },
      });
    }
    expect(await stage.world.during(host.register(another))).toMatchObject({ ok: true });
    expect(await stage.reported("a", [], { incarnation: "new", sequence: 1 })).toMatchObject({ ok: true });
  });

  test("is gone and comes back: what it reported before is no part of what it reports now", async () => {
    const stage = await staged();
    const host = stage.scene.deployed.ports.host("a");
    await stage.pod("a", "lives");
    await stage.reported("a", ["lives"]);
    await stage.world.advance(10_000);
    await stage.world.during(host.remove({ host: "a" }));
    await stage.world.during(stage.scene.release("net.lives"));
    await stage.world.advance(20 * MINUTE);
    expect(await stage.world.during(host.describe({ host: "a" }))).toEqual({});
    await stage.scene.register("a");
    expect(await stage.reported("a", ["lives"])).toMatchObject({ ok: true });
    stage.world.evict(HOST_A);
    expect(await stage.reported("a", ["lives"])).toMatchObject({ ok: true });
    expect(await stage.audited("a")).toMatchObject({ kind: "audited" });
    expect(stage.faults()).toEqual([]);
  });

  test("F31: registers again before its addresses are released: they stay", async () => {
    const stage = await staged();
    await stage.pod("a", "one");
    await stage.world.advance(10_000);
    const late = stage.world.hold({ method: "weigh", kind: "answer" });
    await stage.world.during(stage.scene.deployed.ports.host("a").remove({ host: "a" }));
    await stage.world.advance(500);
    expect(late.messages).toHaveLength(1);
    await stage.scene.register("a");
    late.release();
    await stage.world.advance(30_000);
    expect(await stage.held(BLOCK)).toHaveLength(1);
    expect(await stage.leaks("a")).toEqual([]);
  });
});

describe("with a cluster", () => {
  async function clustered() {
    const cluster = new FakeCluster();
    const stage = await staged({ cluster });
    return { cluster, stage };
  }

  test("I11: a pod that is gone goes by the cluster's word alone, after the grace", async () => {
    const { cluster, stage } = await clustered();
    await stage.pod("a", "lives");
    await stage.pod("a", "gone");
    cluster.put("lives", "a", ["10.0.0.0"]);
    await stage.world.advance(3 * MINUTE);
    await stage.audited("a");
    expect(await stage.leaks("a")).toEqual(["10.0.0.1 candidate grace_period"]);
    await stage.world.advance(11 * MINUTE);
    await stage.audited("a");
    expect(await stage.held(BLOCK)).toEqual(["10.0.0.0 net.lives"]);
  });

  test("I11: a cluster that is away keeps everything, whatever agents report", async () => {
    const { cluster, stage } = await clustered();
    await stage.pod("a", "gone");
    cluster.isAway = true;
    await stage.reports("a", [], 3 * MINUTE, 4 * MINUTE, 4 * MINUTE, 3 * MINUTE, MINUTE, MINUTE);
    expect(await stage.held(BLOCK)).toHaveLength(1);
    expect(await stage.leaks("a")).toEqual(["10.0.0.0 held unreadable"]);
    const { figures } = await stage.audited("a");
    expect(figures).toMatchObject({ lastError: { what: "kubernetes: timed out" } });
    cluster.isAway = false;
    await stage.reports("a", [], MINUTE);
    expect(await stage.held(BLOCK)).toEqual([]);
  });

  test("I11: life that the cluster told of is not forgotten when it is away: what was absent before begins anew", async () => {
    const { cluster, stage } = await clustered();
    await stage.pod("a", "lives");
    cluster.put("lives", "a", ["10.0.0.0"]);
    await stage.reports("a", [], 3 * MINUTE);
    await stage.world.advance(MINUTE);
    await stage.audited("a");
    expect(await stage.leaks("a")).toEqual([]);
    cluster.isAway = true;
    await stage.world.advance(MINUTE);
    await stage.audited("a");
    expect(await stage.leaks("a")).toEqual([]);
    await stage.reports("a", [], MINUTE);
    expect(await stage.leaks("a")).toEqual(["10.0.0.0 candidate grace_period"]);
  });

  test("I11: a cluster that does not know the host ends nothing there: its pods may be of another one", async () => {
    const { cluster, stage } = await clustered();
    cluster.node = "not_found";
    await stage.pod("a", "lives");
    await stage.reported("a", ["lives"]);
    for (let visit = 0; visit < 10; visit += 1) {
      await stage.world.advance(5 * MINUTE);
      await stage.audited("a");
    }
    expect(await stage.held(BLOCK)).toHaveLength(1);
    expect(await stage.leaks("a")).toEqual([]);
    cluster.node = "found";
    await stage.audited("a");
    expect(await stage.leaks("a")).toEqual(["10.0.0.0 candidate grace_period"]);
    cluster.node = "unreadable";
    for (let visit = 0; visit < 10; visit += 1) {
      await stage.world.advance(5 * MINUTE);
      await stage.audited("a");
    }
    expect(await stage.held(BLOCK)).toHaveLength(1);
  });

  test("I11: a pod that runs elsewhere, by its name, keeps its address", async () => {
    const { cluster, stage } = await clustered();
    await stage.pod("a", "moved");
    cluster.put("moved", "b", ["10.0.0.0"]);
    await stage.reports("a", [], 3 * MINUTE, 4 * MINUTE, 4 * MINUTE, 3 * MINUTE, MINUTE, MINUTE);
    await stage.audited("a");
    expect(await stage.held(BLOCK)).toHaveLength(1);
  });

  test("a node that is gone gives up its addresses, its tunnel and its blocks", async () => {
    const { cluster, stage } = await clustered();
    await stage.pod("a", "one", { v4: 2 });
    const tunnel = { handle: "vxlan-tunnel-addr-a", v4: 1, use: "Tunnel" as const };
    await stage.world.during(stage.scene.allocate("a", tunnel));
    cluster.put("one", "a", ["10.0.0.0", "10.0.0.1"]);
    await stage.world.advance(10 * MINUTE);
    cluster.node = "not_found";
    expect(await stage.audited("a", lost(stage))).toMatchObject({ figures: { isGone: true } });
    expect(await stage.held(BLOCK)).toHaveLength(3);
    expect(rowsOf(stage.scene)).toHaveLength(1);
    cluster.pods.clear();
    await stage.world.advance(MINUTE);
    await stage.audited("a", lost(stage));
    await stage.audited("a", lost(stage));
    expect(await stage.held(BLOCK)).toEqual([]);
    expect(rowsOf(stage.scene)).toEqual([]);
    expect(ownerOf(stage.scene, BLOCK)).toBeUndefined();
    expect(stage.faults()).toEqual([]);
  });

  test("F31: a host that is heard of during the teardown keeps its blocks", async () => {
    const { cluster, stage } = await clustered();
    await stage.pod("a", "one");
    await stage.world.advance(10 * MINUTE);
    cluster.node = "not_found";
    const late = stage.world.hold({ method: "fresh", kind: "answer" });
    const audit = stage.audit("a", lost(stage));
    await stage.world.advance(100);
    expect(late.messages).toHaveLength(1);
    await stage.reported("a", []).catch(() => undefined);
    late.release();
    await stage.world.during(audit);
    expect(rowsOf(stage.scene)).toEqual([`a ${BLOCK} confirmed`]);
  });

  test("a node that the last read finds after all keeps its blocks", async () => {
    const { cluster, stage } = await clustered();
    await stage.pod("a", "one");
    await stage.world.advance(10 * MINUTE);
    cluster.node = "found";
    await stage.audited("a", lost(stage));
    await stage.audited("a", lost(stage));
    expect(rowsOf(stage.scene)).toEqual([`a ${BLOCK} confirmed`]);
  });

  test("a block in which others hold addresses loses its owner and stays", async () => {
    const cluster = new FakeCluster();
    const stage = await staged({ cluster, pools: { default: { cidr: "10.0.0.0/29", blockSize: 30 } } });
    await stage.pod("a", "one", { v4: 1 });
    await stage.pod("b", "other", { v4: 5 });
    expect(rowsOf(stage.scene)).toHaveLength(2);
    await stage.world.advance(10 * MINUTE);
    cluster.put(
      "other",
      "b",
      await stage.held("10.0.0.0/30").then((held) => held.map((one) => one.split(" ")[0] ?? "")),
    );
    cluster.node = "not_found";
    await stage.audited("a", lost(stage));
    await stage.audited("a", lost(stage));
    expect(rowsOf(stage.scene).filter((row) => row.startsWith("a "))).toEqual([]);
    expect(await stage.held("10.0.0.0/30")).toHaveLength(1);
    expect(stage.faults()).toEqual([]);
  });
});

describe("a crash in the middle of a teardown", () => {
  const POINTS: readonly CrashPoint[] = ["before-commit", "after-commit", "after-send"];
  const WHERE = [HOST_A, POOL, blockObject(BLOCK)];
  const cases = WHERE.flatMap((where) => POINTS.map((point) => [where, point] as const));

  test.each(cases)("of %s, %s: the next audit ends it", async (where, point) => {
    const cluster = new FakeCluster();
    const stage = await staged({ cluster });
    await stage.pod("a", "one", { v4: 2 });
    await stage.world.advance(10 * MINUTE);
    cluster.node = "not_found";
    stage.world.crash(where, point);
    await stage.audited("a", lost(stage)).catch(() => undefined);
    for (let visit = 0; visit < 3; visit += 1) {
      await stage.world.advance(MINUTE);
      await stage.audited("a", lost(stage));
    }
    expect(stage.world.scheduler.trace.some((line) => line.includes("crash"))).toBe(true);
    expect(await stage.held(BLOCK)).toEqual([]);
    expect(rowsOf(stage.scene)).toEqual([]);
    expect(stage.faults()).toEqual([]);
  });
});
