/**
 * The composition root of the benchmark: the deployed service plus two routes to compare with.
 * May import: everything. Rule: it is never part of what is deployed.
 */
import { Hono } from "hono";
import { SweepObject as DeployedSweep } from "../durable-objects/sweep.ts";
import service from "../src/index.ts";

export { BlockObject, ClusterObject, HandleIndexObject, HostObject, PoolObject } from "../src/index.ts";

/** One durable write in one object: the floor under every request that must not be lost. */
export class SweepObject extends DeployedSweep {
  async bump(): Promise<number> {
    const { sql } = this.ctx.storage;
    return this.ctx.storage.transactionSync(() => {
      sql.exec("CREATE TABLE IF NOT EXISTS bench (id INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT");
      sql.exec("INSERT INTO bench VALUES (1, 1) ON CONFLICT DO UPDATE SET n = n + 1");
      return Number(sql.exec("SELECT n FROM bench").one().n);
    });
  }
}

interface BenchEnv extends Omit<Env, "SWEEP"> {
  readonly SWEEP: DurableObjectNamespace<SweepObject>;
}

/** Through the same router as the service, and with JSON read and written: what any request costs at least. */
const routes = new Hono<{ Bindings: BenchEnv }>()
  .post("/bench/noop", async (c) => c.json(await c.req.json()))
  .post("/bench/write/:name", async (c) => {
    await c.req.json();
    const { SWEEP } = c.env;
    return c.json({ n: await SWEEP.get(SWEEP.idFromName(c.req.param("name"))).bump() });
  });

export default {
  async fetch(request, env, ctx) {
    const isOwn = request.url.includes("/bench/");
    return isOwn
      ? await routes.fetch(request, env, ctx)
      : await service.fetch(request as never, env as never, ctx);
  },
} satisfies ExportedHandler<BenchEnv>;
