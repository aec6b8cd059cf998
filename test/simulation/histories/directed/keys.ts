/**
 * Directed histories of keys: what the index may forget, and where a key is looked for.
 * May import: the simulation.
 */
import { blockObject } from "../../../support/simulation/deployment.ts";
import { CLIENT } from "../../../support/simulation/messages.ts";
import { A, B, HOST_A, heldBy, SHARD, TWO_BLOCKS } from "../stage.ts";
import type { Directed, Stage } from "./perform.ts";

const BLOCK_A = blockObject(A);
const TWO = { pools: TWO_BLOCKS };

/** Host a owns block A, and its next message to it waits until the script lets it go. */
async function heldMessage(stage: Stage, handle: string, more: { readonly maxPerHandle?: number } = {}) {
  const { scene } = stage;
  await stage.until(scene.allocate("a", { handle: "first" }));
  await stage.until(scene.allocate("b", { handle: "other" }));
  const late = scene.world.hold({ method: "allocate", from: HOST_A, to: BLOCK_A, kind: "request" });
  const asked = scene.allocate("a", { handle, ...more });
  await stage.pass(20);
  stage.isAt(late.messages.length === 1, "the message to the block is under way");
  return { late, asked };
}

/** A handle is released while a message of it is under way, and is told so before it arrives, or after. */
export const releaseBeforeMessage: Directed = {
  options: TWO,
  async play(stage) {
    const { late, asked } = await heldMessage(stage, "h");
    const released = stage.scene.release("h");
    await stage.pass(200);
    late.release();
    await stage.until(Promise.all([asked, released]));
  },
};

/** A handle is released whose client has hung up, while a message of its request is under way. */
export const releaseAfterHangUp: Directed = {
  options: TWO,
  async play(stage) {
    const { scene } = stage;
    const { late, asked } = await heldMessage(stage, "h");
    scene.world.drop({ method: "allocate", kind: "answer", to: CLIENT.objectName }, { loss: "error" });
    const released = scene.release("h");
    await stage.pass(200);
    late.release();
    const [left, ended] = await stage.until(Promise.all([asked, released]));
    stage.isAt(left.kind === "unknown", "nobody was told of the address");
    await stage.pass(5_000);
    const held = heldBy(scene, "h");
    if (ended?.kind === "ok" && held.length > 0)
      stage.found(`I4: ${held} is held after the release of its handle`);
  },
};

/** One element of a batch cannot be stored; the others have nothing to do with it. */
export const poisonedBatch: Directed = {
  options: { pools: { default: { cidr: "10.0.0.0/28", blockSize: 28 } } },
  expects: /^defect: reserve: cannot store REAL value/,
  async play(stage) {
    const { scene } = stage;
    await stage.until(scene.allocate("a", { handle: "first" }));
    const counts = [1, 1, 1.5, 1, 1, 1];
    const asked = counts.map((v4, n) => scene.allocate("a", { handle: `h${n}`, v4 }));
    const ended = await stage.until(Promise.all(asked));
    const refused = ended.filter(({ kind }, n) => kind !== "ok" && counts[n] === 1).length;
    stage.isAt(heldBy(scene, "h2").length === 0, "the poisoned element gets nothing");
    if (refused > 0) stage.found(`liveness: ${refused} requests failed beside a poisoned one`);
  },
};

/** Two hosts ask for one address under one handle, which may have one; the first one's message is late. */
export const limitBesideMessage: Directed = {
  options: TWO,
  async play(stage) {
    const { late, asked } = await heldMessage(stage, "h", { maxPerHandle: 1 });
    const second = stage.scene.allocate("b", { handle: "h", maxPerHandle: 1 });
    await stage.pass(200);
    late.release();
    await stage.until(Promise.all([asked, second]));
  },
};

/** The index's own pass asks about an abandoned key, which is taken up again before the answer comes. */
export const keyTakenUpAgain: Directed = {
  options: { ...TWO, settings: { indexPassMs: 5_000 } },
  async play(stage) {
    const { scene } = stage;
    const { world } = scene;
    await stage.until(scene.allocate("a", { handle: "first" }));
    const key = scene.newKey();
    const reserved = world.hold({ method: "reserve", kind: "answer", from: SHARD });
    const cut = scene.allocate("a", { handle: "h", key });
    await stage.pass(20);
    stage.isAt(reserved.messages.length === 1, "the index has the key");
    world.evict(HOST_A);
    reserved.drop();
    await stage.until(cut);
    const asked = world.hold({ method: "holds", kind: "answer" });
    for (let ms = 0; ms < 10_000 && asked.messages.length === 0; ms += 10) await stage.pass(10);
    stage.isAt(asked.messages.length > 0, "the pass asks about the key");
    const again = scene.allocate("a", { handle: "h", key });
    await stage.pass(50);
    asked.release();
    await stage.until(again);
  },
};

/** A key took the last address of its block, and nobody was told; its host has gone on in the next one. */
export const repeatAfterFullBlock: Directed = {
  options: TWO,
  async play(stage) {
    const { scene } = stage;
    const { world } = scene;
    await stage.until(scene.allocate("a", { handle: "first", v4: 3 }));
    world.drop({ method: "allocate", from: BLOCK_A, kind: "answer" });
    const key = scene.newKey();
    const cut = scene.allocate("a", { handle: "h", key });
    await stage.pass(50);
    world.evict(HOST_A);
    await stage.until(cut);
    stage.isAt(heldBy(scene, "h").length === 1, "the key holds the last address");
    const next = await stage.until(scene.allocate("a", { handle: "next" }));
    stage.isAt(next.kind === "ok" && next.addresses[0]?.block === B, "the host goes on in its next block");
    await stage.until(scene.allocate("a", { handle: "h", key }));
  },
};

/** A block allocates, and none of its answers arrives; another block has room. */
export const answersLost: Directed = {
  options: TWO,
  async play(stage) {
    const { scene } = stage;
    await stage.until(scene.allocate("a", { handle: "first" }));
    await stage.until(scene.allocate("b", { handle: "second" }));
    scene.world.drop({ method: "allocate", from: BLOCK_A, kind: "answer" }, { times: 8 });
    await stage.until(scene.allocate("a", { handle: "h" }));
    stage.isAt(heldBy(scene, "h").length > 0, "the block has allocated");
  },
};
