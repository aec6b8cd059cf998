/**
 * The composition root: builds the runtime from env, exports the objects, fetch and scheduled.
 * May import: everything. Only this file knows everything.
 */
import { productionRuntime } from "../durable-objects/production.ts";
import { refusalOf } from "../durable-objects/refusal.ts";
import { createFetch } from "./http/worker.ts";

export { BlockObject } from "../durable-objects/block.ts";
export { ClusterObject } from "../durable-objects/cluster.ts";
export { HandleIndexObject } from "../durable-objects/handle-index.ts";
export { HostObject } from "../durable-objects/host.ts";
export { PoolObject } from "../durable-objects/pool.ts";
export { SweepObject } from "../durable-objects/sweep.ts";

export default {
  fetch: createFetch<Env>(productionRuntime, refusalOf),
  async scheduled(_controller, env) {
    await productionRuntime(env).ports.sweep().tick({});
  },
} satisfies ExportedHandler<Env>;
