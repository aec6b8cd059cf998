/** Histories of the leak collector on the whole deployment: H14, H15, and what the random ones found (I11). */
import { expect, test } from "vitest";
import { blockObject } from "../../support/simulation/deployment.ts";
import type { CrashPoint } from "../../support/simulation/instance.ts";
import { COLLECTING, GRACE_MS, leak, orderUnderWay, report, SETTLED_MS } from "./directed/leaking.ts";
import { open, type Stage } from "./directed/perform.ts";
import { A, HOST_A, heldBy, ONE_BLOCK } from "./stage.ts";

const HOUR_MS = 3_600_000;
const LIMIT = { handle: "h", maxPerHandle: 1 };

/** Agents report for longer than any leak needs. */
async function reports(stage: Stage, hosts: readonly string[], times = 6): Promise<void> {
  for (let round = 0; round < times; round += 1) {
    await stage.scene.world.advance(GRACE_MS);
    for (const host of hosts) await report(stage, host);
  }
}

async function over(stage: Stage): Promise<readonly string[]> {
  await stage.end();
  return stage.findings;
}

test.each(["late", "lost"] as const)(
  "H14 I11: ✂ before the release, its order is %s; what its handle got meanwhile stays",
  async (order) => {
    const stage = await open(COLLECTING);
    const { scene } = stage;
    const { told, order: held } = await orderUnderWay(stage, "h", 1);
    scene.world.evict(HOST_A);
    if (order === "lost") held.drop();
    const asked = scene.allocate("a", LIMIT);
    await stage.pass(3_000);
    const got = await asked;
    expect(got).toMatchObject({ kind: "ok", reused: true, addresses: [{ address: told.address }] });
    if (order === "late") held.release();
    await reports(stage, ["a"]);
    expect(heldBy(scene, "h")).toEqual([told.address]);
    expect(await over(stage)).toEqual([]);
  },
);

test.each(["before-commit", "after-commit", "after-send"] satisfies CrashPoint[])(
  "H14 I11: ✂ %s of the judgement, and nobody comes for the address: the next reports free it, once",
  async (point) => {
    const stage = await open(COLLECTING);
    const { scene } = stage;
    await leak(stage, "h");
    await scene.world.advance(SETTLED_MS);
    const outcomes: string[] = [];
    // A crash that a report does not meet, since it wrote nothing, waits for the next one.
    for (let round = 0; round < 16; round += 1) {
      if (round < 4) scene.world.crash(HOST_A, point, "reportWorkloads");
      outcomes.push(...(await stage.until(stage.fleet.agents.report("a", "whole"))));
      await scene.world.advance(GRACE_MS);
    }
    expect(new Set(outcomes)).toEqual(new Set(["unknown", "accepted"]));
    expect(heldBy(scene, "h")).toEqual([]);
    expect(await over(stage)).toEqual([]);
  },
);

test("H15 I11: an agent is silent after one report: nothing is freed, however long; then it comes back", async () => {
  const stage = await open(COLLECTING);
  const { scene, fleet } = stage;
  const { told } = await leak(stage, "h");
  await scene.world.advance(SETTLED_MS);
  await report(stage, "a");
  // A pod starts that the last report cannot know (CE-21).
  await stage.until(scene.allocate("a", { handle: "later" }));
  await stage.until(scene.deployed.ports.sweep().tick({ source: "cron" }));
  for (let hours = 0; hours < 24; hours += 1) {
    await scene.world.advance(HOUR_MS);
    scene.world.evict(HOST_A);
  }
  expect(heldBy(scene, "h")).toEqual([told.address]);
  expect(heldBy(scene, "later")).toHaveLength(1);
  await reports(stage, ["a"]);
  expect(heldBy(scene, "h")).toEqual([]);
  expect(fleet.pods.isAlive("a", "later")).toBe(true);
  expect(await over(stage)).toEqual([]);
});

test.each(["by its agent", "by its removal"])(
  "I11: an address that a pod of another host got under its handle stays, absent %s",
  async (how) => {
    const stage = await open({ ...COLLECTING, pools: ONE_BLOCK });
    const { scene, fleet } = stage;
    const first = await stage.until(scene.allocate("a", LIMIT));
    fleet.pods.end({ host: "a" });
    const got = await stage.until(scene.allocate("b", LIMIT));
    expect(got).toMatchObject({ kind: "ok", reused: true });
    expect(got.kind === "ok" && first.kind === "ok" && got.addresses).toEqual(
      first.kind === "ok" && first.addresses,
    );
    if (how === "by its removal") await stage.until(scene.deployed.ports.host("a").remove({ host: "a" }));
    await scene.world.advance(SETTLED_MS);
    await reports(stage, how === "by its removal" ? ["b"] : ["a", "b"], 8);
    expect(heldBy(scene, "h")).toHaveLength(1);
    // Its handle can be released, and then it is gone.
    await stage.until(scene.release("h"));
    expect(heldBy(scene, "h")).toEqual([]);
    expect(await over(stage)).toEqual([]);
  },
);

test("I11: an order that the block has carried out twice frees nothing of the next holder", async () => {
  const stage = await open(COLLECTING);
  const { scene } = stage;
  const { told, order, third } = await orderUnderWay(stage, "h");
  scene.world.duplicate({ method: "releaseLeaked", to: blockObject(A), kind: "request" }, 2_000);
  order.release();
  await stage.until(third);
  const next = await stage.until(scene.assign("b", "next", told.address));
  expect(next).toMatchObject({ kind: "ok" });
  await stage.pass(5_000);
  expect(heldBy(scene, "next")).toEqual([told.address]);
  expect(await over(stage)).toEqual([]);
});
