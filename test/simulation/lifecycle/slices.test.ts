/** A drain of many blocks: its events stay within what one event may call, and it goes on where it was. */
import { expect, test } from "vitest";
import { BlockObject } from "../../../durable-objects/block.ts";
import { HostObject } from "../../../durable-objects/host.ts";
import { PoolObject } from "../../../durable-objects/pool.ts";
import { CLASSES, Scene } from "../../support/simulation/scene.ts";
import { POOL, rowsOf } from "../histories/stage.ts";

/** Calls that one event may make; the platform's own limit is 1,000. */
const CALLS_PER_EVENT_MAX = 900;
const BLOCKS = 600;

/** What Pools have called so far, and what each event of a Pool has. */
let called = 0;
const events: number[] = [];

class AskedHost extends HostObject {
  override async releaseBlock(request: Parameters<HostObject["releaseBlock"]>[0]) {
    called += 1;
    return await super.releaseBlock(request);
  }
}

class AskedBlock extends BlockObject {
  override async releaseAffinity(request: Parameters<BlockObject["releaseAffinity"]>[0]) {
    // The Pool asks as nobody; a Host asks as the owner.
    if (request.owner === "") called += 1;
    return await super.releaseAffinity(request);
  }
}

class CountedPool extends PoolObject {
  override async alarm() {
    const before = called;
    await super.alarm();
    events.push(called - before);
  }
}

test("F35: 600 blocks drain in slices of at most 900 calls, over a crash in the middle", async () => {
  const hosts = Array.from({ length: 30 }, (_, n) => `h${n}`);
  const pools = { default: { cidr: "10.0.0.0/22", blockSize: 32 } };
  const classes = { ...CLASSES, BlockObject: AskedBlock, HostObject: AskedHost, PoolObject: CountedPool };
  const scene = await Scene.open({ pools, hosts, classes });
  const { world } = scene;
  for (const host of hosts) {
    await world.during(scene.allocate(host, { handle: host, v4: BLOCKS / hosts.length }));
  }
  expect(rowsOf(scene)).toHaveLength(BLOCKS);
  for (const host of hosts) await world.during(scene.release(host));
  await world.during(scene.deployed.ports.cluster().drainPool({ name: "default", by: "test" }));
  world.crash(POOL, "after-commit", `-> ${POOL} release`);
  await world.advance(120_000);
  expect(world.counters.read().events["crash after-commit"]).toBe(1);
  expect(events.length).toBeGreaterThan(2);
  expect(events.reduce((sum, one) => sum + one, 0)).toBeGreaterThanOrEqual(2 * BLOCKS - 64);
  expect(Math.max(...events)).toBeLessThanOrEqual(CALLS_PER_EVENT_MAX);
  const { policy } = await world.during(scene.deployed.ports.cluster().policy({}));
  expect(policy?.pools).toEqual([]);
  expect(world.rows(POOL, "SELECT count(*) AS n FROM block WHERE closed = epoch")).toEqual([{ n: BLOCKS }]);
}, 300_000);
