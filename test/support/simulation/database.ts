/**
 * The part of an object that survives its instances: a SQLite database and one alarm time, with
 * one open transaction per turn. May import: engine, sql-text. It knows nothing of events.
 */
import type { SQLInputValue } from "node:sqlite";
import { Engine, takeEngine } from "./engine.ts";
import { platformFault } from "./platform-fault.ts";
import { effectOf, type SchemaEffect, type SqlEffect, splitStatements } from "./sql-text.ts";

export type SqlValue = ArrayBuffer | string | number | null;

/** What one call of exec() gave. */
export interface Executed {
  columns: string[];
  rows: SqlValue[][];
  rowsWritten: number;
}

const PARAMETERS_MAX = 100;
const STATEMENT_BYTES_MAX = 100 * 1024;

/** Read by objects that never wrote. */
const nothing = new Engine();
/** What texts say: their statements, and what each does. */
const cut = new Map<string, readonly string[]>();
const effects = new Map<string, SqlEffect>();

/** Rows written are counted in rows-written.ts; a change of the alarm counts 1. */
export class ObjectDatabase {
  /** Rows written by the open transaction. */
  rowsOpen = 0;
  /** The alarm as the running turn sees it. */
  alarm: number | null = null;
  /** Makes every write fail as on a full disk. */
  full = false;
  /** Moves on with every commit that wrote something; what was read at one version stays true at it. */
  version = 0;
  readonly #className: string;
  /** There once the object has made a table. */
  #engine: Engine | undefined;
  /** Has the engine a transaction? */
  #begun = false;
  #written = false;
  /** Did the open transaction change the schema, or make it? */
  #schema: "same" | "changed" | "made" = "same";
  #depth = 0;
  #alarmCommitted: number | null = null;

  constructor(className = "") {
    this.#className = className;
  }

  /** Is there something that a crash now would lose? */
  get isDirty(): boolean {
    return this.#written;
  }

  get sizeBytes(): number {
    return Number((this.#engine ?? nothing).own("PRAGMA page_count").get()?.page_count) * 4096;
  }

  /** Runs one or more statements; the bindings belong to the last. */
  exec(text: string, bindings: readonly unknown[]): Executed {
    if (bindings.length > PARAMETERS_MAX) throw new Error(`too many SQL variables: ${bindings.length}`);
    if (text.length > STATEMENT_BYTES_MAX) throw new Error("statement too long");
    let parts = cut.get(text);
    if (parts === undefined) {
      parts = splitStatements(text);
      cut.set(text, parts);
    }
    let last: Executed = { columns: [], rows: [], rowsWritten: 0 };
    let rowsWritten = 0;
    for (const [position, query] of parts.entries()) {
      const isLast = position === parts.length - 1;
      last = this.#run(query, isLast ? bindings.map(boundValue) : []);
      rowsWritten += last.rowsWritten;
    }
    return { ...last, rowsWritten };
  }

  /** Runs a function whose writes are kept together or not at all; may be nested. */
  transaction<T>(work: () => T): T {
    const before = { rows: this.rowsOpen, written: this.#written, alarm: this.alarm };
    // Without an earlier write to a table, a failure undoes all of the turn's.
    const point = this.#begun ? `nested_${this.#depth}` : undefined;
    if (point !== undefined) this.#engine?.own(`SAVEPOINT ${point}`).run();
    this.#depth++;
    try {
      const result = work();
      if (result instanceof Promise) throw new Error("transactionSync() takes a function without await");
      if (point !== undefined) this.#engine?.own(`RELEASE ${point}`).run();
      return result;
    } catch (thrown) {
      this.#undo(point);
      this.rowsOpen = before.rows;
      this.#written = before.written;
      this.alarm = before.alarm;
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
    for (const [type, name] of this.exec(objects, []).rows) this.exec(`DROP ${type} "${name}"`, []);
    this.setAlarm(null);
  }

  /** Makes the turn's writes durable; says how many rows they were. */
  commit(): number {
    const rows = this.rowsOpen;
    if (this.#begun) this.#engine?.own("COMMIT").run();
    if (this.#written) this.version++;
    this.#alarmCommitted = this.alarm;
    this.#close();
    return rows;
  }

  /** Loses what was not committed. */
  rollback(): void {
    this.#undo(undefined);
    this.alarm = this.#alarmCommitted;
    this.#close();
  }

  /** Takes or restores the alarm without a write of the object: it fired, or its run was cut off. */
  replaceAlarm(time: number | null): void {
    this.alarm = time;
    this.#alarmCommitted = time;
  }

  /** Ends the object's life for good; its tables may serve another. */
  dispose(): void {
    this.rollback();
    this.#engine?.putBack(this.#className);
    this.#engine = undefined;
  }

  #close(): void {
    this.#begun = false;
    this.#written = false;
    this.#schema = "same";
    this.rowsOpen = 0;
  }

  /** Undoes the writes since a savepoint; without one, all of the turn. */
  #undo(point: string | undefined): void {
    const engine = this.#engine;
    if (engine === undefined || !this.#begun) return;
    if (point !== undefined) {
      engine.own(`ROLLBACK TO ${point}`).run();
      engine.own(`RELEASE ${point}`).run();
    } else {
      engine.own("ROLLBACK").run();
      this.#begun = false;
    }
    if (this.#schema === "same") return;
    engine.spoil();
    if (this.#schema === "made" && point === undefined) {
      engine.close();
      this.#engine = undefined;
    }
  }

  #openForWrite(): void {
    if (this.full) throw platformFault("storage_full");
  }

  /** The object's own database, with the turn's transaction open. */
  #opened(isForSchema: boolean): Engine {
    this.#openForWrite();
    if (this.#engine === undefined) {
      this.#engine = isForSchema ? takeEngine(this.#className) : new Engine();
      this.#schema = "made";
    }
    if (!this.#begun) this.#engine.own("BEGIN").run();
    this.#begun = true;
    return this.#engine;
  }

  #run(query: string, values: SQLInputValue[]): Executed {
    const effect = knownEffectOf(query);
    if (effect.kind === "read") {
      const { statement, columns } = (this.#engine ?? nothing).prepare(query);
      return { columns, rows: rowsOf(statement.all(...values)), rowsWritten: 0 };
    }
    const engine = this.#opened(effect.kind === "schema");
    const done =
      effect.kind === "schema" ? this.#change(engine, query, effect) : write(engine, query, values);
    this.rowsOpen += done.rowsWritten;
    if (done.rowsWritten > 0) this.#written = true;
    return done;
  }

  #change(engine: Engine, query: string, effect: SchemaEffect): Executed {
    const rowsWritten = engine.changeSchema(query, effect);
    if (rowsWritten > 0 && this.#schema === "same") this.#schema = "changed";
    return { columns: [], rows: [], rowsWritten };
  }
}

function write(engine: Engine, query: string, values: SQLInputValue[]): Executed {
  const prepared = engine.prepareWrite(query);
  if (prepared === undefined) return { columns: [], rows: [], rowsWritten: 0 };
  const { statement, columns, count } = prepared;
  let rows: SqlValue[][] = [];
  const run = (): number => {
    if (columns.length === 0) return Number(statement.run(...values).changes);
    rows = rowsOf(statement.all(...values));
    return Number(engine.own("SELECT changes() AS n").get()?.n);
  };
  const rowsWritten = count?.around(run) ?? 0;
  return { columns, rows, rowsWritten };
}

function knownEffectOf(query: string): SqlEffect {
  const known = effects.get(query);
  if (known !== undefined) return known;
  const effect = effectOf(query);
  effects.set(query, effect);
  return effect;
}

function boundValue(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError(`a ${typeof value} cannot be bound to SQL`);
}

/** The statements give arrays; bytes are handed out as the platform does. */
function rowsOf(found: unknown): SqlValue[][] {
  const rows = found as unknown[][];
  for (const row of rows) {
    for (const [at, value] of row.entries()) {
      if (value instanceof Uint8Array) row[at] = value.slice().buffer;
    }
  }
  return rows as SqlValue[][];
}
