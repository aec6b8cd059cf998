/** A Pool whose tables are of the version before routes: read, told and claimed from as it is. */
import { expect, test } from "vitest";
import { PoolObject } from "../../durable-objects/pool.ts";
import { POOL_MIGRATIONS } from "../../durable-objects/storage/pool-rows.ts";
import type { PoolPort, PoolTarget } from "../../src/rpc/pool.ts";
import { deploy } from "../support/simulation/deployment.ts";

const target: PoolTarget = { pool: "default", incarnation: 0, cidr: "10.0.0.0/24", blockSize: 26 };
const OBJECT = "pool:v1:default:default:0";

interface Storage {
  readonly storage: { readonly sql: { exec(query: string): unknown } };
}

/** Writes what the version before would have left: one block of `a`, claimed at epoch 1. */
class OldPool extends PoolObject {
  async age(): Promise<void> {
    const { sql } = (this.ctx as unknown as Storage).storage;
    sql.exec("CREATE TABLE schema_version (version INTEGER PRIMARY KEY) STRICT");
    for (const statement of POOL_MIGRATIONS[0] ?? []) sql.exec(statement);
    sql.exec("INSERT INTO schema_version (version) VALUES (1)");
    sql.exec("INSERT INTO pool VALUES (1, '10.0.0.0/24', 26, 0, 1, 0)");
    sql.exec("INSERT INTO block VALUES (zeroblob(16), 'owned', 'a', 1, 5, NULL)");
    sql.exec("INSERT INTO extent VALUES (unhex(printf('%032X', 3)), unhex(printf('%032X', 1)))");
  }
}

test("I5: an older version's rows are read after the upgrade, and its Hosts' words make routes", async () => {
  const { world } = deploy({ PoolObject: OldPool });
  const ask = <M extends keyof PoolPort>(method: M, request: object) =>
    world.ask<Awaited<ReturnType<PoolPort[M]>>>(OBJECT, method, { ...target, ...request });
  await world.ask(OBJECT, "age");
  world.evict(OBJECT);
  const { entries } = await ask("list", { limit: 10 });
  expect(entries).toMatchObject([{ block: "10.0.0.0/26", state: "owned", owner: "a", epoch: 1 }]);
  expect(await ask("routes", { limit: 10 })).toEqual({ routes: [], revision: 0 });
  const word = { blocks: [{ block: "10.0.0.0/26", confirmed: { epoch: 1 } }] };
  expect(await ask("report", word)).toEqual({ accepted: 0, confirmed: 1 });
  const { routes } = await ask("routes", { limit: 10 });
  expect(routes).toEqual([{ destination: "10.0.0.0/26", host: "a", kind: "block" }]);
  expect(await ask("claim", { owner: "b", known: [], excluded: [], tried: [] })).toMatchObject({
    ...{ kind: "claim", epoch: 2 },
  });
});
