/**
 * What a deployment spent: object calls by route, commits and rows by object.
 * May import: nothing. Budgets are differences of two readings.
 */

/** A reading, or the difference of two. Keys that did not move are left out of a difference. */
export interface Spent {
  /** Calls sent, by route: `HostObject>BlockObject.allocate`; a client is `client`. */
  calls: Record<string, number>;
  /** Commits that wrote something, by object name. */
  commits: Record<string, number>;
  /** Rows written by those commits, by object name. */
  rows: Record<string, number>;
  /** Rare events of the platform: crashes, lost answers, dropped alarms. */
  events: Record<string, number>;
  callsTotal: number;
  rowsTotal: number;
}

export class Counters {
  readonly #calls = new Map<string, number>();
  readonly #commits = new Map<string, number>();
  readonly #rows = new Map<string, number>();
  readonly #events = new Map<string, number>();
  /** What objects threw that no platform throws, by method. */
  readonly defects = new Set<string>();

  call(fromClass: string, toClass: string, method: string): void {
    add(this.#calls, `${fromClass}>${toClass}.${method}`, 1);
  }

  commit(objectName: string, rows: number): void {
    add(this.#commits, objectName, 1);
    add(this.#rows, objectName, rows);
  }

  event(what: string): void {
    add(this.#events, what, 1);
  }

  read(): Spent {
    return spent(this.#calls, this.#commits, this.#rows, this.#events);
  }

  /** Returns what was spent since a reading. */
  since(earlier: Spent): Spent {
    const now = this.read();
    const parts = (["calls", "commits", "rows", "events"] as const).map((part) => {
      const moved = Object.entries(now[part]).map(
        ([key, n]) => [key, n - (earlier[part][key] ?? 0)] as const,
      );
      return new Map(moved.filter(([, n]) => n !== 0));
    });
    const [calls, commits, rows, events] = parts as [Tally, Tally, Tally, Tally];
    return spent(calls, commits, rows, events);
  }
}

type Tally = Map<string, number>;

function spent(calls: Tally, commits: Tally, rows: Tally, events: Tally): Spent {
  return {
    calls: Object.fromEntries(calls),
    commits: Object.fromEntries(commits),
    rows: Object.fromEntries(rows),
    events: Object.fromEntries(events),
    callsTotal: total(calls),
    rowsTotal: total(rows),
  };
}

function total(tally: Tally): number {
  let sum = 0;
  for (const n of tally.values()) sum += n;
  return sum;
}

function add(tally: Tally, key: string, n: number): void {
  tally.set(key, (tally.get(key) ?? 0) + n);
}
