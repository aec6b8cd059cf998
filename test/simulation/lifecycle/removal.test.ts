/**
 * The removal of a host while it allocates, dies, and comes back (H13, F31, CE-27).
 */
import { describe, expect, test } from "vitest";
import { blockObject } from "../../support/simulation/deployment.ts";
import type { CrashPoint } from "../../support/simulation/instance.ts";
import { Scene } from "../../support/simulation/scene.ts";
import { A, B, findings, HOST_A, heldBy, ownerOf, POOL, rowsOf, TWO_BLOCKS } from "../histories/stage.ts";

const BLOCK_A = blockObject(A);

function remove(scene: Scene, host = "a") {
  return scene.deployed.ports.host(host).remove({ host });
}

function viewOf(scene: Scene, host = "a") {
  return scene.deployed.ports.host(host).describe({ host });
}

async function registered(scene: Scene): Promise<string[]> {
  const { hosts } = await scene.world.during(scene.deployed.ports.cluster().listHosts({ limit: 10 }));
  return hosts.filter((entry) => entry.registered).map(({ host }) => host);
}

describe("a removal", () => {
  test("refuses what comes after it, gives blocks back, and keeps addresses until they are released", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "kept", v4: 3 }));
    const { view } = await world.during(remove(scene));
    expect(view).toMatchObject({ state: "removing", allocationsLeft: 3, removingSince: expect.any(Number) });
    expect(await world.during(scene.allocate("a", { handle: "late" }))).toMatchObject({
      code: "host_removing",
    });
    expect(await world.during(scene.assign("a", "exact", "10.0.0.5"))).toMatchObject({
      code: "host_removing",
    });
    await world.advance(10_000);
    expect(rowsOf(scene)).toEqual([]);
    expect(ownerOf(scene, A)).toBeUndefined();
    expect(heldBy(scene, "kept")).toHaveLength(3);
    expect((await world.during(viewOf(scene))).view).toMatchObject({ allocationsLeft: 3 });
    expect(await registered(scene)).toEqual(["a", "b"]);
    await world.during(scene.release("kept"));
    // F33: whoever judges leaks finds what is left by this row, though the block is nobody's.
    expect(world.rows(HOST_A, "SELECT block FROM borrowed")).toEqual([{ block: A }]);
    await world.advance(700_000);
    expect((await world.during(viewOf(scene))).view).toBeUndefined();
    expect(await registered(scene)).toEqual(["b"]);
    expect((await world.during(remove(scene))).view).toBeUndefined();
    expect(await world.during(scene.allocate("a", { handle: "late" }))).toMatchObject({
      code: "host_unknown",
    });
    expect(await world.during(scene.allocate("b", { handle: "next", v4: 8 }))).toMatchObject({ kind: "ok" });
    expect(findings(scene)).toEqual([]);
  });

  test("counts addresses that the host has borrowed, until they are released", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    await world.during(scene.allocate("b", { handle: "b", v4: 5 }));
    await world.during(scene.allocate("a", { handle: "a", v4: 2 }));
    const { view } = await world.during(remove(scene));
    expect(view).toMatchObject({ allocationsLeft: 2 });
    await world.advance(700_000);
    expect((await world.during(viewOf(scene))).view).toMatchObject({ state: "removing", allocationsLeft: 2 });
    expect(rowsOf(scene).filter((row) => row.startsWith("b "))).toHaveLength(2);
    await world.during(scene.release("a"));
    await world.advance(700_000);
    expect((await world.during(viewOf(scene))).view).toBeUndefined();
    expect(findings(scene)).toEqual([]);
  });

  test("tells what no collector releases, and nothing of what goes by itself", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    const named = { namespace: "n", pod: "p" };
    await world.during(scene.allocate("a", { handle: "pod", attributes: named }));
    await world.during(scene.allocate("a", { handle: "db", v4: 2 }));
    await world.during(scene.allocate("a", { handle: "vm", attributes: { ...named, "vmi-name": "m" } }));
    const never = { handle: "never", attributes: named, leakCollection: "never" } as const;
    await world.during(scene.allocate("b", { handle: "other" }));
    await world.during(scene.allocate("a", never));
    const { view } = await world.during(remove(scene));
    const kept = { addresses: 4, handles: ["db", "never", "vm"] };
    expect(view).toMatchObject({ allocationsLeft: 5, kept });
    for (const handle of ["db", "vm", "never"]) await world.during(scene.release(handle));
    const after = await world.during(viewOf(scene));
    expect(after.view).toMatchObject({ allocationsLeft: 1 });
    expect(after.view).not.toHaveProperty("kept");
    expect(findings(scene)).toEqual([]);
  });

  test("is told to Cluster with what it waits for, over a new life of the Host, until that has gone", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    const waiting = async () =>
      (await world.during(scene.deployed.ports.cluster().status({}))).heldRemovals ?? [];
    await world.during(scene.allocate("a", { handle: "db", v4: 2 }));
    await world.during(remove(scene));
    await world.advance(10_000);
    const held = [{ host: "a", kept: { addresses: 2, handles: ["db"] } }];
    expect(await waiting()).toEqual(held);
    world.evict(HOST_A, "silent");
    const calls: unknown[] = [];
    for (let look = 0; look < 5; look += 1) {
      await world.during(viewOf(scene));
      await world.advance(100);
      calls.push(await waiting());
    }
    expect(calls).toEqual(Array(5).fill(held));
    // Registered again it is no removal; a later one tells anew.
    await scene.register("a");
    expect(await waiting()).toEqual([]);
    await world.during(remove(scene));
    expect(await waiting()).toEqual([]);
    await world.advance(10_000);
    expect(await waiting()).toEqual(held);
    await world.during(scene.release("db"));
    await world.advance(700_000);
    expect(await waiting()).toEqual([]);
    expect((await world.during(viewOf(scene))).view).toBeUndefined();
    expect(findings(scene)).toEqual([]);
  });

  test("of a host that nobody registered changes nothing", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    expect((await scene.world.during(remove(scene, "z"))).view).toBeUndefined();
    expect(scene.world.rows("host:v1:default:z", "SELECT name FROM sqlite_master")).toEqual([]);
  });

  test("I15: a request under way in both families is refused whole", async () => {
    const pools = { ...TWO_BLOCKS, six: { cidr: "fd00::/125", blockSize: 126 } };
    const scene = await Scene.open({ pools });
    const { world } = scene;
    const late = world.hold({ method: "claim", to: "pool:v1:default:six:0", kind: "request" });
    const asked = scene.allocate("a", { handle: "both", v4: 1, v6: 1 });
    await world.advance(60);
    expect(heldBy(scene, "both")).toHaveLength(1);
    const removed = remove(scene);
    await world.advance(20);
    late.release();
    const [ended] = await world.during(Promise.all([asked, removed]));
    expect(ended.kind).toBe("refused");
    expect(heldBy(scene, "both")).toEqual([]);
    await world.advance(10_000);
    expect(rowsOf(scene)).toEqual([]);
    expect(findings(scene)).toEqual([]);
  });

  test("a claim that was offered before it is given back to the Pool", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    const late = world.hold({ method: "claim", from: POOL, kind: "answer" });
    const asked = scene.allocate("a", { handle: "h" });
    await world.advance(20);
    expect(late.messages).toHaveLength(1);
    const removed = remove(scene);
    await world.advance(20);
    late.release();
    const [ended] = await world.during(Promise.all([asked, removed]));
    expect(ended).toMatchObject({ kind: "refused" });
    await world.advance(10_000);
    expect(rowsOf(scene)).toEqual([]);
    expect(ownerOf(scene, A)).toBeUndefined();
    expect(await world.during(scene.allocate("b", { handle: "next", v4: 8 }))).toMatchObject({ kind: "ok" });
    expect(findings(scene)).toEqual([]);
  });
});

describe("H13 F31 CE-27: a host that comes back", () => {
  test("keeps what it claims: an order of the old removal that arrives late takes nothing", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "old" }));
    const late = world.hold({ method: "releaseAffinity", to: BLOCK_A, kind: "request" });
    await world.during(remove(scene));
    await world.advance(500);
    expect(late.messages.length).toBeGreaterThan(0);
    await scene.register("a");
    expect((await world.during(viewOf(scene))).view).toMatchObject({ state: "active" });
    await world.during(scene.allocate("a", { handle: "new" }));
    await world.during(scene.allocate("a", { handle: "more", v4: 2 }));
    const owned = rowsOf(scene).filter((row) => row.endsWith("confirmed"));
    expect(owned).toEqual([`a ${B} confirmed`]);
    late.release();
    await world.advance(60_000);
    expect(rowsOf(scene)).toEqual(expect.arrayContaining(owned));
    await world.during(scene.release("old"));
    await world.advance(10_000);
    expect(await world.during(scene.allocate("a", { handle: "last", v4: 5 }))).toMatchObject({ kind: "ok" });
    expect(rowsOf(scene)).toEqual([`a ${A} confirmed`, `a ${B} confirmed`]);
    expect(heldBy(scene, "new")).toHaveLength(1);
    expect(heldBy(scene, "more")).toHaveLength(2);
    expect(findings(scene)).toEqual([]);
  });

  test("between the Pool's epoch and the row: the old removal stops", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "old" }));
    const late = world.hold({ method: "fresh", from: POOL, kind: "answer" });
    await world.during(remove(scene));
    await world.advance(500);
    expect(late.messages).toHaveLength(1);
    const back = scene.deployed.ports.host("a").register({ host: "a", labels: {} });
    await world.advance(50);
    expect(await back).toMatchObject({ ok: true });
    late.release();
    await world.advance(60_000);
    expect(rowsOf(scene)).toEqual([`a ${A} confirmed`]);
    expect(ownerOf(scene, A)).toBe("a");
    expect(await world.during(scene.allocate("a", { handle: "new" }))).toMatchObject({ kind: "ok" });
    expect(findings(scene)).toEqual([]);
  });

  test("after its removal was over, it is a new host with a higher incarnation", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    const port = scene.deployed.ports.host("a");
    await world.during(port.register({ host: "a", labels: {}, incarnation: "boot-1" }));
    await world.during(port.register({ host: "a", labels: {}, incarnation: "boot-2" }));
    await world.during(remove(scene));
    await world.advance(20_000);
    expect(await registered(scene)).toEqual(["b"]);
    const old = await world.during(port.register({ host: "a", labels: {}, incarnation: "boot-1" }));
    expect(old).toMatchObject({ ok: false, error: { code: "incarnation_conflict" } });
    const back = await world.during(port.register({ host: "a", labels: {}, incarnation: "boot-2" }));
    expect(back).toMatchObject({ ok: true, value: { created: true, view: { state: "active" } } });
    expect(await registered(scene)).toEqual(["a", "b"]);
  });

  test("a word of the old removal that arrives late does not take it from Cluster's directory", async () => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    const late = world.hold(({ kind, method, args }) => {
      const [entry] = args as [{ registered?: boolean } | undefined];
      return kind === "request" && method === "enrol" && entry?.registered === false;
    });
    await world.during(remove(scene));
    await world.advance(5_000);
    expect(late.messages.length).toBeGreaterThan(0);
    await scene.register("a");
    late.release();
    await world.advance(60_000);
    expect(await registered(scene)).toEqual(["a", "b"]);
    expect((await world.during(viewOf(scene))).view).toMatchObject({ state: "active" });
  });
});

test("F33: a key that is listed in a block which has become another host's is noted as borrowed there", async () => {
  const scene = await Scene.open({ pools: { default: { cidr: "10.0.0.0/30", blockSize: 30 } } });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first" }));
  const late = world.hold({ method: "allocate", to: BLOCK_A, kind: "request" });
  const cut = scene.allocate("a", { handle: "h", key: "same-key" });
  await world.advance(50);
  expect(late.messages).toHaveLength(1);
  world.evict(HOST_A);
  await world.during(cut);
  await world.advance(5_000);
  late.release();
  await world.during(scene.release("first"));
  await world.during(remove(scene));
  await world.advance(10_000);
  await scene.register("a");
  await world.during(scene.allocate("b", { handle: "theirs" }));
  expect(ownerOf(scene, A)).toBe("b");
  expect(await world.during(scene.allocate("a", { handle: "h", key: "same-key" }))).toMatchObject({
    kind: "ok",
  });
  expect(world.rows(HOST_A, "SELECT block FROM borrowed")).toEqual([{ block: A }]);
  expect(findings(scene)).toEqual([]);
});

/** Where a removal is cut off: object, crash point, the turn that it ends in. */
const CUTS: [string, string, CrashPoint, string][] = [
  ["before the Host is gone", HOST_A, "before-commit", `-> ${HOST_A} remove`],
  ["after the Host is gone", HOST_A, "after-commit", `-> ${HOST_A} remove`],
  ["after the Pool's epoch", POOL, "after-commit", `-> ${POOL} fresh`],
  ["before the row", HOST_A, "before-commit", `${POOL} => ${HOST_A} fresh`],
  ["after the row", HOST_A, "after-commit", `${POOL} => ${HOST_A} fresh`],
  ["before the block's commit", BLOCK_A, "before-commit", `-> ${BLOCK_A} releaseAffinity`],
  ["after the block's commit", BLOCK_A, "after-commit", `-> ${BLOCK_A} releaseAffinity`],
  ["after the directory's row", POOL, "after-commit", `-> ${POOL} release`],
];

describe("H13: a removal that is cut off", () => {
  test.each(CUTS)("%s: goes on", async (_where, object, point, during) => {
    const scene = await Scene.open({ pools: TWO_BLOCKS });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "old", v4: 6 }));
    world.crash(object, point, during);
    await world.during(remove(scene).catch(() => undefined));
    await world.during(remove(scene));
    await world.advance(60_000);
    expect(world.counters.read().events[`crash ${point}`]).toBe(1);
    expect(rowsOf(scene)).toEqual([]);
    expect([ownerOf(scene, A), ownerOf(scene, B)]).toEqual([undefined, undefined]);
    expect(heldBy(scene, "old")).toHaveLength(6);
    expect(findings(scene)).toEqual([]);
  });

  test.each(CUTS)(
    "%s: and a host that comes back keeps its blocks",
    async (_where, object, point, during) => {
      const scene = await Scene.open({ pools: TWO_BLOCKS });
      const { world } = scene;
      await world.during(scene.allocate("a", { handle: "old", v4: 2 }));
      world.crash(object, point, during);
      await world.during(remove(scene).catch(() => undefined));
      await world.advance(400);
      await scene.register("a");
      const got = await world.during(scene.allocate("a", { handle: "new", v4: 3 }));
      expect(got).toMatchObject({ kind: "ok" });
      const owned = rowsOf(scene).filter((row) => row.endsWith("confirmed"));
      await world.advance(700_000);
      expect(rowsOf(scene)).toEqual(expect.arrayContaining(owned));
      expect(owned.length).toBeGreaterThan(0);
      expect(heldBy(scene, "new")).toHaveLength(3);
      expect(findings(scene)).toEqual([]);
    },
  );
});
