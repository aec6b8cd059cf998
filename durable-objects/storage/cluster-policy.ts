/**
 * Rows of Cluster that make up the policy and its leases.
 * May import: core, the store. Rule: the version rises with every change, in the same transaction.
 */
import { defaultConfig } from "../../src/core/config.ts";
import type { PolicyChange } from "../../src/core/events.ts";
import { invariant } from "../../src/core/invariant.ts";
import type { Config, Policy, PoolDefinition, ReservationDefinition } from "../../src/core/policy.ts";
import { INCARNATION_END } from "./cluster-schema.ts";
import type { SqlRow, Store } from "./store.ts";

/** What each kind of definition is made of. */
interface DefinitionByKind {
  readonly config: Config;
  readonly pool: PoolDefinition;
  readonly reservation: ReservationDefinition;
}
type Kind = keyof DefinitionByKind;

/** The numbers that all writes and leases turn on. Units: times in milliseconds since 1970. */
export interface ClusterNumbers {
  readonly version: number;
  /** No lease ends after it. */
  readonly horizon: number;
  /** Given to the next pool that is made. Rises when a definition is removed, with the drain. */
  readonly incarnation: number;
  /** When anything was first stored; the default configuration dates from then. */
  readonly bornAt: number;
}

interface ClusterRow extends SqlRow {
  version: number;
  horizon: number;
  incarnation: number;
  born_at: number;
}

interface DefinitionRow extends SqlRow {
  name: string;
  revision: number;
  body: string;
}

const CONFIG_NAME = "default";

export class PolicyRows {
  readonly #store: Store;
  readonly #noted: (change: PolicyChange) => void;
  /** A hint: the policy of that version never changes, so it may be kept. */
  #kept: Policy | undefined;

  /** `noted` hears of each change, in the transaction that makes it. */
  constructor(store: Store, noted: (change: PolicyChange) => void) {
    this.#store = store;
    this.#noted = noted;
  }

  /** Reads the numbers; where nothing is stored yet, those of a new deployment. */
  numbers(now: number): ClusterNumbers {
    const row = this.#store.row<ClusterRow>("SELECT version, horizon, incarnation, born_at FROM cluster");
    if (row === undefined) return { version: 1, horizon: 0, incarnation: 0, bornAt: now };
    const { version, horizon, incarnation } = row;
    return { version, horizon, incarnation, bornAt: row.born_at };
  }

  /** Stores the numbers with what changed in them: one row. Invariant: none of them goes back. */
  put(numbers: ClusterNumbers, changed: Partial<Omit<ClusterNumbers, "bornAt">>): void {
    const { version, horizon, incarnation, bornAt } = { ...numbers, ...changed };
    invariant(version >= numbers.version, "the policy's version went back");
    invariant(horizon >= numbers.horizon, "the horizon of leases went back");
    invariant(incarnation >= numbers.incarnation, "the incarnation of pools went back");
    invariant(incarnation < INCARNATION_END, "the incarnations of pools are used up");
    this.#store.write(
      `INSERT INTO cluster (id, version, horizon, incarnation, born_at) VALUES (1, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET
         version = excluded.version, horizon = excluded.horizon, incarnation = excluded.incarnation`,
      version,
      horizon,
      incarnation,
      bornAt,
    );
  }

  /** Reads the whole policy, from memory where its version is the stored one. */
  policy(numbers: ClusterNumbers): Policy {
    const { version } = numbers;
    if (this.#kept?.version === version) return this.#kept;
    const pools = this.all("pool");
    const policy = { version, config: this.config(numbers), pools, reservations: this.all("reservation") };
    this.#kept = policy;
    return policy;
  }

  /** The configuration; where nobody wrote one, the default. */
  config({ bornAt }: ClusterNumbers): Config {
    return this.find("config", CONFIG_NAME) ?? defaultConfig(bornAt);
  }

  /** Reads the definition of that name, if there is one. */
  find<K extends Kind>(kind: K, name: string): DefinitionByKind[K] | undefined {
    const query = "SELECT name, revision, body FROM definition WHERE kind = ? AND name = ?";
    const row = this.#store.row<DefinitionRow>(query, kind, name);
    return row === undefined ? undefined : read<K>(row);
  }

  /** All definitions of a kind, by name. */
  all<K extends Kind>(kind: K): DefinitionByKind[K][] {
    const query = "SELECT name, revision, body FROM definition WHERE kind = ? ORDER BY name";
    return this.#store.rows<DefinitionRow>(query, kind).map((row) => read<K>(row));
  }

  /** Counts the definitions of a kind. */
  count(kind: Kind): number {
    const query = "SELECT count(*) AS count FROM definition WHERE kind = ?";
    return this.#store.row<{ count: number }>(query, kind)?.count ?? 0;
  }

  /** Stores a definition and the next version, two rows; nothing where it is the current one. */
  define<K extends Kind>(
    numbers: ClusterNumbers,
    kind: K,
    next: DefinitionByKind[K],
    current: DefinitionByKind[K] | undefined,
  ): DefinitionByKind[K] {
    if (next === current) return next;
    invariant(next.revision === (current?.revision ?? 0) + 1, "a change raises the revision by one");
    this.#store.write(
      `INSERT INTO definition (kind, name, revision, body) VALUES (?, ?, ?, ?)
       ON CONFLICT (kind, name) DO UPDATE SET revision = excluded.revision, body = excluded.body`,
      kind,
      "name" in next ? next.name : CONFIG_NAME,
      next.revision,
      JSON.stringify(next),
    );
    this.put(numbers, { version: numbers.version + 1 });
    this.#noted({ kind, before: current, after: next } as PolicyChange);
    return next;
  }

  /**
   * Removes a pool, and stores the next version and the next incarnation: two rows.
   * Why: whatever pool comes to that range has higher epochs and sequence numbers than this one gave out.
   */
  removePool(numbers: ClusterNumbers, name: string): ClusterNumbers {
    this.#noted({ kind: "pool", before: this.find("pool", name), after: undefined });
    this.#store.write("DELETE FROM definition WHERE kind = 'pool' AND name = ?", name);
    const next = { version: numbers.version + 1, incarnation: numbers.incarnation + 1 };
    this.put(numbers, next);
    return { ...numbers, ...next };
  }

  /** Removes a reservation and stores the next version: two rows. */
  removeReservation(numbers: ClusterNumbers, name: string): void {
    this.#noted({ kind: "reservation", before: this.find("reservation", name), after: undefined });
    this.#store.write("DELETE FROM definition WHERE kind = 'reservation' AND name = ?", name);
    this.put(numbers, { version: numbers.version + 1 });
  }
}

function read<K extends Kind>(row: DefinitionRow): DefinitionByKind[K] {
  const definition = JSON.parse(row.body) as DefinitionByKind[K];
  invariant(definition.revision === row.revision, "a definition's row and its body differ");
  invariant(!("name" in definition) || definition.name === row.name, "a definition has another name");
  return definition;
}
