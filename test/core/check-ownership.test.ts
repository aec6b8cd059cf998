/** Who owns a block, by everybody's records: every agreement is silent, every difference has its name. */
import { describe, expect, it } from "vitest";
import type { BlockAudit } from "../../src/core/block-audit.ts";
import {
  type BlockFacts,
  type EntryFacts,
  type HostFacts,
  judgeBlock,
  problemName,
} from "../../src/core/check-ownership.ts";

const POOL = { name: "default", incarnation: 3 };

function word(more: Partial<BlockAudit> = {}): BlockAudit {
  const sound = { allocated: 0, cooling: 0, keys: [], holders: [], faults: [] };
  return { pool: POOL, epoch: 7, ...sound, ...more };
}

const OWNED: EntryFacts = { state: "owned", owner: "a", epoch: 7, confirmed: 7 };
const MINE: HostFacts = { row: { state: "confirmed", epoch: 7 }, hasBorrowed: false };
const NONE: HostFacts = { hasBorrowed: false };

function facts(
  entry: EntryFacts | undefined,
  said: BlockAudit | undefined,
  hosts: Record<string, HostFacts | undefined> = {},
): BlockFacts {
  return {
    pool: POOL,
    ...(entry === undefined ? {} : { entry }),
    ...(said === undefined ? {} : { word: said }),
    hosts: new Map(Object.entries(hosts)),
  };
}

const problemsOf = (all: BlockFacts) =>
  judgeBlock(all).map(({ problem, host, other, repair }) =>
    [problem, host, other, repair].filter((part) => part !== undefined).join(" "),
  );

const SOUND: Record<string, BlockFacts> = {
  "was never issued": facts(undefined, word({ epoch: 0 })),
  "is free, was used before": facts({ state: "free", epoch: 9 }, word()),
  "is free, its block knows an older pool": facts(
    { state: "free", epoch: 9 },
    word({ pool: { name: "older", incarnation: 1 }, epoch: 2 }),
  ),
  "drains, and holds": facts({ state: "draining", epoch: 8 }, word({ allocated: 1, holders: [] })),
  "drains, and cools": facts({ state: "draining", epoch: 8 }, word({ cooling: 1 })),
  "is owned, at one epoch": facts(OWNED, word({ owner: "a" }), { a: MINE }),
  "is owned, and was asked back in vain": facts({ ...OWNED, epoch: 12 }, word({ owner: "a" }), { a: MINE }),
  "is owned, and lends": facts(OWNED, word({ owner: "a", allocated: 1, holders: ["a", "b"] }), {
    a: MINE,
    b: { hasBorrowed: true },
  }),
  "is owned, and held by one whose own row waits to go": facts(
    OWNED,
    word({ owner: "a", allocated: 1, holders: ["a"] }),
    { a: MINE, b: NONE },
  ),
};

const WRONG: readonly [name: string, BlockFacts, ...string[]][] = [
  ["no word", facts(OWNED, undefined, { a: MINE }), "block_no_answer"],
  ["no word of a Host", facts(OWNED, word({ owner: "a" }), { a: undefined }), "host_no_answer a"],
  ["not listed", facts(undefined, word({ owner: "a" }), { a: MINE }), "block_not_listed a directory"],
  ["free and held", facts({ state: "free", epoch: 9 }, word({ allocated: 1 })), "block_not_listed directory"],
  [
    "another owner",
    facts({ ...OWNED, owner: "b" }, word({ owner: "a" }), { a: MINE, b: NONE }),
    "owner_differs b a directory",
  ],
  [
    "draining and owned",
    facts({ state: "draining", epoch: 9 }, word({ owner: "a" }), { a: MINE }),
    "owner_differs a directory",
  ],
  [
    "epochs forgotten",
    facts({ ...OWNED, epoch: 3 }, word({ owner: "a" }), { a: MINE }),
    "epoch_behind a directory",
  ],
  [
    "epochs forgotten that only a Host has seen",
    facts(OWNED, word({ owner: "a" }), { a: { ...MINE, row: { state: "confirmed", epoch: 9 } } }),
    "epoch_behind a directory",
    "epoch_differs a host",
  ],
  ["over and kept", facts({ state: "draining", epoch: 9 }, word()), "drained_block_kept directory"],
  ["offered in vain", facts(OWNED, word(), { a: NONE }), "offer_not_taken a give_back"],
  [
    "a claim under way, or left behind",
    facts(OWNED, word({ epoch: 6 }), { a: { row: { state: "pending", epoch: 7 }, hasBorrowed: false } }),
    "row_unsettled a host",
  ],
  [
    "no route",
    facts({ state: "owned", owner: "a", epoch: 7 }, word({ owner: "a" }), { a: MINE }),
    "route_missing a host",
  ],
  [
    "two that count it as theirs",
    facts(OWNED, word({ owner: "a" }), {
      a: MINE,
      b: { row: { state: "confirmed", epoch: 5 }, hasBorrowed: true },
    }),
    "not_the_owner b a host",
  ],
  ["nobody's, and counted", facts(OWNED, word(), { a: MINE }), "not_the_owner a host"],
  ["owner without a row", facts(OWNED, word({ owner: "a" }), { a: NONE }), "row_missing a host"],
  [
    "borrowed unknown",
    facts(OWNED, word({ owner: "a", holders: ["b"] }), { a: MINE, b: NONE }),
    "borrowing_unknown b note",
  ],
  [
    "another pool's",
    facts(OWNED, word({ owner: "a", pool: { name: "default", incarnation: 4 } }), { a: MINE }),
    "wrong_pool default",
  ],
  [
    "rows that contradict each other",
    facts(OWNED, word({ owner: "a", faults: [{ problem: "rows_contradict", address: "10.0.0.1" }] }), {
      a: MINE,
    }),
    "rows_contradict",
  ],
];

describe("a block", () => {
  it.each(Object.entries(SOUND))("that %s is sound", (_name, all) => {
    expect(judgeBlock(all)).toEqual([]);
  });

  it.each(WRONG)("with %s is named, with who mends it", (_name, all, ...expected) => {
    expect(problemsOf(all)).toEqual(expected);
  });

  it("outside every pool has no directory; what Hosts say of it still counts", () => {
    const { pool: _pool, ...nowhere } = facts(undefined, word({ epoch: 0 }), { a: MINE });
    expect(problemsOf(nowhere)).toEqual(["not_the_owner a host"]);
  });

  it("has one mark per problem, which moves with the epochs that it rests on", () => {
    const at = (epoch: number) =>
      judgeBlock(
        facts(OWNED, word({ owner: "a", epoch: 7 }), {
          a: { row: { state: "pending", epoch }, hasBorrowed: false },
        }),
      );
    const [one, other] = [at(6), at(7)];
    expect(one.map(problemName)).toEqual(other.map(problemName));
    expect(one.map(({ mark }) => mark)).not.toEqual(other.map(({ mark }) => mark));
    expect(at(6)).toEqual(one);
  });
});
