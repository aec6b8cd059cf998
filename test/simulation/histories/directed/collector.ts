/**
 * Directed histories of the leak collector: what is handed out while its order is on the way, one report that
 * arrives again, a leak in a block of others. May import: the simulation.
 */
import { setOwners } from "../../../support/simulation/operators.ts";
import { A, HOST_A, heldBy, ownerOf } from "../stage.ts";
import { COLLECTING, GRACE_MS, leak, orderUnderWay, report, SETTLED_MS } from "./leaking.ts";
import type { Directed } from "./perform.ts";

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
