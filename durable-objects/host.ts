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
import { cidrOf, type HostContext } from "./host-context.ts";
import { HostEnrolment } from "./host-enrolment.ts";
import { HostEnsure } from "./host-ensure.ts";
import { HostExplain } from "./host-explain.ts";
import { HostLanes } from "./host-lanes.ts";
import { HostLeaks } from "./host-leaks.ts";
import { HostLooks } from "./host-looks.ts";
import { HostMemory } from "./host-memory.ts";
import { HostReadiness } from "./host-readiness.ts";
import { HostRefresh } from "./host-refresh.ts";
import { HostRefusals } from "./host-refusals.ts";
import { HostRemoval } from "./host-removal.ts";
import { HostReports } from "./host-reports.ts";
import { HostTogether } from "./host-together.ts";
import { KeyTurns } from "./host-turns.ts";
import { viewOf } from "./host-view.ts";
import { productionRuntime } from "./production.ts";
import type { Runtime } from "./runtime.ts";
import { HOST_MIGRATIONS, type Registration } from "./storage/host-rows.ts";
import { type Counters, Store } from "./storage/store.ts";

/** How long the alarm waits before it tries again what it could not do, ms. */
const ALARM_RETRY_MS = 5_000;

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
  readonly #enrolment: HostEnrolment;
  readonly #turns = new KeyTurns();
  #alarmAt: number | undefined;
  #name: string | undefined;

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
    this.#enrolment = new HostEnrolment(this.#context, () => this.#name);
    this.#readiness = new HostReadiness(this.#context);
    this.#refusals = new HostRefusals(this.#runtime);
    this.#affinities = new HostAffinities(this.#context, () => this.#enrolment.enrol());
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
    const may = this.#enrolment.mayAllocate(host);
    if (!may.ok) return this.#refused(may.error);
    const looks = new HostLooks(this.#context);
    const results = await Promise.all(items.map((item) => this.#allocate(item, may.value, looks)));
    return ok({ results });
  }

  async explain(request: rpc.HostExplainRequest): ReturnType<rpc.HostPort["explain"]> {
    this.#store.countCall("explain");
    const may = this.#enrolment.mayAllocate(request.host);
    const explain = new HostExplain(this.#context, request, this.#enrolment.labels(request.host));
    return await explain.run(may.ok ? undefined : may.error.code);
  }

  async assign(request: rpc.HostAssignRequest): Answer<rpc.HostAssignAnswer, rpc.AssignRefusal> {
    this.#store.countCall("assign");
    this.#name = request.host;
    this.#leaks.heard();
    const { host } = request;
    if (this.#memory.isRemoving) return this.#refused(rejection("host_removing", { host }));
    const answer = await this.#turns.take(request, () => this.#assign(request));
    return answer.ok ? answer : this.#refused(answer.error);
  }

  async register(request: rpc.RegisterRequest): ReturnType<rpc.HostPort["register"]> {
    this.#store.countCall("register");
    this.#name = request.host;
    this.#leaks.heard();
    const done = await this.#enrolment.register(request);
    if (!done.ok) return done;
    const { created, registration } = done.value;
    return ok({ created, view: await this.#view(request.host, registration) });
  }

  async describe(request: Parameters<rpc.HostPort["describe"]>[0]): Promise<{ view?: rpc.HostView }> {
    this.#store.countCall("describe");
    this.#name = request.host;
    const registration = this.#enrolment.registered;
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
    const registration = this.#enrolment.registered;
    if (registration === undefined) return {};
    return { view: await this.#readiness.read(request.host, registration.labels) };
  }

  async ensureBlocks(request: rpc.EnsureBlocksRequest): ReturnType<rpc.HostPort["ensureBlocks"]> {
    this.#store.countCall("ensureBlocks");
    this.#name = request.host;
    this.#leaks.heard();
    const may = this.#enrolment.mayAllocate(request.host);
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
    const labels = this.#memory.isRemoving ? undefined : this.#enrolment.registered?.labels;
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
    const may = this.#enrolment.mayAllocate(request.host);
    return may.ok ? await this.#allocate(request, may.value, looks) : this.#refused(may.error);
  }

  async #allocate(
    request: rpc.HostAllocateRequest,
    labels: Registration["labels"],
    looks: HostLooks,
  ): Promise<rpc.HostAllocateOutcome> {
    const answer = await this.#turns.take(request, () =>
      allocateFor({ ...this.#parts(), looks }, request, labels),
    );
    return answer.ok ? answer : this.#refused(answer.error);
  }

  #check(): HostCheck {
    return new HostCheck(this.#context, this.#affinities, () => this.#enrolment.enrol());
  }

  #parts() {
    return { host: this.#context, affinities: this.#affinities, enrol: () => this.#enrolment.enrol() };
  }

  async #assign(request: rpc.HostAssignRequest): Answer<rpc.HostAssignAnswer, rpc.AssignRefusal> {
    const result = await new HostAssign(this.#parts(), request).run();
    if (result.kind === "refused") return err(result.refusal);
    const policy = this.#runtime.policy.peek();
    if (policy === undefined) return err(rejection("policy_unavailable", {}, 1));
    const { created, replayed, record } = result;
    return ok({ created, replayed, address: placed(policy, record) });
  }

  #refused<E extends Rejection>(refusal: E): { readonly ok: false; readonly error: E } {
    this.#memory.refused(refusal.code, this.#runtime.now());
    this.#refusals.note(this.#name ?? "", refusal);
    return err(refusal);
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

  #view(host: string, registration: Registration): Promise<rpc.HostView> {
    return viewOf({ host: this.#context, leaks: this.#leaks, removal: this.#removal }, host, registration);
  }
}

function poolCidrOf(
  pools: readonly { definition: { name: string; incarnation: number; cidr: string } }[],
  name: string,
  incarnation: number,
): string | undefined {
  return pools.find(({ definition }) => definition.name === name && definition.incarnation === incarnation)
    ?.definition.cidr;
}
