/**
 * Tables of Cluster. Append-only.
 * May import: the store's types.
 */
import type { Migrations } from "./store.ts";

/** Incarnations end here: an epoch keeps 32 bits for its own count, a block's numbers 36. */
export const INCARNATION_END = 2 ** 17;

/**
 * Invariant: `horizon` and `version` never go back; no lease was granted past `horizon`.
 * Why one row per definition: a row has at most 2 MB.
 */
export const CLUSTER_MIGRATIONS: Migrations = [
  [
    `CREATE TABLE cluster (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      version INTEGER NOT NULL CHECK (version >= 1),
      horizon INTEGER NOT NULL CHECK (horizon >= 0),
      incarnation INTEGER NOT NULL CHECK (incarnation BETWEEN 0 AND ${INCARNATION_END - 1}),
      born_at INTEGER NOT NULL CHECK (born_at >= 0)
    ) STRICT`,
    `CREATE TABLE definition (
      kind TEXT NOT NULL CHECK (kind IN ('config', 'pool', 'reservation')),
      name TEXT NOT NULL,
      revision INTEGER NOT NULL CHECK (revision >= 1),
      body TEXT NOT NULL CHECK (json_valid(body)),
      PRIMARY KEY (kind, name)
    ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE host (
      name TEXT PRIMARY KEY,
      kind TEXT NOT NULL CHECK (kind IN ('host', 'virtual')),
      registered INTEGER NOT NULL CHECK (registered IN (0, 1)),
      labels TEXT NOT NULL CHECK (json_valid(labels)),
      revision INTEGER NOT NULL CHECK (revision >= 0),
      enrolled_at INTEGER NOT NULL CHECK (enrolled_at >= 0)
    ) STRICT, WITHOUT ROWID`,
  ],
  [
    `CREATE TABLE deployment (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      name TEXT NOT NULL
    ) STRICT`,
  ],
  [
    `CREATE TABLE pool_life (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      orders INTEGER NOT NULL CHECK (orders >= 0),
      removal_horizon INTEGER NOT NULL CHECK (removal_horizon >= 0)
    ) STRICT`,
    `CREATE TABLE pool_order (
      incarnation INTEGER NOT NULL CHECK (incarnation >= 0),
      name TEXT NOT NULL,
      number INTEGER NOT NULL CHECK (number > 0),
      body TEXT NOT NULL CHECK (json_valid(body)),
      PRIMARY KEY (incarnation, name)
    ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE split (
      name TEXT PRIMARY KEY,
      at INTEGER NOT NULL,
      body TEXT NOT NULL CHECK (json_valid(body))
    ) STRICT, WITHOUT ROWID`,
  ],
  // What happened lately; `told` names the message of a Host that a row came with.
  [
    `CREATE TABLE event (
      id INTEGER PRIMARY KEY,
      at INTEGER NOT NULL CHECK (at >= 0),
      type TEXT NOT NULL,
      severity TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'error')),
      host TEXT,
      pool TEXT,
      code TEXT,
      count INTEGER NOT NULL CHECK (count >= 1),
      told TEXT,
      body TEXT NOT NULL CHECK (json_valid(body))
    ) STRICT`,
  ],
  ["ALTER TABLE host ADD COLUMN removing INTEGER NOT NULL DEFAULT 0 CHECK (removing IN (0, 1))"],
  // What a removal waits for.
  ["ALTER TABLE host ADD COLUMN kept TEXT CHECK (kept IS NULL OR json_valid(kept))"],
];
