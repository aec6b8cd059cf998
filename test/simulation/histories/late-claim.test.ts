/** The lease ends while a claim is on its way to its block: the block refuses, and the host asks once more. */
import { expect, test } from "vitest";
import { blockObject } from "../../support/simulation/deployment.ts";
import { Scene } from "../../support/simulation/scene.ts";
import { A, findings, ONE_BLOCK, rowsOf } from "./stage.ts";

/** Longer than a lease, shorter than a host waits for an answer, ms. */
const LATE_MS = 1_200;

/** A request of host a whose first claim arrives after the end of its lease. */
async function lateClaim() {
  const scene = await Scene.open({ pools: ONE_BLOCK });
  const { world } = scene;
  const late = world.hold({ method: "claim", to: blockObject(A), kind: "request" });
  const asked = scene.allocate("a", { handle: "h" });
  await world.advance(LATE_MS);
  expect(late.messages).toHaveLength(1);
  return { scene, late, asked };
}

test("a claim that came after the end of the lease is made again under a fresh one", async () => {
  const { scene, late, asked } = await lateClaim();
  late.release();
  expect(await scene.world.during(asked)).toMatchObject({ kind: "ok" });
  expect(rowsOf(scene)).toEqual([`a ${A} confirmed`]);
  expect(findings(scene)).toEqual([]);
});

test("I7: and not if the policy is another by then: the row waits for the next search", async () => {
  const { scene, late, asked } = await lateClaim();
  const cluster = scene.deployed.ports.cluster();
  await scene.world.during(cluster.changeConfig({ patch: { strictAffinity: true }, by: "test" }));
  late.release();
  expect(await scene.world.during(asked)).toMatchObject({ kind: "refused", code: "overloaded" });
  expect(rowsOf(scene)).toEqual([`a ${A} pending`]);
  expect(await scene.world.during(scene.allocate("a", { handle: "h" }))).toMatchObject({ kind: "ok" });
  expect(rowsOf(scene)).toEqual([`a ${A} confirmed`]);
  expect(findings(scene)).toEqual([]);
});
