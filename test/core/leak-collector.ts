/**
 * A collector that is nothing but the pure judgement: it reads the facts of a cluster and carries out the plans.
 * May import: the core, the cluster in memory. Rule: it decides nothing itself.
 */
import { leakCounts } from "../../src/core/leak-answers.ts";
import { type EmptyMark, isMigrating, planEmptyBlocks } from "../../src/core/leak-blocks.ts";
import type { Evidence } from "../../src/core/leak-evidence.ts";
import { type HostLife, planTeardown } from "../../src/core/leak-host.ts";
import { kubernetesEvidence, type PodFact } from "../../src/core/leak-kubernetes.ts";
import type { Suspicion } from "../../src/core/leak-ledger.ts";
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
import { namedOwners, nameIn } from "../../src/core/leak-subject.ts";
import type { PodGiven, VmGiven } from "./leak-vocabulary.ts";
import { isHeld, type LeakWorld, NOBODY } from "./leak-world.ts";

/** What one pass did. */
export interface Pass {
  readonly result: "ok" | "work_remaining" | "skipped";
  readonly released: string[];
  readonly nodesReleased: string[];
  readonly nodesFailed: string[];
  readonly blocksReleased: string[];
  podReads: number;
}

export class LeakCollector {
  readonly #world: LeakWorld;
  readonly #ledgers = new Map<string, readonly Suspicion[]>();
  readonly #marks = new Map<string, readonly EmptyMark[]>();
  #sequence = 0;

  constructor(world: LeakWorld) {
    this.#world = world;
  }

  /** How many suspicions of a host there are, in every state. */
  suspectedOn(host: string): number {
    const { candidates, confirmed, held } = leakCounts(this.#ledgers.get(host) ?? []);
    return candidates + confirmed + held;
  }

  /** Suspicions of what is still allocated as it was suspected. */
  suspicions(): Suspicion[] {
    const rows = [...this.#ledgers.values()].flat();
    return rows.filter(({ address, touch }) => this.#world.seen.get(address)?.seq === touch);
  }

  /** One pass of the collector over the hosts that are due. */
  pass(scan: "full" | "dirty"): Pass {
    const isFull = scan === "full" || this.#world.isFullDue;
    const done = { released: [], nodesReleased: [], nodesFailed: [], blocksReleased: [], podReads: 0 };
    const pass: Omit<Pass, "result"> = done;
    if (!this.#world.config.datastore_ready || !this.#world.config.in_sync) {
      this.#world.isFullDue = isFull;
      return { ...pass, result: "skipped" };
    }
    this.#world.isFullDue = false;
    const present = this.#world.hosts();
    const hosts = [...(isFull ? present : this.#world.dirty)].filter((host) => present.has(host));
    const audits = new Map(hosts.map((host) => [host, this.#audit(host, pass)]));
    const isHeld = this.#release(audits, pass);
    for (const [host, audit] of audits) this.#giveUp(host, audit, pass);
    this.#world.retire();
    const isOpen = isHeld || pass.nodesFailed.length > 0;
    return { ...pass, result: isOpen ? "work_remaining" : "ok" };
  }

  #audit(host: string, pass: Pick<Pass, "podReads">): HostAudit {
    const subjects = this.#world.subjectsOf(host);
    const isOfCluster = this.#world.isOfCluster(host);
    const listing = isOfCluster ? [this.#evidence(this.#world.listed)] : [];
    const judge = (evidence: readonly Evidence[]) => {
      const audit = auditHost({
        now: this.#world.now,
        staleMs: 300_000,
        life: this.#world.life(host),
        ...(this.#world.config.leak_grace_s === null
          ? {}
          : { graceMs: this.#world.config.leak_grace_s * 1000 }),
        evidence,
        hasKubernetes: isOfCluster,
        blocks: [...this.#world.blocks.keys()].map((block) => ({
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
    this.#world.dirty.delete(host);
    if (first.recheck.length === 0) return first;
    pass.podReads += first.recheck.length;
    const asked = subjects.filter(({ handle }) => first.recheck.includes(handle)).flatMap(namedOwners);
    const read = new Set(asked.map(({ namespace, pod }) => nameIn(namespace, pod)));
    return judge([...listing, this.#evidence(this.#world.live, read)]);
  }

  #evidence(view: ReadonlyMap<string, PodGiven>, read?: ReadonlySet<string>): Evidence {
    this.#sequence += 1;
    const pods = [...view.values()].filter(({ ns, name }) => read?.has(nameIn(ns, name)) ?? true);
    const nameOf = ({ ns, name }: VmGiven) => nameIn(ns, name);
    const machines = {
      machines: new Set(this.#world.vms.filter(({ kind }) => kind === "VM").map(nameOf)),
      instances: new Map(
        this.#world.vms
          .filter(({ kind }) => kind === "VMI")
          .map((vm) => [nameOf(vm), { isOwnedByMachine: vm.owned_by_vm === true }]),
      ),
    };
    return kubernetesEvidence(
      { generation: 0, sequence: this.#sequence, takenAt: this.#world.now },
      {
        complete: true,
        scope: "cluster",
        pods: pods.map(podFact),
        unreadable: this.#world.failing.pods,
        ...(read === undefined ? {} : { read }),
        ...(this.#world.config.kubevirt_installed ? { machines } : {}),
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
      const left = this.#world.config.release_batch - pass.released.length;
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
    const listed = [...this.#world.seen.values()].filter((one) => isHeld(one) && one.handle === handle);
    return listed.flatMap((one) => {
      const { address, touch, block } = this.#world.subject(one);
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
    const held = this.#world.stored.get(address);
    if (held === undefined || held.seq !== touch) return { touch, answer: "moved_on" };
    this.#world.dropAllocation(address);
    pass.released.push(address);
    if (this.#world.config.cooldown_s > 0) {
      const cooling = { ip: address, handle: null, node: null, attrs: {}, seq: touch };
      this.#world.putAllocation({ ...cooling, released_at: this.#world.now / 1000 }, this.#world.now);
    }
    return { touch, answer: "released" };
  }

  #giveUp(host: string, audit: HostAudit, pass: Omit<Pass, "result">): void {
    const life = this.#world.life(host);
    if (life.kind === "gone") {
      this.#tearDown(host, life, audit.hasVeto, pass);
      return;
    }
    const { labels = {}, k8s = null } = this.#world.nodes.get(host) ?? {};
    const owned = this.#world.ownedBlocks(host).map(([block, { number }]) => ({
      block,
      family: block.includes(":") ? (6 as const) : (4 as const),
      epoch: 1,
      number,
      isEmpty: this.#world.isEmpty(block, this.#world.seen),
    }));
    const plan = planEmptyBlocks(owned, this.#marks.get(host) ?? [], {
      host,
      now: this.#world.now,
      graceMs: (this.#world.config.leak_grace_s ?? 0) * 1000,
      isHeld: life.kind === "unknown" || k8s === null || isMigrating(labels),
    });
    this.#marks.set(host, plan.marks);
    for (const { block } of plan.release) {
      if (!this.#world.isEmpty(block, this.#world.stored)) continue;
      this.#world.blocks.delete(block);
      pass.blocksReleased.push(block);
    }
  }

  #tearDown(
    host: string,
    life: Extract<HostLife, { kind: "gone" }>,
    hasVeto: boolean,
    pass: Omit<Pass, "result">,
  ): void {
    const blocks = this.#world.ownedBlocks(host).map(([block]) => {
      const held = this.#world.within(block, this.#world.stored);
      const own = held.filter((one) => isHeld(one) && one.node === host).length;
      const lent = held.filter((one) => isHeld(one) && one.node !== host && one.node !== null).length;
      const nobodys = held.filter((one) => isHeld(one) && one.node === null).length;
      const cooling = held.filter((one) => this.#world.isCooling(one)).length;
      return { block, epoch: 1, own: own + nobodys, lent, cooling };
    });
    const plan = planTeardown(life, hasVeto, blocks);
    if (plan.kind === "vetoed") return;
    if (this.#world.failing.cleanups.has(host) || plan.kind === "waiting") {
      pass.nodesFailed.push(host);
      this.#world.dirty.add(host);
    } else {
      pass.nodesReleased.push(host);
    }
    if (this.#world.failing.cleanups.has(host)) return;
    for (const { block } of plan.blocks) {
      this.#world.putBlock({ cidr: block, affinity: null });
      this.#world.moving.add(block);
    }
  }
}

function podFact({ ns, name, ips, phase }: PodGiven): PodFact {
  return { namespace: ns, name, addresses: ips, ...(phase === undefined ? {} : { phase }) };
}
