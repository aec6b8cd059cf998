/** A Sweep whose tables are of the version before events of releases: what was released by then is no news. */
import { expect, test } from "vitest";
import { SWEEP_MIGRATIONS } from "../../../durable-objects/storage/sweep-rows.ts";
import { SweepObject } from "../../../durable-objects/sweep.ts";
import type { SweepPort } from "../../../src/rpc/sweep.ts";
import { deploy } from "../../support/simulation/deployment.ts";
import { figuresOf, SWEEP } from "./sweep-stage.ts";

const VERSION = 3;
const POOL = { allocated: 1, borrowed: 0, blocks: 1, candidates: 0 };

interface Storage {
  readonly storage: { readonly sql: { exec(query: string, ...values: unknown[]): unknown } };
}

/** Writes what the version before would have left: one host that told of itself, one that never did. */
class OldSweep extends SweepObject {
  async age(): Promise<void> {
    const { sql } = (this.ctx as unknown as Storage).storage;
    sql.exec("CREATE TABLE schema_version (version INTEGER PRIMARY KEY) STRICT");
    for (const statement of SWEEP_MIGRATIONS.slice(0, VERSION).flat()) sql.exec(statement);
    for (let version = 1; version <= VERSION; version += 1) {
      sql.exec(`INSERT INTO schema_version (version) VALUES (${version})`);
    }
    const pools = { blue: { ...POOL, reclaimed: 70 }, 'odd "name"': { ...POOL, reclaimed: 1 } };
    const hosts = [
      ["a", JSON.stringify(figuresOf({ pools }))],
      ["b", null],
      ["c", JSON.stringify(figuresOf())],
    ];
    for (const [host, figures] of hosts) {
      sql.exec(
        "INSERT INTO gc_hosts VALUES (?, 'host', 1, 1, 0, 1, 10, 0, 0, 0, NULL, ?, 0, NULL, NULL, 0)",
        ...[host, figures],
      );
    }
  }
}

test("what hosts had released before the upgrade stands as told", async () => {
  const { world } = deploy({ SweepObject: OldSweep });
  await world.ask(SWEEP, "age");
  world.evict(SWEEP);
  const { hosts } = await world.ask<Awaited<ReturnType<SweepPort["hostFigures"]>>>(SWEEP, "hostFigures", {
    limit: 10,
  });
  expect(hosts.map(({ host }) => host)).toEqual(["a", "c"]);
  const rows = world.rows(SWEEP, "SELECT told FROM gc_hosts ORDER BY host");
  expect(rows.map(({ told }) => (told === null ? null : JSON.parse(String(told))))).toEqual([
    { released: { blue: 70, 'odd "name"': 1 } },
    null,
    { released: {} },
  ]);
  world.dispose();
});
