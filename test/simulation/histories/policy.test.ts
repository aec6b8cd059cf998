/**
 * What an operator was answered is obeyed: writes that are cut off and repeated, messages from before
 * (H5, H6, H8, H16, CE-5, CE-6, CE-14, CE-15, CE-18).
 */
import { describe, expect, test } from "vitest";
import { CLUSTER_OBJECT_NAME } from "../../../src/core/ids.ts";
import type { Call } from "../../../src/http/operation.ts";
import { releaseAddresses } from "../../../src/http/writing/release-by-address.ts";
import { checkRows, snapshot } from "../../support/simulation/checker.ts";
import { blockObject } from "../../support/simulation/deployment.ts";
import { Scene } from "../../support/simulation/scene.ts";
import { A, findings, HOST_A, HOST_B, heldBy, ONE_BLOCK } from "./stage.ts";

const DUAL = { v4: { cidr: "10.0.0.0/30", blockSize: 30 }, v6: { cidr: "fd00::/125", blockSize: 125 } };

/** Writes until it is acknowledged; Cluster dies once while the first write waits. */
async function insist(scene: Scene, write: () => Promise<{ readonly ok: boolean }>): Promise<void> {
  const { world } = scene;
  const first = write();
  first.catch(() => undefined);
  await world.advance(300);
  world.evict(CLUSTER_OBJECT_NAME);
  await world.advance(20);
  const second = write();
  const isOk = second.then(({ ok }) => ok);
  let settled = false;
  void isOk.finally(() => {
    settled = true;
  });
  for (let step = 0; step < 200 && !settled; step += 1) await world.advance(20);
  expect(await isOk).toBe(true);
}

describe("H8 CE-5 CE-6: a message from before a policy write does nothing after its answer", () => {
  const writes = {
    "I8: strict affinity": (scene: Scene) => () =>
      scene.deployed.ports.cluster().changeConfig({ patch: { strictAffinity: true }, by: "test" }),
    "I7: a reservation": (scene: Scene) => () =>
      scene.deployed.ports
        .cluster()
        .putReservation({ name: "all", spec: { reservedCIDRs: ["10.0.0.0/30"] }, by: "test" }),
    "a disabled pool": (scene: Scene) => () =>
      scene.deployed.ports.cluster().patchPool({ name: "default", patch: { disabled: true }, by: "test" }),
  };
  test.each(Object.entries(writes))("%s", async (_name, writeOf) => {
    const scene = await Scene.open({ pools: ONE_BLOCK });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "first" }));
    const late = world.hold({ method: "allocate", from: HOST_B, kind: "request" });
    const borrow = scene.allocate("b", { handle: "h" });
    await world.advance(50);
    expect(late.messages).toHaveLength(1);
    await insist(scene, writeOf(scene));
    late.release();
    expect(await world.during(borrow)).toMatchObject({ kind: "refused" });
    expect(heldBy(scene, "h")).toEqual([]);
    expect(findings(scene)).toEqual([]);
  });

  test("I12: a cooldown of 60 s, acknowledged, holds for what was released before", async () => {
    const scene = await Scene.open({ pools: ONE_BLOCK });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "first", v4: 4 }));
    const late = world.hold({ method: "allocate", from: HOST_B, kind: "request" });
    await world.during(scene.release("first"));
    const borrow = scene.allocate("b", { handle: "h" });
    await world.advance(50);
    await insist(scene, () =>
      scene.deployed.ports.cluster().changeConfig({ patch: { ipCooldownSeconds: 60 }, by: "test" }),
    );
    late.release();
    const ended = await world.during(borrow);
    expect(ended).toMatchObject({ kind: "refused", code: "pool_cooling" });
    expect(heldBy(scene, "h")).toEqual([]);
    await world.advance(61_000);
    expect(await world.during(scene.allocate("a", { handle: "h" }))).toMatchObject({ kind: "ok" });
  });
});

/** The only free IPv4 address is 10.0.0.3; IPv6 is full, which host a does not know. */
async function withStaleV6(): Promise<Scene> {
  const scene = await Scene.open({ pools: DUAL, config: { ipCooldownSeconds: 1_200 } });
  await scene.world.during(scene.allocate("a", { handle: "first", v4: 3, v6: 7 }));
  expect(await scene.world.during(scene.assign("b", "last", "fd00::7"))).toMatchObject({ kind: "ok" });
  return scene;
}

describe("H5 CE-15 I15: what is undone is free at once, whatever the cooldown", () => {
  test.each([undefined, "after-commit", "before-commit"] as const)(
    "crash of the block: %s",
    async (point) => {
      const scene = await withStaleV6();
      const { world } = scene;
      if (point !== undefined) world.crash(blockObject(A), point, "undo");
      const ended = await world.during(scene.allocate("a", { handle: "h", v4: 1, v6: 1 }));
      expect(ended).toMatchObject({ kind: "refused", code: "pool_exhausted" });
      expect(findings(scene)).toEqual([]);
      expect(heldBy(scene, "h")).toEqual([]);
      const next = await world.during(scene.allocate("a", { handle: "next" }));
      expect(next).toMatchObject({ kind: "ok", addresses: [{ address: "10.0.0.3" }] });
    },
  );
});

test("H6 CE-14 I4: of two attempts of one key, one undoes nothing that the other was told", async () => {
  const scene = await withStaleV6();
  const { world } = scene;
  const v6 = blockObject("fd00::/125");
  const key = scene.newKey();
  const full = world.hold({ method: "allocate", from: v6, kind: "answer" });
  const first = scene.allocate("a", { handle: "h", key, v4: 1, v6: 1 });
  await world.advance(50);
  expect(full.messages).toHaveLength(1);
  world.supersede(HOST_A);
  await world.during(
    scene.deployed.ports.cluster().changeConfig({ patch: { ipCooldownSeconds: 0 }, by: "t" }),
  );
  full.release();
  await world.during(first);
  expect(findings(scene)).toEqual([]);
});

test("H6 CE-14 I4: the second attempt finds one family and gets the other; the first undoes neither", async () => {
  const scene = await Scene.open({ pools: DUAL });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first", v4: 3, v6: 7 }));
  await world.during(scene.assign("b", "last", "fd00::7"));
  const key = scene.newKey();
  const full = world.hold({
    method: "allocate",
    from: blockObject("fd00::/125"),
    to: HOST_A,
    kind: "answer",
  });
  const first = scene.allocate("a", { handle: "h", key, v4: 1, v6: 1 });
  await world.advance(30);
  expect(full.messages).toHaveLength(1);
  const [answer] = full.messages;
  world.supersede(HOST_A);
  const room = scene.release("last");
  await world.advance(30);
  expect(await room).toEqual({ kind: "ok" });
  const second = scene.allocate("a", { handle: "h", key, v4: 1, v6: 1 });
  await world.advance(40);
  // The answers to the second attempt go on; the first one's "full" comes last.
  while (full.messages.length > 1) full.releaseLast();
  await world.advance(100);
  expect(full.messages).toEqual([answer]);
  full.release();
  const [one, other] = await world.during(Promise.all([first, second]));
  expect(one?.kind === "ok" || other?.kind === "ok").toBe(true);
  expect(findings(scene)).toEqual([]);
});

test("H6 CE-14 I4: what an attempt found it does not undo, though it is refused for good", async () => {
  const scene = await Scene.open({ pools: DUAL });
  const { world } = scene;
  await world.during(scene.allocate("a", { handle: "first" }));
  await world.during(scene.allocate("b", { handle: "full", v4: 0, v6: 7 }));
  await world.during(scene.allocate("b", { handle: "last", v4: 0, v6: 1 }));
  const key = scene.newKey();
  let isHeld = false;
  const search = world.hold((message) => {
    const takes = !isHeld && message.kind === "request" && message.method === "claim";
    isHeld ||= takes;
    return takes;
  });
  const first = scene.allocate("a", { handle: "h", key, v4: 1, v6: 1 });
  await world.advance(30);
  expect(search.messages).toHaveLength(1);
  expect(heldBy(scene, "h")).toEqual(["10.0.0.1"]);
  world.supersede(HOST_A);
  const second = scene.allocate("a", { handle: "h", key, v4: 1, v6: 1 });
  await world.advance(100);
  expect(await second).toMatchObject({ kind: "refused", code: "pool_exhausted" });
  const room = scene.release("last");
  await world.advance(50);
  expect(await room).toEqual({ kind: "ok" });
  search.release();
  const ended = await world.during(first);
  expect(ended.kind === "ok" ? ended.addresses.length : heldBy(scene, "h").length).toBeGreaterThan(0);
  expect(findings(scene)).toEqual([]);
});

describe("H16 CE-18 I4: a release whose answer was lost takes nothing from who comes next", () => {
  /** The answer is lost only when the address is in another's hands. */
  async function answerLost(guardOf: (sequenceNumber: number) => object, force: boolean) {
    const scene = await Scene.open({ pools: ONE_BLOCK });
    const { world, deployed } = scene;
    const got = await world.during(scene.allocate("a", { handle: "first", v4: 4 }));
    const told = got.kind === "ok" ? got.addresses[2] : undefined;
    const leased = await world.during(deployed.policy.current(world.now));
    if (told === undefined || leased === undefined) throw new Error("nothing to release");
    const { ports, settings } = deployed;
    const sleep = world.sleep.bind(world);
    const call = { ports, principal: {}, settings, sleep } as unknown as Call;
    const items = [{ address: told.address, ...guardOf(told.sequenceNumber) }];
    const release = () => releaseAddresses(call, leased.policy, items, force);
    const before = world.counters.read();
    const answers = world.hold({ method: "releaseAddresses", kind: "answer" });
    const cut = release().catch(() => undefined);
    await world.advance(20);
    expect(answers.messages).toHaveLength(1);
    const next = scene.allocate("a", { handle: "next" });
    await world.advance(100);
    expect(await next).toMatchObject({ kind: "ok", addresses: [{ address: told.address }] });
    answers.drop("error");
    await world.during(cut);
    const sent = world.counters.since(before).calls["client>BlockObject.releaseAddresses"];
    return { scene, release, sent, address: told.address };
  }

  test("unguarded: it is sent once", async () => {
    const { scene, sent, address } = await answerLost(() => ({}), true);
    expect(sent).toBe(1);
    expect(heldBy(scene, "next")).toEqual([address]);
    expect(checkRows(snapshot(scene))).toEqual([]);
  });

  const guards = {
    number: (sequenceNumber: number) => ({ sequenceNumber }),
    handle: () => ({ handle: "first" }),
  };
  test.each(Object.entries(guards))("guarded by %s: repeated, it is rejected", async (_name, guardOf) => {
    const { scene, release, address } = await answerLost(guardOf, false);
    const again = await scene.world.during(release());
    expect(again[0]?.kind).toBe("rejected");
    expect(heldBy(scene, "next")).toEqual([address]);
    expect(checkRows(snapshot(scene))).toEqual([]);
  });

  test("by handle: the keys that were listed are named, a later one stays", async () => {
    const scene = await Scene.open({ pools: ONE_BLOCK });
    const { world } = scene;
    await world.during(scene.allocate("a", { handle: "h" }));
    world.duplicate({ method: "releaseHandle", kind: "request" }, 500);
    const released = scene.release("h");
    await world.advance(100);
    expect(await released).toEqual({ kind: "ok" });
    const next = scene.allocate("a", { handle: "h" });
    await world.advance(1_000);
    expect(await next).toMatchObject({ kind: "ok" });
    expect(heldBy(scene, "h")).toHaveLength(1);
    expect(findings(scene)).toEqual([]);
  });
});
