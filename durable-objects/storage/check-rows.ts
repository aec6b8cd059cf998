/**
 * The tables of checks: where each stands, what it found, what is to be looked at again.
 * May import: core, store. Rule: a finding is stored before anything is mended for it.
 */
import type { CheckRequest, CheckView, Finding, ListedFinding } from "../../src/core/check.ts";
import type { CheckPlace, CheckTask } from "../check-task.ts";
import type { SqlRow, Store } from "./store.ts";

/** Checks that somebody asked for, and those that the Sweep makes by itself: each series has its tables. */
export type CheckSeries = "" | "upkeep_";

/** The tables of one series. */
export function checkTables(series: CheckSeries): readonly string[] {
  return [
    `CREATE TABLE ${series}checks (
       number INTEGER PRIMARY KEY CHECK (number > 0),
       request TEXT NOT NULL,
       state TEXT NOT NULL CHECK (state IN ('running', 'done', 'failed')),
       started_at INTEGER NOT NULL,
       finished_at INTEGER,
       problems INTEGER NOT NULL,
       repaired INTEGER NOT NULL,
       checked INTEGER NOT NULL,
       total INTEGER NOT NULL,
       place TEXT NOT NULL,
       step INTEGER NOT NULL,
       failures INTEGER NOT NULL,
       CHECK ((state = 'running') = (finished_at IS NULL))
     ) STRICT`,
    `CREATE TABLE ${series}findings (
       check_number INTEGER NOT NULL,
       name TEXT NOT NULL,
       number INTEGER NOT NULL,
       finding TEXT NOT NULL,
       repaired INTEGER CHECK (repaired IN (0, 1)),
       PRIMARY KEY (check_number, number)
     ) STRICT, WITHOUT ROWID`,
    `CREATE UNIQUE INDEX ${series}findings_by_name ON ${series}findings (check_number, name)`,
    `CREATE TABLE ${series}tasks (
       name TEXT PRIMARY KEY,
       due INTEGER NOT NULL,
       task TEXT NOT NULL
     ) STRICT, WITHOUT ROWID`,
  ];
}

/** Checks whose results are kept. */
const CHECKS_KEPT = 8;
/** Findings of one check that are listed; the others are counted, and mended, all the same. */
const FINDINGS_LISTED_MAX = 10_000;

/** A check as stored. `step` fences: an instance that was replaced commits nothing. */
export interface StoredCheck extends Omit<CheckView, "id"> {
  readonly number: number;
  readonly request: CheckRequest;
  readonly place: CheckPlace;
  readonly step: number;
  /** Slices that failed since the last that did not. */
  readonly failures: number;
  /** Of the problems those that are only told of. */
  readonly reports: number;
}

interface CheckRow extends SqlRow {
  number: number;
  request: string;
  state: CheckView["state"];
  started_at: number;
  finished_at: number | null;
  problems: number;
  repaired: number;
  checked: number;
  total: number;
  place: string;
  step: number;
  failures: number;
  reports: number;
}

function toCheck(row: CheckRow): StoredCheck {
  return {
    number: row.number,
    request: JSON.parse(row.request) as CheckRequest,
    state: row.state,
    startedAt: row.started_at,
    ...(row.finished_at === null ? {} : { finishedAt: row.finished_at }),
    problems: row.problems,
    repaired: row.repaired,
    blocksChecked: row.checked,
    blocksTotal: row.total,
    place: JSON.parse(row.place) as CheckPlace,
    step: row.step,
    failures: row.failures,
    reports: row.reports,
  };
}

export class CheckRows {
  readonly #store: Store;
  readonly #checks: string;
  readonly #findings: string;
  readonly #tasks: string;

  constructor(store: Store, series: CheckSeries) {
    this.#store = store;
    this.#checks = `${series}checks`;
    this.#findings = `${series}findings`;
    this.#tasks = `${series}tasks`;
  }

  running(): StoredCheck | undefined {
    const row = this.#store.row<CheckRow>(`SELECT * FROM ${this.#checks} WHERE state = 'running'`);
    return row && toCheck(row);
  }

  /** The one that began last, whether it runs or not. */
  last(): StoredCheck | undefined {
    const row = this.#store.row<CheckRow>(`SELECT * FROM ${this.#checks} ORDER BY number DESC LIMIT 1`);
    return row && toCheck(row);
  }

  find(number: number): StoredCheck | undefined {
    const row = this.#store.row<CheckRow>(`SELECT * FROM ${this.#checks} WHERE number = ?`, number);
    return row && toCheck(row);
  }

  /** Begins a check; inside a transaction in which none runs. */
  begin(request: CheckRequest, place: CheckPlace, now: number): StoredCheck {
    const last =
      this.#store.row<{ top: number | null }>(`SELECT max(number) AS top FROM ${this.#checks}`)?.top ?? 0;
    const check: StoredCheck = {
      ...{ number: last + 1, request, state: "running", startedAt: now, place, step: 0, failures: 0 },
      ...{ problems: 0, repaired: 0, blocksChecked: 0, blocksTotal: 0, reports: 0 },
    };
    const oldest = check.number - CHECKS_KEPT;
    this.#store.write(`DELETE FROM ${this.#checks} WHERE number <= ?`, oldest);
    this.#store.write(`DELETE FROM ${this.#findings} WHERE check_number <= ?`, oldest);
    this.#store.write(`DELETE FROM ${this.#tasks}`);
    this.put(check);
    return check;
  }

  put(check: StoredCheck): void {
    this.#store.write(
      `INSERT OR REPLACE INTO ${this.#checks} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      check.number,
      JSON.stringify(check.request),
      check.state,
      check.startedAt,
      check.finishedAt ?? null,
      check.problems,
      check.repaired,
      check.blocksChecked,
      check.blocksTotal,
      JSON.stringify(check.place),
      check.step,
      check.failures,
      check.reports,
    );
  }

  /** Stores a finding; false: it is known already. */
  addFinding({ number, problems }: StoredCheck, name: string, finding: Finding): boolean {
    if (problems >= FINDINGS_LISTED_MAX) return true;
    const written = this.#store.write(
      `INSERT OR IGNORE INTO ${this.#findings} VALUES (?, ?, ?, ?, NULL)`,
      number,
      name,
      problems + 1,
      JSON.stringify(finding),
    );
    return written > 0;
  }

  noteRepair({ number }: StoredCheck, name: string, repaired: boolean): void {
    this.#store.write(
      `UPDATE ${this.#findings} SET repaired = ? WHERE check_number = ? AND name = ?`,
      Number(repaired),
      number,
      name,
    );
  }

  findings(number: number, after: number, limit: number): ListedFinding[] {
    const query = `SELECT number, finding, repaired FROM ${this.#findings}
      WHERE check_number = ? AND number > ? ORDER BY number LIMIT ?`;
    const rows = this.#store.rows<{ number: number; finding: string; repaired: number | null }>(
      query,
      number,
      after,
      limit,
    );
    return rows.map((row) => ({
      ...(JSON.parse(row.finding) as Finding),
      number: row.number,
      ...(row.repaired === null ? {} : { repaired: row.repaired === 1 }),
    }));
  }

  task(name: string): CheckTask | undefined {
    const row = this.#store.row<{ task: string }>(`SELECT task FROM ${this.#tasks} WHERE name = ?`, name);
    return row && (JSON.parse(row.task) as CheckTask);
  }

  putTask(name: string, due: number, task: CheckTask): void {
    this.#store.write(
      `INSERT OR REPLACE INTO ${this.#tasks} VALUES (?, ?, ?)`,
      name,
      due,
      JSON.stringify(task),
    );
  }

  dropTask(name: string): void {
    this.#store.write(`DELETE FROM ${this.#tasks} WHERE name = ?`, name);
  }

  /** Tasks that are due, longest first. */
  dueTasks(now: number, limit: number): { readonly name: string; readonly task: CheckTask }[] {
    const query = `SELECT name, task FROM ${this.#tasks} WHERE due <= ? ORDER BY due, name LIMIT ?`;
    const rows = this.#store.rows<{ name: string; task: string }>(query, now, limit);
    return rows.map(({ name, task }) => ({ name, task: JSON.parse(task) as CheckTask }));
  }

  /** How many tasks there are, and when the next is due. */
  tasks(): { readonly count: number; readonly nextDue: number } {
    const query = `SELECT count(*) AS n, min(due) AS next FROM ${this.#tasks}`;
    const row = this.#store.row<{ n: number; next: number | null }>(query);
    return { count: row?.n ?? 0, nextDue: row?.next ?? 0 };
  }
}
