/**
 * Directed histories of who owns a block: late and repeated messages between Pool, Host and block.
 * May import: the simulation.
 */
import type { BlockPort } from "../../../../src/rpc/block.ts";
import { blockObject } from "../../../support/simulation/deployment.ts";
import { A, askToLeave, HOST_A, ONE_BLOCK, POOL, rowsOf, target } from "../stage.ts";
import type { Directed, Stage } from "./perform.ts";

const STRICT = { strictAffinity: true };
const BLOCK_A = blockObject(A);
const CIDR = "10.0.0.0/30";
const ONE = { pools: ONE_BLOCK, config: STRICT };

/** A fresh epoch of block A for a host; other messages go on. */
async function freshEpoch(stage: Stage, owner: string): Promise<number> {
  const question = { ...target(CIDR), owner, block: A };
  const answer = stage.scene.deployed.ports.pool("default", 0).fresh(question);
  await stage.pass(10);
  const fresh = await answer;
  stage.isAt(fresh.kind === "claim", `${A} is offered to ${owner}`);
  return fresh.kind === "claim" ? fresh.epoch : 0;
}

/** An empty block A of host a. */
async function ownedEmpty(stage: Stage): Promise<void> {
  await stage.until(stage.scene.allocate("a", { handle: "first" }));
  await stage.until(stage.scene.release("first"));
  stage.isAt(rowsOf(stage.scene).join() === `a ${A} confirmed`, "a owns its block");
}

/** A host that may have no more blocks gives back what it was offered; its word to the block comes late. */
export const declinedLate: Directed = {
  options: {
    pools: { default: { cidr: CIDR, blockSize: 30 }, other: { cidr: "10.0.1.0/30", blockSize: 30 } },
    config: { ...STRICT, maxBlocksPerHost: 1 },
  },
  async play(stage) {
    const { scene } = stage;
    const { world, deployed } = scene;
    const declined = world.hold({ method: "releaseAffinity", to: BLOCK_A, kind: "request" });
    const offered = world.hold({ method: "claim", from: POOL, kind: "answer" });
    const late = scene.allocate("a", { handle: "late", pools: ["default"] });
    await stage.pass(20);
    const first = scene.allocate("a", { handle: "first", pools: ["other"] });
    await stage.pass(50);
    stage.isAt((await first).kind === "ok" && offered.messages.length === 1, "two claims cross");
    offered.release();
    await stage.until(late);
    stage.isAt(declined.messages.length > 0, "the offer beyond the cap is declined");
    const patch = { maxBlocksPerHost: 2 };
    await stage.until(deployed.ports.cluster().changeConfig({ patch, by: "test" }));
    const got = await stage.until(scene.allocate("a", { handle: "second", pools: ["default"] }));
    stage.isAt(got.kind === "ok", "the block is offered again");
    await stage.until(scene.release("second"));
    declined.release();
    await stage.pass(100);
  },
};

/** A block is given back before the claim of it arrives, and its claimer is gone. */
export const claimAfterReturn: Directed = {
  options: ONE,
  async play(stage) {
    const { scene } = stage;
    const { world } = scene;
    const late = world.hold({ method: "claim", to: BLOCK_A, kind: "request" });
    const cut = scene.allocate("a", { handle: "h" });
    await stage.pass(20);
    stage.isAt(late.messages.length === 1, "the claim is under way");
    const left = askToLeave(scene, "a", A, await freshEpoch(stage, "a"));
    await stage.pass(30);
    stage.isAt((await left).kind === "released", "the block is given back");
    world.evict(HOST_A);
    late.release();
    await stage.until(cut);
  },
};

/** The Pool's offer arrives when its block is already being given back under a later epoch. */
export const offerAfterReturn: Directed = {
  options: ONE,
  async play(stage) {
    const { scene } = stage;
    const { world } = scene;
    const offered = world.hold({ method: "claim", from: POOL, kind: "answer" });
    const asked = world.hold({ method: "allocate", to: BLOCK_A, kind: "request" });
    const slow = scene.allocate("a", { handle: "h" });
    await stage.pass(20);
    stage.isAt(offered.messages.length === 1, "the offer is under way");
    const leaving = world.hold({ method: "releaseAffinity", to: BLOCK_A, kind: "request" });
    void askToLeave(scene, "a", A, await freshEpoch(stage, "a"));
    await stage.pass(20);
    stage.isAt(rowsOf(scene).join() === `a ${A} pendingDeletion`, "the block is being given back");
    offered.release();
    await stage.pass(50);
    leaving.release();
    await stage.pass(50);
    asked.release();
    await stage.until(slow);
  },
};

/** The block's answer to a claim arrives when the block is given back, and its Pool has not heard so. */
export const acceptedAfterReturn: Directed = {
  options: ONE,
  async play(stage) {
    const { scene } = stage;
    const { world } = scene;
    const accepted = world.hold({ method: "claim", from: BLOCK_A, kind: "answer" });
    const slow = scene.allocate("a", { handle: "h" });
    await stage.pass(20);
    stage.isAt(accepted.messages.length === 1, "the block has accepted");
    const returned = world.hold({ method: "release", to: POOL, kind: "request" });
    void askToLeave(scene, "a", A, await freshEpoch(stage, "a"));
    await stage.pass(20);
    stage.isAt(returned.messages.length > 0, "the block is ownerless");
    accepted.release();
    await stage.pass(50);
    returned.release();
    await stage.until(slow);
  },
};

/** A copy of an order to leave that was refused arrives when the block is empty. */
export const refusedReturnAgain: Directed = {
  options: { pools: ONE_BLOCK },
  async play(stage) {
    const { scene } = stage;
    await stage.until(scene.allocate("a", { handle: "first" }));
    const epoch = await freshEpoch(stage, "a");
    const refused = await stage.until(askToLeave(scene, "a", A, epoch));
    stage.isAt(refused.kind === "block_not_empty", "the return is refused");
    await stage.until(scene.release("first"));
    const place = { block: A, pool: "default", incarnation: 0, poolCidr: CIDR };
    const copy = { ...place, owner: "a", epoch, mustBeEmpty: true, cooldownMs: 0 };
    await stage.until(scene.world.stub<BlockPort>(BLOCK_A).releaseAffinity(copy));
  },
};

/** A copy of a Host's word that it gave a block back arrives when it has the block again. */
export const returnedAgain: Directed = {
  options: ONE,
  async play(stage) {
    const { scene } = stage;
    const { world } = scene;
    await ownedEmpty(stage);
    world.duplicate({ method: "release", to: POOL, kind: "request" }, 5_000);
    const left = askToLeave(scene, "a", A, await freshEpoch(stage, "a"));
    await stage.pass(50);
    stage.isAt((await left).kind === "released", "the block is given back");
    const got = scene.allocate("a", { handle: "again" });
    await stage.pass(50);
    stage.isAt((await got).kind === "ok", "the block is claimed again");
    await stage.pass(6_000);
  },
};

/** A claim is lost on its way to the block; its Host makes it again. */
export const lostClaim: Directed = {
  options: ONE,
  async play(stage) {
    const { scene } = stage;
    const { world } = scene;
    world.drop({ method: "claim", to: BLOCK_A, kind: "request" });
    const cut = await stage.until(scene.allocate("a", { handle: "cut" }));
    stage.isAt(cut.kind !== "ok" && rowsOf(scene).join() === `a ${A} pending`, "the claim is lost");
    await stage.pass(5_000);
    const got = await stage.until(scene.allocate("a", { handle: "next" }));
    if (got.kind !== "ok")
      stage.found(`liveness: a gets nothing of its own empty block: ${JSON.stringify(got)}`);
  },
};
