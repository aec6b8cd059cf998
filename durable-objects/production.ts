/**
 * The runtime of a deployment, made from its bindings: clock, timers, stubs of all objects, policy.
 * May import: core, rpc. Rule: every stub is made here, so that every get carries the placement.
 */
import { waitUntil } from "cloudflare:workers";
import { blockName, parseCidr } from "../src/core/cidr.ts";
import {
  blockObjectName,
  CLUSTER_OBJECT_NAME,
  handleIndexObjectName,
  hostObjectName,
  poolObjectName,
  SWEEP_OBJECT_NAME,
  shardOf,
} from "../src/core/ids.ts";
import { invariant } from "../src/core/invariant.ts";
import { EDGE_SETTINGS, LOCAL_SETTINGS, type Settings } from "../src/core/settings.ts";
import type { EndSignal } from "../src/platform/call.ts";
import type { ClusterSource } from "../src/rpc/cluster-source.ts";
import type { HandleIndexPort } from "../src/rpc/handle-index.ts";
import type { PolicySource } from "../src/rpc/policy-source.ts";
import type { Ports } from "../src/rpc/ports.ts";
import { PolicyCache } from "./policy-cache.ts";
import type { Runtime } from "./runtime.ts";

/** Variables of an operator that may be absent. Fixed for the life of a deployment. */
interface Placement {
  /** Where objects should be born, e.g. `weur`; Cloudflare heeds it at an object's first use. */
  readonly LOCATION_HINT?: DurableObjectLocationHint;
  /** Where objects must stay, e.g. `eu`; the same name in another jurisdiction is another object. */
  readonly JURISDICTION?: DurableObjectJurisdiction;
}

/** Part of a namespace that does not depend on the class behind it. */
interface Namespace {
  idFromName(name: string): DurableObjectId;
  jurisdiction(jurisdiction: DurableObjectJurisdiction): Namespace;
  get(id: DurableObjectId, options?: DurableObjectNamespaceGetDurableObjectOptions): unknown;
}

type PlacedEnv = Env & Placement;

/** The lease of a process that serves all objects and the Worker. */
let sharedPolicy: PolicySource | undefined;

/** Makes the source of a deployment that names a cluster, with the deployment's clock. */
type ClusterMaker = (env: Env, clock: Pick<Runtime, "now" | "sleep">) => ClusterSource | undefined;

let makeCluster: ClusterMaker | undefined;

/** Tells how a cluster is asked. Why: objects do not know the sources of evidence; the composition root does. */
export function askClusterBy(make: ClusterMaker): void {
  makeCluster = make;
}

/** Makes the runtime of one object, or of the Worker, from its bindings. */
export function productionRuntime(env: Env): Runtime {
  const isLocal = env.PLATFORM === "local";
  const settings = isLocal ? LOCAL_SETTINGS : EDGE_SETTINGS;
  const ports = portsOf(env, settings);
  const ownPolicy = (): PolicySource => policyOf(ports, settings);
  if (isLocal) sharedPolicy ??= ownPolicy();
  const cluster = makeCluster?.(env, { now, sleep });
  return {
    settings,
    now,
    sleep,
    keep: waitUntil,
    unique: () => crypto.randomUUID(),
    ports,
    policy: sharedPolicy ?? ownPolicy(),
    ...(cluster === undefined ? {} : { cluster }),
  };
}

function portsOf(env: Env, settings: Settings): Ports {
  const shard = (number: number): HandleIndexPort =>
    stub(env, env.HANDLE_INDEX, handleIndexObjectName(number));
  return {
    block: (cidr) => stub(env, env.BLOCK, blockObjectName(blockNameOf(cidr))),
    host: (name) => stub(env, env.HOST, hostObjectName(name)),
    pool: (name, incarnation) => stub(env, env.POOL, poolObjectName(name, incarnation)),
    handleIndex: (handle) => shard(shardOf(handle, settings.indexShards)),
    handleIndexShard: shard,
    cluster: () => stub(env, env.CLUSTER, CLUSTER_OBJECT_NAME),
    sweep: () => stub(env, env.SWEEP, SWEEP_OBJECT_NAME),
  };
}

/** Ids of objects found before: making one hashes its name. They may be kept; stubs may not. */
const idsOf = new WeakMap<object, Map<string, DurableObjectId>>();
const IDS_MAX = 8_192;

function idOf(namespace: Namespace, objectName: string): DurableObjectId {
  const ids = idsOf.get(namespace) ?? new Map<string, DurableObjectId>();
  idsOf.set(namespace, ids);
  const known = ids.get(objectName);
  if (known !== undefined) return known;
  if (ids.size >= IDS_MAX) ids.clear();
  const id = namespace.idFromName(objectName);
  ids.set(objectName, id);
  return id;
}

/** Makes a stub; it belongs to the event that made it and is not kept. */
function stub<P extends object>(env: PlacedEnv, namespace: Namespace, objectName: string): P {
  const { JURISDICTION, LOCATION_HINT } = env;
  const placed = JURISDICTION === undefined ? namespace : namespace.jurisdiction(JURISDICTION);
  const options = LOCATION_HINT === undefined ? {} : { locationHint: LOCATION_HINT };
  return placed.get(idOf(placed, objectName), options) as P;
}

const blockNames = new Map<string, string>();

/** Why: two spellings of one block would be two objects, and two objects two allocations. */
function blockNameOf(cidr: string): string {
  const known = blockNames.get(cidr);
  if (known !== undefined) return known;
  const block = parseCidr(cidr);
  invariant(block.ok, `a block is named by its CIDR, not by ${cidr}`);
  const name = blockName(block.value);
  if (blockNames.size >= IDS_MAX) blockNames.clear();
  blockNames.set(cidr, name);
  return name;
}

function policyOf(ports: Ports, { untilMs, skewMs }: Settings): PolicySource {
  return new PolicyCache({
    cluster: () => ports.cluster(),
    now,
    sleep,
    timeoutMs: untilMs + skewMs,
    keep: waitUntil,
  });
}

function now(): number {
  return Date.now();
}

/** Resolves after that many milliseconds; rejects when the signal says so. */
function sleep(ms: number, signal?: EndSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
