/**
 * Claims ahead of need, and what is asked before a claim, on the simulated platform.
 * May import: the simulation, durable-objects, src.
 */
import { afterEach, describe, expect, test } from "vitest";
import { blockObject } from "../support/simulation/deployment.ts";
import { Scene, type SceneOptions } from "../support/simulation/scene.ts";

let scene: Scene;
afterEach(() => scene?.world.report());

const BLOCKS = { default: { cidr: "10.0.0.0/22", blockSize: 26 } };

async function rowsOf(host: string): Promise<string[]> {
  const { rows } = await scene.world.during(scene.deployed.ports.host(host).affinities({ host }));
  return rows.map(({ block, state }) => `${block} ${state}`).sort();
}

/** So many requests, one after the other, each that long after the one before. */
async function oneByOne(host: string, count: number, pauseMs: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const ended = await scene.world.during(scene.allocate(host, { handle: `${host}-${n}` }));
    expect(ended.kind).toBe("ok");
    if (pauseMs > 0) await scene.world.advance(pauseMs);
  }
}

const open = async (options: SceneOptions = {}): Promise<void> => {
  scene = await Scene.open({ pools: BLOCKS, ...options });
};

describe("a burst", () => {
  test("claims its next block while the one before still has room, one at a time", async () => {
    await open();
    await oneByOne("a", 60, 1);
    await scene.world.advance(1_000);
    expect(await rowsOf("a")).toHaveLength(2);
  });

  test("never looks up its keys for want of room, as one does that waits for a claim", async () => {
    const lookUps = async (claimAheadMs: number): Promise<number> => {
      await open({ settings: { claimAheadMs } });
      await scene.world.during(scene.allocate("a", { handle: "first" }));
      const mark = scene.world.counters.read();
      await oneByOne("a", 160, 1);
      return (scene.world.counters.since(mark).calls["HostObject>HandleIndexObject.reserve"] ?? 0) - 160;
    };
    expect(await lookUps(0)).toBe(2);
    expect(await lookUps(100)).toBe(0);
  });

  test("I10: stays under the cap", async () => {
    await open({ config: { strictAffinity: true, maxBlocksPerHost: 1 } });
    await oneByOne("a", 64, 1);
    await scene.world.advance(1_000);
    expect(await rowsOf("a")).toHaveLength(1);
  });

  test("claims nothing where blocks are not to be claimed by allocations", async () => {
    await open();
    await oneByOne("a", 1, 0);
    const { cluster } = scene.deployed.ports;
    const patch = { autoAllocateBlocks: false, strictAffinity: true };
    expect((await scene.world.during(cluster().changeConfig({ patch, by: "test" }))).ok).toBe(true);
    await scene.world.advance(2_000);
    for (let n = 0; n < 62; n += 1) await scene.world.during(scene.allocate("a", { handle: `more-${n}` }));
    await scene.world.advance(1_000);
    expect(await rowsOf("a")).toHaveLength(1);
  });

  test("asks no other host for its empty block", async () => {
    await open({ pools: { default: { cidr: "10.0.0.0/25", blockSize: 26 } }, settings: { reclaimAgeMs: 0 } });
    await oneByOne("b", 1, 0);
    await scene.world.during(scene.release("b-0"));
    await scene.world.advance(400_000);
    const mark = scene.world.counters.read();
    await oneByOne("a", 64, 1);
    await scene.world.advance(1_000);
    expect(scene.world.counters.since(mark).calls["HostObject>HostObject.releaseBlock"]).toBeUndefined();
    expect(await rowsOf("b")).toHaveLength(1);
    // The request that needs it does ask.
    expect((await scene.world.during(scene.allocate("a", { handle: "one more" }))).kind).toBe("ok");
    expect(await rowsOf("b")).toHaveLength(0);
  });

  test("that meets nothing to claim ahead gets its addresses all the same", async () => {
    await open({ pools: { default: { cidr: "10.0.0.0/26", blockSize: 26 } } });
    await oneByOne("a", 64, 1);
    const ended = await scene.world.during(scene.allocate("a", { handle: "one more" }));
    expect(ended).toMatchObject({ kind: "refused", code: "pool_exhausted" });
  });
});

test.each([
  ["open", undefined],
  ["disabled", { disabled: true }],
  ["that does not select the host any more", { nodeSelector: "zone == 'other'" }],
])("answers that are told again claim nothing in a pool %s", async (_which, patch) => {
  await open();
  await oneByOne("a", 64, 100);
  const { cluster } = scene.deployed.ports;
  if (patch !== undefined) {
    const changed = await scene.world.during(cluster().patchPool({ name: "default", patch, by: "test" }));
    expect(changed.ok).toBe(true);
  }
  await scene.world.advance(2_000);
  for (const asked of [...scene.asked]) {
    expect((await scene.world.during(scene.again(asked))).kind).toBe("ok");
  }
  await scene.world.advance(1_000);
  expect(await rowsOf("a")).toHaveLength(1);
});

test("a pool that has no block to give is asked once in a burst", async () => {
  await open({ pools: { default: { cidr: "10.0.0.0/26", blockSize: 26 } } });
  await oneByOne("a", 1, 0);
  const mark = scene.world.counters.read();
  for (let n = 0; n < 63; n += 1) await scene.world.during(scene.allocate("a", { handle: `more-${n}` }));
  await scene.world.advance(1_000);
  expect(scene.world.counters.since(mark).calls["HostObject>PoolObject.claim"]).toBe(1);
});

test("a claim ahead is not bound by the deadline of the request that was served", async () => {
  await open();
  await oneByOne("a", 1, 0);
  scene.world.delay({ method: "claim", kind: "request", toClass: "PoolObject" }, 30, 1);
  for (let n = 0; n < 62; n += 1) {
    const deadlineAt = scene.world.now + 20;
    await scene.world.during(scene.allocate("a", { handle: `more-${n}`, deadlineAt }));
  }
  await scene.world.advance(1_000);
  const rows = await rowsOf("a");
  expect(rows).toHaveLength(2);
  for (const row of rows) expect(row).toMatch("confirmed");
});

test("a host that fills slowly never has a spare block", async () => {
  await open();
  await oneByOne("a", 64, 100);
  await scene.world.advance(1_000);
  expect(await rowsOf("a")).toHaveLength(1);
});

test("an own block that hangs delays one claim, not all of them", async () => {
  await open({ pools: { default: { cidr: "10.0.0.0/24", blockSize: 30 } } });
  await oneByOne("a", 4, 200);
  const [block = ""] = (await rowsOf("a")).map((row) => row.split(" ")[0] ?? "");
  const { cluster } = scene.deployed.ports;
  const spec = { cidr: "11.0.0.0/24" };
  expect((await scene.world.during(cluster().putPool({ name: "other", spec, by: "test" }))).ok).toBe(true);
  await scene.world.advance(3_000);
  scene.world.hold({ kind: "request", to: blockObject(block) });
  const slow: number[] = [];
  for (let n = 0; n < 16; n += 1) {
    const began = scene.world.now;
    expect((await scene.world.during(scene.allocate("a", { handle: `more-${n}` }))).kind).toBe("ok");
    if (scene.world.now - began > 1_000) slow.push(n);
    await scene.world.advance(200);
  }
  expect(slow).toEqual([0]);
});

describe("a block whose release was not heard of", () => {
  const lostRelease = async (): Promise<void> => {
    await oneByOne("a", 64, 100);
    scene.world.drop({ method: "blockChanged" });
    await scene.world.during(scene.release("a-7"));
  };

  test("is asked before another one is claimed, once its figures are old", async () => {
    await open({ config: { ipCooldownSeconds: 0 } });
    await lostRelease();
    await scene.world.advance(31_000);
    expect((await scene.world.during(scene.allocate("a", { handle: "next" }))).kind).toBe("ok");
    expect(await rowsOf("a")).toHaveLength(1);
  });

  test("is asked before a refusal, however young its figures are", async () => {
    await open({
      config: { ipCooldownSeconds: 0 },
      pools: { default: { cidr: "10.0.0.0/26", blockSize: 26 } },
    });
    await lostRelease();
    expect((await scene.world.during(scene.allocate("a", { handle: "next" }))).kind).toBe("ok");
  });

  test("64 requests at once ask it once", async () => {
    await open({ config: { ipCooldownSeconds: 0 } });
    await oneByOne("a", 64, 100);
    await scene.world.advance(31_000);
    const mark = scene.world.counters.read();
    const all = Array.from({ length: 64 }, (_, n) => scene.allocate("a", { handle: `at-once-${n}` }));
    for (const { kind } of await scene.world.during(Promise.all(all))) expect(kind).toBe("ok");
    expect(scene.world.counters.since(mark).calls["HostObject>BlockObject.describe"]).toBe(1);
  });
});

test("blocks that fill quickly are told of together: a report for each claim, and few others", async () => {
  await open({
    pools: { default: { cidr: "10.0.0.0/22", blockSize: 30 } },
    config: { strictAffinity: true, maxBlocksPerHost: 100 },
  });
  await oneByOne("a", 1, 0);
  await scene.world.advance(1_000);
  const mark = scene.world.counters.read();
  await oneByOne("a", 64, 2);
  await scene.world.advance(1_000);
  const { calls } = scene.world.counters.since(mark);
  const claims = calls["HostObject>BlockObject.claim"] ?? 0;
  expect(claims).toBeGreaterThanOrEqual(16);
  expect(calls["HostObject>PoolObject.report"] ?? 0).toBeLessThanOrEqual(claims * 1.5);
});

describe("a fast burst", () => {
  const WIDE = { default: { cidr: "10.0.0.0/20", blockSize: 30 } };
  const many = { strictAffinity: true, maxBlocksPerHost: 1_000 };
  const claimsOf = (calls: Readonly<Record<string, number>>) => ({
    offers: calls["HostObject>PoolObject.claim"] ?? 0,
    claims: calls["HostObject>BlockObject.claim"] ?? 0,
  });
  const burst = async (count: number, options: SceneOptions = {}) => {
    await open({ pools: WIDE, config: many, ...options });
    await oneByOne("a", 8, 1);
    const mark = scene.world.counters.read();
    for (let n = 0; n < count; n += 1) {
      expect((await scene.world.during(scene.allocate("a", { handle: `burst-${n}` }))).kind).toBe("ok");
    }
    await scene.world.advance(5_000);
    return claimsOf(scene.world.counters.since(mark).calls);
  };
  /** Blocks that the Pool calls the host's. */
  const listed = async (): Promise<string[]> => {
    const { ports } = scene.deployed;
    const { rows } = await scene.world.during(ports.host("a").affinities({ host: "a" }));
    const [{ pool = "", incarnation = 0 } = {}] = rows;
    const target = { pool, incarnation, cidr: WIDE.default.cidr, blockSize: WIDE.default.blockSize };
    const question = { ...target, owner: "a", limit: 1_000 };
    const { entries } = await scene.world.during(ports.pool(pool, incarnation).list(question));
    return entries.map(({ block, confirmed }) => `${block} ${confirmed ? "confirmed" : ""}`).sort();
  };

  test("asks the Pool once for several blocks, up to four", async () => {
    const { offers, claims } = await burst(80);
    expect(claims / offers).toBeGreaterThan(2);
    expect(claims / offers).toBeLessThanOrEqual(4);
    expect(await rowsOf("a")).toEqual(await listed());
  });

  test("takes one at a time where free blocks are scarce", async () => {
    const { offers, claims } = await burst(80, {
      pools: { default: { cidr: "10.0.0.0/24", blockSize: 30 } },
    });
    expect(claims).toBe(offers);
  });

  test("I10: takes no more blocks at once than the cap leaves", async () => {
    const { claims } = await burst(16, { config: { ...many, maxBlocksPerHost: 6 } });
    expect(claims).toBeLessThanOrEqual(4);
    expect(await rowsOf("a")).toHaveLength(6);
    expect(await listed()).toHaveLength(6);
  });

  test.each([
    ["question to a block", { method: "claim", toClass: "BlockObject" }],
    ["answer of a block", { method: "claim", fromClass: "BlockObject" }],
    ["answer of the Pool", { method: "claim", fromClass: "PoolObject" }],
  ] as const)(
    "I6: whose %s is lost has its blocks in the end, and the Pool lists no other",
    async (_which, lost) => {
      await burst(40);
      scene.world.drop(lost);
      const asked = Array.from({ length: 40 }, (_, n) => scene.allocate("a", { handle: `lossy-${n}` }));
      await scene.world.during(Promise.all(asked));
      await scene.world.advance(5_000);
      await oneByOne("a", 40, 1);
      await scene.world.advance(10_000);
      const rows = await rowsOf("a");
      for (const row of rows) expect(row).toMatch("confirmed");
      expect(await listed()).toEqual(rows);
    },
  );

  test("does not wait for the one block of several that hangs", async () => {
    await burst(40);
    scene.world.delay({ method: "claim", kind: "request", toClass: "BlockObject" }, 1_000, 1);
    let served = 0;
    for (let n = 0; n < 24; n += 1) {
      void scene.allocate("a", { handle: `more-${n}` }).then(({ kind }) => {
        if (kind === "ok") served += 1;
      });
      await scene.world.advance(7);
    }
    await scene.world.advance(200);
    expect(served).toBe(24);
  });
});
