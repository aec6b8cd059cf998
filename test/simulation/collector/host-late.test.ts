/** What comes too late frees nothing: orders to blocks, and what a cluster said of a node or of an address. */
import { describe, expect, test } from "vitest";
import { FakeCluster, MINUTE, type Stage, staged } from "./host-stage.ts";

const BLOCK = "10.0.0.0/26";

/** What a sweep saw of a node that is not there. */
function lost({ world: { now } }: Stage) {
  return { sighting: { missingSince: now - 2 * MINUTE, notFoundAt: now } };
}

async function withTunnel(cluster: FakeCluster): Promise<Stage> {
  const stage = await staged({ cluster });
  const wish = { handle: "vxlan-a", v4: 1, use: "Tunnel" as const };
  await stage.world.during(stage.scene.allocate("a", wish));
  await stage.world.advance(20 * MINUTE);
  return stage;
}

const removed = (stage: Stage) =>
  stage.world.during(stage.scene.deployed.ports.host("a").remove({ host: "a" }));

/** The host is removed, and the order to free its pod's address is under way. */
async function orderUnderWay() {
  const stage = await staged();
  await stage.pod("a", "one");
  await stage.world.advance(10_000);
  const order = stage.world.hold({ method: "releaseLeaked", kind: "request" });
  await removed(stage);
  await stage.world.advance(500);
  expect(order.messages.length).toBeGreaterThan(0);
  return { stage, order };
}

describe("orders", () => {
  test("I11: an order that arrives after the host has registered again frees nothing", async () => {
    const { stage, order } = await orderUnderWay();
    await stage.scene.register("a");
    await stage.world.advance(5_000);
    order.release();
    await stage.world.advance(30_000);
    expect(await stage.held(BLOCK)).toHaveLength(1);
  });

  test("an order in time frees what it names", async () => {
    const { stage, order } = await orderUnderWay();
    order.release();
    await stage.world.advance(1_000);
    expect(await stage.held(BLOCK)).toHaveLength(0);
  });
});

describe("the word on a node", () => {
  test("I11: an older sighting does not take back a newer one", async () => {
    const cluster = new FakeCluster();
    const stage = await withTunnel(cluster);
    cluster.node = "not_found";
    const old = lost(stage);
    await stage.world.advance(MINUTE);
    await stage.audited("a", { sighting: { seenAt: stage.world.now } });
    await stage.world.advance(MINUTE);
    await stage.audited("a", old);
    expect(await stage.held(BLOCK)).toHaveLength(1);
  });

  for (const node of ["found", "unreadable"] as const) {
    test(`I11: a node that is ${node} by now keeps its tunnel, whatever a sweep saw`, async () => {
      const cluster = new FakeCluster();
      const stage = await withTunnel(cluster);
      cluster.node = node;
      await stage.audited("a", lost(stage));
      expect(await stage.held(BLOCK)).toHaveLength(1);
    });
  }

  test("a node that is still not found loses it", async () => {
    const cluster = new FakeCluster();
    const stage = await withTunnel(cluster);
    cluster.node = "not_found";
    await stage.audited("a", lost(stage));
    expect(await stage.held(BLOCK)).toHaveLength(0);
  });
});

describe("the word on an address", () => {
  for (const by of ["removal", "kubernetes"] as const) {
    test(`I11: an address that another pod uses stays when its owner is read by name, ${by}`, async () => {
      const cluster = new FakeCluster();
      const stage = await staged({ cluster });
      await stage.pod("a", "one", { v4: 2 });
      await stage.world.advance(10 * MINUTE);
      cluster.put("two", "a", ["10.0.0.1"]);
      cluster.node = "not_found";
      if (by === "removal") await removed(stage);
      for (let visit = 0; visit < 3; visit += 1) {
        await stage.audited("a", by === "removal" ? {} : lost(stage));
        await stage.world.advance(MINUTE);
      }
      expect(await stage.held(BLOCK)).toHaveLength(2);
    });
  }
});
