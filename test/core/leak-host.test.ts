/** When a host counts as lost, and what is given up with it. */
import { describe, expect, it } from "vitest";
import { hostLife, type LostBlock, planTeardown } from "../../src/core/leak-host.ts";
import { MINUTE, T } from "./leak-facts.ts";

const registration = { generation: 4 };
const lost = { missingSince: T, notFoundAt: T + MINUTE };

describe("hostLife", () => {
  it("is gone by an operator's word, at once", () => {
    expect(hostLife({ generation: 4, goneSince: T }, undefined, undefined)).toEqual({
      kind: "gone",
      generation: 4,
      since: T,
      by: "removal",
    });
  });

  it("is gone when a direct read a minute after the list does not find its node", () => {
    expect(hostLife(registration, lost, undefined)).toMatchObject({
      kind: "gone",
      since: T,
      by: "kubernetes",
    });
    expect(hostLife(registration, { ...lost, notFoundAt: T + MINUTE - 1 }, undefined).kind).toBe("active");
    expect(hostLife(registration, { missingSince: T }, undefined).kind).toBe("active");
    expect(hostLife(registration, { ...lost, seenAt: T + 1 }, undefined).kind).toBe("active");
    expect(hostLife(registration, { ...lost, seenAt: T - 1 }, undefined).kind).toBe("gone");
  });

  it("H15: is never gone by silence", () => {
    expect(hostLife(registration, undefined, { takenAt: 0, staleMs: 1 }).kind).toBe("active");
    expect(hostLife(registration, {}, { takenAt: 0, staleMs: 1 }).kind).toBe("active");
  });

  it("lives while its agent reports, whatever a cluster says", () => {
    const report = (takenAt: number) => ({ takenAt, staleMs: 5 * MINUTE });
    expect(hostLife(registration, lost, report(T)).kind).toBe("active");
    const later = { missingSince: T, notFoundAt: T + 6 * MINUTE };
    expect(hostLife(registration, later, report(T + MINUTE))).toMatchObject({ kind: "active" });
    expect(hostLife(registration, later, report(T + MINUTE - 1))).toMatchObject({ since: T + MINUTE - 1 });
  });

  it("is not judged when its node cannot be read", () => {
    expect(hostLife(registration, { ...lost, isUnreadable: true }, undefined)).toEqual({ kind: "unknown" });
  });
});

describe("planTeardown", () => {
  const life = { kind: "gone", generation: 4, since: T, by: "removal" } as const;
  const block = (given: Partial<LostBlock>): LostBlock => {
    return { block: "10.0.0.0/26", epoch: 9, own: 0, lent: 0, cooling: 0, ...given };
  };
  const plan = (...blocks: LostBlock[]) => planTeardown(life, false, blocks);

  it("gives up nothing while anything vetoes", () => {
    expect(planTeardown(life, true, [block({})])).toEqual({ kind: "vetoed" });
  });

  it("gives up empty and lent blocks at their epochs, under the host's generation", () => {
    const given = [{ block: "10.0.0.0/26", epoch: 9 }];
    expect(plan(block({}))).toEqual({ kind: "release", generation: 4, blocks: given });
    expect(plan(block({ lent: 1, cooling: 3 }))).toEqual({ kind: "release", generation: 4, blocks: given });
    expect(plan()).toEqual({ kind: "release", generation: 4, blocks: [] });
  });

  it("waits for what is still the host's own, and for what only cools", () => {
    expect(plan(block({ own: 1 }))).toMatchObject({ kind: "waiting", blocks: [] });
    expect(plan(block({ own: 1, lent: 1 }))).toMatchObject({ kind: "waiting", blocks: [] });
    expect(plan(block({ cooling: 1 }))).toMatchObject({ kind: "waiting", blocks: [] });
    const two = plan(block({ own: 1 }), block({ block: "10.0.0.64/26" }));
    expect(two).toMatchObject({ kind: "waiting", blocks: [{ block: "10.0.0.64/26" }] });
  });
});
