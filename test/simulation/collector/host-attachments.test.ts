/**
 * What a container runtime calls valid, as evidence: per network, and what each handle is answered.
 */
import { expect, test } from "vitest";
import { HOST_A } from "../histories/stage.ts";
import { MINUTE, type Stage, staged } from "./host-stage.ts";

const BLOCK = "10.0.0.0/26";

async function collected(stage: Stage, validHandles: readonly string[], network = "net", more = {}) {
  const request = { host: "a", network, validHandles, ...more };
  const { ports } = stage.scene.deployed;
  return await stage.world.during(ports.host("a").collectAttachments(request));
}

test("I11: an attachment that is not valid is a candidate, then held, then released; others are left alone", async () => {
  const stage = await staged();
  for (const pod of ["lives", "dead"]) await stage.pod("a", pod);
  await stage.pod("a", "foreign", { handle: "other.foreign" });
  await stage.world.during(stage.scene.allocate("a", { handle: "net.bare", v4: 1 }));
  await stage.world.advance(3 * MINUTE);
  const results = async () => {
    const answer = await collected(stage, ["net.lives"]);
    if (!answer.ok) throw new Error(answer.error.code);
    return answer.value.results.map(({ handle, outcome, reason }) => [handle, outcome, reason]);
  };
  expect(await results()).toEqual([
    ["net.dead", "candidate", "grace_period"],
    ["net.bare", "candidate", "grace_period"],
  ]);
  await stage.world.advance(11 * MINUTE);
  expect(await results()).toEqual([
    ["net.dead", "held", "awaiting_recheck"],
    ["net.bare", "held", "awaiting_recheck"],
  ]);
  // A copy of it that comes at once counts no second time, over a crash too.
  stage.world.evict(HOST_A);
  await stage.world.advance(1_000);
  expect(await results()).toHaveLength(2);
  expect(await stage.held(BLOCK)).toHaveLength(4);
  await stage.world.advance(3 * MINUTE);
  expect(await results()).toEqual([
    ["net.dead", "released", undefined],
    ["net.bare", "released", undefined],
  ]);
  expect(await stage.held(BLOCK)).toEqual(["10.0.0.0 net.lives", "10.0.0.2 other.foreign"]);
  expect(await results()).toEqual([]);
});

test("F32: a copy of a request is no third list, though the host's clock was set ahead before it came", async () => {
  const stage = await staged();
  await stage.pod("a", "dead");
  await stage.world.advance(3 * MINUTE);
  await collected(stage, [], "net", { arrivedAt: stage.world.now });
  await stage.world.advance(11 * MINUTE);
  const second = { arrivedAt: stage.world.now };
  await collected(stage, [], "net", second);
  stage.world.setClock(HOST_A, 3 * MINUTE);
  for (const isAfterCrash of [false, true]) {
    if (isAfterCrash) stage.world.evict(HOST_A);
    await collected(stage, [], "net", second);
    expect(await stage.leaks("a")).toEqual(["10.0.0.0 confirmed awaiting_recheck"]);
  }
  stage.world.setClock(HOST_A, 0);
  await stage.world.advance(3 * MINUTE);
  await collected(stage, [], "net", { arrivedAt: stage.world.now });
  expect(await stage.held(BLOCK)).toEqual([]);
});

test("I11: what was handed out after the clock was set back is not absent by a list from before", async () => {
  const stage = await staged();
  await stage.pod("a", "first");
  await stage.world.advance(3 * MINUTE);
  await collected(stage, ["net.first"]);
  // All objects run on one machine.
  for (const name of stage.world.objectNames) stage.world.setClock(name, -3 * MINUTE);
  await stage.pod("a", "second");
  stage.world.evict(HOST_A);
  await stage.world.advance(3 * MINUTE);
  await stage.reported("a", ["first"], { complete: false });
  expect(await stage.leaks("a")).toEqual([]);
  await collected(stage, ["net.first"]);
  expect(await stage.leaks("a")).toEqual(["10.0.0.1 candidate grace_period"]);
});

test("I11: a list from before the clock was set back is not later than the first one after", async () => {
  const stage = await staged();
  await stage.pod("a", "dead");
  await stage.world.advance(13 * MINUTE);
  await stage.reported("a", ["dead"]);
  await collected(stage, []);
  for (const name of stage.world.objectNames) stage.world.setClock(name, -11 * MINUTE);
  await stage.reported("a", []);
  await stage.world.advance(11 * MINUTE + 1_000);
  await stage.reported("a", [], { complete: false });
  expect(await stage.leaks("a")).toEqual(["10.0.0.0 candidate evidence_stale"]);
});

test("an attachment that was made less than two minutes before is held, and says why", async () => {
  const stage = await staged();
  await stage.pod("a", "young");
  expect(await collected(stage, [])).toMatchObject({
    ok: true,
    value: {
      released: 0,
      held: 1,
      results: [{ handle: "net.young", outcome: "held", reason: "allocated_less_than_120_s_ago" }],
    },
  });
});

test("I11: what the agent goes on to report is kept, though the runtime does not name it", async () => {
  const stage = await staged();
  await stage.pod("a", "lives");
  for (const pauseMs of [3, 4, 4, 4, 3, 3]) {
    await stage.world.advance(pauseMs * MINUTE);
    await stage.reported("a", ["lives"]);
    await collected(stage, []);
  }
  expect(await stage.held(BLOCK)).toHaveLength(1);
  expect(await stage.leaks("a")).toEqual([]);
});

test("I11: life that a report cut short told of is not forgotten with the next: what was absent before begins anew", async () => {
  const stage = await staged();
  await stage.pod("a", "lives");
  await stage.world.advance(3 * MINUTE);
  await collected(stage, []);
  expect(await stage.leaks("a")).toEqual(["10.0.0.0 candidate grace_period"]);
  await stage.world.advance(MINUTE);
  await stage.reported("a", ["lives"], { complete: false });
  expect(await stage.leaks("a")).toEqual([]);
  await stage.world.advance(MINUTE);
  await stage.reported("a", [], { complete: false });
  expect(await stage.leaks("a")).toEqual([]);
  stage.world.evict(HOST_A);
  await stage.reported("a", [], { complete: false });
  expect(await stage.leaks("a")).toEqual([]);
  await collected(stage, []);
  expect(await stage.leaks("a")).toEqual(["10.0.0.0 candidate grace_period"]);
});

test("a host that nobody registered is told so, and nothing is stored", async () => {
  const stage = await staged();
  const { ports } = stage.scene.deployed;
  const request = { host: "z", network: "net", validHandles: [] };
  expect(await stage.world.during(ports.host("z").collectAttachments(request))).toMatchObject({
    error: { code: "host_unknown" },
  });
  expect(stage.world.rows("host:v1:default:z", "SELECT name FROM sqlite_master")).toEqual([]);
});
