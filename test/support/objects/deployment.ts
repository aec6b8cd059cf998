/**
 * The deployed classes in real workerd, as tests reach them: stubs by what they serialise, their
 * counters, and the Worker without credentials. May import: everything but the simulation.
 */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { refusalOf } from "../../../durable-objects/refusal.ts";
import type { Counters } from "../../../durable-objects/storage/store.ts";
import { blockName, parseCidr } from "../../../src/core/cidr.ts";
import {
  blockObjectName,
  CLUSTER_OBJECT_NAME,
  handleIndexObjectName,
  hostObjectName,
  poolObjectName,
  shardOf,
} from "../../../src/core/ids.ts";
import { createFetch } from "../../../src/http/worker.ts";
import { endTimers, runtimeOf, SETTINGS } from "./entry.ts";

export { now, pass, runtimeOf, SETTINGS } from "./entry.ts";

/** The objects as the Worker calls them. */
export const { ports } = runtimeOf(env);

export const stubs = {
  block: (cidr: string) => {
    const block = parseCidr(cidr);
    if (!block.ok) throw new Error(block.error.message);
    return env.BLOCK.get(env.BLOCK.idFromName(blockObjectName(blockName(block.value))));
  },
  host: (name: string) => env.HOST.get(env.HOST.idFromName(hostObjectName(name))),
  pool: (name: string, incarnation: number) =>
    env.POOL.get(env.POOL.idFromName(poolObjectName(name, incarnation))),
  index: (handle: string) =>
    env.HANDLE_INDEX.get(
      env.HANDLE_INDEX.idFromName(handleIndexObjectName(shardOf(handle, SETTINGS.indexShards))),
    ),
  cluster: () => env.CLUSTER.get(env.CLUSTER.idFromName(CLUSTER_OBJECT_NAME)),
};

type Stub = ReturnType<(typeof stubs)[keyof typeof stubs]>;

/** Ends an instance; memory is gone, storage is not. One that does not run is none. */
export async function evict(...running: readonly Stub[]): Promise<void> {
  for (const stub of running) {
    try {
      await runInDurableObject(stub as DurableObjectStub, (_object, ctx) => endTimers(ctx));
      await evictDurableObject(stub as DurableObjectStub);
    } catch (refusal) {
      // One that was idle for ten seconds is gone already: the runtime evicted it.
      if (!String(refusal).includes("not currently running")) throw refusal;
    }
  }
}

/** What some objects did during a piece of work. */
export interface Spent {
  /** Calls by object and method, e.g. `block.allocate`. */
  readonly calls: Record<string, number>;
  /** Sum of all calls. */
  readonly total: number;
  readonly rows: Record<string, number>;
  readonly rowsWritten: number;
  readonly commits: number;
}

/** Runs work and tells what the named objects did meanwhile; asking them is not counted. */
export async function spent(
  watched: Readonly<Record<string, Stub>>,
  work: () => Promise<unknown>,
): Promise<Spent> {
  const before = await readAll(watched);
  await work();
  const after = await readAll(watched);
  const calls: Record<string, number> = {};
  const rows: Record<string, number> = {};
  let commits = 0;
  for (const [name, now] of Object.entries(after)) {
    const then = before[name];
    if (then === undefined) throw new Error(`${name} was not read before`);
    for (const [method, count] of Object.entries(now.calls)) {
      const made = count - (then.calls[method] ?? 0);
      // A Host reports figures at its own pace; no request waits for it.
      if (method === "report") continue;
      if (made > 0) calls[`${name}.${method}`] = made;
    }
    rows[name] = now.rowsWritten - then.rowsWritten;
    commits += now.commits - then.commits;
  }
  const sum = (values: readonly number[]) => values.reduce((one, other) => one + other, 0);
  return { calls, total: sum(Object.values(calls)), rows, rowsWritten: sum(Object.values(rows)), commits };
}

async function readAll(watched: Readonly<Record<string, Stub>>): Promise<Record<string, Counters>> {
  const read = Object.entries(watched).map(async ([name, stub]) => {
    const counters = (await stub.counters()) as Counters;
    return [name, counters] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}

const fetchWithoutCredentials = createFetch<Env & { readonly AUTH_MODE: string }>(runtimeOf, refusalOf);

/** Sends a request through the whole Worker; JSON in, JSON out. */
export async function send(
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const context = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };
  const answer = await fetchWithoutCredentials(
    request,
    { ...env, AUTH_MODE: "none" },
    context as unknown as ExecutionContext,
  );
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
}
