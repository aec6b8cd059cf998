/**
 * A world of the product's own object classes: their names, ports, settings and leases.
 * May import: the simulation, src/core, src/rpc, durable-objects. Only here the two meet.
 *
 *   const { world, ports } = deploy({ BlockObject, HostObject, ClusterObject, ... }, { seed: 7 });
 *   world.hold({ toClass: "BlockObject", method: "claim" });
 *   const answer = await world.during(ports.host("node-1").allocate(request));
 */
import { PolicyCache } from "../../../durable-objects/policy-cache.ts";
import type { Runtime } from "../../../durable-objects/runtime.ts";
import { blockName, parseCidr } from "../../../src/core/cidr.ts";
import {
  blockObjectName,
  CLUSTER_OBJECT_NAME,
  handleIndexObjectName,
  hostObjectName,
  poolObjectName,
  SWEEP_OBJECT_NAME,
  shardOf,
} from "../../../src/core/ids.ts";
import { LOCAL_SETTINGS, type Settings } from "../../../src/core/settings.ts";
import type { EndSignal } from "../../../src/platform/call.ts";
import type { ClusterSource } from "../../../src/rpc/cluster-source.ts";
import type { Ports } from "../../../src/rpc/ports.ts";
import type { ObjectClass, Place } from "./objects.ts";
import { World, type WorldOptions } from "./world.ts";

export interface DeploymentOptions extends Partial<WorldOptions> {
  settings?: Partial<Settings>;
  /** Who holds a lease: each object (as on Cloudflare), or the process for all (as on workerd). */
  leasesOf?: "object" | "process";
  /** The cluster that objects ask; absent: none is. */
  cluster?: ClusterSource;
}

export interface Deployed {
  readonly world: World;
  readonly settings: Settings;
  /** The objects as the Worker calls them. */
  readonly ports: Ports;
  /** The Worker's own policy; with `leasesOf: "process"` the objects' too. */
  readonly policy: PolicyCache;
}

/** The object that a block's CIDR names. */
export function blockObject(cidr: string): string {
  const parsed = parseCidr(cidr);
  if (!parsed.ok) throw new Error(`${cidr}: ${parsed.error.message}`);
  return blockObjectName(blockName(parsed.value));
}

/** Builds the ports over any way to reach an object by its name; each call makes a new stub. */
export function portsOver(stub: <T extends object>(objectName: string) => T, settings: Settings): Ports {
  return {
    block: (cidr) => stub(blockObject(cidr)),
    host: (name) => stub(hostObjectName(name)),
    pool: (name, incarnation) => stub(poolObjectName(name, incarnation)),
    handleIndex: (handle) => stub(handleIndexObjectName(shardOf(handle, settings.indexShards))),
    handleIndexShard: (shard) => stub(handleIndexObjectName(shard)),
    cluster: () => stub(CLUSTER_OBJECT_NAME),
    sweep: () => stub(SWEEP_OBJECT_NAME),
  };
}

/** Makes a deployment of the given classes; those that a test does not need may be left out. */
export function deploy(classes: Record<string, ObjectClass>, options: DeploymentOptions = {}): Deployed {
  const { settings: changed, leasesOf = "object", cluster, ...rest } = options;
  const settings: Settings = { ...LOCAL_SETTINGS, ...changed };
  const leases = (place: Pick<Place, "now" | "sleep">, ports: Ports): PolicyCache =>
    new PolicyCache({
      cluster: () => ports.cluster(),
      now: () => place.now(),
      sleep: (ms, signal) => place.sleep(ms, signal),
      timeoutMs: settings.untilMs + settings.skewMs,
    });
  const runtime = (place: Place): Runtime => {
    const own = portsOver((objectName) => place.stub(objectName), settings);
    return {
      settings,
      now: () => place.now(),
      sleep: (ms: number, signal?: EndSignal) => place.sleep(ms, signal),
      unique: () => place.unique(),
      ports: own,
      policy: leasesOf === "object" ? leases(place, own) : policy,
      ...(cluster === undefined ? {} : { cluster }),
    };
  };
  const world = new World({ runtime, ...rest, classes });
  const ports = portsOver((objectName) => world.stub(objectName), settings);
  const outside = {
    now: () => world.now,
    sleep: (ms: number, signal?: EndSignal) => world.sleep(ms, signal),
  };
  const policy = leases(outside, ports);
  return { world, settings, ports, policy };
}
