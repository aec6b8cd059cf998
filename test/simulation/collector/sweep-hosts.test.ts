/** The Sweep with the real Hosts and blocks: what is leaked goes, what is stopped stays, and checks go on. */
import { describe, expect, test } from "vitest";
import { awaitCheck, lines, startCheck } from "../../support/simulation/checks.ts";
import { Fleet } from "./fleet.ts";
import { SWEEP } from "./sweep-stage.ts";

const EDGE = { tickMs: 0 };

describe("leaked pods", () => {
  test("go after two reports more than the grace apart and a third one, and the Sweep tells of it", async () => {
    const fleet = await Fleet.open(["a", "b"], EDGE);
    await fleet.minutes(4);
    for (const pod of ["a-0", "a-1", "b-9"]) fleet.pods.get(pod.slice(0, 1))?.delete(pod);
    await fleet.minutes(8);
    const early = await fleet.gc();
    expect(early.counts.candidates).toBe(3);
    expect(early.releasedLastHour).toBe(0);
    await fleet.minutes(16);
    const late = await fleet.gc();
    expect(late).toMatchObject({ state: "idle", releasedLastHour: 3, hostsStale: 0, hostsNeverReported: 0 });
    expect(late.counts).toEqual({ candidates: 0, confirmed: 0, held: 0 });
    expect([await fleet.held("a"), await fleet.held("b")]).toEqual([8, 9]);
  });

  test("I11: stay while their agent is silent, and while the collector is paused", async () => {
    const fleet = await Fleet.open(["a", "b"], EDGE);
    await fleet.minutes(4);
    fleet.pods.get("a")?.delete("a-0");
    fleet.pods.get("b")?.delete("b-0");
    await fleet.minutes(6);
    const by = { by: "token:ops" };
    await fleet.world.during(fleet.sweep.changeGc({ paused: true, reason: "test", ...by }));
    // From here on, only b reports.
    await fleet.minutes(30, ["b"]);
    const gc = await fleet.gc();
    expect(gc).toMatchObject({ state: "paused", releasedLastHour: 0, hostsStale: 1 });
    // That of b is confirmed, and held.
    expect(gc.counts).toEqual({ candidates: 1, confirmed: 0, held: 1 });
    await fleet.world.during(fleet.sweep.changeGc({ paused: false, ...by }));
    await fleet.minutes(6, ["b"]);
    expect(await fleet.gc()).toMatchObject({ releasedLastHour: 1 });
    await fleet.minutes(10, ["b"]);
    expect([await fleet.held("a"), await fleet.held("b")]).toEqual([10, 9]);
  });
});

describe("a check", () => {
  test("and a sweep that run at once both come to their end, a slice of one per event", async () => {
    const hosts = Array.from({ length: 24 }, (_, n) => `n${n}`);
    const fleet = await Fleet.open(hosts, EDGE);
    const id = await startCheck(fleet.scene);
    await fleet.world.during(fleet.sweep.startSweep({ by: "test" }));
    const checked = await awaitCheck(fleet.scene, id);
    expect(checked.view.state).toBe("done");
    expect(lines(checked)).toEqual([]);
    await fleet.world.advance(10_000);
    expect(await fleet.gc()).toMatchObject({ state: "idle", sweep: 1, backlogHosts: 0 });
    expect(fleet.world.alarmOf(SWEEP)).toBeNull();
  });
});
