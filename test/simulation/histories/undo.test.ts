/** What a refused request was told it created, and copies of its messages that come later (I15). */
import { expect, test } from "vitest";
import { blockObject } from "../../support/simulation/deployment.ts";
import { Scene } from "../../support/simulation/scene.ts";
import { findings, heldBy, ONE_BLOCK, rowsOf, TWO_BLOCKS } from "./stage.ts";

test("I15: a copy of an allocation that comes after its undo leaves nothing", async () => {
  // No pool of IPv6: a request for both families is refused, and its IPv4 address is put back.
  const scene = await Scene.open({ pools: ONE_BLOCK, hosts: ["a"] });
  const first = await scene.world.during(scene.allocate("a", { handle: "first" }));
  expect(first.kind).toBe("ok");
  const to = blockObject("10.0.0.0/30");
  scene.world.duplicate({ to, method: "allocate", kind: "request" }, 500);
  const refused = await scene.world.during(scene.allocate("a", { handle: "both", v4: 1, v6: 1 }));
  expect(refused).toMatchObject({ kind: "refused", code: "no_qualified_pool" });
  expect(scene.world.counters.read().calls["HostObject>BlockObject.undo"]).toBe(1);
  await scene.world.advance(5_000);
  expect(heldBy(scene, "both")).toEqual([]);
  expect(findings(scene)).toEqual([]);
});

test("what was undone is given out before another block is claimed", async () => {
  const scene = await Scene.open({ pools: TWO_BLOCKS, hosts: ["a"] });
  const refused = await scene.world.during(scene.allocate("a", { handle: "both", v4: 4, v6: 1 }));
  expect(refused).toMatchObject({ kind: "refused", code: "no_qualified_pool" });
  const got = await scene.world.during(scene.allocate("a", { handle: "one", v4: 4 }));
  expect(got.kind).toBe("ok");
  expect(rowsOf(scene)).toHaveLength(1);
});
