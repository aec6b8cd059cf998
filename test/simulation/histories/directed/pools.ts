/**
 * Directed histories of pools that end and are made again, and of blocks that retire.
 * May import: the simulation.
 */
import { blockObject } from "../../../support/simulation/deployment.ts";
import type { Ended } from "../../../support/simulation/scene.ts";
import { A, askToLeave, ONE_BLOCK, ownerOf, POOL, target } from "../stage.ts";
import type { Directed, Stage } from "./perform.ts";

const CIDR = "10.0.0.0/30";

async function leaveAll(stage: Stage, owner: string): Promise<void> {
  const { scene } = stage;
  const question = { ...target(CIDR), owner, block: A };
  const fresh = await stage.until(scene.deployed.ports.pool("default", 0).fresh(question));
  if (fresh.kind !== "claim") throw new Error(`${A} is not ${owner}'s`);
  const left = await stage.until(askToLeave(scene, owner, A, fresh.epoch));
  stage.isAt(left.kind === "released" && ownerOf(scene, A) === undefined, "the block is given back");
}

function cluster({ scene }: Stage) {
  return scene.deployed.ports.cluster();
}

/** The pool drains to its end; another takes its range. */
async function renew(stage: Stage, blockSize: number): Promise<void> {
  await stage.until(cluster(stage).drainPool({ name: "default", by: "test" }));
  await stage.pass(60_000);
  const spec = { cidr: CIDR, blockSize };
  const made = await stage.until(cluster(stage).putPool({ name: "blue", spec, by: "test" }));
  stage.isAt(made.ok, "the pool is gone, and its range is used again");
}

/** A pool is drained to its end; another over the same range has blocks of the same names. */
export const sameRangeAgain: Directed = {
  options: { pools: ONE_BLOCK },
  async play(stage) {
    const { scene } = stage;
    for (let n = 0; n < 3; n += 1) {
      await stage.until(scene.allocate("a", { handle: "h" }));
      await stage.until(scene.release("h"));
      await leaveAll(stage, "a");
    }
    await renew(stage, 30);
    for (let round = 0; round < 3; round += 1) {
      const got = await stage.until(scene.allocate("b", { handle: "next" }));
      if (got.kind === "ok") return;
      await stage.pass(20_000);
    }
    stage.found("liveness: b gets no block though all are empty");
  },
};

/** A pool comes back with smaller blocks: an address that was released is given again. */
export const otherSizeAgain: Directed = {
  options: { pools: ONE_BLOCK },
  async play(stage) {
    const { scene } = stage;
    const first = await stage.until(scene.allocate("a", { handle: "first" }));
    await stage.until(scene.release("first"));
    await renew(stage, 31);
    await stage.pass(5_000);
    const second = await stage.until(scene.assign("a", "second", "10.0.0.0"));
    stage.isAt(samePlace(first, second), "the address again");
  },
};

/** A pool drains while its figures are old: a block that holds an address looks empty. */
export const drainOnOldFigures: Directed = {
  options: { pools: ONE_BLOCK },
  async play(stage) {
    const { scene } = stage;
    scene.world.drop({ method: "report", to: POOL, kind: "request" }, { times: 1_000 });
    const held = await stage.until(scene.allocate("a", { handle: "held" }));
    stage.isAt(held.kind === "ok", "an address is held");
    await stage.until(cluster(stage).drainPool({ name: "default", by: "test" }));
    await stage.pass(60_000);
    const spec = { cidr: CIDR, blockSize: 31 };
    await stage.until(cluster(stage).putPool({ name: "blue", spec, by: "test" }));
    for (const host of ["a", "b"]) await stage.until(scene.allocate(host, { handle: host, v4: 2 }));
  },
};

/** A block forgets its rows, loses its memory, and gives the same address again. */
export const retiredAndBack: Directed = {
  options: { pools: ONE_BLOCK, settings: { spentKeyMs: 10_000 } },
  async play(stage) {
    const { scene } = stage;
    const first = await stage.until(scene.allocate("a", { handle: "first" }));
    await stage.until(scene.release("first"));
    await stage.pass(15_000);
    const retired = scene.world.hold({ method: "retired", to: POOL, kind: "request" });
    await leaveAll(stage, "a");
    await stage.pass(5_000);
    stage.isAt(retired.messages.length > 0, "the block retires");
    scene.world.evict(blockObject(A));
    retired.release();
    await stage.pass(10_000);
    const rows = scene.world.rows(blockObject(A), "SELECT ordinal FROM ordinals");
    stage.isAt(rows.length === 0, "the block has forgotten");
    const second = await stage.until(scene.allocate("a", { handle: "second" }));
    stage.isAt(samePlace(first, second), "the address again");
  },
};

function samePlace(one: Ended, other: Ended): boolean {
  if (one.kind !== "ok" || other.kind !== "ok") return false;
  return one.addresses[0]?.address === other.addresses[0]?.address;
}
