/**
 * The collector's part of a Host: evidence comes in, audits run one after another, figures go out.
 * May import: core, rpc, storage. Rule: what was accepted stays accepted, whatever becomes of its audit.
 */
import { rejection } from "../src/core/errors.ts";
import { addressesNotHeld, attachmentOutcomes, nextReportWithinMs } from "../src/core/leak-answers.ts";
import type { HostLife, NodeSighting } from "../src/core/leak-host.ts";
import type { Standing } from "../src/core/leak-policy.ts";
import { err, ok } from "../src/core/result.ts";
import type * as rpc from "../src/rpc/leaks.ts";
import type { HostAffinities } from "./host-affinities.ts";
import { type AuditEnd, HostAudits } from "./host-audit.ts";
import { HostHoldings } from "./host-audit-holdings.ts";
import { type HostContext, once } from "./host-context.ts";
import { HostEvidence } from "./host-evidence.ts";
import { HostIntake } from "./host-leak-intake.ts";
import { HostTurn } from "./host-leak-turn.ts";
import { unallocatedUse } from "./host-leak-unallocated.ts";
import { HostLeakView, timesOf } from "./host-leak-view.ts";
import { readLeaks } from "./storage/host-leak-rows.ts";
import { readRegistration } from "./storage/host-rows.ts";

/** How long who brought evidence waits for the audit of it, ms; the audit goes on without him. */
const PATIENCE_MS = 5_000;
/** Calls' time that a visit waits for the cluster; the Sweep waits for one call more. */
const VISIT_STEPS = 5;
/** When the alarm goes on: with blocks that are left, and with what waits for the bucket, ms. */
const MORE_MS = 1_000;
const BUCKET_MS = 15_000;

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
  readonly view: HostLeakView;
  #name: string | undefined;
  #calls = 0;
  /** When the alarm is to go on with an audit. */
  #dueAt: number | undefined;

  constructor(host: HostContext, affinities: HostAffinities, arm: (at: number) => void) {
    this.#host = host;
    this.#arm = arm;
    this.#evidence = new HostEvidence(host.store);
    this.#intake = new HostIntake(host, this.#evidence);
    this.#holdings = new HostHoldings(host);
    this.view = new HostLeakView(host, this.#evidence, this.#holdings);
    const weigh = (life: HostLife, due: number, wanted: number) => this.#weigh(life, due, wanted);
    this.#audits = new HostAudits(host, this.#evidence, this.#holdings, affinities, weigh);
    this.#turn = new HostTurn(
      (order) => this.#audit(order),
      (one, other) => ({ ...one, isVisit: one.isVisit || other.isVisit }),
    );
  }

  /** The host has asked for something itself. */
  heard(): void {
    const now = this.#host.runtime.now();
    this.#audits.heard(now);
    this.#evidence.clocked(now);
  }

  async reportWorkloads(request: rpc.WorkloadReport): ReturnType<rpc.HostLeakPort["reportWorkloads"]> {
    const { host, workloads } = request;
    const observedAt = this.#host.runtime.now();
    const taken = this.#intake.report(request);
    if (!taken.ok) return taken;
    await this.#patiently({ name: host, isVisit: false });
    const addressesNotAllocated = await this.#notHeld(host, workloads).catch(() => []);
    const { generation } = readRegistration(this.#host.store) ?? {};
    return ok({
      observedAt,
      accepted: generation === taken.value.generation,
      addressesNotAllocated,
      leaks: this.view.counts(),
      nextReportWithinMs: nextReportWithinMs(timesOf(this.#host).staleMs),
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
    // Nothing was looked at: the list is stored, and it counts from the next audit on.
    if (end === undefined) return err(rejection("policy_unavailable", {}, 1));
    const ledger = readLeaks(this.#host.store).map(({ suspicion }) => suspicion);
    const audit = { ...end.audit, ledger };
    const results = attachmentOutcomes(network, validHandles, audit, end.released.addresses);
    const count = (outcome: string) => results.filter((one) => one.outcome === outcome).length;
    return ok({ released: count("released"), held: count("held"), results });
  }

  async audit(request: rpc.AuditRequest): Promise<rpc.AuditAnswer> {
    const { host, ifOlderThanMs, sighting } = request;
    this.#name = host;
    const now = this.#host.runtime.now();
    this.#sighted(sighting);
    if (!this.#isKnown()) return { kind: "unknown", figures: this.view.figures(host), calls: 0 };
    const age = now - this.view.auditedAt;
    const isNew = this.view.auditedAt > 0 && age >= 0 && age <= ifOlderThanMs && this.#dueAt === undefined;
    if (isNew && !this.#isLost()) return { kind: "fresh", figures: this.view.figures(host), calls: 0 };
    const end = await this.#visited(host);
    const kind = end?.hasMore === true ? "more" : "audited";
    return { kind, figures: this.view.figures(host), calls: end?.calls ?? this.#calls };
  }

  /** A visit answers before the Sweep gives it up, if it is the cluster that does not: then that is told. */
  async #visited(host: string): Promise<AuditEnd | undefined> {
    const asked = this.#turn.ask({ name: host, isVisit: true }).catch(() => undefined);
    const { cluster, settings } = this.#host.runtime;
    if (cluster === undefined) return await asked;
    const said = await once(this.#host, () => asked, VISIT_STEPS * (settings.untilMs + settings.skewMs));
    if (said.kind !== "timed_out" || !this.#audits.isAsking) return await asked;
    this.view.judged = this.#audits.unanswered();
    this.#failed("kubernetes: timed out");
    return undefined;
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

  /** Goes on with what an audit has left; returns when it is due next, ms from now. */
  async slice(): Promise<number | undefined> {
    const { memory, runtime } = this.#host;
    const name = this.#name ?? memory.registration?.gone?.host;
    const isDue = this.#dueAt !== undefined && this.#dueAt <= runtime.now();
    if (name === undefined || !(isDue || memory.isRemoving)) return undefined;
    await this.#turn.ask({ name, isVisit: true }).catch(() => undefined);
    return this.#dueAt === undefined ? undefined : Math.max(0, this.#dueAt - runtime.now());
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
    this.view.judged = [...audit.judged.values()].filter(
      ({ subject }) => !released.addresses.has(subject.address),
    );
    this.view.isGone = life.kind === "gone";
    this.#calls = calls;
    for (const what of failures.slice(0, 1)) this.#failed(what);
    if (!hasMore && !failures.includes("block")) this.view.auditedAt = now;
    if (hasMore) this.#dueIn(MORE_MS);
    else if (released.stop === "release_limit") this.#dueIn(BUCKET_MS);
  }

  #dueIn(ms: number): void {
    const at = this.#host.runtime.now() + ms;
    this.#dueAt = Math.min(this.#dueAt ?? at, at);
    this.#arm(this.#dueAt);
  }

  #failed(what: string): void {
    this.view.lastError = { at: this.#host.runtime.now(), what };
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
    this.view.notAllocated = views.length;
    return views;
  }

  async #weigh(life: HostLife, due: number, wanted: number): Promise<rpc.WeighAnswer | undefined> {
    const host = this.#name ?? "";
    const isRemoved = life.kind === "gone" && life.by === "removal";
    const isLost = life.kind === "gone" && !isRemoved;
    const figures = this.view.figures(host);
    const wish = { host, due, wanted, isRemoved, isLost, figures };
    // Not repeated: what was granted and not heard of is only late.
    const said = await once(this.#host, () => this.#host.runtime.ports.sweep().weigh(wish));
    return said.kind === "answered" ? said.value : undefined;
  }

  #sighted(sighting: NodeSighting | undefined): void {
    if (sighting !== undefined) this.#audits.sighted(sighting);
  }

  #isLost(): boolean {
    return this.#audits.life(timesOf(this.#host).staleMs).kind === "gone";
  }

  /** Whether there is anything to audit: a registration, or a block. */
  #isKnown(): boolean {
    const { registration } = this.#host.memory;
    const isRegistered = registration !== undefined && registration.gone?.isOver !== true;
    return isRegistered || this.#holdings.blocks().length > 0;
  }
}
