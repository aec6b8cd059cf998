/**
 * How many rows a statement counts as written, as the platform bills them.
 * May import: node:sqlite, sql-text. Tried side by side with the real runtime.
 *
 * A new row counts 1 and 1 more for each secondary index (a TEXT PRIMARY KEY with rowid has one);
 * a changed row 1 and 1 more for each index over a column that is set; a deleted row 1; a new
 * table 2 and 1 for each index of its own; any other change of the schema 1.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { RowsEffect, SchemaEffect } from "./sql-text.ts";

/** Counts the rows of one run of a statement. */
export class RowCount {
  readonly #db: DatabaseSync;
  readonly #effect: RowsEffect;
  readonly #perNew: number;
  readonly #perChanged: number;
  #rows: StatementSync | undefined;

  constructor(db: DatabaseSync, effect: RowsEffect) {
    this.#db = db;
    this.#effect = effect;
    const indexes = secondaryIndexes(db, effect.table);
    this.#perNew = 1 + indexes.length;
    this.#perChanged = 1 + indexes.filter((columns) => columns.some((c) => effect.sets.includes(c))).length;
  }

  /** Runs the statement; returns its changes in rows written. */
  around(run: () => number): number {
    switch (this.#effect.verb) {
      case "delete":
        return run();
      case "update":
        return run() * this.#perChanged;
      case "insert": {
        if (this.#perNew === this.#perChanged || this.#effect.sets.length === 0) return run() * this.#perNew;
        const before = this.#rowsThere();
        const changes = run();
        const added = this.#rowsThere() - before;
        return added * this.#perNew + (changes - added) * this.#perChanged;
      }
    }
  }

  #rowsThere(): number {
    this.#rows ??= this.#db.prepare(`SELECT count(*) AS n FROM "${this.#effect.table}"`);
    return Number(this.#rows.get()?.n);
  }
}

/** Counts a change of the schema that has just happened. */
export function schemaRows(db: DatabaseSync, { table }: SchemaEffect): number {
  return table === undefined ? 1 : 2 + secondaryIndexes(db, table).length;
}

/** The columns of each index of a table, without the key of a table WITHOUT ROWID. */
function secondaryIndexes(db: DatabaseSync, table: string): string[][] {
  const withoutRowid = db.prepare(`PRAGMA table_list("${table}")`).get()?.wr === 1;
  const indexes = db.prepare(`PRAGMA index_list("${table}")`).all();
  return indexes
    .filter((index) => !(withoutRowid && index.origin === "pk"))
    .map((index) =>
      db
        .prepare(`PRAGMA index_info("${index.name}")`)
        .all()
        .map(({ name }) => String(name)),
    );
}
