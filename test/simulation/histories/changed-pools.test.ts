/** A request whose first block turns out to be of a pool that it may not use any more. */
import { expect, test } from "vitest";
import { Scene } from "../../support/simulation/scene.ts";
import { findings, ONE_BLOCK } from "./stage.ts";

test("it takes its addresses from as many other blocks as it needs", async () => {
  const pools = { ...ONE_BLOCK, single: { cidr: "10.0.1.0/30", blockSize: 32 } };
  const scene = await Scene.open({ pools, hosts: ["a"] });
  await scene.world.during(scene.allocate("a", { handle: "other", pools: ["default"] }));
  const patch = { assignmentMode: "Manual" };
  const { cluster } = scene.deployed.ports;
  await scene.world.during(cluster().patchPool({ name: "default", patch, by: "test" }));
  const got = await scene.world.during(scene.allocate("a", { handle: "wide", v4: 3 }));
  expect(got.kind === "ok" && got.addresses.map(({ block }) => block.slice(-3))).toEqual([
    "/32",
    "/32",
    "/32",
  ]);
  expect(findings(scene)).toEqual([]);
});
