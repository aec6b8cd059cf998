/** A limit per handle that is met while the other family, or the policy, goes another way (I9, I15). */
import { expect, test } from "vitest";
import { Scene } from "../../support/simulation/scene.ts";
import { findings, heldBy, ONE_BLOCK } from "./stage.ts";

const BOTH = { ...ONE_BLOCK, six: { cidr: "fd00::/126", blockSize: 126 } };

test("I9 I15: a limit met in one family leaves nothing in the other", async () => {
  const scene = await Scene.open({ pools: BOTH, hosts: ["a"] });
  const wish = { handle: "both", v4: 1, v6: 2, maxPerHandle: 1 };
  const refused = await scene.world.during(scene.allocate("a", wish));
  expect(refused).toMatchObject({ kind: "refused", code: "handle_limit_reached" });
  expect(heldBy(scene, "both")).toEqual([]);
  expect(findings(scene)).toEqual([]);
});

test("I9 I15: also where what is held in the other family is not enough of it", async () => {
  const scene = await Scene.open({ pools: BOTH, hosts: ["a"] });
  const first = await scene.world.during(scene.allocate("a", { handle: "both", v4: 0, v6: 1 }));
  expect(first.kind).toBe("ok");
  const wish = { handle: "both", v4: 1, v6: 2, maxPerHandle: 2 };
  const refused = await scene.world.during(scene.allocate("a", wish));
  expect(refused).toMatchObject({ kind: "refused", code: "handle_limit_reached" });
  expect(heldBy(scene, "both")).toEqual(["fd00::"]);
  expect(findings(scene)).toEqual([]);
});

test.each([
  ["whose host has no block", false],
  ["whose host has a block", true],
])("a limit is met only under the policy of now: a request %s", async (_which, hasBlock) => {
  const scene = await Scene.open({ pools: BOTH, hosts: ["a"] });
  if (hasBlock) await scene.world.during(scene.allocate("a", { handle: "other" }));
  const patch = { disabled: true };
  const { cluster } = scene.deployed.ports;
  const changed = await scene.world.during(cluster().patchPool({ name: "default", patch, by: "test" }));
  expect(changed.ok).toBe(true);
  const wish = { handle: "limited", v4: 2, maxPerHandle: 1, pools: ["default"] };
  const refused = await scene.world.during(scene.allocate("a", wish));
  expect(refused).toMatchObject({ kind: "refused", code: "requested_pool_unavailable" });
});

test("I9: what a request itself has reserved does not count against its limit", async () => {
  const pools = { ...ONE_BLOCK, small: { cidr: "10.0.1.0/30", blockSize: 30 } };
  const scene = await Scene.open({ pools, hosts: ["a"] });
  await scene.world.during(scene.allocate("a", { handle: "other", pools: ["default"] }));
  const patch = { assignmentMode: "Manual" };
  const { cluster } = scene.deployed.ports;
  await scene.world.during(cluster().patchPool({ name: "default", patch, by: "test" }));
  // It reserves at the block of the pool of before, and then has to go elsewhere.
  const got = await scene.world.during(scene.allocate("a", { handle: "limited", v4: 2, maxPerHandle: 2 }));
  expect(got).toMatchObject({ kind: "ok", addresses: [{ block: "10.0.1.0/30" }, { block: "10.0.1.0/30" }] });
  expect(findings(scene)).toEqual([]);
});

test("I9 I13: a repeat at the limit gets what its key holds and what it lacks of that, not more", async () => {
  const pools = {
    default: { cidr: "10.0.0.0/29", blockSize: 30 },
    spare: { cidr: "10.0.1.0/30", blockSize: 30 },
  };
  const scene = await Scene.open({ pools, hosts: ["a", "b"] });
  const limited = { handle: "limited", maxPerHandle: 3 };
  const first = { ...limited, pools: ["default"] };
  for (const handle of ["limited", "x", "y"]) {
    await scene.world.during(scene.allocate("a", { handle, pools: ["default"] }));
  }
  // The one address that is left is created; the claim of the next block is lost.
  const claims = scene.world.hold({ method: "claim", kind: "request" });
  const cut = await scene.world.during(scene.allocate("a", { ...first, v4: 2 }));
  expect(cut).toMatchObject({ kind: "refused", code: "overloaded" });
  claims.drop();
  await scene.world.advance(5_000);
  const asked = scene.asked[scene.asked.length - 1];
  const other = await scene.world.during(scene.allocate("b", { ...limited, pools: ["spare"] }));
  expect(other.kind).toBe("ok");
  const again = asked === undefined ? undefined : await scene.world.during(scene.again(asked));
  expect(again).toMatchObject({
    kind: "ok",
    addresses: [{ address: "10.0.0.3" }, { address: "10.0.0.0" }],
  });
  expect(heldBy(scene, "limited")).toHaveLength(3);
  expect(findings(scene)).toEqual([]);
});
