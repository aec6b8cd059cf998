/**
 * Rows of Cluster's directory of affinity owners.
 * May import: core, rpc, the store. Rule: it may list a host too much, never one too little.
 */
import type { Attributes } from "../../src/core/allocation.ts";
import { changedFields, type EventDraft } from "../../src/core/events.ts";
import type { ClusterPort, HeldRemoval, HostEntry } from "../../src/rpc/cluster.ts";
import type { Kept } from "../../src/rpc/host.ts";
import type { SqlRow, Store } from "./store.ts";

interface HostRow extends SqlRow {
  name: string;
  kind: "host" | "virtual";
  registered: number;
  labels: string;
  revision: number;
  enrolled_at: number;
  removing: number;
  kept: string | null;
}

/** What a Host says of itself. */
type Enrolment = Parameters<ClusterPort["enrol"]>[0];

const COLUMNS = "name, kind, registered, labels, revision, enrolled_at, removing, kept";
const VIRTUAL_PREFIX = "virtual:";

export class HostRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Enters a host, or what changed about it: one row; nothing is written where nothing changed. Returns
   * what has happened by it: a registration, with what changed of the labels, or its end.
   * Invariant: what the host said at a later revision of its registration is not undone by a late message.
   */
  enrol(entry: Enrolment, now: number): EventDraft | undefined {
    const { host, registered, revision = 0, removing = false } = entry;
    const labels = JSON.stringify(sorted(entry.labels));
    const row = this.#store.row<HostRow>(`SELECT ${COLUMNS} FROM host WHERE name = ?`, host);
    const before = row?.revision === revision ? row.kept : null;
    const kept = entry.kept === undefined ? before : JSON.stringify(entry.kept);
    const isSame =
      row?.registered === Number(registered) && row.labels === labels && row.removing === Number(removing);
    const isKnown = isSame && row.kept === kept && row.revision === revision;
    if (row !== undefined && (row.revision > revision || isKnown)) return undefined;
    this.#store.write(
      `INSERT INTO host (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET
         registered = excluded.registered, labels = excluded.labels, revision = excluded.revision,
         removing = excluded.removing, kept = excluded.kept`,
      host,
      host.startsWith(VIRTUAL_PREFIX) ? "virtual" : "host",
      Number(registered),
      labels,
      revision,
      now,
      Number(removing),
      kept,
    );
    return isSame ? undefined : happened(entry, row, now);
  }

  has(host: string): boolean {
    return this.#store.row("SELECT 1 AS found FROM host WHERE name = ?", host) !== undefined;
  }

  /** Counts the registered hosts, those that are being removed apart; virtual owners are none. */
  counts(): { readonly active: number; readonly removing: number } {
    const query = `SELECT count(*) AS total, sum(removing) AS removing
      FROM host WHERE kind = 'host' AND registered = 1`;
    const row = this.#store.row<{ total: number; removing: number | null }>(query);
    const removing = row?.removing ?? 0;
    return { active: (row?.total ?? 0) - removing, removing };
  }

  /** The first hosts by name whose removal waits for somebody, as they told it last. */
  heldRemovals(limit: number): HeldRemoval[] {
    const query = `SELECT name, kept FROM host
      WHERE kind = 'host' AND registered = 1 AND removing = 1 AND json_extract(kept, '$.addresses') > 0
      ORDER BY name LIMIT ?`;
    const rows = this.#store.rows<{ name: string; kept: string }>(query, limit);
    return rows.map(({ name, kept }) => ({ host: name, kept: JSON.parse(kept) as Kept }));
  }

  /** Reads the hosts after a name, in the order of names. */
  after(name: string, limit: number): HostEntry[] {
    const query = `SELECT ${COLUMNS} FROM host WHERE name > ? ORDER BY name LIMIT ?`;
    return this.#store.rows<HostRow>(query, name, limit).map(toEntry);
  }

  find(name: string): HostEntry | undefined {
    const row = this.#store.row<HostRow>(`SELECT ${COLUMNS} FROM host WHERE name = ?`, name);
    return row === undefined ? undefined : toEntry(row);
  }
}

function toEntry(row: HostRow): HostEntry {
  return {
    host: row.name,
    kind: row.kind,
    registered: row.registered === 1,
    labels: JSON.parse(row.labels) as Attributes,
    removing: row.removing === 1,
    enrolledAt: row.enrolled_at,
  };
}

function happened(
  { host, registered, labels, removing = false, author }: Enrolment,
  row: HostRow | undefined,
  at: number,
): EventDraft | undefined {
  const was = row?.registered === 1 ? (JSON.parse(row.labels) as Attributes) : undefined;
  // A removal is told when it begins; its end is no news.
  const isGoing = removing || !registered;
  if (isGoing && (was === undefined || row?.removing === 1)) return undefined;
  const type = isGoing ? "host_removed" : "host_registered";
  return {
    at,
    type,
    severity: "info",
    ...(author === undefined ? {} : { actor: author.by }),
    ...(author?.requestId === undefined ? {} : { requestId: author.requestId }),
    host,
    ...changedFields(was, isGoing ? undefined : labels),
  };
}

/** Puts labels in one order, so that equal ones are equal as text. */
function sorted(labels: Attributes): Attributes {
  return Object.fromEntries(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
