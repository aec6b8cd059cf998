/**
 * Directed histories of what goes on by itself: a host's removal, a block's word to its Pool.
 * May import: the simulation.
 */
import { blockObject } from "../../../support/simulation/deployment.ts";
import { A, askToLeave, HOST_A, heldBy, ONE_BLOCK, ownerOf, POOL, TWO_BLOCKS, target } from "../stage.ts";
import type { Directed, Stage } from "./perform.ts";

const LONG_MS = 700_000;

function port({ scene }: Stage, host: string) {
  return scene.deployed.ports.host(host);
}

/** A host is removed and registers again, while its removal waits for an epoch. */
export const removedAndBack: Directed = {
  options: { pools: TWO_BLOCKS },
  async play(stage) {
    const { scene } = stage;
    await stage.until(scene.allocate("a", { handle: "old" }));
    const late = scene.world.hold({ method: "fresh", from: POOL, kind: "answer" });
    await stage.until(port(stage, "a").remove({ host: "a" }));
    await stage.pass(500);
    stage.isAt(late.messages.length === 1, "the removal is about to take the block");
    const back = port(stage, "a").register({ host: "a", labels: {} });
    await stage.pass(50);
    stage.isAt((await back).ok, "the host is back");
    late.release();
    await stage.pass(60_000);
    if (ownerOf(scene, A) !== "a") stage.found(`H13: a is back, and ${A} was taken from it`);
  },
};

/** A host that has borrowed loses its memory, and is removed. */
export const borrowerRemoved: Directed = {
  options: { pools: ONE_BLOCK },
  async play(stage) {
    const { scene } = stage;
    await stage.until(scene.allocate("b", { handle: "theirs" }));
    await stage.until(scene.allocate("a", { handle: "borrowed" }));
    stage.isAt(heldBy(scene, "borrowed").length === 1 && ownerOf(scene, A) === "b", "a has borrowed");
    scene.world.evict(HOST_A);
    await stage.until(port(stage, "a").remove({ host: "a" }));
    await stage.pass(LONG_MS);
    const { view } = await stage.until(port(stage, "a").describe({ host: "a" }));
    if (view === undefined) stage.found("directory: a is forgotten, and its address is still held");
  },
};

/** A block that is to retire cannot write at first, and nobody else asks it for anything. */
export const retireOnFullDisk: Directed = {
  options: { pools: ONE_BLOCK },
  async play(stage) {
    const { scene } = stage;
    const { world, deployed } = scene;
    await stage.until(scene.allocate("a", { handle: "h" }));
    await stage.until(scene.release("h"));
    world.drop({ method: "release", to: POOL, kind: "request" }, { times: 1_000 });
    const pool = deployed.ports.pool("default", 0);
    const fresh = await stage.until(pool.fresh({ ...target("10.0.0.0/30"), owner: "a", block: A }));
    if (fresh.kind !== "claim") throw new Error(`${A} is not a's`);
    await stage.until(askToLeave(scene, "a", A, fresh.epoch));
    world.setFull(blockObject(A), true);
    await stage.pass(10_000);
    world.setFull(blockObject(A), false);
    await stage.pass(60_000);
    const { entry } = await stage.until(pool.find({ ...target("10.0.0.0/30"), block: A }));
    if (entry?.state !== "free")
      stage.found(`liveness: ${A} is nobody's, and its Pool calls it ${entry?.state}`);
  },
};
