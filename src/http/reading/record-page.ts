/**
 * One page of records, read from blocks in the order of addresses, a bounded part of a block at a time.
 * May import: core, rpc and http. Rule: what one message, or one answer, cannot hold comes with the next page.
 */
import { type Address, formatAddress, parseAddress } from "../../core/address.ts";
import { type AddressRecord, charactersOf } from "../../core/allocation.ts";
import { containsAddress, lastAddress } from "../../core/cidr.ts";
import { invariant } from "../../core/invariant.ts";
import type { BlockPolicy, BlockView, DescribeRequest } from "../../rpc/block.ts";
import { mapBounded } from "../concurrency.ts";
import type { Call } from "../operation.ts";
import { storedCidr } from "./policy.ts";

/** Characters of the records of one page: what a Worker holds several times while it answers. */
const PAGE_CHARACTERS_MAX = 16 * 1024 * 1024;
/** Characters of the records of one message: each takes two bytes at most, a message 32 MiB. */
const PART_CHARACTERS_MAX = 8 * 1024 * 1024;

/** What is read. */
export interface Reading {
  readonly records: Exclude<DescribeRequest["records"], undefined>;
  /** Undefined: the block is of no pool any more, and tells nothing. */
  policyOf(block: string): BlockPolicy | undefined;
  isWanted(record: AddressRecord): boolean;
  /** The last address of the page before. */
  readonly after?: string | undefined;
  /** Items of the page. */
  readonly limit: number;
  /** Questions to blocks, at most; one block that was begun may take one more. */
  readonly asksMax: number;
}

export class RecordPage {
  readonly items: AddressRecord[] = [];
  readonly #call: Call;
  readonly #reading: Reading;
  readonly #after: Address | undefined;
  #asks = 0;
  #characters = 0;
  #isFull = false;
  #seenUpTo: string | undefined;

  constructor(call: Call, reading: Reading) {
    this.#call = call;
    this.#reading = reading;
    this.#after = reading.after === undefined ? undefined : addressOf(reading.after);
  }

  /** Nothing more belongs on it. */
  get isOver(): boolean {
    return this.#isFull || this.#seenUpTo !== undefined;
  }

  /** The address after which the next page begins; undefined: all that was read is told. */
  get end(): string | undefined {
    return this.#isFull ? this.items.at(-1)?.address : this.#seenUpTo;
  }

  /** Whether a block may be asked beyond these. */
  mayAsk(more: number): boolean {
    return this.#asks + more < this.#reading.asksMax;
  }

  /** Reads blocks that come after all that were read before, by address. */
  async read(blocks: readonly string[]): Promise<void> {
    const share = Math.floor(PAGE_CHARACTERS_MAX / Math.max(1, blocks.length));
    const first = await mapBounded(blocks, (block) => this.#ask(block, this.#reading.after, share));
    for (const [place, view] of first.entries()) {
      const block = blocks[place];
      invariant(block !== undefined, "each view is of a block");
      this.#take(view.records);
      for (let { next } = view; next !== undefined && !this.isOver; ) {
        if (!this.mayAsk(0)) {
          this.#seenUpTo = next;
          break;
        }
        const more = await this.#ask(block, next, PAGE_CHARACTERS_MAX);
        this.#take(more.records);
        next = more.next;
      }
      if (this.isOver) return;
    }
    const last = blocks.at(-1);
    if (last !== undefined && !this.mayAsk(0)) this.#seenUpTo = endOf(last);
  }

  async #ask(
    block: string,
    after: string | undefined,
    characters: number,
  ): Promise<Pick<BlockView, "records" | "next">> {
    const policy = this.#reading.policyOf(block);
    if (policy === undefined) return { records: [] };
    this.#asks += 1;
    const { records } = this.#reading;
    const part = {
      ...(after !== undefined && isIn(block, after) ? { after } : {}),
      characters: Math.min(PART_CHARACTERS_MAX, characters),
    };
    return await this.#call.ports.block(block).describe({ block, policy, records, part });
  }

  /** Takes what has room; what follows is for the next page. A page has one item at least. */
  #take(records: readonly AddressRecord[]): void {
    for (const record of records.toSorted(byAddress)) {
      if (!isAfter(this.#after, addressOf(record.address)) || !this.#reading.isWanted(record)) continue;
      const characters = charactersOf(record);
      const fits = this.#characters + characters <= PAGE_CHARACTERS_MAX || this.items.length === 0;
      if (this.items.length === this.#reading.limit || !fits) {
        this.#isFull = true;
        return;
      }
      this.#characters += characters;
      this.items.push(record);
    }
  }
}

/** Whether a range reaches beyond the last address of the page before. */
export function isNotPassed(after: string | undefined, range: string): boolean {
  if (after === undefined) return true;
  const cidr = storedCidr(range);
  return isAfter(addressOf(after), { family: cidr.family, value: lastAddress(cidr) });
}

/** The last address of a block. */
export function endOf(block: string): string {
  const cidr = storedCidr(block);
  return formatAddress({ family: cidr.family, value: lastAddress(cidr) });
}

/** Orders records by family, then by number. */
export function byAddress(one: AddressRecord, other: AddressRecord): number {
  if (one.family !== other.family) return one.family - other.family;
  const [left, right] = [addressOf(one.address).value, addressOf(other.address).value];
  return left < right ? -1 : Number(left > right);
}

/** Orders blocks, which do not overlap, by address. */
export function byBlock(one: string, other: string): number {
  const [left, right] = [storedCidr(one), storedCidr(other)];
  if (left.family !== right.family) return left.family - right.family;
  return left.base < right.base ? -1 : Number(left.base > right.base);
}

/** Reads an address that was read before. */
export function addressOf(text: string): Address {
  const parsed = parseAddress(text);
  invariant(parsed.ok, "an address was read before");
  return parsed.value;
}

function isIn(block: string, address: string): boolean {
  return containsAddress(storedCidr(block), addressOf(address));
}

function isAfter(seen: Address | undefined, own: Address): boolean {
  if (seen === undefined) return true;
  return own.family === seen.family ? own.value > seen.value : own.family > seen.family;
}
