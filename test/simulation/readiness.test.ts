/** Readiness of a host when something is away: its memory, a Pool, Cluster. */
import { expect, test } from "vitest";
import { routesWorld, TARGET } from "./routes-world.ts";

const HOST = "host:v1:default:a";

async function readyWorld() {
  const all = await routesWorld({}, { ...TARGET, cidr: "10.0.0.0/30", blockSize: 30 });
  const { world, ports } = all;
  const readiness = async () => (await world.during(ports.host("a").readiness({ host: "a" }))).view;
  return { ...all, readiness };
}

test("after a wake the own blocks are asked once, and claimed or written is nothing", async () => {
  const { world, take, readiness, calls } = await readyWorld();
  await take("a", "one", 2);
  await world.advance(20_000);
  world.evict(HOST);
  const before = calls("HostObject>BlockObject.describe");
  const rows = () => world.rows("pool:v1:default:default:0", "SELECT last_epoch, routes_revision FROM pool");
  const stored = rows();
  expect(await readiness()).toMatchObject({
    ...{ ready: true, ipv4: { ready: true, availableInOwnBlocks: 2 } },
    ipv6: { wanted: false, ready: false },
  });
  expect(calls("HostObject>BlockObject.describe")).toBe(before + 1);
  await readiness();
  expect(calls("HostObject>BlockObject.describe")).toBe(before + 1);
  expect(calls("HostObject>PoolObject.mayClaim")).toBe(0);
  expect(rows()).toEqual(stored);
});

test("a Pool that does not answer is no proof that it is empty", async () => {
  const { world, take, readiness, calls } = await readyWorld();
  await take("a", "one", 4);
  expect((await readiness())?.ipv4).toMatchObject({ ready: false, refusal: { code: "pool_exhausted" } });
  expect(calls("HostObject>PoolObject.mayClaim")).toBe(1);
  const held = world.hold({ toClass: "PoolObject", method: "mayClaim", kind: "request" });
  expect((await readiness())?.ipv4).toMatchObject({
    ...{ wanted: true, ready: false, canClaim: false },
    refusal: { code: "overloaded", evidence: { where: "pool" } },
  });
  held.drop();
});

test("without a lease nothing is ready, and the reason is the lease", async () => {
  const { world, take, readiness } = await readyWorld();
  await take("a", "one");
  await world.advance(20_000);
  const held = world.hold({ method: "lease", kind: "request" });
  expect(await readiness()).toMatchObject({
    ...{ ready: false, ipv4: { wanted: true, refusal: { code: "policy_unavailable" } } },
    ipv6: { wanted: false },
  });
  held.drop();
  await world.advance(20_000);
  expect((await readiness())?.ready).toBe(true);
});

test("a host that was never registered has no readiness", async () => {
  const { world, ports } = await readyWorld();
  expect(await world.during(ports.host("nobody").readiness({ host: "nobody" }))).toEqual({});
  expect(world.rows("host:v1:default:nobody", "SELECT name FROM sqlite_master")).toEqual([]);
});
