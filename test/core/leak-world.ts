/**
 * A small cluster in memory, as the cases of the leak collector describe one: virtual time, no objects.
 * May import: the core. Rule: it only tells what is there; what is leaked the judgement says.
 */
import { parseAddress } from "../../src/core/address.ts";
import { containsAddress, parseBlockName } from "../../src/core/cidr.ts";
import type { HostLife } from "../../src/core/leak-host.ts";
import { type LeakSubject, nameIn } from "../../src/core/leak-subject.ts";
import type { AllocationGiven, BlockGiven, Given, PodGiven, VmGiven } from "./leak-vocabulary.ts";

/** Long before the first step of a case: when what a case begins with was touched, and when hosts were lost. */
const LONG_AGO_MS = -3_600_000;
const LOST_BEFORE_MS = -1_800_000;
/** Whom what belongs to no host belongs to here. */
export const NOBODY = "virtual:unknown";

export interface Allocation extends AllocationGiven {
  readonly touchedAt: number;
}

interface NodeState {
  readonly k8s: string | null;
  readonly labels: Readonly<Record<string, string>>;
}

export class LeakWorld {
  now = 0;
  config: Required<Given["config"]>;
  readonly nodes = new Map<string, NodeState>();
  readonly kubernetesNodes = new Set<string>();
  readonly lostAt = new Map<string, number>();
  /** Pods as lists show them, and as a direct read does. */
  readonly listed = new Map<string, PodGiven>();
  readonly live = new Map<string, PodGiven>();
  readonly vms: VmGiven[];
  readonly blocks = new Map<string, { affinity: string | null; number: number }>();
  /** Allocations as the last read of their block showed them, and as the blocks have them. */
  readonly seen = new Map<string, Allocation>();
  readonly stored = new Map<string, Allocation>();
  readonly dirty = new Set<string>();
  readonly failing = { pods: new Set<string>(), nodes: new Set<string>(), cleanups: new Set<string>() };
  isFullDue = false;
  /** Blocks that may retire: something in them moved, or their owner went. */
  readonly moving = new Set<string>();

  constructor(given: Given) {
    this.config = {
      leak_grace_s: 900,
      cooldown_s: 0,
      release_batch: 10_000,
      kubevirt_installed: true,
      datastore_ready: true,
      in_sync: true,
      ...given.config,
    };
    for (const { name, k8s, k8s_exists = true, labels = {} } of given.nodes) {
      this.nodes.set(name, { k8s, labels });
      if (k8s !== null && k8s_exists) this.kubernetesNodes.add(k8s);
    }
    for (const name of given.k8s_nodes ?? []) this.kubernetesNodes.add(name);
    for (const pod of given.pods) this.putPod(pod);
    this.vms = [...given.vms];
    for (const block of given.blocks) this.putBlock(block);
    // Without a handle nothing is held here: it either cools, or cannot be.
    const possible = given.allocations.filter((one) => isHeld(one) || one.released_at !== undefined);
    for (const one of possible) this.putAllocation(one, LONG_AGO_MS);
  }

  putPod(pod: PodGiven, views: readonly string[] = ["listed", "live"]): void {
    const name = nameIn(pod.ns, pod.name);
    if (views.includes("listed")) this.listed.set(name, pod);
    if (views.includes("live")) this.live.set(name, pod);
  }

  putBlock({ cidr, affinity }: BlockGiven): void {
    this.blocks.set(cidr, { affinity, number: (this.blocks.get(cidr)?.number ?? 0) + 1 });
  }

  putAllocation(one: AllocationGiven, touchedAt: number, isDelivered = true): void {
    const allocation = { ...one, touchedAt };
    this.stored.set(one.ip, allocation);
    if (!isDelivered) return;
    this.seen.set(one.ip, allocation);
    this.#moved(one.ip);
  }

  dropAllocation(ip: string): void {
    this.#moved(ip);
    this.stored.delete(ip);
    this.seen.delete(ip);
  }

  /** Tells whether the block of an address is no more. */
  isOrphan(ip: string): boolean {
    return this.blockOf(ip) === "";
  }

  /** The host that a node of the cluster is here. */
  hostOf(kubernetesName: string): string | undefined {
    return [...this.nodes].find(([, { k8s }]) => k8s === kubernetesName)?.[0];
  }

  isCooling({ handle, released_at }: AllocationGiven): boolean {
    if (handle !== null || released_at === undefined) return false;
    return (released_at + this.config.cooldown_s) * 1000 > this.now;
  }

  #moved(ip: string): void {
    const cidr = this.blockOf(ip);
    const block = this.blocks.get(cidr);
    this.moving.add(cidr);
    if (block !== undefined) block.number += 1;
    const node = this.seen.get(ip)?.node;
    if (node !== undefined && node !== null) this.dirty.add(node);
  }

  hosts(): Set<string> {
    const owners = [...this.blocks.values()].flatMap(({ affinity }) => ownerHost(affinity) ?? []);
    const holders = [...this.seen.values()].filter(isHeld).flatMap(({ node }) => node ?? []);
    return new Set([...owners, ...holders]);
  }

  blockOf(ip: string): string {
    const address = parseAddress(ip);
    if (!address.ok) throw new Error(`no address: ${ip}`);
    const found = [...this.blocks.keys()].find((cidr) => {
      const parsed = parseBlockName(cidr);
      return parsed.ok && containsAddress(parsed.value, address.value);
    });
    return found ?? "";
  }

  life(host: string): HostLife {
    if (this.failing.nodes.has(host)) return { kind: "unknown" };
    const node = this.nodes.get(host);
    const isThere = node !== undefined && (node.k8s === null || this.kubernetesNodes.has(node.k8s));
    if (isThere) return { kind: "active", generation: 1 };
    const since = this.lostAt.get(host) ?? LOST_BEFORE_MS;
    return { kind: "gone", generation: 1, since, by: "kubernetes" };
  }

  subject(one: Allocation): LeakSubject {
    return {
      address: one.ip,
      block: this.blockOf(one.ip),
      host: one.node ?? NOBODY,
      handle: one.handle ?? "",
      use: "Workload",
      attributes: one.attrs,
      leakCollection: "auto",
      touch: one.seq,
      touchedAt: one.touchedAt,
    };
  }

  subjectsOf(host: string): LeakSubject[] {
    return [...this.seen.values()]
      .filter((one) => isHeld(one) && one.node === host)
      .map((one) => this.subject(one));
  }

  /** A host that is of no cluster has nobody who could tell what lives there. */
  isOfCluster(host: string): boolean {
    return this.nodes.get(host)?.k8s !== null;
  }

  within(cidr: string, view: ReadonlyMap<string, Allocation>): Allocation[] {
    return [...view.values()].filter(({ ip }) => this.blockOf(ip) === cidr);
  }

  ownedBlocks(host: string) {
    return [...this.blocks].filter(([, { affinity }]) => ownerHost(affinity) === host);
  }

  isEmpty(block: string, view: ReadonlyMap<string, Allocation>): boolean {
    return !this.within(block, view).some((one) => isHeld(one) || this.isCooling(one));
  }

  /** A block without owner retires with its last address, by itself. */
  retire(): void {
    for (const cidr of this.moving) {
      const isOwned = this.blocks.get(cidr)?.affinity !== null;
      const isUsed = this.within(cidr, this.stored).some((one) => isHeld(one) || this.isCooling(one));
      if (!isOwned && !isUsed) this.blocks.delete(cidr);
    }
  }
}

/** Without a handle nothing is held. */
export function isHeld({ handle }: AllocationGiven): boolean {
  return handle !== null;
}

function ownerHost(affinity: string | null): string | undefined {
  return affinity?.startsWith("host:") === true ? affinity.slice("host:".length) : undefined;
}
