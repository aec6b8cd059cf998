/**
 * The composition root of the benchmark: the deployed service plus two routes to compare with.
 * May import: everything. Rule: it is never part of what is deployed.
 */
import { Hono } from "hono";
import { productionRuntime } from "../durable-objects/production.ts";
import { refusalOf } from "../durable-objects/refusal.ts";
import { SweepObject as DeployedSweep } from "../durable-objects/sweep.ts";
import { ok, type Result } from "../src/core/result.ts";
import { createFetch } from "../src/http/worker.ts";
import service from "../src/index.ts";
import type { HostAllocateAnswer, HostAllocateRequest, HostPort } from "../src/rpc/host.ts";

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

export { BlockObject, ClusterObject, HandleIndexObject, HostObject, PoolObject } from "../src/index.ts";

/** One durable write in one object: the floor under every request that must not be lost. */
export class SweepObject extends DeployedSweep {
  async allocate(request: HostAllocateRequest): Promise<Result<HostAllocateAnswer, never>> {
    return canned(request);
  }

  async bump(): Promise<number> {
    const { sql } = this.ctx.storage;
    return this.ctx.storage.transactionSync(() => {
      sql.exec("CREATE TABLE IF NOT EXISTS bench (id INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT");
      sql.exec("INSERT INTO bench VALUES (1, 1) ON CONFLICT DO UPDATE SET n = n + 1");
      return Number(sql.exec("SELECT n FROM bench").one().n);
    });
  }
}

/** The service with a Host that answers at once: in the same isolate, or one object call away. */
const serviceWith = (hostOf: (env: BenchEnv) => Pick<HostPort, "allocate">) =>
  createFetch<BenchEnv>((env) => {
    const runtime = productionRuntime(env as never);
    return { ...runtime, ports: { ...runtime.ports, host: () => hostOf(env) as HostPort } };
  }, refusalOf);
const withoutCalls = serviceWith(() => ({ allocate: async (request) => canned(request) }));
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
  .post("/bench/no-call/*", (c) => withoutCalls(asAllocation(c.req.raw), c.env, c.executionCtx))
  .post("/bench/one-call/*", (c) => withOneCall(asAllocation(c.req.raw), c.env, c.executionCtx));

function asAllocation(request: Request): Request {
  return new Request(new URL("/v1/allocations", request.url), request);
}

export default {
  async fetch(request, env, ctx) {
    const isOwn = request.url.includes("/bench/");
    return isOwn
      ? await routes.fetch(request, env, ctx)
      : await service.fetch(request as never, env as never, ctx);
  },
} satisfies ExportedHandler<BenchEnv>;
