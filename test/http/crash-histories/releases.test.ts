/** H16–H19 on the real runtime: releases whose answer is lost, cooling over kills, batches, two processes. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { counters, setFaults } from "../../support/control.ts";
import { checkHistory } from "../../support/history.ts";
import { HttpClient } from "../../support/http-client.ts";
import { startService } from "../../support/service.ts";
import { pause, Recorder, type Wish } from "../load/recorder.ts";
import { cutAt, Stage } from "./stage.ts";

const hosts = Array.from({ length: 8 }, (_, number) => `node-${number}`);
const cooldownMs = 2_000;
/** Answers to requests for two addresses each of a block of 16: each has come back, and again. */
const ENOUGH = 16;

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open(hosts);
}, 60_000);

afterAll(async () => {
  await stage.close();
});

describe("H16: the answer of a release is lost, and another gets the address", () => {
  let last = 0;
  /** One address, held; and what another will ask for it with. */
  async function scene(
    pool: string,
  ): Promise<{ address: string; sequenceNumber: number; handle: string; other: Wish }> {
    last += 4;
    await stage.pool(pool, `10.56.0.${last}/30`, 30);
    const { got } = await stage.recorder.allocate(stage.wish(pool));
    const { address = "", sequenceNumber = 0, handle = "" } = got[0] ?? {};
    return { address, sequenceNumber, handle, other: { ...stage.wish(pool, hosts[0]), more: {}, address } };
  }

  it.each(["number", "handle and number", "handle alone"] as const)(
    "I4: guarded by %s, killed, repeated: the other keeps it",
    async (guard) => {
      const { address, sequenceNumber, handle, other } = await scene(`h16-${guard.replaceAll(" ", "-")}`);
      const guarded = guard === "number" ? { sequenceNumber } : { sequenceNumber, handle };
      const wish = guard === "handle alone" ? { handle } : { address, ...guarded };
      const method = guard === "handle alone" ? "block.releaseHandle" : "block.releaseAddresses";
      await stage.cut(cutAt(method, "after"), () => stage.recorder.release(wish));
      const given = await stage.recorder.allocateSurely(other);
      expect(given).toMatchObject({ outcome: "ok", got: [{ address }] });
      await stage.recorder.release(wish);
      await stage.recorder.release({ address, handle });
      expect(await stage.held(other.handle)).toEqual(given.got);
    },
    60_000,
  );

  it("I4: unguarded: it is sent once, the outcome is unknown, the other keeps it", async () => {
    const { address, handle, sequenceNumber, other } = await scene("h16-force");
    const before = (await counters(stage.client)).sent["block.releaseAddresses"] ?? 0;
    await setFaults(stage.client, [{ method: "block.releaseAddresses", fails: "after" }]);
    const answer = await stage.client.send("DELETE", `/v1/allocations/${address}?force=true`);
    expect(answer).toMatchObject({ status: 503, body: { code: "outcome_unknown" } });
    const after = (await counters(stage.client)).sent["block.releaseAddresses"] ?? 0;
    expect(after - before).toBe(1);
    const open = { invokedAt: 0, answeredAt: Number.POSITIVE_INFINITY, outcome: "unknown" as const };
    stage.recorder.history.push({ kind: "release", ...open, address, handle, sequenceNumber, results: [] });
    const given = await stage.recorder.allocateSurely(other);
    expect(given.outcome).toBe("ok");
    expect(await stage.held(other.handle)).toEqual(given.got);
  }, 60_000);
});

describe("a list that names an address twice, under two of its tenures", () => {
  it("I3: each is judged by its own guard, in the order of the list", async () => {
    await stage.pool("twice", "10.60.0.0/30", 30);
    const first = await stage.recorder.allocate(stage.wish("twice"));
    const { address = "", sequenceNumber = 0, handle = "" } = first.got[0] ?? {};
    const stale = { address, sequenceNumber, handle };
    expect(await stage.recorder.release(stale)).toMatchObject({ results: [{ outcome: "released" }] });
    const second = await stage.recorder.allocateSurely({
      ...stage.wish("twice", hosts[0]),
      more: {},
      address,
    });
    const { sequenceNumber: number = 0, handle: holder = "" } = second.got[0] ?? {};
    const current = { address, sequenceNumber: number, handle: holder };
    const [late, right, again] = await stage.recorder.releaseAddresses([stale, current, stale]);
    expect(late?.results).toMatchObject([{ outcome: "rejected", code: "sequence_mismatch" }]);
    expect(right?.results).toMatchObject([{ outcome: "released", sequenceNumber: number }]);
    expect(again?.results).toMatchObject([{ outcome: "rejected", code: "sequence_mismatch" }]);
  });
});

describe("H18: a batch of 64", () => {
  const batch = (pool: string): Wish[] => Array.from({ length: 64 }, () => stage.wish(pool));

  it("I1: one item that cannot be served: 63 are answered, one is refused, nothing is there twice", async () => {
    await stage.pool("h18", "10.58.0.0/25", 27);
    const wishes = batch("h18");
    wishes[20] = { ...wishes[20]!, more: { ipv4: { count: 1, pools: ["nothing"] } } };
    const answers = await stage.recorder.allocateBatch("node-1", wishes);
    const refused = answers.filter(({ outcome }) => outcome !== "ok");
    expect(refused).toMatchObject([{ code: "requested_pool_unavailable" }]);
    expect(new Set(answers.flatMap(({ got }) => got.map(({ address }) => address))).size).toBe(63);
    expect(await stage.heldInPool("h18")).toHaveLength(63);
  }, 60_000);

  it.each(["before", "after"] as const)(
    "I1 I13: the call of the block fails %s it is done: each is sent again by itself, nothing is there twice",
    async (fails) => {
      const pool = `h18-${fails}`;
      await stage.pool(pool, `10.58.${fails === "before" ? 1 : 2}.0/25`, 27);
      expect((await stage.recorder.allocate(stage.wish(pool, "node-1"))).outcome).toBe("ok");
      await setFaults(stage.client, [{ method: "block.allocate", fails }]);
      const answers = await stage.recorder.allocateBatch("node-1", batch(pool));
      expect(await setFaults(stage.client, [])).toBe(0);
      expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(["ok"]));
      expect(new Set(answers.flatMap(({ got }) => got.map(({ address }) => address))).size).toBe(64);
      expect(await stage.heldInPool(pool)).toHaveLength(65);
    },
    60_000,
  );

  it("I13: killed after the block's commit: each key gives the same again, nothing is there twice", async () => {
    await stage.pool("h18-kill", "10.58.3.0/25", 27);
    const wishes = batch("h18-kill").map((wish) => ({ ...wish, host: "node-2" }));
    await stage.cut(cutAt("block.allocate", "after"), () => stage.recorder.allocateBatch("node-2", wishes));
    const held = await stage.heldInPool("h18-kill");
    expect(held.length).toBeGreaterThan(0);
    const answers = await Promise.all(wishes.map((wish) => stage.recorder.allocateSurely(wish)));
    expect(new Set(answers.flatMap(({ got }) => got.map(({ address }) => address))).size).toBe(64);
    const got = answers.flatMap((answer) => answer.got);
    for (const one of held) expect(got).toContainEqual(one);
    expect(await stage.heldInPool("h18-kill")).toHaveLength(64);
  }, 60_000);
});

describe("H17: eight hosts churn on one full block with a cooldown of 2 s, killed every second", () => {
  it("I12: no address comes back before its cooldown has passed; the one free for longest goes first", async () => {
    await stage.client.must("PATCH", "/v1/config", { ipCooldownSeconds: cooldownMs / 1_000 });
    await stage.pool("h17", "10.57.0.0/28", 28);
    const churn = new Recorder(stage.client);
    let isOver = false;
    const client = async (host: string): Promise<void> => {
      while (!isOver) {
        const answer = await churn.allocateSurely(stage.wish("h17", host, 2));
        if (answer.outcome !== "ok") await pause(50);
        for (const { address, sequenceNumber } of answer.got) {
          await churn.release({ address, sequenceNumber });
        }
      }
    };
    const kill = async (): Promise<void> => {
      for (let kills = 0; kills < 4; kills += 1) {
        await pause(1_000);
        await stage.service.kill();
        await stage.service.restart();
      }
      const answers = () => churn.seen.get("allocate ok") ?? 0;
      await stage.until("addresses come back", async () => answers() > ENOUGH);
      await pause(cooldownMs);
    };
    const killed = kill().finally(() => {
      isOver = true;
    });
    await Promise.all([...hosts.map(client), killed]);
    stage.recorder.history.push(...churn.history);
    expect(await stage.violations()).toEqual([]);
    const again = churn.history.filter(({ kind, outcome }) => kind === "allocate" && outcome === "ok");
    expect(again.length).toBeGreaterThan(ENOUGH);
    const final = await stage.heldInPool("h17");
    expect(checkHistory(churn.history, { final, cooldownMs })).toEqual([]);
    await inOrder();
  }, 90_000);

  /** Everything is released in an order of its own, cools, and comes back in that order. */
  async function inOrder(): Promise<void> {
    for (const { handle } of await stage.heldInPool("h17")) await stage.recorder.release({ handle });
    await pause(cooldownMs + 100);
    const { got } = await stage.recorder.allocateSurely(stage.wish("h17", "node-0", 16));
    expect(got).toHaveLength(16);
    const order = got.toSorted((one, other) =>
      (one.address.at(-1) ?? "").localeCompare(other.address.at(-1) ?? ""),
    );
    for (const { address, sequenceNumber } of order)
      await stage.recorder.release({ address, sequenceNumber });
    await pause(cooldownMs + 100);
    const back: string[] = [];
    for (const _ of order) {
      const { got: next } = await stage.recorder.allocateSurely(stage.wish("h17", "node-0"));
      back.push(...next.map(({ address }) => address));
    }
    expect(back).toEqual(order.map(({ address }) => address));
    await stage.client.must("PATCH", "/v1/config", { ipCooldownSeconds: 0 });
  }
});

describe("H19: a second process on the same data", () => {
  it("I1: is refused; with the lock removed both give out addresses, and none of them twice", async () => {
    const { dataDir } = stage.service;
    await expect(startService({ dataDir })).rejects.toThrow("in use");
    await stage.pool("h19", "10.59.0.0/24", 24);
    expect((await stage.recorder.allocate(stage.wish("h19"))).outcome).toBe("ok");
    rmSync(join(dataDir, "lock"));
    const second = await startService({ dataDir });
    const client = new HttpClient(() => second.url, 16);
    try {
      const recorders = [stage.recorder, new Recorder(client)];
      const take = async (recorder: Recorder): Promise<string[]> => {
        const got: string[] = [];
        for (let left = 40; left > 0; left -= 1) {
          const answer = await recorder.allocate(stage.wish("h19"));
          got.push(...answer.got.map(({ address }) => address));
        }
        return got;
      };
      const lots = await Promise.all([...recorders, ...recorders].map(take));
      const addresses = lots.flat();
      expect(lots.map((lot) => lot.length > 0)).toEqual([true, true, true, true]);
      expect(new Set(addresses).size).toBe(addresses.length);
    } finally {
      client.close();
      await second.stop();
    }
  }, 90_000);
});
