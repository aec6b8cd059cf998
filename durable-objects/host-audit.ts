/**
 * The audit of one host, a slice at a time: read, judge, ask the cluster, store, release.
 * May import: core, rpc, storage. Rule: who does not answer keeps what depends on it.
 */
import type { Mark } from "../src/core/leak-evidence.ts";
import { type HostLife, hostLife, type NodeSighting } from "../src/core/leak-host.ts";
import { auditHost, type HostAudit, type Judged, leakTimes } from "../src/core/leak-policy.ts";
import { handlesToWeigh, withHolds } from "../src/core/leak-release.ts";
import type { LeasedPolicy } from "../src/rpc/policy-source.ts";
import type { HostAffinities } from "./host-affinities.ts";
import { HostBlocks } from "./host-audit-blocks.ts";
import { ClusterLooks } from "./host-audit-cluster.ts";
import type { HostHoldings } from "./host-audit-holdings.ts";
import { judge, type Reading, rowsOf } from "./host-audit-judge.ts";
import { HostRelease, type Release, type Released } from "./host-audit-release.ts";
import { type HostContext, once } from "./host-context.ts";
import type { HostEvidence } from "./host-evidence.ts";
import { readLeaks, saveLeaks } from "./storage/host-leak-rows.ts";
import { readRegistration } from "./storage/host-rows.ts";

/** What an audit is asked for. */
export interface AuditOrder {
  readonly name: string;
  /** Also what needs no suspicion: the cluster is asked, and every reading is made again that is not new. */
  readonly isVisit: boolean;
}

export interface AuditEnd {
  /** The judgement that the releases rested on. */
  readonly audit: HostAudit;
  readonly reading: Reading;
  readonly leased: LeasedPolicy;
  readonly life: HostLife;
  readonly released: Released;
  /** Blocks are left to be read. */
  readonly hasMore: boolean;
  readonly calls: number;
  /** What did not answer. */
  readonly failures: readonly string[];
}

/** Blocks that one audit reads. Why: with all other calls it stays below 900. */
const READS_MAX = 250;
/** How long the cluster's word on the node is believed, ms: as long as sweeps lie apart, and a little more. */
const SIGHTING_MS = 600_000;
/** How long the word on a node is waited for, ms. */
const NODE_MS = 15_000;
/** How far the readings of one audit of a whole host may lie apart, ms. */
const ROUND_MS = 600_000;

export class HostAudits {
  readonly #host: HostContext;
  readonly #evidence: HostEvidence;
  readonly #holdings: HostHoldings;
  readonly #release: HostRelease;
  readonly #blocks: HostBlocks;
  readonly #weigh: (life: HostLife, due: number, wanted: number) => ReturnType<Release["weigh"]>;
  /** What the cluster said of the node last, and when this Host was told. */
  #sighting: { readonly value: NodeSighting; readonly at: number } | undefined;
  /** When the host last did something itself. */
  #heardAt: number | undefined;
  #lastLook = 0;
  /** The last look at the cluster that listed any pod; an audit may be the first to do without its word. */
  #lastTold: Mark | undefined;
  /** The handle whose pods are read by name first in the next audit, by its place. */
  #readFrom = 0;
  /** Audits that wait for the cluster. */
  #asking = 0;
  /** Blocks read since then count as read in the audit of the whole host that is under way. */
  #roundAt: number | undefined;

  constructor(
    host: HostContext,
    evidence: HostEvidence,
    holdings: HostHoldings,
    affinities: HostAffinities,
    weigh: (life: HostLife, due: number, wanted: number) => ReturnType<Release["weigh"]>,
  ) {
    this.#host = host;
    this.#evidence = evidence;
    this.#holdings = holdings;
    this.#release = new HostRelease(host, holdings);
    this.#blocks = new HostBlocks(host, affinities, holdings);
    this.#weigh = weigh;
  }

  /** Takes over what the cluster said, unless it is older than what is known; it is believed for ten minutes. */
  sighted(value: NodeSighting): void {
    const known = this.#fresh();
    if (known !== undefined && lookedAt(value) < lookedAt(known)) return;
    this.#sighting = { value, at: this.#host.runtime.now() };
  }

  /**
   * Reads the node of a lost host once more; returns the requests that it took.
   * Why: what a sweep saw may be minutes old, and nothing that goes with a host waits for a grace.
   */
  async #confirmLoss(name: string, staleMs: number): Promise<number> {
    const { runtime } = this.#host;
    const { cluster } = runtime;
    const life = this.life(staleMs);
    if (cluster === undefined || life.kind !== "gone" || life.by !== "kubernetes") return 0;
    const before = this.#fresh();
    const said = await this.#asked(once(this.#host, () => cluster.readNode(name), NODE_MS));
    const node = said.kind === "answered" ? said.value : "unreadable";
    const at = runtime.now();
    if (node === "found") this.#sighting = { value: { seenAt: at }, at };
    if (node === "unreadable") this.#sighting = { value: { ...before, isUnreadable: true }, at };
    return 1;
  }

  /** What the cluster said of the node, while it is believed. */
  #fresh(): NodeSighting | undefined {
    const { value, at } = this.#sighting ?? {};
    return at !== undefined && this.#host.runtime.now() - at <= SIGHTING_MS ? value : undefined;
  }

  /** The host has asked for something: it lives, whatever a cluster may say. */
  heard(now: number): void {
    this.#heardAt = now;
  }

  /** What is known of the host's life now; reads its registration. */
  life(staleMs: number): HostLife {
    const { store } = this.#host;
    const { generation = 0, gone } = readRegistration(store) ?? {};
    const known = { generation, ...(gone === undefined ? {} : { goneSince: gone.since }) };
    const reportedAt = this.#evidence.last("report")?.takenAt;
    const heard = [reportedAt, this.#heardAt].filter((at) => at !== undefined);
    const last = heard.length === 0 ? undefined : { takenAt: Math.max(...heard), staleMs };
    return hostLife(known, this.#fresh(), last);
  }

  /** One audit. Undefined: there is no policy, so nothing is looked at. */
  async run({ name, isVisit }: AuditOrder): Promise<AuditEnd | undefined> {
    const { runtime, store } = this.#host;
    const leased = await runtime.policy.current(runtime.now());
    if (leased === undefined) return undefined;
    const failures: string[] = [];
    const { staleMs } = leakTimes(leased.policy.config);
    const confirmed = await this.#confirmLoss(name, staleMs);
    const read = await this.#read(name, leased, isVisit, failures);
    const looks = await this.#asked(this.#ask(name, read.reading, isVisit, failures));
    const reading: Reading = looks === undefined ? read.reading : { ...read.reading, looks };
    const judged: Release["judged"] = (holds) => this.#store(reading, holds);
    const audit = store.transaction(() => judged());
    const life = this.life(reading.staleMs);
    const weigh: Release["weigh"] = async (due, wanted) => await this.#weigh(life, due, wanted);
    const release = { name, policy: leased.policy, judged, weigh };
    const released = await this.#release.run(release, audit);
    if (released.stop === "unheard") failures.push("sweep");
    const { graceMs, isWhole } = reading;
    const facts = { name, leased, audit, graceMs, isWhole, life: () => this.life(reading.staleMs), weigh };
    const given = await this.#blocks.run(facts);
    const calls = confirmed + read.calls + (looks?.requests ?? 0) + released.calls + given;
    return { audit, reading, leased, life, released, hasMore: read.hasMore, calls, failures };
  }

  /** How members of handles stand, by what this Host knows; nothing is stored. */
  async judgeOnly(name: string, blocks: readonly string[]): Promise<HostAudit | undefined> {
    const { runtime, store } = this.#host;
    const leased = await runtime.policy.current(runtime.now());
    if (leased === undefined) return undefined;
    const { config } = leased.policy;
    await this.#confirmLoss(name, leakTimes(config).staleMs);
    const own = new Set(this.#holdings.blocks());
    const asked = blocks.filter((block) => own.has(block)).slice(0, READS_MAX);
    const silent = new Set(await this.#holdings.read(name, asked, config.ipCooldownSeconds * 1000));
    const plain = this.#reading(leased, new Set(asked.filter((block) => !silent.has(block))));
    const looks = await this.#ask(name, plain, false, []);
    const reading: Reading = looks === undefined ? plain : { ...plain, looks };
    this.#evidence.refresh();
    return this.#judge(reading, readLeaks(store));
  }

  /** Whether an audit waits for the cluster now. */
  get isAsking(): boolean {
    return this.#asking > 0;
  }

  async #asked<T>(look: Promise<T>): Promise<T> {
    this.#asking += 1;
    try {
      return await look;
    } finally {
      this.#asking -= 1;
    }
  }

  /** How all stands if the cluster does not answer, by what is known now; nothing is stored. */
  unanswered(): readonly Judged[] {
    const { cluster, policy } = this.#host.runtime;
    const known = policy.peek();
    if (cluster === undefined || known === undefined) return [];
    const looks = new ClusterLooks(this.#host, cluster, (takenAt) => takenAt, this.#lastTold);
    looks.hasFailed = true;
    this.#evidence.refresh();
    const reading: Reading = { ...this.#reading({ policy: known }, new Set()), looks };
    return [...this.#judge(reading, readLeaks(this.#host.store)).judged.values()];
  }

  /** Reads the blocks that must be read, and again those with something that would be suspected. */
  async #read(name: string, leased: LeasedPolicy, isVisit: boolean, failures: string[]) {
    const { runtime, store } = this.#host;
    const cooldownMs = leased.policy.config.ipCooldownSeconds * 1000;
    const now = runtime.now();
    if (this.#roundAt === undefined || now - this.#roundAt > ROUND_MS) this.#roundAt = now;
    const roundAt = this.#roundAt;
    this.#holdings.prune();
    const blocks = this.#holdings.blocks();
    const before = this.#reading(leased, new Set());
    const isLost = this.life(before.staleMs).kind === "gone";
    const suspicious = new Set(this.#plain(before).ledger.map(({ block }) => block));
    for (const { suspicion } of readLeaks(store)) suspicious.add(suspicion.block);
    const age = (block: string) => this.#holdings.get(block)?.askedAt ?? 0;
    const isDue = (block: string) =>
      suspicious.has(block) || !this.#holdings.isGood(block) || (isLost && age(block) < roundAt);
    const due = blocks.filter(isDue).toSorted((one, other) => age(one) - age(other));
    const asked = due.slice(0, isVisit ? READS_MAX : READS_MAX / 2);
    const silent = new Set(await this.#holdings.read(name, asked, cooldownMs));
    if (silent.size > 0) failures.push("block");
    const readNow = new Set(asked.filter((block) => !silent.has(block)));
    const hasMore = due.length > asked.length;
    const isComplete = !hasMore && silent.size === 0;
    if (isComplete) this.#roundAt = undefined;
    const reading = { ...this.#reading(leased, readNow), isWhole: isComplete };
    return { reading, hasMore, calls: asked.length };
  }

  #reading(leased: Pick<LeasedPolicy, "policy">, readNow: ReadonlySet<string>): Reading {
    const { graceMs, staleMs } = leakTimes(leased.policy.config);
    const blocks = this.#holdings.blocks();
    const holdings = this.#holdings.all();
    const isWhole = holdings.length === blocks.length;
    return { holdings, blocks: new Set(blocks), readNow, isWhole, graceMs, staleMs };
  }

  /** Asks the cluster where there is one: on a visit, and where something is suspected. */
  async #ask(name: string, reading: Reading, isVisit: boolean, failures: string[]) {
    const { cluster } = this.#host.runtime;
    if (cluster === undefined) return undefined;
    const nextCount = (takenAt: number): number => {
      this.#lastLook = Math.max(takenAt, this.#lastLook + 1);
      return this.#lastLook;
    };
    const looks = new ClusterLooks(this.#host, cluster, nextCount, this.#lastTold);
    const ledger = readLeaks(this.#host.store);
    const marks = ledger.flatMap(({ suspicion }) => [...suspicion.last, ...(suspicion.confirmed ?? [])]);
    for (const { source, sequence } of marks)
      if (source === "kubernetes") this.#lastLook = Math.max(this.#lastLook, sequence);
    const isSuspecting = ledger.length > 0 || this.#plain(reading).ledger.length > 0;
    const hasAny = reading.holdings.some(({ subjects }) => subjects.length > 0);
    if (!hasAny || !(isVisit || isSuspecting)) return looks;
    await looks.atNode(name);
    const audit = this.#judge({ ...reading, looks }, ledger);
    const plain = this.#plain({ ...reading, looks });
    const handles = new Set([...plain.recheck, ...handlesToWeigh(audit), ...handlesToWeigh(plain)]);
    const isActive = this.life(reading.staleMs).kind === "active";
    const isJudged = plain.ledger.length === 0 || !isActive || (await looks.knows(name));
    const judged = [...audit.judged.values()].map(({ subject }) => subject);
    const groups = [...Map.groupBy(judged, ({ handle }) => handle)].flatMap(([handle, subjects]) =>
      handles.has(handle) ? [subjects] : [],
    );
    // Others are first in each audit, so that those which others keep, and all that cannot be read, keep nobody.
    const begin = groups.length === 0 ? 0 : this.#readFrom % groups.length;
    const inTurn = [...groups.slice(begin), ...groups.slice(0, begin)];
    if (isJudged) this.#readFrom = begin + (await looks.atOwners(inTurn));
    const told = looks.lastTold;
    // Two audits may ask at the same time.
    if (told !== undefined && told.sequence >= (this.#lastTold?.sequence ?? 0)) this.#lastTold = told;
    if (looks.hasFailed) failures.push(looks.what === undefined ? "kubernetes" : `kubernetes: ${looks.what}`);
    return looks;
  }

  #judge(reading: Reading, ledger: ReturnType<typeof readLeaks>): HostAudit {
    const life = this.life(reading.staleMs);
    return judge(reading, ledger, this.#evidence.all(), life, this.#host.runtime.now());
  }

  /** A judgement for planning what to read: as if everything that is known had been read now. */
  #plain(reading: Reading): HostAudit {
    const { holdings, blocks, isWhole, graceMs, staleMs, looks } = reading;
    return auditHost({
      now: this.#host.runtime.now(),
      staleMs,
      graceMs,
      life: this.life(staleMs),
      evidence: [...this.#evidence.all(), ...(looks?.evidence ?? [])],
      hasKubernetes: this.#host.runtime.cluster !== undefined,
      blocks: holdings,
      isWhole,
      ledger: readLeaks(this.#host.store)
        .map(({ suspicion }) => suspicion)
        .filter(({ block }) => blocks.has(block)),
    });
  }

  /** Judges by the rows and the evidence of this moment, and stores it; inside a transaction. */
  #store(reading: Reading, holds: Parameters<Release["judged"]>[0]): HostAudit {
    const { store } = this.#host;
    this.#evidence.refresh();
    const before = readLeaks(store);
    const audit = this.#judge(reading, before);
    const ledger = holds === undefined ? audit.ledger : withHolds(audit.ledger, holds(audit));
    saveLeaks(store, rowsOf(ledger, audit, before, reading.holdings));
    if (before.length > 0 || ledger.length > 0) this.#evidence.savePlaces();
    return { ...audit, ledger };
  }
}

/** When a cluster was looked at last for a sighting. */
function lookedAt({ seenAt = 0, notFoundAt = 0, missingSince = 0 }: NodeSighting): number {
  return Math.max(seenAt, notFoundAt, missingSince);
}
