/**
 * What the comparison measures, one line for each number of clients; and the services it is measured on.
 * May import: types of the other files. Rule: a subject prepares all that it needs, so that each can run alone.
 */
import type { Fleet } from "../generator/fleet.ts";
import type { Plan, Step } from "../generator/plan.ts";
import type { Service } from "../service.ts";

/** Services that live side by side, so that their rounds are interleaved. */
export type SceneName = "main" | "held" | "cooling" | "sizes";

/** What a subject may use while it prepares. */
export interface Stage {
  readonly service: Service;
  readonly fleet: Fleet;
  /** Shows how far a long preparation has come. */
  progress(what: string, total: number): (done: number) => void;
}

export interface Scene {
  readonly vars?: Record<string, string>;
  /** Pools and configuration: before the first allocation, since a change of policy waits for those who allocate. */
  prepare(stage: Stage): Promise<void>;
}

export interface Subject {
  readonly id: string;
  readonly name: string;
  readonly scene: SceneName;
  readonly clients: readonly number[];
  plan(clients: number): Plan;
  /** Addresses of one operation, where it is not one. */
  readonly addresses?: number;
  /** Once, before all rounds. */
  prepare?(stage: Stage): Promise<void>;
  /** Before each round and not timed: makes what the operations with the numbers from..from + count need. */
  supply?(stage: Stage, clients: number, from: number, count: number): Promise<void>;
  /** Begins something that goes on during a round; what is returned ends it. */
  during?(stage: Stage): () => Promise<void>;
}

/** Client counts of most lines. */
export const LEVELS = [1, 16, 64] as const;
/** Of lines that would take too long otherwise. */
export const ENDS = [1, 64] as const;

/** One address for a handle that nobody has had. */
export function allocate(id: string, host: string, clients: number, more: object = {}): Plan {
  const body = { host, handle: `${id}.${clients}.{n}`, ipv4: { count: 1 }, ...more };
  const step = { method: "POST", path: "/v1/allocations", body: JSON.stringify(body) };
  return { steps: [{ ...step, mustHold: '"shortfall":[]', books: "given" }] };
}

/** The release of the one address that a handle has. */
export function release(handle: string): Step {
  const path = `/v1/handles/${handle}`;
  return { method: "DELETE", path, mustHold: '"released":1,', books: "freed" };
}

/** An allocation, and its release by handle. Only the first is timed if so wished. */
export function pair(id: string, host: string, clients: number, more: object = {}): Plan {
  const { steps } = allocate(id, host, clients, more);
  return { steps: [...steps, release(`${id}.${clients}.{n}`)] };
}

export async function register(stage: Stage, host: string): Promise<void> {
  await stage.service.target.mustSend("PUT", `/v1/hosts/${host}`, { labels: {} });
}

/** Addresses of a /26. */
export const PER_BLOCK = 64;

/** How many addresses a host begins with, so that those of many hosts do not all claim at the same time. */
export function firstFill(host: number): number {
  return 1 + ((host * 37) % (PER_BLOCK - 1));
}

/** Enrols a host and gives it its first block, which is filled to some part. */
export async function enrol(stage: Stage, host: string, addresses: number): Promise<void> {
  await register(stage, host);
  const body = { host, handle: `first.${host}`, ipv4: { count: addresses } };
  await stage.service.target.mustSend("POST", "/v1/allocations", body, `${host}-first`);
}
