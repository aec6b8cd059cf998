/** What was undone stays undone, whatever copy of its message is still under way. */
import { expect, test } from "vitest";
import { applyChanges, BlockDraft, blockState } from "../../src/core/block.ts";
import { claim, releaseAffinity, retire } from "../../src/core/block-affinity.ts";
import { allocate, undo } from "../../src/core/block-allocate.ts";
import type { AllocateItem } from "../../src/core/block-messages.ts";
import { parseCidr } from "../../src/core/cidr.ts";

const TIMES = { skewMs: 50, untilMs: 2_000, spentKeyMs: 600_000 };
const TARGET = { block: "10.0.0.0/30", pool: "p", poolCidr: "10.0.0.0/24", incarnation: 0, owner: "a" };
const policy = { reserved: [], cooldownMs: 0 };

function bench() {
  let state = blockState(undefined, []);
  const clock = { now: 1_000_000 };
  const run = <T>(decide: (draft: BlockDraft) => T): T => {
    const cidr = parseCidr(TARGET.block);
    if (!cidr.ok) throw new Error("no block");
    const draft = new BlockDraft(state, cidr.value, clock.now, TIMES);
    const answer = decide(draft);
    state = applyChanges(state, draft.changes());
    return answer;
  };
  run((draft) => claim(draft, { ...TARGET, epoch: 1, until: clock.now, cooldownMs: 0 }));
  const item = (attempt: string, until: number): AllocateItem => ({
    handle: "h",
    key: "k",
    attempt,
    host: "a",
    use: "Workload",
    attributes: {},
    leakCollection: "auto",
    count: 1,
    strict: false,
    policy,
    until,
  });
  const take = (attempt: string, until = clock.now + 2_000) =>
    run((draft) => allocate(draft, item(attempt, until)));
  const undoAll = () =>
    run((draft) => {
      const held = [...draft.rows()].filter(({ current }) => current !== undefined);
      const addresses = held.map(({ ordinal, number }) => ({ address: `10.0.0.${ordinal}`, touch: number }));
      return undo(draft, { handle: "h", key: "k", addresses });
    });
  return { clock, run, take, undoAll };
}

test("I15: a late copy of a message whose effect was undone creates nothing", () => {
  const { clock, take, undoAll } = bench();
  const until = clock.now + 2_000;
  expect(take("one", until).kind).toBe("created");
  expect(undoAll()).toEqual(["10.0.0.0"]);
  clock.now = until;
  expect(take("one", until).kind).toBe("late");
});

test("another attempt of the key is served, and its address does not hide the undone one", () => {
  const { clock, take, undoAll } = bench();
  const until = clock.now + 2_000;
  take("one", until);
  undoAll();
  expect(take("two", until).kind).toBe("created");
  undoAll();
  expect([take("one", until).kind, take("two", until).kind]).toEqual(["late", "late"]);
  clock.now += TIMES.untilMs + 2 * TIMES.skewMs;
  expect(take("one").kind, "no message of that time can arrive any more").toBe("created");
});

test("a block does not retire before such a copy is too late", () => {
  const { clock, run, take, undoAll } = bench();
  take("one");
  undoAll();
  run((draft) => releaseAffinity(draft, { ...TARGET, epoch: 2, mustBeEmpty: true, cooldownMs: 0 }));
  expect(run((draft) => retire(draft, 0))).toBeUndefined();
  clock.now += TIMES.untilMs + 2 * TIMES.skewMs;
  expect(run((draft) => retire(draft, 0))).toBe(2);
});
