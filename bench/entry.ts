/**
 * The composition root of the benchmark: the deployed service plus two routes to compare with.
 * May import: everything. Rule: it is never part of what is deployed.
 */
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

export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === "/bench/noop") return Response.json(await request.json());
    if (pathname.startsWith("/bench/write/")) {
      await request.json();
      return Response.json({ n: await env.SWEEP.get(env.SWEEP.idFromName(pathname)).bump() });
    }
    return await service.fetch(request as never, env as never, ctx);
  },
} satisfies ExportedHandler<BenchEnv>;
