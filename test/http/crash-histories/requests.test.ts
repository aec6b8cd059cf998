/** H1–H7 on the real runtime: requests that a SIGKILL cuts at a chosen call, and what their keys give. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { setFaults, untilFaulty } from "../../support/control.ts";
import { pause } from "../load/recorder.ts";
import { cutAt, FINAL_MS, Stage } from "./stage.ts";

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open(["a", "b"]);
}, 60_000);

afterAll(async () => {
  await stage.close();
});

describe("H1: killed after the block's commit, before the answer", () => {
  it("I13 I5: the same key gets the same address; it is listed under its handle, and once", async () => {
    await stage.pool("h1", "10.41.0.0/28", 29);
    const wish = stage.wish("h1");
    await stage.cut(cutAt("block.allocate", "after"), () => stage.recorder.allocate(wish));
    const before = await stage.held(wish.handle);
    expect(before).toHaveLength(1);
    const answer = await stage.recorder.allocateSurely(wish);
    expect(answer).toMatchObject({ outcome: "ok", got: before });
    expect(await stage.heldInPool("h1")).toEqual(before);
  }, 60_000);
});

describe("H2: killed after the index row, before the block", () => {
  it("I5: a release by handle succeeds, and nothing is held, also later", async () => {
    await stage.pool("h2", "10.42.0.0/28", 29);
    const wish = stage.wish("h2");
    await stage.cut(cutAt("block.allocate", "before"), () => stage.recorder.allocate(wish));
    const { outcome, results } = await stage.recorder.release({ handle: wish.handle });
    expect({ outcome, results }).toEqual({ outcome: "ok", results: [] });
    expect(await stage.held(wish.handle)).toEqual([]);
    await pause(5_000);
    expect(await stage.heldInPool("h2")).toEqual([]);
  }, 60_000);
});

describe("H3: the client hangs up while the block is slow", () => {
  it("I4: the release of its handle leaves nothing", async () => {
    await stage.pool("h3", "10.43.0.0/28", 29);
    const { host, handle, key, more } = stage.wish("h3");
    await setFaults(stage.client, [{ method: "block.allocate", stands: "before" }]);
    const hangUp = new AbortController();
    const asked = fetch(`${stage.service.url}/v1/allocations`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify({ host, handle, ...more }),
      signal: hangUp.signal,
    });
    await untilFaulty(stage.client);
    hangUp.abort();
    const never = { invokedAt: 0, answeredAt: Number.POSITIVE_INFINITY, outcome: "unknown" as const };
    stage.recorder.history.push({ kind: "allocate", ...never, host, handle, key, body: "", got: [] });
    await expect(asked).rejects.toThrow();
    expect((await stage.recorder.release({ handle })).outcome).toBe("ok");
    expect(await stage.held(handle)).toEqual([]);
    // Now it arrives.
    await setFaults(stage.client, []);
    await pause(FINAL_MS);
    expect(await stage.heldInPool("h3")).toEqual([]);
  }, 60_000);
});

describe("H4: killed before the block; the block is full when the key comes again, then free again", () => {
  it("I13: there is one address, never two", async () => {
    await stage.pool("h4", "10.44.0.0/29", 30);
    const wish = stage.wish("h4");
    await stage.cut(cutAt("block.allocate", "before"), () => stage.recorder.allocate(wish));
    const blocks = await stage.client.all<{ cidr: string }>("/v1/blocks?pool=h4&host=a");
    const first = Number(blocks[0]?.cidr.split(/[./]/)[3]);
    const fill = [0, 1, 2, 3].map((step) => ({
      ...stage.wish("h4"),
      more: {},
      address: `10.44.0.${first + step}`,
    }));
    for (const one of fill) expect((await stage.recorder.allocateSurely(one)).outcome).toBe("ok");
    const answers = [stage.recorder.allocateSurely(wish)];
    await stage.recorder.release({ handle: fill[0]?.handle ?? "" });
    answers.push(stage.recorder.allocateSurely(wish));
    await stage.recorder.release({ handle: fill[1]?.handle ?? "" });
    answers.push(stage.recorder.allocateSurely(wish));
    const got = (await Promise.all(answers)).map((answer) => answer.got);
    const held = await stage.held(wish.handle);
    expect(held).toHaveLength(1);
    expect(got).toEqual([held, held, held]);
  }, 60_000);
});

describe("H5: dual stack, IPv6 full, a cooldown of 20 minutes", () => {
  const more = (pool: string, count: number) => ({ ipv4: { count: 0 }, ipv6: { count, pools: [pool] } });

  it.each([
    { where: "after", free: 1, left: 0 },
    // What the ended process had created is found by the retry, which undoes only what it created itself.
    { where: "before", free: 2, left: 1 },
  ] as const)(
    "I15: killed $where the undo: refused, and a single request gets an address at once",
    async ({ where, free, left }) => {
      const [pool, six] = [`h5-${where}`, `h5-six-${where}`];
      const third = where === "after" ? 0 : 4;
      await stage.client.must("PATCH", "/v1/config", { ipCooldownSeconds: 1_200 });
      await stage.pool(pool, `10.45.0.${third}/30`, 30);
      await stage.pool(six, `fd00:45::${third}/126`, 126);
      expect((await stage.recorder.allocate(stage.wish(pool, "a", 4 - free))).outcome).toBe("ok");
      const full = { ...stage.wish(six), more: more(six, 4) };
      expect((await stage.recorder.allocate({ ...full })).outcome).toBe("ok");
      const wish = stage.dualWish(pool, six);
      await stage.cut(cutAt("block.undo", where), () => stage.recorder.allocate(wish));
      const refused = await stage.recorder.allocateSurely(wish);
      expect(refused).toMatchObject({ outcome: "refused", code: "pool_exhausted" });
      expect(await stage.held(wish.handle)).toHaveLength(left);
      expect((await stage.recorder.allocate(stage.wish(pool))).outcome).toBe("ok");
      await stage.client.must("PATCH", "/v1/config", { ipCooldownSeconds: 0 });
    },
    60_000,
  );
});

describe("H6: dual stack: one attempt finds IPv6 full and is killed, the next finds room", () => {
  it("I4 I15: what is acknowledged is held, of both families", async () => {
    await stage.pool("h6", "10.46.0.0/29", 29);
    await stage.pool("h6-six", "fd00:46::/126", 126);
    const ipv6 = { count: 4, pools: ["h6-six"] };
    const occupant = { ...stage.wish("h6-six"), more: { ipv4: { count: 0 }, ipv6 } };
    await stage.recorder.allocate(occupant);
    const wish = stage.dualWish("h6", "h6-six");
    await stage.cut(cutAt("block.undo", "before"), () => stage.recorder.allocate(wish));
    await stage.recorder.release({ handle: occupant.handle });
    const two = await Promise.all([stage.recorder.allocateSurely(wish), stage.recorder.allocateSurely(wish)]);
    const held = await stage.held(wish.handle);
    expect(held).toHaveLength(2);
    const inOrder = (one: (typeof two)[number]) =>
      one.got.toSorted((x, y) => (x.address < y.address ? -1 : 1));
    for (const answer of two) {
      expect(answer.outcome).toBe("ok");
      expect(inOrder(answer)).toEqual(held.toSorted((x, y) => (x.address < y.address ? -1 : 1)));
    }
  }, 60_000);
});

describe("H7: 20 requests at once of two hosts for one handle with limit 1", () => {
  it.each([
    ["the process is killed", "10.47.0.0/26", "cut"],
    ["both hosts end, the block goes on", "10.47.1.0/26", "cutHosts"],
  ] as const)(
    "I9: %s: one address at most at any time, and after 3 s a request gets that one",
    async (_, cidr, how) => {
      const pool = `h7-${how.toLowerCase()}`;
      await stage.pool(pool, cidr, 28);
      const limited = (number: number) => {
        const wish = stage.wish(pool, stage.hosts[number % 2]);
        return { ...wish, handle: `${pool}.vm`, more: { ...wish.more, maxPerHandle: 1 } };
      };
      const wishes = Array.from({ length: 20 }, (_none, number) => limited(number));
      await stage[how](cutAt("block.allocate", "after"), () =>
        Promise.all(wishes.map((wish) => stage.recorder.allocate(wish))),
      );
      await Promise.all(wishes.map((wish) => stage.recorder.allocateSurely(wish)));
      await pause(3_000);
      const answer = await stage.recorder.allocateSurely(limited(0));
      const held = await stage.held(`${pool}.vm`);
      expect(held).toHaveLength(1);
      expect(answer).toMatchObject({ outcome: "ok", got: held });
    },
    60_000,
  );
});

describe("H1, H2: the Host alone ends while its block is called, and all others go on", () => {
  it.each(["before", "after"] as const)(
    "I13 I5: %s the block has done it: unknown, then one address under its key",
    async (where) => {
      const pool = `h1-host-${where}`;
      await stage.pool(pool, `10.41.${where === "before" ? 1 : 2}.0/28`, 29);
      const wish = stage.wish(pool);
      await stage.cutHosts(cutAt("block.allocate", where), () => stage.recorder.allocate(wish));
      expect(stage.recorder.history.at(-1)).toMatchObject({ key: wish.key, outcome: "unknown" });
      expect([...stage.recorder.seen.keys()]).not.toContain("allocate internal_error");
      const answer = await stage.recorder.allocateSurely(wish);
      expect(answer.outcome).toBe("ok");
      expect(await stage.held(wish.handle)).toEqual(answer.got);
      expect(await stage.heldInPool(pool)).toHaveLength(1);
    },
    60_000,
  );
});

it("I1, I3, I4, I9, I13, I15: the history of all these requests holds, and one repair makes all agree", async () => {
  expect(await stage.violations()).toEqual([]);
  expect(await stage.disagreements()).toEqual([]);
}, 90_000);
