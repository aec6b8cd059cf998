/**
 * One SQLite database in memory with all that was learned of it, and a shelf of those that are free:
 * tables made once serve the same class in the next world.
 * May import: node:sqlite, sql-text, rows-written. Rule: one from the shelf holds no row.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { RowCount, schemaRows } from "./rows-written.ts";
import { effectOf, type SchemaEffect, type SqlEffect } from "./sql-text.ts";

export interface Prepared {
  readonly statement: StatementSync;
  readonly columns: string[];
  readonly effect: SqlEffect;
  /** Set where rows may be written. */
  readonly count: RowCount | undefined;
}

/** A change of the schema, and the rows that it counted as. */
interface SchemaChange {
  readonly text: string;
  readonly rows: number;
}

const SHELF_MAX = 64;
const shelf = new Map<string, Engine[]>();

export class Engine {
  readonly #db = new DatabaseSync(":memory:");
  readonly #statements = new Map<string, Prepared>();
  /** Statements of the simulation itself, by text. */
  readonly #own = new Map<string, StatementSync>();
  readonly #schema: SchemaChange[] = [];
  /** Its tables, once it has been put back. */
  #tables: readonly string[] | undefined;
  /** How many of the schema's changes its present user has made; the others it has yet to ask for. */
  #made = 0;
  #isSpoilt = false;

  prepare(query: string): Prepared {
    const known = this.#statements.get(query);
    if (known !== undefined) return known;
    const effect = effectOf(query);
    const statement = this.#db.prepare(query);
    statement.setReturnArrays(true);
    const columns = statement.columns().map((column) => column.name);
    const count = effect.kind === "rows" ? new RowCount(this.#db, effect) : undefined;
    const prepared = { statement, columns, effect, count };
    this.#statements.set(query, prepared);
    return prepared;
  }

  /** A statement that writes rows; absent where it moves those of a table that its schema has replaced. */
  prepareWrite(query: string): Prepared | undefined {
    try {
      return this.prepare(query);
    } catch (thrown) {
      // The tables are there as the last change left them; who comes to an earlier one has no rows yet.
      if (this.#made === 0 || this.#made === this.#schema.length) throw thrown;
      return undefined;
    }
  }

  /** A statement of the simulation itself. */
  own(text: string): StatementSync {
    const known = this.#own.get(text);
    if (known !== undefined) return known;
    const statement = this.#db.prepare(text);
    this.#own.set(text, statement);
    return statement;
  }

  /** Changes the schema; returns the rows that count as written. */
  changeSchema(text: string, effect: SchemaEffect): number {
    const next = this.#schema[this.#made];
    if (next?.text === text) {
      this.#made += 1;
      return next.rows;
    }
    if (next !== undefined) throw new Error(`a class has changed its schema: ${text}`);
    const before = this.#schemaVersion();
    this.#db.exec(text);
    const isChange = this.#schemaVersion() !== before;
    if (isChange) this.#statements.clear();
    const rows = isChange ? schemaRows(this.#db, effect) : 0;
    this.#schema.push({ text, rows });
    this.#made += 1;
    return rows;
  }

  /** Told that changes of the schema were undone: what was learned of statements rests on it. */
  spoil(): void {
    this.#statements.clear();
    this.#isSpoilt = true;
  }

  /** Ends its use: it goes to the shelf, without rows, or away. */
  putBack(className: string): void {
    const same = shelf.get(className) ?? [];
    if (this.#isSpoilt || this.#made < this.#schema.length || same.length >= SHELF_MAX) {
      this.#db.close();
      return;
    }
    this.#tables ??= this.own("SELECT name FROM sqlite_master WHERE type = 'table'")
      .all()
      .map(({ name }) => String(name));
    for (const table of this.#tables) this.own(`DELETE FROM "${table}"`).run();
    this.#made = 0;
    same.push(this);
    shelf.set(className, same);
  }

  close(): void {
    this.#db.close();
  }

  #schemaVersion(): number {
    return Number(this.own("PRAGMA schema_version").get()?.schema_version);
  }
}

/** A database for an object of a class that makes its first table. */
export function takeEngine(className: string): Engine {
  return shelf.get(className)?.pop() ?? new Engine();
}
