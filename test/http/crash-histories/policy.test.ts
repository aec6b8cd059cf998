/** H8 on the real runtime: a policy write that is killed while it waits for the leases, and made again. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { holdClock } from "../../support/control.ts";
import { Stage } from "./stage.ts";

const leaseMs = 1_000;
const KILL_AFTER_MS = 400;

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open(["a", "b"], { leaseMs });
}, 60_000);

afterAll(async () => {
  await stage.close();
});

/** Sends a write while a lease is out, kills it while it waits, and sends it again until it is answered. */
async function writeTwice(pool: string, method: string, path: string, body: object): Promise<void> {
  // By a clock that stands the lease never runs out, so the write surely waits when it is killed.
  await holdClock(stage.client, Date.now());
  expect((await stage.recorder.allocateSurely(stage.wish(pool))).outcome).toBe("ok");
  let isAnswered = false;
  await stage.cutLater(KILL_AFTER_MS, async () => {
    await stage.client.send(method, path, body);
    isAnswered = true;
  });
  expect(isAnswered).toBe(false);
  await stage.client.must(method, path, body);
}

describe("H8: killed while it waits, and written again", () => {
  it("I8: strict affinity: from then on every host gets addresses of its own blocks only", async () => {
    await stage.pool("strict", "10.48.0.0/29", 30);
    // One block for each host, and the second one's is full: it would borrow.
    const wishes = [stage.wish("strict", "a", 1), stage.wish("strict", "b", 4)];
    for (const wish of wishes) expect((await stage.recorder.allocate(wish)).outcome).toBe("ok");
    const borrowed = await stage.recorder.allocate(stage.wish("strict", "b"));
    expect(borrowed).toMatchObject({ outcome: "ok", borrowed: [borrowed.got[0]?.address] });
    await stage.recorder.release({ handle: borrowed.handle });
    await writeTwice("strict", "PATCH", "/v1/config", { strictAffinity: true });
    const own = await stage.recorder.allocate(stage.wish("strict", "a"));
    expect(own).toMatchObject({ outcome: "ok", borrowed: [] });
    await stage.recorder.release({ handle: own.handle });
    const refused = await stage.recorder.allocate(stage.wish("strict", "b"));
    expect(refused).toMatchObject({ outcome: "refused", code: "strict_affinity" });
    await stage.client.must("PATCH", "/v1/config", { strictAffinity: false });
  }, 60_000);

  it("I7: a reservation: nothing of it is given out", async () => {
    await stage.pool("reserved", "10.48.1.0/28", 28);
    await writeTwice("reserved", "PUT", "/v1/reservations/some", { reservedCIDRs: ["10.48.1.4/30"] });
    for (let left = 11; left > 0; left -= 1) {
      expect((await stage.recorder.allocate(stage.wish("reserved"))).outcome).toBe("ok");
    }
    expect((await stage.recorder.allocate(stage.wish("reserved"))).outcome).toBe("refused");
    const ends = (await stage.heldInPool("reserved")).map(({ address }) => Number(address.split(".")[3]));
    expect(ends.filter((end) => end >= 4 && end < 8)).toEqual([]);
    expect(ends).toHaveLength(12);
  }, 60_000);

  it("I12: a cooldown of 60 s: what is released then is not given out", async () => {
    await stage.pool("cooled", "10.48.2.0/30", 30);
    const held = await stage.recorder.allocate(stage.wish("cooled", "a", 3));
    await writeTwice("cooled", "PATCH", "/v1/config", { ipCooldownSeconds: 60 });
    await stage.recorder.release({ handle: held.handle });
    const refused = await stage.recorder.allocate(stage.wish("cooled"));
    expect(refused).toMatchObject({ outcome: "refused", code: "pool_cooling" });
    await stage.client.must("PATCH", "/v1/config", { ipCooldownSeconds: 0 });
    expect((await stage.recorder.allocate(stage.wish("cooled"))).outcome).toBe("ok");
  }, 60_000);

  it("I7: a disabled pool: it gives nothing out", async () => {
    await stage.pool("disabled", "10.48.3.0/28", 28);
    await writeTwice("disabled", "PATCH", "/v1/pools/disabled", { disabled: true });
    const refused = await stage.recorder.allocate(stage.wish("disabled"));
    expect(refused).toMatchObject({ outcome: "refused", code: "requested_pool_unavailable" });
    expect(await stage.heldInPool("disabled")).toHaveLength(1);
  }, 60_000);
});

describe("a write while a lease is out", () => {
  it("I7: its answer comes when the lease has run out, and the next request obeys", async () => {
    await stage.pool("waited", "10.48.4.0/28", 28);
    const write = (disabled: boolean) => stage.client.must("PATCH", "/v1/pools/waited", { disabled });
    for (let round = 0; round < 2; round += 1) {
      const before = stage.wish("waited", "b");
      expect(await stage.recorder.allocate(before)).toMatchObject({ outcome: "ok" });
      await write(true);
      const after = await stage.recorder.allocate(stage.wish("waited", "b"));
      expect(after).toMatchObject({ outcome: "refused", code: "requested_pool_unavailable" });
      await write(false);
    }
  }, 60_000);
});

it("I1, I3, I4, I13, I15: the history of all these requests holds", async () => {
  expect(await stage.violations({ shortenedMs: 60_000 })).toEqual([]);
}, 60_000);
