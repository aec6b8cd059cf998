/**
 * A simulated deployment of one Pool, with short ways to call it.
 * May import: the simulation, durable-objects, src. Used by the pool's tests only.
 */
import { PoolObject } from "../../durable-objects/pool.ts";
import type { BlockCounts } from "../../src/core/allocation.ts";
import { poolObjectName } from "../../src/core/ids.ts";
import type { PoolPort, PoolTarget } from "../../src/rpc/pool.ts";
import { deploy } from "../support/simulation/deployment.ts";

type Method = keyof PoolPort;
type Answer<M extends Method> = Awaited<ReturnType<PoolPort[M]>>;
/** A request without what says which pool is meant. */
type Given<M extends Method> = Omit<Parameters<PoolPort[M]>[0], keyof PoolTarget>;

export const EPOCHS = 2 ** 32;

interface Bulk {
  readonly storage: { readonly sql: { exec(query: string, ...values: unknown[]): unknown } };
}

/** The real object, with methods that set its tables as a long life, or a drain, would have. */
class FilledPoolObject extends PoolObject {
  /** Every position gets a block of one of 64 owners, but each hundredth stays free. */
  async fill(positions: number): Promise<void> {
    const { sql } = (this.ctx as unknown as Bulk).storage;
    const all = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${positions})`;
    const key = (value: string) => `unhex(printf('%032X', ${value}))`;
    sql.exec("DELETE FROM extent");
    sql.exec("DELETE FROM block");
    sql.exec(
      `${all} INSERT INTO block (position, state, owner, epoch, issued_at)
      SELECT ${key("i")}, 'owned', 'filler-' || (i % 64), i + 1, 1 FROM n WHERE i % 100 <> 99`,
    );
    sql.exec(
      `${all} INSERT INTO extent (last, first) SELECT ${key("i")}, ${key("i")} FROM n WHERE i % 100 = 99`,
    );
    sql.exec("UPDATE pool SET last_epoch = ?", positions);
  }

  /** Stands in for the first step of a drain. */
  async setTerminating(): Promise<void> {
    (this.ctx as unknown as Bulk).storage.sql.exec("UPDATE pool SET terminating = 1");
  }
}

/** Makes the world; by default a pool of four blocks. */
export function poolWorld(given: Partial<PoolTarget> = {}, seed = 1) {
  const target: PoolTarget = {
    pool: "default",
    incarnation: 0,
    cidr: "10.0.0.0/24",
    blockSize: 26,
    ...given,
  };
  const object = poolObjectName(target.pool, target.incarnation);
  const { world } = deploy({ PoolObject: FilledPoolObject }, { seed });
  const ask = <M extends Method>(method: M, request: Given<M>) =>
    world.ask<Answer<M>>(object, method, { ...target, ...request });
  return {
    world,
    target,
    object,
    ask,
    /** Begins a call; nothing moves yet. */
    call: <M extends Method>(method: M, request: Given<M>) =>
      world.call<Answer<M>>(object, method, { ...target, ...request }),
    claim: (owner: string, more: Partial<Given<"claim">> = {}) =>
      ask("claim", { owner, known: [], excluded: [], tried: [], ...more }),
    report: (block: string, counts?: BlockCounts) =>
      ask("report", { blocks: [counts === undefined ? { block } : { block, counts }] }),
    borrow: (owner: string, more: Partial<Given<"borrowCandidates">> = {}) =>
      ask("borrowCandidates", { owner, limit: 10, tried: [], seen: [], ...more }),
    entry: async (block: string) => (await ask("find", { block })).entry,
    setTerminating: () => world.ask(object, "setTerminating"),
    fill: (positions: number) => world.ask(object, "fill", positions),
    counters: () => world.ask<ReturnType<PoolObject["counters"]>>(object, "counters"),
    extents: () =>
      world
        .rows(object, "SELECT hex(first) AS first, hex(last) AS last FROM extent ORDER BY last")
        .map(({ first, last }) => [BigInt(`0x${first}`), BigInt(`0x${last}`)] as const),
    evict: () => world.evict(object),
  };
}

/** A claim that must have been answered with a block. */
export function claimed(answer: Answer<"claim">): { block: string; epoch: number } {
  if (answer.kind !== "claim") throw new Error(`no claim: ${JSON.stringify(answer)}`);
  return answer;
}

/** Counts of a block of 64 addresses. */
export function counts(given: Partial<BlockCounts>): BlockCounts {
  const { allocated = 0, cooling = 0 } = given;
  const free = 64 - allocated - cooling;
  const rest = { capacity: 64, hostReserved: 0, free, reserved: 0, available: free, borrowed: 0, asOf: 0 };
  return { ...rest, ...given, allocated, cooling };
}
