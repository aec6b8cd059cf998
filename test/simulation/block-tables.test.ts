/** The tables of a new block are those that an old one has after its migrations. */
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { BLOCK_MIGRATIONS, BLOCK_TABLES } from "../../durable-objects/storage/block-rows.ts";

function schemaAfter(statements: readonly string[]) {
  const database = new DatabaseSync(":memory:");
  try {
    for (const statement of statements) database.exec(statement);
    return database.prepare("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name").all();
  } finally {
    database.close();
  }
}

test("a new block has the very tables that all migrations lead to", () => {
  const migrated = schemaAfter(BLOCK_MIGRATIONS.flat());
  expect(migrated.map(({ name }) => name)).toEqual(["block", "ordinals"]);
  expect(schemaAfter(BLOCK_TABLES)).toEqual(migrated);
});
