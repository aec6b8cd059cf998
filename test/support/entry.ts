/**
 * The composition root of tests: the deployed classes and application under settings, a clock and
 * faults that a test sets. May import: everything. Rule: it is never part of what is deployed.
 */
import { BlockObject } from "../../durable-objects/block.ts";
import { ClusterObject } from "../../durable-objects/cluster.ts";
import { HandleIndexObject } from "../../durable-objects/handle-index.ts";
import { HostObject } from "../../durable-objects/host.ts";
import { PolicyCache } from "../../durable-objects/policy-cache.ts";
import { PoolObject } from "../../durable-objects/pool.ts";
import { productionRuntime } from "../../durable-objects/production.ts";
import { refusalOf } from "../../durable-objects/refusal.ts";
import type { Runtime } from "../../durable-objects/runtime.ts";
import type { Counters } from "../../durable-objects/storage/store.ts";
import { SweepObject } from "../../durable-objects/sweep.ts";
import { LOCAL_SETTINGS, type Settings } from "../../src/core/settings.ts";
import { clusterSourceOf, type KubernetesEnv } from "../../src/gc/kubernetes-settings.ts";
import { createFetch } from "../../src/http/worker.ts";
import type { PolicySource } from "../../src/rpc/policy-source.ts";
import type { Ports } from "../../src/rpc/ports.ts";
import type { CountersAnswer, Fault, ObjectCall } from "./control.ts";

interface Counting {
  counters(): Counters | Promise<Counters>;
}

/**
 * TEST_ALARMS=moved: alarms are set by the clock that a test has moved; else they keep to the real one.
 * TEST_CLOCK_MS: how far the clock is ahead from the start on, until a test moves it.
 */
type TestEnv = Env &
  KubernetesEnv & {
    readonly TEST_SETTINGS?: string;
    readonly TEST_ALARMS?: string;
    readonly TEST_CLOCK_MS?: string;
  };

type ObjectKind = keyof Ports;

/** All objects of bare workerd live in one process, so these are seen by all of them. */
let clockOffsetMs: number | undefined;
/** While a test holds the clock: what it shows. */
let heldAt: number | undefined;
let faults: { readonly fault: Fault; left: number }[] = [];
let policy: PolicySource | undefined;
const sent: Record<string, number> = {};
let underWay = 0;
/** Calls that stand in a fault of those set last; what an ended object had under way stands for ever. */
let waiting = 0;
/** How often a call that stands looks whether it may go on, ms. */
const STANDS_MS = 10;
/** What each instance did, read without a call: asking thousands of objects would take too long. */
const living = new Map<string, { readonly kind: ObjectKind; readonly object: Counting }>();
/** Sets an alarm by the real clock, for objects whose alarms are moved. */
const setRealAlarm = new WeakMap<DurableObjectStorage, DurableObjectStorage["setAlarm"]>();

function settingsOf(env: TestEnv): Settings {
  const given = JSON.parse(env.TEST_SETTINGS ?? "{}") as Partial<Settings>;
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(LOCAL_SETTINGS, name));
  if (unknown.length > 0) throw new Error(`TEST_SETTINGS: there is no ${unknown.join(", ")}`);
  return { ...LOCAL_SETTINGS, ...given };
}

function now(): number {
  return heldAt ?? Date.now() + (clockOffsetMs ?? 0);
}

function testRuntime(env: TestEnv): Runtime {
  clockOffsetMs ??= Number(env.TEST_CLOCK_MS ?? 0);
  const base = productionRuntime(env);
  const settings = settingsOf(env);
  const ports = watched(base.ports, base.sleep);
  policy ??= new PolicyCache({
    cluster: () => ports.cluster(),
    now,
    sleep: base.sleep,
    timeoutMs: settings.untilMs + settings.skewMs,
    ...(base.keep === undefined ? {} : { keep: base.keep }),
  });
  const cluster = clusterSourceOf(env, { now, sleep: base.sleep });
  return { ...base, settings, now, ports, policy, ...(cluster === undefined ? {} : { cluster }) };
}

/** Ports whose calls are counted and meet the faults that a test has set. */
function watched(ports: Ports, sleep: Runtime["sleep"]): Ports {
  const watch = <P extends object>(kind: ObjectKind, port: P): P =>
    new Proxy(port, {
      get: (target, method) => (request: unknown) =>
        call(`${kind}.${String(method)}`, sleep, () =>
          (target as Record<PropertyKey, (request: unknown) => Promise<unknown>>)[method]!(request),
        ),
    });
  return {
    block: (cidr) => watch("block", ports.block(cidr)),
    host: (name) => watch("host", ports.host(name)),
    pool: (name, incarnation) => watch("pool", ports.pool(name, incarnation)),
    handleIndex: (handle) => watch("handleIndex", ports.handleIndex(handle)),
    handleIndexShard: (shard) => watch("handleIndex", ports.handleIndexShard(shard)),
    cluster: () => watch("cluster", ports.cluster()),
    sweep: () => watch("sweep", ports.sweep()),
  };
}

async function call(name: string, sleep: Runtime["sleep"], begin: () => Promise<unknown>): Promise<unknown> {
  underWay += 1;
  try {
    return await faulty(name, sleep, begin);
  } finally {
    underWay -= 1;
  }
}

async function faulty(
  name: string,
  sleep: Runtime["sleep"],
  begin: () => Promise<unknown>,
): Promise<unknown> {
  sent[name] = (sent[name] ?? 0) + 1;
  const met = faults.find(({ fault, left }) => fault.method === name && left > 0);
  if (met === undefined) return await begin();
  met.left -= 1;
  const { delayMs = 0, heldMs = 0, stands, fails } = met.fault;
  const set = faults;
  const stand = async (): Promise<void> => {
    while (set === faults) await sleep(STANDS_MS);
  };
  if (delayMs > 0) await waitingFor(() => sleep(delayMs));
  if (stands === "before") await waitingFor(stand);
  if (fails === "before") throw lost(name);
  const answer = await begin();
  if (heldMs > 0) await waitingFor(() => sleep(heldMs));
  if (stands === "after") await waitingFor(stand);
  if (fails === "after") throw lost(name);
  return answer;
}

async function waitingFor(wait: () => Promise<void>): Promise<void> {
  const set = faults;
  waiting += 1;
  try {
    await wait();
  } finally {
    if (set === faults) waiting -= 1;
  }
}

/** An error as the platform marks one whose call, or whose answer, did not get through. */
function lost(name: string): Error {
  return Object.assign(new Error(`${name} was lost by a test`), { retryable: true });
}

/** What callers are told of an object that a test ends, with all that it has under way. */
const ENDED = "ended by a test";

function register(kind: ObjectKind, ctx: DurableObjectState, env: TestEnv, object: Counting): void {
  living.set(ctx.id.toString(), { kind, object });
  if (env.TEST_ALARMS === "moved") moveAlarms(ctx.storage);
}

/** An alarm that is due in a second by the moved clock is due in a second. */
function moveAlarms(storage: DurableObjectStorage): void {
  const setAlarm = storage.setAlarm.bind(storage);
  const moved: DurableObjectStorage["setAlarm"] = (at, options) =>
    setAlarm(Number(at) - now() + Date.now(), options);
  setRealAlarm.set(storage, setAlarm);
  Object.defineProperty(storage, "setAlarm", { value: moved });
}

/** The clock was moved on: what was due within that time is due now. */
async function bringForward({ storage }: DurableObjectState, byMs: number): Promise<void> {
  const at = await storage.getAlarm();
  if (at !== null) await setRealAlarm.get(storage)?.(Math.max(Date.now(), at - byMs));
}

/** Tells every object whose alarms are moved that the clock was. */
async function bringAllForward(env: TestEnv, byMs: number): Promise<void> {
  if (env.TEST_ALARMS !== "moved" || byMs <= 0) return;
  const { BLOCK, HOST, POOL, HANDLE_INDEX, CLUSTER, SWEEP } = env;
  const spaces = { block: BLOCK, host: HOST, pool: POOL, handleIndex: HANDLE_INDEX, cluster: CLUSTER };
  const all = { ...spaces, handleIndexShard: HANDLE_INDEX, sweep: SWEEP };
  const calls = [...living].map(([id, { kind }]) => {
    const space: Pick<DurableObjectNamespace, "get" | "idFromString"> = all[kind];
    return (space.get(space.idFromString(id)) as unknown as Moved).clockMoved(byMs);
  });
  await Promise.all(calls);
}

interface Moved {
  clockMoved(byMs: number): Promise<void>;
}

class TestBlock extends BlockObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, testRuntime(env));
    register("block", ctx, env, this);
  }

  clockMoved(byMs: number): Promise<void> {
    return bringForward(this.ctx, byMs);
  }

  endNow(): void {
    this.ctx.abort(ENDED);
  }
}

class TestHost extends HostObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, testRuntime(env));
    register("host", ctx, env, this);
  }

  clockMoved(byMs: number): Promise<void> {
    return bringForward(this.ctx, byMs);
  }

  endNow(): void {
    this.ctx.abort(ENDED);
  }
}

class TestPool extends PoolObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, testRuntime(env));
    register("pool", ctx, env, this);
  }

  clockMoved(byMs: number): Promise<void> {
    return bringForward(this.ctx, byMs);
  }

  endNow(): void {
    this.ctx.abort(ENDED);
  }
}

class TestHandleIndex extends HandleIndexObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, testRuntime(env));
    register("handleIndex", ctx, env, this);
  }

  clockMoved(byMs: number): Promise<void> {
    return bringForward(this.ctx, byMs);
  }

  endNow(): void {
    this.ctx.abort(ENDED);
  }
}

class TestCluster extends ClusterObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, testRuntime(env));
    register("cluster", ctx, env, this);
  }

  clockMoved(byMs: number): Promise<void> {
    return bringForward(this.ctx, byMs);
  }

  endNow(): void {
    this.ctx.abort(ENDED);
  }
}

/** What it does, it does over time: its alarms keep to the moved clock always. */
class TestSweep extends SweepObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, testRuntime(env));
    register("sweep", ctx, { ...env, TEST_ALARMS: "moved" }, this);
  }

  clockMoved(byMs: number): Promise<void> {
    return bringForward(this.ctx, byMs);
  }

  endNow(): void {
    this.ctx.abort(ENDED);
  }
}

export {
  TestBlock as BlockObject,
  TestCluster as ClusterObject,
  TestHandleIndex as HandleIndexObject,
  TestHost as HostObject,
  TestPool as PoolObject,
  TestSweep as SweepObject,
};

async function countersOfAll(): Promise<CountersAnswer> {
  const answer: CountersAnswer = { calls: {}, sent, commits: {}, rowsWritten: {}, rowsRead: {} };
  const add = (sums: Record<string, number>, name: string, count: number): void => {
    sums[name] = (sums[name] ?? 0) + count;
  };
  for (const { kind, object } of living.values()) {
    const { calls, commits, rowsWritten, rowsRead } = await object.counters();
    for (const [method, count] of Object.entries(calls)) add(answer.calls, `${kind}.${method}`, count);
    add(answer.commits, kind, commits);
    add(answer.rowsWritten, kind, rowsWritten);
    add(answer.rowsRead, kind, rowsRead);
  }
  return answer;
}

/** Calls an object as another object does. */
async function callObject(env: Env, { kind, name, method, request }: ObjectCall): Promise<unknown> {
  const make = testRuntime(env).ports[kind] as (...name: ObjectCall["name"]) => object;
  const methods = make(...name) as Record<string, (request: unknown) => Promise<unknown>>;
  return await methods[method]?.(request);
}

/** What only tests may ask. Absent: the request is for the application. */
async function control(request: Request, env: Env): Promise<Response | undefined> {
  const { pathname } = new URL(request.url);
  switch (`${request.method} ${pathname}`) {
    case "GET /test/counters":
      return Response.json(await countersOfAll());
    case "POST /test/clock": {
      const { offsetMs, heldAt: at } = (await request.json()) as { offsetMs: number; heldAt?: number };
      const before = now();
      clockOffsetMs = offsetMs;
      heldAt = at;
      await bringAllForward(env, now() - before);
      return Response.json({ now: now() });
    }
    case "POST /test/faults": {
      const given = (await request.json()) as { faults: Fault[] };
      const before = faults;
      faults = given.faults.map((fault) => ({ fault, left: fault.times ?? 1 }));
      waiting = 0;
      return Response.json({ unmet: before.reduce((sum, { left }) => sum + left, 0) });
    }
    case "GET /test/faults":
      return Response.json({ waiting });
    case "GET /test/quiet":
      return Response.json({ underWay });
    case "POST /test/call":
      return Response.json((await callObject(env, (await request.json()) as ObjectCall)) ?? {});
    default:
      return undefined;
  }
}

const serve = createFetch<Env>(testRuntime, refusalOf);

export default {
  async fetch(request, env, ctx) {
    return (await control(request, env)) ?? (await serve(request, env, ctx));
  },
} satisfies ExportedHandler<Env>;
