/**
 * How cases reach a service through its HTTP API, whether over a network or in this process.
 * May import: rpc types, the vocabulary. Rule: what the API does not have yet is `not yet`, never worked around.
 */
import type { Ports } from "../../src/rpc/ports.ts";
import { NotYet, type PoolRecord } from "./vocabulary.ts";

/** An answer, read whole. */
export interface ApiAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: back ends read what the contract says is there
  readonly body: any;
}

/** A message between two objects that never arrives, nor any repeat of it. */
export interface LostMessage {
  /** Whose method it is. */
  readonly object: "block" | "pool";
  readonly method: string;
  readonly message: "request" | "answer";
}

/** One fresh deployment. */
export interface Connection {
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiAnswer>;
  /** Moves the clock of all objects on. */
  advance(seconds: number): Promise<void>;
  /** Lets time pass by itself, alarms too. */
  pass(ms: number): Promise<void>;
  /** Asks for something of which a message gets lost: it ends where a crash would have ended it. */
  losing(lost: LostMessage, ask: () => Promise<ApiAnswer>): Promise<void>;
  /** Waits until the objects have done what they began: what they do of their own accord, nobody waits for. */
  quiet(): Promise<void>;
  /** The objects as they see each other: to read what the API does not tell, or to play one of them. */
  readonly ports: Ports;
  /** The time of the objects, milliseconds since 1970. */
  now(): number;
  end(): Promise<void>;
}

/** What the back end remembers of one world. */
export class ApiWorld {
  readonly connection: Connection;
  /** CIDRs of the pools by name, as they were written. */
  readonly pools = new Map<string, string>();

  constructor(connection: Connection) {
    this.connection = connection;
  }

  /** A handle for a request that has none: the API demands one. */
  newHandle(): string {
    return `${MADE}${this.next()}`;
  }

  /** A number that no world was given before: some cases share a service. */
  next(): number {
    given += 1;
    return given;
  }

  send(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    return this.connection.send(method, path, body);
  }

  /**
   * Asks for addresses as a client does: under a key, and again with that key, after the time that the
   * answer names, where it says that the same request may succeed.
   */
  async request(method: string, path: string, body: unknown): Promise<ApiAnswer> {
    const headers = { "Idempotency-Key": `key-of-the-case-${this.next()}` };
    for (let tries = 1; ; tries += 1) {
      const answer = await this.connection.send(method, path, body, headers);
      if (answer.body?.retry !== "same_request" || tries === TRIES_MAX) return answer;
      await this.connection.pass((answer.body.retryAfterSeconds ?? 1) * 1000);
    }
  }

  /** Sends what must succeed. Rejects: `NotYet` for a route that is not there. */
  async must(method: string, path: string, body?: unknown): Promise<ApiAnswer["body"]> {
    const answer = await this.send(method, path, body);
    if (answer.status < 300) return answer.body;
    if (answer.body?.code === "route_not_found") throw new NotYet(`${method} ${path}`);
    throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  }

  /** Waits for what the service does by itself after its answer. Rejects: it is not done in a while. */
  async until(what: string, isDone: () => Promise<boolean>): Promise<void> {
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      if (await isDone()) return;
      await this.connection.pass(LOOK_EVERY_MS);
    }
    throw new Error(`not done in time: ${what}`);
  }

  /** Reads a list to its end. */
  async all(path: string): Promise<ApiAnswer["body"][]> {
    const items: ApiAnswer["body"][] = [];
    let cursor = "";
    for (let page = 0; page < 100; page += 1) {
      const body = await this.must("GET", `${path}${path.includes("?") ? "&" : "?"}limit=1000${cursor}`);
      items.push(...body.items);
      if (body.nextCursor === undefined) return items;
      cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`;
    }
    throw new Error(`${path} does not end`);
  }

  /** Writes a pool as a whole. */
  async putPool({ name, terminating: _drained, ...spec }: PoolRecord): Promise<ApiAnswer> {
    const answer = await this.send("PUT", `/v1/pools/${name}`, spec);
    if (answer.status < 300) this.pools.set(name, answer.body.cidr);
    return answer;
  }
}

const TRIES_MAX = 5;
const LOOKS_MAX = 500;
const LOOK_EVERY_MS = 200;
let given = 0;
const MADE = "made-for-the-case-";

/** The handle as the case knows it: one that the back end made is none. */
export function caseHandle(handle: string): string | null {
  return handle.startsWith(MADE) ? null : handle;
}
