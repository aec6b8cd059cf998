/** Requests that a Worker has gathered, in a Host: what they cost, and that none waits for another. */
import { afterEach, describe, expect, test } from "vitest";
import { HostTogether } from "../../durable-objects/host-together.ts";
import { hostObjectName } from "../../src/core/ids.ts";
import type { HostAllocateRequest, TogetherOutcome } from "../../src/rpc/host.ts";
import { Scene } from "../support/simulation/scene.ts";

let scene: Scene;
afterEach(() => scene?.world.report());

const POOLS = {
  p: { cidr: "10.0.0.0/22", blockSize: 24 },
  q: { cidr: "10.1.0.0/24", blockSize: 26 },
};

function request(handle: string, pool = "p"): HostAllocateRequest {
  return {
    host: "a",
    handle,
    key: `key-${handle}`,
    fingerprint: pool,
    use: "Workload",
    ipv4: { count: 1, pools: [pool] },
    attributes: { node: "a" },
    partial: false,
    leakCollection: "auto",
  };
}

const requests = (count: number) => Array.from({ length: count }, (_, number) => request(`h${number}`));
const send = (items: readonly HostAllocateRequest[]) =>
  scene.deployed.ports.host("a").allocateTogether({ host: "a", items });

function addressOf(outcome: TogetherOutcome | undefined): string | undefined {
  if (outcome?.kind !== "done" || !outcome.outcome.ok) return undefined;
  return outcome.outcome.value.addresses[0]?.record.address;
}

async function open(): Promise<void> {
  scene = await Scene.open({ pools: POOLS });
  for (const pool of ["p", "q"]) await scene.world.during(send([request(`first-${pool}`, pool)]));
}

test("one call each of Host, index and block for 64 requests, one commit each, one row per request", async () => {
  await open();
  const mark = scene.world.counters.read();
  const { outcomes } = await scene.world.during(send(requests(64)));
  expect(new Set(outcomes.map(addressOf)).size).toBe(64);
  const { calls, callsTotal, rowsTotal } = scene.world.counters.since(mark);
  expect(callsTotal, JSON.stringify(calls)).toBe(3);
  expect(rowsTotal).toBe(128);
});

/** The name of the object of the first block of a range. */
function blockIn(range: string): string {
  const name = scene.world.objectNames.find((one) => one.includes(`block:v1:default:${range}`));
  if (name === undefined) throw new Error(`no block of ${range} among ${scene.world.objectNames.join(" ")}`);
  return name;
}

describe("no request waits for another", () => {
  /** Sends requests, and notes how long their answer takes. */
  async function timed(items: readonly HostAllocateRequest[]) {
    const begun = scene.world.now;
    let took = 0;
    const { outcomes } = await scene.world.during(
      send(items).finally(() => {
        took = scene.world.now - begun;
      }),
    );
    return { outcomes, took };
  }

  /** Ten requests of one pool, and one whose block takes so long. */
  async function withSlow(ms: number) {
    scene.world.delay({ kind: "request", method: "allocate", to: blockIn("10.1.") }, ms);
    return await timed([...requests(10), request("slow", "q")]);
  }

  function ticketOf(outcome: TogetherOutcome | undefined): string {
    if (outcome?.kind !== "under_way") throw new Error(`it is not under way: ${JSON.stringify(outcome)}`);
    return outcome.ticket;
  }

  const fetch = (ticket: string) =>
    scene.world.during(scene.deployed.ports.host("a").allocated({ host: "a", ticket }));

  test("one whose block takes long is under way, the others are answered at once", async () => {
    await open();
    const { outcomes, took } = await withSlow(1_500);
    expect(took).toBeLessThan(100);
    expect(outcomes.slice(0, 10).map(addressOf)).not.toContain(undefined);
    const ticket = ticketOf(outcomes.at(-1));
    expect(addressOf(await fetch(ticket))).toMatch(/^10\.1\./);
    expect(await fetch(ticket)).toBeUndefined();
  });

  test("I13: where its Host ended meanwhile nobody knows its outcome; its key gives one address", async () => {
    await open();
    const ticket = ticketOf((await withSlow(1_000)).outcomes.at(-1));
    scene.world.evict(hostObjectName("a"));
    await scene.world.advance(3_000);
    expect(await fetch(ticket)).toBeUndefined();
    const { outcomes } = await scene.world.during(send([request("slow", "q")]));
    expect(addressOf(outcomes[0])).toMatch(/^10\.1\./);
    const held = scene.world.rows(blockIn("10.1."), "SELECT * FROM ordinals WHERE state = 'allocated'");
    expect(held).toHaveLength(2);
  });

  test("where all take long all are under way after a second", async () => {
    await open();
    scene.world.delay({ kind: "request", method: "allocate", to: blockIn("10.1.") }, 1_800);
    const { outcomes, took } = await timed([request("x", "q"), request("y", "q")]);
    expect(took).toBeLessThan(1_200);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["under_way", "under_way"]);
    for (const outcome of outcomes) expect(addressOf(await fetch(ticketOf(outcome)))).toMatch(/^10\.1\./);
  });

  test("a defect of one fails that one", async () => {
    await open();
    const broken = {
      ...request("broken"),
      ipv4: { count: 1, pools: [null] },
    } as unknown as HostAllocateRequest;
    const { outcomes } = await scene.world.during(send([broken, ...requests(3)]));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["failed", "done", "done", "done"]);
  });

  test("I1: two with one key in one message get the same address", async () => {
    await open();
    const { outcomes } = await scene.world.during(send([request("twin"), request("twin"), request("other")]));
    const told = await Promise.all(
      outcomes.map(async (one) => addressOf(one.kind === "under_way" ? await fetch(one.ticket) : one)),
    );
    expect(told[0]).toBe(told[1]);
    expect(told[2]).not.toBe(told[0]);
    expect(told).not.toContain(undefined);
  });
});

test("a host that is not registered refuses each", async () => {
  scene = await Scene.open({ pools: POOLS, hosts: [] });
  const { outcomes } = await scene.world.during(send(requests(2)));
  expect(outcomes).toMatchObject([
    { kind: "done", outcome: { error: { code: "host_unknown" } } },
    { kind: "done", outcome: { error: { code: "host_unknown" } } },
  ]);
});

test("an answer holds no more than 128 addresses; who has more is told them by a ticket", async () => {
  const together = new HostTogether({ now: () => 0, sleep: async () => undefined, unique: () => "i" });
  const having = (count: number) =>
    Promise.resolve({ ok: true, value: { addresses: Array.from({ length: count }) } } as never);
  const outcomes = await together.answer([having(500), having(1), having(0)]);
  expect(outcomes.map(({ kind }) => kind)).toEqual(["done", "under_way", "done"]);
  const [, second] = await together.answer([having(100), having(28), having(1)]);
  expect(second?.kind).toBe("done");
  const { ticket } = outcomes[1] as { ticket: string };
  expect(await together.fetch(ticket)).toMatchObject({ kind: "done" });
});

test("outcomes that nobody fetches are forgotten after half a minute", async () => {
  let now = 0;
  const never = new Promise<never>(() => undefined);
  const sleep = async () => undefined;
  const together = new HostTogether({ now: () => now, sleep, unique: () => "instance" });
  const ticketOfNext = async () => (await together.answer([never]))[0] as { ticket: string };
  const done = Promise.resolve({ ok: true, value: { addresses: [] } } as never);
  const first = await ticketOfNext();
  now = 31_000;
  await ticketOfNext();
  expect(await together.fetch(first.ticket)).toBeUndefined();
  expect((await together.answer([done]))[0]?.kind).toBe("done");
});
