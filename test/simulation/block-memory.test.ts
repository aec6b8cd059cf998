/** A Block's memory is a hint: what others wrote, what was not stored, and what an older version left. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BlockObject } from "../../durable-objects/block.ts";
import { BLOCK_MIGRATIONS } from "../../durable-objects/storage/block-rows.ts";
import type { AllocateItem, BlockPort } from "../../src/rpc/block.ts";
import { runs } from "../support/seeds.ts";
import type { Call } from "../support/simulation/client.ts";
import { deploy } from "../support/simulation/deployment.ts";

const BLOCK = "10.0.0.0/30";
const OBJECT = "block:v1:default:10.0.0.0-30";
const TARGET = { block: BLOCK, pool: "p", poolCidr: "10.0.0.0/24", incarnation: 0 };
const policy = { reserved: [], cooldownMs: 1_000 };
const ALL = { block: BLOCK, policy, records: "all" } as const;

interface Storage {
  readonly storage: { readonly sql: { exec(query: string): unknown } };
}

/** A Block whose rows a test can change behind its back. */
class PlantedBlock extends BlockObject {
  async plant(...statements: string[]): Promise<void> {
    const { sql } = (this.ctx as unknown as Storage).storage;
    for (const statement of statements) sql.exec(statement);
  }
}

/** Hears what a Block reports. */
class Listener {
  async blockChanged(): Promise<void> {}
  async report(): Promise<void> {}
}

type Method = Exclude<keyof BlockPort, "counters">;
type Answer<M extends Method> = Awaited<ReturnType<BlockPort[M]>>;

function bench(isClaimed = true) {
  const { world } = deploy({ BlockObject: PlantedBlock, HostObject: Listener, PoolObject: Listener });
  const ask = <M extends Method>(method: M, request: object) =>
    world.ask<Answer<M>>(OBJECT, method, { ...TARGET, ...request });
  const plant = (...statements: string[]) => world.ask(OBJECT, "plant", ...statements);
  const item = (handle: string, more: Partial<AllocateItem> = {}): AllocateItem => ({
    ...{ handle, key: `key-${handle}`, host: "a", use: "Workload", attributes: {}, leakCollection: "auto" },
    ...{ count: 1, strict: false, policy, until: world.now + 500, ...more },
  });
  const allocate = async (handle: string, more: Partial<AllocateItem> = {}) =>
    (await ask("allocate", { items: [item(handle, more)] })).outcomes[0];
  const take = async (handle: string, more: Partial<AllocateItem> = {}) => {
    const outcome = await allocate(handle, more);
    if (outcome?.kind !== "created" || outcome.records[0] === undefined) throw new Error(outcome?.kind);
    return outcome.records[0];
  };
  const release = (handle: string) =>
    ask("releaseHandle", {
      ...{ handle, keys: [{ key: `key-${handle}`, finalAfter: world.now - 60_000 }], cooldownMs: 1_000 },
    });
  const claim = () => ask("claim", { owner: "a", epoch: 1, until: world.now + 500, cooldownMs: 1_000 });
  const ready = isClaimed ? claim() : Promise.resolve();
  return { world, ask, plant, item, allocate, take, release, ready };
}

type Step =
  | { readonly do: "allocate"; readonly handle: string; readonly ordinal?: number | undefined }
  | { readonly do: "release" | "undo" | "holds"; readonly handle: string }
  | { readonly do: "claim" | "leave"; readonly epoch: number }
  | { readonly do: "describe" | "pass" };

const handle = fc.constantFrom("h0", "h1", "h2", "h3");
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("allocate" as const),
      handle,
      ordinal: fc.option(fc.nat(3), { nil: undefined, freq: 3 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom("release", "undo", "holds"), handle }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("claim", "leave"), epoch: fc.integer({ min: 1, max: 9 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("describe", "pass") }) },
);

/** What one block answers to the steps when each goes to one of its living instances. */
async function answersOf(history: readonly (Step & { readonly to: number })[], instances: number) {
  const { world, item, ready } = bench();
  await ready;
  const olds = Array.from({ length: instances - 1 }, () => world.supersede(OBJECT, "shared"));
  const answers: unknown[] = [];
  let told: { key: string; addresses: { address: string; touch: number }[] } | undefined;
  for (const step of history) {
    const old = olds[step.to % instances];
    const ask = async (method: Method, request: object): Promise<unknown> => {
      const named = { ...TARGET, ...request };
      const call: Call = old?.call(method, named) ?? world.call(OBJECT, method, named);
      return await world.answerOf(call);
    };
    const named =
      "handle" in step ? { handle: step.handle, key: `key-${step.handle}` } : { handle: "", key: "" };
    const keys = [{ ...named, finalAfter: 0 }];
    switch (step.do) {
      case "allocate": {
        const exact = step.ordinal === undefined ? {} : { ordinal: step.ordinal };
        const items = [item(step.handle, { attempt: `t${answers.length}`, ...exact })];
        const answer = (await ask("allocate", { items })) as Answer<"allocate">;
        const [outcome] = answer.outcomes;
        if (outcome?.kind === "created") told = { ...named, addresses: [...outcome.records] };
        answers.push(answer);
        break;
      }
      case "release":
        answers.push(await ask("releaseHandle", { handle: step.handle, keys, cooldownMs: 1_000 }));
        break;
      case "undo":
        answers.push(
          await ask("undo", {
            addresses: [],
            ...told,
            handle: told?.key.slice(4) ?? "",
            key: told?.key ?? "",
          }),
        );
        break;
      case "holds":
        answers.push(await ask("holds", { keys }));
        break;
      case "claim": {
        const terms = { owner: "a", until: world.now + 500, cooldownMs: 1_000 };
        answers.push(await ask("claim", { ...terms, epoch: step.epoch }));
        break;
      }
      case "leave":
        answers.push(
          await ask("releaseAffinity", {
            owner: "a",
            epoch: step.epoch,
            mustBeEmpty: true,
            cooldownMs: 1_000,
          }),
        );
        break;
      case "describe":
        answers.push(await ask("describe", ALL));
        break;
      case "pass":
        await world.advance(600);
    }
  }
  return answers;
}

describe("instances that live on", () => {
  test("I1 I3 I13: three that share the storage answer as one would, whoever is asked", async () => {
    const histories = fc.array(
      fc.tuple(steps, fc.nat(2)).map(([step, to]) => ({ ...step, to })),
      { maxLength: 25 },
    );
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        expect(await answersOf(history, 3)).toEqual(await answersOf(history, 1));
      }),
      { numRuns: runs(60) },
    );
  });
});

describe("rows that were written behind its back", () => {
  const CURRENT = `'{"handle":"x","key":"kx","granted":1,"host":"a","use":"Workload","attributes":{},"leakCollection":"auto","sequenceNumber":50,"allocatedAt":1}'`;

  test("I1: an address that memory thinks unused is not given out again", async () => {
    const { ready, take, plant, world } = bench();
    await ready;
    await take("h1");
    await plant(`INSERT INTO ordinals VALUES (50, 1, 1, 'allocated', ${CURRENT}, '[]', NULL)`);
    expect(await take("h2")).toMatchObject({ address: "10.0.0.2", sequenceNumber: 51 });
    const held = world.rows(OBJECT, "SELECT ordinal FROM ordinals ORDER BY ordinal");
    expect(held).toEqual([{ ordinal: 0 }, { ordinal: 1 }, { ordinal: 2 }]);
  });

  test("I1: nor is one that memory thinks free", async () => {
    const { ready, take, plant, release, world, allocate } = bench();
    await ready;
    for (const name of ["h0", "h1", "h2", "h3"]) await take(name);
    await release("h2");
    await world.advance(2_000);
    await plant(
      `UPDATE ordinals SET number = 50, state = 'allocated', current = ${CURRENT} WHERE ordinal = 2`,
    );
    expect(await allocate("h4")).toMatchObject({ kind: "full", counts: { allocated: 4, available: 0 } });
  });

  test("I13: what memory thinks held, spent or absent is answered from what is stored", async () => {
    const { ready, take, plant, ask } = bench();
    await ready;
    await take("h1");
    await plant(`INSERT INTO ordinals VALUES (50, 1, 1, 'allocated', ${CURRENT}, '[]', NULL)`);
    const keys = [{ handle: "x", key: "kx", finalAfter: 0 }];
    expect(await ask("holds", { keys })).toEqual({ held: ["held"], counts: [1] });
    await plant("DELETE FROM ordinals WHERE ordinal = 1");
    expect(await ask("holds", { keys })).toMatchObject({ held: ["not_held"] });
  });

  test("a row that goes without a trace is not written over: the decision is made anew, once", async () => {
    const { ready, take, plant, release, world } = bench();
    await ready;
    await take("h0");
    await take("h1");
    await plant("DELETE FROM ordinals WHERE ordinal = 0");
    expect((await release("h0")).keys).toEqual([{ key: "key-h0", outcome: "absent", records: [] }]);
    expect(world.rows(OBJECT, "SELECT ordinal FROM ordinals")).toEqual([{ ordinal: 1 }]);
  });

  test("two rows of one ordinal are a defect, not an answer", async () => {
    const { ready, take, plant, ask } = bench();
    await ready;
    await take("h1");
    await plant(`INSERT INTO ordinals VALUES (50, 0, 1, 'allocated', ${CURRENT}, '[]', NULL)`);
    await expect(ask("describe", ALL)).rejects.toThrow("an ordinal has one row");
  });
});

describe("what was not stored", () => {
  test("I4: a decision that a full disk refused is in memory neither", async () => {
    const { ready, take, release, allocate, ask, world } = bench();
    await ready;
    await take("h1");
    world.setFull(OBJECT, true);
    await expect(allocate("h2")).rejects.toThrow();
    await expect(release("h1")).rejects.toThrow();
    const view = await ask("describe", ALL);
    expect(view.records.map(({ handle: of }) => of)).toEqual(["h1"]);
    expect(view.counts).toMatchObject({ allocated: 1, cooling: 0, free: 3 });
    world.setFull(OBJECT, false);
    expect(await take("h2")).toMatchObject({ address: "10.0.0.1", sequenceNumber: 2 });
  });
});

describe("what outlives memory", () => {
  test("I15: a late copy of an undone attempt creates nothing in the next instance either", async () => {
    const { ready, take, allocate, ask, world } = bench();
    await ready;
    const until = world.now + 1_500;
    const { address, touch } = await take("h1", { attempt: "t1", until });
    const undone = await ask("undo", { handle: "h1", key: "key-h1", addresses: [{ address, touch }] });
    expect(undone).toEqual({ undone: [address] });
    world.evict(OBJECT);
    expect(await allocate("h1", { attempt: "t1", until })).toMatchObject({ kind: "late" });
    expect(await allocate("h1", { attempt: "t2" })).toMatchObject({ kind: "created" });
  });

  test("that past tenures were dropped is said after a wake too", async () => {
    const { ready, take, release, ask, world } = bench();
    await ready;
    const asked = { address: "10.0.0.0", policy };
    for (const name of ["h0", "h1"]) {
      await take(name, { ordinal: 0 });
      await release(name);
      await world.advance(700_000);
    }
    await take("h2", { ordinal: 0 });
    const before = await ask("inspect", asked);
    expect(before).toMatchObject({ isComplete: false });
    world.evict(OBJECT);
    expect(await ask("inspect", asked)).toEqual(before);
  });
});

test("I4: rows of the version before are read after the upgrade, and written from then on", async () => {
  const { plant, ask, take, release, world } = bench(false);
  const header = { ...TARGET, owner: "a", epoch: 1, counter: 0, at: 1, claimedAt: 1 };
  const tenure = { granted: 1, host: "a", use: "Workload", attributes: {}, leakCollection: "auto" };
  const held = { ...tenure, handle: "h0", key: "key-h0", sequenceNumber: 7, allocatedAt: 5 };
  const past = [
    { ...tenure, handle: "p", key: "kp", sequenceNumber: 3, allocatedAt: 1, releasedAt: 2, freedAt: 4 },
  ];
  await plant(
    "CREATE TABLE schema_version (version INTEGER PRIMARY KEY) STRICT",
    ...(BLOCK_MIGRATIONS[0] ?? []),
    "INSERT INTO schema_version (version) VALUES (1)",
    `INSERT INTO block VALUES (1, 'a', 1, 0, '${JSON.stringify(header)}')`,
    `INSERT INTO ordinals VALUES (2, 7, 5, 'allocated', '${JSON.stringify(held)}', '[]')`,
    `INSERT INTO ordinals VALUES (1, 4, 2, 'released', NULL, '${JSON.stringify(past)}')`,
  );
  world.evict(OBJECT);
  const view = await ask("describe", ALL);
  expect(view).toMatchObject({ owner: "a", sequenceNumber: 7, counts: { allocated: 1, free: 3 } });
  expect(view.records).toMatchObject([{ address: "10.0.0.2", handle: "h0", sequenceNumber: 7 }]);
  expect(await take("h1")).toMatchObject({ address: "10.0.0.0", sequenceNumber: 8 });
  await release("h0");
  world.evict(OBJECT);
  expect(await ask("holds", { keys: [{ handle: "h0", key: "key-h0", finalAfter: 0 }] })).toMatchObject({
    held: ["released"],
  });
});
