/**
 * BlockObject serialises the allocations of one block: everything true about its addresses is here.
 * May import: core, rpc, platform. Rule: decide in pure code inside one transaction; memory is a hint.
 */
import { DurableObject } from "cloudflare:workers";
import type { BlockCounts } from "../src/core/allocation.ts";
import { applyChanges, type BlockChanges, BlockDraft, type BlockTimes } from "../src/core/block.ts";
import { claim, noteRetired, releaseAffinity, retire, retireDueAt } from "../src/core/block-affinity.ts";
import { allocateAll, reuse, traceKey, type Uncounted, undo } from "../src/core/block-allocate.ts";
import { auditBlock } from "../src/core/block-audit.ts";
import { countBlock, countRoom } from "../src/core/block-counts.ts";
import { inspect } from "../src/core/block-inspect.ts";
import { holdings, keysOver, releaseLeaked } from "../src/core/block-leaks.ts";
import { changeOwner, updateOwners } from "../src/core/block-owners.ts";
import { holds, releaseAddresses, releaseHandle, transition } from "../src/core/block-release.ts";
import { noteBorrowed } from "../src/core/block-routes.ts";
import { viewBlock } from "../src/core/block-view.ts";
import { type Cidr, parseCidr } from "../src/core/cidr.ts";
import { shardOf } from "../src/core/ids.ts";
import { invariant } from "../src/core/invariant.ts";
import { forgottenKeys, type KeyName } from "../src/core/ordinal.ts";
import { callIdempotent } from "../src/platform/call.ts";
import type * as rpc from "../src/rpc/block.ts";
import { BlockLending } from "./block-lending.ts";
import { productionRuntime } from "./production.ts";
import type { Runtime } from "./runtime.ts";
import {
  BLOCK_MIGRATIONS,
  BLOCK_TABLES,
  freshBlock,
  type LoadedBlock,
  StaleMemory,
  saveBlock,
} from "./storage/block-rows.ts";
import { type Counters, Store } from "./storage/store.ts";

/** How long the alarm waits before it tries again what it could not do, ms. */
const ALARM_RETRY_MS = 5_000;

type Request<M extends keyof rpc.BlockPort> = Parameters<rpc.BlockPort[M]>[0];
type AnswerOf<M extends keyof rpc.BlockPort> = ReturnType<rpc.BlockPort[M]>;

export class BlockObject extends DurableObject<Env> implements rpc.BlockPort {
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #times: BlockTimes;
  readonly #lending: BlockLending;
  #loaded: LoadedBlock | undefined;
  #cidr: { readonly text: string; readonly cidr: Cidr } | undefined;
  #alarmAt: number | undefined;
  /** A report of figures is on its way. */
  #isAnnouncing = false;

  constructor(ctx: DurableObjectState, env: Env, runtime: Runtime = productionRuntime(env)) {
    super(ctx, env);
    this.#runtime = runtime;
    this.#times = runtime.settings;
    this.#lending = new BlockLending(runtime);
    this.#store = new Store(ctx.storage, BLOCK_MIGRATIONS, BLOCK_TABLES);
  }

  async claim(request: rpc.ClaimRequest): Promise<rpc.ClaimAnswer> {
    this.#store.countCall("claim");
    return this.#decide(request.block, (draft) => claim(draft, request));
  }

  async releaseAffinity(request: rpc.ReleaseAffinityRequest): Promise<rpc.ReleaseAffinityAnswer> {
    this.#store.countCall("releaseAffinity");
    return this.#decide(request.block, (draft) => {
      const answer = releaseAffinity(draft, request);
      this.#armRetire(draft, request.cooldownMs);
      return answer;
    });
  }

  async allocate(request: rpc.AllocateRequest): Promise<{ outcomes: rpc.AllocateOutcome[] }> {
    this.#store.countCall("allocate");
    const outcomes = this.#decide(request.block, (draft) =>
      allocateAll(draft, request.items, (decide) => alone(draft, decide)),
    );
    return { outcomes };
  }

  async undo(request: rpc.BlockTarget & rpc.UndoItem): Promise<rpc.UndoAnswer> {
    this.#store.countCall("undo");
    const undone = this.#decide(request.block, (draft) => {
      const putBack = undo(draft, request);
      // Nobody releases what was undone, so the last address of an ownerless block may go this way; the
      // alarm looks at the cooldown itself.
      this.#armRetire(draft, 0);
      return putBack;
    });
    return { undone };
  }

  async holds(request: rpc.HoldsRequest): Promise<rpc.HoldsAnswer> {
    this.#store.countCall("holds");
    return holds(this.#read(request.block), request);
  }

  async reuse(request: rpc.ReuseRequest): Promise<rpc.ReuseAnswer> {
    this.#store.countCall("reuse");
    return this.#decide(request.block, (draft) => reuse(draft, request));
  }

  async releaseHandle(request: rpc.ReleaseHandleRequest): Promise<rpc.ReleaseHandleAnswer> {
    this.#store.countCall("releaseHandle");
    const policy = { reserved: request.reserved ?? [], cooldownMs: request.cooldownMs };
    return { keys: this.#release(request.block, policy, (draft) => releaseHandle(draft, request)) };
  }

  async releaseHandles({ block, items }: Request<"releaseHandles">): AnswerOf<"releaseHandles"> {
    this.#store.countCall("releaseHandles");
    const last = items.at(-1);
    if (last === undefined) return { answers: [] };
    // Each says how long its own addresses cool; for the figures of the directory the last will do.
    const policy = { reserved: last.reserved ?? [], cooldownMs: last.cooldownMs };
    const answers = this.#release(block, policy, (draft) =>
      items.map((item) => ({ keys: releaseHandle(draft, item) })),
    );
    return { answers };
  }

  async releaseAddresses(request: rpc.ReleaseAddressesRequest): Promise<rpc.ReleaseAddressesAnswer> {
    this.#store.countCall("releaseAddresses");
    const policy = { reserved: request.reserved ?? [], cooldownMs: request.cooldownMs };
    const outcomes = this.#release(request.block, policy, (draft) =>
      releaseAddresses(draft, request.items, request.cooldownMs),
    );
    return { outcomes };
  }

  async updateOwners(request: rpc.UpdateOwnersRequest): Promise<rpc.UpdateOwnersAnswer> {
    this.#store.countCall("updateOwners");
    return this.#decide(request.block, (draft) => updateOwners(draft, request));
  }

  async changeOwner(request: rpc.ChangeOwnerRequest): Promise<rpc.ChangeOwnerAnswer> {
    this.#store.countCall("changeOwner");
    const policy = { reserved: request.reserved ?? [], cooldownMs: request.cooldownMs };
    return this.#release(request.block, policy, (draft) => changeOwner(draft, request));
  }

  async describe(request: rpc.DescribeRequest): Promise<rpc.BlockView> {
    this.#store.countCall("describe");
    return viewBlock(this.#read(request.block), request);
  }

  async inspect(request: rpc.InspectRequest): Promise<rpc.AddressInspection> {
    this.#store.countCall("inspect");
    return inspect(this.#read(request.block), request);
  }

  async audit(request: rpc.BlockAuditRequest): Promise<rpc.BlockAudit> {
    this.#store.countCall("audit");
    return auditBlock(this.#lookedAt(request), request, this.#runtime.now());
  }

  async holdings(request: rpc.HoldingsRequest): Promise<rpc.HoldingsAnswer> {
    this.#store.countCall("holdings");
    return holdings(this.#lookedAt(request), request);
  }

  async releaseLeaked(request: rpc.ReleaseLeakedRequest): Promise<rpc.ReleaseLeakedAnswer> {
    this.#store.countCall("releaseLeaked");
    const policy = { reserved: request.reserved ?? [], cooldownMs: request.cooldownMs };
    const { answers, over } = this.#release(request.block, policy, (draft) => {
      return { answers: releaseLeaked(draft, request), over: keysOver(draft) };
    });
    this.#tellSpent(request.block, over);
    return { answers };
  }

  /** Tells the Pool what it has not heard: which addresses are lent, and that the block has retired. */
  override async alarm(): Promise<void> {
    this.#store.countCall("alarm");
    this.#alarmAt = undefined;
    try {
      const known = this.#store.row<{ header: string }>("SELECT header FROM block WHERE id = 1");
      if (known === undefined) return;
      const { block } = JSON.parse(known.header) as { block: string };
      await this.#lending.tell(() => this.#read(block));
      const { header } = this.#read(block);
      if (this.#lending.owes(header)) await this.#armed(this.#runtime.now() + ALARM_RETRY_MS);
      if (header?.owner === undefined) await this.#retire(block);
    } catch {
      // The alarm must live on: the Pool waits for this block's word, and perhaps nobody else asks the block.
      // Where it cannot be armed the run has failed, and the platform repeats it.
      await this.#armed(this.#runtime.now() + ALARM_RETRY_MS);
    }
  }

  async counters(): Promise<Counters> {
    return this.#store.counters;
  }

  async #retire(block: string): Promise<void> {
    const leased = await this.#runtime.policy.current(this.#runtime.now());
    if (leased === undefined) return await this.#armed(this.#runtime.now() + ALARM_RETRY_MS);
    const cooldownMs = leased.policy.config.ipCooldownSeconds * 1000;
    const { epoch, header } = this.#decide(block, (draft) => {
      const told = retire(draft, cooldownMs);
      this.#armRetire(draft, cooldownMs);
      return { epoch: told, header: draft.header };
    });
    if (epoch === undefined || header === undefined) return;
    const { pool, poolCidr, incarnation } = header;
    const blockSize = this.#cidrOf(block).prefix;
    const port = this.#runtime.ports.pool(pool, incarnation);
    const word = { pool, incarnation, cidr: poolCidr, blockSize, block, epoch };
    const { settings } = this.#runtime;
    // An answer that never comes must not hold up the block's one alarm.
    const told = await callIdempotent(() => port.retired(word), {
      timeoutMs: settings.untilMs + settings.skewMs,
      sleep: (ms, signal) => this.#runtime.sleep(ms, signal),
    });
    invariant(told.kind === "answered", "the Pool has not heard that the block retired");
    this.#decide(block, (draft) => noteRetired(draft, epoch));
  }

  /** Runs a release; the owner, or the Pool, hears of it: at once when others may gain by it. */
  #release<T>(block: string, policy: rpc.BlockPolicy, release: (draft: BlockDraft) => T): T {
    const { answer, changes, draft } = this.#decideAndSave(block, (working) => {
      const before = countRoom(working, policy);
      const released = release(working);
      this.#armRetire(working, policy.cooldownMs);
      return { released, change: transition(before, countRoom(working, policy)) };
    });
    const { gainedRoom, emptied } = answer.change;
    if (gainedRoom || emptied) this.#announce(draft, block, countBlock(draft, policy));
    else if (changes.rows.length > 0) this.#announceSoon(block, policy);
    return answer.released;
  }

  /** One report stands for all releases until it is due: figures of a directory are no older. */
  #announceSoon(block: string, policy: rpc.BlockPolicy): void {
    if (this.#isAnnouncing) return;
    this.#isAnnouncing = true;
    const due = this.#runtime.sleep(this.#runtime.settings.reportMs).then(() => {
      this.#isAnnouncing = false;
      const draft = this.#read(block);
      this.#announce(draft, block, countBlock(draft, policy));
    });
    // An object that ends before owes a better guess, nothing else.
    due.catch(() => undefined);
  }

  /** Lets the directory know; losing it costs only a worse guess, so nobody waits. */
  #announce(draft: BlockDraft, block: string, counts: BlockCounts): void {
    const header = draft.header;
    if (header === undefined) return;
    const { pool, poolCidr: cidr, incarnation, owner } = header;
    const target = { pool, incarnation, cidr, blockSize: draft.cidr.prefix };
    const { ports } = this.#runtime;
    const told =
      owner === undefined
        ? ports.pool(pool, incarnation).report({ ...target, blocks: [{ block, counts }] })
        : ports.host(owner).blockChanged({ host: owner, block, counts });
    Promise.resolve(told).catch(() => undefined);
  }

  #decide<T>(block: string, decide: (draft: BlockDraft) => T): T {
    return this.#decideAndSave(block, decide).answer;
  }

  /** Reads, decides and writes in one transaction; memory follows what was stored. */
  #decideAndSave<T>(block: string, decide: (draft: BlockDraft) => T): Decision<T> {
    const now = this.#runtime.now();
    const { isLent, ...decision } = this.#transaction(() => this.#decideNow(block, now, decide));
    if (isLent) void this.#lending.tell(() => this.#read(block));
    const { changes, draft } = decision;
    const forgotten = changes.rows.flatMap(({ row, before }) =>
      forgottenKeys(before, row, draft.now, this.#times.spentKeyMs),
    );
    // What it still holds keeps the key alive: release by handle must go on finding that.
    const isOver = ({ handle, key }: KeyName) => traceKey(draft, handle, key).held.length === 0;
    if (forgotten.length > 0) this.#tellSpent(block, forgotten.filter(isOver));
    return decision;
  }

  #decideNow<T>(block: string, now: number, decide: (draft: BlockDraft) => T) {
    const { state } = this.#fresh(block);
    const draft = new BlockDraft(state, this.#cidrOf(block), now, this.#times);
    const answer = decide(draft);
    const isLent = noteBorrowed(draft);
    if (isLent) this.#arm(now + ALARM_RETRY_MS);
    const changes = draft.changes();
    const marks = saveBlock(this.#store, changes, this.#loaded);
    this.#loaded = { ...marks, state: applyChanges(state, changes) };
    return { answer, changes, draft, isLent };
  }

  /**
   * Tells the index what it would find out in its own time: which keys are spent. Why: the row of an address
   * that changes hands all the time cannot keep them all, and nobody repeats what the collector ended.
   */
  #tellSpent(block: string, keys: readonly KeyName[]): void {
    const { settings, ports } = this.#runtime;
    for (const [shard, ofShard] of Map.groupBy(keys, ({ handle }) => shardOf(handle, settings.indexShards))) {
      const items = ofShard.map(({ handle, key }) => {
        return { handle, key, block, until: 0, outcome: "released" } as const;
      });
      Promise.resolve(ports.handleIndexShard(shard).settle({ items })).catch(() => undefined);
    }
  }

  /**
   * Runs a decision, once more on what is stored if memory was behind it. What was decided, or armed,
   * in a transaction that failed is forgotten.
   */
  #transaction<T>(work: () => T): T {
    try {
      return this.#store.transaction(work);
    } catch (failure) {
      this.#forget();
      if (!(failure instanceof StaleMemory)) throw failure;
    }
    try {
      return this.#store.transaction(work);
    } catch (failure) {
      this.#forget();
      throw failure;
    }
  }

  #forget(): void {
    this.#loaded = undefined;
    this.#alarmAt = undefined;
  }

  /** The state in memory if storage has not moved on (an old instance may have lived on), else a new load. */
  #fresh(block: string): LoadedBlock {
    this.#loaded = freshBlock(this.#store, this.#loaded);
    const known = this.#loaded.state.header?.block ?? block;
    invariant(known === block, `this object is ${known}, not ${block}`);
    return this.#loaded;
  }

  #read(block: string): BlockDraft {
    return new BlockDraft(this.#fresh(block).state, this.#cidrOf(block), this.#runtime.now(), this.#times);
  }

  /** Reads what is stored, and sees that a block that is over retires. Why: its alarm may have been given up. */
  #lookedAt({ block, cooldownMs }: { readonly block: string; readonly cooldownMs: number }): BlockDraft {
    const draft = this.#read(block);
    this.#armRetire(draft, cooldownMs);
    return draft;
  }

  #cidrOf(block: string): Cidr {
    if (this.#cidr?.text !== block) {
      const parsed = parseCidr(block);
      invariant(parsed.ok, `${block} is no block`);
      this.#cidr = { text: block, cidr: parsed.value };
    }
    return this.#cidr.cidr;
  }

  /** Part of the same commit as the decision: a due time must not be lost between two writes. */
  #armRetire(draft: BlockDraft, cooldownMs: number): void {
    const due = retireDueAt(draft, cooldownMs);
    if (due === undefined) return;
    // After a wake nobody knows what the stored alarm is for: it may be for what the Pool has not heard.
    const isOwed = this.#alarmAt === undefined && this.#lending.owes(draft.header);
    this.#arm(isOwed ? Math.min(due, draft.now + ALARM_RETRY_MS) : due);
  }

  /** One alarm for all that is due: the earliest. Its handler finds out what is due. */
  #arm(due: number): void {
    // What could not be armed (replaced, or the disk is full) is armed by whoever writes next.
    this.#armed(due).catch(() => undefined);
  }

  async #armed(due: number): Promise<void> {
    if (this.#alarmAt !== undefined && this.#alarmAt <= due) return;
    this.#alarmAt = due;
    try {
      await this.ctx.storage.setAlarm(due);
    } catch (failure) {
      this.#alarmAt = undefined;
      throw failure;
    }
  }
}

interface Decision<T> {
  readonly answer: T;
  readonly changes: BlockChanges;
  readonly draft: BlockDraft;
}

/** One element's defect must not fail its neighbours. */
function alone(draft: BlockDraft, decide: () => Uncounted): Uncounted {
  try {
    return draft.attempt(decide);
  } catch (failure) {
    return { kind: "failed", message: failure instanceof Error ? failure.message : "defect" };
  }
}
