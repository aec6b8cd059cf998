/**
 * What a Host refused, gathered in memory and told to Cluster in one message per while.
 * May import: core, rpc, platform. Rule: no row and no call on the way of a request.
 */
import type { Rejection, Shortfall } from "../src/core/errors.ts";
import type { RefusalRow } from "../src/core/events.ts";
import { callIdempotent } from "../src/platform/call.ts";
import type { Runtime } from "./runtime.ts";

/** Kinds told apart by pool in one message; further ones by code alone. */
const ROWS_BY_POOL_MAX = 16;
/** What was considered, told with the last refusal of a kind: enough to see why. */
const CONSIDERED_MAX = 8;

export class HostRefusals {
  readonly #runtime: Runtime;
  readonly #gathered = new Map<string, RefusalRow>();
  #isWaiting = false;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Counts a refusal; the first one since the last message begins the wait for the next. */
  note(host: string, refusal: Rejection): void {
    const now = this.#runtime.now();
    const { code } = refusal;
    const shortfall = shortfallOf(refusal);
    const named = poolOf(refusal, shortfall);
    const isKept = this.#gathered.size < ROWS_BY_POOL_MAX || this.#gathered.has(`${code} ${named ?? ""}`);
    const pool = isKept ? named : undefined;
    const key = `${code} ${pool ?? ""}`;
    const before = this.#gathered.get(key);
    this.#gathered.set(key, {
      code,
      ...(pool === undefined ? {} : { pool }),
      count: (before?.count ?? 0) + 1,
      firstAt: before?.firstAt ?? now,
      lastAt: now,
      ...(shortfall === undefined ? {} : { shortfall: shortfall.map(shortened) }),
    });
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#runtime
      .sleep(this.#runtime.settings.refusalsMs)
      .then(() => this.#tell(host))
      // An object that ends before owes a count, nothing else.
      .catch(() => undefined);
  }

  /** Repeated under one name, so it counts once; one that is lost all the same is a count too low. */
  async #tell(host: string): Promise<void> {
    this.#isWaiting = false;
    const { ports, settings } = this.#runtime;
    const message = { host, message: this.#runtime.unique(), rows: [...this.#gathered.values()] };
    this.#gathered.clear();
    await callIdempotent(() => ports.cluster().refusals(message), {
      timeoutMs: settings.untilMs + settings.skewMs,
      sleep: (ms, signal) => this.#runtime.sleep(ms, signal),
    });
  }
}

function shortfallOf({ evidence }: Rejection): readonly Shortfall[] | undefined {
  return "shortfall" in evidence ? evidence.shortfall : undefined;
}

/** The pool that a refusal is about: the one it names, or the first that might have served. */
function poolOf({ evidence }: Rejection, shortfall: readonly Shortfall[] | undefined): string | undefined {
  if ("pool" in evidence && evidence.pool !== undefined) return evidence.pool;
  const rows = shortfall?.flatMap(({ considered }) => considered) ?? [];
  return rows.find(({ kind, outcome }) => kind === "pool" && outcome === "full")?.pool;
}

function shortened(shortfall: Shortfall): Shortfall {
  const { considered, consideredOmitted } = shortfall;
  const kept = considered.slice(0, CONSIDERED_MAX);
  return {
    ...shortfall,
    considered: kept,
    consideredOmitted: consideredOmitted + considered.length - kept.length,
  };
}
