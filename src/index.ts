/**
 * The composition root: exports the objects, fetch and scheduled. It may import everything.
 * First version: it answers /healthz and keeps a number per host, enough to try the local start.
 */
import { DurableObject } from "cloudflare:workers";

class FirstObject extends DurableObject<Env> {}
export class BlockObject extends FirstObject {}
export class PoolObject extends FirstObject {}
export class HandleIndexObject extends FirstObject {}
export class ClusterObject extends FirstObject {}
export class SweepObject extends FirstObject {}

export class HostObject extends FirstObject {
  register(): number {
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS registration (id INTEGER PRIMARY KEY, revision INTEGER) STRICT");
    sql.exec("INSERT INTO registration VALUES (1, 1) ON CONFLICT DO UPDATE SET revision = revision + 1");
    return this.revision();
  }

  revision(): number {
    const { sql } = this.ctx.storage;
    const row = sql.exec<{ revision: number }>("SELECT revision FROM registration").toArray()[0];
    return row?.revision ?? 0;
  }
}

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/healthz") {
      return Response.json({ status: "ok" });
    }
    const host = /^\/v1\/hosts\/([^/]+)$/.exec(pathname)?.[1];
    if (host === undefined) {
      return Response.json({ code: "route_not_found", status: 404 }, { status: 404 });
    }
    const stub = env.HOST.get(env.HOST.idFromName(host));
    const revision = request.method === "PUT" ? await stub.register() : await stub.revision();
    return revision === 0
      ? Response.json({ code: "host_not_found", status: 404 }, { status: 404 })
      : Response.json({ name: host, revision });
  },
} satisfies ExportedHandler<Env>;
