/**
 * Rows of what happened lately. May import: core, rpc, the store.
 * Rule: an event is one row, written in the transaction of what it tells of.
 */
import type { EventDraft, RecentEvent, RefusalRow } from "../../src/core/events.ts";
import { EVENTS_KEPT_MIN } from "../../src/core/limits.ts";
import type { EventFilter } from "../../src/rpc/cluster.ts";
import type { SqlRow, Store } from "./store.ts";

interface EventRow extends SqlRow {
  id: number;
  body: string;
}

/** Events between two looks at what may go. */
const PRUNE_EVERY = 512;
/** Latest events among which a repeated message is looked for. */
const REPEAT_WITHIN = 512;
/** Each kind is kept for itself: neither refusals nor the collector's daily work push out who changed what. */
const OF_HOSTS = "('leak_released', 'host_silent')";
const KINDS = ["type = 'refusal'", `type IN ${OF_HOSTS}`, `type <> 'refusal' AND type NOT IN ${OF_HOSTS}`];
const FILTERS = ["type", "severity", "host", "pool", "code"] as const;

export class EventRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Adds one event: one row; now and then the oldest go. */
  append(event: EventDraft, told?: string): void {
    const { at, type, severity, host, pool, code, count } = event;
    this.#store.write(
      `INSERT INTO event (at, type, severity, host, pool, code, count, told, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[at, type, severity, host ?? null, pool ?? null, code ?? null, count ?? 1, told ?? null],
      JSON.stringify(event),
    );
    if (this.#last() % PRUNE_EVERY === 0) this.#prune();
  }

  /** Adds what another object tells; a message that came before adds nothing. */
  told(event: EventDraft, message: string): void {
    if (!this.#isKnown(message)) this.append(event, message);
  }

  /** Adds what a host refused; a message that came before adds nothing. */
  refusals(host: string, message: string, rows: readonly RefusalRow[]): void {
    if (this.#isKnown(message)) return;
    for (const { lastAt, ...row } of rows) {
      this.append({ at: lastAt, type: "refusal", severity: "warning", host, ...row }, message);
    }
  }

  /** Events before a number, newest first. */
  before(id: number | undefined, filter: EventFilter, limit: number): RecentEvent[] {
    const given = FILTERS.filter((name) => filter[name] !== undefined);
    const conditions = ["id < ?", "at >= ?", ...given.map((name) => `${name} = ?`)];
    const values = given.map((name) => filter[name] ?? "");
    return this.#store
      .rows<EventRow>(
        `SELECT id, body FROM event WHERE ${conditions.join(" AND ")} ORDER BY id DESC LIMIT ?`,
        ...[id ?? Number.MAX_SAFE_INTEGER, filter.since ?? 0, ...values, limit],
      )
      .map((row) => ({ ...(JSON.parse(row.body) as EventDraft), id: row.id }));
  }

  /** Requests that were refused since a time, by what hosts have told. */
  refusedSince(at: number): number {
    const query = "SELECT coalesce(sum(count), 0) AS count FROM event WHERE type = 'refusal' AND at > ?";
    return this.#store.row<{ count: number }>(query, at)?.count ?? 0;
  }

  #isKnown(message: string): boolean {
    const known = "SELECT 1 AS found FROM event WHERE id > ? AND told = ? LIMIT 1";
    return this.#store.row(known, this.#last() - REPEAT_WITHIN, message) !== undefined;
  }

  #last(): number {
    return this.#store.row<{ id: number }>("SELECT coalesce(max(id), 0) AS id FROM event")?.id ?? 0;
  }

  /** Keeps the latest of each kind. */
  #prune(): void {
    for (const kind of KINDS) {
      this.#store.write(
        `DELETE FROM event WHERE ${kind} AND id < (
          SELECT id FROM event WHERE ${kind} ORDER BY id DESC LIMIT 1 OFFSET ${EVENTS_KEPT_MIN - 1}
        )`,
      );
    }
  }
}
