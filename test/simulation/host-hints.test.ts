/**
 * What a Host asks because it does not know: bounded however many blocks it has.
 * May import: the simulation, src.
 */
import { expect, test } from "vitest";
import { hostObjectName } from "../../src/core/ids.ts";
import { Scene, type SceneOptions } from "../support/simulation/scene.ts";

let scene: Scene;

/** One host whose blocks of four addresses are all full. */
async function full(blocks: number, options: SceneOptions = {}): Promise<void> {
  const pools = { default: { cidr: "10.0.0.0/23", blockSize: 30 } };
  const config = { strictAffinity: true, maxBlocksPerHost: 100 };
  scene = await Scene.open({ hosts: ["a"], pools, config, settings: { claimAheadMs: 0 }, ...options });
  for (let n = 0; n < blocks * 4; n += 1) await allocate(`full-${n}`);
}

async function allocate(handle: string) {
  const ended = await scene.world.during(scene.allocate("a", { handle }));
  if (ended.kind !== "ok") throw new Error(JSON.stringify(ended));
  return ended;
}

/** Calls of one allocation, without what is told to directories, and rows of the index. */
async function costOf(handle: string) {
  const mark = scene.world.counters.read();
  const { addresses } = await allocate(handle);
  const { calls, callsTotal, rows } = scene.world.counters.since(mark);
  const told = calls["HostObject>PoolObject.report"] ?? 0;
  const asked = calls["HostObject>BlockObject.describe"] ?? 0;
  const lease = calls["HostObject>ClusterObject.lease"] ?? 0;
  const claims = calls["HostObject>BlockObject.claim"] ?? 0;
  const index = rows["handle-index:v1:default:0"] ?? 0;
  return { calls: callsTotal - told - lease, asked, claims, index, block: addresses[0]?.block };
}

const STEADY_CALLS = 3;

test.each([8, 64])(
  "a claim of a host with %i full blocks, unheard of for long, costs at most 6 calls",
  async (blocks) => {
    await full(blocks);
    await scene.world.advance(3_600_000);
    const first = await costOf("first");
    expect(first).toMatchObject({ claims: 1, asked: 2 });
    expect(first.calls - STEADY_CALLS).toBeLessThanOrEqual(6);
    for (let n = 0; n < 3; n += 1) await allocate(`more-${n}`);
    // The next claim soon after asks nobody.
    expect(await costOf("second")).toMatchObject({ claims: 1, asked: 0, calls: STEADY_CALLS + 3 });
  },
);

test.each([2, 8, 64])(
  "after a wake a host with %i blocks, one not full, asks its Pool, and tries no full one",
  async (blocks) => {
    await full(blocks - 1);
    const { addresses } = await allocate("last");
    await scene.world.advance(10_000);
    scene.world.evict(hostObjectName("a"));
    const woken = await costOf("woken");
    expect(woken).toEqual({
      calls: STEADY_CALLS + 1,
      asked: 0,
      claims: 0,
      index: 1,
      block: addresses[0]?.block,
    });
    expect(await costOf("steady")).toMatchObject({ calls: STEADY_CALLS, index: 1 });
  },
);

test("a Pool that does not answer after a wake costs tries, not the request", async () => {
  await full(4);
  await scene.world.advance(10_000);
  scene.world.evict(hostObjectName("a"));
  scene.world.drop({ method: "list" }, { times: 2, loss: "error" });
  expect((await costOf("woken")).claims).toBe(1);
});

test("when a reservation has gone, the own block that it filled is asked before another is claimed", async () => {
  await full(0);
  const { cluster } = scene.deployed.ports;
  const { block } = await costOf("first");
  const [base = ""] = (block ?? "").split("/");
  const spec = { reservedCIDRs: [base.replace(/\d+$/, (last) => `${Number(last) + 2}/31`)] };
  const written = await scene.world.during(cluster().putReservation({ name: "half", spec, by: "test" }));
  expect(written.ok).toBe(true);
  expect(await costOf("second")).toMatchObject({ block, claims: 0 });
  expect(await costOf("elsewhere")).toMatchObject({ claims: 1 });
  for (let n = 0; n < 3; n += 1) await allocate(`elsewhere-${n}`);
  await scene.world.advance(2_000);
  await scene.world.during(cluster().deleteReservation({ name: "half", by: "test" }));
  expect(await costOf("again here")).toMatchObject({ block, claims: 0 });
});

/** The blocks that the Pool calls the host's, and those of the host's own rows. */
async function ownedByBoth() {
  const { ports } = scene.deployed;
  const { rows } = await scene.world.during(ports.host("a").affinities({ host: "a" }));
  const [{ pool = "", incarnation = 0 } = {}] = rows;
  const target = { pool, incarnation, cidr: "10.0.0.0/23", blockSize: 30 };
  const question = { ...target, owner: "a", limit: 1_000 };
  const { entries } = await scene.world.during(ports.pool(pool, incarnation).list(question));
  return { rows: rows.map(({ block }) => block).sort(), entries: entries.map(({ block }) => block).sort() };
}

test("a claim names the blocks of its host only after one whose end is not known, and now and then", async () => {
  await full(1);
  const named: number[] = [];
  for (let n = 0; n < 70; n += 1) {
    const claim = scene.world.hold({ method: "claim", toClass: "PoolObject", kind: "request" });
    const asked = scene.allocate("a", { handle: `next-${n}`, v4: 4 });
    await scene.world.advance(50);
    const [message] = claim.messages;
    named.push((message?.args[0] as { known: string[] } | undefined)?.known.length ?? -1);
    claim.release();
    await scene.world.during(asked);
  }
  expect(named.filter((count) => count > 0)).toEqual([64]);
  expect(named.slice(0, 10)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
});

test.each([
  ["question to the Pool", { method: "claim", toClass: "PoolObject" }],
  ["answer of the Pool", { method: "claim", fromClass: "PoolObject" }],
  ["question to the block", { method: "claim", toClass: "BlockObject" }],
  ["answer of the block", { method: "claim", fromClass: "BlockObject" }],
] as const)(
  "I6: a claim whose %s is lost leaves no block that only the Pool calls the host's",
  async (_which, lost) => {
    await full(3);
    scene.world.drop(lost);
    expect((await scene.world.during(scene.allocate("a", { handle: "lost" }))).kind).not.toBe("ok");
    await allocate("next");
    const { rows, entries } = await ownedByBoth();
    expect(rows).toHaveLength(4);
    expect(entries).toEqual(rows);
  },
);
