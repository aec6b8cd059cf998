/** What a decision of a Block costs, on workerd: rows read and written do not grow with the block. */
import { expect, test } from "vitest";
import type { AllocateItem } from "../../src/rpc/block.ts";
import { now, SETTINGS, stubs } from "../support/objects/deployment.ts";

const policy = { reserved: [] as [number, number][], cooldownMs: 0 };
const BATCH = 64;

/** A claimed block and short ways to ask it; `cost` tells what a piece of work read and wrote. */
async function claimed(block: string) {
  const stub = stubs.block(block);
  const target = { block, pool: "p", incarnation: 0, poolCidr: "10.8.0.0/16" };
  const until = () => now() + SETTINGS.untilMs;
  await stub.claim({ ...target, owner: "a", epoch: 1, until: until(), cooldownMs: 0 });
  const item = (handle: string): AllocateItem => ({
    ...{
      handle,
      key: `key-of-${handle}`,
      host: "a",
      use: "Workload",
      attributes: {},
      leakCollection: "auto",
    },
    ...{ count: 1, strict: false, policy, until: until() },
  });
  const allocate = async (handles: readonly string[]) => {
    const { outcomes } = await stub.allocate({ ...target, items: handles.map(item) });
    return outcomes.map(({ kind }) => kind);
  };
  const release = async (handle: string) => {
    const keys = [{ key: `key-of-${handle}`, finalAfter: now() }];
    const answer = await stub.releaseHandle({ block, handle, keys, cooldownMs: 0 });
    return answer.keys.map(({ outcome }) => outcome);
  };
  const cost = async (work: () => Promise<unknown>) => {
    const before = await stub.counters();
    await work();
    const { rowsRead, rowsWritten, commits } = await stub.counters();
    return {
      rowsRead: rowsRead - before.rowsRead,
      rowsWritten: rowsWritten - before.rowsWritten,
      commits: commits - before.commits,
    };
  };
  return { allocate, release, cost };
}

/** What one allocation, its repeat and its release cost in a block that holds so many addresses. */
async function costsIn(block: string, capacity: number) {
  const held = capacity - 4;
  const { allocate, release, cost } = await claimed(block);
  for (let first = 0; first < held; first += BATCH) {
    const count = Math.min(BATCH, held - first);
    const kinds = await allocate(Array.from({ length: count }, (_, place) => `held-${first + place}`));
    expect(new Set(kinds)).toEqual(new Set(["created"]));
  }
  const costs: Record<string, Awaited<ReturnType<typeof cost>>> = {};
  for (const round of ["of an unused address", "of a released one"]) {
    const handle = `one ${round}`;
    const expectAnswer = async (answer: Promise<readonly string[]>, is: string) =>
      expect(await answer).toEqual([is]);
    costs[`allocate ${round}`] = await cost(() => expectAnswer(allocate([handle]), "created"));
    costs[`replay ${round}`] = await cost(() => expectAnswer(allocate([handle]), "found"));
    costs[`release ${round}`] = await cost(() => expectAnswer(release(handle), "released"));
    costs[`repeated release ${round}`] = await cost(() => expectAnswer(release(handle), "released"));
    // The next round finds no unused address, only the one released in this.
    if (round === "of an unused address") await allocate(["rest-0", "rest-1", "rest-2"]);
  }
  const many = Array.from({ length: 8 }, (_, place) => `held-${place}`);
  costs["a batch of 8 replays"] = await cost(() => allocate(many));
  return costs;
}

test("a decision reads two rows to trust its memory and writes those it changes, in a full /20 as in a /26", async () => {
  const small = await costsIn("10.8.0.0/26", 64);
  const writing = { rowsRead: 2, rowsWritten: 1, commits: 1 };
  for (const what of ["allocate", "replay", "release"]) {
    expect(small[`${what} of an unused address`]).toEqual(writing);
    expect(small[`${what} of a released one`]).toEqual(writing);
  }
  expect(small["repeated release of a released one"]).toEqual({ rowsRead: 2, rowsWritten: 0, commits: 0 });
  expect(small["a batch of 8 replays"]).toEqual({ rowsRead: 2, rowsWritten: 8, commits: 1 });
  expect(await costsIn("10.8.16.0/20", 4_096)).toEqual(small);
});
