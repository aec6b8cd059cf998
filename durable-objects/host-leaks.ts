/**
 * The collector's part of a Host: evidence comes in, audits run one after another, figures go out.
 * May import: core, rpc, storage. Rule: what was accepted stays accepted, whatever becomes of its audit.
 */
import { parseAddress } from "../src/core/address.ts";
import { rejection } from "../src/core/errors.ts";
import {
  addressesNotHeld,
  attachmentOutcomes,
  leakCounts,
  leakView,
  nextReportWithinMs,
} from "../src/core/leak-answers.ts";
import type { HostLife, NodeSighting } from "../src/core/leak-host.ts";
import { type Judged, leakTimes, type Standing } from "../src/core/leak-policy.ts";
import { kindOf, type LeakSubject } from "../src/core/leak-subject.ts";
import { err, ok } from "../src/core/result.ts";
import type { TunnelView } from "../src/rpc/host.ts";
import type * as rpc from "../src/rpc/leaks.ts";
import type { HostAffinities } from "./host-affinities.ts";
import { type AuditEnd, HostAudits } from "./host-audit.ts";
import { figuresOf, reportState } from "./host-audit-figures.ts";
import { HostHoldings } from "./host-audit-holdings.ts";
import { type HostContext, once } from "./host-context.ts";
import { HostEvidence } from "./host-evidence.ts";
import { HostIntake } from "./host-leak-intake.ts";
import { HostTurn } from "./host-leak-turn.ts";
import { unallocatedUse } from "./host-leak-unallocated.ts";
import { type LeakRow, readLeaks, readReclaimed } from "./storage/host-leak-rows.ts";
import { readRegistration } from "./storage/host-rows.ts";

/** How long who brought evidence waits for the audit of it, ms; the audit goes on without him. */
const PATIENCE_MS = 5_000;
/** When the alarm goes on: with blocks that are left, and with what waits for the bucket, ms. */
const MORE_MS = 1_000;
const BUCKET_MS = 15_000;
/** Suspicions of one page. */
const PAGE_MAX = 1_000;

interface Order {
  readonly name: string;
  readonly isVisit: boolean;
}

export class HostLeaks {
  readonly #host: HostContext;
  readonly #arm: (at: number) => void;
  readonly #evidence: HostEvidence;
  readonly #intake: HostIntake;
  readonly #holdings: HostHoldings;
  readonly #audits: HostAudits;
  readonly #turn: HostTurn<Order, AuditEnd | undefined>;
  #name: string | undefined;
  #auditedAt = 0;
  #judged: readonly Judged[] = [];
  #isGone = false;
  #lastError: { readonly at: number; readonly what: string } | undefined;
  #notAllocated: number | undefined;
  #calls = 0;
  /** When the alarm is to go on with an audit. */
  #dueAt: number | undefined;

  constructor(host: HostContext, affinities: HostAffinities, arm: (at: number) => void) {
    this.#host = host;
    this.#arm = arm;
    this.#evidence = new HostEvidence(host.store);
    this.#intake = new HostIntake(host, this.#evidence);
    this.#holdings = new HostHoldings(host);
    const weigh = (life: HostLife, due: number, wanted: number) => this.#weigh(life, due, wanted);
    this.#audits = new HostAudits(host, this.#evidence, this.#holdings, affinities, weigh);
    this.#turn = new HostTurn(
      (order) => this.#audit(order),
      (one, other) => ({ ...one, isVisit: one.isVisit || other.isVisit }),
    );
  }

  /** The host has asked for something itself. */
  heard(): void {
    this.#audits.heard();
  }

  async reportWorkloads(request: rpc.WorkloadReport): ReturnType<rpc.HostLeakPort["reportWorkloads"]> {
    const { host, workloads } = request;
    const observedAt = this.#host.runtime.now();
    const taken = this.#intake.report(request);
    if (!taken.ok) return taken;
    await this.#patiently({ name: host, isVisit: false });
    const addressesNotAllocated = await this.#notHeld(host, workloads);
    const { generation } = readRegistration(this.#host.store) ?? {};
    return ok({
      observedAt,
      accepted: generation === taken.value.generation,
      addressesNotAllocated,
      leaks: this.counts(),
      nextReportWithinMs: nextReportWithinMs(this.#times().staleMs),
    });
  }

  async collectAttachments(
    request: rpc.AttachmentsRequest,
  ): ReturnType<rpc.HostLeakPort["collectAttachments"]> {
    const { host, network, validHandles, deadlineAt } = request;
    const taken = this.#intake.attachments(request);
    if (!taken.ok) return taken;
    const now = this.#host.runtime.now();
    const patienceMs = Math.max(0, Math.min(PATIENCE_MS * 4, (deadlineAt ?? Number.POSITIVE_INFINITY) - now));
    const end = await this.#patiently({ name: host, isVisit: false }, patienceMs);
    if (end === undefined) return err(rejection("policy_unavailable", {}, 1));
    const rows = readLeaks(this.#host.store).map(({ suspicion }) => suspicion);
    const known = new Set(rows.map(({ address }) => address));
    const gone = end.audit.ledger.filter(({ address }) => !known.has(address));
    const audit = { ...end.audit, ledger: [...rows, ...gone] };
    const results = attachmentOutcomes(network, validHandles, audit, end.released.addresses);
    const count = (outcome: string) => results.filter((one) => one.outcome === outcome).length;
    return ok({ released: count("released"), held: count("held"), results });
  }

  async audit(request: rpc.AuditRequest): Promise<rpc.AuditAnswer> {
    const { host, ifOlderThanMs, sighting } = request;
    this.#name = host;
    const now = this.#host.runtime.now();
    this.#sighted(sighting);
    if (!this.#isKnown()) return { kind: "unknown", figures: this.figures(host), calls: 0 };
    const age = now - this.#auditedAt;
    const isNew = this.#auditedAt > 0 && age >= 0 && age <= ifOlderThanMs && this.#dueAt === undefined;
    if (isNew && !this.#isLost()) return { kind: "fresh", figures: this.figures(host), calls: 0 };
    const end = await this.#turn.ask({ name: host, isVisit: true }).catch(() => undefined);
    const kind = end?.hasMore === true ? "more" : "audited";
    return { kind, figures: this.figures(host), calls: end?.calls ?? this.#calls };
  }

  async standings({ host, members }: Parameters<rpc.HostLeakPort["standings"]>[0]): Promise<{
    readonly standings: readonly Standing[];
  }> {
    this.#name = host;
    const blocks = [...new Set(members.map(({ block }) => block))];
    const audit = await this.#audits.judgeOnly(host, blocks);
    const standings = members.map(({ address, touch }): Standing => {
      const judged = audit?.judged.get(address);
      return judged === undefined || judged.subject.touch !== touch ? "unknown" : judged.standing;
    });
    return { standings };
  }

  async leaks({
    host,
    after,
    limit,
  }: Parameters<rpc.HostLeakPort["leaks"]>[0]): ReturnType<rpc.HostLeakPort["leaks"]> {
    const { graceMs } = this.#times();
    const rows = readLeaks(this.#host.store).toSorted((one, other) =>
      byAddress(one.suspicion.address, other.suspicion.address),
    );
    const left =
      after === undefined ? rows : rows.filter((row) => byAddress(row.suspicion.address, after) > 0);
    const page = left.slice(0, Math.min(limit, PAGE_MAX));
    const last = page.at(-1)?.suspicion.address;
    const leaks = page.map((row) => listed(row, host, graceMs));
    return left.length > page.length && last !== undefined ? { leaks, next: last } : { leaks };
  }

  /** Goes on with what an audit has left; returns when it is due next, ms from now. */
  async slice(): Promise<number | undefined> {
    const { memory, runtime } = this.#host;
    const name = this.#name ?? memory.registration?.gone?.host;
    const isDue = this.#dueAt !== undefined && this.#dueAt <= runtime.now();
    if (name === undefined || !(isDue || memory.isRemoving)) return undefined;
    await this.#turn.ask({ name, isVisit: true }).catch(() => undefined);
    return this.#dueAt === undefined ? undefined : Math.max(0, this.#dueAt - runtime.now());
  }

  counts(): rpc.LeakCountsView {
    return leakCounts(readLeaks(this.#host.store).map(({ suspicion }) => suspicion));
  }

  report(): rpc.ReportStateView {
    const now = this.#host.runtime.now();
    return reportState(this.#evidence.last("report"), now, this.#times().staleMs, this.#notAllocated);
  }

  /** Tunnel addresses, as of the last reading of the blocks. */
  tunnels(): TunnelView[] {
    const subjects = this.#holdings.all().flatMap((holding) => holding.subjects);
    return subjects.filter((subject) => kindOf(subject) === "tunnel").map(tunnelOf);
  }

  figures(host: string): rpc.HostLeakFigures {
    const { runtime, store } = this.#host;
    const policy = runtime.policy.peek();
    return figuresOf({
      host,
      auditedAt: this.#auditedAt,
      holdings: this.#holdings.all(),
      judged: this.#judged,
      rows: readLeaks(store),
      report: this.report(),
      hasKubernetes: runtime.cluster !== undefined,
      reclaimed: readReclaimed(store),
      ...(policy === undefined
        ? {}
        : { pools: new Set(policy.pools.map(({ definition }) => definition.name)) }),
      isGone: this.#isGone,
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
    });
  }

  async #audit({ name, isVisit }: Order): Promise<AuditEnd | undefined> {
    this.#name = name;
    this.#dueAt = undefined;
    try {
      const end = await this.#audits.run({ name, isVisit });
      if (end === undefined) this.#failed("policy");
      else this.#ended(end);
      return end;
    } catch (failure) {
      this.#failed("audit");
      throw failure;
    }
  }

  #ended(end: AuditEnd): void {
    const { audit, life, hasMore, failures, released, calls } = end;
    const now = this.#host.runtime.now();
    this.#judged = [...audit.judged.values()].filter(
      ({ subject }) => !released.addresses.has(subject.address),
    );
    this.#isGone = life.kind === "gone";
    this.#calls = calls;
    for (const what of failures.slice(0, 1)) this.#failed(what);
    if (!hasMore && !failures.includes("block")) this.#auditedAt = now;
    if (hasMore) this.#dueIn(MORE_MS);
    else if (released.stop === "release_limit") this.#dueIn(BUCKET_MS);
  }

  #dueIn(ms: number): void {
    const at = this.#host.runtime.now() + ms;
    this.#dueAt = Math.min(this.#dueAt ?? at, at);
    this.#arm(this.#dueAt);
  }

  #failed(what: string): void {
    this.#lastError = { at: this.#host.runtime.now(), what };
  }

  async #patiently(order: Order, patienceMs = PATIENCE_MS): Promise<AuditEnd | undefined> {
    const said = await once(this.#host, () => this.#turn.ask(order), patienceMs);
    return said.kind === "answered" ? said.value : undefined;
  }

  async #notHeld(
    host: string,
    workloads: rpc.WorkloadReport["workloads"],
  ): Promise<rpc.UnallocatedUseView[]> {
    const held = new Set(
      this.#holdings.all().flatMap(({ subjects }) => subjects.map(({ address }) => address)),
    );
    const addresses = addressesNotHeld(workloads, held);
    const policy = this.#host.runtime.policy.peek();
    const views =
      policy === undefined
        ? addresses.map((address) => ({ address, state: "unknown" as const }))
        : await unallocatedUse(this.#host, host, policy, addresses, (block) => this.#holdings.touch(block));
    this.#notAllocated = views.length;
    return views;
  }

  async #weigh(life: HostLife, due: number, wanted: number): Promise<rpc.WeighAnswer | undefined> {
    const host = this.#name ?? "";
    const isRemoved = life.kind === "gone" && life.by === "removal";
    const isLost = life.kind === "gone" && !isRemoved;
    const figures = this.figures(host);
    const wish = { host, due, wanted, isRemoved, isLost, figures };
    // Not repeated: what was granted and not heard of is only late.
    const said = await once(this.#host, () => this.#host.runtime.ports.sweep().weigh(wish));
    return said.kind === "answered" ? said.value : undefined;
  }

  #sighted(sighting: NodeSighting | undefined): void {
    if (sighting !== undefined) this.#audits.sighted(sighting);
  }

  #isLost(): boolean {
    return this.#audits.life(this.#times().staleMs).kind === "gone";
  }

  /** Whether there is anything to audit: a registration, or a block. */
  #isKnown(): boolean {
    const { registration } = this.#host.memory;
    const isRegistered = registration !== undefined && registration.gone?.isOver !== true;
    return isRegistered || this.#holdings.blocks().length > 0;
  }

  #times() {
    return leakTimes(this.#host.runtime.policy.peek()?.config ?? {});
  }
}

const TUNNELS = ["ipip", "vxlan", "wireguard"];

/** What kind of tunnel it is: its type says, or its handle, as whoever made it named it. */
function tunnelOf({ address, handle, attributes }: LeakSubject): TunnelView {
  const name = (attributes.type ?? handle).toLowerCase();
  return { kind: TUNNELS.find((kind) => name.startsWith(kind)) ?? "other", address, handle };
}

function listed({ suspicion, subject, pool }: LeakRow, host: string, graceMs: number): rpc.ListedLeak {
  return {
    ...leakView(suspicion, graceMs),
    host,
    ...(pool === undefined ? {} : { pool }),
    attributes: subject.attributes,
    sequenceNumber: subject.sequenceNumber ?? subject.touch,
  };
}

function byAddress(one: string, other: string): number {
  const [left, right] = [parseAddress(one), parseAddress(other)];
  if (!left.ok || !right.ok) return one < other ? -1 : one > other ? 1 : 0;
  const [a, b] = [left.value, right.value];
  if (a.family !== b.family) return a.family - b.family;
  return a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
}
