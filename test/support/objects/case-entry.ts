/**
 * The Worker of the conformance cases in workerd: many deployments in one, each in a space of names of its
 * own and with a clock of its own. May import: everything. Rule: it is never part of what is deployed.
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
import type { LostMessage } from "../../conformance/api-connection.ts";

/** Writes of the policy wait for leases, so these are short; on a busy machine a call may take its time. */
export const SETTINGS: Settings = { ...EDGE_SETTINGS, leaseMs: 1_000, skewMs: 200, untilMs: 4_000 };

const NAMESPACES = {
  BLOCK: "block",
  HOST: "host",
  POOL: "pool",
  HANDLE_INDEX: "handle-index",
  CLUSTER: "cluster",
  SWEEP: "sweep",
} as const;

/** A deployment: what its test sets and sees. */
export class Space {
  readonly name: string;
  /** How far its clock is ahead, ms. */
  offsetMs = 0;
  /** Calls that an object, or the test, waits for. */
  underWay = 0;
  /** What gets lost, until it is taken away. */
  lost: LostMessage | undefined;
  timesLost = 0;

  constructor(name: string) {
    this.name = name;
  }

  now(): number {
    return Date.now() + this.offsetMs;
  }

  async call(object: string, method: string, begin: () => Promise<unknown>): Promise<unknown> {
    const isLost = this.lost?.object === object && this.lost.method === method;
    this.underWay += 1;
    try {
      if (isLost) this.timesLost += 1;
      if (isLost && this.lost?.message === "request") throw noAnswer(object, method);
      const answer = await begin();
      if (isLost) throw noAnswer(object, method);
      return answer;
    } finally {
      this.underWay -= 1;
    }
  }
}

/** An error as the platform marks one whose call, or whose answer, did not get through. */
function noAnswer(object: string, method: string): Error {
  return Object.assign(new Error(`${object}.${method} was lost by a test`), { retryable: true });
}

const spaces = new Map<string, Space>();

export function spaceOf(name: string): Space {
  const space = spaces.get(name) ?? new Space(name);
  spaces.set(name, space);
  return space;
}

/** The runtime of an object, or of the application, of one space. */
export function runtimeOf(env: Env, space: Space): Runtime {
  const base = productionRuntime(inSpace(env, space));
  const { ports, sleep } = base;
  const now = (): number => space.now();
  const timeoutMs = SETTINGS.untilMs + SETTINGS.skewMs;
  const policy = new PolicyCache({ cluster: () => ports.cluster(), now, sleep, timeoutMs });
  return { ...base, settings: SETTINGS, now, policy };
}

/** Bindings under which the name of each object says another space, and its calls are watched. */
function inSpace(env: Env, space: Space): Env {
  const spaced = Object.entries(NAMESPACES).map(([binding, object]) => {
    const namespace = env[binding as keyof typeof NAMESPACES] as unknown as DurableObjectNamespace;
    const idFromName = (name: string) =>
      namespace.idFromName(name.replace(":v1:default", `:v1:${space.name}`));
    const get = (id: DurableObjectId) => watched(space, object, namespace.get(id));
    return [binding, { idFromName, get }];
  });
  return { ...env, ...Object.fromEntries(spaced), PLATFORM: "edge" };
}

function watched(space: Space, object: string, stub: object): object {
  const methods = stub as Record<PropertyKey, (request: unknown) => Promise<unknown>>;
  return new Proxy(stub, {
    get: (_stub, method) => (request: unknown) =>
      space.call(object, String(method), () => {
        const call = methods[method];
        if (call === undefined) throw new Error(`no ${String(method)}`);
        return call(request);
      }),
  });
}

/** An object knows from its own name in which space it is. */
function runtimeIn(ctx: DurableObjectState, env: Env): Runtime {
  const space = ctx.id.name?.split(":")[2];
  if (space === undefined) throw new Error("an object was reached without its name");
  return runtimeOf(env, spaceOf(space));
}

class CaseBlock extends BlockObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, runtimeIn(ctx, env));
  }
}

class CaseHost extends HostObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, runtimeIn(ctx, env));
  }
}

class CasePool extends PoolObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, runtimeIn(ctx, env));
  }
}

class CaseHandleIndex extends HandleIndexObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, runtimeIn(ctx, env));
  }
}

class CaseCluster extends ClusterObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, runtimeIn(ctx, env));
  }
}

class CaseSweep extends SweepObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, runtimeIn(ctx, env));
  }
}

export {
  CaseBlock as BlockObject,
  CaseCluster as ClusterObject,
  CaseHandleIndex as HandleIndexObject,
  CaseHost as HostObject,
  CasePool as PoolObject,
  CaseSweep as SweepObject,
};

export default { fetch: () => new Response(null, { status: 404 }) } satisfies ExportedHandler<Env>;
