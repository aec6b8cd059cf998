/** A release whose block does not answer: how long it waits, and what the next one finds. Only virtual time passes. */
import { expect, test } from "vitest";
import { Scene } from "../support/simulation/scene.ts";
import { findings, heldBy, ONE_BLOCK } from "./histories/stage.ts";

test.each(["request", "answer"] as const)(
  "I3: the %s of a block hangs: the outcome is unknown in time, and a repeat frees it once",
  async (kind) => {
    const scene = await Scene.open({ pools: ONE_BLOCK });
    const { world, deployed } = scene;
    await world.during(scene.allocate("a", { handle: "h", v4: 2 }));
    const { untilMs, skewMs } = deployed.settings;
    const late = world.hold({ method: "releaseHandle", kind });
    const begun = world.now;
    const ended = await world.during(scene.release("h"));
    expect(ended).toMatchObject({ kind: "unknown" });
    // A limit in which the index answered, and one in which nothing did.
    expect(world.now - begun).toBeLessThanOrEqual(4 * (untilMs + skewMs) + 1_000);
    expect(late.messages).toHaveLength(1);
    late.release();
    await world.advance(1_000);
    expect(await world.during(scene.release("h"))).toMatchObject({ kind: "ok" });
    expect(heldBy(scene, "h")).toEqual([]);
    expect(findings(scene)).toEqual([]);
  },
);
