/**
 * HostObject serialises what one affinity owner decides: its blocks, its registration, its requests.
 * May import: core, rpc, platform. Rule: it never owns the truth about an address; the block does.
 */
import { DurableObject } from "cloudflare:workers";
import type { BlockCounts } from "../src/core/allocation.ts";
import { type Rejection, rejection } from "../src/core/errors.ts";
import { err, ok, type Result } from "../src/core/result.ts";
import { sharedSleep } from "../src/platform/shared-timer.ts";
import type * as rpc from "../src/rpc/host.ts";
import { HostAffinities } from "./host-affinities.ts";
import { allocateFor, placed } from "./host-allocate.ts";
import { HostAssign } from "./host-assign.ts";
import { HostCheck } from "./host-check.ts";
import { HostConfirmations, targetOf } from "./host-confirmations.ts";
import { again, cidrOf, type HostContext } from "./host-context.ts";
import { HostEnsure } from "./host-ensure.ts";
import { HostExplain } from "./host-explain.ts";
import { HostFigures } from "./host-figures.ts";
import { HostLanes } from "./host-lanes.ts";
import { HostLeaks } from "./host-leaks.ts";
import { HostLooks } from "./host-looks.ts";
import { HostMemory } from "./host-memory.ts";
import { HostReadiness } from "./host-readiness.ts";
import { HostRefresh } from "./host-refresh.ts";
import { HostRefusals } from "./host-refusals.ts";
import { registrationAfter } from "./host-registration.ts";
import { HostRemoval } from "./host-removal.ts";
import { HostReports } from "./host-reports.ts";
import { HostTogether } from "./host-together.ts";
import { productionRuntime } from "./production.ts";
import type { Runtime } from "./runtime.ts";
import {
  forgetLeft,
  HOST_MIGRATIONS,
  type Registration,
  readRegistration,
  saveRegistration,
} from "./storage/host-rows.ts";
import { type Counters, Store } from "./storage/store.ts";

/** How long the alarm waits before it tries again what it could not do, ms. */
const ALARM_RETRY_MS = 5_000;
const NO_LABELS = {};
/** Removals that come between the steps of one registration. */
const ROUNDS_MAX = 3;

type Answer<T, E> = Promise<Result<T, E>>;
type Request<M extends keyof rpc.HostPort> = Parameters<rpc.HostPort[M]>[0];
type AnswerOf<M extends keyof rpc.HostPort> = ReturnType<rpc.HostPort[M]>;

export class HostObject extends DurableObject<Env> implements rpc.HostPort {
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #memory: HostMemory;
  readonly #context: HostContext;
  readonly #affinities: HostAffinities;
  readonly #leaks: HostLeaks;
  readonly #readiness: HostReadiness;
  readonly #refusals: HostRefusals;
  readonly #removal: HostRemoval;
  readonly #together: HostTogether;
  #alarmAt: number | undefined;
  /** Requests under way by handle and key: two with one key go one after the other. */
  readonly #underWay = new Map<string, Promise<unknown>>();
  #name: string | undefined;
  #isEnrolled = false;

  constructor(ctx: DurableObjectState, env: Env, runtime: Runtime = productionRuntime(env)) {
    super(ctx, env);
    this.#runtime = { ...runtime, sleep: sharedSleep(runtime) };
    this.#store = new Store(ctx.storage, HOST_MIGRATIONS);
    this.#memory = new HostMemory(this.#store);
    const arm = (at: number): void => this.#arm(at);
    const confirmations = new HostConfirmations(this.#runtime, this.#memory, arm);
    const reports = new HostReports(this.#runtime, confirmations);
    const lanes = new HostLanes(this.#runtime);
    const refresh = new HostRefresh(this.#memory, this.#runtime, reports);
    const parts = { memory: this.#memory, runtime: this.#runtime, reports, confirmations, lanes, refresh };
    this.#context = { store: this.#store, ...parts };
    this.#readiness = new HostReadiness(this.#context);
    this.#refusals = new HostRefusals(this.#runtime);
    this.#affinities = new HostAffinities(this.#context, () => this.#enrol());
    this.#removal = new HostRemoval(this.#context, this.#affinities, arm);
    this.#leaks = new HostLeaks(this.#context, this.#affinities, arm);
    this.#together = new HostTogether(this.#runtime);
  }

  async allocate(request: rpc.HostAllocateRequest): Promise<rpc.HostAllocateOutcome> {
    this.#store.countCall("allocate");
    this.#name = request.host;
    this.#leaks.heard();
    return await this.#allocateOne(request, new HostLooks(this.#context));
  }

  async allocateTogether({ host, items }: Request<"allocateTogether">): AnswerOf<"allocateTogether"> {
    this.#store.countCall("allocateTogether");
    this.#name = host;
    this.#leaks.heard();
    const looks = new HostLooks(this.#context);
    return { outcomes: await this.#together.answer(items.map((item) => this.#allocateOne(item, looks))) };
  }

  async allocated({ ticket }: Request<"allocated">): AnswerOf<"allocated"> {
    this.#store.countCall("allocated");
    return await this.#together.fetch(ticket);
  }

  async allocateMany({ host, items }: rpc.HostAllocateManyRequest): ReturnType<rpc.HostPort["allocateMany"]> {
    this.#store.countCall("allocateMany");
    this.#name = host;
    this.#leaks.heard();
    const may = this.#mayAllocate(host);
    if (!may.ok) return this.#refused(may.error);
    const looks = new HostLooks(this.#context);
    const results = await Promise.all(items.map((item) => this.#allocate(item, may.value, looks)));
    return ok({ results });
  }

  async explain(request: rpc.HostExplainRequest): ReturnType<rpc.HostPort["explain"]> {
    this.#store.countCall("explain");
    const may = this.#mayAllocate(request.host);
    const explain = new HostExplain(this.#context, request, this.#labels(request.host));
    return await explain.run(may.ok ? undefined : may.error.code);
  }

  async assign(request: rpc.HostAssignRequest): Answer<rpc.HostAssignAnswer, rpc.AssignRefusal> {
    this.#store.countCall("assign");
    this.#name = request.host;
    this.#leaks.heard();
    const { host } = request;
    if (this.#memory.isRemoving) return this.#refused(rejection("host_removing", { host }));
    const answer = await this.#inTurn(request, () => this.#assign(request));
    return answer.ok ? answer : this.#refused(answer.error);
  }

  async register(request: rpc.RegisterRequest): ReturnType<rpc.HostPort["register"]> {
    this.#store.countCall("register");
    this.#name = request.host;
    this.#leaks.heard();
    const { host, labels, author } = request;
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const before = this.#memory.registration;
      const created = this.#registered() === undefined;
      const next = registrationAfter(before, request, this.#runtime.now());
      if (next === "older") return err(rejection("incarnation_conflict", { host }));
      const known = { host, registered: true, labels, revision: next.revision };
      const entry = author === undefined ? known : { ...known, author };
      const told = await again(this.#context, () => this.#runtime.ports.cluster().enrol(entry));
      if (told.kind !== "answered") break;
      this.#isEnrolled = true;
      // The host may have been removed meanwhile: then it registers after that.
      if (this.#keepRegistration(before, next)) return ok({ created, view: await this.#view(host, next) });
    }
    return err(rejection("policy_unavailable", {}, 1));
  }

  async describe(request: Parameters<rpc.HostPort["describe"]>[0]): Promise<{ view?: rpc.HostView }> {
    this.#store.countCall("describe");
    this.#name = request.host;
    const registration = this.#registered();
    if (registration === undefined) return {};
    if (this.#memory.isRemoving) this.#removal.wake();
    if (request.asKnown !== true) await this.#leaks.view.look(request.host);
    return { view: await this.#view(request.host, registration) };
  }

  async remove(request: Parameters<rpc.HostPort["remove"]>[0]): Promise<{ view?: rpc.HostView }> {
    this.#store.countCall("remove");
    this.#name = request.host;
    const registration = this.#removal.begin(request);
    return registration === undefined ? {} : { view: await this.#view(request.host, registration) };
  }

  async readiness(request: { host: string }): Promise<{ view?: rpc.HostReadinessView }> {
    this.#store.countCall("readiness");
    this.#name = request.host;
    const registration = this.#registered();
    if (registration === undefined) return {};
    return { view: await this.#readiness.read(request.host, registration.labels) };
  }

  async ensureBlocks(request: rpc.EnsureBlocksRequest): ReturnType<rpc.HostPort["ensureBlocks"]> {
    this.#store.countCall("ensureBlocks");
    this.#name = request.host;
    this.#leaks.heard();
    const may = this.#mayAllocate(request.host);
    if (!may.ok) return this.#refused(may.error);
    const got = await new HostEnsure(this.#context, this.#affinities).ensure(request, may.value);
    return got.ok ? ok({ blocks: got.value }) : this.#refused(got.error);
  }

  async claimBlock(request: rpc.ClaimBlockRequest): Promise<rpc.ClaimBlockAnswer> {
    this.#store.countCall("claimBlock");
    this.#name = request.host;
    return await new HostEnsure(this.#context, this.#affinities).claimBlock(request);
  }

  async releaseBlock(request: Parameters<rpc.HostPort["releaseBlock"]>[0]): Promise<rpc.ReleaseBlockAnswer> {
    this.#store.countCall("releaseBlock");
    this.#name = request.host;
    const now = this.#runtime.now();
    const row = this.#memory.affinities.get(request.block);
    const age = row === undefined ? Number.POSITIVE_INFINITY : now - row.claimedAt;
    if (request.forReclaim && age < this.#runtime.settings.reclaimAgeMs) return { kind: "too_young" };
    const leased = await this.#runtime.policy.current(now);
    if (leased === undefined) return { kind: "unsettled" };
    const { pool, incarnation, block, epoch, mustBeEmpty } = request;
    const cidr = row?.poolCidr ?? poolCidrOf(leased.policy.pools, pool, incarnation);
    if (cidr === undefined) return { kind: "unsettled" };
    return await this.#affinities.release({
      owner: request.host,
      target: { pool, incarnation, cidr, blockSize: cidrOf(block).prefix },
      block,
      epoch,
      mustBeEmpty,
      cooldownMs: leased.policy.config.ipCooldownSeconds * 1000,
    });
  }

  async affinities(
    request: Parameters<rpc.HostPort["affinities"]>[0],
  ): ReturnType<rpc.HostPort["affinities"]> {
    this.#store.countCall("affinities");
    this.#name = request.host;
    const { affinities, borrowed } = this.#memory;
    const asked = request.blocks ?? [...affinities.keys()];
    const rows = asked.flatMap((block) => affinities.get(block) ?? []);
    return {
      rows: rows.map(({ poolCidr: _poolCidr, ...row }) => row),
      borrowed: (request.blocks ?? [...borrowed]).filter((block) => borrowed.has(block)),
    };
  }

  async settleBlock(request: Parameters<rpc.HostPort["settleBlock"]>[0]): Promise<rpc.SettleBlockAnswer> {
    this.#store.countCall("settleBlock");
    this.#name = request.host;
    // A removal gives its rows back by itself; it may have been waiting for its alarm.
    if (this.#memory.isRemoving) this.#removal.wake();
    return { kind: await this.#check().settle(request) };
  }

  async enrolAgain(request: { host: string }): Promise<{ enrolled: boolean }> {
    this.#store.countCall("enrolAgain");
    this.#name = request.host;
    return { enrolled: await this.#check().enrolAgain(request.host) };
  }

  async noteBorrowed(request: Parameters<rpc.HostPort["noteBorrowed"]>[0]): Promise<{ noted: boolean }> {
    this.#store.countCall("noteBorrowed");
    this.#name = request.host;
    return { noted: await this.#check().noteBorrowed(request) };
  }

  async blockChanged(request: { host: string; block: string; counts: BlockCounts }): Promise<void> {
    this.#store.countCall("blockChanged");
    const row = this.#memory.affinities.get(request.block);
    if (row === undefined) return;
    this.#memory.note(request.block, request.counts, this.#runtime.now());
    this.#context.reports.changed(targetOf(row), request.block, request.counts, true);
    const { allocated, cooling } = request.counts;
    const labels = this.#memory.isRemoving ? undefined : this.#registered()?.labels;
    if (allocated > 0 || cooling > 0 || labels === undefined) return;
    // Nobody waits: the release that emptied the block stands whatever becomes of it.
    void this.#affinities.surrender.emptied(request.host, request.block, labels);
  }

  /** Repeats what a Pool has not heard, and goes on with the removal. */
  override async alarm(): Promise<void> {
    this.#store.countCall("alarm");
    this.#alarmAt = undefined;
    try {
      await this.#context.confirmations.tellAll();
    } catch {
      // Whatever failed, the alarm must live on: routes wait for this Host's word.
      this.#context.confirmations.arm();
    }
    // First what can be released: then the removal finds less that is left.
    const audit = await this.#leaks.slice().catch(() => ALARM_RETRY_MS);
    const left = await this.#removal.slice().catch(() => ALARM_RETRY_MS);
    for (const pauseMs of [left, audit]) if (pauseMs !== undefined) this.#arm(this.#runtime.now() + pauseMs);
  }

  async reportWorkloads(request: Request<"reportWorkloads">): AnswerOf<"reportWorkloads"> {
    this.#store.countCall("reportWorkloads");
    this.#name = request.host;
    return await this.#leaks.reportWorkloads(request);
  }

  async collectAttachments(request: Request<"collectAttachments">): AnswerOf<"collectAttachments"> {
    this.#store.countCall("collectAttachments");
    this.#name = request.host;
    return await this.#leaks.collectAttachments(request);
  }

  async audit(request: Request<"audit">): AnswerOf<"audit"> {
    this.#store.countCall("audit");
    this.#name = request.host;
    return await this.#leaks.audit(request);
  }

  async standings(request: Request<"standings">): AnswerOf<"standings"> {
    this.#store.countCall("standings");
    return await this.#leaks.standings(request);
  }

  async leaks(request: Request<"leaks">): AnswerOf<"leaks"> {
    this.#store.countCall("leaks");
    return await this.#leaks.view.leaks(request);
  }

  async counters(): Promise<Counters> {
    return this.#store.counters;
  }

  async #allocateOne(request: rpc.HostAllocateRequest, looks: HostLooks): Promise<rpc.HostAllocateOutcome> {
    const may = this.#mayAllocate(request.host);
    return may.ok ? await this.#allocate(request, may.value, looks) : this.#refused(may.error);
  }

  async #allocate(
    request: rpc.HostAllocateRequest,
    labels: Registration["labels"],
    looks: HostLooks,
  ): Promise<rpc.HostAllocateOutcome> {
    const answer = await this.#inTurn(request, () =>
      allocateFor({ ...this.#parts(), looks }, request, labels),
    );
    return answer.ok ? answer : this.#refused(answer.error);
  }

  #check(): HostCheck {
    return new HostCheck(this.#context, this.#affinities, () => this.#enrol());
  }

  #parts() {
    return { host: this.#context, affinities: this.#affinities, enrol: () => this.#enrol() };
  }

  async #assign(request: rpc.HostAssignRequest): Answer<rpc.HostAssignAnswer, rpc.AssignRefusal> {
    const result = await new HostAssign(this.#parts(), request).run();
    if (result.kind === "refused") return err(result.refusal);
    const policy = this.#runtime.policy.peek();
    if (policy === undefined) return err(rejection("policy_unavailable", {}, 1));
    const { created, replayed, record } = result;
    return ok({ created, replayed, address: placed(policy, record) });
  }

  /**
   * Requests with one key in one Host wait for each other, whatever their bodies.
   * Why: who waited asks for itself then, since what the one before was told may have been released by
   * the time this request began; it finds what the key holds, that the key is spent, or that another body
   * has it (I4, I13). Which body that is only the index knows, not who came first.
   */
  async #inTurn<T, E>(
    { handle, key }: { readonly handle: string; readonly key: string },
    run: () => Answer<T, E>,
  ): Answer<T, E> {
    const name = `${handle} ${key}`;
    // Ends: each round outlasts one request that came before this one.
    for (;;) {
      const before = this.#underWay.get(name);
      if (before === undefined) break;
      await before.catch(() => undefined);
    }
    const answer = run().finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, answer);
    return await answer;
  }

  #refused<E extends Rejection>(refusal: E): { readonly ok: false; readonly error: E } {
    this.#memory.refused(refusal.code, this.#runtime.now());
    this.#refusals.note(this.#name ?? "", refusal);
    return err(refusal);
  }

  /** Stores a registration that follows from another one, if that one is still the last. */
  #keepRegistration(before: Registration | undefined, next: Registration): boolean {
    if (next === before) return this.#memory.registration === before;
    const isKept = this.#store.transaction(() => {
      if (readRegistration(this.#store)?.revision !== before?.revision) return false;
      saveRegistration(this.#store, next);
      if (before?.gone !== undefined) forgetLeft(this.#store);
      return true;
    });
    this.#memory.registration = isKept ? next : readRegistration(this.#store);
    return isKept;
  }

  /** One alarm for all that is due: the earliest. Its handler finds out what is due. */
  #arm(at: number): void {
    if (this.#alarmAt !== undefined && this.#alarmAt <= at) return;
    this.#alarmAt = at;
    // An instance that was replaced cannot arm anything; its successor does.
    this.ctx.storage.setAlarm(at).catch(() => {
      this.#alarmAt = undefined;
    });
  }

  /** The registration, unless nothing is left of it after a removal. */
  #registered(): Registration | undefined {
    const { registration } = this.#memory;
    return registration?.gone?.isOver === true ? undefined : registration;
  }

  /** The labels under which a host may get addresses. */
  #mayAllocate(host: string): Result<Registration["labels"], Rejection<"host_unknown" | "host_removing">> {
    if (this.#memory.isRemoving) return err(rejection("host_removing", { host }));
    const labels = this.#labels(host);
    return labels === undefined ? err(rejection("host_unknown", { host })) : ok(labels);
  }

  /** Labels of a registered host; a virtual owner needs no registration. */
  #labels(host: string): Readonly<Record<string, string>> | undefined {
    return this.#registered()?.labels ?? (isVirtual(host) ? NO_LABELS : undefined);
  }

  /** Enters the host in Cluster's directory: before its first row of any kind. */
  async #enrol(): Promise<boolean> {
    if (this.#isEnrolled) return true;
    const isKnown =
      this.#memory.registration !== undefined ||
      this.#memory.affinities.size > 0 ||
      this.#memory.borrowed.size > 0;
    if (isKnown || this.#name === undefined) {
      this.#isEnrolled = isKnown;
      return isKnown;
    }
    const entry = { host: this.#name, registered: false, labels: {} };
    const told = await again(this.#context, () => this.#runtime.ports.cluster().enrol(entry));
    this.#isEnrolled = told.kind === "answered";
    return this.#isEnrolled;
  }

  async #view(host: string, registration: Registration): Promise<rpc.HostView> {
    const figures = new HostFigures(this.#context);
    await figures.askUnknown();
    const now = this.#runtime.now();
    const { labels, incarnation, revision, registeredAt, gone } = registration;
    const left = gone === undefined ? undefined : await this.#removal.left();
    return {
      name: host,
      kind: isVirtual(host) ? "virtual" : "host",
      state: gone === undefined ? "active" : "removing",
      labels,
      ...(incarnation === undefined ? {} : { incarnation }),
      ipv4: await figures.ofFamily(4, labels),
      ipv6: await figures.ofFamily(6, labels),
      report: this.#leaks.view.report(),
      leaks: this.#leaks.view.counts(),
      tunnels: this.#leaks.view.tunnels(),
      refusals: this.#memory.refusals(now),
      registeredAt,
      ...(gone === undefined ? {} : { removingSince: gone.since }),
      ...(left === undefined ? {} : { allocationsLeft: left.allocations }),
      ...(left === undefined || left.kept.addresses === 0 ? {} : { kept: left.kept }),
      revision,
    };
  }
}

function isVirtual(host: string): boolean {
  return host.startsWith("virtual:");
}

function poolCidrOf(
  pools: readonly { definition: { name: string; incarnation: number; cidr: string } }[],
  name: string,
  incarnation: number,
): string | undefined {
  return pools.find(({ definition }) => definition.name === name && definition.incarnation === incarnation)
    ?.definition.cidr;
}
