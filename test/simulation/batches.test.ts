/** Many allocations in one call: what they cost, and what becomes of them when messages are lost. */
import { afterEach, describe, expect, test } from "vitest";
import { blockObjectName, hostObjectName } from "../../src/core/ids.ts";
import type { HostAllocateRequest } from "../../src/rpc/host.ts";
import { Scene, type SceneOptions } from "../support/simulation/scene.ts";

let scene: Scene;
afterEach(() => scene?.world.report());

function request(host: string, handle: string): HostAllocateRequest {
  return {
    host,
    handle,
    key: `key-${handle}`,
    fingerprint: "f",
    use: "Workload",
    ipv4: { count: 1 },
    attributes: { node: host },
    partial: false,
    leakCollection: "auto",
  };
}

async function open(options: SceneOptions): Promise<void> {
  scene = await Scene.open(options);
}

const wishes = (count: number) => Array.from({ length: count }, (_, n) => request("a", `h${n}`));

/** The outcome of each item, and the addresses that were told. */
async function many(items: readonly HostAllocateRequest[]) {
  const answer = await scene.world.during(scene.deployed.ports.host("a").allocateMany({ host: "a", items }));
  if (!answer.ok) throw new Error(JSON.stringify(answer.error));
  const { results } = answer.value;
  const codes = results.map((one) => (one.ok ? "ok" : one.error.code));
  const addresses = results.map((one) => (one.ok ? one.value.addresses[0]?.record.address : undefined));
  const replayed = results.map((one) => one.ok && one.value.replayed);
  return { codes, addresses, replayed };
}

/** Every address that a block of the pool holds, by its rows. */
function live(): number {
  const { world } = scene;
  const blocks = world.objectNames.filter((name) => name.startsWith("block:"));
  const held = (name: string) =>
    world.rows(name, "SELECT count(*) AS n FROM ordinals WHERE state = 'allocated'");
  return blocks.reduce((sum, name) => sum + Number(held(name)[0]?.n ?? 0), 0);
}

describe("cost", () => {
  test("one Host call; calls and commits as for a batch, one row per item in each object", async () => {
    await open({ pools: { p: { cidr: "10.0.0.0/20", blockSize: 22 } } });
    await many([request("a", "first")]);
    const mark = scene.world.counters.read();
    const { codes, addresses } = await many(wishes(256));
    expect(codes.every((code) => code === "ok")).toBe(true);
    expect(new Set(addresses).size).toBe(256);
    const { calls, commits, callsTotal, rowsTotal } = scene.world.counters.since(mark);
    expect(callsTotal, JSON.stringify(calls)).toBeLessThanOrEqual(6);
    expect(rowsTotal).toBe(512);
    expect(Object.values(commits).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(4);
  });

  test("I1: over many blocks, and a full pool is asked once for all that are refused", async () => {
    await open({ pools: { p: { cidr: "10.0.0.0/25", blockSize: 28 } } });
    const mark = scene.world.counters.read();
    const { codes, addresses } = await many(wishes(256));
    expect(codes.filter((code) => code === "ok")).toHaveLength(128);
    expect(codes.filter((code) => code === "pool_exhausted")).toHaveLength(128);
    expect(new Set(addresses.filter((address) => address !== undefined)).size).toBe(128);
    const { calls, callsTotal } = scene.world.counters.since(mark);
    expect(callsTotal, JSON.stringify(calls)).toBeLessThanOrEqual(80);
    expect(live()).toBe(128);
  });
});

describe("I13: a batch that is repeated whole gives the same addresses", () => {
  const POOL = { pools: { p: { cidr: "10.0.0.0/24", blockSize: 24 } } };
  const BLOCK = blockObjectName("10.0.0.0-24");

  test("after it was answered", async () => {
    await open(POOL);
    const first = await many(wishes(100));
    const second = await many(wishes(100));
    expect(second.addresses).toEqual(first.addresses);
    expect(first.replayed).not.toContain(true);
    expect(second.replayed).not.toContain(false);
    expect(live()).toBe(100);
  });

  test.each(["before-commit", "after-commit", "after-send"] as const)(
    "after its block died %s",
    async (point) => {
      await open(POOL);
      await many([request("a", "first")]);
      scene.world.crash(BLOCK, point, "allocate");
      await many(wishes(100));
      await scene.world.advance(3_000);
      const again = await many(wishes(100));
      expect(again.codes.every((code) => code === "ok")).toBe(true);
      expect(new Set(again.addresses).size).toBe(100);
      expect(live()).toBe(101);
    },
  );

  test("after its Host died with everything under way", async () => {
    await open(POOL);
    scene.world.drop({ kind: "answer", fromClass: "BlockObject", method: "allocate" });
    const lost = scene.deployed.ports.host("a").allocateMany({ host: "a", items: wishes(100) });
    lost.catch(() => undefined);
    await scene.world.deliver();
    expect(live()).toBe(100);
    scene.world.evict(hostObjectName("a"));
    await scene.world.advance(5_000);
    const again = await many(wishes(100));
    expect(again.codes.every((code) => code === "ok")).toBe(true);
    expect(new Set(again.addresses).size).toBe(100);
    expect(live()).toBe(100);
  });

  test("with its messages doubled and late", async () => {
    await open(POOL);
    for (const toClass of ["HandleIndexObject", "BlockObject"]) {
      scene.world.duplicate({ kind: "request", toClass }, 400, 4);
    }
    const first = await many(wishes(100));
    await scene.world.advance(5_000);
    const second = await many(wishes(100));
    expect(first.codes.every((code) => code === "ok")).toBe(true);
    expect(second.addresses).toEqual(first.addresses);
    expect(live()).toBe(100);
  });
});

test("I15: an item that is refused leaves nothing; its neighbours have what they asked for", async () => {
  await open({ pools: { p: { cidr: "10.0.0.0/28", blockSize: 28 } } });
  const both = { ipv4: { count: 1 }, ipv6: { count: 1 } };
  const items = wishes(10).map((wish, n) => (n % 2 === 0 ? wish : { ...wish, ...both }));
  const { codes } = await many(items);
  expect(codes.filter((code) => code === "ok")).toHaveLength(5);
  expect(codes.filter((code) => code === "no_qualified_pool")).toHaveLength(5);
  expect(live()).toBe(5);
});

test("a host that is not registered refuses the whole", async () => {
  await open({ hosts: [] });
  const answer = await scene.world.during(
    scene.deployed.ports.host("a").allocateMany({ host: "a", items: wishes(3) }),
  );
  expect(answer).toMatchObject({ ok: false, error: { code: "host_unknown" } });
});
