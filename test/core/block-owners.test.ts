/** Owners of addresses in one block: conditions, promotion, clearing, an agent's reach, and all that is known. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Attributes } from "../../src/core/allocation.ts";
import { applyChanges, BlockDraft, blockState } from "../../src/core/block.ts";
import { claim, releaseAffinity, retire } from "../../src/core/block-affinity.ts";
import { allocate } from "../../src/core/block-allocate.ts";
import { inspect } from "../../src/core/block-inspect.ts";
import type { AllocateItem, ChangeOwnerRequest, UpdateOwnersRequest } from "../../src/core/block-messages.ts";
import { changeOwner, updateOwners } from "../../src/core/block-owners.ts";
import { releaseAddress, releaseHandle } from "../../src/core/block-release.ts";
import { parseCidr } from "../../src/core/cidr.ts";
import { isReleasedBy } from "../../src/core/owners.ts";

const TIMES = { skewMs: 50, untilMs: 2_000, spentKeyMs: 600_000 };
const BLOCK = "10.0.0.0/28";
const cooldownMs = 60_000;
const policy = { reserved: [], cooldownMs };
const who = (pod: string, node = "a"): Attributes => ({ namespace: "n", pod, node });
const ref = (pod: string) => ({ namespace: "n", pod });
const NOBODY = { namespace: "", pod: "" };

/** A block of host `a` at a clock that the test sets. */
class Bench {
  now = 1_000_000;
  #state = blockState(undefined, []);

  constructor() {
    const target = { block: BLOCK, pool: "p", poolCidr: "10.0.0.0/24", incarnation: 0 };
    this.run((draft) => claim(draft, { ...target, owner: "a", epoch: 1, until: this.now, cooldownMs }));
  }

  draft(): BlockDraft {
    const cidr = parseCidr(BLOCK);
    if (!cidr.ok) throw new Error("no block");
    return new BlockDraft(this.#state, cidr.value, this.now, TIMES);
  }

  run<T>(decide: (draft: BlockDraft) => T): T {
    const draft = this.draft();
    const answer = decide(draft);
    this.#state = applyChanges(this.#state, draft.changes());
    return answer;
  }

  /** Numbers that were given out: the same before and after means that nothing was written. */
  get counter(): number {
    return this.draft().counter;
  }

  take(key: string, more: Partial<AllocateItem> = {}): string[] {
    const item: AllocateItem = {
      handle: "vm",
      key,
      host: "a",
      use: "Workload",
      attributes: { node: "a" },
      leakCollection: "auto",
      count: 1,
      strict: false,
      policy,
      until: this.now,
      ...more,
    };
    const outcome = this.run((draft) => allocate(draft, item));
    if (outcome.kind !== "created") throw new Error(outcome.kind);
    return outcome.records.map(({ address }) => address);
  }

  update(set: UpdateOwnersRequest["set"], more: Partial<UpdateOwnersRequest> = {}) {
    const request = {
      block: BLOCK,
      address: "10.0.0.0",
      handle: "vm",
      expect: {},
      until: this.now,
      cooldownMs,
    };
    return this.run((draft) => updateOwners(draft, { ...request, set, ...more }));
  }

  change(kind: ChangeOwnerRequest["change"], pod: string, more: Partial<ChangeOwnerRequest> = {}) {
    const request: ChangeOwnerRequest = {
      block: BLOCK,
      handle: "vm",
      keys: [{ key: "k", finalAfter: 0 }],
      change: kind,
      owner: ref(pod),
      releaseWhenUnowned: false,
      isTrial: false,
      until: this.now,
      cooldownMs,
      ...more,
    };
    const answer = this.run((draft) => changeOwner(draft, request));
    return answer.kind === "changed" ? answer.outcomes.map(({ outcome }) => outcome) : answer.kind;
  }

  owners(address = "10.0.0.0") {
    const { record } = inspect(this.draft(), { block: BLOCK, address, policy });
    return [record?.attributes, record?.alternateAttributes];
  }

  release(key: string, onlyHost?: string) {
    const keys = [{ key, finalAfter: 0 }];
    const reach = onlyHost === undefined ? {} : { onlyHost };
    return this.run((draft) =>
      releaseHandle(draft, { block: BLOCK, handle: "vm", keys, cooldownMs, ...reach }),
    );
  }
}

function bench(): Bench {
  const made = new Bench();
  made.take("k");
  return made;
}

describe("updateOwners", () => {
  test("replaces or clears what is named, and gives a new touch", () => {
    const block = bench();
    const before = block.counter;
    expect(block.update({ active: { namespace: "n", pod: "x" } })).toMatchObject({
      kind: "updated",
      record: { sequenceNumber: before, touch: before + 1, attributes: who("x") },
    });
    block.update({ alternate: who("y", "b") });
    expect(block.owners()).toEqual([who("x"), who("y", "b")]);
    block.update({ active: {}, alternate: {} });
    expect(block.owners()).toEqual([{}, undefined]);
  });

  test("the same owners again write nothing", () => {
    const block = bench();
    block.update({ active: who("x") });
    const { counter } = block;
    expect(block.update({ active: who("x") })).toMatchObject({ kind: "updated", record: { touch: counter } });
    expect(block.update({}).kind).toBe("updated");
    expect(block.counter).toBe(counter);
  });

  test("conditions are judged for replaced owners only, all before any change", () => {
    const block = bench();
    block.update({ active: who("x"), alternate: who("y") });
    const { counter } = block;
    const both = { active: ref("x"), alternate: ref("z") };
    expect(block.update({ active: {}, alternate: {} }, { expect: both }).kind).toBe("owner_mismatch");
    expect(block.update({ active: {} }, { expect: { active: NOBODY } }).kind).toBe("owner_mismatch");
    expect([block.counter, ...block.owners()]).toEqual([counter, who("x"), who("y")]);
    expect(block.update({ active: {} }, { expect: both }).kind).toBe("updated");
    expect(block.owners()).toEqual([{}, who("y")]);
    expect(block.update({ active: who("z") }, { expect: { active: NOBODY } }).kind).toBe("updated");
  });

  test("I3: another handle, a free or cooling address and a late message change nothing", () => {
    const block = bench();
    const set = { active: who("x") };
    const { counter } = block;
    expect(block.update(set, { handle: "other" })).toEqual({
      kind: "handle_mismatch",
      sequenceNumber: counter,
    });
    expect(block.update(set, { address: "10.0.0.9" })).toEqual({ kind: "not_allocated", state: "free" });
    expect(block.update(set, { until: block.now - 1 })).toEqual({ kind: "late" });
    expect(block.counter).toBe(counter);
    block.release("k");
    const freeAt = block.now + cooldownMs;
    expect(block.update(set)).toEqual({ kind: "not_allocated", state: "cooling", freeAt });
  });

  test("an agent replaces only nobody or an owner on its host, and only what it may see", () => {
    const block = bench();
    expect(block.update({ alternate: who("y", "b") }, { onlyHost: "b" }).kind).toBe("out_of_reach");
    block.update({ alternate: who("y", "b") });
    expect(block.update({ active: who("y", "b") }, { onlyHost: "b" }).kind, "nobody is replaced").toBe(
      "updated",
    );
    expect(block.update({ active: {} }, { onlyHost: "a" }).kind, "an owner on another host").toBe(
      "out_of_reach",
    );
    expect(block.update({ active: {}, alternate: {} }, { onlyHost: "b" }).kind).toBe("updated");
  });

  test("any history of updates ends as a plain record says", () => {
    const owner = fc.constantFrom<Attributes>({}, who("x"), who("y", "b"), { note: "only" });
    const expected = fc.constantFrom(undefined, NOBODY, ref("x"), ref("y"));
    const step = fc.record({
      active: fc.option(owner, { nil: undefined }),
      alternate: fc.option(owner, { nil: undefined }),
      expectActive: expected,
      expectAlternate: expected,
    });
    const same = (map: Attributes, one: { namespace: string; pod: string } | undefined) =>
      one === undefined || ((map.pod ?? "") === one.pod && (map.namespace ?? "") === one.namespace);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const block = bench();
        let plain: { active: Attributes; alternate: Attributes } = { active: { node: "a" }, alternate: {} };
        for (const { active, alternate, expectActive, expectAlternate } of steps) {
          const set = { ...(active && { active }), ...(alternate && { alternate }) };
          const expect_ = {
            ...(expectActive && { active: expectActive }),
            ...(expectAlternate && { alternate: expectAlternate }),
          };
          const { kind } = block.update(set, { expect: expect_ });
          const holds =
            (active === undefined || same(plain.active, expectActive)) &&
            (alternate === undefined || same(plain.alternate, expectAlternate));
          expect(kind).toBe(holds ? "updated" : "owner_mismatch");
          const stamped = (map: Attributes) => ("note" in map ? { ...map, node: "a" } : map);
          if (holds && active !== undefined) plain = { ...plain, active: stamped(active) };
          if (holds && alternate !== undefined) plain = { ...plain, alternate: stamped(alternate) };
        }
        const [left, right = {}] = block.owners();
        expect({ active: left, alternate: right }).toEqual(plain);
      }),
    );
  });
});

describe("changeOwner", () => {
  test("promotes by exchanging the owners; repeating it changes nothing", () => {
    const block = bench();
    block.update({ active: who("src"), alternate: who("tgt", "b") });
    expect(block.change("promote", "tgt")).toEqual(["changed"]);
    expect(block.owners()).toEqual([who("tgt", "b"), who("src")]);
    const { counter } = block;
    expect(block.change("promote", "tgt")).toEqual(["unchanged"]);
    expect(block.counter).toBe(counter);
  });

  test("promoting over nobody leaves no alternate owner", () => {
    const block = bench();
    block.update({ alternate: who("tgt", "b") });
    block.change("promote", "tgt");
    expect(block.owners()).toEqual([who("tgt", "b"), undefined]);
  });

  test("one address that refuses leaves the others as they are", () => {
    const block = new Bench();
    block.take("k", { count: 2 });
    block.update({ active: who("src"), alternate: who("tgt") });
    const { counter } = block;
    expect(block.change("promote", "tgt")).toBe("alternate_owner_empty");
    block.update({ alternate: who("else") }, { address: "10.0.0.1" });
    expect(block.change("promote", "tgt")).toBe("alternate_owner_mismatch");
    expect(block.owners()).toEqual([who("src"), who("tgt")]);
    expect(block.counter).toBe(counter + 1);
  });

  test("a trial says what would be refused, and changes nothing", () => {
    const block = bench();
    const { counter } = block;
    expect(block.change("promote", "tgt", { isTrial: true })).toBe("alternate_owner_empty");
    block.update({ active: who("x") });
    expect(block.change("clear", "x", { isTrial: true })).toEqual([]);
    expect([block.counter, block.owners()[0]]).toEqual([counter + 1, who("x")]);
  });

  test("clears the owner wherever it stands, and releases what nobody owns any more", () => {
    const block = bench();
    block.update({ active: who("src"), alternate: who("tgt", "b") });
    expect(block.change("clear", "other", { releaseWhenUnowned: true })).toEqual(["unchanged"]);
    expect(block.change("clear", "src", { releaseWhenUnowned: true })).toEqual(["changed"]);
    expect(block.owners()).toEqual([{}, who("tgt", "b")]);
    expect(block.change("clear", "tgt", { releaseWhenUnowned: true })).toEqual(["released"]);
    expect(inspect(block.draft(), { block: BLOCK, address: "10.0.0.0", policy }).state).toBe("cooling");
  });

  test("I3: a late copy does not meet a later allocation of the handle", () => {
    const block = bench();
    block.update({ active: who("x") });
    block.release("k");
    block.take("later", { attributes: who("x"), ordinal: 3 });
    const { counter } = block;
    expect(block.change("clear", "x", { releaseWhenUnowned: true })).toEqual([]);
    expect(block.change("clear", "x", { until: block.now - 1 })).toBe("late");
    expect(block.counter).toBe(counter);
  });

  test("an agent moves only owners on its host", () => {
    const block = bench();
    block.update({ active: who("src"), alternate: who("tgt", "b") });
    expect(block.change("promote", "tgt", { onlyHost: "a" })).toBe("out_of_reach");
    expect(block.change("clear", "tgt", { onlyHost: "a" })).toBe("out_of_reach");
    expect(block.change("clear", "src", { onlyHost: "c" }), "it does not see the address").toEqual([]);
    expect(block.change("promote", "tgt", { onlyHost: "b" })).toEqual(["changed"]);
    expect(block.change("clear", "src", { onlyHost: "a" })).toEqual(["changed"]);
    expect(block.change("clear", "tgt", { onlyHost: "b", releaseWhenUnowned: true })).toEqual(["released"]);
  });
});

test("an agent releases its host's addresses, and those whose only owner is on its host", () => {
  const held = { host: "a", attributes: who("src"), alternateAttributes: who("tgt", "b") };
  const by = (one: typeof held | { host: string; attributes: Attributes }) =>
    ["a", "b", "c"].filter((host) => isReleasedBy(host, one));
  expect(by(held)).toEqual(["a"]);
  expect(by({ host: "a", attributes: who("tgt", "b") })).toEqual(["a", "b"]);
  expect(by({ host: "a", attributes: { node: "b" } }), "nobody is no owner").toEqual(["a"]);
  const block = bench();
  block.update({ active: {}, alternate: who("tgt", "b") });
  const item = { address: "10.0.0.0", handle: "vm" };
  const refused = block.run((draft) => releaseAddress(draft, { ...item, onlyHost: "c" }, cooldownMs));
  expect(refused).toMatchObject({ kind: "rejected", code: "host_mismatch" });
  expect(block.release("k", "b")).toMatchObject([{ outcome: "released" }]);
});

describe("inspect", () => {
  const at = (block: Bench, address: string) => inspect(block.draft(), { block: BLOCK, address, policy });

  test("tells holder and past, newest first", () => {
    const block = bench();
    expect(at(block, "10.0.0.1")).toEqual({ state: "free", owner: "a", tenures: [], isComplete: true });
    block.update({ active: who("x") });
    block.release("k");
    expect(at(block, "10.0.0.0")).toMatchObject({
      state: "cooling",
      freeAt: block.now + cooldownMs,
      tenures: [{ host: "a", handle: "vm", attributes: who("x"), releasedAt: block.now }],
    });
    block.now += cooldownMs;
    block.take("k2", { ordinal: 0 });
    const held = at(block, "10.0.0.0");
    expect([held.state, held.record?.key, held.tenures.length, held.isComplete]).toEqual([
      "allocated",
      "k2",
      1,
      true,
    ]);
  });

  test("says when it has forgotten a tenure", () => {
    const block = bench();
    block.release("k");
    block.now += cooldownMs;
    block.take("k2", { ordinal: 0 });
    block.release("k2");
    const both = at(block, "10.0.0.0");
    expect([both.tenures.length, both.isComplete]).toEqual([2, true]);
    block.now += TIMES.spentKeyMs;
    block.take("k3", { ordinal: 0 });
    const later = at(block, "10.0.0.0");
    expect([later.tenures.length, later.isComplete]).toEqual([1, false]);
    block.release("k3");
    block.now += cooldownMs;
    block.take("again", { ordinal: 0 });
    expect(at(block, "10.0.0.0").isComplete, "for ever").toBe(false);
  });

  test("a block that has retired and dropped its rows does not claim to know all", () => {
    const block = bench();
    block.release("k");
    const target = {
      block: BLOCK,
      pool: "p",
      poolCidr: "10.0.0.0/24",
      incarnation: 0,
      owner: "a",
      cooldownMs,
    };
    block.run((draft) => releaseAffinity(draft, { ...target, epoch: 2, mustBeEmpty: false }));
    block.now += TIMES.spentKeyMs;
    expect(block.run((draft) => retire(draft, cooldownMs))).toBe(2);
    expect(at(block, "10.0.0.0")).toEqual({ state: "free", tenures: [], isComplete: false });
  });
});
