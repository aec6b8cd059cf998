/**
 * The audit of one host by what its agent reports: suspected, confirmed, released, and what keeps it.
 */
import { describe, expect, test } from "vitest";
import type { CrashPoint } from "../../support/simulation/instance.ts";
import { HOST_A, HOST_B } from "../histories/stage.ts";
import { blockObject, MINUTE, type Stage, staged } from "./host-stage.ts";

const BLOCK = "10.0.0.0/26";

/** A pod lives and another is gone; both were reported, and the second is confirmed: one more report releases it. */
async function confirmed(stage: Stage): Promise<void> {
  await stage.pod("a", "lives");
  await stage.pod("a", "gone");
  await stage.reported("a", ["lives", "gone"]);
  await stage.reports("a", ["lives"], 3 * MINUTE, 4 * MINUTE, 4 * MINUTE, 3 * MINUTE);
  expect(await stage.leaks("a")).toEqual(["10.0.0.1 confirmed awaiting_recheck"]);
}

describe("a pod that is gone", () => {
  test("I11: is suspected, confirmed after the grace, and released by a third report", async () => {
    const stage = await staged();
    await stage.pod("a", "lives");
    await stage.pod("a", "gone");
    await stage.reported("a", ["lives", "gone"]);
    await stage.reports("a", ["lives"], 3 * MINUTE);
    expect(await stage.leaks("a")).toEqual(["10.0.0.1 candidate grace_period"]);
    await stage.reports("a", ["lives"], 4 * MINUTE, 4 * MINUTE);
    expect(await stage.leaks("a")).toEqual(["10.0.0.1 candidate grace_period"]);
    await stage.reports("a", ["lives"], 3 * MINUTE);
    expect(await stage.leaks("a")).toEqual(["10.0.0.1 confirmed awaiting_recheck"]);
    expect(await stage.held(BLOCK)).toHaveLength(2);
    const last = await stage.reports("a", ["lives"], MINUTE);
    expect(await stage.held(BLOCK)).toEqual(["10.0.0.0 net.lives"]);
    expect(await stage.leaks("a")).toEqual([]);
    expect(last).toMatchObject({
      value: { accepted: true, leaks: { candidates: 0, confirmed: 0, held: 0 } },
    });
    expect(stage.world.rows(HOST_A, "SELECT * FROM reclaimed")).toEqual([{ pool: "default", addresses: 1 }]);
  });

  test("I11: stays as long as its agent is silent, however long (H15)", async () => {
    const stage = await staged();
    await confirmed(stage);
    for (let visit = 0; visit < 20; visit += 1) {
      await stage.world.advance(10 * MINUTE);
      expect(await stage.audited("a")).toMatchObject({ kind: "audited" });
    }
    expect(await stage.held(BLOCK)).toHaveLength(2);
    expect(await stage.leaks("a")).toEqual(["10.0.0.1 held evidence_stale"]);
  });

  test("I11: is cleared by any report that lists it, even one that was cut short", async () => {
    const stage = await staged();
    await confirmed(stage);
    await stage.reported("a", ["gone"], { complete: false });
    expect(await stage.leaks("a")).toEqual([]);
    await stage.reports("a", ["lives"], MINUTE, MINUTE);
    expect(await stage.held(BLOCK)).toHaveLength(2);
  });

  test("I11: a report that was cut short takes nothing, and an empty one takes only after the grace", async () => {
    const stage = await staged();
    await stage.pod("a", "lives");
    for (let count = 0; count < 8; count += 1) {
      await stage.world.advance(3 * MINUTE);
      await stage.reported("a", [], { complete: false });
    }
    expect(await stage.leaks("a")).toEqual([]);
    await stage.reports("a", [], MINUTE, 4 * MINUTE, 4 * MINUTE);
    expect(await stage.leaks("a")).toEqual(["10.0.0.0 candidate grace_period"]);
    expect(await stage.held(BLOCK)).toHaveLength(1);
  });

  test("I11: is judged anew when the machine was replaced (another incarnation)", async () => {
    const stage = await staged();
    await confirmed(stage);
    await stage.reported("a", ["lives"], { incarnation: "two", sequence: 1 });
    expect(await stage.leaks("a")).toEqual(["10.0.0.1 candidate grace_period"]);
    expect(await stage.reported("a", ["lives"], { incarnation: "one", sequence: 99 })).toMatchObject({
      error: { code: "incarnation_conflict" },
    });
  });

  test("F32: the same report, or an older one, counts no second time, over a crash too", async () => {
    const stage = await staged();
    await stage.pod("a", "lives");
    await stage.pod("a", "gone");
    await stage.reports("a", ["lives"], 3 * MINUTE);
    await stage.world.advance(12 * MINUTE);
    stage.world.evict(HOST_A);
    const again = { sequence: 1, ageMs: 0 };
    expect(await stage.reported("a", ["lives"], again)).toMatchObject({ ok: true });
    expect(await stage.leaks("a")).toEqual(["10.0.0.1 candidate evidence_stale"]);
    await stage.reported("a", ["lives"], { sequence: 5 });
    stage.world.evict(HOST_A);
    expect(await stage.reported("a", ["lives"], { sequence: 4 })).toMatchObject({
      error: { code: "report_out_of_order", evidence: { sequenceNumber: 5 } },
    });
    expect(await stage.leaks("a")).toEqual(["10.0.0.1 confirmed awaiting_recheck"]);
    expect(await stage.held(BLOCK)).toHaveLength(2);
  });

  test("H14: was handed out again before the release: its new touch keeps it", async () => {
    const stage = await staged();
    await confirmed(stage);
    const late = stage.world.hold({ method: "releaseLeaked", kind: "request" });
    const reported = stage.report("a", ["lives"]);
    await stage.world.advance(20);
    expect(late.messages).toHaveLength(1);
    const { scene } = stage;
    const attributes = { namespace: "web", pod: "gone" };
    const wish = { handle: "net.gone", v4: 1, maxPerHandle: 1, attributes };
    const added = await stage.world.during(scene.allocate("a", wish));
    expect(added).toMatchObject({ kind: "ok", reused: true });
    late.release();
    expect(await stage.world.during(reported)).toMatchObject({ ok: true });
    expect(await stage.held(BLOCK)).toHaveLength(2);
    await stage.reported("a", ["lives", "gone"]);
    expect(await stage.leaks("a")).toEqual([]);
  });

  test("I11: a report that comes while the brakes are asked is the last word", async () => {
    const stage = await staged();
    await confirmed(stage);
    const late = stage.world.hold({ method: "weigh", kind: "answer" });
    const first = stage.report("a", ["lives"]);
    await stage.world.advance(20);
    expect(late.messages).toHaveLength(1);
    const second = stage.report("a", ["lives", "gone"]);
    await stage.world.advance(20);
    late.release();
    await stage.world.during(Promise.all([first, second]));
    expect(await stage.held(BLOCK)).toHaveLength(2);
    expect(await stage.leaks("a")).toEqual([]);
  });
});

describe("what keeps a leak", () => {
  test.each([
    ["paused", { granted: 0, stop: "paused" }],
    ["breaker_open", { granted: 0, stop: "breaker_open" }],
    ["release_limit", { granted: 0, stop: "release_limit" }],
  ] as const)("%s: nothing goes, and the reason is told", async (reason, answer) => {
    const stage = await staged();
    await confirmed(stage);
    stage.brakes.answer = () => answer;
    await stage.reports("a", ["lives"], MINUTE, MINUTE);
    expect(await stage.leaks("a")).toEqual([`10.0.0.1 held ${reason}`]);
    expect(await stage.held(BLOCK)).toHaveLength(2);
    stage.brakes.answer = ({ wanted }) => ({ granted: wanted });
    await stage.reports("a", ["lives"], MINUTE);
    expect(await stage.held(BLOCK)).toHaveLength(1);
  });

  test("I11: brakes that do not answer: nothing goes, and the report is accepted all the same", async () => {
    const stage = await staged();
    await confirmed(stage);
    stage.world.drop({ method: "weigh", kind: "request" });
    expect(await stage.reports("a", ["lives"], MINUTE)).toMatchObject({
      ok: true,
      value: { accepted: true },
    });
    expect(await stage.held(BLOCK)).toHaveLength(2);
    const { figures } = await stage.audited("a", { ifOlderThanMs: MINUTE });
    expect(figures).toMatchObject({ lastError: { what: "sweep" } });
    await stage.reports("a", ["lives"], MINUTE);
    expect(await stage.held(BLOCK)).toHaveLength(1);
  });

  test("the brakes hear of all that is due before the first of it goes", async () => {
    const stage = await staged();
    for (const name of ["one", "two", "three"]) await stage.pod("a", name);
    await stage.reports("a", [], 3 * MINUTE, 4 * MINUTE, 4 * MINUTE, 3 * MINUTE);
    expect(stage.brakes.asked.map(({ due, wanted }) => ({ due, wanted }))).toEqual([{ due: 3, wanted: 0 }]);
    expect(stage.brakes.asked[0]?.figures).toMatchObject({ allocated: 3, counts: { confirmed: 3 } });
    await stage.reports("a", [], MINUTE);
    expect(stage.brakes.asked.at(-1)).toMatchObject({ due: 3, wanted: 3, isRemoved: false, isLost: false });
    expect(await stage.held(BLOCK)).toEqual([]);
  });

  test("I11: a member of its handle that lives on another host", async () => {
    const stage = await staged();
    await stage.pod("a", "lives");
    await stage.pod("a", "gone", { handle: "shared" });
    await stage.pod("b", "other", { handle: "shared" });
    const both = async (pauseMs: number, ofB: readonly string[]) => {
      await stage.world.advance(pauseMs);
      const addresses = ofB.map((pod) => ({ namespace: "web", pod, addresses: [] }));
      await stage.reported("b", [], { workloads: addresses });
      await stage.reported("a", ["lives"]);
    };
    for (const pause of [3, 4, 4, 3, 2]) await both(pause * MINUTE, ["other"]);
    expect(await stage.leaks("a")).toEqual(["10.0.0.1 held handle_partly_alive"]);
    expect(await stage.held(BLOCK)).toHaveLength(2);
    for (const pause of [2, 4, 4, 3, 2]) await both(pause * MINUTE, []);
    await both(MINUTE, []);
    expect(await stage.held(BLOCK)).toEqual(["10.0.0.0 net.lives"]);
    expect(await stage.held("10.0.0.64/26")).toEqual([]);
  });

  test("I11: a host that does not tell how its member stands keeps the handle", async () => {
    const stage = await staged();
    await stage.pod("a", "gone", { handle: "shared" });
    await stage.pod("b", "other", { handle: "shared" });
    for (const pause of [3, 4, 4, 3]) {
      await stage.reports("b", [], pause * MINUTE);
      await stage.reported("a", []);
    }
    stage.world.drop({ method: "standings", kind: "request" }, { times: 100 });
    await stage.reports("b", [], MINUTE);
    await stage.reports("a", [], MINUTE);
    expect(await stage.held(BLOCK)).toHaveLength(1);
    expect(await stage.leaks("a")).toEqual(["10.0.0.0 held handle_partly_alive"]);
    expect(stage.world.isLive(HOST_B)).toBe(true);
  });

  test("a block that does not answer keeps what it holds, and the others are judged", async () => {
    const stage = await staged();
    await confirmed(stage);
    stage.world.drop({ method: "holdings", to: blockObject(BLOCK), kind: "request" });
    expect(await stage.reports("a", ["lives"], MINUTE)).toMatchObject({ ok: true });
    expect(await stage.held(BLOCK)).toHaveLength(2);
    await stage.reports("a", ["lives"], MINUTE);
    expect(await stage.held(BLOCK)).toHaveLength(1);
  });
});

describe("I11: a crash between any two steps", () => {
  const POINTS: readonly CrashPoint[] = ["before-commit", "after-commit", "after-send"];
  const STEPS = ["first", "confirming", "releasing"] as const;
  const cases = STEPS.flatMap((step) => POINTS.map((point) => [step, point] as const));

  test.each(cases)(
    "of the Host, in the %s report, %s: the pod that lives stays, the leak goes",
    async (step, point) => {
      const stage = await staged();
      await stage.pod("a", "lives");
      await stage.pod("a", "gone");
      await stage.reported("a", ["lives", "gone"]);
      const pauses = [3 * MINUTE, 4 * MINUTE, 4 * MINUTE, 3 * MINUTE, MINUTE];
      const at = { first: 0, confirming: 3, releasing: 4 }[step];
      for (const [count, pauseMs] of pauses.entries()) {
        await stage.world.advance(pauseMs);
        if (count === at) stage.world.crash(HOST_A, point, "reportWorkloads");
        await stage.reported("a", ["lives"]).catch(() => undefined);
      }
      expect(await stage.held(BLOCK)).toContain("10.0.0.0 net.lives");
      await stage.reports("a", ["lives"], 3 * MINUTE, 4 * MINUTE, 4 * MINUTE, 3 * MINUTE, MINUTE);
      expect(await stage.held(BLOCK)).toEqual(["10.0.0.0 net.lives"]);
      expect(await stage.leaks("a")).toEqual([]);
    },
  );

  test("of the block, after it released: nothing is released twice, and the ledger ends", async () => {
    const stage = await staged();
    await confirmed(stage);
    stage.world.crash(blockObject(BLOCK), "after-commit", "releaseLeaked");
    await stage.reports("a", ["lives"], MINUTE);
    expect(await stage.held(BLOCK)).toEqual(["10.0.0.0 net.lives"]);
    await stage.pod("a", "next");
    await stage.reports("a", ["lives", "next"], MINUTE, MINUTE);
    expect(await stage.leaks("a")).toEqual([]);
    expect(await stage.held(BLOCK)).toHaveLength(2);
  });
});
