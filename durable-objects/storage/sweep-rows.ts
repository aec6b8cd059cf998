/**
 * The tables of the collector's Sweep: what each host told last, how far a sweep has come, what was released.
 * May import: core, rpc, store. Rule: a row of a host is written once per sweep, and when what it tells differs.
 */
import { releasedBetween, risenOnly } from "../../src/core/leak-status.ts";
import { firstTold, type HostTold } from "../../src/core/sweep-news.ts";
import type { HostLeakFigures } from "../../src/rpc/leaks.ts";
import { checkTables } from "./check-rows.ts";
import type { Migrations, SqlRow, Store } from "./store.ts";

export const SWEEP_MIGRATIONS: Migrations = [
  checkTables(""),
  [
    `CREATE TABLE gc_state (
       name TEXT PRIMARY KEY,
       state TEXT NOT NULL
     ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE gc_hosts (
       host TEXT PRIMARY KEY,
       kind TEXT NOT NULL CHECK (kind IN ('host', 'virtual')),
       met INTEGER NOT NULL,
       met_at INTEGER NOT NULL,
       again INTEGER NOT NULL CHECK (again >= 0),
       audited_at INTEGER NOT NULL,
       allocated INTEGER NOT NULL CHECK (allocated >= 0),
       candidates INTEGER NOT NULL,
       confirmed INTEGER NOT NULL,
       held INTEGER NOT NULL,
       report_at INTEGER,
       figures TEXT,
       was_seen INTEGER NOT NULL CHECK (was_seen IN (0, 1)),
       missing_since INTEGER,
       not_found_at INTEGER,
       is_unreadable INTEGER NOT NULL CHECK (is_unreadable IN (0, 1)),
       CHECK (was_seen = 1 OR missing_since IS NULL)
     ) STRICT, WITHOUT ROWID`,
    "CREATE TABLE gc_nodes (page INTEGER PRIMARY KEY, names TEXT NOT NULL) STRICT",
    "CREATE TABLE gc_released (minute INTEGER PRIMARY KEY, addresses INTEGER NOT NULL) STRICT",
  ],
  [
    ...checkTables("upkeep_"),
    "ALTER TABLE checks ADD COLUMN reports INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE upkeep_checks ADD COLUMN reports INTEGER NOT NULL DEFAULT 0",
  ],
  [
    "ALTER TABLE gc_hosts ADD COLUMN told TEXT",
    // What was released before there were events of it is no news.
    `UPDATE gc_hosts SET told = json_object('released', (
       SELECT json_group_object(pools.key, json_extract(pools.value, '$.reclaimed'))
       FROM json_each(gc_hosts.figures, '$.pools') AS pools
     )) WHERE figures IS NOT NULL`,
  ],
];

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** One host as it stands. Units: milliseconds since 1970. */
export interface SweptHost {
  readonly host: string;
  readonly kind: "host" | "virtual";
  /** The sweep that met it last. */
  readonly met: number;
  readonly metAt: number;
  /** How often it said in this sweep that there is more to do; 0: it is done. */
  readonly again: number;
  /** Absent: it has not answered yet. */
  readonly figures?: HostLeakFigures;
  /** What the cluster says of its node. */
  readonly node: NodeRow;
  /** Absent: nothing was told of it, or what was stays as it stands. */
  readonly told?: HostTold;
}

/** Invariant: only what was seen once can be missing. */
export interface NodeRow {
  readonly wasSeen: boolean;
  readonly missingSince?: number;
  readonly notFoundAt?: number;
  readonly isUnreadable: boolean;
}

export interface HostSums {
  readonly hosts: number;
  readonly allocated: number;
  readonly candidates: number;
  readonly confirmed: number;
  readonly held: number;
  readonly newestAuditAt: number;
  readonly stale: number;
  readonly neverReported: number;
}

interface HostRow extends SqlRow {
  host: string;
  kind: SweptHost["kind"];
  met: number;
  met_at: number;
  again: number;
  figures: string | null;
  was_seen: number;
  missing_since: number | null;
  not_found_at: number | null;
  is_unreadable: number;
  told: string | null;
}

export class SweepRows {
  readonly #store: Store;
  /** Addresses of all hosts: a running sum, made anew by each instance. */
  #allocated: number | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Reads one of the states that are single values. */
  state<T>(name: string): T | undefined {
    const row = this.#store.row<{ state: string }>("SELECT state FROM gc_state WHERE name = ?", name);
    return row && (JSON.parse(row.state) as T);
  }

  putState(name: string, value: object): void {
    this.#store.write("INSERT OR REPLACE INTO gc_state VALUES (?, ?)", name, JSON.stringify(value));
  }

  dropState(name: string): void {
    this.#store.write("DELETE FROM gc_state WHERE name = ?", name);
  }

  find(host: string): SweptHost | undefined {
    const row = this.#store.row<HostRow>("SELECT * FROM gc_hosts WHERE host = ?", host);
    return row && toHost(row);
  }

  /** Stores a host as it is told, and counts what it has released since it told last; returns what stands now. */
  put(next: SweptHost, now: number): SweptHost {
    const before = this.find(next.host);
    const merged = mergedWith(before, next);
    // What was released before the host was met, or was forgotten in between, is not of this hour.
    if (merged.figures !== undefined && before?.figures !== undefined) {
      this.#countReleased(releasedBetween(before.figures.pools, merged.figures.pools), now);
    }
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(merged)) return merged;
    this.#write(merged);
    if (this.#allocated !== undefined) this.#allocated += allocatedOf(merged) - allocatedOf(before);
    return merged;
  }

  /** Notes what was told of a host; in the transaction that keeps the event. */
  putTold(host: string, told: HostTold): void {
    this.#store.write("UPDATE gc_hosts SET told = ? WHERE host = ?", JSON.stringify(told), host);
  }

  /** Forgets a host of which nothing is known any more. */
  drop(host: string): void {
    this.#store.write("DELETE FROM gc_hosts WHERE host = ?", host);
    this.#allocated = undefined;
  }

  /** The hosts that a whole sweep did not meet. */
  unmet(sweep: number): SweptHost[] {
    return this.#store.rows<HostRow>("SELECT * FROM gc_hosts WHERE met < ? ORDER BY host", sweep).map(toHost);
  }

  /** Forgets them. */
  dropUnmet(sweep: number): void {
    this.#store.write("DELETE FROM gc_hosts WHERE met < ?", sweep);
    this.#allocated = undefined;
  }

  /** Hosts that have more to do, after a name. */
  unfinished(after: string, limit: number): SweptHost[] {
    const query = "SELECT * FROM gc_hosts WHERE again > 0 AND host > ? ORDER BY host LIMIT ?";
    return this.#store.rows<HostRow>(query, after, limit).map(toHost);
  }

  unfinishedCount(): number {
    const query = "SELECT count(*) AS n FROM gc_hosts WHERE again > 0";
    return this.#store.row<{ n: number }>(query)?.n ?? 0;
  }

  /** Hosts that answered, in the order of names. */
  after(host: string, limit: number): SweptHost[] {
    const query = "SELECT * FROM gc_hosts WHERE host > ? AND figures IS NOT NULL ORDER BY host LIMIT ?";
    return this.#store.rows<HostRow>(query, host, limit).map(toHost);
  }

  /** Addresses that all hosts hold. */
  allocated(): number {
    this.#allocated ??=
      this.#store.row<{ n: number }>("SELECT coalesce(sum(allocated), 0) AS n FROM gc_hosts")?.n ?? 0;
    return this.#allocated;
  }

  /** What an instance knows by heart is void after a transaction that failed. */
  forget(): void {
    this.#allocated = undefined;
  }

  /**
   * Adds up all hosts. Why: whether a report was stale is told by its host, at the visit; by now a newer one
   * may have come that the Sweep has not met.
   */
  sums(): HostSums {
    const row = this.#store.row<Record<string, number | null>>(
      `SELECT count(*) AS hosts, sum(allocated) AS allocated, sum(candidates) AS candidates,
         sum(confirmed) AS confirmed, sum(held) AS held, max(audited_at) AS newest,
         sum(kind = 'host' AND json_extract(figures, '$.report.state') = 'stale') AS stale,
         sum(kind = 'host' AND figures IS NOT NULL AND report_at IS NULL) AS never
       FROM gc_hosts`,
    );
    return {
      hosts: row?.hosts ?? 0,
      allocated: row?.allocated ?? 0,
      candidates: row?.candidates ?? 0,
      confirmed: row?.confirmed ?? 0,
      held: row?.held ?? 0,
      newestAuditAt: row?.newest ?? 0,
      stale: row?.stale ?? 0,
      neverReported: row?.never ?? 0,
    };
  }

  /** The host whose audit is the oldest; one that never answered counts from when it was met first. */
  oldest(): { readonly host: string; readonly at: number } | undefined {
    return this.#store.row<{ host: string; at: number }>(
      `SELECT host, CASE audited_at WHEN 0 THEN met_at ELSE audited_at END AS at
       FROM gc_hosts ORDER BY at, host LIMIT 1`,
    );
  }

  /** Addresses released in the hour before. */
  releasedSinceHour(now: number): number {
    const query = "SELECT coalesce(sum(addresses), 0) AS n FROM gc_released WHERE minute > ?";
    return this.#store.row<{ n: number }>(query, Math.floor((now - HOUR_MS) / MINUTE_MS))?.n ?? 0;
  }

  /** Begins a new list of nodes. */
  clearNodes(): void {
    this.#store.write("DELETE FROM gc_nodes");
  }

  addNodes(page: number, names: readonly string[]): void {
    this.#store.write("INSERT OR REPLACE INTO gc_nodes VALUES (?, ?)", page, JSON.stringify(names));
  }

  /**
   * Takes over a list of nodes that is complete. Units: milliseconds since 1970.
   * Shape: a host whose node it names is there; one whose node was seen before, and is not named, is missing.
   */
  nodesListed(takenAt: number): void {
    const named = "SELECT value FROM gc_nodes, json_each(gc_nodes.names)";
    this.#store.write(
      `UPDATE gc_hosts SET was_seen = 1, missing_since = NULL, not_found_at = NULL, is_unreadable = 0
       WHERE (was_seen = 0 OR missing_since IS NOT NULL) AND kind = 'host' AND host IN (${named})`,
    );
    this.#store.write(
      `UPDATE gc_hosts SET missing_since = ?
       WHERE was_seen = 1 AND missing_since IS NULL AND host NOT IN (${named})`,
      takenAt,
    );
  }

  #countReleased(addresses: number, now: number): void {
    if (addresses === 0) return;
    const minute = Math.floor(now / MINUTE_MS);
    this.#store.write("DELETE FROM gc_released WHERE minute < ?", minute - HOUR_MS / MINUTE_MS);
    this.#store.write(
      `INSERT INTO gc_released VALUES (?, ?)
       ON CONFLICT (minute) DO UPDATE SET addresses = addresses + excluded.addresses`,
      minute,
      addresses,
    );
  }

  #write({ host, kind, met, metAt, again, figures, node, told }: SweptHost): void {
    const { candidates, confirmed, held } = figures?.counts ?? { candidates: 0, confirmed: 0, held: 0 };
    this.#store.write(
      "INSERT OR REPLACE INTO gc_hosts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ...[host, kind, met, metAt, again, figures?.auditedAt ?? 0, figures?.allocated ?? 0],
      ...[candidates, confirmed, held, figures?.report.lastAt ?? null],
      figures === undefined ? null : JSON.stringify(figures),
      ...[Number(node.wasSeen), node.missingSince ?? null, node.notFoundAt ?? null],
      ...[Number(node.isUnreadable), told === undefined ? null : JSON.stringify(told)],
    );
  }
}

function toHost(row: HostRow): SweptHost {
  return {
    host: row.host,
    kind: row.kind,
    met: row.met,
    metAt: row.met_at,
    again: row.again,
    ...(row.figures === null ? {} : { figures: JSON.parse(row.figures) as HostLeakFigures }),
    node: {
      wasSeen: row.was_seen === 1,
      ...(row.missing_since === null ? {} : { missingSince: row.missing_since }),
      ...(row.not_found_at === null ? {} : { notFoundAt: row.not_found_at }),
      isUnreadable: row.is_unreadable === 1,
    },
    ...(row.told === null ? {} : { told: JSON.parse(row.told) as HostTold }),
  };
}

/** What stands after a host has told: counts do not go back, and what was told of it stays. */
function mergedWith(before: SweptHost | undefined, next: SweptHost): SweptHost {
  const { told: known, ...rest } = next;
  const told = known ?? before?.told;
  if (next.figures === undefined) return told === undefined ? rest : { ...rest, told };
  const pools = risenOnly(before?.figures?.pools ?? {}, next.figures.pools);
  return { ...rest, figures: { ...next.figures, pools }, told: firstTold(told ?? {}, pools) };
}

function allocatedOf(host: SweptHost | undefined): number {
  return host?.figures?.allocated ?? 0;
}
