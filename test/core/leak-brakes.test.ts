/** The bucket and the breaker of the collector. */
import { describe, expect, it } from "vitest";
import {
  acknowledge,
  BRAKE_LIMITS,
  type Brakes,
  DEPLOYMENT,
  newBrakes,
  type ReleaseWish,
  weigh,
} from "../../src/core/leak-brakes.ts";
import { MINUTE, T } from "./leak-facts.ts";

const limits = BRAKE_LIMITS;
const fresh = newBrakes(T, limits);
const wish = (due: number, given: Partial<ReleaseWish> = {}): ReleaseWish => {
  const rest = { allocatedOnHost: 1_000, allocated: 60_000, isRemoved: false, isLost: false };
  return { host: "h", due, wanted: due, ...rest, ...given };
};
const ask = (brakes: Brakes, given: ReleaseWish, now = T) => weigh(brakes, given, now, limits);
const many = { allocatedOnHost: 100_000, allocated: 10_000_000 };

describe("the bucket", () => {
  it("grants what is there, whole addresses, and fills with time up to its size", () => {
    const first = ask(fresh, wish(1_500, many));
    expect(first).toMatchObject({ granted: 1_500 });
    expect(first.stop).toBeUndefined();
    const second = ask(first.brakes, wish(1_500, many));
    expect(second).toMatchObject({ granted: 500, stop: "release_limit" });
    expect(ask(second.brakes, wish(1_500, many))).toMatchObject({ granted: 0, stop: "release_limit" });
    expect(ask(second.brakes, wish(1_500, many), T + 100)).toMatchObject({ granted: 3 });
    expect(ask(second.brakes, wish(9_000, many), T + 60 * MINUTE)).toMatchObject({ granted: 2_000 });
  });

  it("is not filled by a clock that is set back and forth", () => {
    let { brakes } = ask(fresh, wish(2_000, many));
    for (const at of [T - 60 * MINUTE, T, T - 60 * MINUTE, T]) brakes = ask(brakes, wish(0, many), at).brakes;
    expect(ask(brakes, wish(10, many)).granted).toBe(0);
    const half = ask(fresh, wish(1_000, many)).brakes;
    const back = ask(half, wish(0, many), T - 60 * MINUTE).brakes;
    expect(ask(back, wish(1_000, many), T - 60 * MINUTE).granted).toBe(1_000);
  });
});

describe("the breaker of a host", () => {
  it("opens when more than half of a host, and at least 20, is leaked at once", () => {
    expect(ask(fresh, wish(19, { allocatedOnHost: 19 })).granted).toBe(19);
    expect(ask(fresh, wish(20, { allocatedOnHost: 40 })).granted).toBe(20);
    const open = ask(fresh, wish(20, { allocatedOnHost: 39 }));
    expect(open).toMatchObject({ granted: 0, stop: "breaker_open" });
    expect(open.brakes.breaker).toEqual({ openedAt: T, scope: "h", confirmed: 20, limitPercent: 50 });
  });

  it("opens before the first release, when only what is due is told", () => {
    expect(ask(fresh, wish(30, { allocatedOnHost: 39, wanted: 0 })).brakes.breaker).toBeDefined();
  });

  it("does not look at a host that was lost, or that an operator removed", () => {
    expect(ask(fresh, wish(30, { allocatedOnHost: 30, isLost: true })).granted).toBe(30);
    expect(ask(fresh, wish(30, { allocatedOnHost: 30, isRemoved: true })).granted).toBe(30);
  });

  it("stops everybody until it is acknowledged, however long", () => {
    const { brakes } = ask(fresh, wish(20, { allocatedOnHost: 30 }));
    const other = ask(brakes, wish(1, { host: "other" }), T + 9_999 * MINUTE);
    expect(other).toMatchObject({ granted: 0, stop: "breaker_open" });
    expect(other.brakes.breaker?.openedAt).toBe(T);
  });
});

describe("the breaker of the deployment", () => {
  const host = (at: number) => wish(3, { host: `h${at}`, allocatedOnHost: 60, allocated: 3_000 });

  it("opens when more than a twentieth of all, over all hosts of a window, is leaked", () => {
    let { brakes } = ask(fresh, host(0));
    let granted = 3;
    for (let at = 1; at < 60 && brakes.breaker === undefined; at += 1) {
      const grant = ask(brakes, host(at), T + at);
      brakes = grant.brakes;
      granted += grant.granted;
    }
    expect(brakes.breaker).toMatchObject({ scope: DEPLOYMENT, confirmed: 153, limitPercent: 5 });
    expect(granted).toBe(150);
  });

  it("counts a host that asks again only once, and also hosts that were lost", () => {
    let brakes = fresh;
    for (let at = 0; at < 200; at += 1) brakes = ask(brakes, host(1), T + at).brakes;
    expect(brakes.breaker).toBeUndefined();
    const lost = wish(400, { allocatedOnHost: 400, allocated: 3_000, isLost: true });
    expect(ask(brakes, lost).brakes.breaker).toMatchObject({ scope: DEPLOYMENT, confirmed: 403 });
    const removed = { ...lost, isRemoved: true };
    expect(ask(brakes, removed).brakes.breaker).toBeUndefined();
  });

  it("begins anew with each window, and takes what was released in it for still there", () => {
    const first = ask(fresh, wish(140, { allocated: 3_000 })).brakes;
    const shrunk = wish(10, { host: "h2", allocated: 2_850 });
    expect(ask(first, shrunk, T + 1).brakes.breaker).toBeUndefined();
    const next = ask(first, wish(140, { host: "h3", allocated: 3_000 }), T + limits.windowMs);
    expect(next.brakes.breaker).toBeUndefined();
    expect(next.granted).toBe(140);
  });
});

describe("acknowledge", () => {
  const open = ask(fresh, wish(25, { allocatedOnHost: 30 })).brakes;

  it("asks for the time at which the breaker opened", () => {
    expect(acknowledge(open, T + 1, T + MINUTE, limits)).toMatchObject({
      ok: false,
      error: { code: "breaker_not_open", evidence: { openedAt: T, given: T + 1 } },
    });
    const none = acknowledge(fresh, T, T, limits);
    if (none.ok) throw new Error("acknowledged");
    expect(none.error.evidence).toEqual({ field: "breakerOpenedAt" });
  });

  it("lets pass what was due, no more and not for ever", () => {
    const closed = acknowledge(open, T, T + MINUTE, limits);
    if (!closed.ok) throw new Error("not acknowledged");
    const same = wish(25, { allocatedOnHost: 30 });
    expect(ask(closed.value, same, T + MINUTE).granted).toBe(25);
    expect(ask(closed.value, wish(26, { allocatedOnHost: 30 }), T + MINUTE).granted).toBe(0);
    expect(ask(closed.value, { ...same, host: "other" }, T + MINUTE).granted).toBe(0);
    expect(ask(closed.value, same, T + MINUTE + limits.acknowledgedMs).granted).toBe(0);
  });
});
