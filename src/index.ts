/**
 * The composition root: builds the runtime from env, exports the objects, fetch and scheduled.
 * May import: everything. Only this file knows everything.
 */
import { askClusterBy, productionRuntime } from "../durable-objects/production.ts";
import { refusalOf } from "../durable-objects/refusal.ts";
import { clusterSourceOf, type KubernetesEnv } from "./gc/kubernetes-settings.ts";
import { createFetch } from "./http/worker.ts";

export { BlockObject } from "../durable-objects/block.ts";
export { ClusterObject } from "../durable-objects/cluster.ts";
export { HandleIndexObject } from "../durable-objects/handle-index.ts";
export { HostObject } from "../durable-objects/host.ts";
export { PoolObject } from "../durable-objects/pool.ts";
export { SweepObject } from "../durable-objects/sweep.ts";

askClusterBy((env: Env & KubernetesEnv, clock) => clusterSourceOf(env, clock));

const serve = createFetch<Env>(productionRuntime, refusalOf);

/** Whether this isolate has called the Sweep, whose alarm stands in for cron on bare workerd. */
let isTicking = false;

async function tickOnce(env: Env): Promise<void> {
  const { ports, settings } = productionRuntime(env);
  isTicking = true;
  if (settings.tickMs === 0) return;
  try {
    await ports.sweep().tick({ source: "alarm" });
  } catch {
    // The next request tries again.
    isTicking = false;
  }
}

export default {
  async fetch(request, env, ctx) {
    if (!isTicking) ctx.waitUntil(tickOnce(env));
    return await serve(request, env, ctx);
  },
  async scheduled(_controller, env) {
    await productionRuntime(env).ports.sweep().tick({ source: "cron" });
  },
} satisfies ExportedHandler<Env>;
