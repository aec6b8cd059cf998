/**
 * Clients that allocate, assign, replay, read and release at random, from a printed seed.
 * May import: the recorder. Rule: clients share what they hold, so that they meet at addresses.
 */
import type { Allocate, Tenure } from "../../support/history.ts";
import { pause, type Recorder, type Wish } from "./recorder.ts";

export interface WorkloadOptions {
  readonly hosts: readonly string[];
  /** Hosts for which exact addresses are assigned: that claims blocks without regard to a cap. */
  readonly assigningHosts: readonly string[];
  /** Addresses that exact assignments pick from. */
  readonly addresses: readonly string[];
  readonly seed: number;
  /** How many keys clients like to hold altogether: above it they release more than they allocate. */
  readonly heldMax: number;
  /** Further fields of an allocation's body. */
  readonly bodyOf?: (host: string) => Readonly<Record<string, unknown>>;
  /** Every so many ms another half of the hosts allocates: blocks of the others run empty. */
  readonly shiftMs?: number;
}

/** How long a load runs: at least so long, and until it has met enough, at most so long. */
export interface Duration {
  readonly leastMs: number;
  readonly mostMs?: number;
  readonly isEnough?: () => boolean;
}

/** A key that holds something, as far as the clients know. */
interface Held {
  readonly wish: Wish;
  readonly got: readonly Tenure[];
}

/** How many of what was released is remembered, for replays and stale releases. */
const ENDED_MAX = 200;

/** Allocations of one client while a pool is filled. */
const FILL_MAX = 32;

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class Workload {
  readonly #recorder: Recorder;
  readonly #options: WorkloadOptions;
  readonly #random: () => number;
  readonly #held: Held[] = [];
  readonly #ended: Held[] = [];
  #count = 0;
  #beganAt = 0;

  constructor(recorder: Recorder, options: WorkloadOptions) {
    this.#recorder = recorder;
    this.#options = options;
    this.#random = randomFrom(options.seed);
  }

  /** Allocates with so many clients until the first refusal: the pool has no room left for somebody. */
  async fill(clients: number): Promise<void> {
    this.#beganAt = performance.now();
    let isRefused = false;
    const client = async (): Promise<void> => {
      for (let left = FILL_MAX; left > 0 && !isRefused; left -= 1) {
        const wish: Wish = { ...this.#name(this.#hostNow()), count: 2 };
        const answer = await this.#recorder.allocateSurely(wish);
        isRefused ||= answer.outcome === "refused";
        await this.#keep(wish, answer);
      }
    };
    await Promise.all(Array.from({ length: clients }, client));
  }

  /** Runs so many clients, each one request after the other, as long as it takes within bounds. */
  async run(clients: number, { leastMs, mostMs = leastMs, isEnough = () => true }: Duration): Promise<void> {
    this.#beganAt = performance.now();
    const goesOn = (): boolean => {
      const elapsedMs = performance.now() - this.#beganAt;
      return elapsedMs < leastMs || (elapsedMs < mostMs && !isEnough());
    };
    const client = async (): Promise<void> => {
      while (goesOn()) await this.#step();
    };
    await Promise.all(Array.from({ length: clients }, client));
  }

  async #step(): Promise<void> {
    const dice = this.#random();
    const isFull = this.#held.length >= this.#options.heldMax;
    if (dice < (isFull ? 0.2 : 0.42)) return await this.#allocate();
    if (dice < 0.5) return await this.#assign();
    if (dice < 0.56) return await this.#repeat(this.#pick(this.#held));
    if (dice < 0.59) return await this.#reuseKey();
    if (dice < 0.62) return await this.#repeat(this.#pick(this.#ended));
    if (dice < 0.68) return await this.#releaseStale();
    if (dice < 0.73) return await this.#read();
    if (dice < 0.88) return await this.#releaseHandle();
    return await this.#releaseAddresses();
  }

  async #allocate(): Promise<void> {
    const host = this.#hostNow();
    const wish: Wish = { ...this.#name(host), count: this.#random() < 0.8 ? 1 : 2 };
    // Now and then the same request is sent twice at once, as a client does that lost patience.
    const isDoubled = this.#random() < 0.05;
    const answers = await Promise.all(
      Array.from({ length: isDoubled ? 2 : 1 }, () => this.#recorder.allocateSurely(wish)),
    );
    for (const answer of answers.slice(0, 1)) await this.#keep(wish, answer);
  }

  async #assign(): Promise<void> {
    const host = this.#oneOf(this.#options.assigningHosts);
    const address = this.#oneOf(this.#options.addresses);
    if (host === undefined || address === undefined) return;
    const { more: _more, ...name } = this.#name(host);
    const wish: Wish = { ...name, address };
    await this.#keep(wish, await this.#recorder.allocateSurely(wish));
  }

  async #keep(wish: Wish, { outcome, got }: Allocate): Promise<void> {
    if (outcome === "ok" && got.length > 0) this.#held.push({ wish, got });
    else await pause(this.#random() * 20);
  }

  /** The same request again: with what was held it is a replay, with what was released it is spent. */
  async #repeat(known: Held | undefined): Promise<void> {
    if (known === undefined) return await pause(5);
    await this.#recorder.allocate(known.wish);
  }

  async #reuseKey(): Promise<void> {
    const known = this.#pick(this.#held);
    if (known === undefined) return await pause(5);
    const { count = 1, more } = known.wish;
    await this.#recorder.allocate({
      ...known.wish,
      count: count + 1,
      more: { ...more, attributes: { x: "y" } },
    });
  }

  async #read(): Promise<void> {
    const known = this.#pick(this.#random() < 0.7 ? this.#held : this.#ended);
    if (known !== undefined) await this.#recorder.read(known.wish.handle);
  }

  async #releaseHandle(): Promise<void> {
    const known = this.#takeToEnd();
    if (known === undefined) return await pause(5);
    await this.#untilKnown(() => this.#recorder.release({ handle: known.wish.handle }));
  }

  /** Each address by itself, guarded by number, by handle, or by both. */
  async #releaseAddresses(): Promise<void> {
    const known = this.#takeToEnd();
    if (known === undefined) return await pause(5);
    for (const { address, handle, sequenceNumber } of known.got) {
      const dice = this.#random();
      const guard = dice < 0.4 ? { sequenceNumber } : dice < 0.7 ? { handle } : { handle, sequenceNumber };
      await this.#untilKnown(() => this.#recorder.release({ address, ...guard }));
    }
  }

  /** A release that comes too late: its address may belong to another by now. */
  async #releaseStale(): Promise<void> {
    const stale = this.#oneOf(this.#pick(this.#ended)?.got ?? []);
    if (stale === undefined) return await pause(5);
    const { address, handle, sequenceNumber } = stale;
    const guard = this.#random() < 0.5 ? { sequenceNumber } : { handle };
    await this.#recorder.release({ address, ...guard });
  }

  /** A guarded release may be repeated, so it is, until its outcome is known. */
  async #untilKnown(release: () => Promise<{ readonly outcome: string }>): Promise<void> {
    for (let left = 40; left > 0; left -= 1) {
      if ((await release()).outcome !== "unknown") return;
      await pause(150);
    }
  }

  /** Takes a key out of what is held; now and then it is left there, and a second client releases it too. */
  #takeToEnd(): Held | undefined {
    const index = Math.floor(this.#random() * this.#held.length);
    const isShared = this.#random() < 0.1;
    const known = isShared ? this.#held[index] : this.#held.splice(index, 1)[0];
    if (known !== undefined) this.#ended.push(known);
    if (this.#ended.length > ENDED_MAX) this.#ended.shift();
    return known;
  }

  /** A new key; the handle is new, or one that was released before. */
  #name(host: string): Wish {
    this.#count += 1;
    const former = this.#random() < 0.15 ? this.#pick(this.#ended)?.wish.handle : undefined;
    const handle = former ?? `load.${this.#count}`;
    const more = this.#options.bodyOf?.(host);
    return { host, handle, key: `key-${this.#count}-load`, ...(more === undefined ? {} : { more }) };
  }

  #hostNow(): string {
    const { hosts, shiftMs } = this.#options;
    const half = Math.ceil(hosts.length / 2);
    const turn = shiftMs === undefined ? 0 : Math.floor((performance.now() - this.#beganAt) / shiftMs);
    const among = shiftMs === undefined ? hosts : turn % 2 === 0 ? hosts.slice(0, half) : hosts.slice(-half);
    const host = this.#oneOf(among);
    if (host === undefined) throw new Error("a workload needs hosts");
    return host;
  }

  #pick(among: readonly Held[]): Held | undefined {
    return this.#oneOf(among);
  }

  #oneOf<T>(among: readonly T[]): T | undefined {
    return among[Math.floor(this.#random() * among.length)];
  }
}
