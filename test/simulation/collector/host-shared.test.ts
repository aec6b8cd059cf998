/**
 * I11: an address that a handle holds on one host, and that another host was told too: it lives there.
 */
import { expect, test } from "vitest";
import { FakeCluster, MINUTE, type Stage, staged } from "./host-stage.ts";

const ADDRESS = "10.0.0.0";
const ONE = { namespace: "web", pod: "one" };
const TWO = { namespace: "web", pod: "two" };

/** Host b asks by name for the address that the handle holds on host a. */
async function assigned(stage: Stage, more: { readonly maxPerHandle?: number } = {}): Promise<void> {
  const wish = { handle: "net.shared", attributes: ONE, v4: 1, ...more };
  expect(await stage.world.during(stage.scene.allocate("a", wish))).toMatchObject({ kind: "ok" });
  const answer = stage.scene.deployed.ports.host("b").assign({
    ...{ host: "b", handle: "net.shared", key: "of-b", fingerprint: "b", address: ADDRESS },
    ...{ use: "Workload", attributes: TWO, leakCollection: "auto" },
    ...more,
  });
  expect(await stage.world.during(answer)).toMatchObject({
    value: { created: false, address: { record: { address: ADDRESS, host: "a" } } },
  });
}

/** Long enough for a leak: host a reports nothing, host b the pod that uses the address. */
async function pass(stage: Stage): Promise<void> {
  const workloads = [{ ...TWO, addresses: [ADDRESS] }];
  for (let turn = 0; turn < 8; turn += 1) {
    await stage.world.advance(4 * MINUTE);
    await stage.reported("a", []);
    await stage.reported("b", [], { workloads });
    await stage.audited("a");
  }
}

test.each([{}, { maxPerHandle: 1 }])(
  "I11: is not absent by the agent of the host that holds it (%o)",
  async (more) => {
    const stage = await staged({ hosts: ["a", "b"] });
    await assigned(stage, more);
    await pass(stage);
    expect([...stage.handles()]).toEqual(["net.shared"]);
    await stage.world.during(stage.scene.release("net.shared"));
    expect([...stage.handles()]).toEqual([]);
  },
);

test("I11: is not absent by a cluster without the pod that got it first", async () => {
  const cluster = new FakeCluster();
  const stage = await staged({ cluster, hosts: ["a", "b"] });
  await assigned(stage);
  cluster.put("two", "b", [ADDRESS]);
  await pass(stage);
  expect([...stage.handles()]).toEqual(["net.shared"]);
});
