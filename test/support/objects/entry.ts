/**
 * The Worker of the objects' tests: the deployed classes, for which no machine is too slow, under a clock that
 * a test may move. May import: everything. Rule: it is never part of what is deployed.
 */
import { BlockObject } from "../../../durable-objects/block.ts";
import { ClusterObject } from "../../../durable-objects/cluster.ts";
import { HandleIndexObject } from "../../../durable-objects/handle-index.ts";
import { HostObject } from "../../../durable-objects/host.ts";
import { PolicyCache } from "../../../durable-objects/policy-cache.ts";
import { PoolObject } from "../../../durable-objects/pool.ts";
import { productionRuntime } from "../../../durable-objects/production.ts";
import type { Runtime } from "../../../durable-objects/runtime.ts";
import { SweepObject } from "../../../durable-objects/sweep.ts";
import { EDGE_SETTINGS, type Settings } from "../../../src/core/settings.ts";

/**
 * As deployed, but a message may take half a minute, and what objects do in between by themselves, as renewing
 * leases or storing figures, comes later than a test ends. A policy is written before the first lease.
 */
export const SETTINGS: Settings = {
  ...EDGE_SETTINGS,
  leaseMs: 60_000,
  untilMs: 30_000,
  figuresMs: 600_000,
};

let movedMs = 0;

/** The clock of all objects, and of the test. */
export function now(): number {
  return Date.now() + movedMs;
}

/** Lets so much time pass at once. Alarms do not hear of it: they ring by the real clock. */
export function pass(ms: number): void {
  movedMs += ms;
}

type Timer = ReturnType<typeof setTimeout>;

/** Timers of objects that run. */
const timersOf = new WeakMap<DurableObjectState, Set<Timer>>();

/** Ends the timers of an object, as its own end does. Why: one that waits for a timer cannot be evicted. */
export function endTimers(ctx: DurableObjectState): void {
  for (const timer of timersOf.get(ctx) ?? []) clearTimeout(timer);
}

/** The runtime of one object, or of the Worker. */
export function runtimeOf(env: Env, ctx?: DurableObjectState): Runtime {
  const base = productionRuntime(env);
  const timers = new Set<Timer>();
  if (ctx !== undefined) timersOf.set(ctx, timers);
  const sleep: Runtime["sleep"] = (ms, signal) =>
    new Promise((resolve, reject) => {
      const over = (settle: () => void) => (): void => {
        clearTimeout(timer);
        timers.delete(timer);
        settle();
      };
      const timer = setTimeout(over(resolve), ms);
      timers.add(timer);
      const stop = over(() => reject(signal?.reason));
      if (signal?.aborted) stop();
      else signal?.addEventListener("abort", stop, { once: true });
    });
  const timeoutMs = SETTINGS.untilMs + SETTINGS.skewMs;
  const policy = new PolicyCache({ cluster: () => base.ports.cluster(), now, sleep, timeoutMs });
  return { ...base, settings: SETTINGS, now, sleep, policy };
}

class PatientBlock extends BlockObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, runtimeOf(env, ctx));
  }
}

class PatientHost extends HostObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, runtimeOf(env, ctx));
  }
}

class PatientPool extends PoolObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, runtimeOf(env, ctx));
  }
}

class PatientHandleIndex extends HandleIndexObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, runtimeOf(env, ctx));
  }
}

class PatientCluster extends ClusterObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, runtimeOf(env, ctx));
  }
}

class PatientSweep extends SweepObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, runtimeOf(env, ctx));
  }
}

export {
  PatientBlock as BlockObject,
  PatientCluster as ClusterObject,
  PatientHandleIndex as HandleIndexObject,
  PatientHost as HostObject,
  PatientPool as PoolObject,
  PatientSweep as SweepObject,
};

export default { fetch: () => new Response(null, { status: 404 }) } satisfies ExportedHandler<Env>;
