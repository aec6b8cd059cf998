/**
 * Directed histories of messages that reach an address, or a block, in other hands than they were meant for.
 * May import: the simulation, src/http.
 */
import type { Call } from "../../../../src/http/operation.ts";
import { releaseAddresses } from "../../../../src/http/writing/release-by-address.ts";
import { blockObject } from "../../../support/simulation/deployment.ts";
import type { Told } from "../../../support/simulation/scene.ts";
import { A, HOST_A, ONE_BLOCK } from "../stage.ts";
import type { Directed, Stage } from "./perform.ts";

const BLOCK_A = blockObject(A);

/** Releases an address by nothing but itself, as the Worker does for an administrator. */
async function releaseByForce(stage: Stage, { address, sequenceNumber }: Told) {
  const { scene } = stage;
  const { ports, settings, policy } = scene.deployed;
  const leased = await stage.until(policy.current(scene.world.now));
  if (leased === undefined) throw new Error("there is no policy");
  const begun = scene.tick();
  const never = Number.POSITIVE_INFINITY;
  scene.released.push({ what: "release", address, sequenceNumber, begun, over: never, ended: undefined });
  const sleep = scene.world.sleep.bind(scene.world);
  const call = { ports, settings, principal: {}, sleep } as unknown as Call;
  return { answer: releaseAddresses(call, leased.policy, [{ address }], true) };
}

/** The answer to an unguarded release is lost, and the address is given to another meanwhile. */
export const unguardedRelease: Directed = {
  options: { pools: ONE_BLOCK },
  async play(stage) {
    const { scene } = stage;
    const got = await stage.until(scene.allocate("a", { handle: "first", v4: 4 }));
    const told = got.kind === "ok" ? got.addresses[2] : undefined;
    if (told === undefined) throw new Error("the block is not full");
    const answers = scene.world.hold({ method: "releaseAddresses", kind: "answer" });
    const { answer } = await releaseByForce(stage, told);
    const cut = answer.catch(() => undefined);
    await stage.pass(20);
    stage.isAt(answers.messages.length === 1, "the address is released");
    const next = scene.allocate("a", { handle: "next" });
    await stage.pass(100);
    stage.isAt((await next).kind === "ok", "the address is another's");
    answers.drop("error");
    await stage.until(cut);
  },
};

/** Two instances of a block write to one storage, as two processes on one folder do. */
export const sharedStorage: Directed = {
  options: { pools: ONE_BLOCK },
  async play(stage) {
    const { scene } = stage;
    await stage.until(scene.allocate("a", { handle: "first" }));
    const late = scene.world.hold({ method: "allocate", from: HOST_A, to: BLOCK_A, kind: "request" });
    const old = scene.allocate("a", { handle: "old" });
    await stage.pass(20);
    stage.isAt(late.messages.length === 1, "a message is bound to the first instance");
    scene.world.supersede(BLOCK_A, "shared");
    const key = scene.newKey();
    for (let copy = 0; copy < 2; copy += 1) {
      const told = scene.assign("b", "new", "10.0.0.1", key);
      await stage.pass(100);
      stage.isAt((await told).kind === "ok", "the second instance gives the address, and tells of it again");
    }
    late.release();
    await stage.until(old);
  },
};
