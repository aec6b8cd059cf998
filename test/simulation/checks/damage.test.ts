/**
 * Each kind of damage, planted in the rows of one object: found, named, mended; a second check is silent.
 * May import: the simulation and its support.
 */
import { describe, expect, test } from "vitest";
import { checkRows, snapshot } from "../../support/simulation/checker.ts";
import { check, lines } from "../../support/simulation/checks.ts";
import { Scene } from "../../support/simulation/scene.ts";
import { HOST_A, HOST_B, POOL, SHARD } from "../histories/stage.ts";

const POOLS = { default: { cidr: "10.0.0.0/28", blockSize: 30 } };

interface Holding {
  readonly scene: Scene;
  /** Block of host a, and of host b. */
  readonly ofA: string;
  readonly ofB: string;
}

/** Two hosts with a block and two addresses each; the index has passed over its old rows once. */
async function holding(): Promise<Holding> {
  const scene = await Scene.open({ pools: POOLS, settings: { indexPassMs: 20_000 } });
  const blocks: string[] = [];
  for (const host of ["a", "b"]) {
    const got = await scene.world.during(scene.allocate(host, { handle: `of-${host}`, v4: 2 }));
    if (got.kind !== "ok") throw new Error(JSON.stringify(got));
    blocks.push(got.addresses[0]?.block ?? "");
  }
  await scene.world.advance(60_000);
  return { scene, ofA: blocks[0] as string, ofB: blocks[1] as string };
}

function objectOf(block: string): string {
  return `block:v1:default:${block.replace("/", "-")}`;
}

function positionOf(block: string): number {
  return Number(block.split("/")[0]?.split(".")[3]) / 4;
}

/** The key of a Pool's row, as SQL. */
function rowOf(block: string): string {
  return `x'${positionOf(block).toString(16).padStart(32, "0")}'`;
}

interface Damage {
  readonly name: string;
  readonly plant: (held: Holding) => void;
  readonly found: (held: Holding) => readonly string[];
  /** Two that plant in the same row do not go together. */
  readonly row?: string;
}

const DAMAGES: readonly Damage[] = [
  {
    name: "I5: a held key without a row in the index",
    plant: ({ scene }) => scene.world.damage(SHARD, "DELETE FROM keys WHERE handle = 'of-a'"),
    found: ({ ofA }) => [`key_not_listed ${ofA} of-a`],
  },
  {
    name: "a held key that the index calls spent",
    plant: ({ scene }) => scene.world.damage(SHARD, "UPDATE keys SET state = 'spent' WHERE handle = 'of-a'"),
    found: ({ ofA }) => [`key_listed_as_spent ${ofA} of-a`],
  },
  {
    name: "I9: a row that counts fewer addresses than are held",
    plant: ({ scene }) => scene.world.damage(SHARD, "UPDATE keys SET count = 1 WHERE handle = 'of-a'"),
    found: ({ ofA }) => [`key_counted_short ${ofA} of-a`],
  },
  {
    name: "a row of a key that its block never held",
    plant: ({ scene }) =>
      scene.world.damage(SHARD, "UPDATE keys SET handle = 'stranger' WHERE handle = 'of-a'"),
    found: ({ ofA }) => [`key_not_listed ${ofA} of-a`, `key_not_held ${ofA} stranger`],
  },
  {
    name: "I5: a block whose directory row is gone",
    plant: ({ scene, ofA }) => scene.world.damage(POOL, `DELETE FROM block WHERE position = ${rowOf(ofA)}`),
    found: ({ ofA }) => [`space_lost ${ofA}`, `block_not_listed ${ofA}`],
  },
  {
    name: "I5: a block in use that the directory calls free and offers",
    plant: ({ scene, ofA }) => {
      const row = rowOf(ofA);
      scene.world.damage(
        POOL,
        `UPDATE block SET state = 'free', owner = NULL, confirmed = NULL, counts = NULL WHERE position = ${row}`,
      );
      scene.world.damage(POOL, `INSERT INTO extent (last, first) VALUES (${row}, ${row})`);
    },
    row: "entry",
    found: ({ ofA }) => [`block_not_listed ${ofA}`],
  },
  {
    name: "a directory row that names another owner",
    plant: ({ scene, ofA }) =>
      scene.world.damage(
        POOL,
        `UPDATE block SET owner = 'b', confirmed = NULL WHERE position = ${rowOf(ofA)}`,
      ),
    row: "entry",
    found: ({ ofA }) => [`owner_differs ${ofA} b`],
  },
  {
    name: "a Pool that has forgotten epochs",
    plant: ({ scene, ofA }) => {
      const object = objectOf(ofA);
      scene.world.damage(object, "UPDATE block SET epoch = 9, header = json_set(header, '$.epoch', 9)");
      scene.world.damage(HOST_A, "UPDATE affinities SET epoch = 9");
    },
    found: ({ ofA }) => [`epoch_behind ${ofA} a`],
  },
  {
    name: "an offer that nobody took",
    plant: ({ scene }) => {
      scene.world.damage(
        POOL,
        `INSERT INTO block (position, state, owner, epoch, issued_at, began) VALUES (${rowOf("10.0.0.12/30")}, 'owned', 'b', 40, 1, 40)`,
      );
      scene.world.damage(POOL, "UPDATE pool SET last_epoch = 40");
    },
    row: "spare",
    found: () => ["offer_not_taken 10.0.0.12/30 b", "used_block_offered 10.0.0.12/30"],
  },
  {
    name: "a block that is over and kept out of the free space",
    plant: ({ scene }) => {
      scene.world.damage(
        POOL,
        `INSERT INTO block (position, state, epoch, issued_at, began) VALUES (${rowOf("10.0.0.12/30")}, 'draining', 40, 1, 40)`,
      );
      scene.world.damage(POOL, "UPDATE pool SET last_epoch = 40");
    },
    row: "spare",
    found: () => ["drained_block_kept 10.0.0.12/30", "used_block_offered 10.0.0.12/30"],
  },
  {
    name: "a route that the Pool has never heard of",
    plant: ({ scene, ofA }) =>
      scene.world.damage(POOL, `UPDATE block SET confirmed = NULL WHERE position = ${rowOf(ofA)}`),
    found: ({ ofA }) => [`route_missing ${ofA} a`],
  },
  {
    name: "free space that is lost",
    plant: ({ scene }) => scene.world.damage(POOL, "DELETE FROM extent"),
    found: () => ["space_lost 10.0.0.8/30"],
  },
  {
    name: "I6: a row of a Host whose block is another's",
    plant: ({ scene, ofA, ofB }) =>
      scene.world.damage(HOST_A, "UPDATE affinities SET block = ? WHERE block = ?", ofB, ofA),
    found: ({ ofA, ofB }) => [`row_missing ${ofA} a`, `not_the_owner ${ofB} a`],
  },
  {
    name: "a row of a Host at another epoch than its block",
    plant: ({ scene }) => scene.world.damage(HOST_A, "UPDATE affinities SET epoch = epoch + 7"),
    found: ({ ofA }) => [`epoch_behind ${ofA} a`, `epoch_differs ${ofA} a`],
  },
  {
    name: "a Host that has lost its row",
    plant: ({ scene }) => {
      scene.world.damage(HOST_B, "DELETE FROM affinities");
      scene.world.damage(HOST_B, "DELETE FROM tally");
    },
    found: ({ ofB }) => [`row_missing ${ofB} b`],
  },
  {
    name: "a claim that was never ended",
    plant: ({ scene }) => scene.world.damage(HOST_B, "UPDATE affinities SET state = 'pending'"),
    found: ({ ofB }) => [`row_unsettled ${ofB} b`],
  },
  {
    name: "a release that was never ended",
    plant: ({ scene }) => scene.world.damage(HOST_B, "UPDATE affinities SET state = 'pendingDeletion'"),
    found: ({ ofB }) => [`row_unsettled ${ofB} b`],
  },
  {
    name: "a Host that does not know where it has borrowed",
    plant: ({ scene, ofA }) =>
      scene.world.damage(
        objectOf(ofA),
        "UPDATE ordinals SET current = json_set(current, '$.host', 'b') WHERE ordinal = 0",
      ),
    found: ({ ofA }) => [`borrowing_unknown ${ofA} b`],
  },
  {
    name: "a host that Cluster does not list",
    plant: ({ scene }) => scene.world.damage("cluster:v1:default", "DELETE FROM host WHERE name = 'b'"),
    found: () => ["host_not_listed b"],
  },
  {
    name: "a Host that has lost everything, and its block",
    plant: ({ scene }) => {
      for (const table of ["affinities", "tally", "host"]) scene.world.damage(HOST_A, `DELETE FROM ${table}`);
    },
    found: ({ ofA }) => [`row_missing ${ofA} a`],
  },
];

describe("a check with repair", () => {
  test.each(DAMAGES)("$name", async ({ plant, found }) => {
    const held = await holding();
    const { scene } = held;
    expect(lines(await check(scene)), "sound").toEqual([]);
    plant(held);
    const expected = [...found(held)].sort();
    expect(lines(await check(scene)).sort()).toEqual(expected);
    const repaired = await check(scene, { repair: true });
    expect(lines(repaired).sort()).toEqual(expected.map((line) => `${line} repaired`));
    const { length } = expected;
    expect(repaired.view).toMatchObject({ state: "done", problems: length, repaired: length });
    expect(lines(await check(scene)), "after repair").toEqual([]);
    expect(checkRows(snapshot(scene))).toEqual([]);
  });
});

describe("two damages at once", () => {
  const pairs = DAMAGES.flatMap((one, index) => {
    const others = DAMAGES.slice(index + 1).filter(({ row }) => row === undefined || row !== one.row);
    return others.map((other) => [one, other] as const);
  });

  test.each(pairs.map(([one, other]) => ({ name: `${one.name}; ${other.name}`, one, other })))(
    "are mended in one check: $name",
    async ({ one, other }) => {
      const held = await holding();
      const { scene } = held;
      one.plant(held);
      other.plant(held);
      const { view, ...repaired } = await check(scene, { repair: true });
      expect(view.problems).toBeGreaterThan(0);
      expect(lines({ view, ...repaired }).filter((line) => line.endsWith("left"))).toEqual([]);
      expect(lines(await check(scene)), lines({ view, ...repaired }).join("\n")).toEqual([]);
      expect(checkRows(snapshot(scene))).toEqual([]);
    },
  );
});

test("I10: a word of a check that comes late takes no block that its host does not own", async () => {
  const { scene, ofA } = await holding();
  const { ports } = scene.deployed;
  const free = ["10.0.0.0/30", "10.0.0.4/30", "10.0.0.8/30", "10.0.0.12/30"].filter((one) => one !== ofA);
  for (const block of free) {
    const word = { host: "a", block, pool: "default", incarnation: 0 };
    expect(await scene.world.during(ports.host("a").settleBlock(word))).toEqual({ kind: "settled" });
  }
  const { rows } = await scene.world.during(ports.host("a").affinities({ host: "a" }));
  expect(rows.map(({ block }) => block)).toEqual([ofA]);
  expect(checkRows(snapshot(scene))).toEqual([]);
});
