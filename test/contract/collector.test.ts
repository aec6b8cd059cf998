/** The collector's face over fake objects: how its state is told, what warns, what evidence becomes. */
import { describe, expect, it } from "vitest";
import { components } from "../../src/http/schemas/components.ts";
import type { GcView } from "../../src/rpc/leaks.ts";
import { fake, NOW, problemOf } from "./fake-deployment.ts";

const GC: GcView = {
  state: "idle",
  paused: false,
  sweep: 7,
  lastSweepAt: NOW - 60_000,
  lastSweepMs: 1_234,
  oldestAuditMs: 61_999,
  oldestAuditHost: "node-9",
  backlogHosts: 0,
  counts: { candidates: 3, confirmed: 2, held: 0 },
  releasedLastHour: 5,
  hostsStale: 0,
  hostsNeverReported: 1,
  breaker: { open: false },
  tick: { lastAt: NOW - 30_000, nextAt: NOW + 30_000, overdue: false, source: "cron" },
};

describe("the collector's state", () => {
  const status = async (more: Partial<GcView>) => {
    const view = { ...GC, ...more };
    const answers = {
      "sweep.getGc": () => view,
      "cluster.status": () => ({
        deploymentId: "d",
        hostsActive: 4,
        hostsRemoving: 1,
        refusalsLast10Minutes: 0,
      }),
    };
    const service = fake({ answers });
    const body = components.Status.parse(await (await service.send("GET", "/v1/status")).json());
    expect(await (await service.send("GET", "/v1/gc")).json()).toEqual(body.gc);
    const before = new Set(["auth_disabled", "no_serving_pool"]);
    return { ...body, warnings: body.warnings.filter(({ code }) => !before.has(code)) };
  };

  it("is told in seconds and times; a healthy one warns of nothing", async () => {
    const { gc, hosts, warnings, config } = await status({});
    // What is in force, although nobody has set it.
    expect(config).toMatchObject({ leakGraceSeconds: 900, staleReportSeconds: 300 });
    expect(gc).toEqual({
      state: "idle",
      paused: false,
      sweep: 7,
      lastSweepAt: "2026-11-29T02:50:07.412Z",
      lastSweepSeconds: 1.234,
      oldestAuditSeconds: 61,
      oldestAuditHost: "node-9",
      backlogHosts: 0,
      candidates: 3,
      confirmed: 2,
      held: 0,
      releasedLastHour: 5,
      hostsStale: 0,
      hostsNeverReported: 1,
      breaker: { open: false },
      tick: {
        lastAt: "2026-11-29T02:50:37.412Z",
        nextAt: "2026-11-29T02:51:37.412Z",
        overdue: false,
        source: "cron",
      },
    });
    expect(hosts).toEqual({ active: 4, silent: 0, removing: 1, reportsStale: 0, reportsNever: 1 });
    expect(warnings).toEqual([]);
  });

  it("names hosts that stay removing, and what holds them, and asks none of them", async () => {
    const figures = { deploymentId: "d", hostsActive: 1, hostsRemoving: 4, refusalsLast10Minutes: 0 };
    const heldRemovals = [
      { host: "many", kept: { addresses: 3, handles: ["a", "b"] } },
      { host: "one", kept: { addresses: 1, handles: ["c"] } },
    ];
    const service = fake({
      answers: {
        "sweep.getGc": () => GC,
        "cluster.status": () => ({ ...figures, heldRemovals }),
      },
    });
    const { warnings } = (await (await service.send("GET", "/v1/status")).json()) as {
      warnings: { code: string; host?: string; summary: string; hint: string }[];
    };
    const blocked = warnings.filter(({ code }) => code === "host_removing_blocked");
    expect(blocked.map(({ host }) => host)).toEqual(["many", "one"]);
    expect(blocked[0]?.summary).toContain("3 addresses");
    expect(blocked[0]?.hint).toContain("each of a, b");
    expect(blocked[1]?.summary).toContain("1 address ");
    expect(blocked[1]?.hint).toContain("{handle} for c");
  });

  it("of a deployment that never swept stands at 1970, and names its last error", async () => {
    const { gc } = await status({
      lastSweepAt: 0,
      tick: { lastAt: 0, overdue: false },
      lastError: { at: NOW, what: "host" },
    });
    expect(gc).toMatchObject({ lastSweepAt: "1970-01-01T00:00:00.000Z", lastError: "host" });
    expect(gc?.lastErrorAt).toBe("2026-11-29T02:51:07.412Z");
  });

  it.each([
    ["host node-9: kubernetes: not reachable", 0, ["cluster_unreadable"]],
    ["host node-9: kubernetes", 60_000, ["cluster_unreadable"]],
    ["nodes of the cluster: forbidden: needs list nodes", 60_000, ["cluster_unreadable"]],
    // Later sweeps met it no more.
    ["nodes of the cluster: timed out", 3_600_000, []],
    ["host node-9: block", 0, []],
    ["host kubernetes did not answer", 0, []],
  ])("warns of a cluster that the last sweep could not read: %s, %i ms ago", async (what, ago, codes) => {
    const { warnings } = await status({ lastError: { at: NOW - ago, what } });
    expect(warnings.map(({ code }) => code)).toEqual(codes);
    for (const { summary, hint } of warnings) {
      expect(summary).toContain(what);
      expect(hint).toContain("KUBERNETES_TOKEN");
    }
  });

  it.each<[string, Partial<GcView>, RegExp, RegExp]>([
    [
      "gc_breaker_open",
      {
        breaker: { open: true, openedAt: NOW, scope: "the deployment", confirmed: 120, limitPercent: 5 },
      },
      /120 leaks of the deployment .* 5 %/,
      /\{"breakerOpenedAt":"2026-11-29T02:51:07.412Z"\}/,
    ],
    ["gc_paused", { paused: true, pausedBy: "token:ops" }, /paused by token:ops\. /, /PATCH \/v1\/gc/],
    [
      "gc_stuck",
      { state: "stuck", tick: { lastAt: 0, overdue: true } },
      /never called/,
      /POST \/v1\/gc\/sweeps/,
    ],
    [
      "gc_stuck",
      { state: "stuck", lastError: { at: NOW, what: "policy" } },
      /last error: policy/,
      /GET \/v1\/gc/,
    ],
    ["hosts_silent", { hostsStale: 2 }, /^2 hosts have stopped/, /GET \/v1\/hosts\?state=silent/],
    [
      "leaks_held",
      { counts: { candidates: 0, confirmed: 0, held: 1 } },
      /^1 address is due to be released, and held back/,
      /state=held/,
    ],
  ])("warns: %s", async (code, more, summary, hint) => {
    const { warnings } = await status(more);
    const expected = { summary: expect.stringMatching(summary), hint: expect.stringMatching(hint) };
    expect(warnings).toEqual([
      { code, ...expected, ...(code === "gc_stuck" && more.lastError ? { host: "node-9" } : {}) },
    ]);
  });
});

describe("evidence", () => {
  const REPORT = { incarnation: "a", sequence: 1, ageMs: 0, complete: true, workloads: [] };

  it("for a host that was removed meanwhile is 404, as for one that never was", async () => {
    const refused = { ok: false, error: { code: "host_unknown", evidence: { host: "node-1" } } };
    const service = fake({
      answers: { "host.reportWorkloads": () => refused, "host.collectAttachments": () => refused },
    });
    const sent = [
      service.send("PUT", "/v1/hosts/node-1/workloads", { json: REPORT }),
      service.send("POST", "/v1/hosts/node-1/attachment-gc", { json: { network: "n", validHandles: [] } }),
    ];
    for (const answer of await Promise.all(sent)) {
      expect(await problemOf(answer)).toMatchObject({ status: 404, code: "host_not_found" });
    }
  });

  it("is passed on whole, its addresses in one spelling, with the caller's deadline", async () => {
    const taken = {
      observedAt: NOW,
      accepted: true,
      addressesNotAllocated: [],
      leaks: { candidates: 0, confirmed: 0, held: 0 },
      nextReportWithinMs: 12_900,
    };
    const service = fake({
      answers: {
        "host.reportWorkloads": () => ({ ok: true, value: taken }),
        "host.collectAttachments": () => ({ ok: true, value: { released: 0, held: 0, results: [] } }),
      },
    });
    const workloads = [{ pod: "p", addresses: ["FD00::0:1", "10.0.0.1"] }];
    const report = await service.send("PUT", "/v1/hosts/node-1/workloads", {
      json: { ...REPORT, workloads },
    });
    expect(await report.json()).toMatchObject({ nextReportWithinSeconds: 12 });
    await service.send("POST", "/v1/hosts/node-1/attachment-gc", {
      json: { network: "n", validHandles: ["n.a"] },
      headers: { "X-Request-Timeout-Ms": "5000" },
    });
    const asked = service.asked.filter(({ method }) => method.startsWith("host."));
    expect(asked.map(({ request }) => request)).toEqual([
      { ...REPORT, host: "node-1", workloads: [{ pod: "p", addresses: ["fd00::1", "10.0.0.1"] }] },
      { host: "node-1", network: "n", validHandles: ["n.a"], arrivedAt: NOW, deadlineAt: NOW + 5_000 },
    ]);
  });
});
