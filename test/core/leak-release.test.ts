/** Whole handles only, within a cap, each address by its touch. */
import { describe, expect, it } from "vitest";
import type { Standing } from "../../src/core/leak-policy.ts";
import {
  afterRelease,
  type HandleMember,
  handlesToWeigh,
  planReleases,
  withHolds,
  withStandings,
} from "../../src/core/leak-release.ts";
import { auditsBy, GRACE, markAt, saying, T } from "./leak-facts.ts";

const member = (address: string, standing?: Standing): HandleMember => {
  return { address, block: "10.0.0.0/26", touch: 7, ...(standing === undefined ? {} : { standing }) };
};
const ready = (address: string) => member(address, "ready");
const leaked = auditsBy([T, T + GRACE + 1, T + GRACE + 2].map((at) => saying("absent", markAt(at))));

describe("planReleases", () => {
  it("releases a handle with all its addresses, each by its touch", () => {
    const plan = planReleases([["a", [ready("10.0.0.1"), ready("fd00::1")]]], { addressesMax: 10 });
    const items = ["10.0.0.1", "fd00::1"].map((address) => {
      return { address, block: "10.0.0.0/26", handle: "a", touch: 7 };
    });
    expect(plan).toEqual({ releases: [{ handle: "a", items }], due: 2, held: new Map() });
  });

  it.each<[string, Standing | undefined]>([
    ["alive", "alive"],
    ["unknown", "unknown"],
    ["not the collector's", "exempt"],
    ["a candidate", "candidate"],
    ["of a host that did not say", undefined],
  ])("I11: holds a handle of which one address is %s", (_, standing) => {
    const members = [ready("10.0.0.1"), member("10.0.1.1", standing)];
    const plan = planReleases([["a", members]], { addressesMax: 10 });
    expect(plan).toMatchObject({ releases: [], due: 0 });
    expect(plan.held.get("a")).toBe("handle_partly_alive");
  });

  it("holds a handle whose members are not known, and one that waits for newer evidence", () => {
    const waiting = [ready("10.0.0.1"), member("10.0.0.2", "confirmed")];
    const plan = planReleases(
      [
        ["a", undefined],
        ["b", []],
        ["c", waiting],
      ],
      { addressesMax: 10 },
    );
    expect(plan.releases).toEqual([]);
    expect([...plan.held.values()]).toEqual([
      "handle_partly_alive",
      "handle_partly_alive",
      "awaiting_recheck",
    ]);
    expect(plan.due).toBe(2);
  });

  it("stops at the cap with whole handles, and counts what is due beyond it", () => {
    const pairs = ["a", "b", "c"].map((name, at) => {
      return [name, [ready(`10.0.${at}.1`), ready(`10.0.${at}.2`)]] as const;
    });
    const plan = planReleases(pairs, { addressesMax: 3 });
    expect(plan.releases.map(({ handle }) => handle)).toEqual(["a"]);
    expect(plan.due).toBe(6);
    expect([...plan.held]).toEqual([
      ["b", "release_limit"],
      ["c", "release_limit"],
    ]);
    expect(planReleases(pairs, { addressesMax: 0 }).releases).toEqual([]);
    expect(planReleases(pairs, { addressesMax: 1 }).releases.map(({ handle }) => handle)).toEqual(["a"]);
  });

  it.each(["paused", "breaker_open"] as const)("releases nothing while it is %s", (stop) => {
    const plan = planReleases([["a", [ready("10.0.0.1")]]], { addressesMax: 10, stop });
    expect(plan).toMatchObject({ releases: [], due: 1 });
    expect(plan.held.get("a")).toBe(stop);
  });
});

describe("the members of a handle", () => {
  it("are asked for where an address is confirmed", () => {
    expect(handlesToWeigh(leaked)).toEqual(["net.c1"]);
    expect(handlesToWeigh(auditsBy([saying("absent", markAt(T))]))).toEqual([]);
  });

  it("H14: have the standing that was judged only by the touch that was judged", () => {
    const listed = [member("10.0.0.1"), { ...member("10.0.0.1"), touch: 8 }, member("10.0.9.9")];
    expect(withStandings(leaked, listed).map(({ standing }) => standing)).toEqual([
      "ready",
      "unknown",
      undefined,
    ]);
  });
});

describe("the ledger after a release", () => {
  const row = leaked.ledger[0];
  const answered = (touch: number, answer: "released" | "moved_on" | "unknown") =>
    afterRelease(leaked.ledger, new Map([["10.0.0.1", { touch, answer }]]));

  it("forgets what the block decided, and keeps what nobody answered", () => {
    expect(answered(7, "released")).toEqual([]);
    expect(answered(7, "moved_on")).toEqual([]);
    expect(answered(7, "unknown")).toEqual([row]);
    expect(answered(6, "released")).toEqual([row]);
  });

  it("notes why a handle is held", () => {
    expect(withHolds(leaked.ledger, new Map([["net.c1", "paused"]]))).toMatchObject([{ held: "paused" }]);
    expect(withHolds(leaked.ledger, new Map())).toEqual(leaked.ledger);
  });
});
