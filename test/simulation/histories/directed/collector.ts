/**
 * Directed histories of the leak collector: what is handed out while its order is on the way, one report that
 * arrives again, a leak in a block of others. May import: the simulation.
 */
import { blockObject } from "../../../support/simulation/deployment.ts";
import { setOwners } from "../../../support/simulation/operators.ts";
import { A, HOST_A, heldBy, ONE_BLOCK, ownerOf } from "../stage.ts";
import type { Directed, Stage } from "./perform.ts";

const COLLECTING = { pools: ONE_BLOCK, hasPods: true };
/** Longer than an allocation is young; longer than the grace. */
const SETTLED_MS = 130_000;
const GRACE_MS = 70_000;

/** A pod of host a that gets one address, and ends without a release. */
async function leak(stage: Stage, handle: string, maxPerHandle?: number) {
  const limit = maxPerHandle === undefined ? {} : { maxPerHandle };
  const key = stage.scene.newKey();
  const got = await stage.until(stage.scene.allocate("a", { handle, key, ...limit }));
  const told = got.kind === "ok" ? got.addresses[0] : undefined;
  if (told === undefined) throw new Error("there is no address");
  stage.fleet.pods.end({ handle });
  return { key, told };
}

async function report(stage: Stage, host: string): Promise<void> {
  const told = await stage.until(stage.fleet.agents.report(host, "whole"));
  stage.isAt(told.join() === "accepted", `the report of ${host} is taken in`);
}

/** Two reports, more than the grace apart, do not list what is leaked; the order that the third one brings waits. */
async function orderUnderWay(stage: Stage, handle: string, maxPerHandle?: number) {
  const leaked = await leak(stage, handle, maxPerHandle);
  for (const pauseMs of [SETTLED_MS, GRACE_MS]) {
    await stage.scene.world.advance(pauseMs);
    await report(stage, "a");
  }
  await stage.scene.world.advance(GRACE_MS);
  const order = stage.scene.world.hold({ method: "releaseLeaked", to: blockObject(A), kind: "request" });
  const third = stage.fleet.agents.report("a", "whole");
  await stage.pass(100);
  stage.isAt(order.messages.length === 1, "the order to free the address is under way");
  return { ...leaked, order, third };
}

/** H14: a pod gets the address that its handle holds, under its limit, while the order is on its way. */
export const reusedBesideOrder: Directed = {
  options: COLLECTING,
  async play(stage) {
    const { scene } = stage;
    const { told, order, third } = await orderUnderWay(stage, "h", 1);
    const asked = scene.allocate("a", { handle: "h", maxPerHandle: 1 });
    await stage.pass(100);
    const got = await asked;
    const isIt = got.kind === "ok" && got.addresses[0]?.address === told.address;
    stage.isAt(isIt && got.reused, "the address is handed out again");
    order.release();
    await stage.until(third);
  },
};

/** The same with the key of the first request: a replay. */
export const replayedBesideOrder: Directed = {
  options: COLLECTING,
  async play(stage) {
    const { scene } = stage;
    const { key, order, third } = await orderUnderWay(stage, "h");
    const asked = scene.allocate("a", { handle: "h", key });
    await stage.pass(100);
    stage.isAt((await asked).kind === "ok", "the request is replayed");
    order.release();
    await stage.until(third);
  },
};

/** The address is given to another owner while the order is on its way. */
export const ownedBesideOrder: Directed = {
  options: COLLECTING,
  async play(stage) {
    const { scene } = stage;
    const { told, order, third } = await orderUnderWay(stage, "h");
    const set = setOwners(
      scene,
      { block: A, address: told.address, handle: "h" },
      { active: "y", alternate: "" },
    );
    await stage.pass(100);
    stage.isAt((await set).join() === "updated", "the address has another owner");
    order.release();
    await stage.until(third);
    if (heldBy(scene, "h").length === 0) stage.found(`I11: ${told.address} was freed under its new owner`);
  },
};

/** One report is delivered three times, more than the grace apart; no other one comes. */
export const reportCopied: Directed = {
  options: COLLECTING,
  async play(stage) {
    const { scene, fleet } = stage;
    await leak(stage, "h");
    await scene.world.advance(SETTLED_MS);
    await report(stage, "a");
    const [sent] = fleet.agents.sent("a").reports;
    if (sent === undefined) throw new Error("nothing was reported");
    for (let copy = 0; copy < 3; copy += 1) {
      await scene.world.advance(GRACE_MS);
      await stage.until(scene.deployed.ports.host("a").reportWorkloads(sent.request));
    }
    stage.isAt(fleet.agents.sent("a").reports.length === 1, "there was one report");
  },
};

/** A host has lost its memory, and a pod of it is gone that had an address in a block of another host. */
export const leakInForeignBlock: Directed = {
  options: COLLECTING,
  async play(stage) {
    const { scene } = stage;
    await stage.until(scene.allocate("b", { handle: "theirs" }));
    const { told } = await leak(stage, "h");
    stage.isAt(ownerOf(scene, A) === "b", "a has borrowed");
    scene.world.evict(HOST_A);
    for (const pauseMs of [SETTLED_MS, GRACE_MS, GRACE_MS]) {
      await scene.world.advance(pauseMs);
      await report(stage, "a");
      await report(stage, "b");
    }
    if (heldBy(scene, "h").length > 0) stage.found(`liveness: ${told.address} is leaked and stays`);
    if (heldBy(scene, "theirs").length === 0) stage.found("I11: the address of another host is gone");
  },
};

/** Pods of one handle on two hosts: one is gone, the other lives. */
export const handleOfTwoHosts: Directed = {
  options: COLLECTING,
  async play(stage) {
    const { scene, fleet } = stage;
    await stage.until(scene.allocate("a", { handle: "h" }));
    await stage.until(scene.allocate("b", { handle: "h" }));
    fleet.pods.end({ host: "a", handle: "h" });
    for (const pauseMs of [SETTLED_MS, GRACE_MS, GRACE_MS, GRACE_MS]) {
      await scene.world.advance(pauseMs);
      await report(stage, "b");
      await report(stage, "a");
    }
    if (heldBy(scene, "h").length < 2) stage.found("I11: a part of a handle was freed");
  },
};
