/**
 * The removal of a host: it gets nothing any more, and gives its blocks back in slices; addresses stay.
 * May import: core, rpc, platform, storage. Rule: a step stops when the host has registered again.
 */
import type { LeakKind } from "../src/core/leak-subject.ts";
import type { Author } from "../src/rpc/cluster.ts";
import type { Kept } from "../src/rpc/host.ts";
import type { LeasedPolicy } from "../src/rpc/policy-source.ts";
import type { HostAffinities } from "./host-affinities.ts";
import { targetOf } from "./host-confirmations.ts";
import { again, type HostContext, once } from "./host-context.ts";
import { dropBorrowed, forgetCollected } from "./storage/host-leak-rows.ts";
import {
  type Affinity,
  dropLeft,
  forgetLeft,
  noteLeft,
  type Registration,
  readAffinities,
  readAffinity,
  readLeft,
  readRegistration,
  saveRegistration,
} from "./storage/host-rows.ts";

/** Rows of one slice: each takes three calls at most, and one event has 900. */
const SLICE_ROWS = 128;
/** Rows, or blocks, that are asked at a time. */
const LOT = 16;
/** Blocks asked for the addresses that are left, at a time; those asked longest ago come first. */
const LEFT_MAX = 256;
/** How soon the alarm looks again: while rows are left, and while only addresses are, ms. */
const SOON_MS = 100;
const RETRY_MS = 5_000;
const LEFT_PAUSE_MS = 600_000;

/** Handles that are named of those whose addresses no collector releases. */
const NAMED_MAX = 8;

/** What a removed host still has. `isExact`: every block has answered. `hasMore`: some have not been asked yet. */
export interface Left {
  readonly allocations: number;
  /** Of these, what nobody but a caller ever releases, with some of its handles. */
  readonly kept: Kept;
  readonly isExact: boolean;
  readonly hasMore: boolean;
}

const NOTHING_LEFT: Left = {
  allocations: 0,
  kept: { addresses: 0, handles: [] },
  isExact: true,
  hasMore: false,
};

/** What one block has of the host. */
interface Held {
  readonly count: number;
  readonly kept: Kept;
}

export class HostRemoval {
  readonly #host: HostContext;
  readonly #affinities: HostAffinities;
  readonly #arm: (at: number) => void;
  /** What Cluster's directory has heard of the removal. */
  #told: { readonly revision: number; readonly kept?: Kept } | undefined;
  /** Which addresses of the host each block had when it was asked last. */
  readonly #counts = new Map<string, Held & { readonly askedAt: number }>();

  constructor(host: HostContext, affinities: HostAffinities, arm: (at: number) => void) {
    this.#host = host;
    this.#affinities = affinities;
    this.#arm = arm;
  }

  /** Declares the host gone, or goes on with it. Absent: it is not registered, or its removal is over. */
  begin({ host, author }: { host: string; author?: Author }): Registration | undefined {
    const { store, memory, runtime } = this.#host;
    const now = runtime.now();
    const begun = store.transaction(() => {
      const current = readRegistration(store);
      if (current === undefined || current.gone?.isOver === true) return undefined;
      this.#arm(now + SOON_MS);
      if (current.gone !== undefined) return current;
      const { generation, revision } = current;
      const next: Registration = {
        ...current,
        revision: revision + 1,
        gone: { since: now, generation, host, ...(author === undefined ? {} : { author }) },
      };
      saveRegistration(store, next);
      for (const { block } of readAffinities(store)) noteLeft(store, block);
      return next;
    });
    if (begun !== undefined) memory.registration = begun;
    return begun;
  }

  /** After a wake nobody knows whether the alarm is set: whoever looks at a removed host sees to it. */
  wake(): void {
    this.#arm(this.#host.runtime.now() + SOON_MS);
  }

  /** One slice, from the alarm; returns the pause until the next, or nothing when there is none. */
  async slice(): Promise<number | undefined> {
    const { memory, runtime, store } = this.#host;
    const name = memory.registration?.gone?.host;
    if (name === undefined || !memory.isRemoving) return undefined;
    await this.#tell(name);
    const leased = await runtime.policy.current(runtime.now());
    if (leased === undefined) return RETRY_MS;
    const rows = readAffinities(store).slice(0, SLICE_ROWS);
    await this.#eachLot(rows, (row) => this.#giveBack(row, name, leased));
    if (!memory.isRemoving) return undefined;
    const left = readAffinities(store).length;
    if (left > 0) return left < rows.length ? SOON_MS : RETRY_MS;
    // A message from before the removal may still arrive at a block in which the host has borrowed.
    const early = this.#lastArrivalAt() - runtime.now();
    if (early > 0) return early;
    const { allocations, kept, isExact, hasMore } = await this.left();
    if (hasMore) return SOON_MS;
    await this.#tell(name, kept);
    if (allocations > 0 || !isExact) return LEFT_PAUSE_MS;
    return (await this.#finish(name)) ? undefined : RETRY_MS;
  }

  /**
   * Counts the addresses of the host in the blocks that it had, or borrowed in. A block without any is
   * forgotten, once nothing from before the removal can arrive there.
   */
  async left(): Promise<Left> {
    const { memory, store, runtime } = this.#host;
    const name = memory.registration?.gone?.host;
    if (name === undefined) return NOTHING_LEFT;
    const isLast = runtime.now() >= this.#lastArrivalAt();
    const known = [...new Set([...readLeft(store), ...memory.borrowed])];
    const age = (block: string) => this.#counts.get(block)?.askedAt ?? 0;
    const asked = known.toSorted((one, other) => age(one) - age(other)).slice(0, LEFT_MAX);
    const silent: string[] = [];
    await this.#eachLot(asked, async (block) => {
      const askedAt = runtime.now();
      const held = await this.#heldIn(block, name);
      if (held === undefined) silent.push(block);
      else this.#counts.set(block, { ...held, askedAt });
    });
    const isDone = (block: string) => this.#counts.get(block)?.count === 0 && !silent.includes(block);
    const done = asked.filter((block) => isLast && isDone(block) && !memory.affinities.has(block));
    const isGone = store.transaction(() => {
      if (readRegistration(store)?.gone === undefined) return false;
      for (const block of done) {
        dropLeft(store, block);
        dropBorrowed(store, block);
      }
      return true;
    });
    for (const block of isGone ? done : []) memory.borrowed.delete(block);
    const left = known.filter((block) => !done.includes(block));
    const unasked = left.filter((block) => !this.#counts.has(block) && !silent.includes(block));
    const held = known.flatMap((block) => this.#counts.get(block) ?? []);
    const handles = new Set(held.flatMap(({ kept }) => kept.handles));
    return {
      allocations: held.reduce((sum, { count }) => sum + count, 0),
      kept: {
        addresses: held.reduce((sum, { kept }) => sum + kept.addresses, 0),
        handles: [...handles].sort().slice(0, NAMED_MAX),
      },
      isExact: unasked.length === 0 && silent.length === 0,
      hasMore: known.length > asked.length && (unasked.length > 0 || done.length > 0),
    };
  }

  #lastArrivalAt(): number {
    const { untilMs, skewMs } = this.#host.runtime.settings;
    return (this.#host.memory.registration?.gone?.since ?? 0) + untilMs + 2 * skewMs;
  }

  async #heldIn(block: string, host: string): Promise<Held | undefined> {
    const question = { block, policy: { reserved: [], cooldownMs: 0 }, records: "all", bare: true } as const;
    const answer = await again(this.#host, () => this.#host.runtime.ports.block(block).describe(question));
    if (answer.kind !== "answered") return undefined;
    const { records, kinds = [] } = answer.value;
    const isOurs = (place: number) => records[place]?.host === host && records[place]?.state === "allocated";
    const places = [...records.keys()].filter(isOurs);
    const kept = places.filter((place) => this.#isKept(kinds[place]));
    const handles = new Set(kept.flatMap((place) => records[place]?.handle ?? []));
    const named = [...handles].sort().slice(0, NAMED_MAX);
    return { count: places.length, kept: { addresses: kept.length, handles: named } };
  }

  /** Whether no collector releases what is of that kind; a machine is released only where a cluster is asked. */
  #isKept(kind: LeakKind | undefined): boolean {
    if (kind === undefined || kind === "workload" || kind === "tunnel") return false;
    return kind !== "vm" || this.#host.runtime.cluster === undefined;
  }

  /** A fresh epoch, then the row as it was seen, and only while the host is gone (F31). */
  async #giveBack(row: Affinity, owner: string, leased: LeasedPolicy): Promise<void> {
    const { runtime, store, memory } = this.#host;
    const generation = memory.registration?.gone?.generation;
    const target = targetOf(row);
    const { block } = row;
    const isOver = !leased.policy.pools.some(({ definition }) => {
      return definition.name === row.pool && definition.incarnation === row.incarnation;
    });
    if (isOver && row.state !== "confirmed") {
      await this.#affinities.recover(row, owner, leased);
      return;
    }
    const port = () => runtime.ports.pool(target.pool, target.incarnation);
    const fresh = await once(this.#host, () => port().fresh({ ...target, owner, block }));
    if (fresh.kind !== "answered") return;
    if (fresh.value.kind === "other") return this.#affinities.forget(row);
    const isStill = (): boolean => {
      const { gone } = readRegistration(store) ?? {};
      const current = readAffinity(store, block);
      return gone !== undefined && gone.generation === generation && current?.epoch === row.epoch;
    };
    const cooldownMs = leased.policy.config.ipCooldownSeconds * 1000;
    const { epoch } = fresh.value;
    const order = { owner, target, block, epoch, mustBeEmpty: false, cooldownMs, onlyIf: isStill };
    await this.#affinities.release(order);
  }

  /**
   * Cluster's directory says that the host is being removed, and what that waits for; losing it costs a wrong
   * count, or a warning, until the next slice.
   */
  async #tell(host: string, kept?: Kept): Promise<void> {
    const { memory, runtime } = this.#host;
    const { registration } = memory;
    if (registration === undefined) return;
    const { labels, revision, gone } = registration;
    if (this.#told?.revision === revision && (kept === undefined || isSame(kept, this.#told.kept))) return;
    const author = gone?.author === undefined ? {} : { author: gone.author };
    const held = kept === undefined ? {} : { kept };
    const entry = { host, registered: true, removing: true, labels, revision, ...held, ...author };
    const told = await again(this.#host, () => runtime.ports.cluster().enrol(entry));
    if (told.kind === "answered") this.#told = { revision, ...held };
  }

  /** Nothing is left: Cluster's directory follows, then the host is forgotten, but for its incarnations. */
  async #finish(host: string): Promise<boolean> {
    const { store, memory, runtime } = this.#host;
    const { registration } = memory;
    if (registration?.gone === undefined) return true;
    const revision = registration.revision + 1;
    const entry = { host, registered: false, labels: {}, revision };
    const told = await again(this.#host, () => runtime.ports.cluster().enrol(entry));
    if (told.kind !== "answered") return false;
    const over = store.transaction(() => {
      const current = readRegistration(store);
      if (current?.gone === undefined || current.revision !== registration.revision) return undefined;
      const next: Registration = { ...current, revision, gone: { ...current.gone, isOver: true } };
      saveRegistration(store, next);
      forgetLeft(store);
      forgetCollected(store);
      return next;
    });
    if (over !== undefined) memory.registration = over;
    return true;
  }

  /** One row's defect does not stop the others; it is met again in the next slice. */
  async #eachLot<T>(items: readonly T[], step: (item: T) => Promise<void>): Promise<void> {
    for (let begin = 0; begin < items.length; begin += LOT) {
      await Promise.allSettled(items.slice(begin, begin + LOT).map(step));
    }
  }
}

function isSame(kept: Kept, told: Kept | undefined): boolean {
  return JSON.stringify(kept) === JSON.stringify(told);
}
