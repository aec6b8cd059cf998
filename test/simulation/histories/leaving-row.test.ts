/** A row that is on its way out may lie beyond the cap of its host: it is no right to claim its block. */
import { expect, test } from "vitest";
import { Scene } from "../../support/simulation/scene.ts";
import { A, findings, HOST_B, rowsOf } from "./stage.ts";

const O = "10.0.1.0/30";
const OTHER = "pool:v1:default:other:0";
const POOLS = {
  default: { cidr: A, blockSize: 30 },
  other: { cidr: O, blockSize: 30 },
};
const target = { pool: "other", incarnation: 0, cidr: O, blockSize: 30 };

test("I10: an offer that meets an order to leave is declined by a host that has as many blocks as it may", async () => {
  const scene = await Scene.open({ pools: POOLS });
  const { world } = scene;
  const { ports } = scene.deployed;
  // The first offer of the other pool is slow, and the host's one block comes from the first pool meanwhile.
  const offer = world.hold({ method: "claim", from: OTHER, kind: "answer" });
  const asked = scene.allocate("b", { handle: "slow", pools: ["other"], maxBlocksPerHost: 1 });
  await world.advance(30);
  expect(offer.messages).toHaveLength(1);
  const quick = scene.allocate("b", { handle: "quick", pools: ["default"], maxBlocksPerHost: 1 });
  await world.advance(30);
  expect(await quick).toMatchObject({ kind: "ok" });
  // What was offered is asked back; the block has retired while its Pool does not hear of its host.
  const issued = ports.pool("other", 0).fresh({ ...target, owner: "b", block: O });
  await world.advance(10);
  const fresh = await issued;
  if (fresh.kind !== "claim") throw new Error("the block is b's");
  const back = world.hold({ method: "release", from: HOST_B, to: OTHER, kind: "request" });
  const message = { host: "b", block: O, pool: "other", incarnation: 0, epoch: fresh.epoch };
  const left = ports.host("b").releaseBlock({ ...message, mustBeEmpty: true, forReclaim: false });
  await world.advance(300);
  expect(rowsOf(scene)).toEqual([`b ${A} confirmed`, `b ${O} pendingDeletion`]);
  offer.release();
  await world.advance(300);
  expect(rowsOf(scene)).toEqual([`b ${A} confirmed`, `b ${O} pendingDeletion`]);
  back.release();
  expect(await world.during(asked)).toMatchObject({ kind: "refused", code: "block_limit_reached" });
  expect(await world.during(left)).toEqual({ kind: "released" });
  expect(rowsOf(scene)).toEqual([`b ${A} confirmed`]);
  expect(findings(scene)).toEqual([]);
});
