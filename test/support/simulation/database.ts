/**
 * The part of an object that survives its instances: a SQLite database and one alarm time, with
 * one open transaction per turn. May import: node:sqlite, sql-text, rows-written. It knows nothing of events.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { platformFault } from "./platform-fault.ts";
import { RowCount, schemaRows } from "./rows-written.ts";
import { effectOf, type SchemaEffect, type SqlEffect, splitStatements } from "./sql-text.ts";

export type SqlValue = ArrayBuffer | string | number | null;

/** What one call of exec() gave. */
export interface Executed {
  columns: string[];
  rows: SqlValue[][];
  rowsWritten: number;
}

interface Prepared {
  statement: StatementSync;
  columns: string[];
  effect: SqlEffect;
  /** Set where rows may be written. */
  count: RowCount | undefined;
}

const PARAMETERS_MAX = 100;
const STATEMENT_BYTES_MAX = 100 * 1024;

/** Rows written are counted in rows-written.ts; a change of the alarm counts 1. */
export class ObjectDatabase {
  /** Rows written by the open transaction. */
  rowsOpen = 0;
  /** The alarm as the running turn sees it. */
  alarm: number | null = null;
  /** Makes every write fail as on a full disk. */
  full = false;
  readonly #db = new DatabaseSync(":memory:");
  readonly #statements = new Map<string, Prepared>();
  readonly #parts = new Map<string, string[]>();
  #begun = false;
  #written = false;
  /** Did the open transaction change the schema? */
  #hasNewSchema = false;
  #depth = 0;
  #alarmCommitted: number | null = null;

  /** Is there something that a crash now would lose? */
  get isDirty(): boolean {
    return this.#written;
  }

  get sizeBytes(): number {
    const pages = this.#db.prepare("PRAGMA page_count").get()?.page_count;
    return Number(pages) * 4096;
  }

  /** Runs one or more statements; the bindings belong to the last. */
  exec(text: string, bindings: readonly unknown[]): Executed {
    if (bindings.length > PARAMETERS_MAX) throw new Error(`too many SQL variables: ${bindings.length}`);
    if (text.length > STATEMENT_BYTES_MAX) throw new Error("statement too long");
    let last: Executed = { columns: [], rows: [], rowsWritten: 0 };
    let rowsWritten = 0;
    const parts = this.#parts.get(text) ?? splitStatements(text);
    this.#parts.set(text, parts);
    for (const [position, query] of parts.entries()) {
      const isLast = position === parts.length - 1;
      last = this.#run(this.#prepare(query), isLast ? bindings.map(boundValue) : []);
      rowsWritten += last.rowsWritten;
    }
    return { ...last, rowsWritten };
  }

  /** Runs a function whose writes are kept together or not at all; may be nested. */
  transaction<T>(work: () => T): T {
    this.#begin();
    const before = { rows: this.rowsOpen, written: this.#written, alarm: this.alarm };
    const point = `nested_${this.#depth++}`;
    this.#db.exec(`SAVEPOINT ${point}`);
    try {
      const result = work();
      if (result instanceof Promise) throw new Error("transactionSync() takes a function without await");
      this.#db.exec(`RELEASE ${point}`);
      return result;
    } catch (thrown) {
      this.#db.exec(`ROLLBACK TO ${point}; RELEASE ${point}`);
      this.rowsOpen = before.rows;
      this.#written = before.written;
      this.alarm = before.alarm;
      if (this.#hasNewSchema) this.#forgetStatements();
      throw thrown;
    } finally {
      this.#depth--;
    }
  }

  setAlarm(time: number | null): void {
    if (this.alarm === time) return;
    this.#openForWrite();
    this.#written = true;
    this.rowsOpen += 1;
    this.alarm = time;
  }

  deleteAll(): void {
    const objects =
      "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'";
    for (const { type, name } of this.#db.prepare(objects).all()) {
      this.#openForWrite();
      this.#db.exec(`DROP ${type} "${name}"`);
      this.#written = true;
      this.rowsOpen += 1;
    }
    this.#forgetStatements();
    this.setAlarm(null);
  }

  /** Makes the turn's writes durable; says how many rows they were. */
  commit(): number {
    const rows = this.rowsOpen;
    if (this.#begun) this.#db.exec("COMMIT");
    this.#alarmCommitted = this.alarm;
    this.#close();
    return rows;
  }

  /** Loses what was not committed. */
  rollback(): void {
    if (this.#begun) this.#db.exec("ROLLBACK");
    this.alarm = this.#alarmCommitted;
    if (this.#hasNewSchema) this.#forgetStatements();
    this.#close();
  }

  /** Takes or restores the alarm without a write of the object: it fired, or its run was cut off. */
  replaceAlarm(time: number | null): void {
    this.alarm = time;
    this.#alarmCommitted = time;
  }

  #close(): void {
    this.#begun = false;
    this.#written = false;
    this.#hasNewSchema = false;
    this.rowsOpen = 0;
  }

  /** What was learned of statements rests on the schema. */
  #forgetStatements(): void {
    this.#statements.clear();
    this.#hasNewSchema = true;
  }

  #begin(): void {
    if (this.#begun) return;
    this.#db.exec("BEGIN");
    this.#begun = true;
  }

  #openForWrite(): void {
    if (this.full) throw platformFault("storage_full");
    this.#begin();
  }

  #prepare(query: string): Prepared {
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

  #run(prepared: Prepared, values: SQLInputValue[]): Executed {
    const { statement, columns, effect, count } = prepared;
    if (effect.kind !== "read") this.#openForWrite();
    let rows: SqlValue[][] = [];
    const run = (): number => {
      if (columns.length === 0) return Number(statement.run(...values).changes);
      rows = (statement.all(...values) as unknown as unknown[][]).map((row) => row.map(resultValue));
      return Number(this.#db.prepare("SELECT changes() AS n").get()?.n);
    };
    let rowsWritten = 0;
    if (effect.kind === "schema") rowsWritten = this.#changeSchema(effect, run);
    else if (count !== undefined) rowsWritten = count.around(run);
    else run();
    this.rowsOpen += rowsWritten;
    if (rowsWritten > 0) this.#written = true;
    return { columns, rows, rowsWritten };
  }

  #changeSchema(effect: SchemaEffect, run: () => void): number {
    const before = this.#schemaVersion();
    run();
    if (this.#schemaVersion() === before) return 0;
    this.#forgetStatements();
    return schemaRows(this.#db, effect);
  }

  #schemaVersion(): number {
    return Number(this.#db.prepare("PRAGMA schema_version").get()?.schema_version);
  }
}

function boundValue(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError(`a ${typeof value} cannot be bound to SQL`);
}

function resultValue(value: unknown): SqlValue {
  if (value instanceof Uint8Array) return value.slice().buffer as ArrayBuffer;
  return value as SqlValue;
}
