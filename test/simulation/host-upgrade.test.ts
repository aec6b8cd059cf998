/** A Host whose tables are of the version before the tally of affinities: its rows count against caps. */
import { expect, test } from "vitest";
import { HostObject } from "../../durable-objects/host.ts";
import { HOST_MIGRATIONS } from "../../durable-objects/storage/host-rows.ts";
import { hostObjectName } from "../../src/core/ids.ts";
import type { HostPort } from "../../src/rpc/host.ts";
import { deploy } from "../support/simulation/deployment.ts";

const OBJECT = hostObjectName("a");
const VERSION = 2;

interface Storage {
  readonly storage: { readonly sql: { exec(query: string): unknown } };
}

/** Writes what the version before would have left: two blocks of IPv4 and one of IPv6. */
class OldHost extends HostObject {
  async age(): Promise<void> {
    const { sql } = (this.ctx as unknown as Storage).storage;
    sql.exec("CREATE TABLE schema_version (version INTEGER PRIMARY KEY) STRICT");
    for (const statement of HOST_MIGRATIONS.slice(0, VERSION).flat()) sql.exec(statement);
    for (let version = 1; version <= VERSION; version += 1) {
      sql.exec(`INSERT INTO schema_version (version) VALUES (${version})`);
    }
    for (const [block, pool, family] of [
      ["10.0.0.0/26", "10.0.0.0/24", 4],
      ["10.0.0.64/26", "10.0.0.0/24", 4],
      ["fd00::/122", "fd00::/120", 6],
    ]) {
      sql.exec(
        `INSERT INTO affinities VALUES ('${block}', 'p${family}', '${pool}', 0, ${family}, 'confirmed', 1, 5)`,
      );
    }
  }
}

test("I10: rows of an older version are counted after the upgrade", async () => {
  const { world } = deploy({ HostObject: OldHost });
  await world.ask(OBJECT, "age");
  world.evict(OBJECT);
  const { rows } = await world.ask<Awaited<ReturnType<HostPort["affinities"]>>>(OBJECT, "affinities", {
    host: "a",
  });
  expect(rows.map(({ block }) => block).sort()).toEqual(["10.0.0.0/26", "10.0.0.64/26", "fd00::/122"]);
  expect(world.rows(OBJECT, "SELECT family, affinities FROM tally ORDER BY family")).toEqual([
    { family: 4, affinities: 2 },
    { family: 6, affinities: 1 },
  ]);
});
