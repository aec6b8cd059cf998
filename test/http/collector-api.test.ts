/** The collector over the API: agents report, a leak is found, told of, held back, and freed. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectStatus } from "./client.ts";
import { GRACE, MINUTE, SETTLED, type Stage, staged } from "./collector-stage.ts";

/** A report is dated when it is stored, its answer when it came in; what a test lets pass is minutes. */
const near = (one: string, other: string) => Math.abs(Date.parse(one) - Date.parse(other)) < 30_000;

describe("a pod that vanishes from the reports of its host", () => {
  let stage: Stage;
  let lives: string;
  let gone: string;

  beforeAll(async () => {
    stage = await staged();
    lives = await stage.pod("node-1", "lives");
    gone = await stage.pod("node-1", "gone");
  }, 60_000);
  afterAll(() => stage.stop());

  it("is not judged while it is young: the agent may not have seen it yet", async () => {
    const answer = await stage.report("node-1", ["lives"]);
    expect(answer).toMatchObject({ accepted: true, addressesNotAllocated: [], nextReportWithinSeconds: 120 });
    expect(answer.leaks).toEqual({ candidates: 0, confirmed: 0, held: 0 });
    expect((await stage.eyes("GET", "/v1/leaks?host=node-1")).body).toEqual({ items: [] });
  });

  it("is a candidate after the first report without it, listed with why and until when", async () => {
    await stage.pass(SETTLED);
    const answer = await stage.report("node-1", ["lives"]);
    expect(answer.leaks).toEqual({ candidates: 1, confirmed: 0, held: 0 });
    const [leak, ...others] = await stage.all("/v1/leaks?host=node-1");
    expect(others).toEqual([]);
    expect(leak).toMatchObject({
      address: gone,
      handle: "pods.gone",
      host: "node-1",
      pool: "default",
      kind: "workload",
      state: "candidate",
      reason: "grace_period",
      observations: 1,
      attributes: { namespace: "web", pod: "gone", node: "node-1" },
    });
    expect(near(leak.firstAbsentAt, answer.observedAt)).toBe(true);
    expect(Date.parse(leak.releasableAt) - Date.parse(leak.firstAbsentAt)).toBe(900_000);
    expect(leak.detail).toContain(leak.releasableAt);
    const told = (await stage.eyes("GET", `/v1/addresses/${gone}`)).body;
    expect(told.leak).toEqual(leak);
    expect(told.allocation.sequenceNumber).toBe(leak.sequenceNumber);
    expect((await stage.eyes("GET", `/v1/addresses/${lives}`)).body).not.toHaveProperty("leak");
    const host = (await stage.eyes("GET", "/v1/hosts/node-1")).body;
    expect(host.leaks).toEqual({ candidates: 1, confirmed: 0, held: 0 });
    expect(host.report).toMatchObject({ state: "fresh", sequence: 2, complete: true, workloads: 1 });
    expect(host.report.lastAt).toBe(leak.firstAbsentAt);
  });

  it("I11: is confirmed by a report after the grace, and released only by a third one", async () => {
    await stage.pass(GRACE);
    expect((await stage.report("node-1", ["lives"])).leaks).toEqual({ candidates: 0, confirmed: 1, held: 0 });
    const [leak] = await stage.all("/v1/leaks?host=node-1");
    expect(leak).toMatchObject({ state: "confirmed", reason: "awaiting_recheck", observations: 2 });
    expect((await stage.eyes("GET", `/v1/addresses/${gone}`)).body.state).toBe("allocated");
    await stage.pass(MINUTE);
    expect((await stage.report("node-1", ["lives"])).leaks).toEqual({ candidates: 0, confirmed: 0, held: 0 });
    const told = (await stage.eyes("GET", `/v1/addresses/${gone}`)).body;
    expect(told.tenures[0]).toMatchObject({
      host: "node-1",
      handle: "pods.gone",
      releasedBy: "collector",
      attributes: { pod: "gone" },
    });
    expect(told).not.toHaveProperty("leak");
    expect((await stage.eyes("GET", `/v1/addresses/${lives}`)).body.state).toBe("allocated");
    expect((await stage.eyes("GET", "/v1/leaks?host=node-1")).body).toEqual({ items: [] });
  });

  it("is told of with the addresses that are in use and not allocated there", async () => {
    const other = await stage.pod("node-2", "elsewhere");
    const workloads = [{ handle: "pods.lives", addresses: [lives, gone, other, "10.99.0.1", "fd00::0001"] }];
    const report = { incarnation: "life-1", sequence: 100, ageMs: 250, complete: true, workloads };
    const sent = stage.agent("node-1")("PUT", "/v1/hosts/node-1/workloads", report);
    const { body } = await expectStatus(sent, 200);
    const uses = new Map(
      body.addressesNotAllocated.map((use: { address: string }) => [use.address, use] as const),
    );
    expect([...uses.keys()].toSorted()).toEqual(["10.99.0.1", gone, other, "fd00::1"].toSorted());
    expect(uses.get(other)).toEqual({
      address: other,
      state: "allocated",
      handle: "pods.elsewhere",
      holder: "node-2",
    });
    expect(uses.get(gone)).toMatchObject({ state: expect.stringMatching(/^(free|cooling)$/) });
    expect(uses.get("10.99.0.1")).toEqual({ address: "10.99.0.1", state: "not_in_any_pool" });
    const host = (await stage.eyes("GET", "/v1/hosts/node-1")).body;
    expect(host.report).toMatchObject({ addressesNotAllocated: 4 });
    expect(host.report.ageSeconds).toBeLessThan(MINUTE);
  });

  it("is accepted again when it is told again; another list needs another number", async () => {
    const workloads = ["lives", "more"].map((pod) => ({ namespace: "n", pod, addresses: [] as string[] }));
    const report = { incarnation: "life-1", sequence: 101, ageMs: 0, complete: true, workloads };
    const send = (more: object) =>
      stage.agent("node-1")("PUT", "/v1/hosts/node-1/workloads", { ...report, ...more });
    await expectStatus(send({}), 200);
    const again = await expectStatus(send({ ageMs: 10, workloads: workloads.toReversed() }), 200);
    expect(again.body.accepted).toBe(true);
    for (const other of [{ workloads: [] }, { workloads: workloads.slice(1) }, { complete: false }]) {
      const { body } = await expectStatus(send(other), 409);
      expect(body).toMatchObject({ code: "report_out_of_order", evidence: { sequenceNumber: 101 } });
    }
    expect((await stage.eyes("GET", "/v1/hosts/node-1")).body.report).toMatchObject({ workloads: 2 });
  });
});

describe("what a runtime does not call valid", () => {
  let stage: Stage;
  let gone: string;
  const collect = async (validHandles: string[], network = "pods") => {
    const sent = stage.agent("node-1")("POST", "/v1/hosts/node-1/attachment-gc", { network, validHandles });
    return (await expectStatus(sent, 200)).body;
  };

  beforeAll(async () => {
    stage = await staged();
    await stage.pod("node-1", "lives");
    gone = await stage.pod("node-1", "gone");
  }, 60_000);
  afterAll(() => stage.stop());

  it("is held while it is young", async () => {
    const held = { handle: "pods.gone", outcome: "held", reason: "allocated_less_than_120_s_ago" };
    expect(await collect(["pods.lives"])).toEqual({
      released: 0,
      held: 1,
      results: [{ ...held, addresses: [gone] }],
    });
  });

  it("I11: is a candidate, confirmed after the grace, and released by the third list", async () => {
    await stage.pass(SETTLED);
    expect((await collect(["pods.lives"])).results).toEqual([
      { handle: "pods.gone", outcome: "candidate", reason: "grace_period", addresses: [gone] },
    ]);
    await stage.pass(GRACE);
    expect((await collect(["pods.lives"])).results).toMatchObject([
      { outcome: "held", reason: "awaiting_recheck" },
    ]);
    await stage.pass(SETTLED);
    expect(await collect(["pods.lives"])).toEqual({
      released: 1,
      held: 0,
      results: [{ handle: "pods.gone", outcome: "released", addresses: [gone] }],
    });
    expect(await collect(["pods.lives"])).toEqual({ released: 0, held: 0, results: [] });
  });

  it("is not what another network has, nor anything that the report calls alive", async () => {
    await stage.pass(SETTLED);
    expect(await collect([], "other")).toEqual({ released: 0, held: 0, results: [] });
    await stage.report("node-1", ["lives"]);
    expect((await collect([])).results).toMatchObject([
      { handle: "pods.lives", outcome: "held", reason: "in_use_by_other_evidence" },
    ]);
  });
});

describe("an operator", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await staged();
  }, 60_000);
  afterAll(() => stage.stop());

  const warnings = async () => (await stage.eyes("GET", "/v1/status")).body.warnings as { code: string }[];

  it("pauses with a reason, finds what is held, and lets it go on", async () => {
    const gone = await stage.pod("node-1", "gone");
    const paused = await expectStatus(
      stage.ops("PATCH", "/v1/gc", { paused: true, reason: "moving racks" }),
      200,
    );
    const expected = { state: "paused", paused: true, pausedBy: "token:ops", pauseReason: "moving racks" };
    expect(paused.body).toMatchObject(expected);
    await stage.proveLeaked("node-1", []);
    expect((await stage.report("node-1", [])).leaks).toEqual({ candidates: 0, confirmed: 0, held: 1 });
    const [leak] = await stage.all("/v1/leaks?host=node-1&state=held");
    expect(leak).toMatchObject({ address: gone, state: "held", reason: "paused" });
    expect(leak.detail).toContain("PATCH /v1/gc");
    await stage.sweep();
    expect(await warnings()).toContainEqual({
      code: "gc_paused",
      summary: expect.stringContaining("paused by token:ops: moving racks"),
      hint: expect.stringContaining("PATCH /v1/gc"),
    });
    expect((await warnings()).map(({ code }) => code)).toContain("leaks_held");
    const on = await expectStatus(stage.ops("PATCH", "/v1/gc", { paused: false }), 200);
    expect(on.body.paused).toBe(false);
    expect(on.body).not.toHaveProperty("pauseReason");
    const both = await stage.ops("PATCH", "/v1/gc", { paused: false, reason: "done" });
    expect(both.body.errors).toEqual([
      {
        pointer: "/reason",
        code: "conflicting_fields",
        message: "goes with paused: true only; leave it out",
      },
    ]);
    const summaries = async () =>
      (await stage.all("/v1/events?type=config_changed")).map(({ summary }) => summary).slice(0, 2);
    await expect
      .poll(summaries)
      .toEqual(["The leak collector goes on.", "The leak collector was paused: moving racks."]);
    await stage.pass(MINUTE);
    expect((await stage.report("node-1", [])).leaks).toEqual({ candidates: 0, confirmed: 0, held: 0 });
    expect(await stage.all("/v1/leaks")).toEqual([]);
  });

  it("finds the breaker open when half a host would go, and closes it by naming when it opened", async () => {
    for (let n = 0; n < 24; n += 1) await stage.pod("node-2", `many-${n}`);
    await stage.proveLeaked("node-2", []);
    expect((await stage.report("node-2", [])).leaks).toEqual({ candidates: 0, confirmed: 0, held: 24 });
    await stage.sweep();
    const gc = (await stage.eyes("GET", "/v1/gc")).body;
    expect(gc).toMatchObject({ state: "breaker_open", held: 24, releasedLastHour: 1 });
    expect(gc.breaker).toMatchObject({ open: true, scope: "node-2", confirmed: 24, limitPercent: 50 });
    const { openedAt } = gc.breaker;
    expect(await warnings()).toContainEqual({
      code: "gc_breaker_open",
      host: "node-2",
      summary: expect.stringContaining("24 leaks of node-2"),
      hint: expect.stringContaining(`{"breakerOpenedAt":"${openedAt}"}`),
    });
    const other = new Date(Date.parse(openedAt) - 1).toISOString();
    const refused = await stage.ops("POST", "/v1/gc/acknowledgements", { breakerOpenedAt: other });
    expect(refused.body).toMatchObject({
      status: 409,
      code: "breaker_not_open",
      detail: `The breaker is open, and opened at ${openedAt}, not at ${other}.`,
      hint: expect.stringContaining(`send {"breakerOpenedAt":"${openedAt}"}`),
    });
    const closed = await expectStatus(
      stage.ops("POST", "/v1/gc/acknowledgements", { breakerOpenedAt: openedAt }),
      200,
    );
    expect(closed.body.breaker).toEqual({ open: false });
    await stage.pass(MINUTE);
    expect((await stage.report("node-2", [])).leaks).toEqual({ candidates: 0, confirmed: 0, held: 0 });
    const again = await stage.ops("POST", "/v1/gc/acknowledgements", { breakerOpenedAt: openedAt });
    expect(again.body).toMatchObject({ code: "breaker_not_open", detail: "The breaker is not open." });
  });

  it("starts a sweep, which meets every host; reports do not grow old between two", async () => {
    for (const host of ["node-1", "node-2"] as const) await stage.report(host, []);
    const sweep = await stage.sweep();
    const gc = (await stage.eyes("GET", "/v1/gc")).body;
    expect(gc).toMatchObject({ state: "idle", sweep });
    expect(Date.parse(gc.lastSweepAt)).toBeGreaterThan(0);
    expect(gc).toMatchObject({ releasedLastHour: 25, hostsStale: 0, hostsNeverReported: 0, held: 0 });
    expect(gc.tick.overdue).toBe(false);
    await stage.pass(4 * MINUTE);
    // Else the alarm stands in for it, a moment later.
    await stage.trigger();
    for (const host of ["node-1", "node-2"] as const) await stage.report(host, []);
    await stage.pass(2 * MINUTE);
    const { hosts, gc: shown } = (await stage.eyes("GET", "/v1/status")).body;
    expect(shown.hostsStale).toBe(0);
    expect(hosts).toMatchObject({ active: 2, silent: 0, reportsStale: 0, reportsNever: 0 });
    expect(await warnings()).toEqual([]);
  });

  it("sees an agent that has stopped reporting", async () => {
    await stage.pass(10 * MINUTE);
    await stage.report("node-2", []);
    await stage.sweep();
    const { hosts } = (await stage.eyes("GET", "/v1/status")).body;
    expect(hosts).toMatchObject({ active: 1, silent: 1, reportsStale: 1 });
    const silent = await stage.all("/v1/hosts?state=silent");
    expect(silent.map(({ name }) => name)).toEqual(["node-1"]);
    expect((await warnings()).map(({ code }) => code)).toContain("hosts_silent");
    expect(silent[0].report).toMatchObject({ state: "stale" });
  });
});
