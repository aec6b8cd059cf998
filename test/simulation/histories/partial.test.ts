/** Histories of partial answers: what a repeat may not add. May import: the simulation. */
import { expect, test } from "vitest";
import { Scene } from "../../support/simulation/scene.ts";

test("I13: a partial answer stays what it was, also where the Host's figures were old", async () => {
  const pools = {
    default: { cidr: "10.0.0.0/30", blockSize: 30 },
    six: { cidr: "fd00::/120", blockSize: 122 },
  };
  const scene = await Scene.open({ pools, hosts: ["a", "b"], config: { ipCooldownSeconds: 0 } });
  for (const handle of ["p", "q", "r"]) await scene.world.during(scene.allocate("a", { handle }));
  // Host a believes that one address is left: it reserves at its block and hears that it is full.
  await scene.world.during(scene.allocate("b", { handle: "s" }));
  const wish = { handle: "h", key: "k", v4: 1, v6: 1, partial: true };
  const first = await scene.world.during(scene.allocate("a", wish));
  expect(first).toMatchObject({ kind: "ok", addresses: [{ family: 6 }] });
  await scene.world.during(scene.release("q"));
  await scene.world.advance(10_000);
  expect(await scene.world.during(scene.allocate("a", wish))).toEqual(first);
});
