/**
 * One row per address in PostgreSQL, as a team would build it: a host takes free rows of its own blocks.
 * May import: the driver, the server. Rule: one statement is one transaction, committed to the disk.
 */
import pg from "pg";
import type { Allocator, Held } from "./peer.ts";
import { connectionOf } from "./postgres-server.ts";

/** So many addresses are laid out as rows: 2,048 blocks of 64, as the service's. */
const ADDRESSES = 131_072;
const FIRST_ADDRESS = "10.64.0.0";
const BLOCK_PREFIX = 26;
const ATTEMPTS = 100;
const UNIQUE_VIOLATION = "23505";

const SCHEMA = `
  CREATE TABLE hosts (name text PRIMARY KEY);
  CREATE TABLE blocks (
    block cidr PRIMARY KEY,
    host text REFERENCES hosts,
    claimed_at timestamptz,
    CHECK ((host IS NULL) = (claimed_at IS NULL))
  );
  CREATE INDEX blocks_of_host ON blocks (host, claimed_at DESC);
  CREATE INDEX free_blocks ON blocks (block) WHERE host IS NULL;
  CREATE TABLE addresses (
    address inet PRIMARY KEY,
    block cidr NOT NULL REFERENCES blocks,
    handle text UNIQUE,
    allocated_at timestamptz,
    CHECK ((handle IS NULL) = (allocated_at IS NULL))
  ) WITH (fillfactor = 70);
  CREATE INDEX free_addresses ON addresses (block) WHERE handle IS NULL;
`;

const ROWS = [
  `INSERT INTO blocks SELECT DISTINCT network(set_masklen(inet '${FIRST_ADDRESS}' + i, ${BLOCK_PREFIX}))::cidr
   FROM generate_series(0, ${ADDRESSES - 1}, 64) i`,
  `INSERT INTO addresses SELECT inet '${FIRST_ADDRESS}' + i,
     network(set_masklen(inet '${FIRST_ADDRESS}' + i, ${BLOCK_PREFIX}))::cidr
   FROM generate_series(0, ${ADDRESSES - 1}) i`,
];

/** A row that another transaction has locked is passed over; the youngest block has room most often. */
const TAKE = `
  UPDATE addresses SET handle = $2, allocated_at = now() WHERE address = (
    SELECT a.address FROM blocks b JOIN addresses a ON a.block = b.block
    WHERE b.host = $1 AND a.handle IS NULL
    ORDER BY b.claimed_at DESC LIMIT 1 FOR UPDATE OF a SKIP LOCKED
  ) RETURNING host(address) AS address`;
const CLAIM = `
  UPDATE blocks SET host = $1, claimed_at = clock_timestamp() WHERE block = (
    SELECT block FROM blocks WHERE host IS NULL ORDER BY block LIMIT 1 FOR UPDATE SKIP LOCKED
  ) RETURNING block`;
const FIND = "SELECT host(address) AS address FROM addresses WHERE handle = $1";
const RELEASE = "UPDATE addresses SET handle = NULL, allocated_at = NULL WHERE handle = $1";
const LIST = `
  SELECT host(a.address) AS address, a.handle, b.host FROM addresses a JOIN blocks b USING (block)
  WHERE a.handle IS NOT NULL`;

export function connectPostgres(endpoint: string, connections: number): Allocator {
  const pool = new pg.Pool({ ...connectionOf(endpoint), max: connections });
  // An idle connection that breaks is thrown away by the pool; the next request says what is wrong.
  pool.on("error", () => undefined);
  return new PostgresAllocator(pool);
}

class PostgresAllocator implements Allocator {
  readonly #pool: pg.Pool;
  /** Claims under way: who waits for the same host waits for the same claim. */
  readonly #claims = new Map<string, Promise<void>>();
  /** How many claims for a host have ended. */
  readonly #claimed = new Map<string, number>();
  #retries = 0;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async allocate(host: string, handle: string): Promise<string> {
    for (let left = ATTEMPTS; left > 0; left -= 1) {
      const claimedBefore = this.#claimed.get(host) ?? 0;
      const address = await this.#take(host, handle);
      if (address !== undefined) return address;
      if (claimedBefore === (this.#claimed.get(host) ?? 0)) await this.#claimFor(host);
      this.#retries += 1;
    }
    throw new Error(`no address for ${host} after ${ATTEMPTS} attempts`);
  }

  /** Shape: the address; absent: the host has no free row. */
  async #take(host: string, handle: string): Promise<string | undefined> {
    try {
      return (await this.#run<{ address: string }>("take", TAKE, [host, handle]))[0]?.address;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || error.code !== UNIQUE_VIOLATION) throw error;
      return (await this.#run<{ address: string }>("find", FIND, [handle]))[0]?.address;
    }
  }

  #claimFor(host: string): Promise<void> {
    const underWay = this.#claims.get(host);
    if (underWay !== undefined) return underWay;
    const claim = this.#run("claim", CLAIM, [host])
      .then((claimed) => {
        if (claimed.length === 0) throw new Error("no free block");
        this.#claimed.set(host, (this.#claimed.get(host) ?? 0) + 1);
      })
      .finally(() => this.#claims.delete(host));
    this.#claims.set(host, claim);
    return claim;
  }

  async release(_host: string, handle: string): Promise<void> {
    await this.#run("release", RELEASE, [handle]);
  }

  list(): Promise<readonly Held[]> {
    return this.#run<Held>("list", LIST, []);
  }

  async reset(hosts: readonly string[]): Promise<void> {
    const { rows } = await this.#pool.query("SELECT to_regclass('addresses') IS NOT NULL AS exists");
    if (rows[0]?.exists !== true) {
      await this.#pool.query(SCHEMA);
      for (const insert of ROWS) await this.#pool.query(insert);
    }
    await this.#pool.query(
      "UPDATE addresses SET handle = NULL, allocated_at = NULL WHERE handle IS NOT NULL",
    );
    await this.#pool.query("UPDATE blocks SET host = NULL, claimed_at = NULL WHERE host IS NOT NULL");
    await this.#pool.query("DELETE FROM hosts");
    await this.#pool.query("INSERT INTO hosts SELECT unnest($1::text[])", [hosts]);
    await this.#pool.query("VACUUM ANALYZE hosts, blocks, addresses");
  }

  retries(): number {
    return this.#retries;
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  /** By name: the statement is prepared once for each connection. */
  async #run<Row extends object>(name: string, text: string, values: readonly string[]): Promise<Row[]> {
    return (await this.#pool.query<Row>({ name, text, values: [...values] })).rows;
  }
}
