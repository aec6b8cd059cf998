/** What a host remembers of its blocks, and what a change of the policy makes of it. */
import { expect, test } from "vitest";
import { Scene } from "../../support/simulation/scene.ts";
import { rowsOf } from "./stage.ts";

const FOUR_BLOCKS = { default: { cidr: "10.0.0.0/28", blockSize: 30 } };

test("a block that a reservation made full is asked again once the reservation has gone", async () => {
  const scene = await Scene.open({ pools: FOUR_BLOCKS, hosts: ["a"] });
  const { world, deployed } = scene;
  const cluster = () => deployed.ports.cluster();
  await world.during(scene.allocate("a", { handle: "first" }));
  const [own = ""] = rowsOf(scene);
  const reservedCIDRs = [own.split(" ")[1] ?? ""];
  await world.during(cluster().putReservation({ name: "own", spec: { reservedCIDRs }, by: "test" }));
  await world.during(scene.release("first"));
  // The host hears that nothing of its block is to be had, and claims the other one for this.
  const second = await world.during(scene.allocate("a", { handle: "second", v4: 4 }));
  expect(second.kind).toBe("ok");
  expect(rowsOf(scene)).toHaveLength(2);
  await world.during(cluster().deleteReservation({ name: "own", by: "test" }));
  const third = await world.during(scene.allocate("a", { handle: "third", v4: 4 }));
  expect(third).toMatchObject({ kind: "ok", addresses: [{ block: reservedCIDRs[0] }, {}, {}, {}] });
});
