/** What a Host tells of allocations that a source does not speak of, above all while a cluster does not answer. */
import { expect, test } from "vitest";
import { figuresOf } from "../../../durable-objects/host-audit-figures.ts";
import { subjectOf } from "../../core/leak-facts.ts";
import { FakeCluster, MINUTE, type Stage, staged } from "./host-stage.ts";

/** A cluster that takes requests and never answers while it hangs. */
class HangingCluster extends FakeCluster {
  hangs = false;

  override async podsOn(node: string) {
    if (this.hangs) await new Promise(() => undefined);
    return await super.podsOn(node);
  }
}

/** A host with two pods that run. */
async function running(cluster: FakeCluster): Promise<Stage> {
  const stage = await staged({ cluster });
  for (const name of ["one", "two"]) await stage.pod("a", name);
  cluster.put("one", "a", ["10.0.0.0"]);
  cluster.put("two", "a", ["10.0.0.1"]);
  await stage.world.advance(3 * MINUTE);
  return stage;
}

/** Visits the host some minutes later, as a sweep does. */
async function visited(stage: Stage) {
  await stage.world.advance(4 * MINUTE);
  return (await stage.audited("a")).figures;
}

test("a cluster that is away is counted for all that nobody else tells of, until it answers", async () => {
  const cluster = new FakeCluster();
  const stage = await running(cluster);
  expect((await visited(stage)).unknownBySource).toEqual({});
  cluster.isAway = true;
  expect((await visited(stage)).unknownBySource).toEqual({ kubernetes: 2 });
  cluster.isAway = false;
  expect((await visited(stage)).unknownBySource).toEqual({});
});

test("a cluster that is away is counted for what agents miss and it does not confirm, in every state", async () => {
  const cluster = new FakeCluster();
  const stage = await running(cluster);
  const told = async () => {
    await stage.reports("a", ["one"], MINUTE);
    const { counts, unknownBySource } = await visited(stage);
    return { ...counts, unknownBySource };
  };
  cluster.isAway = true;
  const none = { candidates: 0, confirmed: 0, held: 0 };
  const unknownBySource = { kubernetes: 1 };
  expect(await told()).toEqual({ ...none, candidates: 1, unknownBySource });
  await told();
  await told();
  expect(await told()).toEqual({ ...none, held: 1, unknownBySource });
  cluster.isAway = false;
  expect(await told()).toEqual({ ...none, unknownBySource: {} });
});

test("a cluster that never answers is counted by a visit that does not wait for it", async () => {
  const cluster = new HangingCluster();
  const stage = await running(cluster);
  expect((await visited(stage)).unknownBySource).toEqual({});
  const before = await stage.audited("a");
  cluster.hangs = true;
  await stage.world.advance(4 * MINUTE);
  const begunAt = stage.world.now;
  const { kind, figures } = await stage.audited("a");
  // The Sweep waits for six steps of a call.
  const { untilMs, skewMs } = stage.scene.deployed.settings;
  expect(stage.world.now - begunAt).toBeLessThan(6 * (untilMs + skewMs));
  expect(kind).toBe("audited");
  expect(figures.unknownBySource).toEqual({ kubernetes: 2 });
  expect(figures.lastError).toMatchObject({ what: "kubernetes: timed out" });
  expect(figures.auditedAt).toBe(before.figures.auditedAt);
  cluster.hangs = false;
  expect((await visited(stage)).unknownBySource).toEqual({});
});

test("the source that is counted is the one that ought to have told", () => {
  const sources = (one: object, hasKubernetes = true, isGone = false) =>
    figuresOf({
      ...{ host: "h", auditedAt: 1, holdings: [], rows: [], reclaimed: new Map() },
      ...{ report: { state: "never", workloads: 0 }, hasKubernetes, isGone },
      judged: [
        { subject: subjectOf(), kind: "workload", standing: "unknown", why: "evidence_stale", ...one },
      ],
    } as never).unknownBySource;
  expect(sources({})).toEqual({ kubernetes: 1 });
  expect(sources({}, false)).toEqual({ report: 1 });
  expect(sources({ kind: "vm" }, false)).toEqual({ kubernetes: 1 });
  expect(sources({ kind: "external" })).toEqual({ attachments: 1 });
  expect(sources({ why: "too_young" })).toEqual({});
  expect(sources({ standing: "candidate", why: "unreadable" })).toEqual({ kubernetes: 1 });
  expect(sources({ standing: "candidate", why: undefined })).toEqual({});
  const tunnel = { kind: "tunnel", why: "unreadable" };
  expect(sources(tunnel)).toEqual({ kubernetes: 1 });
  // On a lost host it waits for what may live there, not for a source.
  expect(sources(tunnel, true, true)).toEqual({});
  expect(sources(tunnel, false, true)).toEqual({});
});
