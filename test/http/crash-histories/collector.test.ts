/** H14 and H15 on the real runtime: the collector cut before and after its order, and an agent that is silent. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SkippingClock } from "../../crash/clock.ts";
import { cutAt, Stage } from "./stage.ts";

/** Longer than an allocation is young, than the grace, and than a day. */
const SETTLED_MS = 130_000;
const GRACE_MS = 70_000;
const HOUR_MS = 3_600_000;

const clock = new SkippingClock();
let stage: Stage;
let sequence = 0;

beforeAll(async () => {
  stage = await Stage.open(["a"], {}, clock.vars);
  await stage.client.must("PATCH", "/v1/config", { leakGraceSeconds: 60, staleReportSeconds: 300 });
}, 60_000);

afterAll(async () => {
  expect(await stage.violations()).toEqual([]);
  await stage.close();
});

async function skip(ms: number): Promise<void> {
  clock.skip(ms);
  await stage.client.must("POST", "/test/clock", { offsetMs: clock.offsetMs });
}

/** The agent of host a lists what lives there. */
async function report(...handles: string[]): Promise<void> {
  sequence += 1;
  const workloads = handles.map((handle) => ({ handle, addresses: [] }));
  const body = { incarnation: "one", sequence, ageMs: 0, complete: true, workloads };
  await stage.client.must("PUT", "/v1/hosts/a/workloads", body);
}

/** A pod of host a that may have one address. */
function podWish(pool: string) {
  const wish = stage.wish(pool);
  const attributes = { namespace: "n", pod: wish.handle };
  return { ...wish, more: { ...wish.more, maxPerHandle: 1, attributes } };
}

/** A pod is gone, and two reports have said so: the next one frees its address. */
async function confirmed(pool: string, cidr: string) {
  await stage.pool(pool, cidr, 29);
  const wish = podWish(pool);
  expect((await stage.recorder.allocate(wish)).outcome).toBe("ok");
  stage.recorder.vanished(wish.handle);
  for (const ms of [SETTLED_MS, GRACE_MS]) {
    await skip(ms);
    await report();
  }
  await skip(GRACE_MS);
  expect(await stage.held(wish.handle)).toHaveLength(1);
  return wish;
}

describe("H14: killed while the collector frees an address", () => {
  it("I11: before its order: what the handle gets meanwhile stays, whatever was decided before", async () => {
    const wish = await confirmed("h14", "10.54.0.0/28");
    const [before] = await stage.held(wish.handle);
    await stage.cut(cutAt("block.releaseLeaked", "before"), () => report());
    const again = { ...wish, key: `${wish.key}-again` };
    const got = await stage.recorder.allocateSurely(again);
    expect(got).toMatchObject({ outcome: "ok", got: [{ address: before?.address }] });
    for (let round = 0; round < 6; round += 1) {
      await skip(GRACE_MS);
      await report(wish.handle);
    }
    expect(await stage.held(wish.handle)).toEqual(got.got);
  }, 60_000);

  it("I11: after it: it is freed once, and who comes then has an address of its own", async () => {
    const wish = await confirmed("h14after", "10.55.0.0/28");
    await stage.cut(cutAt("block.releaseLeaked", "after"), () => report());
    expect(await stage.held(wish.handle)).toEqual([]);
    const got = await stage.recorder.allocateSurely({ ...wish, key: `${wish.key}-again` });
    expect(got.outcome).toBe("ok");
    for (let round = 0; round < 6; round += 1) {
      await skip(GRACE_MS);
      await report(wish.handle);
    }
    expect(await stage.held(wish.handle)).toEqual(got.got);
  }, 60_000);
});

describe("H15: an agent is silent after one report", () => {
  it("I11: nothing is freed, however long and however often the service is killed", async () => {
    await stage.pool("h15", "10.56.0.0/28", 29);
    const gone = podWish("h15");
    await stage.recorder.allocate(gone);
    stage.recorder.vanished(gone.handle);
    await skip(SETTLED_MS);
    await report();
    const later = podWish("h15");
    const { got } = await stage.recorder.allocate(later);
    for (let day = 0; day < 3; day += 1) {
      for (let hours = 0; hours < 24; hours += 6) {
        await skip(6 * HOUR_MS);
        await stage.client.must("POST", "/v1/gc/sweeps");
      }
      await stage.service.kill();
      await stage.service.restart();
    }
    expect(await stage.held(gone.handle)).toHaveLength(1);
    expect(await stage.held(later.handle)).toEqual(got);
    for (let round = 0; round < 5; round += 1) {
      await skip(GRACE_MS);
      await report(later.handle);
    }
    expect(await stage.held(gone.handle)).toEqual([]);
    expect(await stage.held(later.handle)).toEqual(got);
  }, 60_000);
});
