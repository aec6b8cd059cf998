/**
 * How histories of the collector bring an address to the point at which it is freed.
 * May import: the simulation.
 */
import { blockObject } from "../../../support/simulation/deployment.ts";
import { A, ONE_BLOCK } from "../stage.ts";
import type { Stage } from "./perform.ts";

export const COLLECTING = { pools: ONE_BLOCK, hasPods: true };
/** Longer than an allocation is young; longer than the grace. */
export const SETTLED_MS = 130_000;
export const GRACE_MS = 70_000;

/** A pod of host a that gets one address, and ends without a release. */
export async function leak(stage: Stage, handle: string, maxPerHandle?: number) {
  const limit = maxPerHandle === undefined ? {} : { maxPerHandle };
  const key = stage.scene.newKey();
  const got = await stage.until(stage.scene.allocate("a", { handle, key, ...limit }));
  const told = got.kind === "ok" ? got.addresses[0] : undefined;
  if (told === undefined) throw new Error("there is no address");
  stage.fleet.pods.end({ handle });
  return { key, told };
}

export async function report(stage: Stage, host: string): Promise<void> {
  const told = await stage.until(stage.fleet.agents.report(host, "whole"));
  stage.isAt(told.join() === "accepted", `the report of ${host} is taken in`);
}

/** Two reports, more than the grace apart, do not list what is leaked; the order that the third one brings waits. */
export async function orderUnderWay(stage: Stage, handle: string, maxPerHandle?: number) {
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
