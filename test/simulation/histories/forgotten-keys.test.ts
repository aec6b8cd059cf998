/** What a block forgets of a key whose other addresses it still holds. */
import { expect, test } from "vitest";
import { check, lines } from "../../support/simulation/checks.ts";
import { Scene } from "../../support/simulation/scene.ts";
import { findings, heldBy, ONE_BLOCK } from "./stage.ts";

test("I4, I5: a key that holds an address is not spent by the past of another that it released", async () => {
  const scene = await Scene.open({ pools: ONE_BLOCK, hosts: ["a"] });
  const { world } = scene;
  const got = await world.during(scene.allocate("a", { handle: "two", v4: 2 }));
  if (got.kind !== "ok") throw new Error(got.kind);
  const [first] = got.addresses;
  if (first === undefined) throw new Error("nothing was given");
  const { address, block, sequenceNumber } = first;
  await world.during(scene.releaseAddress(block, { address, sequenceNumber }));
  // The released address changes hands until the block has no room for who held it first.
  for (let n = 0; n < 60; n += 1) {
    await world.during(scene.allocate("a", { handle: "guest" }));
    await world.during(scene.release("guest"));
    await world.advance(200);
  }
  await world.advance(1_000);
  expect(heldBy(scene, "two")).toHaveLength(1);
  expect(findings(scene)).toEqual([]);
  expect(lines(await check(scene))).toEqual([]);
  await world.during(scene.release("two"));
  expect(heldBy(scene, "two")).toEqual([]);
});
