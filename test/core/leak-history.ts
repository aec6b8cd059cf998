/**
 * One host through a random history: workloads come and go, hosts too; reports are late, repeated, cut short or
 * empty; clocks step. It tells the oracle what every accepted piece of evidence said.
 * May import: the core, the oracle. Rule: what it releases it releases by the judgement's plan alone.
 */
import { datedBy, type Evidence, forgottenAfter, type Mark } from "../../src/core/leak-evidence.ts";
import type { HostLife } from "../../src/core/leak-host.ts";
import { kubernetesEvidence } from "../../src/core/leak-kubernetes.ts";
import type { Suspicion } from "../../src/core/leak-ledger.ts";
import { auditHost, type HostAudit } from "../../src/core/leak-policy.ts";
import { afterRelease, handlesToWeigh, planReleases, withStandings } from "../../src/core/leak-release.ts";
import {
  attachmentsEvidence,
  countOfAttachments,
  markOfReport,
  orderOfReport,
  type ReportedWorkload,
  reportEvidence,
} from "../../src/core/leak-report.ts";
import type { LeakSubject } from "../../src/core/leak-subject.ts";
import { GRACE_MS, LeakOracle, STALE_MS } from "./leak-oracle.ts";

/** How long after it was given an address a workload is seen by an agent, ms. */
const STARTING_MS = 60_000;
/** How long a request may be under way, ms. */
const UNDER_WAY_MS = 90_000;

export interface Step {
  readonly kind:
    | "allocate"
    | "touch"
    | "end"
    | "wait"
    | "report"
    | "deliver"
    | "tell"
    | "list"
    | "collect"
    | "restart"
    | "clock"
    | "remove"
    | "register";
  readonly slot: number;
  readonly size: number;
  readonly isWhole: boolean;
  readonly isEmpty: boolean;
}

interface Message {
  readonly generation: number;
  readonly sequence: number;
  readonly listedAt: number;
  readonly ageMs: number;
  readonly complete: boolean;
  readonly workloads: readonly ReportedWorkload[];
}

export class LeakHistory {
  /** A cluster is asked too, and shows only one address of each pod. */
  readonly hasKubernetes: boolean;
  /** Every complete report lists all that runs: then nothing that runs may ever lose its address. */
  readonly isHonest: boolean;
  readonly faults: string[] = [];
  /** Addresses released on a host that is there, and on one that was lost. */
  readonly released = { active: 0, gone: 0, unknown: 0 };
  #real = 10_000_000;
  #offset = 0;
  #blockClock = 0;
  #touch = 0;
  #life: HostLife = { kind: "active", generation: 1 };
  #generation = 1;
  #sequence = 0;
  #listings = 0;
  #lastReport: Message | undefined;
  /** By source, the last complete piece and the last of all. */
  readonly #evidence = new Map<string, Evidence>();
  /** By source, the last piece if it was cut short. */
  readonly #cut = new Map<string, { takenAt: number; isEmpty: boolean; forgottenAt?: number }>();
  #ledger: readonly Suspicion[] = [];
  #collection: { readonly at: number; readonly count: number } | undefined;
  readonly #underWay: Message[] = [];
  readonly #held = new Map<number, LeakSubject>();
  /** Workloads that run, each with when it began. */
  readonly #running = new Map<string, number>();
  readonly #oracle: LeakOracle;

  constructor({ hasKubernetes, isHonest }: { readonly hasKubernetes: boolean; readonly isHonest: boolean }) {
    this.hasKubernetes = hasKubernetes;
    this.isHonest = isHonest;
    this.#oracle = new LeakOracle(hasKubernetes);
  }

  run(step: Step): void {
    const handle = `net.${step.slot % 3}`;
    const actions: Readonly<Record<Step["kind"], () => void>> = {
      allocate: () => this.#allocate(step.slot, handle),
      touch: () => this.#retouch(step.slot),
      end: () => this.#running.delete(handle),
      wait: () => this.#wait(step.size * 1000),
      report: () => this.#send(step),
      deliver: () => this.#deliver(step),
      tell: () => this.#tell(step),
      list: () => this.#list(step.isWhole),
      collect: () => this.#collect(step.isEmpty),
      restart: () => this.#restart(),
      clock: () => this.#step((step.isWhole ? 1 : -1) * step.size * 1000),
      remove: () => this.#remove(),
      register: () => this.#register(),
    };
    actions[step.kind]();
  }

  #wait(ms: number): void {
    this.#real += ms;
  }

  #step(ms: number): void {
    this.#offset += ms;
  }

  #restart(): void {
    this.#generation += 1;
    this.#sequence = 0;
  }

  #register(): void {
    this.#life = { kind: "active", generation: this.#generation };
  }

  #tell(step: Step): void {
    this.#send(step);
    this.#deliver({ ...step, slot: this.#underWay.length - 1, isEmpty: false });
  }

  get #now(): number {
    return this.#real + this.#offset;
  }

  /** The host asks or tells something: if its clock was set back, what was heard is dated anew. */
  #clocked(): void {
    for (const [source, evidence] of this.#evidence) {
      const { takenAt, forgottenAt } = datedBy({ ...evidence, takenAt: evidence.mark.takenAt }, this.#now);
      const mark = { ...evidence.mark, takenAt };
      this.#evidence.set(source, {
        ...evidence,
        mark,
        ...(forgottenAt === undefined ? {} : { forgottenAt }),
      });
    }
    this.#oracle.clocked(this.#now);
    for (const [source, cut] of this.#cut) this.#cut.set(source, datedBy(cut, this.#now));
  }

  #allocate(slot: number, handle: string): void {
    if (this.#held.has(slot) || this.#life.kind !== "active") return;
    this.#clocked();
    const pod = handle.slice("net.".length);
    const attributes = { namespace: "ns", pod };
    const base = { address: `10.0.0.${slot}`, block: "10.0.0.0/26", host: "h", handle, attributes };
    this.#held.set(slot, { ...base, use: "Workload", leakCollection: "auto", ...this.#stamp() });
    this.#running.set(handle, this.#real);
  }

  #stamp(): { touch: number; touchedAt: number } {
    this.#touch += 1;
    // A block's time never goes back.
    this.#blockClock = Math.max(this.#blockClock, this.#now);
    return { touch: this.#touch, touchedAt: this.#blockClock };
  }

  #retouch(slot: number): void {
    const subject = this.#held.get(slot);
    if (subject === undefined) return;
    this.#clocked();
    this.#held.set(slot, { ...subject, ...this.#stamp() });
    this.#running.set(subject.handle, this.#real);
  }

  #remove(): void {
    // Who removes a host has ended what ran there, except where nobody is honest.
    if (this.isHonest) this.#running.clear();
    this.#life = { kind: "gone", generation: this.#generation, since: this.#now, by: "removal" };
    this.#audit();
  }

  #addressesOf(handle: string): string[] {
    return [...this.#held.values()].filter((one) => one.handle === handle).map(({ address }) => address);
  }

  #send({ isWhole, isEmpty, size }: Step): void {
    this.#sequence += 1;
    const seen = [...this.#running].filter(([, since]) => this.#real - since >= STARTING_MS);
    const all = seen.map(([handle]) => ({ handle, addresses: this.#addressesOf(handle) }));
    const workloads = isWhole ? (isEmpty && !this.isHonest ? [] : all) : all.slice(0, isEmpty ? 0 : 1);
    const place = { generation: this.#generation, sequence: this.#sequence };
    const ageMs = Math.min(size, 30) * 1000;
    this.#underWay.push({ ...place, listedAt: this.#real, ageMs, complete: isWhole, workloads });
  }

  #deliver({ slot, isEmpty: isRepeated }: Step): void {
    const at = slot % Math.max(1, this.#underWay.length);
    const message = this.#underWay[at];
    if (message === undefined) return;
    if (!isRepeated) this.#underWay.splice(at, 1);
    // A listing that took as long as its age says was sent that much later; later still nobody waits for it.
    const arrival = Math.max(this.#real, message.listedAt + message.ageMs);
    if (arrival - message.listedAt > message.ageMs + UNDER_WAY_MS) return;
    this.#real = arrival;
    const order = orderOfReport(this.#lastReport, message);
    if (order === "newer") this.#take(message);
    if (order === "newer" || order === "repeated") this.#audit();
  }

  #take(message: Message): void {
    this.#clocked();
    this.#lastReport = message;
    const mark = markOfReport(message, this.#now, message.ageMs);
    this.#keep(reportEvidence(mark, message), message.complete, message.workloads.length === 0);
    const listed = new Set(message.workloads.map(({ handle }) => handle));
    const addresses = new Set(message.workloads.flatMap((one) => one.addresses));
    const list = `report ${message.generation} ${message.sequence}`;
    this.#hear(
      { mark, list },
      message.complete,
      (one) => listed.has(one.handle) || addresses.has(one.address),
    );
  }

  #list(isComplete: boolean): void {
    if (!this.hasKubernetes) return;
    this.#clocked();
    this.#keep(this.#look(isComplete, "host"), isComplete, this.#running.size === 0);
    this.#audit();
  }

  /** A runtime names what is valid; a request that was delivered before may be delivered once more. */
  #collect(isRepeated: boolean): void {
    const before = this.#collection;
    const isCopy = isRepeated && before !== undefined && this.#real - before.at <= UNDER_WAY_MS;
    const last = before === undefined ? undefined : { sequence: before.count, isSame: isCopy };
    const count = countOfAttachments(last, isCopy ? before.count : this.#now);
    if (count !== undefined) this.#takeValid(count);
    this.#audit();
  }

  #takeValid(count: number): void {
    this.#clocked();
    const valid = [...this.#running.keys()];
    this.#collection = { at: this.#real, count };
    const mark = { generation: this.#generation, sequence: count, takenAt: this.#now };
    const of = { mark: { ...mark, source: "attachments:net" as const }, list: `runtime ${count}` };
    this.#hear(of, true, ({ handle }) => valid.includes(handle));
    this.#keep(attachmentsEvidence("net", mark, valid), true, valid.length === 0);
  }

  #keep(evidence: Evidence, isComplete: boolean, isEmpty: boolean): void {
    const { source } = evidence.mark;
    const cut = this.#cut.get(source);
    const forgotten = cut === undefined ? {} : forgottenAfter(cut);
    if (isComplete) this.#evidence.set(`${source}, complete`, evidence);
    if (isComplete) this.#cut.delete(source);
    else this.#cut.set(source, { takenAt: evidence.mark.takenAt, isEmpty, ...forgotten });
    this.#evidence.set(`${source}, last`, isComplete ? evidence : { ...evidence, ...forgotten });
  }

  #look(complete: boolean, scope: "host" | "cluster", read?: ReadonlySet<string>): Evidence {
    this.#listings += 1;
    const running = [...this.#running.keys()].map((handle) => ({
      namespace: "ns",
      name: handle.slice("net.".length),
      addresses: this.#addressesOf(handle).slice(0, 1),
    }));
    const pods = complete ? running : running.slice(0, 1);
    const mark = { generation: 0, sequence: this.#listings, takenAt: this.#now };
    const shown = new Set(pods.flatMap(({ addresses }) => addresses));
    const starting = new Set(
      pods.filter(({ addresses }) => addresses.length === 0).map(({ name }) => `net.${name}`),
    );
    const isAlive = (one: LeakSubject) => shown.has(one.address) || starting.has(one.handle);
    const isRead = (one: LeakSubject) => read?.has(`ns/${one.attributes.pod}`) ?? true;
    const of = { mark: { ...mark, source: "kubernetes" as const }, list: `cluster ${mark.sequence}` };
    this.#hear(of, complete, isAlive, isRead);
    return kubernetesEvidence(mark, { complete, scope, pods, ...(read === undefined ? {} : { read }) });
  }

  #hear(
    of: { readonly mark: Mark; readonly list: string },
    isComplete: boolean,
    isAlive: (one: LeakSubject) => boolean,
    speaksOf: (one: LeakSubject) => boolean = () => true,
  ): void {
    for (const one of this.#held.values()) {
      // What is cut short counts only for what it lists.
      if (!speaksOf(one) || (!isComplete && !isAlive(one))) continue;
      this.#oracle.hear(one, { ...of, isComplete, isAlive: isAlive(one) });
    }
  }

  #judge(extra: readonly Evidence[]): HostAudit {
    const evidence = [...this.#evidence.values(), ...extra];
    const audit = auditHost({
      now: this.#now,
      staleMs: STALE_MS,
      graceMs: GRACE_MS,
      life: this.#life,
      evidence,
      hasKubernetes: this.hasKubernetes,
      blocks: [{ block: "10.0.0.0/26", subjects: [...this.#held.values()] }],
      isWhole: true,
      ledger: this.#ledger,
    });
    this.#ledger = audit.ledger;
    return audit;
  }

  #audit(): void {
    let audit = this.#judge([]);
    if (this.hasKubernetes && audit.recheck.length > 0) {
      const read = new Set(audit.recheck.map((handle) => `ns/${handle.slice("net.".length)}`));
      const look = this.#look(true, "cluster", read);
      audit = this.#judge([look]);
      // It lives for one audit, and then there is only a note of it.
      const { mark } = look;
      const note: Evidence = { mark, isHostBound: false, says: () => "unlisted", forgottenAt: mark.takenAt };
      this.#evidence.set("kubernetes, last", note);
      this.#cut.set("kubernetes", { takenAt: mark.takenAt, isEmpty: false });
    }
    const members = handlesToWeigh(audit).map((handle) => {
      const listed = [...this.#held.values()].filter((one) => one.handle === handle);
      return [handle, withStandings(audit, listed)] as const;
    });
    for (const { handle, items } of planReleases(members, { addressesMax: 100 }).releases) {
      if (items.length !== this.#addressesOf(handle).length)
        this.faults.push(`part of ${handle} is released`);
      for (const { address, touch } of items) this.#release(address, touch);
    }
  }

  #release(address: string, touch: number): void {
    const slot = [...this.#held].find(([, one]) => one.address === address);
    if (slot === undefined || slot[1].touch !== touch) {
      this.faults.push(`${address} is released by a touch that it has not`);
      return;
    }
    const [at, subject] = slot;
    const fault = this.#oracle.faultOf(subject, this.#life, this.#now);
    if (fault !== undefined) this.faults.push(`${address}: ${fault}`);
    if (this.isHonest && this.#running.has(subject.handle)) this.faults.push(`${address} is in use`);
    this.released[this.#life.kind] += 1;
    this.#held.delete(at);
    this.#ledger = afterRelease(this.#ledger, new Map([[address, { touch, answer: "released" }]]));
  }
}
