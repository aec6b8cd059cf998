/**
 * The hot path on the simulated platform: lanes with group commit, limits per handle, both families.
 * May import: the simulation, durable-objects, src.
 */
import { afterEach, describe, expect, test } from "vitest";
import { Lane } from "../../durable-objects/lane.ts";
import { handleIndexObjectName } from "../../src/core/ids.ts";
import type { Result } from "../../src/core/result.ts";
import type { CallOutcome } from "../../src/platform/call.ts";
import type { AllocateRefusal, HostAllocateAnswer, HostAllocateRequest } from "../../src/rpc/host.ts";
import { blockObject } from "../support/simulation/deployment.ts";
import { Scene } from "../support/simulation/scene.ts";

type Answer = Result<HostAllocateAnswer, AllocateRefusal>;

let scene: Scene;
afterEach(() => scene?.world.report());

/** A request of which only what matters is said. */
function request(host: string, handle: string, more: Partial<HostAllocateRequest> = {}): HostAllocateRequest {
  return {
    host,
    handle,
    key: `key-${handle}`,
    fingerprint: "f",
    use: "Workload",
    ipv4: { count: 1 },
    attributes: { node: host },
    partial: false,
    leakCollection: "auto",
    ...more,
  };
}

function allocate(wish: HostAllocateRequest): Promise<Answer> {
  return scene.deployed.ports.host(wish.host).allocate(wish);
}

async function answered(wish: HostAllocateRequest): Promise<HostAllocateAnswer> {
  const answer = await scene.world.during(allocate(wish));
  if (!answer.ok) throw new Error(JSON.stringify(answer.error));
  return answer.value;
}

const addressesOf = (answer: HostAllocateAnswer): string[] =>
  answer.addresses.map(({ record }) => record.address);

describe("lanes", () => {
  test("one host, 64 requests at once: one commit per batch and lane, not per request", async () => {
    scene = await Scene.open({ pools: { default: { cidr: "10.0.0.0/20", blockSize: 24 } } });
    await answered(request("a", "first"));
    const mark = scene.world.counters.read();
    const wishes = Array.from({ length: 64 }, (_, n) => request("a", `h${n}`));
    const answers = await scene.world.during(Promise.all(wishes.map(allocate)));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(64);
    const { calls, commits, rows } = scene.world.counters.since(mark);
    const reserves = calls["HostObject>HandleIndexObject.reserve"] ?? 0;
    const allocates = calls["HostObject>BlockObject.allocate"] ?? 0;
    expect(reserves).toBeLessThanOrEqual(8);
    expect(allocates).toBeLessThanOrEqual(8);
    const index = handleIndexObjectName(0);
    expect(commits[index]).toBeLessThanOrEqual(reserves);
    expect(rows[index]).toBe(64);
    const distinct = new Set(answers.flatMap((answer) => (answer.ok ? addressesOf(answer.value) : [])));
    expect(distinct.size).toBe(64);
  });

  test("with nothing in flight a request costs three calls and two rows", async () => {
    scene = await Scene.open();
    await answered(request("a", "first"));
    const mark = scene.world.counters.read();
    await answered(request("a", "second"));
    const { callsTotal, rowsTotal } = scene.world.counters.since(mark);
    expect(callsTotal).toBe(3);
    expect(rowsTotal).toBe(2);
  });

  test("calls of many hosts to one shard share its commits", async () => {
    const hosts = Array.from({ length: 16 }, (_, n) => `host-${n}`);
    scene = await Scene.open({ hosts, pools: { default: { cidr: "10.0.0.0/16", blockSize: 26 } } });
    await scene.world.during(Promise.all(hosts.map((host) => allocate(request(host, `first-${host}`)))));
    const mark = scene.world.counters.read();
    await scene.world.during(Promise.all(hosts.map((host) => allocate(request(host, `second-${host}`)))));
    const { commits, rows } = scene.world.counters.since(mark);
    expect(rows[handleIndexObjectName(0)]).toBe(16);
    expect(commits[handleIndexObjectName(0)]).toBeLessThan(8);
  });

  test("a slow block delays only its own lane", async () => {
    scene = await Scene.open({ hosts: ["a"], pools: { default: { cidr: "10.0.0.0/24", blockSize: 30 } } });
    await scene.world.during(exactly("10.0.0.0", "h0"));
    for (let n = 1; n < 4; n += 1) await answered(request("a", `h${n}`));
    const second = addressesOf(await answered(request("a", "h4")))[0];
    expect(second?.startsWith("10.0.0.")).toBe(true);
    // Room in the first block again; then it stops answering.
    await scene.world.during(scene.release("h0"));
    const silent = scene.world.hold({ to: blockObject("10.0.0.0/30"), method: "allocate" });
    const ofBlocks = (await scene.world.during(scene.deployed.ports.host("a").affinities({ host: "a" })))
      .rows;
    expect(ofBlocks.map(({ block }) => block)).toContain("10.0.0.0/30");
    const slow = exactly("10.0.0.0", "slow");
    await scene.world.deliver();
    expect(silent.messages).toHaveLength(1);
    const quick = exactly(`${second?.replace(/[0-9]+$/, "")}${Number(second?.split(".")[3]) + 1}`, "quick");
    let isQuickOver = false;
    const watched = quick.then(() => {
      isQuickOver = true;
    });
    await scene.world.deliver();
    expect(isQuickOver).toBe(true);
    silent.release();
    expect(await scene.world.during(slow)).toMatchObject({ ok: true });
    await watched;
  });
});

/** An exact assignment by host a: it names its block. */
function exactly(address: string, handle: string) {
  const rest = { use: "Workload", attributes: {}, leakCollection: "auto" } as const;
  const wish = { host: "a", handle, address, key: `key-${handle}`, fingerprint: "f", ...rest };
  return scene.deployed.ports.host("a").assign(wish);
}

test("a request that comes while another one claims waits for that block, and takes no other", async () => {
  scene = await Scene.open();
  const held = scene.world.hold({ toClass: "BlockObject", method: "claim", kind: "request" });
  const first = allocate(request("a", "first"));
  await scene.world.deliver();
  expect(held.messages).toHaveLength(1);
  const second = allocate(request("a", "second"));
  await scene.world.deliver();
  held.release();
  const answers = await scene.world.during(Promise.all([first, second]));
  expect(answers.map(({ ok }) => ok)).toEqual([true, true]);
  const { rows } = await scene.world.during(scene.deployed.ports.host("a").affinities({ host: "a" }));
  expect(rows.map(({ state }) => state)).toEqual(["confirmed"]);
});

describe("a lane by itself", () => {
  const limits = { inFlightMax: 1, batchMax: 8 };
  const answer = <T>(value: T): CallOutcome<T> => ({ kind: "answered", value });

  test("elements that come together leave together; later ones wait for the batch under way", async () => {
    const batches: number[][] = [];
    const lane = new Lane<number, number>(async (items) => {
      batches.push([...items]);
      await Promise.resolve();
      return answer(items.map((item) => item * 10));
    }, limits);
    const push = (item: number) => lane.push(() => ({ item }));
    const early = [push(1), push(2)];
    await Promise.resolve();
    const outcomes = await Promise.all([...early, push(3), push(4)]);
    expect(outcomes).toEqual([10, 20, 30, 40].map(answer));
    expect(batches).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(lane.isIdle).toBe(true);
  });

  test("what an element is, is decided when its batch leaves", async () => {
    let now = 1;
    const lane = new Lane<number, number, string>(async (items) => answer([...items]), limits);
    const sent = lane.push(() => ({ item: now }));
    const skipped = lane.push(() => (now > 1 ? { skip: "too late" } : { item: 0 }));
    now = 2;
    expect(await sent).toEqual(answer(2));
    expect(await skipped).toEqual({ kind: "skipped", skip: "too late" });
  });

  test("an element that fails its batch fails alone: the others go once more, one by one", async () => {
    const batches: number[][] = [];
    const lane = new Lane<number, number>(async (items) => {
      batches.push([...items]);
      if (items.includes(13)) return { kind: "failed", failure: "unknown", cause: new Error("poison") };
      return answer([...items]);
    }, limits);
    const outcomes = await Promise.all([7, 13, 8].map((item) => lane.push(() => ({ item }))));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["answered", "failed", "answered"]);
    expect(batches).toEqual([[7, 13, 8], [7], [13], [8]]);
  });

  test("an element that cannot be made fails alone, and the lane goes on", async () => {
    const lane = new Lane<number, number>(async (items) => answer([...items]), limits);
    const broken = lane.push(() => {
      throw new Error("no item");
    });
    const whole = lane.push(() => ({ item: 1 }));
    await expect(broken).rejects.toThrow("no item");
    expect(await whole).toEqual(answer(1));
    expect(await lane.push(() => ({ item: 2 }))).toEqual(answer(2));
  });

  test("an overloaded object is not asked again", async () => {
    let calls = 0;
    const lane = new Lane<number, number>(async () => {
      calls += 1;
      return { kind: "failed", failure: "overloaded", cause: undefined };
    }, limits);
    const outcomes = await Promise.all([1, 2].map((item) => lane.push(() => ({ item }))));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["failed", "failed"]);
    expect(calls).toBe(1);
  });
});

describe("limits per handle", () => {
  const limited = (host: string, key: string, more: Partial<HostAllocateRequest> = {}) =>
    request(host, "vm", { key, maxPerHandle: 1, ...more });

  test("I9: 20 requests from two hosts at once never get the handle above its limit", async () => {
    scene = await Scene.open();
    const wishes = Array.from({ length: 20 }, (_, n) => limited(n % 2 === 0 ? "a" : "b", `key-${n}`));
    const answers = await scene.world.during(Promise.all(wishes.map(allocate)));
    const got = new Set(answers.flatMap((answer) => (answer.ok ? addressesOf(answer.value) : [])));
    expect(got.size).toBe(1);
    const refused = answers.flatMap((answer) => (answer.ok ? [] : [answer.error.code]));
    expect(new Set(refused).size === 0 || refused.every((code) => code === "in_progress")).toBe(true);
    await scene.world.advance(3_000);
    const later = await answered(limited("b", "key-later"));
    expect(addressesOf(later)).toEqual([...got]);
    expect(later.reused).toBe(true);
  });

  test("at the limit the address that is there is the answer, with a new touch and the owner slot written", async () => {
    scene = await Scene.open();
    const first = await answered(limited("a", "key-one"));
    expect(first.reused).toBe(false);
    const attributes = { pod: "target", node: "b" };
    const again = await answered(limited("b", "key-two", { ownerSlot: "alternate", attributes }));
    const [before, after] = [first.addresses[0]?.record, again.addresses[0]?.record];
    expect(again.reused).toBe(true);
    expect(after).toMatchObject({ address: before?.address, sequenceNumber: before?.sequenceNumber });
    expect(after?.alternateAttributes).toEqual(attributes);
    expect(after?.attributes).toEqual({ node: "a" });
    expect(after?.touch).toBeGreaterThan(before?.touch ?? 0);
  });

  test("without an owner slot the attributes of what is reused stay", async () => {
    scene = await Scene.open();
    await answered(limited("a", "key-one"));
    const again = await answered(limited("a", "key-two", { attributes: { pod: "other" } }));
    expect(again.addresses[0]?.record.attributes).toEqual({ node: "a" });
  });

  test("fewer held than asked, and no room under the limit: refused with what is held", async () => {
    scene = await Scene.open();
    await answered(limited("a", "key-one", { maxPerHandle: 3, ipv4: { count: 2 } }));
    const answer = await scene.world.during(
      allocate(limited("a", "key-two", { maxPerHandle: 4, ipv4: { count: 3 } })),
    );
    expect(answer).toMatchObject({
      ok: false,
      error: { code: "handle_limit_reached", evidence: { handle: "vm", limit: 4, allocated: 2, family: 4 } },
    });
  });

  test("an exact assignment of the address that is there is the answer, with a new touch", async () => {
    scene = await Scene.open();
    const first = (await answered(limited("a", "key-one"))).addresses[0]?.record;
    const rest = { use: "Workload", attributes: {}, leakCollection: "auto", fingerprint: "f" } as const;
    const address = first?.address ?? "";
    const wish = { host: "a", handle: "vm", key: "key-two", address, maxPerHandle: 1, ...rest };
    const again = await scene.world.during(scene.deployed.ports.host("a").assign(wish));
    expect(again).toMatchObject({ ok: true, value: { created: false, address: { record: { address } } } });
    if (again.ok) expect(again.value.address.record.touch).toBeGreaterThan(first?.touch ?? 0);
    const other = {
      ...wish,
      key: "key-three",
      address: first?.block.replace(/\/.*/, "").replace(/[0-9]+$/, "9") ?? "",
    };
    const refused = await scene.world.during(scene.deployed.ports.host("a").assign(other));
    expect(refused).toMatchObject({ ok: false, error: { code: "handle_limit_reached" } });
  });

  test("released addresses make room under the limit", async () => {
    scene = await Scene.open();
    const first = await answered(limited("a", "key-one"));
    const record = first.addresses[0]?.record;
    if (record === undefined) throw new Error("nothing was allocated");
    const guard = { address: record.address, sequenceNumber: record.sequenceNumber };
    await scene.world.during(scene.releaseAddress(record.block, guard));
    const next = await answered(limited("b", "key-two"));
    expect(next.reused).toBe(false);
    expect(next.addresses).toHaveLength(1);
  });

  test("a limit counts each family by itself", async () => {
    scene = await Scene.open({ pools: DUAL });
    await answered(limited("a", "key-one"));
    const both = await answered(limited("a", "key-two", { ipv6: { count: 1 } }));
    expect(both.addresses).toHaveLength(2);
    expect(both.reused).toBe(true);
  });
});

const DUAL = {
  v4: { cidr: "10.0.0.0/24", blockSize: 26 },
  v6: { cidr: "fd00::/120", blockSize: 122 },
};

/** The block that host a owns. */
async function ownBlock(): Promise<string> {
  const { rows } = await scene.world.during(scene.deployed.ports.host("a").affinities({ host: "a" }));
  return rows[0]?.block ?? "";
}

describe("both families", () => {
  test("one index call and both blocks at the same time: four calls, four rows", async () => {
    scene = await Scene.open({ pools: DUAL });
    const both = { ipv6: { count: 1 } };
    await answered(request("a", "first", both));
    const mark = scene.world.counters.read();
    const answer = await answered(request("a", "second", both));
    expect(answer.addresses.map(({ record }) => record.family)).toEqual([4, 6]);
    const { calls, callsTotal, rowsTotal } = scene.world.counters.since(mark);
    expect(calls["HostObject>HandleIndexObject.reserve"]).toBe(1);
    expect(callsTotal).toBe(4);
    expect(rowsTotal).toBe(4);
  });

  test("I15, I12: one family full: neither is held, and what was undone is free at once", async () => {
    const pools = { ...DUAL, v6: { cidr: "fd00::/128", blockSize: 128 } };
    scene = await Scene.open({ pools, config: { ipCooldownSeconds: 600 } });
    await answered(request("a", "taker", { ipv6: { count: 1 } }));
    const refused = await scene.world.during(allocate(request("b", "late", { ipv6: { count: 1 } })));
    expect(refused).toMatchObject({
      ok: false,
      error: { evidence: { family: 6, requested: 1, allocated: 0 } },
    });
    const next = await answered(request("b", "next"));
    const block = next.addresses[0]?.record.block ?? "";
    const policy = { reserved: [], cooldownMs: 600_000 };
    const view = await scene.world.during(
      scene.deployed.ports.block(block).describe({ block, policy, records: "all" }),
    );
    expect(view.records.map(({ handle }) => handle)).toEqual(["next"]);
    expect(view.counts.cooling).toBe(0);
  });

  test("partial: what there is, and what was short; the same again when it is repeated", async () => {
    const pools = { ...DUAL, v6: { cidr: "fd00::/128", blockSize: 128 } };
    scene = await Scene.open({ pools });
    await answered(request("a", "taker", { ipv6: { count: 1 } }));
    const wish = request("b", "part", { ipv6: { count: 1 }, partial: true });
    const first = await answered(wish);
    expect(first.addresses.map(({ record }) => record.family)).toEqual([4]);
    expect(first.shortfall).toMatchObject([{ family: 6, requested: 1, allocated: 0 }]);
    await scene.world.during(scene.release("taker"));
    const second = await answered(wish);
    expect(addressesOf(second)).toEqual(addressesOf(first));
    expect(second.replayed).toBe(true);
    expect(second.shortfall).toMatchObject([{ family: 6, requested: 1, allocated: 0 }]);
  });

  test("I15: more than there is, not partial: nothing is held, nothing cools", async () => {
    scene = await Scene.open({
      pools: { default: { cidr: "10.0.0.0/29", blockSize: 30 } },
      config: { ipCooldownSeconds: 600 },
    });
    const refused = await scene.world.during(allocate(request("a", "nine", { ipv4: { count: 9 } })));
    expect(refused).toMatchObject({ ok: false, error: { evidence: { requested: 9, allocated: 8 } } });
    expect((await answered(request("a", "eight", { ipv4: { count: 8 } }))).addresses).toHaveLength(8);
  });

  test("I4, I13: who waited for another with its key is not told what was released before it began", async () => {
    scene = await Scene.open();
    await answered(request("a", "warm"));
    const slow = scene.world.hold({
      method: "allocate",
      kind: "answer",
      from: blockObject(await ownBlock()),
    });
    const first = allocate(request("a", "h", { key: "same" }));
    await scene.world.deliver();
    expect(slow.messages).toHaveLength(1);
    const released = scene.release("h");
    await scene.world.deliver();
    expect(await released).toEqual({ kind: "ok" });
    const second = allocate(request("a", "h", { key: "same" }));
    await scene.world.deliver();
    slow.release();
    expect(await scene.world.during(first)).toMatchObject({ ok: true });
    expect(await scene.world.during(second)).toMatchObject({
      ok: false,
      error: { code: "idempotency_key_released" },
    });
  });

  test("I13: two requests with one key in one Host get the same; another body is refused", async () => {
    scene = await Scene.open();
    const wish = request("a", "h", { key: "same" });
    const [one, two, other] = await scene.world.during(
      Promise.all([allocate(wish), allocate(wish), allocate({ ...wish, fingerprint: "another" })]),
    );
    if (!one.ok || !two.ok) throw new Error("both are answered");
    expect(addressesOf(two.value)).toEqual(addressesOf(one.value));
    expect([one.value.replayed, two.value.replayed]).toEqual([false, true]);
    expect(other).toMatchObject({ ok: false, error: { code: "idempotency_key_reused" } });
  });

  test("I13: a spent key is told as spent, though another body with it is under way", async () => {
    scene = await Scene.open();
    const wish = request("a", "h", { key: "same" });
    expect(await scene.world.during(allocate(wish))).toMatchObject({ ok: true });
    expect(await scene.world.during(scene.release("h"))).toMatchObject({ kind: "ok" });
    const [other, again] = await scene.world.during(
      Promise.all([allocate({ ...wish, fingerprint: "another" }), allocate(wish)]),
    );
    expect(other).toMatchObject({ ok: false, error: { code: "idempotency_key_reused" } });
    expect(again).toMatchObject({ ok: false, error: { code: "idempotency_key_released" } });
  });
});

describe("who does not answer is not taken for empty", () => {
  test("a Pool that fails gives 503, not pool_exhausted", async () => {
    scene = await Scene.open();
    scene.world.refuse({ toClass: "PoolObject", kind: "request", method: "claim" }, "overloaded", 1);
    const answer = await scene.world.during(allocate(request("a", "h")));
    expect(answer).toMatchObject({ ok: false, error: { code: "overloaded", evidence: { where: "pool" } } });
    expect(await scene.world.during(allocate(request("a", "h")))).toMatchObject({ ok: true });
  });

  test.each(["HostObject", "BlockObject"])(
    "an owner asked for its empty block (%s fails): 503",
    async (to) => {
      const pools = { default: { cidr: "10.0.0.0/26", blockSize: 26 } };
      scene = await Scene.open({ pools, config: { strictAffinity: true } });
      await answered(request("b", "first"));
      await scene.world.during(scene.release("first"));
      await scene.world.advance(61_000);
      const method = to === "HostObject" ? "releaseBlock" : "releaseAffinity";
      const lost = scene.world.hold({ fromClass: "HostObject", toClass: to, method, kind: "request" });
      const answer = await scene.world.during(allocate(request("a", "h")));
      expect(answer).toMatchObject({ ok: false, error: { code: "overloaded", evidence: { where: "host" } } });
      lost.drop();
      expect(await scene.world.during(allocate(request("a", "h")))).toMatchObject({ ok: true });
    },
  );

  test("an owner that never answers for its empty block keeps nobody from borrowing", async () => {
    const pools = { default: { cidr: "10.0.0.0/29", blockSize: 30 } };
    scene = await Scene.open({ pools, hosts: ["a", "b", "c"] });
    for (const host of ["b", "c"]) await answered(request(host, `of-${host}`));
    await scene.world.during(scene.release("of-b"));
    await scene.world.advance(61_000);
    scene.world.refuse({ method: "releaseBlock", kind: "request" }, "reset", 100);
    for (const handle of ["one", "two", "three"]) {
      const answer = await scene.world.during(allocate(request("a", handle)));
      expect(answer).toMatchObject({
        ok: true,
        value: { addresses: [{ record: { blockOwner: expect.stringMatching(/^[bc]$/) } }] },
      });
    }
  });
});

test("a claim without an answer ends the search: the next pool's turn has not come", async () => {
  const pools = { a: { cidr: "11.0.0.0/26", blockSize: 26 }, b: { cidr: "10.0.0.0/26", blockSize: 26 } };
  scene = await Scene.open({ pools });
  scene.world.drop({ fromClass: "BlockObject", method: "claim", kind: "answer" });
  const refused = await scene.world.during(allocate(request("a", "h")));
  expect(refused).toMatchObject({ ok: false, error: { code: "overloaded", evidence: { where: "block" } } });
  const again = await answered(request("a", "h"));
  expect(addressesOf(again)).toEqual(["11.0.0.0"]);
  const { rows } = await scene.world.during(scene.deployed.ports.host("a").affinities({ host: "a" }));
  expect(rows.map(({ block, state }) => ({ block, state }))).toEqual([
    { block: "11.0.0.0/26", state: "confirmed" },
  ]);
});

describe("what was full under an older policy is asked again", () => {
  const pools = { default: { cidr: "10.0.0.0/30", blockSize: 30 } };
  const count = (n: number) => ({ ipv4: { count: n } });

  test("a reservation that goes gives its addresses to borrowers at once", async () => {
    scene = await Scene.open({ pools });
    const { cluster } = scene.deployed.ports;
    const spec = { reservedCIDRs: ["10.0.0.2/31"] };
    await scene.world.during(cluster().putReservation({ name: "half", spec, by: "test" }));
    await answered(request("a", "two", count(2)));
    expect(await scene.world.during(allocate(request("b", "none")))).toMatchObject({ ok: false });
    await scene.world.during(cluster().deleteReservation({ name: "half", by: "test" }));
    expect(addressesOf(await answered(request("b", "some")))).toHaveLength(1);
  });

  test("a cooldown that is shortened frees what it held back, for borrowers and for a claim", async () => {
    scene = await Scene.open({ pools, config: { ipCooldownSeconds: 600 } });
    await answered(request("a", "four", count(4)));
    await scene.world.during(scene.release("four"));
    await scene.world.advance(10_000);
    const refused = await scene.world.during(allocate(request("b", "early")));
    expect(refused).toMatchObject({ ok: false, error: { code: "pool_cooling" } });
    const { cluster } = scene.deployed.ports;
    await scene.world.during(cluster().changeConfig({ patch: { ipCooldownSeconds: 0 }, by: "test" }));
    expect(addressesOf(await answered(request("b", "now")))).toHaveLength(1);
  });

  test("an exact address of a block that drains and has emptied is had at once", async () => {
    scene = await Scene.open({ pools });
    const first = (await answered(request("a", "one"))).addresses[0]?.record;
    const target = { pool: "default", incarnation: 0, cidr: "10.0.0.0/30", blockSize: 30 };
    const block = first?.block ?? "";
    const fresh = await scene.world.during(
      scene.deployed.ports.pool("default", 0).fresh({ ...target, owner: "a", block }),
    );
    if (fresh.kind !== "claim") throw new Error("the block is a's");
    const order = {
      host: "a",
      block,
      pool: "default",
      incarnation: 0,
      mustBeEmpty: false,
      forReclaim: false,
    };
    await scene.world.during(scene.deployed.ports.host("a").releaseBlock({ ...order, epoch: fresh.epoch }));
    await scene.world.during(scene.release("one"));
    const assigned = await scene.world.during(scene.assign("b", "exact", first?.address ?? ""));
    expect(assigned).toMatchObject({ kind: "ok" });
  });
});

test.each(["allocate", "assign"])(
  "I5: who could not enter itself in the directory borrows nothing (%s)",
  async (how) => {
    scene = await Scene.open({ pools: { default: { cidr: "10.0.0.0/30", blockSize: 30 } }, hosts: ["b"] });
    await answered(request("b", "first"));
    const owner = "virtual:new";
    const ask = () =>
      how === "allocate" ? scene.allocate(owner, { handle: "h" }) : scene.assign(owner, "h", "10.0.0.3");
    scene.world.refuse({ method: "enrol", kind: "request" }, "reset", 2);
    expect(await scene.world.during(ask())).toMatchObject({ kind: "refused", code: "overloaded" });
    expect(await scene.world.during(ask())).toMatchObject({ kind: "ok" });
    const { hosts } = await scene.world.during(scene.deployed.ports.cluster().listHosts({ limit: 10 }));
    expect(hosts.map(({ host }) => host)).toEqual(["b", owner]);
  },
);
