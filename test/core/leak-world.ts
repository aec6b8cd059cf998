/**
 * A small cluster in memory, with a collector that is nothing but the pure judgement: virtual time, no objects.
 * May import: the core. Rule: it decides nothing itself; it only reads facts and carries out plans.
 */
import { parseAddress } from "../../src/core/address.ts";
import { containsAddress, parseBlockName } from "../../src/core/cidr.ts";
import { type EmptyMark, isMigrating, planEmptyBlocks } from "../../src/core/leak-blocks.ts";
import type { Evidence } from "../../src/core/leak-evidence.ts";
import { type HostLife, planTeardown } from "../../src/core/leak-host.ts";
import { kubernetesEvidence, type PodFact } from "../../src/core/leak-kubernetes.ts";
import { leakCounts, type Suspicion } from "../../src/core/leak-ledger.ts";
import { auditHost, type HostAudit } from "../../src/core/leak-policy.ts";
import {
  afterRelease,
  type HandleMember,
  handlesToWeigh,
  planReleases,
  type ReleaseAnswer,
  withHolds,
  withStandings,
} from "../../src/core/leak-release.ts";
import { kindOf, type LeakSubject, namedOwners, nameIn } from "../../src/core/leak-subject.ts";
import type { AllocationGiven, BlockGiven, Given, PodGiven, VmGiven } from "./leak-vocabulary.ts";

/** Long before the first step of a case: when what a case begins with was touched, and when hosts were lost. */
const LONG_AGO_MS = -3_600_000;
const LOST_BEFORE_MS = -1_800_000;
const NOBODY = "virtual:unknown";

interface Allocation extends AllocationGiven {
  readonly touchedAt: number;
}

/** What one pass did. */
export interface Pass {
  readonly result: "ok" | "work_remaining" | "skipped";
  readonly released: string[];
  readonly nodesReleased: string[];
  readonly nodesFailed: string[];
  readonly blocksReleased: string[];
  podReads: number;
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
  readonly #moving = new Set<string>();
  readonly #ledgers = new Map<string, readonly Suspicion[]>();
  readonly #marks = new Map<string, readonly EmptyMark[]>();
  #sequence = 0;

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
    return this.#blockOf(ip) === "";
  }

  /** The host that a node of the cluster is here. */
  hostOf(kubernetesName: string): string | undefined {
    return [...this.nodes].find(([, { k8s }]) => k8s === kubernetesName)?.[0];
  }

  /** How many suspicions of a host there are, in every state. */
  suspectedOn(host: string): number {
    const { candidates, confirmed, held } = leakCounts(this.#ledgers.get(host) ?? []);
    return candidates + confirmed + held;
  }

  /** Suspicions of what is still allocated as it was suspected. */
  suspicions(): Suspicion[] {
    const rows = [...this.#ledgers.values()].flat();
    return rows.filter(({ address, touch }) => this.seen.get(address)?.seq === touch);
  }

  isCooling({ handle, released_at }: AllocationGiven): boolean {
    if (handle !== null || released_at === undefined) return false;
    return (released_at + this.config.cooldown_s) * 1000 > this.now;
  }

  /** One pass of the collector over the hosts that are due. */
  pass(scan: "full" | "dirty"): Pass {
    const isFull = scan === "full" || this.isFullDue;
    const done = { released: [], nodesReleased: [], nodesFailed: [], blocksReleased: [], podReads: 0 };
    const pass: Omit<Pass, "result"> = done;
    if (!this.config.datastore_ready || !this.config.in_sync) {
      this.isFullDue = isFull;
      return { ...pass, result: "skipped" };
    }
    this.isFullDue = false;
    const present = this.#hosts();
    const hosts = [...(isFull ? present : this.dirty)].filter((host) => present.has(host));
    const audits = new Map(hosts.map((host) => [host, this.#audit(host, pass)]));
    const isHeld = this.#release(audits, pass);
    for (const [host, audit] of audits) this.#giveUp(host, audit, pass);
    this.#retire();
    const isOpen = isHeld || pass.nodesFailed.length > 0;
    return { ...pass, result: isOpen ? "work_remaining" : "ok" };
  }

  #moved(ip: string): void {
    const cidr = this.#blockOf(ip);
    const block = this.blocks.get(cidr);
    this.#moving.add(cidr);
    if (block !== undefined) block.number += 1;
    const node = this.seen.get(ip)?.node;
    if (node !== undefined && node !== null) this.dirty.add(node);
  }

  #hosts(): Set<string> {
    const owners = [...this.blocks.values()].flatMap(({ affinity }) => ownerHost(affinity) ?? []);
    const holders = [...this.seen.values()].filter(isHeld).flatMap(({ node }) => node ?? []);
    return new Set([...owners, ...holders]);
  }

  #blockOf(ip: string): string {
    const address = parseAddress(ip);
    if (!address.ok) throw new Error(`no address: ${ip}`);
    const found = [...this.blocks.keys()].find((cidr) => {
      const parsed = parseBlockName(cidr);
      return parsed.ok && containsAddress(parsed.value, address.value);
    });
    return found ?? "";
  }

  #life(host: string): HostLife {
    if (this.failing.nodes.has(host)) return { kind: "unknown" };
    const node = this.nodes.get(host);
    const isThere = node !== undefined && (node.k8s === null || this.kubernetesNodes.has(node.k8s));
    if (isThere) return { kind: "active", generation: 1 };
    const since = this.lostAt.get(host) ?? LOST_BEFORE_MS;
    return { kind: "gone", generation: 1, since, by: "kubernetes" };
  }

  #subject(one: Allocation): LeakSubject {
    return {
      address: one.ip,
      block: this.#blockOf(one.ip),
      host: one.node ?? NOBODY,
      handle: one.handle ?? "",
      use: "Workload",
      attributes: one.attrs,
      leakCollection: "auto",
      touch: one.seq,
      touchedAt: one.touchedAt,
    };
  }

  #subjectsOf(host: string): LeakSubject[] {
    return [...this.seen.values()]
      .filter((one) => isHeld(one) && one.node === host)
      .map((one) => this.#subject(one));
  }

  /** A host that is of no cluster has nobody who could tell what lives there. */
  #isOfCluster(host: string): boolean {
    return this.nodes.get(host)?.k8s !== null;
  }

  #audit(host: string, pass: Pick<Pass, "podReads">): HostAudit {
    const subjects = this.#subjectsOf(host);
    const isOfCluster = this.#isOfCluster(host);
    const listing = isOfCluster ? [this.#evidence(this.listed)] : [];
    const judge = (evidence: readonly Evidence[]) => {
      const audit = auditHost({
        now: this.now,
        staleMs: 300_000,
        life: this.#life(host),
        ...(this.config.leak_grace_s === null ? {} : { graceMs: this.config.leak_grace_s * 1000 }),
        evidence,
        hasKubernetes: isOfCluster,
        blocks: [...this.blocks.keys()].map((block) => ({
          block,
          subjects: subjects.filter((one) => one.block === block),
        })),
        isWhole: true,
        ledger: this.#ledgers.get(host) ?? [],
      });
      this.#ledgers.set(host, audit.ledger);
      return audit;
    };
    const first = judge(listing);
    this.dirty.delete(host);
    if (first.recheck.length === 0) return first;
    pass.podReads += first.recheck.length;
    const asked = subjects.filter(({ handle }) => first.recheck.includes(handle)).flatMap(namedOwners);
    const read = new Set(asked.map(({ namespace, pod }) => nameIn(namespace, pod)));
    return judge([...listing, this.#evidence(this.live, read)]);
  }

  #evidence(view: ReadonlyMap<string, PodGiven>, read?: ReadonlySet<string>): Evidence {
    this.#sequence += 1;
    const pods = [...view.values()].filter(({ ns, name }) => read?.has(nameIn(ns, name)) ?? true);
    const nameOf = ({ ns, name }: VmGiven) => nameIn(ns, name);
    const machines = {
      machines: new Set(this.vms.filter(({ kind }) => kind === "VM").map(nameOf)),
      instances: new Map(
        this.vms
          .filter(({ kind }) => kind === "VMI")
          .map((vm) => [nameOf(vm), { isOwnedByMachine: vm.owned_by_vm === true }]),
      ),
    };
    return kubernetesEvidence(
      { generation: 0, sequence: this.#sequence, takenAt: this.now },
      {
        complete: true,
        scope: "cluster",
        pods: pods.map(podFact),
        unreadable: this.failing.pods,
        ...(read === undefined ? {} : { read }),
        ...(this.config.kubevirt_installed ? { machines } : {}),
      },
    );
  }

  /** Releases what may go; tells whether anything confirmed is held. */
  #release(audits: ReadonlyMap<string, HostAudit>, pass: Omit<Pass, "result">): boolean {
    let isAnyHeld = false;
    const weighed = new Set<string>();
    for (const [host, audit] of audits) {
      const handles = handlesToWeigh(audit).filter((handle) => !weighed.has(handle));
      for (const handle of handles) weighed.add(handle);
      const left = this.config.release_batch - pass.released.length;
      const members = handles.map((handle) => [handle, this.#members(handle, audits)] as const);
      const plan = planReleases(members, { addressesMax: left });
      if (plan.held.size > 0) isAnyHeld = true;
      this.#ledgers.set(host, withHolds(this.#ledgers.get(host) ?? [], plan.held));
      const items = plan.releases.flatMap((one) => one.items);
      const answers = new Map(items.map((item) => [item.address, this.#freed(item, pass)]));
      for (const [name, rows] of this.#ledgers) this.#ledgers.set(name, afterRelease(rows, answers));
    }
    return isAnyHeld;
  }

  #members(handle: string, audits: ReadonlyMap<string, HostAudit>): HandleMember[] {
    const listed = [...this.seen.values()].filter((one) => isHeld(one) && one.handle === handle);
    return listed.flatMap((one) => {
      const { address, touch, block } = this.#subject(one);
      const audit = audits.get(one.node ?? NOBODY);
      return audit === undefined
        ? [{ address, touch, block }]
        : withStandings(audit, [{ address, touch, block }]);
    });
  }

  /** What the block answers to a release that names a touch. */
  #freed(
    { address, touch }: { readonly address: string; readonly touch: number },
    pass: Pick<Pass, "released">,
  ): { touch: number; answer: ReleaseAnswer } {
    const held = this.stored.get(address);
    if (held === undefined || held.seq !== touch) return { touch, answer: "moved_on" };
    this.dropAllocation(address);
    pass.released.push(address);
    if (this.config.cooldown_s > 0) {
      const cooling = { ip: address, handle: null, node: null, attrs: {}, seq: touch };
      this.putAllocation({ ...cooling, released_at: this.now / 1000 }, this.now);
    }
    return { touch, answer: "released" };
  }

  #within(cidr: string, view: ReadonlyMap<string, Allocation>): Allocation[] {
    return [...view.values()].filter(({ ip }) => this.#blockOf(ip) === cidr);
  }

  #ownedBlocks(host: string) {
    return [...this.blocks].filter(([, { affinity }]) => ownerHost(affinity) === host);
  }

  #giveUp(host: string, audit: HostAudit, pass: Omit<Pass, "result">): void {
    const life = this.#life(host);
    if (life.kind === "gone") {
      this.#tearDown(host, life, audit.hasVeto, pass);
      return;
    }
    const { labels = {}, k8s = null } = this.nodes.get(host) ?? {};
    const owned = this.#ownedBlocks(host).map(([block, { number }]) => ({
      block,
      family: block.includes(":") ? (6 as const) : (4 as const),
      epoch: 1,
      number,
      isEmpty: this.#isEmpty(block, this.seen),
    }));
    const plan = planEmptyBlocks(owned, this.#marks.get(host) ?? [], {
      host,
      now: this.now,
      graceMs: (this.config.leak_grace_s ?? 0) * 1000,
      isHeld: life.kind === "unknown" || k8s === null || isMigrating(labels),
    });
    this.#marks.set(host, plan.marks);
    for (const { block } of plan.release) {
      if (!this.#isEmpty(block, this.stored)) continue;
      this.blocks.delete(block);
      pass.blocksReleased.push(block);
    }
  }

  #isEmpty(block: string, view: ReadonlyMap<string, Allocation>): boolean {
    const inUse = (one: Allocation) => isHeld(one) && kindOf(this.#subject(one)) !== "reserved";
    return !this.#within(block, view).some((one) => inUse(one) || this.isCooling(one));
  }

  #tearDown(
    host: string,
    life: Extract<HostLife, { kind: "gone" }>,
    hasVeto: boolean,
    pass: Omit<Pass, "result">,
  ): void {
    const blocks = this.#ownedBlocks(host).map(([block]) => {
      const held = this.#within(block, this.stored);
      const own = held.filter((one) => isHeld(one) && one.node === host).length;
      const lent = held.filter((one) => isHeld(one) && one.node !== host && one.node !== null).length;
      const nobodys = held.filter((one) => isHeld(one) && one.node === null).length;
      const cooling = held.filter((one) => this.isCooling(one)).length;
      return { block, epoch: 1, own: own + nobodys, lent, cooling };
    });
    const plan = planTeardown(life, hasVeto, blocks);
    if (plan.kind === "vetoed") return;
    if (this.failing.cleanups.has(host) || plan.kind === "waiting") {
      pass.nodesFailed.push(host);
      this.dirty.add(host);
    } else {
      pass.nodesReleased.push(host);
    }
    if (this.failing.cleanups.has(host)) return;
    for (const { block } of plan.blocks) {
      this.putBlock({ cidr: block, affinity: null });
      this.#moving.add(block);
    }
  }

  /** A block without owner retires with its last address, by itself. */
  #retire(): void {
    for (const cidr of this.#moving) {
      const isOwned = this.blocks.get(cidr)?.affinity !== null;
      const isUsed = this.#within(cidr, this.stored).some((one) => isHeld(one) || this.isCooling(one));
      if (!isOwned && !isUsed) this.blocks.delete(cidr);
    }
  }
}

function isHeld({ handle }: AllocationGiven): boolean {
  return handle !== null;
}

function ownerHost(affinity: string | null): string | undefined {
  return affinity?.startsWith("host:") === true ? affinity.slice("host:".length) : undefined;
}

function podFact({ ns, name, ips, phase }: PodGiven): PodFact {
  return { namespace: ns, name, addresses: ips, ...(phase === undefined ? {} : { phase }) };
}
