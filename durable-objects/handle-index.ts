/**
 * HandleIndexObject serialises the request keys of one shard of handles: which block each went to.
 * May import: core, rpc, platform. Rule: written before the block may hold, removed on its final answer.
 */
import { DurableObject } from "cloudflare:workers";
import { invariant } from "../src/core/invariant.ts";
import { cleanUp, type KeyChanges, type KeyRow, move, reserve, settle } from "../src/core/key-index.ts";
import { restore } from "../src/core/key-restore.ts";
import { callIdempotent, type EndSignal } from "../src/platform/call.ts";
import type * as rpc from "../src/rpc/handle-index.ts";
import { productionRuntime } from "./production.ts";
import type { Runtime } from "./runtime.ts";
import {
  HANDLE_INDEX_MIGRATIONS,
  rowOfKey,
  rowsAfter,
  rowsOfHandle,
  saveKeys,
} from "./storage/handle-index-rows.ts";
import { type Counters, Store } from "./storage/store.ts";

/** Rows that one slice of the clean-up looks at; bounds the calls of one event. */
const SLICE_ROWS = 256;
/** Pause between two slices of one pass, ms. */
const SLICE_PAUSE_MS = 1_000;
const BEGIN = { handle: "", key: "", block: "" };

/** What one item changes of its row. */
type Decide<T extends rpc.KeyPlace> = (row: KeyRow | undefined, item: T, now: number) => KeyChanges;

/** A call that waits for its commit. */
interface Grouped {
  readonly items: readonly rpc.ReserveItem[];
  readonly settle: (outcomes: rpc.ReserveOutcome[]) => void;
  readonly fail: (defect: unknown) => void;
}

export class HandleIndexObject extends DurableObject<Env> implements rpc.HandleIndexPort {
  readonly #store: Store;
  readonly #runtime: Runtime;
  /** Where the pass over old rows goes on; memory only: a new instance begins anew. */
  #place: { handle: string; key: string; block: string } = BEGIN;
  #writtenSincePass = true;
  #isArmed = false;
  #group: Grouped[] = [];
  #isCommitting = false;

  constructor(ctx: DurableObjectState, env: Env, runtime: Runtime = productionRuntime(env)) {
    super(ctx, env);
    this.#runtime = runtime;
    this.#store = new Store(ctx.storage, HANDLE_INDEX_MIGRATIONS);
  }

  async reserve(request: { items: readonly rpc.ReserveItem[] }): Promise<{ outcomes: rpc.ReserveOutcome[] }> {
    this.#store.countCall("reserve");
    this.#armPass();
    if (!this.#runtime.settings.syncBeforeGroup) return { outcomes: this.#reserve([request.items])[0] ?? [] };
    return { outcomes: await this.#inGroup(request.items) };
  }

  async move(request: rpc.MoveItem): Promise<rpc.MoveOutcome> {
    this.#store.countCall("move");
    const now = this.#runtime.now();
    return this.#store.transaction(() => {
      const decided = move(rowsOfHandle(this.#store, request.handle), request, now, this.#runtime.settings);
      saveKeys(this.#store, decided.changes);
      return decided.outcome;
    });
  }

  async list(request: { handle: string }): Promise<{ rows: KeyRow[] }> {
    this.#store.countCall("list");
    return { rows: this.#list(request.handle) };
  }

  async listMany(request: { handles: readonly string[] }): Promise<{ lists: KeyRow[][] }> {
    this.#store.countCall("listMany");
    return { lists: request.handles.map((handle) => this.#list(handle)) };
  }

  async settle(request: { items: readonly rpc.SettleItem[] }): Promise<{ changed: number }> {
    this.#store.countCall("settle");
    const changed = this.#settle(request.items);
    // A spent row waits for a pass to drop it, though nobody may reserve here any more.
    if (changed > 0) this.#armPass();
    return { changed };
  }

  async settleMany(request: {
    lots: readonly (readonly rpc.SettleItem[])[];
  }): Promise<{ changed: number[] }> {
    this.#store.countCall("settleMany");
    const changed = this.#store.transaction(() =>
      request.lots.map((items) => this.#changeNow(items, settle)),
    );
    if (changed.some((count) => count > 0)) this.#armPass();
    return { changed };
  }

  async page({ after = BEGIN, limit }: Parameters<rpc.HandleIndexPort["page"]>[0]) {
    this.#store.countCall("page");
    const found = rowsAfter(this.#store, after, limit);
    const last = found.at(-1);
    if (found.length < limit || last === undefined) return { rows: found };
    const { handle, key, block } = last;
    return { rows: found, next: { handle, key, block } };
  }

  async listed({ keys }: Parameters<rpc.HandleIndexPort["listed"]>[0]) {
    this.#store.countCall("listed");
    const rows = keys.map(({ handle, key, block }) => rowOfKey(this.#store, handle, key, block));
    return { keys: rows.map((row) => ({ state: row?.state ?? "missing", count: row?.count ?? 0 }) as const) };
  }

  async restore(request: Parameters<rpc.HandleIndexPort["restore"]>[0]): Promise<{ changed: number }> {
    this.#store.countCall("restore");
    const { settings } = this.#runtime;
    const changed = this.#change(request.items, (row, item, now) => restore(row, item, now, settings));
    if (changed > 0) this.#armPass();
    return { changed };
  }

  /** Passes over old rows, a bounded slice per alarm: release by address leaves its row to this. */
  override async alarm(): Promise<void> {
    this.#store.countCall("alarm");
    this.#isArmed = true;
    let pauseMs = SLICE_PAUSE_MS;
    try {
      const isPassOver = await this.#cleanSlice();
      if (isPassOver) {
        const goOn = this.#writtenSincePass;
        this.#writtenSincePass = false;
        this.#isArmed = goOn;
        if (!goOn) return;
        pauseMs = this.#runtime.settings.indexPassMs;
      }
    } catch {
      // A block that cannot be asked now is asked in the next pass; the alarm must live on.
      this.#writtenSincePass = true;
    }
    // Where it cannot be armed the run has failed, and the platform repeats it.
    await this.ctx.storage.setAlarm(this.#runtime.now() + pauseMs);
  }

  async counters(): Promise<Counters> {
    return this.#store.counters;
  }

  /** Decides several calls in one transaction, each call's elements in their order. */
  #reserve(calls: readonly (readonly rpc.ReserveItem[])[]): rpc.ReserveOutcome[][] {
    const now = this.#runtime.now();
    return this.#store.transaction(() =>
      calls.map((items) => items.map((item) => this.#reserveOne(item, now))),
    );
  }

  #reserveOne(item: rpc.ReserveItem, now: number): rpc.ReserveOutcome {
    const decided = reserve(rowsOfHandle(this.#store, item.handle), item, now, this.#runtime.settings);
    saveKeys(this.#store, decided.changes);
    return decided.outcome;
  }

  /**
   * Group commit: a call with no commit under way is written at once; those that arrive until it is on
   * disk are written together next. Why: a commit is one fsync, whatever it holds.
   */
  #inGroup(items: readonly rpc.ReserveItem[]): Promise<rpc.ReserveOutcome[]> {
    return new Promise((settle, fail) => {
      this.#group.push({ items, settle, fail });
      if (!this.#isCommitting) void this.#commitGroups();
    });
  }

  async #commitGroups(): Promise<void> {
    this.#isCommitting = true;
    try {
      while (this.#group.length > 0) {
        const group = this.#group;
        this.#group = [];
        this.#commit(group);
        await this.ctx.storage.sync();
      }
    } catch (failure) {
      // The disk failed: nobody who waits may be left without an answer.
      for (const { fail } of this.#group.splice(0)) fail(failure);
    } finally {
      this.#isCommitting = false;
    }
  }

  /** Where one call's defect fails the group, each call is decided alone. */
  #commit(group: readonly Grouped[]): void {
    try {
      const outcomes = this.#reserve(group.map(({ items }) => items));
      for (const [index, { settle }] of group.entries()) settle(outcomes[index] ?? []);
    } catch (defect) {
      if (group.length > 1) for (const call of group) this.#commit([call]);
      else group[0]?.fail(defect);
    }
  }

  #list(handle: string): KeyRow[] {
    return rowsOfHandle(this.#store, handle).filter((row) => row.state === "reserved");
  }

  #settle(items: readonly rpc.SettleItem[]): number {
    return this.#change(items, settle);
  }

  /** Changes rows, each decided by itself, in one transaction; returns how many changed. */
  #change<T extends rpc.KeyPlace>(items: readonly T[], decide: Decide<T>): number {
    return this.#store.transaction(() => this.#changeNow(items, decide));
  }

  /** The same inside a transaction. */
  #changeNow<T extends rpc.KeyPlace>(items: readonly T[], decide: Decide<T>): number {
    const now = this.#runtime.now();
    let changed = 0;
    for (const item of items) {
      const changes = decide(rowOfKey(this.#store, item.handle, item.key, item.block), item, now);
      saveKeys(this.#store, changes);
      changed += changes.put.length + changes.remove.length;
    }
    return changed;
  }

  /** Looks at the next rows; true when the pass has come to its end. */
  async #cleanSlice(): Promise<boolean> {
    const now = this.#runtime.now();
    const rows = rowsAfter(this.#store, this.#place, SLICE_ROWS);
    const last = rows.at(-1);
    this.#place = last === undefined || rows.length < SLICE_ROWS ? BEGIN : last;
    const verdicts = rows.map((row) => ({ row, verdict: cleanUp(row, now, this.#runtime.settings) }));
    const old = verdicts.filter(({ verdict }) => verdict === "drop").map(({ row }) => row);
    if (old.length > 0) this.#store.transaction(() => saveKeys(this.#store, { put: [], remove: old }));
    const asked = verdicts.filter(({ verdict }) => verdict === "ask").map(({ row }) => row);
    await Promise.all([...byBlock(asked)].map(([block, ofBlock]) => this.#ask(block, ofBlock)));
    return this.#place === BEGIN;
  }

  /** Asks a block whether it holds the keys; what it finally does not hold, or released, is settled. */
  async #ask(block: string, rows: readonly KeyRow[]): Promise<void> {
    const keys = rows.map(({ handle, key, until }) => ({ handle, key, finalAfter: until }));
    const { settings } = this.#runtime;
    // An answer that never comes must not hold up the shard's one alarm.
    const limit = {
      timeoutMs: settings.untilMs + settings.skewMs,
      sleep: (ms: number, signal: EndSignal) => this.#runtime.sleep(ms, signal),
    };
    const answer = await callIdempotent(() => this.#runtime.ports.block(block).holds({ block, keys }), limit);
    invariant(answer.kind === "answered", `${block} did not answer`);
    const { held } = answer.value;
    const settled = rows.flatMap(({ handle, key, until }, index): rpc.SettleItem[] => {
      const word = held[index];
      if (word === "released") return [{ handle, key, block, until, outcome: "released" }];
      return word === "not_held" ? [{ handle, key, block, until, outcome: "absent" }] : [];
    });
    // What is spent now, a later pass drops.
    if (settled.length > 0 && this.#settle(settled) > 0) this.#writtenSincePass = true;
  }

  /** Sees that an alarm is set; one that is set already stays. */
  #armPass(): void {
    this.#writtenSincePass = true;
    if (this.#isArmed) return;
    this.#isArmed = true;
    const due = this.#runtime.now() + this.#runtime.settings.indexPassMs;
    const armed = this.ctx.storage.getAlarm().then((alarmAt) => {
      return alarmAt === null ? this.ctx.storage.setAlarm(due) : undefined;
    });
    armed.catch(() => {
      this.#isArmed = false;
    });
  }
}

function byBlock(rows: readonly KeyRow[]): Map<string, KeyRow[]> {
  const grouped = new Map<string, KeyRow[]>();
  for (const row of rows) {
    const list = grouped.get(row.block) ?? [];
    list.push(row);
    grouped.set(row.block, list);
  }
  return grouped;
}
