/**
 * The composition root of the benchmark: the deployed service, routes to compare with, and what objects counted.
 * May import: everything. Rule: it is never part of what is deployed; nothing of it is in a timed request.
 */
import { Hono } from "hono";
import { productionRuntime } from "../durable-objects/production.ts";
import { refusalOf } from "../durable-objects/refusal.ts";
import type { Counters } from "../durable-objects/storage/store.ts";
import { ok, type Result } from "../src/core/result.ts";
import { createFetch } from "../src/http/worker.ts";
import service, * as deployed from "../src/index.ts";
import type {
  HostAllocateAnswer,
  HostAllocateManyRequest,
  HostAllocateRequest,
  HostPort,
  TogetherOutcome,
} from "../src/rpc/host.ts";

/** What a Host answers, so that the service can be measured without one. */
function canned({ host, handle, key }: HostAllocateRequest): Result<HostAllocateAnswer, never> {
  const [address, block] = ["10.64.0.1", "10.64.0.0/26"];
  const times = { sequenceNumber: 1, touch: 1, allocatedAt: 1_700_000_000_000 };
  const owner = { handle, key, host, use: "Workload", attributes: { node: host } } as const;
  const state = { family: 4, block, blockOwner: host, state: "allocated", leakCollection: "auto" } as const;
  const record = { address, ...state, ...owner, ...times };
  const placed = { record, pool: "bench", interfacePrefix: 26, reserved: false };
  return ok({ addresses: [placed], shortfall: [], replayed: false, reused: false });
}

function cannedTogether({ items }: HostAllocateManyRequest): { outcomes: TogetherOutcome[] } {
  return { outcomes: items.map((request) => ({ kind: "done", outcome: canned(request) })) };
}

interface Counting {
  counters(): Counters | Promise<Counters>;
}

/** Each instance, by its place: what it counts is read without a call to it. */
const living = new Map<string, Counting>();
/** Durable writes of the floor, which are counted here. */
let bumps = 0;
/** Calls that are answered and write nothing. */
let asked = 0;

function remember(kind: string, ctx: DurableObjectState, object: Counting): void {
  living.set(`${kind} ${ctx.id}`, object);
}

export class BlockObject extends deployed.BlockObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    remember("block", ctx, this);
  }
}

export class ClusterObject extends deployed.ClusterObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    remember("cluster", ctx, this);
  }
}

export class HandleIndexObject extends deployed.HandleIndexObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    remember("handleIndex", ctx, this);
  }
}

export class HostObject extends deployed.HostObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    remember("host", ctx, this);
  }
}

export class PoolObject extends deployed.PoolObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    remember("pool", ctx, this);
  }
}

/** One durable write in one object: the floor under every request that must not be lost. */
export class SweepObject extends deployed.SweepObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    remember("sweep", ctx, this);
  }

  async allocate(request: HostAllocateRequest): Promise<Result<HostAllocateAnswer, never>> {
    asked += 1;
    return canned(request);
  }

  async allocateTogether(request: HostAllocateManyRequest): Promise<{ outcomes: TogetherOutcome[] }> {
    asked += 1;
    return cannedTogether(request);
  }

  async bump(): Promise<number> {
    const { sql } = this.ctx.storage;
    bumps += 1;
    return this.ctx.storage.transactionSync(() => {
      sql.exec("CREATE TABLE IF NOT EXISTS bench (id INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT");
      sql.exec("INSERT INTO bench VALUES (1, 1) ON CONFLICT DO UPDATE SET n = n + 1");
      return Number(sql.exec("SELECT n FROM bench").one().n);
    });
  }
}

/** What all objects of the process did since it started. */
async function counted() {
  const sums = { calls: bumps + asked, commits: bumps, rowsWritten: bumps, rowsRead: bumps };
  for (const object of living.values()) {
    const { calls, ...rest } = await object.counters();
    for (const count of Object.values(calls)) sums.calls += count;
    sums.commits += rest.commits;
    sums.rowsWritten += rest.rowsWritten;
    sums.rowsRead += rest.rowsRead;
  }
  return { ...sums, objects: living.size };
}

/** The service with a Host that answers at once: in the same isolate, or one object call away. */
const serviceWith = (hostOf: (env: BenchEnv) => Pick<HostPort, "allocate" | "allocateTogether">) =>
  createFetch<BenchEnv>((env) => {
    const runtime = productionRuntime(env as never);
    return { ...runtime, ports: { ...runtime.ports, host: () => hostOf(env) as HostPort } };
  }, refusalOf);
const withoutCalls = serviceWith(() => ({
  allocate: async (request) => canned(request),
  allocateTogether: async (request) => cannedTogether(request),
}));
const withOneCall = serviceWith(({ SWEEP }) => SWEEP.get(SWEEP.idFromName("bench-host")) as never);

interface BenchEnv extends Omit<Env, "SWEEP"> {
  readonly SWEEP: DurableObjectNamespace<SweepObject>;
}

/** Through the router that the service uses where a look-up is not enough, and with JSON read and written. */
const routes = new Hono<{ Bindings: BenchEnv }>()
  .post("/bench/noop", async (c) => c.json(await c.req.json()))
  .post("/bench/write/:name", async (c) => {
    await c.req.json();
    const { SWEEP } = c.env;
    return c.json({ n: await SWEEP.get(SWEEP.idFromName(c.req.param("name"))).bump() });
  })
  .get("/bench/counters", async (c) => c.json(await counted()))
  .post("/bench/no-call/*", (c) => withoutCalls(asAllocation(c.req.raw), c.env, c.executionCtx))
  .post("/bench/one-call/*", (c) => withOneCall(asAllocation(c.req.raw), c.env, c.executionCtx));

function asAllocation(request: Request): Request {
  return new Request(new URL("/v1/allocations", request.url), request);
}

export default {
  async fetch(request, env, ctx) {
    // Nothing read, nothing parsed: what the load is compared with.
    if (request.url.endsWith("/bench/bare")) return new Response("ok");
    const isOwn = request.url.includes("/bench/");
    return isOwn
      ? await routes.fetch(request, env, ctx)
      : await service.fetch(request as never, env as never, ctx);
  },
} satisfies ExportedHandler<BenchEnv>;
