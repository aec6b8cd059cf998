/**
 * Clients that allocate, assign, replay, read and release at random while the service is killed.
 * May import: the recorder. Rule: clients share what they hold; some give up what has no known outcome.
 */
import { pause, type Recorder, type Wish } from "../http/load/recorder.ts";
import type { Allocate, Tenure } from "../support/history.ts";
import { capOf, type Ground, LIMITED, MOVING } from "./ground.ts";

/** A key that holds something, as far as the clients know. */
interface Held {
  readonly wish: Wish;
  readonly got: readonly Tenure[];
}

/** How many of what was released is remembered, for replays and stale releases. */
const ENDED_MAX = 300;
/** How often a client asks again for an outcome, and how often one does that soon gives up. */
const TRIES = 60;
const FEW_TRIES = 1;
const AGAIN_MS = 150;
const BATCH = 4;
/** Above this share of the pool clients release more than they allocate. */
const HELD_SHARE = 0.7;

type Step = readonly [weight: number, weightWhenFull: number, step: () => Promise<unknown>];

export class CrashLoad {
  readonly #recorder: Recorder;
  readonly #ground: Ground;
  readonly #random: () => number;
  readonly #held: Held[] = [];
  readonly #ended: Held[] = [];
  /** Wishes that nobody asks for any more, whatever became of them. */
  readonly #givenUp: Wish[] = [];
  readonly #steps: readonly Step[];
  #count = 0;
  /** Whether the pool that is drained and made again serves, as far as the clients know. */
  isMovingOpen = true;

  constructor(recorder: Recorder, ground: Ground, random: () => number) {
    this.#recorder = recorder;
    this.#ground = ground;
    this.#random = random;
    this.#steps = [
      [26, 10, () => this.#allocate()],
      [4, 1, () => this.#allocateBatch()],
      [8, 8, () => this.#allocateLimited()],
      [6, 3, () => this.#assign()],
      [5, 5, () => this.#repeat(this.#oneOf(this.#held))],
      [2, 2, () => this.#reuseKey()],
      [3, 3, () => this.#repeat(this.#oneOf(this.#ended))],
      [6, 6, () => this.#releaseStale()],
      [5, 5, () => this.#read()],
      [10, 20, () => this.#releaseHandle()],
      [8, 14, () => this.#releaseAddresses()],
      [3, 6, () => this.#releaseList()],
      [1, 1, () => this.#releaseGivenUp()],
    ];
  }

  /** One client: one request after the other until it is over. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) await this.#step();
  }

  /** Releases whatever the clients hold in a range. */
  async vacate(isInside: (address: string) => boolean): Promise<void> {
    const inside = this.#held.filter(({ got }) => got.some(({ address }) => isInside(address)));
    const leave = async (known: Held): Promise<void> => {
      this.#end(known);
      await this.#untilKnown(() => this.#recorder.release({ handle: known.wish.handle }));
    };
    await Promise.all(inside.map(leave));
  }

  async #step(): Promise<unknown> {
    const column = this.#held.length > this.#ground.capacity * HELD_SHARE ? 1 : 0;
    let left = this.#random() * this.#steps.reduce((sum, step) => sum + step[column], 0);
    for (const step of this.#steps) {
      left -= step[column];
      if (left < 0) return await step[2]();
    }
    return undefined;
  }

  /** One address mostly; both families, some of one, part of what is asked for, from the other pool. */
  #more(host: string): Wish["more"] {
    const cap = capOf(this.#ground, host);
    const dice = this.#random();
    if (dice < 0.5) return cap;
    if (dice < 0.7) return { ...cap, ipv6: { count: 1 } };
    if (dice < 0.76) return { ...cap, ipv6: { count: 1 }, partial: true };
    if (dice < 0.82) return { ...cap, ipv4: { count: 0 }, ipv6: { count: 2 } };
    if (dice < 0.88) return { ...cap, ipv4: { count: 3 } };
    const pools = this.isMovingOpen || dice < 0.9 ? [MOVING.name] : ["wide"];
    return { ...cap, ipv4: { count: 1, pools } };
  }

  async #allocate(): Promise<void> {
    const host = this.#host();
    const wish: Wish = { ...this.#name(host), more: this.#more(host) ?? {} };
    // Now and then the same request is sent twice at once, as a client does that lost patience.
    const copies = this.#random() < 0.05 ? 2 : 1;
    const answers = await Promise.all(Array.from({ length: copies }, () => this.#surely(wish)));
    await this.#keep(wish, answers[0]);
  }

  /** What has no outcome is asked for again one by one: a batch's key is that of a request of its own. */
  async #allocateBatch(): Promise<void> {
    const host = this.#host();
    const wishes = Array.from({ length: BATCH }, () => ({
      ...this.#name(host),
      more: capOf(this.#ground, host),
    }));
    const answers = await this.#recorder.allocateBatch(host, wishes);
    for (const [index, wish] of wishes.entries()) {
      const answer = answers[index];
      await this.#keep(wish, answer?.outcome === "unknown" ? await this.#surely(wish) : answer);
    }
  }

  /** Any host may ask for the handle; what it holds is told, and now and then given back. */
  async #allocateLimited(): Promise<void> {
    const { handle, maxPerHandle } = this.#oneOf(LIMITED) ?? LIMITED[0]!;
    const isDual = maxPerHandle > 1 && this.#random() < 0.5;
    const host = this.#host();
    const more = { ...capOf(this.#ground, host), maxPerHandle, ...(isDual ? { ipv6: { count: 1 } } : {}) };
    const wish: Wish = { ...this.#name(host), handle, more };
    const { got } = await this.#surely(wish);
    const dice = this.#random();
    if (dice < 0.1) await this.#recorder.release({ handle });
    for (const { address, sequenceNumber } of dice < 0.5 ? got : []) {
      await this.#untilKnown(() => this.#recorder.release({ address, sequenceNumber }));
    }
  }

  async #assign(): Promise<void> {
    const { hosts, capped, capacity, addressAt } = this.#ground;
    const host = this.#oneOf(hosts.filter((name) => !capped.has(name))) ?? "";
    const address = addressAt(Math.floor(this.#random() * capacity));
    const wish: Wish = { ...this.#name(host), handle: `exact.${this.#count}`, address };
    await this.#keep(wish, await this.#surely(wish));
  }

  async #keep(wish: Wish, answer: Allocate | undefined): Promise<void> {
    if (answer?.outcome === "ok" && answer.got.length > 0) this.#held.push({ wish, got: answer.got });
    else if (answer?.outcome === "unknown") this.#givenUp.push(wish);
    else await pause(this.#random() * 20);
  }

  /** The same request again: with what was held it is a replay, with what was released it is spent. */
  async #repeat(known: Held | undefined): Promise<void> {
    if (known !== undefined) await this.#recorder.allocate(known.wish);
  }

  async #reuseKey(): Promise<void> {
    const known = this.#oneOf(this.#held.filter(({ wish }) => wish.address === undefined));
    if (known === undefined) return;
    await this.#recorder.allocate({ ...known.wish, more: { ...known.wish.more, attributes: { x: "y" } } });
  }

  async #read(): Promise<void> {
    const known = this.#oneOf(this.#random() < 0.7 ? this.#held : this.#ended);
    if (known !== undefined) await this.#recorder.read(known.wish.handle);
  }

  async #releaseHandle(): Promise<void> {
    const known = this.#takeToEnd();
    if (known !== undefined) {
      await this.#untilKnown(() => this.#recorder.release({ handle: known.wish.handle }));
    }
  }

  /** Each address by itself, guarded by number, by handle, or by both. */
  async #releaseAddresses(): Promise<void> {
    for (const { address, handle, sequenceNumber } of this.#takeToEnd()?.got ?? []) {
      const dice = this.#random();
      const guard = dice < 0.4 ? { sequenceNumber } : dice < 0.7 ? { handle } : { handle, sequenceNumber };
      await this.#untilKnown(() => this.#recorder.release({ address, ...guard }));
    }
  }

  async #releaseList(): Promise<void> {
    const got = [this.#takeToEnd(), this.#takeToEnd()].flatMap((known) => known?.got ?? []);
    const wishes = got.map(({ address, handle, sequenceNumber }) => ({ address, handle, sequenceNumber }));
    if (wishes.length === 0) return;
    await this.#untilKnown(async () => {
      const [first] = await this.#recorder.releaseAddresses(wishes);
      return first ?? { outcome: "ok" };
    });
  }

  /** A release that comes too late: its address may belong to another by now. */
  async #releaseStale(): Promise<void> {
    const stale = this.#oneOf(this.#oneOf(this.#ended)?.got ?? []);
    if (stale === undefined) return;
    const { address, handle, sequenceNumber } = stale;
    await this.#recorder.release({ address, ...(this.#random() < 0.5 ? { sequenceNumber } : { handle }) });
  }

  async #releaseGivenUp(): Promise<void> {
    const [wish] = this.#givenUp.splice(0, 1);
    if (wish !== undefined) await this.#recorder.release({ handle: wish.handle });
  }

  /** Asks until there is an outcome; one client in ten soon gives up. */
  async #surely(wish: Wish): Promise<Allocate> {
    return await this.#recorder.allocateSurely(wish, this.#random() < 0.1 ? FEW_TRIES : TRIES);
  }

  /** A guarded release may be repeated, so it is, until its outcome is known. */
  async #untilKnown(release: () => Promise<{ readonly outcome: string }>): Promise<void> {
    for (let left = this.#random() < 0.1 ? FEW_TRIES : TRIES; left > 0; left -= 1) {
      if ((await release()).outcome !== "unknown") return;
      await pause(AGAIN_MS);
    }
  }

  /** Takes a key out of what is held; now and then it stays there, and a second client releases it too. */
  #takeToEnd(): Held | undefined {
    const known = this.#oneOf(this.#held);
    if (known !== undefined) this.#end(known, this.#random() < 0.1);
    return known;
  }

  #end(known: Held, isShared = false): void {
    if (!isShared && this.#held.includes(known)) this.#held.splice(this.#held.indexOf(known), 1);
    this.#ended.push(known);
    if (this.#ended.length > ENDED_MAX) this.#ended.shift();
  }

  /** A new key; the handle is new, or one that was released before. */
  #name(host: string): Wish {
    this.#count += 1;
    const former = this.#random() < 0.15 ? this.#oneOf(this.#ended)?.wish.handle : undefined;
    return { host, handle: former ?? `load.${this.#count}`, key: `key-${this.#count}-crash` };
  }

  #host(): string {
    return this.#oneOf(this.#ground.hosts) ?? "";
  }

  #oneOf<T>(among: readonly T[]): T | undefined {
    return among[Math.floor(this.#random() * among.length)];
  }
}
