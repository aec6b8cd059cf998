/**
 * Runs one history on the block's core and on its model, and checks after each command what must hold.
 * May import: src/core, the model. Rule: both are asked the same, at the same time.
 */
import { expect } from "vitest";
import { formatAddress, parseAddress } from "../../src/core/address.ts";
import {
  applyChanges,
  BlockDraft,
  type BlockHeader,
  type BlockState,
  blockState,
  ordinalState,
} from "../../src/core/block.ts";
import { claim, noteRetired, releaseAffinity, retire } from "../../src/core/block-affinity.ts";
import { allocate, reuse, undo } from "../../src/core/block-allocate.ts";
import { countBlock } from "../../src/core/block-counts.ts";
import { type HoldingsAnswer, holdings, type LeakedItem, releaseLeaked } from "../../src/core/block-leaks.ts";
import type { AllocateItem, BlockPolicy } from "../../src/core/block-messages.ts";
import { holds, releaseAddress, releaseHandle } from "../../src/core/block-release.ts";
import { addressAt, type Cidr, containsAddress, formatCidr, ordinalOf, size } from "../../src/core/cidr.ts";
import type { OrdinalRow } from "../../src/core/ordinal.ts";
import type { Command } from "./block-commands.ts";
import { Ledger } from "./block-ledger.ts";
import { BlockModel } from "./block-model.ts";

export const TIMES = { skewMs: 50, untilMs: 2_000, spentKeyMs: 600_000 };
const BEGIN = 1_000_000;
const EPOCHS = 2 ** 32;

type Of<T extends Command["type"]> = Extract<Command, { type: T }>;

export interface BlockRunOptions {
  /** Looks at the state after each command. */
  readonly afterEach?: (draft: BlockDraft, policy: BlockPolicy) => void;
  /** Each decision is made and discarded before it is made. */
  readonly isRehearsed?: boolean;
}

export class BlockRun {
  readonly cidr: Cidr;
  readonly #options: BlockRunOptions;
  readonly model: BlockModel;
  readonly #ledger = new Ledger();
  #clock = BEGIN;
  #policy: BlockPolicy = { reserved: [], cooldownMs: 1_000 };
  #incarnation = 0;
  /** What storage holds, as text. */
  #stored: { header: string | undefined; rows: Map<number, string> } = {
    header: undefined,
    rows: new Map(),
  };
  #state: BlockState = blockState(undefined, []);
  readonly #told: { handle: string; key: string; addresses: { address: string; touch: number }[] }[] = [];
  /** Orders of the collector, so that they can come again. */
  readonly #orders: LeakedItem[] = [];
  /** What each host was last told that it holds. */
  readonly #holdings = new Map<string, HoldingsAnswer>();

  constructor(cidr: Cidr, options: BlockRunOptions = {}) {
    this.cidr = cidr;
    this.#options = options;
    this.model = new BlockModel({
      block: formatCidr(cidr),
      family: cidr.family,
      capacity: Number(size(cidr)),
      addressOf: (ordinal) => formatAddress(addressAt(cidr, ordinal)),
      ordinalOf: (text) => {
        const address = parseAddress(text);
        return address.ok && containsAddress(cidr, address.value)
          ? ordinalOf(cidr, address.value)
          : undefined;
      },
      times: TIMES,
    });
  }

  run(history: readonly Command[]): void {
    for (const command of history) {
      this.model.clock = this.#clock;
      this.#do(command);
      this.#check();
    }
  }

  #do(command: Command): void {
    switch (command.type) {
      case "step":
        this.#clock += command.ms;
        return;
      case "cooldown":
        this.#policy = { ...this.#policy, cooldownMs: command.ms };
        return;
      case "reserved":
        this.#policy = { ...this.#policy, reserved: this.#ranges(command.ranges) };
        return;
      case "wake":
        this.#state = this.#load();
        return;
      case "claim":
        this.#claim(command);
        return;
      case "releaseAffinity":
        this.#releaseAffinity(command);
        return;
      case "allocate":
        this.#allocate(command);
        return;
      case "releaseHandle":
        this.#releaseHandle(command);
        return;
      case "releaseAddress":
        this.#releaseAddress(command);
        return;
      case "releaseLeaked":
        this.#releaseLeaked(command);
        return;
      case "undo":
        this.#undo(command);
        return;
      case "holds":
        this.#holds(command);
        return;
      case "reuse":
        this.#reuse(command);
        return;
      case "retire":
        this.#retire(command);
        return;
    }
  }

  #claim({ host, epochStep, isNewIncarnation, ahead, ends }: Of<"claim">): void {
    if (isNewIncarnation) this.#incarnation += 1;
    const request = {
      ...this.#target(epochStep),
      owner: host,
      until: this.#clock + ahead,
      cooldownMs: this.#policy.cooldownMs,
      ...(ends === undefined ? {} : { hostReserved: ends }),
    };
    const before = this.#state.header?.epoch ?? 0;
    const answer = this.#decide((draft) => claim(draft, request));
    expect(answer).toEqual(this.model.claim(request));
    if (answer.kind === "accepted") expect(request.epoch).toBeGreaterThan(before);
  }

  #releaseAffinity({ host, epochStep, mustBeEmpty }: Of<"releaseAffinity">): void {
    const { cooldownMs } = this.#policy;
    const request = { ...this.#target(epochStep), owner: host, mustBeEmpty, cooldownMs };
    const answer = this.#decide((draft) => releaseAffinity(draft, request));
    expect(answer).toEqual(this.model.releaseAffinity(request));
  }

  #allocate(command: Of<"allocate">): void {
    const { handle, key, host, strict, replayOnly, finalAfter } = command;
    const owner = this.model.owner ?? "a";
    const item: AllocateItem = {
      handle,
      key,
      host,
      strict,
      use: "Workload",
      attributes: { pod: handle },
      leakCollection: "auto",
      count: command.ordinal === undefined ? command.count : 1,
      policy: this.#policy,
      until: this.#clock + command.ahead,
      ...(command.ordinal === undefined ? {} : { ordinal: command.ordinal % this.model.slots.length }),
      ...(command.attempt === undefined ? {} : { attempt: command.attempt }),
      ...(replayOnly ? { replayOnly } : {}),
      ...(command.ownerOnly ? { owner } : {}),
      ...(finalAfter === undefined ? {} : { finalAfter: this.#clock + finalAfter }),
    };
    const answer = this.#decide((draft) => allocate(draft, item));
    expect(answer).toEqual(this.model.allocate(item, answer.kind === "spent"));
    if (answer.kind === "found") this.#ledger.found(answer.records);
    if (answer.kind === "created") this.#ledger.created(answer.records, this.#policy.cooldownMs);
    if (answer.kind !== "found" && answer.kind !== "created") return;
    const addresses = answer.records.map(({ address, touch }) => ({ address, touch }));
    this.#told.push({ handle, key, addresses });
  }

  #releaseHandle({ handle, keys, onlyHost, finalAfter }: Of<"releaseHandle">): void {
    const { cooldownMs } = this.#policy;
    const reach = { cooldownMs, ...(onlyHost === undefined ? {} : { onlyHost }) };
    const named = keys.map((key) => ({ key, finalAfter: this.#clock + finalAfter }));
    const block = formatCidr(this.cidr);
    const answers = this.#decide((draft) => releaseHandle(draft, { block, handle, keys: named, ...reach }));
    const saysSpent = answers.map(({ outcome }) => outcome === "released");
    expect(answers).toEqual(this.model.releaseKeys(handle, named, { ...reach, saysSpent }));
    for (const { address, releasedAt = Number.NaN } of answers.flatMap(({ records }) => records)) {
      this.#ledger.released(address, releasedAt);
    }
  }

  #releaseAddress({ pick, number, handle, onlyHost }: Of<"releaseAddress">): void {
    const used = this.model.slots.filter(({ held, past }) => held !== undefined || past.length > 0);
    const slot = used[pick % Math.max(used.length, 1)] ?? this.model.slots[pick % this.model.slots.length];
    if (slot === undefined) throw new Error("a block has at least one ordinal");
    const last = slot.held ?? slot.past[0];
    const earlier = (slot.held === undefined ? slot.past[1] : slot.past[0])?.sequenceNumber ?? 0;
    const sequenceNumber = { right: last?.sequenceNumber, stale: earlier, none: undefined }[number];
    const named = { right: last?.handle, stale: "stale", none: undefined }[handle];
    const item = {
      address: formatAddress(addressAt(this.cidr, slot.ordinal)),
      ...(sequenceNumber === undefined ? {} : { sequenceNumber }),
      ...(named === undefined ? {} : { handle: named }),
      ...(onlyHost === undefined ? {} : { onlyHost }),
    };
    const { cooldownMs } = this.#policy;
    const before = this.#text();
    const answer = this.#decide((draft) => releaseAddress(draft, item, cooldownMs));
    expect(answer).toEqual(this.model.releaseAddress(item, cooldownMs));
    if (answer.kind === "released") this.#ledger.released(answer.address, answer.freeAt - cooldownMs);
    else expect(this.#text(), "I3: a release that does not match changes nothing").toBe(before);
    const mustMatch = slot.held !== undefined && (number === "stale" || handle === "stale");
    if (mustMatch) expect(answer.kind, "I3: and says so").toBe("rejected");
  }

  #releaseLeaked(command: Of<"releaseLeaked">): void {
    const known = this.#orders[command.pick % Math.max(this.#orders.length, 1)];
    const item = command.isRepeat && known !== undefined ? known : this.#order(command);
    if (item === undefined) return;
    if (item !== known) this.#orders.push(item);
    const slot = this.model.slots.find(({ ordinal }) => this.#addressOf(ordinal) === item.address);
    const until = this.#clock + command.ahead;
    const isMeant =
      this.model.now <= until && slot?.held?.handle === item.handle && slot.touch === item.touch;
    const before = this.#text();
    const [answer] = this.#decide((draft) => releaseLeaked(draft, { items: [item], until }));
    expect(answer).toBe(this.model.releaseLeaked(item, until, answer === "released"));
    if (isMeant) this.#ledger.released(item.address, this.model.now);
    else expect(this.#text(), "I3 I11: only the tenure that was judged is freed, and in time").toBe(before);
    if (slot?.held !== undefined) expect(isMeant).toBe(false);
  }

  /** An address in use, or used before, as it was judged now or at an earlier touch. */
  #order({ pick, touch, handle }: Of<"releaseLeaked">): LeakedItem | undefined {
    const held = this.model.slots.filter((slot) => slot.held !== undefined);
    const used = pick % 5 === 0 ? this.model.slots.filter(({ past }) => past.length > 0) : held;
    const slot = used[pick % Math.max(used.length, 1)];
    const last = slot?.held ?? slot?.past[0];
    if (slot === undefined || last === undefined) return undefined;
    return {
      address: this.#addressOf(slot.ordinal),
      handle: handle === "right" ? last.handle : "stale",
      touch: { last: slot.touch, first: last.sequenceNumber, earlier: slot.touch - 1 }[touch],
    };
  }

  #addressOf(ordinal: number): string {
    return formatAddress(addressAt(this.cidr, ordinal));
  }

  #undo({ pick, isStale }: Of<"undo">): void {
    const told = this.#told[this.#told.length - 1 - (pick % Math.max(this.#told.length, 1))];
    if (told === undefined) return;
    const addresses = told.addresses.map(({ address, touch }) => ({
      address,
      touch: touch - Number(isStale),
    }));
    const answer = this.#decide((draft) => undo(draft, { ...told, addresses }));
    expect([...answer].sort()).toEqual(this.model.undo({ ...told, addresses }).sort());
    for (const address of answer) this.#ledger.undone(address);
  }

  #holds({ handle, key, finalAfter }: Of<"holds">): void {
    const asked = { handle, key, finalAfter: this.#clock + finalAfter };
    const block = formatCidr(this.cidr);
    const answer = this.#decide((draft) => holds(draft, { block, keys: [asked] }));
    const saysSpent = answer.held[0] === "released";
    expect(answer).toEqual(this.model.holds(handle, key, asked.finalAfter, saysSpent));
  }

  #reuse({ handle, keys, take, host, ahead, slot }: Of<"reuse">): void {
    const block = formatCidr(this.cidr);
    const { cooldownMs } = this.#policy;
    const written = slot === undefined ? {} : { ownerSlot: slot };
    const until = this.#clock + ahead;
    const request = {
      block,
      handle,
      keys,
      take,
      until,
      cooldownMs,
      attributes: { to: slot ?? "" },
      ...written,
      ...(host === undefined ? {} : { host }),
    };
    const answer = this.#decide((draft) => reuse(draft, request));
    expect(answer).toEqual(this.model.reuse(request));
    if (answer.kind === "reused") this.#ledger.found(answer.records);
  }

  #retire({ isAcknowledged }: Of<"retire">): void {
    const { cooldownMs } = this.#policy;
    const epoch = this.#decide((draft) => retire(draft, cooldownMs));
    expect(epoch).toBe(this.model.retire(cooldownMs));
    if (epoch === undefined) return;
    this.#ledger.retired();
    if (!isAcknowledged) return;
    this.#decide((draft) => noteRetired(draft, epoch));
    this.model.noteRetired(epoch);
  }

  /** Decides, stores as the object does, and takes the state on. */
  #decide<T>(decide: (draft: BlockDraft) => T): T {
    const draft = new BlockDraft(this.#state, this.cidr, this.#clock, TIMES);
    const rehearsed = this.#options.isRehearsed === true ? [decide(draft)] : [];
    if (rehearsed.length > 0) draft.discard();
    const answer = decide(draft);
    for (const one of rehearsed) expect(answer).toEqual(one);
    const changes = draft.changes();
    if (changes.dropped) this.#stored.rows.clear();
    if (changes.header !== undefined) this.#stored.header = JSON.stringify(changes.header);
    for (const { row } of changes.rows) this.#stored.rows.set(row.ordinal, JSON.stringify(row));
    this.#state = applyChanges(this.#state, changes);
    return answer;
  }

  #load(): BlockState {
    const { header, rows } = this.#stored;
    return blockState(
      header === undefined ? undefined : (JSON.parse(header) as BlockHeader),
      [...rows.values()].map((text) => JSON.parse(text) as OrdinalRow),
    );
  }

  /** After each command: model, memory and storage agree; every ordinal is in one state (I2, I14). */
  #check(): void {
    const draft = new BlockDraft(this.#state, this.cidr, this.#clock, TIMES);
    this.model.clock = this.#clock;
    this.#options.afterEach?.(draft, this.#policy);
    const { cooldownMs } = this.#policy;
    const states = this.model.slots.map(({ ordinal }) => ordinalState(draft, ordinal, cooldownMs));
    expect(states).toEqual(this.model.slots.map((slot) => this.model.stateOf(slot, cooldownMs)));
    const counts = countBlock(draft, this.#policy);
    expect(counts).toEqual(this.model.counts(this.#policy));
    const stepped = (counts.coolingSteps ?? []).reduce((sum, { count }) => sum + count, 0);
    expect(stepped, "every cooling address is in a step").toBe(counts.cooling);
    const { capacity, allocated, cooling, hostReserved, free } = counts;
    expect(allocated + cooling + hostReserved + free, "I14: counts partition the block").toBe(capacity);
    for (const host of ["a", "b", "c"]) this.#checkHoldings(draft, host);
    const live = [...draft.rows()].filter(({ current }) => current !== undefined);
    const addresses = live.map(({ ordinal }) => formatAddress(addressAt(this.cidr, ordinal)));
    expect(addresses.sort(), "the block holds what its callers were told").toEqual(this.#ledger.live);
    const { owner, epoch, counter, now } = this.model;
    const header = { owner: draft.owner, epoch: draft.header?.epoch ?? 0 };
    expect({ ...header, counter: draft.counter, now: draft.now }).toEqual({ owner, epoch, counter, now });
    const loaded = this.#load();
    expect({ counter: loaded.counter, at: loaded.at }).toEqual({
      counter: this.#state.counter,
      at: this.#state.at,
    });
  }

  /** The number of a block stands for all that a host holds there. */
  #checkHoldings(draft: BlockDraft, host: string): void {
    const question = { block: formatCidr(this.cidr), host, cooldownMs: this.#policy.cooldownMs };
    const told = holdings(draft, question);
    expect(told).toEqual(this.model.holdings(host, question.cooldownMs));
    const last = this.#holdings.get(host);
    if (last?.number === told.number) expect(told.subjects).toEqual(last.subjects);
    const { subjects: _known, ...rest } = told;
    expect(holdings(draft, { ...question, ifNumber: told.number })).toEqual(rest);
    expect(holdings(draft, { ...question, ifNumber: told.number - 1 })).toEqual(told);
    this.#holdings.set(host, told);
  }

  #target(epochStep: number) {
    const floor = this.#incarnation * EPOCHS;
    const epoch = Math.max(this.#state.header?.epoch ?? 0, floor) + epochStep;
    const incarnation = this.#incarnation;
    const poolCidr = formatCidr(this.cidr);
    return { block: formatCidr(this.cidr), pool: "p", poolCidr, incarnation, epoch: Math.max(epoch, 0) };
  }

  #text(): string {
    return JSON.stringify([this.#stored.header, [...this.#stored.rows]]);
  }

  /** Tenths of the block as ascending, disjoint ranges. */
  #ranges(tenths: readonly (readonly [number, number])[]): [number, number][] {
    const isIn = (ordinal: number): boolean => {
      const tenth = Math.floor((ordinal * 10) / this.model.slots.length);
      return tenths.some(([a, b]) => Math.min(a, b) <= tenth && tenth <= Math.max(a, b));
    };
    const ranges: [number, number][] = [];
    for (const { ordinal } of this.model.slots.filter((slot) => isIn(slot.ordinal))) {
      const last = ranges.at(-1);
      if (last?.[1] === ordinal - 1) last[1] = ordinal;
      else ranges.push([ordinal, ordinal]);
    }
    return ranges;
  }
}
