/**
 * What a host holds in each block, by the blocks' own word, as read last.
 * May import: core, rpc, storage. Rule: nothing is released of a block that was not read in the same audit.
 */
import type { LeakSubject } from "../src/core/leak-subject.ts";
import type { HoldingsAnswer } from "../src/rpc/block.ts";
import { again, type HostContext } from "./host-context.ts";
import { readLeft } from "./storage/host-rows.ts";

/** One block as it was read. Units: `askedAt` in milliseconds since 1970, by the Host's clock. */
export interface Holding {
  readonly block: string;
  readonly answer: HoldingsAnswer;
  readonly subjects: readonly LeakSubject[];
  readonly askedAt: number;
  /** Since when it was read without an address of this host, with nothing on the way to it. */
  readonly vacantSince?: number;
}

/** How long a reading is good where the host does nothing with the block, ms. */
const GOOD_MS = 600_000;
/** Blocks that are asked at a time. */
const LOT = 16;

export class HostHoldings {
  readonly #host: HostContext;
  readonly #known = new Map<string, Holding>();
  /** Blocks of which something was released, or that told of an address that is not known here. */
  readonly #touched = new Set<string>();

  constructor(host: HostContext) {
    this.#host = host;
  }

  /** All blocks in which the host has, or may have, an address. */
  blocks(): string[] {
    const { memory, store } = this.#host;
    return [...new Set([...memory.affinities.keys(), ...memory.borrowed, ...readLeft(store)])];
  }

  get(block: string): Holding | undefined {
    return this.#known.get(block);
  }

  /** Readings of the blocks that are the host's now. */
  all(): Holding[] {
    return this.blocks().flatMap((block) => this.#known.get(block) ?? []);
  }

  /** The block is to be read again. */
  touch(block: string): void {
    this.#touched.add(block);
  }

  /** The block has released these: they are not counted any more, even before it is read again. */
  released(block: string, addresses: ReadonlySet<string>): void {
    const holding = this.#known.get(block);
    if (holding === undefined) return;
    const subjects = holding.subjects.filter(({ address }) => !addresses.has(address));
    const own = holding.answer.own - (holding.subjects.length - subjects.length);
    this.#known.set(block, { ...holding, subjects, answer: { ...holding.answer, own } });
  }

  /** Whether a reading still tells what the host holds there; what others do in the block does not matter. */
  isGood(block: string): boolean {
    const holding = this.#known.get(block);
    if (holding === undefined || this.#touched.has(block)) return false;
    const { memory, runtime } = this.#host;
    const age = runtime.now() - holding.askedAt;
    if (age < 0 || age > GOOD_MS || memory.isVisited(block)) return false;
    return (memory.hint(block)?.seenAt ?? 0) < holding.askedAt;
  }

  /** Reads blocks; returns those that did not answer. */
  async read(host: string, blocks: readonly string[], cooldownMs: number): Promise<string[]> {
    const silent: string[] = [];
    for (let begin = 0; begin < blocks.length; begin += LOT) {
      const lot = blocks.slice(begin, begin + LOT).map(async (block) => {
        if (!(await this.#ask(host, block, cooldownMs))) silent.push(block);
      });
      await Promise.all(lot);
    }
    return silent;
  }

  /** Forgets readings of blocks that are not the host's any more. */
  prune(): void {
    const blocks = new Set(this.blocks());
    for (const block of this.#known.keys()) if (!blocks.has(block)) this.#known.delete(block);
    for (const block of this.#touched) if (!blocks.has(block)) this.#touched.delete(block);
  }

  async #ask(host: string, block: string, cooldownMs: number): Promise<boolean> {
    const { runtime, memory } = this.#host;
    const askedAt = runtime.now();
    const before = this.#known.get(block);
    const wasTouched = this.#touched.delete(block);
    const wasVisited = memory.isVisited(block);
    const known = before === undefined ? {} : { ifNumber: before.answer.number };
    const question = { block, host, cooldownMs, ...known };
    const said = await again(this.#host, () => runtime.ports.block(block).holdings(question));
    const answer = said.kind === "answered" ? said.value : undefined;
    const subjects = answer?.subjects ?? before?.subjects;
    if (answer === undefined || subjects === undefined) {
      if (wasTouched) this.#touched.add(block);
      return false;
    }
    const isVacant = answer.own === 0 && !wasVisited && !memory.isVisited(block);
    const seenAt = memory.hint(block)?.seenAt ?? 0;
    const isSame = before?.vacantSince !== undefined && seenAt < before.vacantSince;
    const vacantSince = isSame ? before.vacantSince : askedAt;
    this.#known.set(block, { block, answer, subjects, askedAt, ...(isVacant ? { vacantSince } : {}) });
    return true;
  }
}
