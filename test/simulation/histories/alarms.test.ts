/**
 * Alarms live on (CE-23, F35): an answer that never comes holds up neither a block nor a shard.
 */
import { expect, test } from "vitest";
import { blockObject } from "../../support/simulation/deployment.ts";
import { Scene } from "../../support/simulation/scene.ts";
import { A, findings, leave, ONE_BLOCK, POOL, SHARD, target } from "./stage.ts";

test.each(["request", "answer"] as const)(
  "a block's word that it retired is repeated: %s lost",
  async (kind) => {
    const scene = await Scene.open({ pools: ONE_BLOCK, config: { ipCooldownSeconds: 0 } });
    const { world, deployed } = scene;
    await world.during(scene.allocate("a", { handle: "h" }));
    await world.during(scene.release("h"));
    // The Pool hears of it by the block alone: the Host's own word is lost too.
    world.drop({ method: "release", to: POOL, kind: "request" }, { times: 10 });
    world.drop({ method: "retired", kind }, { times: 2 });
    const left = await leave(scene, "a", A, "10.0.0.0/30");
    await world.during(left.answer);
    await world.advance(60_000);
    const pool = deployed.ports.pool("default", 0);
    const found = await world.during(pool.find({ ...target("10.0.0.0/30"), block: A }));
    expect(found.entry).toMatchObject({ state: "free" });
  },
);

test("I5: the shard's pass goes on after a block that did not answer", async () => {
  const scene = await Scene.open({ pools: ONE_BLOCK, settings: { indexPassMs: 5_000 } });
  const { world } = scene;
  const got = await world.during(scene.allocate("a", { handle: "h" }));
  const number = got.kind === "ok" ? (got.addresses[0]?.sequenceNumber ?? 0) : 0;
  world.drop({ method: "holds", from: blockObject(A), kind: "answer" });
  await world.during(scene.releaseAddress(A, { address: "10.0.0.0", sequenceNumber: number }));
  await world.advance(60_000);
  expect(world.rows(SHARD, "SELECT key FROM keys WHERE state = 'reserved'")).toEqual([]);
  expect(findings(scene)).toEqual([]);
});
