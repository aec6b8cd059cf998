/**
 * `ctx.storage` as one instance sees it: the shared database behind the instance's own gate.
 * May import: database. Every touch asks the gate first, which a dead or fenced instance fails.
 */
import type { ObjectDatabase, SqlValue } from "./database.ts";

/** What the storage asks of the instance it belongs to. */
export interface StorageGate {
  /** Enters the turn; throws, and ends the instance, when the storage is no longer its own. */
  touch(what: string): void;
  /** Settles in a later turn, once all writes so far are committed. */
  settled(): Promise<void>;
}

type Row = Record<string, SqlValue>;

/** The rows of one statement, already read. Counts: see database.ts. */
export class SimulatedCursor implements Iterable<Row> {
  readonly columnNames: string[];
  readonly rowsWritten: number;
  readonly rowsRead: number;
  readonly #rows: SqlValue[][];
  #next = 0;

  constructor(columns: string[], rows: SqlValue[][], rowsWritten: number) {
    this.columnNames = columns;
    this.rowsWritten = rowsWritten;
    this.rowsRead = rows.length;
    this.#rows = rows;
  }

  next(): { done?: false; value: Row } | { done: true; value?: never } {
    const row = this.#rows[this.#next];
    if (row === undefined) return { done: true };
    this.#next++;
    return { value: this.#named(row) };
  }

  toArray(): Row[] {
    return [...this];
  }

  one(): Row {
    const rows = this.toArray();
    if (rows.length !== 1) {
      throw new Error(`Expected exactly one result from SQL query, but got ${rows.length} results.`);
    }
    return rows[0] as Row;
  }

  *raw(): Generator<SqlValue[]> {
    for (; this.#next < this.#rows.length; this.#next++) yield this.#rows[this.#next] as SqlValue[];
  }

  *[Symbol.iterator](): Generator<Row> {
    for (let step = this.next(); !step.done; step = this.next()) yield step.value;
  }

  #named(values: SqlValue[]): Row {
    const row: Row = {};
    for (let at = 0; at < values.length; at++) row[this.columnNames[at] as string] = values[at] ?? null;
    return row;
  }
}

/** The calls that must have the platform's own shape; `sql` is checked by its use. */
type Platform = Pick<
  DurableObjectStorage,
  "transactionSync" | "sync" | "setAlarm" | "getAlarm" | "deleteAlarm" | "deleteAll"
>;

export class SimulatedStorage implements Platform {
  readonly sql: {
    exec(query: string, ...bindings: unknown[]): SimulatedCursor;
    readonly databaseSize: number;
  };
  readonly #database: ObjectDatabase;
  readonly #gate: StorageGate;

  constructor(database: ObjectDatabase, gate: StorageGate) {
    this.#database = database;
    this.#gate = gate;
    this.sql = {
      exec(query, ...bindings) {
        gate.touch("sql.exec");
        const { columns, rows, rowsWritten } = database.exec(query, bindings);
        return new SimulatedCursor(columns, rows, rowsWritten);
      },
      get databaseSize() {
        gate.touch("databaseSize");
        return database.sizeBytes;
      },
    };
  }

  transactionSync<T>(work: () => T): T {
    this.#gate.touch("transactionSync");
    return this.#database.transaction(work);
  }

  async sync(): Promise<void> {
    this.#gate.touch("sync");
    await this.#gate.settled();
  }

  async setAlarm(time: number | Date): Promise<void> {
    this.#gate.touch("setAlarm");
    this.#database.setAlarm(typeof time === "number" ? time : time.getTime());
  }

  async getAlarm(): Promise<number | null> {
    this.#gate.touch("getAlarm");
    return this.#database.alarm;
  }

  async deleteAlarm(): Promise<void> {
    this.#gate.touch("deleteAlarm");
    this.#database.setAlarm(null);
  }

  async deleteAll(): Promise<void> {
    this.#gate.touch("deleteAll");
    this.#database.deleteAll();
  }
}
