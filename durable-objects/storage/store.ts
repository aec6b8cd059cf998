/**
 * SQL of one object: schema on the first write, counted rows, one transaction per decision.
 * May import: core. Rule: nothing is created by reading.
 */
import { InvariantViolation } from "../../src/core/invariant.ts";

export type SqlValue = string | number | null | ArrayBuffer;
export type SqlRow = Record<string, SqlValue>;

/** Append-only: entry n holds the statements that lead from version n to n + 1. */
export type Migrations = readonly (readonly string[])[];

/** What this object did since it woke; the budget tests read it. */
export interface Counters {
  /** RPC events by method. */
  calls: Record<string, number>;
  commits: number;
  rowsWritten: number;
  rowsRead: number;
}

/** The tables of one object. Invariant: writes happen only inside `transaction`. */
export class Store {
  readonly counters: Counters = { calls: {}, commits: 0, rowsWritten: 0, rowsRead: 0 };
  readonly #storage: DurableObjectStorage;
  readonly #migrations: Migrations;
  readonly #newest: readonly string[] | undefined;
  #version: number | undefined;
  #inside = false;

  /** `newest` makes in few statements what all migrations make; absent: they are all run. */
  constructor(storage: DurableObjectStorage, migrations: Migrations, newest?: readonly string[]) {
    this.#storage = storage;
    this.#migrations = migrations;
    this.#newest = newest;
  }

  /** Counts one RPC event. */
  countCall(method: string): void {
    this.counters.calls[method] = (this.counters.calls[method] ?? 0) + 1;
  }

  /** Reads rows; an object without tables has none. */
  rows<T extends SqlRow>(query: string, ...bindings: SqlValue[]): T[] {
    if (!this.#hasTables()) return [];
    const cursor = this.#storage.sql.exec(query, ...bindings);
    const found = cursor.toArray() as T[];
    this.counters.rowsRead += cursor.rowsRead;
    return found;
  }

  /** Reads the row that a key names, if there is one. */
  row<T extends SqlRow>(query: string, ...bindings: SqlValue[]): T | undefined {
    return this.rows<T>(query, ...bindings)[0];
  }

  /** Writes; only inside a transaction. Returns the rows written, secondary indexes included. */
  write(query: string, ...bindings: SqlValue[]): number {
    if (!this.#inside) throw new InvariantViolation("a write outside a transaction");
    this.#migrate();
    // Without rows to give, the statement has run to its end by now.
    const cursor = this.#storage.sql.exec(query, ...bindings);
    this.counters.rowsWritten += cursor.rowsWritten;
    return cursor.rowsWritten;
  }

  /**
   * Runs a decision: reads, pure code, writes, and commits all or nothing. One that writes nothing
   * creates nothing: anybody may name an object that was never used.
   * Rejects: whatever the decision throws; nothing is written then.
   */
  transaction<T>(decide: () => T): T {
    if (this.#inside) throw new InvariantViolation("a transaction inside a transaction");
    const before = this.counters.rowsWritten;
    this.#inside = true;
    try {
      const outcome = this.#storage.transactionSync(decide);
      if (this.counters.rowsWritten > before) this.counters.commits += 1;
      return outcome;
    } catch (failure) {
      this.#version = undefined;
      throw failure;
    } finally {
      this.#inside = false;
    }
  }

  /** Tables of an older version are brought up to date before they are read. */
  #hasTables(): boolean {
    if (this.#version === undefined) this.#version = this.#readVersion();
    const isOlder = this.#version > 0 && this.#version < this.#migrations.length;
    if (isOlder && this.#inside) this.#migrate();
    else if (isOlder) this.#storage.transactionSync(() => this.#migrate());
    return this.#version > 0;
  }

  #readVersion(): number {
    const table = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'";
    if (this.#storage.sql.exec(table).toArray().length === 0) return 0;
    const row = this.#storage.sql.exec("SELECT max(version) AS version FROM schema_version").one();
    const version = Number(row.version ?? 0);
    // A release that was put back in place of a newer one would write what that one cannot read.
    if (version > this.#migrations.length) {
      throw new Error(`SCHEMA_TOO_NEW: tables of version ${version}, code of ${this.#migrations.length}`);
    }
    return version;
  }

  #migrate(): void {
    if (this.#version === this.#migrations.length) return;
    let version = this.#readVersion();
    if (version === 0) {
      this.#storage.sql.exec(
        "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY) STRICT",
      );
    }
    const isNew = version === 0 && this.#newest !== undefined;
    const steps = isNew ? [this.#newest] : this.#migrations.slice(version);
    if (isNew) version = this.#migrations.length - 1;
    for (const statements of steps) {
      for (const statement of statements ?? []) this.#storage.sql.exec(statement);
      version += 1;
      this.#storage.sql.exec("INSERT INTO schema_version (version) VALUES (?)", version);
    }
    this.#version = version;
  }
}
