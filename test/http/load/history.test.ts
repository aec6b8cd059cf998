/** The history checker finds each planted fault, and nothing in a history that is right. */
import { describe, expect, it } from "vitest";
import {
  type Allocate,
  checkHistory,
  type Operation,
  type Read,
  type Release,
  type Tenure,
} from "../../support/history.ts";

const cooldownMs = 1_000;

function tenure(sequenceNumber: number, more: Partial<Tenure> = {}): Tenure {
  const base = { address: "10.0.0.1", block: "10.0.0.0/30", handle: `h${sequenceNumber}` };
  return { ...base, sequenceNumber, allocatedAt: sequenceNumber * 1_000, ...more };
}

/** An allocation that was answered; times follow from the number. */
function allocated(got: Tenure, more: Partial<Allocate> = {}): Allocate {
  const at = got.allocatedAt;
  const times = { invokedAt: at - 5, answeredAt: at + 5 };
  const request = { host: "n", handle: got.handle, key: "key", body: "{}" };
  return { kind: "allocate", outcome: "ok", ...times, ...request, got: [got], ...more };
}

function released(ended: Tenure, at: number, more: Partial<Release> = {}): Release {
  const { address, handle, sequenceNumber } = ended;
  const results = [{ address, handle, sequenceNumber, outcome: "released", freeAt: at + cooldownMs }];
  return { kind: "release", outcome: "ok", invokedAt: at - 5, answeredAt: at + 5, handle, results, ...more };
}

function read(handle: string, at: number, got: readonly Tenure[]): Read {
  return { kind: "read", outcome: "ok", invokedAt: at - 5, answeredAt: at + 5, handle, got };
}

function invariants(history: Operation[], final: Tenure[]): string[] {
  return checkHistory(history, { final, cooldownMs }).map(({ invariant }) => invariant);
}

const first = tenure(1);
const second = tenure(5);
const never = Number.POSITIVE_INFINITY;

describe("a history that is right", () => {
  it("has no violation: allocate, read, replay, release, cool, allocate again", () => {
    const history = [
      allocated(first),
      read("h1", 1_100, [first]),
      allocated(first, { invokedAt: 1_200, answeredAt: 1_205 }),
      allocated(first, {
        invokedAt: 1_300,
        answeredAt: 1_305,
        outcome: "refused",
        code: "idempotency_key_reused",
        body: "{1}",
        got: [],
      }),
      released(first, 2_000),
      read("h1", 2_100, []),
      allocated(first, {
        invokedAt: 2_200,
        answeredAt: 2_205,
        outcome: "refused",
        code: "idempotency_key_released",
        got: [],
      }),
      allocated(second),
    ];
    expect(checkHistory(history, { final: [second], cooldownMs })).toEqual([]);
  });

  it("may hold or not hold what has no known outcome", () => {
    const lost = allocated(first, { outcome: "unknown", answeredAt: never, got: [] });
    expect(invariants([lost], [first])).toEqual([]);
    expect(invariants([lost], [])).toEqual([]);
    const perhaps = released(first, 2_000, { outcome: "unknown", answeredAt: never, results: [] });
    expect(invariants([allocated(first), perhaps], [first])).toEqual([]);
    expect(invariants([allocated(first), perhaps, allocated(second)], [second])).toEqual([]);
  });

  it("may read either while a release is under way", () => {
    const slow = released(first, 2_000, { answeredAt: 3_000 });
    expect(invariants([allocated(first), slow, read("h1", 2_500, [first])], [])).toEqual([]);
    expect(invariants([allocated(first), slow, read("h1", 2_500, [])], [])).toEqual([]);
  });
});

describe("planted faults", () => {
  it("I1: an address given to a second handle before it was released", () => {
    expect(invariants([allocated(first), allocated(second)], [first, second])).toContain("I1");
    const late = released(first, 6_000);
    expect(invariants([allocated(first), allocated(second), late], [second])).toContain("I1");
  });

  it("I1: one sequence number told to two handles", () => {
    const twin = allocated(first, { handle: "other", got: [{ ...first, handle: "other" }] });
    expect(invariants([allocated(first), twin], [first])).toContain("I1");
  });

  it("I3: a number that is lower than one answered before in the same block", () => {
    const lower = tenure(1, { address: "10.0.0.2", allocatedAt: 9_000 });
    const history = [allocated(second), allocated(lower)];
    expect(invariants(history, [second, lower])).toEqual(["I3"]);
  });

  it("I3: a guarded release that released something else", () => {
    const wrong = released(second, 6_500, { address: first.address, sequenceNumber: 1, handle: "h5" });
    const history = [allocated(first), released(first, 2_000), allocated(second), wrong];
    expect(invariants(history, [])).toEqual(["I3"]);
  });

  it("I4: an acknowledged allocation that is gone", () => {
    expect(invariants([allocated(first)], [])).toEqual(["I4"]);
  });

  it("I4: an acknowledged release that was undone", () => {
    expect(invariants([allocated(first), released(first, 2_000)], [first])).toEqual(["I4"]);
  });

  it("I4: a release by handle that left an address, a right release by address that was refused", () => {
    const nothing = released(first, 2_000, { results: [] });
    expect(invariants([allocated(first), nothing], [first])).toEqual(["I4"]);
    const { address, sequenceNumber } = first;
    const results = [{ address, outcome: "rejected", code: "sequence_mismatch", sequenceNumber: 9 }];
    const refused = released(first, 2_000, { address, sequenceNumber, results });
    expect(invariants([allocated(first), refused], [first])).toEqual(["I4"]);
  });

  it("I4: a read that misses what is held, or shows what was released", () => {
    expect(invariants([allocated(first), read("h1", 1_100, [])], [first])).toEqual(["I4"]);
    const stale = [allocated(first), released(first, 2_000), read("h1", 2_100, [first])];
    expect(invariants(stale, [])).toEqual(["I4"]);
  });

  it("I12: an address given out before its cooldown, by the block's clock and by the clients'", () => {
    const byBlock = allocated(second, { got: [{ ...second, allocatedAt: 2_900 }] });
    expect(invariants([allocated(first), released(first, 2_000), byBlock], [second])).toEqual(["I12"]);
    const byClients = allocated(second, { invokedAt: 2_500, answeredAt: 2_510 });
    expect(invariants([allocated(first), released(first, 2_000), byClients], [second])).toEqual(["I12"]);
  });

  it("I13: a replay with another address, another body that was served, a spent key that was served", () => {
    const other = tenure(2, { address: "10.0.0.2", handle: "h1" });
    expect(invariants([allocated(first), allocated(other)], [first, other])).toEqual(["I13"]);
    const reused = allocated(first, { invokedAt: 1_100, answeredAt: 1_105, body: "{1}" });
    expect(invariants([allocated(first), reused], [first])).toEqual(["I13"]);
    const again = allocated(first, { invokedAt: 2_100, answeredAt: 2_105 });
    expect(invariants([allocated(first), released(first, 2_000), again], [])).toEqual(["I13"]);
  });

  it("I15: a refused request that left an address, also after an unknown outcome", () => {
    const refused = allocated(first, { outcome: "refused", code: "pool_exhausted", got: [] });
    expect(invariants([refused], [first])).toEqual(["I15"]);
    const lost = allocated(first, { outcome: "unknown", answeredAt: 900, invokedAt: 800, got: [] });
    expect(invariants([lost, refused], [first])).toEqual(["I15"]);
  });
});
