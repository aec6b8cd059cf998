import { CLUSTER_OBJECT_NAME } from "../../../../src/core/ids.ts";
import { blockObject } from "../../../support/simulation/deployment.ts";
import { A, HOST_B, ONE_BLOCK } from "../stage.ts";
import type { Directed, Stage } from "./perform.ts";

const SKEW_MS = 100;
const LEASED = { pools: ONE_BLOCK, settings: { leaseMs: 1_000, skewMs: SKEW_MS } };
const WRITE_MAX_MS = 2_000;

/** A message of host b to the block of host a, sent under a lease and late. */
async function lateBorrow(stage: Stage) {
  const { scene } = stage;
  await stage.until(scene.allocate("a", { handle: "first" }));
  await stage.pass(5_000);
  const late = scene.world.hold({ method: "allocate", from: HOST_B, to: blockObject(A), kind: "request" });
  const borrow = scene.allocate("b", { handle: "h" });
  await stage.pass(50);
  stage.isAt(late.messages.length === 1, "the message is under way");
  return { late, borrow };
}

function writeStrict({ scene }: Stage) {
  return scene.deployed.ports.cluster().changeConfig({ patch: { strictAffinity: true }, by: "test" });
}

/** Waits for the answer of a write and no longer: what follows comes in the same millisecond. */
async function acknowledged(stage: Stage, written: ReturnType<typeof writeStrict>): Promise<void> {
  let isAnswered = false;
  void written.then(({ ok }) => {
    isAnswered = ok;
  });
  for (let ms = 0; ms < WRITE_MAX_MS && !isAnswered; ms += 1) await stage.pass(1);
  stage.isAt(isAnswered, "the write is acknowledged");
  stage.watch.obeyed.strict = true;
}

/** A message from before a write arrives after its answer, at a block whose clock is behind. */
export const slowClock: Directed = {
  options: LEASED,
  async play(stage) {
    stage.scene.world.setClock(blockObject(A), -0.9 * SKEW_MS);
    const { late, borrow } = await lateBorrow(stage);
    stage.watch.obeyed.strict = undefined;
    await acknowledged(stage, writeStrict(stage));
    late.release();
    await stage.until(borrow);
  },
};

/** Cluster dies while a write waits; the operator repeats the write, which changes nothing any more. */
export const writeAgain: Directed = {
  options: LEASED,
  async play(stage) {
    const { late, borrow } = await lateBorrow(stage);
    stage.watch.obeyed.strict = undefined;
    const cut = writeStrict(stage).catch(() => undefined);
    await stage.pass(20);
    stage.scene.world.evict(CLUSTER_OBJECT_NAME);
    await stage.pass(20);
    await acknowledged(stage, writeStrict(stage));
    late.release();
    await stage.until(Promise.all([borrow, cut]));
  },
};

/** An attempt puts back what it got, when the handle has been told of that address again. */
export const undoOfReused: Directed = {
  options: {
    pools: { v4: { cidr: "10.0.0.0/29", blockSize: 30 }, v6: { cidr: "fd00::/125", blockSize: 125 } },
  },
  async play(stage) {
    const { scene } = stage;
    await stage.until(scene.allocate("b", { handle: "full", v4: 0, v6: 8 }));
    await stage.until(scene.allocate("a", { handle: "first" }));
    const search = scene.world.hold({ method: "claim", toClass: "PoolObject", kind: "request" });
    const dual = scene.allocate("a", { handle: "h", v4: 1, v6: 1 });
    await stage.pass(20);
    const again = scene.assign("a", "h", "10.0.0.1");
    await stage.pass(20);
    const told = await again;
    stage.isAt(told.kind === "ok" && told.reused, "the address is handed out again");
    search.release();
    await stage.until(dual);
  },
};
