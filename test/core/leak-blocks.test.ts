/** Which empty blocks a host gives back, and when. */
import { describe, expect, it } from "vitest";
import { type EmptyMark, isMigrating, type OwnedBlock, planEmptyBlocks } from "../../src/core/leak-blocks.ts";
import { GRACE, T } from "./leak-facts.ts";

const block = (at: number, given: Partial<OwnedBlock> = {}): OwnedBlock => {
  return { block: `10.0.${at}.0/26`, family: 4, epoch: 3, number: 5, isEmpty: true, ...given };
};
const v6 = (at: number): OwnedBlock => ({ ...block(0), block: `fd00:0:0:${at}::/122`, family: 6 });
const facts = (now: number) => ({ host: "h", now, graceMs: GRACE, isHeld: false });
const givenBack = (blocks: OwnedBlock[], marks: readonly EmptyMark[], now = T + GRACE + 1) =>
  planEmptyBlocks(blocks, marks, facts(now)).release.map((one) => one.block);

describe("planEmptyBlocks", () => {
  const three = [block(0), block(2), block(10)];
  const { marks } = planEmptyBlocks(three, [], facts(T));

  it("gives back by the second look, more than the grace later, all but the first block", () => {
    expect(marks.map(({ since }) => since)).toEqual([T, T, T]);
    expect(planEmptyBlocks(three, [], facts(T)).release).toEqual([]);
    expect(givenBack(three, marks, T + GRACE)).toEqual([]);
    expect(givenBack(three, marks)).toEqual(["10.0.10.0/26", "10.0.2.0/26"]);
  });

  it("gives back all empty ones where another is used, each at its epoch", () => {
    const used = [block(0), block(2, { isEmpty: false })];
    const plan = planEmptyBlocks(used, marks, facts(T + GRACE + 1));
    expect(plan.release).toEqual([{ block: "10.0.0.0/26", epoch: 3 }]);
  });

  it("keeps one of each family", () => {
    const both = [block(0), v6(1), v6(2)];
    const seen = planEmptyBlocks(both, [], facts(T)).marks;
    expect(givenBack(both, seen)).toEqual(["fd00:0:0:2::/122"]);
    expect(givenBack([block(0), v6(1)], seen)).toEqual([]);
  });

  it("begins anew for a block that was used between, or that was claimed anew", () => {
    expect(givenBack([block(0), block(2, { number: 6 })], marks)).toEqual(["10.0.0.0/26"]);
    expect(givenBack([block(0), block(2, { epoch: 4 })], marks)).toEqual(["10.0.0.0/26"]);
  });

  it("does not mark the only block, so that it has no start when a second one comes", () => {
    const alone = planEmptyBlocks([block(0)], marks, facts(T + GRACE)).marks;
    expect(alone).toEqual([]);
    expect(givenBack([block(0), block(2)], alone, T + 2 * GRACE)).toEqual([]);
  });

  it("clears all marks while blocks are held, and never looks at a virtual owner's", () => {
    const held = { ...facts(T + GRACE + 1), isHeld: true };
    expect(planEmptyBlocks(three, marks, held)).toEqual({ marks: [], release: [] });
    const virtual = { ...facts(T + GRACE + 1), host: "virtual:load-balancer" };
    expect(planEmptyBlocks(three, marks, virtual)).toEqual({ marks: [], release: [] });
  });

  it("gives back nothing without a grace, and nothing earlier for a clock that was set back", () => {
    expect(planEmptyBlocks(three, marks, { ...facts(T + 9 * GRACE), graceMs: 0 }).release).toEqual([]);
    expect(planEmptyBlocks(three, marks, { host: "h", now: T + 9 * GRACE, isHeld: false }).release).toEqual(
      [],
    );
    const back = planEmptyBlocks(three, marks, facts(T - GRACE)).marks;
    expect(givenBack(three, back, T - GRACE + 1)).toEqual([]);
  });
});

describe("isMigrating", () => {
  const label = "projectcalico.org/node-network-during-migration";
  it.each([
    [{}, false],
    [{ [label]: "calico" }, false],
    [{ [label]: "flannel" }, true],
    [{ [label]: "none" }, true],
    [{ [label]: "" }, true],
  ])("of %o is %s", (labels, is) => expect(isMigrating(labels)).toBe(is));
});
